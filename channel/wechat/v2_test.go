package wechat_test

import (
	"bytes"
	"crypto/aes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
	"github.com/paidonce/paidonce/channel/wechat"
)

const (
	apiKey    = "192006250b4c09247ec02edce69f6a2d" // of the documents' sample
	oldAPIKey = "ziR0QKsTUfMOuochC9RfCdmfHECorQAP" // of the published req_info
	hmacType  = "HMAC-SHA256"
)

// fields are the elements of a flat XML document.
type fields map[string]string

func v2Payment() fields {
	return fields{"return_code": "SUCCESS", "return_msg": "OK", "result_code": "SUCCESS", "appid": appID, "mch_id": mchID,
		"device_info": "pos-1", "nonce_str": "5d2b6c2a8db53831f7eda20af46e531c", "sign_type": "MD5", "openid": "oUpF8uM",
		"is_subscribe": "N", "trade_type": "MICROPAY", "bank_type": "CMC", "total_fee": "1999",
		"settlement_total_fee": "1899", "fee_type": "CNY", "cash_fee": "1899", "coupon_fee_0": "100", "attach": "",
		"transaction_id": channeltest.PaymentNumber, "out_trade_no": "ORDER-1", "time_end": "20261201100000"}
}

func v2Refund() fields {
	return fields{"transaction_id": channeltest.PaymentNumber, "out_trade_no": "ORDER-1", "refund_id": "5000000003820",
		"out_refund_no": "REFUND-1", "total_fee": "1999", "settlement_total_fee": "1999", "refund_fee": "500",
		"settlement_refund_fee": "500", "refund_status": "SUCCESS", "success_time": "2026-12-01 10:00:00",
		"refund_recv_accout": "招商银行信用卡0403", "refund_account": "REFUND_SOURCE_RECHARGE_FUNDS"}
}

// with returns a copy with some fields replaced; "-" removes the field.
func (f fields) with(changes fields) fields {
	changed := maps.Clone(f)
	for name, value := range changes {
		if changed[name] = value; value == "-" {
			delete(changed, name)
		}
	}
	return changed
}

// sign returns a copy with its signature, made step by step after the documents.
func (f fields) sign(signType, key string) fields {
	var pairs []string
	for name, value := range f {
		if value != "" && name != "sign" {
			pairs = append(pairs, name+"="+value)
		}
	}
	slices.SortFunc(pairs, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, "=")
		nameB, _, _ := strings.Cut(b, "=")
		return strings.Compare(nameA, nameB)
	})
	text := []byte(strings.Join(pairs, "&") + "&key=" + key)
	sum := md5.Sum(text)
	digest := sum[:]
	if signType == hmacType {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write(text)
		digest = mac.Sum(nil)
	}
	return f.with(fields{"sign": strings.ToUpper(hex.EncodeToString(digest))})
}

// encode writes the document in the order of the names, with CDATA or escaped text.
func (f fields) encode(root string, cdata bool) []byte {
	var b bytes.Buffer
	b.WriteString("<" + root + ">")
	for _, name := range slices.Sorted(maps.Keys(f)) {
		b.WriteString("<" + name + ">")
		if cdata && !strings.Contains(f[name], "]]>") {
			b.WriteString("<![CDATA[" + f[name] + "]]>")
		} else {
			_ = xml.EscapeText(&b, []byte(f[name])) // a bytes.Buffer takes everything
		}
		b.WriteString("</" + name + ">\n")
	}
	b.WriteString("</" + root + ">")
	return b.Bytes()
}

func post(body []byte) channel.Request {
	return channel.Request{Header: http.Header{"Content-Type": {"text/xml"}}, Body: body, Received: received()}
}

func pay2(changes fields) channel.Request {
	return post(v2Payment().with(changes).sign("MD5", apiKey).encode("xml", true))
}

// sealECB pads and encrypts a req_info.
func sealECB(tb testing.TB, key string, plain []byte) string {
	tb.Helper()
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	return sealBlocks(tb, key, append(bytes.Clone(plain), bytes.Repeat([]byte{byte(pad)}, pad)...))
}

// sealBlocks encrypts whole blocks.
func sealBlocks(tb testing.TB, key string, plain []byte) string {
	tb.Helper()
	sum := md5.Sum([]byte(key))
	block, err := aes.NewCipher([]byte(hex.EncodeToString(sum[:])))
	if err != nil {
		tb.Fatal(err)
	}
	sealed := bytes.Clone(plain)
	for at := 0; at < len(sealed); at += aes.BlockSize {
		block.Encrypt(sealed[at:at+aes.BlockSize], sealed[at:at+aes.BlockSize])
	}
	return base64.StdEncoding.EncodeToString(sealed)
}

func refundEnvelope(reqInfo string) fields {
	return fields{"return_code": "SUCCESS", "appid": appID, "mch_id": mchID,
		"nonce_str": "5d2b6c2a8db53831f7eda20af46e531c", "req_info": reqInfo}
}

