package sqb_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
	"github.com/paidonce/paidonce/channel/sqb"
)

const terminal = "100000330000001"

func account() channel.Account { return channel.Account{Tenant: 7, Channel: sqb.Code, Name: "shop-1"} }

// callback is the fields of a callback, all of them texts as Shouqianba sends them.
type callback map[string]any

func paid() callback {
	return callback{
		"terminal_sn": terminal, "sn": channeltest.PaymentNumber, "client_sn": "ORDER-1", "client_tsn": "ORDER-1",
		"trade_no": "4200001234202612010000000001", "status": "SUCCESS", "order_status": "PAID", "payway": "3",
		"sub_payway": "2", "total_amount": "1999", "net_amount": "1999", "subject": "tea", "operator": "op",
		"finish_time": "1790000001500", "channel_finish_time": "1790000000000",
		"payment_list": []any{map[string]any{"type": "WALLET_WEIXIN", "amount_total": "1999"}},
	}
}

// with returns a copy with some fields replaced; a nil value removes the field.
func (c callback) with(changes callback) callback {
	changed := maps.Clone(c)
	for name, value := range changes {
		if changed[name] = value; value == nil {
			delete(changed, name)
		}
	}
	return changed
}

func (c callback) encode(tb testing.TB) []byte {
	tb.Helper()
	body, err := json.Marshal(c)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func newKey(tb testing.TB) *rsa.PrivateKey {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func newClient(tb testing.TB, keys ...*rsa.PrivateKey) *sqb.Client {
	tb.Helper()
	config := sqb.Config{Account: account(), TerminalSNs: []string{"100000330000002", terminal}}
	for _, key := range keys {
		config.PublicKeys = append(config.PublicKeys, &key.PublicKey)
	}
	client, err := sqb.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

func signature(tb testing.TB, key *rsa.PrivateKey, body []byte) string {
	tb.Helper()
	digest := sha256.Sum256(body)
	signed, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	if err != nil {
		tb.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(signed)
}

// deliver makes a request with this body and Authorization header.
func deliver(authorization string, body []byte) channel.Request {
	return channel.Request{Header: http.Header{"Authorization": {authorization}, "Content-Type": {"application/json"}},
		Body: body, Received: time.UnixMilli(1790000002000)}
}

func send(tb testing.TB, key *rsa.PrivateKey, c callback) channel.Request {
	tb.Helper()
	body := c.encode(tb)
	return deliver(signature(tb, key, body), body)
}

func TestContract(t *testing.T) { channeltest.Run(t, subject(t)) }

func FuzzParse(f *testing.F) { channeltest.Fuzz(f, subject(f)) }

func subject(tb testing.TB) channeltest.Subject {
	key, stranger := newKey(tb), newKey(tb)
	return channeltest.Subject{
		New:      func(tb testing.TB) channel.Channel { return newClient(tb, key) },
		Account:  account(),
		Received: time.UnixMilli(1790000002000),
		Payment: func(tb testing.TB, n channeltest.Notice) channel.Request {
			c := paid().with(callback{"sn": n.Number})
			if n.Extra {
				c["nobody_knows"] = 1.5
			}
			return vary(tb, key, c, n.Variant)
		},
		Refund: func(tb testing.TB, which, variant int) channel.Request {
			c := paid().with(callback{"order_status": "PARTIAL_REFUNDED", "net_amount": []string{"1500", "900"}[which]})
			return vary(tb, key, c, variant)
		},
		Authentic: func(tb testing.TB, body []byte) channel.Request { return deliver(signature(tb, key, body), body) },
		Messages: [][]byte{
			paid().encode(tb),
			paid().with(callback{"order_status": "REFUNDED", "net_amount": "0"}).encode(tb),
			paid().with(callback{"order_status": "PAY_CANCELED", "status": "FAIL_CANCELED"}).encode(tb),
			[]byte(`{"terminal_sn":"` + terminal + `","sn":"1","sn":"2"}`),
		},
		Refused:    func(tb testing.TB) []channeltest.Refusal { return refusals(tb, key, stranger) },
		Unbookable: func(tb testing.TB) []channeltest.Delivery { return unbookable(tb, key) },
		Signed:     func(body []byte) (int, int) { return 0, len(body) },
		Reworded:   func(testing.TB, channel.Request) []channel.Request { return nil },
		Held:       channel.Reply{Status: 200, ContentType: "text/plain", Body: []byte("success")},
		Refusing:   channel.Reply{Status: 500, ContentType: "text/plain", Body: []byte("fail")},
	}
}

// vary sends the same callback in the ways in which integrations saw it: layout, and with or without a terminal
// before the signature.
func vary(tb testing.TB, key *rsa.PrivateKey, c callback, variant int) channel.Request {
	tb.Helper()
	body := c.encode(tb)
	if variant > 0 {
		var indented bytes.Buffer
		if err := json.Indent(&indented, body, "", strings.Repeat(" ", variant)); err != nil {
			tb.Fatal(err)
		}
		body = indented.Bytes()
		return deliver("100000339999999 "+signature(tb, key, body), body)
	}
	return deliver(signature(tb, key, body), body)
}

func refusals(tb testing.TB, key, stranger *rsa.PrivateKey) []channeltest.Refusal {
	tb.Helper()
	good := send(tb, key, paid())
	authorization := good.Header.Get("Authorization")
	twice := send(tb, key, paid())
	twice.Header.Add("Authorization", authorization)
	none := deliver("", good.Body)
	none.Header.Del("Authorization")
	elsewhere := none
	elsewhere.Header = http.Header{"X-Signature": {authorization}}
	more := bytes.Replace(good.Body, []byte(`"total_amount":"1999"`), []byte(`"total_amount":"9999"`), 1)
	return []channeltest.Refusal{
		{Name: "no header", Request: none, Want: channel.ErrForged},
		{Name: "another header", Request: elsewhere, Want: channel.ErrForged},
		{Name: "two headers", Request: twice, Want: channel.ErrForged},
		{Name: "empty header", Request: deliver("", good.Body), Want: channel.ErrForged},
		{Name: "terminal alone", Request: deliver(terminal+" ", good.Body), Want: channel.ErrForged},
		{Name: "not base64", Request: deliver("!"+authorization, good.Body), Want: channel.ErrForged},
		{Name: "damaged", Request: deliver(flipCase(authorization), good.Body), Want: channel.ErrForged},
		{Name: "cut", Request: deliver(authorization[:len(authorization)-4], good.Body), Want: channel.ErrForged},
		{Name: "stranger's key", Request: send(tb, stranger, paid()), Want: channel.ErrForged},
		{Name: "changed amount", Request: deliver(authorization, more), Want: channel.ErrForged},
		{Name: "line break added", Request: deliver(authorization, append(bytes.Clone(good.Body), '\n')),
			Want: channel.ErrForged},
		{Name: "another terminal", Request: send(tb, key, paid().with(callback{"terminal_sn": "100000330000009"})),
			Want: channel.ErrIdentity},
		{Name: "our terminal in the header only", Request: foreignBehindOurHeader(tb, key), Want: channel.ErrIdentity},
		{Name: "no body", Request: deliver(signature(tb, key, nil), nil), Want: channel.ErrMalformed},
		{Name: "too long", Request: send(tb, key, paid().with(callback{"reflect": strings.Repeat("r", 64<<10)})),
			Want: channel.ErrMalformed},
	}
}

func foreignBehindOurHeader(tb testing.TB, key *rsa.PrivateKey) channel.Request {
	tb.Helper()
	body := paid().with(callback{"terminal_sn": "100000330000009"}).encode(tb)
	return deliver(terminal+" "+signature(tb, key, body), body)
}

// flipCase changes the first letter of a base64 text to its other case.
func flipCase(text string) string {
	at := strings.IndexFunc(text, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' })
	changed := []byte(text)
	changed[at] ^= 0x20
	return string(changed)
}

func unbookable(tb testing.TB, key *rsa.PrivateKey) []channeltest.Delivery {
	tb.Helper()
	var deliveries []channeltest.Delivery
	for name, changes := range map[string]callback{
		"unknown order state":      {"order_status": "FROZEN"},
		"order state in lowercase": {"order_status": "paid"},
		"unknown flow state":       {"status": "MAYBE"},
		"no terminal":              {"terminal_sn": nil},
		"no sn":                    {"sn": nil},
		"no order":                 {"client_sn": nil},
		"null sn":                  {"sn": json.RawMessage("null")},
		"number for sn":            {"sn": 7892259488292938},
		"no amount":                {"total_amount": nil},
		"amount zero":              {"total_amount": "0", "net_amount": "0"},
		"amount in yuan":           {"total_amount": "19.99"},
		"negative amount":          {"total_amount": "-1999"},
		"amount beyond int64":      {"total_amount": "9223372036854775808"},
		"net that is no number":    {"net_amount": "all"},
		"control character":        {"client_sn": "ORDER\x00"},
		"half a surrogate pair":    {"sn": json.RawMessage(`"\ud800"`)},
	} {
		deliveries = append(deliveries, channeltest.Delivery{Name: name, Request: send(tb, key, paid().with(changes))})
	}
	good := string(paid().encode(tb))
	for name, body := range map[string]string{
		"repeated field":      `{"sn":"1",` + good[1:],
		"repeated by escape":  `{"\u0073n":"1",` + good[1:],
		"field in other case": strings.Replace(good, `"sn"`, `"SN"`, 1),
		"two objects":         good + good,
		"an array":            "[" + good + "]",
		"cut":                 good[:len(good)-1],
		"not UTF-8":           strings.Replace(good, "tea", "t\xe9", 1),
		"a byte order mark":   "\xef\xbb\xbf" + good,
		"not JSON":            "sn=1&order_status=PAID",
	} {
		request := deliver(signature(tb, key, []byte(body)), []byte(body))
		deliveries = append(deliveries, channeltest.Delivery{Name: name, Request: request})
	}
	return deliveries
}
