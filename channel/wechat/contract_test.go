package wechat_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
)

func TestContract(t *testing.T) { channeltest.Run(t, newPlatform(t).subject()) }

// FuzzResource reaches what is behind signature and encryption.
func FuzzResource(f *testing.F) { channeltest.Fuzz(f, newPlatform(f).subject()) }

// FuzzEnvelope reaches what is behind the signature only.
func FuzzEnvelope(f *testing.F) {
	p := newPlatform(f)
	s := p.subject()
	s.Authentic = func(tb testing.TB, body []byte) channel.Request { return p.raw(tb, body) }
	s.Messages = [][]byte{
		envelope(f, "TRANSACTION.SUCCESS", transaction().encode(f)).encode(f),
		envelope(f, "REFUND.CLOSED", refund().with(doc{"refund_status": "CLOSED"}).encode(f)).encode(f),
		[]byte(`{"event_type":"TRANSACTION.SUCCESS","resource":{"algorithm":"AEAD_AES_256_GCM","nonce":"short"}}`),
	}
	channeltest.Fuzz(f, s)
}

func (p platform) subject() channeltest.Subject {
	return channeltest.Subject{
		New:      func(tb testing.TB) channel.Channel { return p.client(tb) },
		Account:  account(),
		Received: received(),
		Payment: func(tb testing.TB, n channeltest.Notice) channel.Request {
			message, more := transaction().with(doc{"transaction_id": n.Number}), doc{}
			if n.Extra {
				more = doc{"undocumented": doc{"since": 1.5}}
			}
			return p.vary(tb, envelope(tb, "TRANSACTION.SUCCESS", message.with(more).encode(tb)).with(more), n.Variant)
		},
		Refund: func(tb testing.TB, which, variant int) channel.Request {
			number := strconv.Itoa(which)
			message := refund().with(doc{"refund_id": "5000000038201905270973267885" + number,
				"out_refund_no": "REFUND-" + number})
			return p.vary(tb, envelope(tb, "REFUND.SUCCESS", message.encode(tb)), variant)
		},
		Authentic: func(tb testing.TB, message []byte) channel.Request {
			eventType := "TRANSACTION.SUCCESS"
			if bytes.Contains(message, []byte("refund")) {
				eventType = "REFUND.SUCCESS"
			}
			return p.raw(tb, envelope(tb, eventType, message).encode(tb))
		},
		Messages: [][]byte{[]byte(`{"mchid":"` + mchID + `","mchid":"1"}`),
			[]byte(`{"transaction_id":"1","amount":{"total":1e3,"total":1}}`),
			[]byte(`{"mchid":"` + mchID + `","appid":"` + appID + `","out_trade_no":"1","transaction_id":"2",` +
				`"trade_state":"SUCCESS","amount":{"total":1}}`),
			[]byte(`{"mchid":"` + mchID + `","out_trade_no":"1","transaction_id":"2","out_refund_no":"3",` +
				`"refund_id":"4","refund_status":"SUCCESS","amount":{"refund":1}}`)},
		Refused:    p.refusals,
		Unbookable: p.unbookable,
		Signed:     func(body []byte) (int, int) { return 0, len(body) },
		Reworded:   func(testing.TB, channel.Request) []channel.Request { return nil },
		Held: channel.Reply{Status: 200, ContentType: "application/json",
			Body: []byte(`{"code":"SUCCESS","message":"OK"}`)},
		Refusing: channel.Reply{Status: 500, ContentType: "application/json",
			Body: []byte(`{"code":"FAIL","message":"not held, send it again"}`)},
		Secrets: []string{apiV3Key, oldAPIv3Key},
	}
}

