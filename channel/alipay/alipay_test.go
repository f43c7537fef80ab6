package alipay_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/alipay"
	"github.com/paidonce/paidonce/channel/channeltest"
)

const (
	appID  = "2021000000000001"
	seller = "2088000000000001"
)

func account() channel.Account {
	return channel.Account{Tenant: 7, Channel: alipay.Code, Name: "shop-1"}
}

type params map[string]string

func paid() params {
	return params{"notify_time": "2026-12-01 10:00:05", "notify_type": "trade_status_sync",
		"notify_id": "2026120100222100005", "app_id": appID, "auth_app_id": appID, "charset": "utf-8", "version": "1.0",
		"sign_type": "RSA2", "trade_no": channeltest.PaymentNumber, "out_trade_no": "ORDER-1", "seller_id": seller,
		"buyer_id": "2088102122524333", "trade_status": "TRADE_SUCCESS", "total_amount": "19.99",
		"receipt_amount": "19.99", "refund_fee": "0.00", "subject": "tea + cake; 茶", "body": "",
		"gmt_create": "2026-12-01 09:59:40", "gmt_payment": "2026-12-01 10:00:00",
		"fund_bill_list": `[{&quot;amount&quot;:&quot;19.99&quot;}]`}
}

// with returns a copy with some parameters replaced; "-" removes one.
func (p params) with(changes params) params {
	changed := maps.Clone(p)
	for name, value := range changes {
		if changed[name] = value; value == "-" {
			delete(changed, name)
		}
	}
	return changed
}

func refunded(cumulative, number string) params {
	return paid().with(params{"refund_fee": cumulative, "gmt_refund": "2026-12-01 11:00:00.123", "out_biz_no": number})
}

