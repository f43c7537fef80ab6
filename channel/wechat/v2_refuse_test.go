package wechat_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
)

func refusalsV2(tb testing.TB) []channeltest.Refusal {
	tb.Helper()
	good := v2Payment().sign("MD5", apiKey)
	sealed := sealECB(tb, apiKey, v2Refund().encode("root", false))
	var refusals []channeltest.Refusal
	for name, f := range map[string]fields{
		"no signature":            good.with(fields{"sign": "-"}),
		"empty signature":         good.with(fields{"sign": ""}),
		"damaged signature":       good.with(fields{"sign": strings.Repeat("0", 32)}),
		"cut signature":           good.with(fields{"sign": good["sign"][:31]}),
		"small letters":           good.with(fields{"sign": strings.ToLower(good["sign"])}),
		"stranger's key":          v2Payment().sign("MD5", strings.Repeat("k", 32)),
		"stranger's key, HMAC":    v2Payment().sign(hmacType, strings.Repeat("k", 32)),
		"no key at all":           v2Payment().sign("MD5", ""),
		"changed amount":          good.with(fields{"total_fee": "1"}),
		"field added":             good.with(fields{"coupon_fee_1": "1"}),
		"field removed":           good.with(fields{"bank_type": "-"}),
		"field emptied":           good.with(fields{"bank_type": ""}),
		"nothing but a signature": {"sign": good["sign"]},
		"refund of a stranger":    refundEnvelope(sealECB(tb, strings.Repeat("k", 32), v2Refund().encode("root", false))),
		"refund not base64":       refundEnvelope("!"),
		"refund cut":              refundEnvelope(sealed[:len(sealed)-24]),
		"refund no document":      refundEnvelope(sealECB(tb, apiKey, []byte("refunded"))),
		"refund without padding":  refundEnvelope(sealed[:64]),
		"refund padded by zero":   refundEnvelope(sealBlocks(tb, apiKey, padded(0))),
		"refund padded by 17":     refundEnvelope(sealBlocks(tb, apiKey, padded(17))),
		"refund padded unevenly":  refundEnvelope(sealBlocks(tb, apiKey, padded(2))),
		"refund in another root":  refundEnvelope(sealECB(tb, apiKey, v2Refund().encode("xml", false))),
		"refund signed wrongly":   refundEnvelope(sealed).with(fields{"sign": good["sign"]}),
	} {
		refusals = append(refusals, channeltest.Refusal{Name: name, Request: post(f.encode("xml", true)),
			Want: channel.ErrForged})
	}
	for name, request := range map[string]channel.Request{
		"another merchant":              pay2(fields{"mch_id": "1900000110"}),
		"another application":           pay2(fields{"appid": "wx1"}),
		"refund of another merchant":    post(refundEnvelope(sealed).with(fields{"mch_id": "1"}).encode("xml", true)),
		"refund of no merchant":         post(refundEnvelope(sealed).with(fields{"mch_id": "-"}).encode("xml", true)),
		"refund of another application": post(refundEnvelope(sealed).with(fields{"appid": "wx1"}).encode("xml", true)),
	} {
		refusals = append(refusals, channeltest.Refusal{Name: name, Request: request, Want: channel.ErrIdentity})
	}
	for name, body := range malformedXML(good) {
		refusals = append(refusals, channeltest.Refusal{Name: name, Request: post(body), Want: channel.ErrMalformed})
	}
	for name, f := range handedToPayers() {
		for _, signType := range []string{"MD5", hmacType} {
			refusals = append(refusals, channeltest.Refusal{Name: name + ", " + signType,
				Request: post(f.sign(signType, apiKey).encode("xml", true)), Want: channel.ErrMalformed})
		}
	}
	return append(refusals, unreadableRefunds(tb)...)
}

// handedToPayers are texts that the API key signs for everybody who wants to pay, one also cut in another way.
func handedToPayers() map[string]fields {
	return map[string]fields{
		"parameters for a page": {"appId": appID, "timeStamp": "1796000000", "nonceStr": "n", "signType": "MD5",
			"package": "prepay_id=wx201410272009395522657a690389285100"},
		"parameters for an app": {"appid": appID, "partnerid": mchID, "prepayid": "wx201410272009395522657a690389285100",
			"package": "Sign=WXPay", "noncestr": "n", "timestamp": "1796000000"},
		"the code of a product": {"appid": appID, "mch_id": mchID, "nonce_str": "n", "product_id": "1",
			"time_stamp": "1796000000"},
		"a code, cut elsewhere": {"appid": appID + "&mch_id=" + mchID, "nonce_str": "n&product_id=1",
			"time_stamp": "1796000000"},
	}
}

// unreadableRefunds open under the key and name no refund. They are not signed, so they must not even be kept.
func unreadableRefunds(tb testing.TB) []channeltest.Refusal {
	tb.Helper()
	var refusals []channeltest.Refusal
	for name, changes := range map[string]fields{
		"no number": {"refund_id": "-"}, "no state": {"refund_status": ""}, "no such state": {"refund_status": "success"},
		"number too long": {"refund_id": strings.Repeat("5", 200)}, "no digits": {"refund_id": "50000x"},
		"control": {"out_refund_no": "R\t1"}, "long order": {"out_trade_no": long()},
	} {
		refusals = append(refusals, channeltest.Refusal{Name: "refund: " + name, Request: refund2(tb, changes),
			Want: channel.ErrForged})
	}
	return refusals
}