func (p platform) refusals(tb testing.TB) []channeltest.Refusal {
	tb.Helper()
	good := p.pay(tb, nil)
	edit := func(name, value string) channel.Request {
		r := channel.Request{Header: good.Header.Clone(), Body: good.Body, Received: good.Received}
		r.Header[name] = []string{value}
		return r
	}
	refusals := []channeltest.Refusal{
		{Name: "unknown serial", Request: edit("Wechatpay-Serial", "00AA"), Want: channel.ErrForged},
		{Name: "serial of the other key", Request: edit("Wechatpay-Serial", publicKeyID), Want: channel.ErrForged},
		{Name: "another nonce", Request: edit("Wechatpay-Nonce", "another"), Want: channel.ErrForged},
		{Name: "another time", Request: edit("Wechatpay-Timestamp", strconv.Itoa(signedAt+1)), Want: channel.ErrForged},
		{Name: "SM2", Request: edit("Wechatpay-Signature-Type", "WECHATPAY2-SM2-WITH-SM3"), Want: channel.ErrForged},
		{Name: "probe", Request: edit("Wechatpay-Signature", "WECHATPAY/SIGNTEST/abc"), Want: channel.ErrProbe},
		{Name: "stranger's key", Request: signed(tb, p.stranger, certSerial, strconv.Itoa(signedAt), "n", good.Body),
			Want: channel.ErrForged},
		{Name: "body changed", Request: channel.Request{Header: good.Header, Received: good.Received,
			Body: append(bytes.Clone(good.Body), '\n')}, Want: channel.ErrForged},
		{Name: "stale", Request: channel.Request{Header: good.Header, Body: good.Body,
			Received: good.Received.AddDate(0, 0, 1)}, Want: channel.ErrStale},
		{Name: "another merchant", Request: p.pay(tb, doc{"mchid": "1900000110"}), Want: channel.ErrIdentity},
		{Name: "another application", Request: p.pay(tb, doc{"appid": "wx1"}), Want: channel.ErrIdentity},
		{Name: "partner of another merchant", Request: p.pay(tb, doc{"mchid": nil, "sp_mchid": "1900000110"}),
			Want: channel.ErrIdentity},
		{Name: "ours and another's", Request: p.pay(tb, doc{"sp_mchid": "1900000110"}), Want: channel.ErrIdentity},
		{Name: "refund of another merchant", Request: p.send(tb, "REFUND.SUCCESS",
			refund().with(doc{"mchid": "1900000110"})), Want: channel.ErrIdentity},
		{Name: "no body", Request: p.raw(tb, nil), Want: channel.ErrMalformed},
		{Name: "too long", Request: p.raw(tb, bytes.Repeat([]byte(" "), channel.MaxBodyBytes+1)),
			Want: channel.ErrMalformed},
	}
	for _, name := range []string{"Wechatpay-Serial", "Wechatpay-Signature", "Wechatpay-Timestamp", "Wechatpay-Nonce"} {
		without, twice := edit(name, ""), edit(name, good.Header.Get(name))
		delete(without.Header, name)
		twice.Header.Add(name, good.Header.Get(name))
		refusals = append(refusals,
			channeltest.Refusal{Name: "no " + name, Request: without, Want: channel.ErrForged},
			channeltest.Refusal{Name: "two " + name, Request: twice, Want: channel.ErrForged},
			channeltest.Refusal{Name: "empty " + name, Request: edit(name, ""), Want: channel.ErrForged})
	}
	return refusals
}