func newKey(tb testing.TB) *rsa.PrivateKey {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func newClient(tb testing.TB, keys ...*rsa.PrivateKey) *alipay.Client {
	tb.Helper()
	config := alipay.Config{Account: account(), AppID: appID, SellerIDs: []string{seller}}
	for _, key := range keys {
		config.PublicKeys = append(config.PublicKeys, &key.PublicKey)
	}
	client, err := alipay.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

// canonical is the signed text, written after Alipay's rule and apart from the adapter's own.
func canonical(p params, skip func(name, value string) bool) string {
	var pairs []string
	for name, value := range p {
		if name != "sign" && name != "sign_type" && (skip == nil || !skip(name, value)) {
			pairs = append(pairs, name+"="+value)
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

func sign(tb testing.TB, key *rsa.PrivateKey, text string) string {
	tb.Helper()
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		tb.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(signature)
}

func encode(p params) string {
	values := url.Values{}
	for name, value := range p {
		values.Set(name, value)
	}
	return values.Encode()
}

func request(body string) channel.Request {
	return channel.Request{Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, Body: []byte(body),
		Received: time.Unix(1796000000, 0)}
}

func send(tb testing.TB, key *rsa.PrivateKey, p params) channel.Request {
	tb.Helper()
	return request(encode(p.with(params{"sign": sign(tb, key, canonical(p, nil))})))
}

func TestContract(t *testing.T) { channeltest.Run(t, subject(t)) }

func FuzzParse(f *testing.F) { channeltest.Fuzz(f, subject(f)) }

func subject(tb testing.TB) channeltest.Subject {
	key, stranger := newKey(tb), newKey(tb)
	vary := func(p params, variant int) params {
		return p.with(params{"notify_id": fmt.Sprint("id-", variant), "notify_time": fmt.Sprintf("2026-12-01 10:%02d:00",
			variant%60)})
	}
	return channeltest.Subject{
		New:      func(tb testing.TB) channel.Channel { return newClient(tb, key) },
		Account:  account(),
		Received: time.Unix(1796000000, 0),
		Payment: func(tb testing.TB, n channeltest.Notice) channel.Request {
			p := vary(paid().with(params{"trade_no": n.Number}), n.Variant)
			if n.Extra {
				p["nobody_knows"] = "x"
			}
			return send(tb, key, p)
		},
		Refund: func(tb testing.TB, which, variant int) channel.Request {
			return send(tb, key, vary([]params{refunded("2.00", "R1"), refunded("5.00", "R2")}[which], variant))
		},
		Authentic: func(tb testing.TB, message []byte) channel.Request { return authentic(tb, key, string(message)) },
		Messages: [][]byte{[]byte(encode(paid())), []byte(encode(refunded("2.00", "R1"))),
			[]byte(encode(paid().with(params{"trade_status": "TRADE_CLOSED", "gmt_payment": "-", "refund_fee": "-",
				"gmt_close": "2026-12-01 12:00:00"})))},
		Refused:    func(tb testing.TB) []channeltest.Refusal { return refusals(tb, key, stranger) },
		Unbookable: func(tb testing.TB) []channeltest.Delivery { return unbookable(tb, key) },
		Signed:     func(body []byte) (int, int) { return signedRange(string(body)) },
		Reworded:   reworded,
		Held:       channel.Reply{Status: 200, ContentType: "text/plain", Body: []byte("success")},
		Refusing:   channel.Reply{Status: 500, ContentType: "text/plain", Body: []byte("fail")},
	}
}

// authentic signs whatever parameters the message holds.
func authentic(tb testing.TB, key *rsa.PrivateKey, message string) channel.Request {
	tb.Helper()
	values, err := url.ParseQuery(message)
	if err != nil {
		return request(message)
	}
	p := params{}
	for name, list := range values {
		if name != "" {
			p[name] = list[0]
		}
	}
	return send(tb, key, p.with(params{"sign_type": "RSA2"}))
}

// signedRange is the value of trade_no: every byte of it is signed, and none of it may be written in another way.
func signedRange(body string) (int, int) {
	start := strings.Index(body, "&trade_no=") + len("&trade_no=")
	return start, start + strings.IndexByte(body[start:], '&')
}

func refusals(tb testing.TB, key, stranger *rsa.PrivateKey) []channeltest.Refusal {
	tb.Helper()
	good := paid().with(params{"sign": sign(tb, key, canonical(paid(), nil))})
	sha1Sum := sha1.Sum([]byte(canonical(paid(), nil)))
	weak, err := rsa.SignPKCS1v15(nil, key, crypto.SHA1, sha1Sum[:])
	if err != nil {
		tb.Fatal(err)
	}
	changed := func(name, value string) channel.Request { return request(encode(good.with(params{name: value}))) }
	return []channeltest.Refusal{
		{Name: "no signature", Request: changed("sign", "-"), Want: channel.ErrForged},
		{Name: "empty signature", Request: changed("sign", ""), Want: channel.ErrForged},
		{Name: "damaged signature", Request: changed("sign", "AAAA"+good["sign"][4:]), Want: channel.ErrForged},
		{Name: "changed amount", Request: changed("total_amount", "0.01"), Want: channel.ErrForged},
		{Name: "parameter added", Request: changed("out_biz_no", "R1"), Want: channel.ErrForged},
		{Name: "parameter taken away", Request: changed("buyer_id", "-"), Want: channel.ErrForged},
		{Name: "stranger's key", Request: send(tb, stranger, paid()), Want: channel.ErrForged},
		{Name: "no sign_type", Request: changed("sign_type", "-"), Want: channel.ErrForged},
		{Name: "sign_type in lower case", Request: changed("sign_type", "rsa2"), Want: channel.ErrForged},
		{Name: "a line break in the signature", Request: changed("sign", good["sign"][:76]+"\n"+good["sign"][76:]),
			Want: channel.ErrForged},
		{Name: "SHA-1, as the message says", Request: request(encode(good.with(params{"sign_type": "RSA",
			"sign": base64.StdEncoding.EncodeToString(weak)}))), Want: channel.ErrForged},
		{Name: "other application", Request: send(tb, key, paid().with(params{"app_id": "2021000000000009"})),
			Want: channel.ErrIdentity},
		{Name: "not an authorised merchant", Request: send(tb, key, paid().with(params{"auth_app_id": "20210009"})),
			Want: channel.ErrIdentity},
		{Name: "other seller", Request: send(tb, key, paid().with(params{"seller_id": "2088000000000009"})),
			Want: channel.ErrIdentity},
		{Name: "a name twice", Request: request(encode(good) + "&total_amount=0.01"), Want: channel.ErrMalformed},
		{Name: "a name twice by escape", Request: request(encode(good) + "&total%5Famount=0.01"),
			Want: channel.ErrMalformed},
		{Name: "no seller", Request: send(tb, key, paid().with(params{"seller_id": "-"})), Want: channel.ErrIdentity},
		{Name: "a separator in a name", Request: request(encode(good) + "&x%3D1%26y=1"), Want: channel.ErrMalformed},
		{Name: "no name", Request: request(encode(good) + "&=1"), Want: channel.ErrMalformed},
		{Name: "no value", Request: request(encode(good) + "&x"), Want: channel.ErrMalformed},
		{Name: "no body", Request: request(""), Want: channel.ErrMalformed},
		{Name: "not a form", Request: request(`{"trade_no":"1"}`), Want: channel.ErrMalformed},
		{Name: "cut escape", Request: request(encode(good) + "&x=%4"), Want: channel.ErrMalformed},
		{Name: "too long", Request: request(encode(good) + "&x=" + strings.Repeat("x", 64<<10)),
			Want: channel.ErrMalformed},
		{Name: "too many parameters", Request: request(encode(good) + strings.Repeat("&x=1", 300)),
			Want: channel.ErrMalformed},
	}
}

func unbookable(tb testing.TB, key *rsa.PrivateKey) []channeltest.Delivery {
	tb.Helper()
	var deliveries []channeltest.Delivery
	for name, changes := range map[string]params{
		"another type of notification": {"notify_type": "open_app_auth_notify"},
		"no trade number":              {"trade_no": "-"},
		"no order number":              {"out_trade_no": ""},
		"no amount":                    {"total_amount": "-"},
		"amount zero":                  {"total_amount": "0.00"},
		"three decimals":               {"total_amount": "19.990"},
		"negative amount":              {"total_amount": "-19.99"},
		"amount beyond int64":          {"total_amount": "99999999999999999999"},
		"refund above the amount":      {"refund_fee": "20.00", "gmt_refund": "2026-12-01 11:00:00"},
		"refund that is no number":     {"refund_fee": "all"},
		"unknown state":                {"trade_status": "TRADE_FROZEN"},
		"paid without a time":          {"gmt_payment": "-"},
		"refund without a mark":        {"refund_fee": "1.00"},
		"mark without a refund":        {"out_biz_no": "R1"},
		"closed but paid":              {"trade_status": "TRADE_CLOSED"},
		"unknown charset":              {"charset": "utf-16"},
		"not text in its charset":      {"out_trade_no": "t\xe9a"},
		"control character":            {"out_trade_no": "ORDER\x00"},
		"no type":                      {"notify_type": "-"},
		"about no trade, no seller":    {"notify_type": "open_app_auth_notify", "seller_id": "-"},
		"money went to the bank":       {"dback_status": "S", "dback_amount": "1.00"},
		"asynchronous refund":          {"refund_status": "REFUND_SUCCESS"},
		"waiting, trade unknown":       {"trade_status": "WAIT_BUYER_PAY", "trade_no": "-"},
		"over but never paid":          {"trade_status": "TRADE_FINISHED", "gmt_payment": ""},
		"refund mark hidden":           {"gmt_create": "2026-12-01 09:59:40&gmt_refund=2026-12-01 11:00:00"},
		"number hides a stray field":   {"trade_no": channeltest.PaymentNumber + "&version=1.0"},
	} {
		deliveries = append(deliveries, channeltest.Delivery{Name: name, Request: send(tb, key, paid().with(changes))})
	}
	return deliveries
}

// reworded writes the same parameters in another order, with more escapes, and with an empty one that is not signed.
func reworded(_ testing.TB, r channel.Request) []channel.Request {
	pairs := strings.Split(string(r.Body), "&")
	slices.Reverse(pairs)
	as := func(body string) channel.Request {
		other := r
		other.Body = []byte(body)
		return other
	}
	return []channel.Request{as(strings.Join(pairs, "&")), as(strings.ReplaceAll(string(r.Body), "=2", "=%32")),
		as(string(r.Body) + "&zzz=")}
}