func refund2(tb testing.TB, changes fields) channel.Request {
	tb.Helper()
	inner := v2Refund().with(changes).encode("root", false)
	return post(refundEnvelope(sealECB(tb, apiKey, inner)).encode("xml", true))
}

func configV2() wechat.ConfigV2 {
	return wechat.ConfigV2{Account: account(), MchID: mchID, AppIDs: []string{"wx2421b1c4370ec43b", appID},
		APIKeys: []string{oldAPIKey, apiKey}}
}

func clientV2(tb testing.TB, signType string) *wechat.ClientV2 {
	tb.Helper()
	config := configV2()
	config.SignType = signType
	client, err := wechat.NewV2(config)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

func TestContractV2(t *testing.T) { channeltest.Run(t, subjectV2()) }

func FuzzParseV2(f *testing.F) { channeltest.Fuzz(f, subjectV2()) }

func subjectV2() channeltest.Subject {
	return channeltest.Subject{
		New:      func(tb testing.TB) channel.Channel { return clientV2(tb, "") },
		Account:  account(),
		Received: received(),
		Payment: func(_ testing.TB, n channeltest.Notice) channel.Request {
			f := v2Payment().with(fields{"transaction_id": n.Number, "nonce_str": strconv.Itoa(n.Variant)})
			if n.Extra {
				f["undocumented"] = "tomorrow"
			}
			signType := []string{"MD5", hmacType}[n.Variant%2]
			return post(f.sign(signType, apiKey).encode("xml", n.Variant < 2))
		},
		Refund: func(tb testing.TB, which, variant int) channel.Request {
			number := strconv.Itoa(which)
			inner := v2Refund().with(fields{"refund_id": "500000000382" + number, "out_refund_no": "REFUND-" + number})
			sealed := sealECB(tb, apiKey, inner.encode("root", variant == 1))
			f := refundEnvelope(sealed).with(fields{"nonce_str": strconv.Itoa(variant)})
			return post(f.encode("xml", variant == 0))
		},
		Authentic: authenticV2,
		Messages: [][]byte{v2Payment().encode("xml", true), v2Refund().encode("root", false),
			[]byte("<root><refund_id>1</refund_id><refund_status>CHANGE</refund_status></root>"),
			[]byte("<xml><mch_id>" + mchID + "</mch_id><appid>" + appID + "</appid></xml>")},
		Refused:    refusalsV2,
		Unbookable: unbookableV2,
		Signed: func(body []byte) (int, int) {
			from := bytes.Index(body, []byte("<total_fee><![CDATA[")) + len("<total_fee><![CDATA[")
			return from, from + len("1999")
		},
		Reworded: reworded,
		Held: channel.Reply{Status: 200, ContentType: "text/xml", Body: []byte("<xml><return_code><![CDATA[SUCCESS]]>" +
			"</return_code><return_msg><![CDATA[OK]]></return_msg></xml>")},
		Refusing: channel.Reply{Status: 500, ContentType: "text/xml", Body: []byte("<xml><return_code><![CDATA[FAIL]]>" +
			"</return_code><return_msg><![CDATA[not held, send it again]]></return_msg></xml>")},
		Secrets: []string{apiKey, oldAPIKey},
	}
}

// authenticV2 signs a message that is a flat document; everything else is sealed as the content of a refund.
func authenticV2(tb testing.TB, message []byte) channel.Request {
	tb.Helper()
	var document struct {
		Fields []struct {
			XMLName xml.Name
			Text    string `xml:",chardata"`
		} `xml:",any"`
	}
	if !bytes.HasPrefix(message, []byte("<xml>")) || xml.Unmarshal(message, &document) != nil {
		return post(refundEnvelope(sealECB(tb, apiKey, message)).encode("xml", true))
	}
	f := fields{}
	for _, field := range document.Fields {
		f[field.XMLName.Local] = field.Text
	}
	delete(f, "")
	return post(f.sign(hmacType, apiKey).encode("xml", false))
}

// reworded writes the same fields with other white space, with escapes instead of CDATA, with an empty field, which is
// not signed, and in another order.
func reworded(_ testing.TB, r channel.Request) []channel.Request {
	body := string(r.Body)
	escaped := regexp.MustCompile(`(?s)<!\[CDATA\[(.*?)\]\]>`).ReplaceAllStringFunc(body, func(data string) string {
		var b bytes.Buffer
		_ = xml.EscapeText(&b, []byte(data[len("<![CDATA["):len(data)-len("]]>")]))
		return b.String()
	})
	if escaped == body {
		escaped = strings.ReplaceAll(body, "SUCCESS", "&#83;UCCESS")
	}
	return []channel.Request{post([]byte(strings.Replace(body, "<xml>", "<xml>\n  ", 1))), post([]byte(escaped)),
		post([]byte(strings.Replace(body, "<xml>", "<xml><zzz></zzz>", 1))),
		post(regexp.MustCompile(`(?s)<xml>(<appid>.*?</appid>\n)(.*)</xml>`).ReplaceAll(r.Body, []byte("<xml>$2$1</xml>")))}
}
