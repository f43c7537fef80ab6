package sandbox_test

import (
	"bytes"
	"crypto"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/sandbox"
)

// told is what a merchant understands of an answer after checking its signature.
type told struct {
	word    string // the state of the order, or the error's code; "done" for a success without a state
	genuine bool   // the signature verifies; of Shouqianba: the answer is whole
	raw     string
}

// dropped is what a merchant is told by a connection that breaks.
const dropped = "dropped"

// merchant asks the channels of one box. Everything it knows of the protocols is written here by hand.
type merchant struct {
	t    *testing.T
	keys *sandbox.Keys
	box  *sandbox.Sandbox
	base string
	bare bool // the channels' own paths, without the names of the endpoints
	// client has no connections to use again: of those Go repeats a GET by itself when they break.
	client *http.Client
	// edit changes a request after signing; nil leaves it alone.
	edit func(*http.Request)
	// terminalKey signs for Shouqianba.
	terminalKey string
	ahead       time.Duration // of the merchant's clock
}

// newMerchant serves the box below a prefix, as a host mounts it.
func newMerchant(t *testing.T, keys *sandbox.Keys, seed uint64) *merchant {
	t.Helper()
	box := newBox(t, keys, seed, nowhere)
	api, err := box.API()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix("/sandbox", api))
	t.Cleanup(server.Close)
	return &merchant{t: t, keys: keys, box: box, base: server.URL + "/sandbox", terminalKey: keys.SQBTerminalKey,
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// query, end and reverse name the three things that a merchant asks for.
const (
	query   = "query"
	end     = "close"
	reverse = "cancel"
)

// ask puts one question about an order, by its number, to a channel.
func (m *merchant) ask(channel, what, orderNo string) told {
	m.t.Helper()
	switch channel {
	case sandbox.WeChat:
		path := "/v3/pay/transactions/out-trade-no/" + url.PathEscape(orderNo)
		switch what {
		case query:
			return m.v3(http.MethodGet, path+"?mchid=1900000109", "")
		case end:
			return m.v3(http.MethodPost, path+"/close", `{"mchid":"1900000109"}`)
		}
		return m.v3(http.MethodPost, path+"/reverse", `{"appid":"wx8888888888888888","mchid":"1900000109"}`)
	case sandbox.WeChatV2:
		path := map[string]string{query: "/pay/orderquery", end: "/pay/closeorder"}[what]
		return m.v2(path, map[string]string{"out_trade_no": orderNo, "sign_type": "HMAC-SHA256"})
	case sandbox.Alipay:
		return m.alipay("alipay.trade."+what, `{"out_trade_no":"`+orderNo+`"}`)
	}
	path := map[string]string{query: "/upay/v2/query", reverse: "/upay/v2/cancel"}[what]
	return m.sqb(path, `{"terminal_sn":"100000330000001","client_sn":"`+orderNo+`"}`)
}

func (m *merchant) send(method, path, body string, header map[string]string) (*http.Response, string) {
	m.t.Helper()
	if m.bare {
		path = path[1+strings.Index(path[1:], "/"):]
	}
	r, err := http.NewRequestWithContext(m.t.Context(), method, m.base+path, strings.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	if m.edit != nil {
		m.edit(r)
	}
	response, err := m.client.Do(r)
	if err != nil {
		return nil, ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, ""
	}
	return response, string(text)
}

// v3: the merchant signs method, path, time, nonce and body; the answer's headers sign time, nonce and body.
func (m *merchant) v3(method, path, body string) told {
	m.t.Helper()
	at := strconv.FormatInt(now().Add(m.ahead).Unix(), 10)
	sent := "/sandbox/wechat" + path
	if m.bare {
		sent = path
	}
	signature := signature(m.t, m.keys.WeChatMerchantKey, method+"\n"+sent+"\n"+at+"\nn0nce\n"+body+"\n")
	authorization := fmt.Sprintf(`WECHATPAY2-SHA256-RSA2048 mchid="1900000109",nonce_str="n0nce",signature="%s",`+
		`timestamp="%s",serial_no="%s"`, signature, at, m.keys.WeChatMerchantSerial)
	response, text := m.send(method, "/wechat"+path, body, map[string]string{"Accept": "application/json",
		"Authorization": authorization, "Wechatpay-Serial": m.keys.WeChatPublicKeyID})
	if response == nil {
		return told{word: dropped}
	}
	h := response.Header
	key := m.keys.WeChatCertificate
	if h.Get("Wechatpay-Serial") == m.keys.WeChatPublicKeyID {
		key = m.keys.WeChatPublicKey
	}
	answer := told{raw: text, genuine: signed(public(m.t, key), h.Get("Wechatpay-Timestamp")+"\n"+
		h.Get("Wechatpay-Nonce")+"\n"+text+"\n", h.Get("Wechatpay-Signature"))}
	said := m.object(text)
	switch {
	case response.StatusCode == http.StatusNoContent && text == "":
		answer.word = "done"
	case response.StatusCode == http.StatusOK:
		answer.word = fmt.Sprint(said["trade_state"])
	default:
		answer.word = fmt.Sprint(response.StatusCode, " ", said["code"])
	}
	return answer
}

// v2: flat XML both ways, signed with the API key.
func (m *merchant) v2(path string, fields map[string]string) told {
	m.t.Helper()
	for name, value := range map[string]string{"appid": "wx8888888888888888", "mch_id": "1900000109", "nonce_str": "n"} {
		if _, given := fields[name]; !given {
			fields[name] = value
		}
	}
	fields["sign"] = v2Digest(fields, m.keys.WeChatV2Key)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		b.WriteString("<" + name + ">" + fields[name] + "</" + name + ">")
	}
	response, text := m.send(http.MethodPost, "/wechat-v2"+path, "<xml>"+b.String()+"</xml>", nil)
	if response == nil {
		return told{word: dropped}
	}
	said := flatXML(m.t, []byte(text))
	answer := told{word: said["err_code"], raw: text, genuine: said["sign"] == v2Digest(said, m.keys.WeChatV2Key)}
	switch {
	case said["return_code"] != "SUCCESS":
		answer.word = said["return_msg"]
	case said["result_code"] == "SUCCESS" && said["trade_state"] == "":
		answer.word = "done"
	case said["result_code"] == "SUCCESS":
		answer.word = said["trade_state"]
	}
	return answer
}

// alipay: all parameters that are not empty are signed, sign_type too; the answer's signature covers the bytes of the
// inner object.
func (m *merchant) alipay(method, content string) told {
	m.t.Helper()
	form := url.Values{"app_id": {"wx8888888888888888"}, "method": {method}, "format": {"JSON"}, "charset": {"utf-8"},
		"sign_type": {"RSA2"}, "timestamp": {"2026-12-01 10:30:00"}, "version": {"1.0"}, "biz_content": {content}}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(form)) {
		pairs = append(pairs, name+"="+form.Get(name))
	}
	form.Set("sign", signature(m.t, m.keys.AlipayAppKey, strings.Join(pairs, "&")))
	response, text := m.send(http.MethodPost, "/alipay/gateway.do", form.Encode(),
		map[string]string{"Content-Type": "application/x-www-form-urlencoded;charset=utf-8"})
	if response == nil {
		return told{word: dropped}
	}
	answer := told{raw: text}
	inner, sign, found := strings.Cut(strings.TrimPrefix(text, `{"`+strings.ReplaceAll(method, ".", "_")+`_response":`),
		`,"sign":"`)
	if !found {
		refusal, _ := m.object(text)["error_response"].(map[string]any)
		answer.word = fmt.Sprint(refusal["code"], " ", refusal["sub_code"])
		return answer
	}
	answer.genuine = signed(public(m.t, m.keys.AlipayPublicKey), inner, strings.TrimSuffix(sign, `"}`))
	said := m.object(inner)
	switch {
	case said["code"] != "10000":
		answer.word = fmt.Sprint(said["sub_code"])
	case said["trade_status"] != nil:
		answer.word = fmt.Sprint(said["trade_status"])
	case said["action"] != nil:
		answer.word = fmt.Sprint(said["action"])
	default:
		answer.word = "done"
	}
	return answer
}