// padded is a refund's content in whole blocks. Its last byte names a padding that is not there.
func padded(last byte) []byte {
	const block = 16
	content := v2Refund().encode("root", false)
	spaces := bytes.Repeat([]byte(" "), 2*block-1-len(content)%block)
	return append(append(content, spaces...), last)
}

// malformedXML says the good message once more, with something that no notification has.
func malformedXML(good fields) map[string][]byte {
	text := string(good.encode("xml", true))
	inside := func(s string) []byte { return []byte(strings.Replace(text, "<appid>", s+"<appid>", 1)) }
	return map[string][]byte{
		"no body":                 nil,
		"too long":                append([]byte(text), bytes.Repeat([]byte(" "), channel.MaxBodyBytes)...),
		"not XML":                 []byte("sign=1&total_fee=1999"),
		"JSON":                    []byte(`{"sign":"1"}`),
		"cut":                     []byte(text[:len(text)-1]),
		"document type":           []byte("<!DOCTYPE xml>" + text),
		"entity":                  []byte(`<!DOCTYPE xml [<!ENTITY e "1">]>` + strings.Replace(text, "CNY", "&e;", 1)),
		"unknown entity":          []byte(strings.Replace(text, "<![CDATA[CNY]]>", "&cny;", 1)),
		"processing instruction":  []byte(`<?xml-stylesheet href="x"?>` + text),
		"instruction inside":      inside(`<?xml version="1.0"?>`),
		"another encoding":        []byte(`<?xml version="1.0" encoding="GBK"?>` + text),
		"comment":                 []byte("<!-- -->" + text),
		"comment in a value":      []byte(strings.Replace(text, "<![CDATA[1999]]>", "19<!-- -->99", 1)),
		"attribute":               []byte(strings.Replace(text, "<appid>", `<appid a="1">`, 1)),
		"name space":              []byte(strings.Replace(text, "<xml>", `<xml xmlns="urn:x">`, 1)),
		"prefix":                  []byte(strings.ReplaceAll(text, "appid>", "a:appid>")),
		"field twice":             inside("<total_fee>1999</total_fee>"),
		"empty and full":          inside("<total_fee></total_fee>"),
		"signature twice":         inside("<sign>" + good["sign"] + "</sign>"),
		"second level":            []byte(strings.Replace(text, "<![CDATA[1999]]>", "<a>1999</a>", 1)),
		"text between the fields": inside("1999"),
		"text behind":             []byte(text + "1"),
		"only spaces":             []byte(" \n"),
		"empty document behind":   []byte(text + "<xml></xml>"),
		"two documents":           []byte(text + text),
		"another root":            good.encode("root", true),
		"not UTF-8":               []byte(strings.Replace(text, "pos-1", "\xff", 1)),
		"names that don't match":  []byte(strings.Replace(text, "</appid>", "</appId>", 1)),
		"a byte order mark":       []byte("\xef\xbb\xbf" + text),
	}
}

func unbookableV2(tb testing.TB) []channeltest.Delivery {
	tb.Helper()
	var deliveries []channeltest.Delivery
	for name, changes := range map[string]fields{
		"no merchant": {"mch_id": "-"}, "no application": {"appid": ""}, "no payment": {"transaction_id": "-"},
		"no order": {"out_trade_no": "-"}, "no amount": {"total_fee": "-"}, "no result": {"result_code": "-"},
		"failed": {"result_code": "FAIL"}, "not returned": {"return_code": "FAIL"}, "zero": {"total_fee": "0"},
		"negative": {"total_fee": "-1"}, "yuan": {"total_fee": "19.99"}, "space": {"total_fee": "1999 "},
		"huge": {"total_fee": "9223372036854775808"}, "no currency": {"fee_type": "yuan"},
		"another currency":  {"fee_type": "USD"},
		"control character": {"out_trade_no": "ORDER\t1"}, "replaced": {"total_fee": "１９"},
		"a second payment in the number": {"transaction_id": channeltest.PaymentNumber + "&zone=8"},
		"a field hidden in the order":    {"out_trade_no": "ORDER-1&result=1"},
		"the currency hidden":            {"device_info": "pos-1&fee_type=USD", "fee_type": "-"},
	} {
		deliveries = append(deliveries, channeltest.Delivery{Name: "payment: " + name, Request: pay2(changes)})
	}
	for name, changes := range map[string]fields{
		"unknown state": {"refund_status": "LATER"}, "no number": {"refund_id": "-"},
		"long order": {"out_trade_no": long()},
	} {
		inner := sealECB(tb, apiKey, v2Refund().with(changes).encode("root", false))
		deliveries = append(deliveries, channeltest.Delivery{Name: "signed refund: " + name,
			Request: post(refundEnvelope(inner).sign(hmacType, apiKey).encode("xml", true))})
	}
	sealed := sealECB(tb, apiKey, v2Refund().encode("root", false))
	hiding := refundEnvelope(sealed).with(fields{"attach": "x&mch_id=1&n=2"})
	deliveries = append(deliveries, channeltest.Delivery{Name: "signed refund: two readings",
		Request: post(hiding.sign(hmacType, apiKey).encode("xml", true))})
	return deliveries
}

func long() string { return strings.Repeat("1", 65) }