func (p platform) unbookable(tb testing.TB) []channeltest.Delivery {
	tb.Helper()
	var deliveries []channeltest.Delivery
	add := func(name string, r channel.Request) {
		deliveries = append(deliveries, channeltest.Delivery{Name: name, Request: r})
	}
	for name, changes := range map[string]doc{
		"no merchant": {"mchid": nil}, "no application": {"appid": nil}, "no order": {"out_trade_no": nil},
		"no UTF-8":   {"transaction_id": json.RawMessage("\"\xff\"")},
		"no payment": {"transaction_id": nil}, "null payment": {"transaction_id": json.RawMessage("null")},
		"number for a text": {"transaction_id": 42}, "half a pair": {"transaction_id": json.RawMessage(`"\ud800"`)},
		"no state": {"trade_state": nil}, "closed": {"trade_state": "CLOSED"}, "small state": {"trade_state": "success"},
		"no amount": {"amount": nil}, "amount no object": {"amount": 1999}, "no total": {"amount": doc{"refund": 1}},
		"zero": {"amount": doc{"total": 0}}, "negative": {"amount": doc{"total": -1999}},
		"yuan": {"amount": doc{"total": 19.99}}, "exponent": {"amount": doc{"total": json.RawMessage("1e3")}},
		"text": {"amount": doc{"total": "1999"}}, "no currency": {"amount": doc{"total": 1, "currency": "yuan"}},
		"twice": {"amount": json.RawMessage(`{"total":1,"total":1999}`)},
		"huge":  {"amount": doc{"total": json.RawMessage("9223372036854775808")}},
	} {
		add("payment: "+name, p.pay(tb, changes))
	}
	for name, changes := range map[string]doc{
		"no merchant": {"mchid": nil}, "no order": {"out_trade_no": nil}, "no payment": {"transaction_id": nil},
		"no number": {"refund_id": nil}, "no number of ours": {"out_refund_no": nil}, "no amount": {"amount": nil},
		"no refund amount": {"amount": doc{"total": 1999}}, "no state": {"refund_status": nil},
		"empty states": {"refund_status": "", "status": ""}, "another state": {"refund_status": "CLOSED"},
		"unknown state": {"refund_status": "PROCESSING"}, "two states": {"status": "ABNORMAL"},
	} {
		add("refund: "+name, p.send(tb, "REFUND.SUCCESS", refund().with(changes)))
	}
	return append(deliveries, p.unreadable(tb)...)
}

// unreadable are signed deliveries whose envelope or resource is not what the documents describe.
func (p platform) unreadable(tb testing.TB) []channeltest.Delivery {
	tb.Helper()
	var deliveries []channeltest.Delivery
	add := func(name string, r channel.Request) {
		deliveries = append(deliveries, channeltest.Delivery{Name: name, Request: r})
	}
	plain := transaction().encode(tb)
	outer := envelope(tb, "TRANSACTION.SUCCESS", plain)
	resource := seal(tb, apiV3Key, "transaction", plain)
	for name, changes := range map[string]doc{
		"no type": {"event_type": nil}, "unknown type": {"event_type": "PAYSCORE.USER_PAID"},
		"no resource": {"resource": nil}, "null resource": {"resource": json.RawMessage("null")},
		"resource no object": {"resource": "x"}, "algorithm": {"resource": resource.with(doc{"algorithm": "AES"})},
		"number for original_type": {"resource": resource.with(doc{"original_type": 1})},
		"refund in a payment":      {"resource": resource.with(doc{"original_type": "refund"})},
		"payment in a refund":      {"event_type": "REFUND.SUCCESS"},
		"short nonce":              {"resource": resource.with(doc{"nonce": "fdasflkja48"})},
		"long nonce":               {"resource": resource.with(doc{"nonce": "fdasflkja4844"})},
		"no nonce":                 {"resource": resource.with(doc{"nonce": nil})},
		"another nonce":            {"resource": resource.with(doc{"nonce": "fdasflkja485"})},
		"other associated data":    {"resource": resource.with(doc{"associated_data": ""})},
		"no ciphertext":            {"resource": resource.with(doc{"ciphertext": nil})},
		"ciphertext not base64":    {"resource": resource.with(doc{"ciphertext": "!"})},
		"another key":              {"resource": seal(tb, strings.Repeat("k", 32), "transaction", plain)},
		"content not JSON":         {"resource": seal(tb, apiV3Key, "transaction", []byte("paid"))},
		"content twice":            {"resource": seal(tb, apiV3Key, "transaction", append(plain, plain...))},
		"content cut":              {"resource": seal(tb, apiV3Key, "transaction", plain[:len(plain)-1])},
	} {
		add("envelope: "+name, p.raw(tb, outer.with(changes).encode(tb)))
	}
	for name, body := range map[string]string{"array": "[]", "text": "paid", "null": "null",
		"two":       string(outer.encode(tb)) + string(outer.encode(tb)),
		"not UTF-8": "{\"event_type\":\"\xff\"}", "twice": `{"event_type":"A","event_type":"TRANSACTION.SUCCESS"}`} {
		add("body: "+name, p.raw(tb, []byte(body)))
	}
	return deliveries
}