// sqb: hex MD5 of body and key; answers have three layers and no signature.
func (m *merchant) sqb(path, body string) told {
	m.t.Helper()
	response, text := m.send(http.MethodPost, "/sqb"+path, body, map[string]string{"Content-Type": "application/json",
		"Authorization": "100000330000001 " + md5Hex(body+m.terminalKey)})
	if response == nil {
		return told{word: dropped}
	}
	answer := told{raw: text, genuine: json.Valid([]byte(text))}
	outer := m.object(text)
	business, _ := outer["biz_response"].(map[string]any)
	data, _ := business["data"].(map[string]any)
	switch {
	case !answer.genuine:
	case outer["result_code"] != "200":
		answer.word = fmt.Sprint(outer["result_code"], " ", outer["error_code"])
	case business["error_code"] != nil:
		answer.word = fmt.Sprint(business["result_code"], " ", business["error_code"])
	case data != nil:
		answer.word = fmt.Sprint(business["result_code"], " ", data["status"], " ", data["order_status"])
	default:
		answer.word = fmt.Sprint(business["terminal_key"])
	}
	return answer
}

// v2Digest is over the sorted fields that are not empty and the API key: HMAC-SHA256 if they say so, else MD5.
func v2Digest(fields map[string]string, key string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "sign" && fields[name] != "" {
			text.WriteString(name + "=" + fields[name] + "&")
		}
	}
	text.WriteString("key=" + key)
	digest := md5.New()
	if fields["sign_type"] == "HMAC-SHA256" {
		digest = hmac.New(sha256.New, []byte(key))
	}
	digest.Write([]byte(text.String()))
	return strings.ToUpper(hex.EncodeToString(digest.Sum(nil)))
}

func md5Hex(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// object reads a JSON object; a text that is none has no fields.
func (m *merchant) object(text string) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	fields := map[string]any{}
	if decoder.Decode(&fields) != nil {
		return nil
	}
	return fields
}

// signature signs with RSASSA-PKCS1-v1_5 and SHA-256.
func signature(t *testing.T, key, text string) string {
	t.Helper()
	block, _ := pem.Decode([]byte(key))
	if block == nil {
		t.Fatal("not PEM")
	}
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(text))
	raw, err := rsa.SignPKCS1v15(rand.Reader, private.(*rsa.PrivateKey), crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// asked is the record of what was asked about one order.
func (m *merchant) asked(channel, orderNo string) sandbox.Asked {
	m.t.Helper()
	for _, o := range m.box.Record().Orders {
		if o.Account.Channel == channel && o.OrderNo == orderNo {
			return o.Asked
		}
	}
	m.t.Fatalf("%s: no order %s in the record", channel, orderNo)
	return sandbox.Asked{}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
