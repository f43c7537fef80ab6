package interop_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/internal/interop"
	"github.com/paidonce/paidonce/sandbox"
)

// sent is one delivery of the sandbox and what the SDK must find in it.
type sent struct {
	name    string
	refund  *sandbox.Refund // nil: the payment
	payment *sandbox.Payment
	variant sandbox.Variant
	genuine bool // for the SDK, which checks signatures and not whose the message is
}

// deliveries are all that may be sent of one payment at WeChat Pay.
func (p paid) deliveries(v3 bool) []sent {
	var list []sent
	variants := map[string]sandbox.Variant{"honest": {}, "other merchant": {OtherMerchant: true},
		"wrong amount": {WrongBy: -1}, "changed": {BadSignature: true}, "stranger": {Stranger: true}}
	if v3 {
		variants["certificate"] = sandbox.Variant{Certificate: true}
		variants["probe"] = sandbox.Variant{Probe: true}
	}
	for name, v := range variants {
		genuine := !v.BadSignature && !v.Stranger && !v.Probe
		for _, refund := range []*sandbox.Refund{nil, p.partial, p.full} {
			list = append(list, sent{name, refund, p.payment, v, genuine})
		}
	}
	return list
}

func (s sent) fact() sandbox.Fact {
	if s.refund != nil {
		return s.refund
	}
	return s.payment
}

// amount is what the message must say, in fen.
func (s sent) amount() int64 {
	if s.refund != nil {
		return s.refund.Amount.Minor + s.variant.WrongBy
	}
	return s.payment.Amount.Minor + s.variant.WrongBy
}

func (s sent) merchant() string {
	if s.variant.OtherMerchant {
		return "1999999999"
	}
	return boxMchID
}

func (s sent) String() string { return fmt.Sprintf("%s, refund %t", s.name, s.refund != nil) }

func TestTheSDKVerifiesWhatTheSandboxSendsAsWeChatV3(t *testing.T) {
	sdk, keys := interop.Open(t), newKeys(t)
	var requests []wechatRequest
	var all []sent
	signedBy := map[bool]int{}
	for seed := range uint64(seeds) {
		p := pay(t, keys, sandbox.WeChat, seed)
		for _, s := range p.deliveries(true) {
			m := p.message(t, s.fact(), s.variant)
			byKey := m.Header.Get("Wechatpay-Serial") == keys.WeChatPublicKeyID
			public := keys.WeChatCertificate
			if byKey {
				public = keys.WeChatPublicKey
			}
			signedBy[byKey]++
			all = append(all, s)
			requests = append(requests, wechatRequest{Operation: "verifyV3", Body: string(m.Body), PublicKey: public,
				APIv3Key: keys.WeChatV3Key, Headers: wechatHeaders{Timestamp: m.Header.Get("Wechatpay-Timestamp"),
					Nonce: m.Header.Get("Wechatpay-Nonce"), Signature: m.Header.Get("Wechatpay-Signature")}})
		}
	}
	if signedBy[true] == 0 || signedBy[false] == 0 {
		t.Fatalf("signed by public key: %v, want both kinds", signedBy)
	}
	var answers []wechatAnswer
	sdk.AskAll(t, "wechat.mjs", requests, &answers)
	for i, s := range all {
		if answers[i].Verified != s.genuine {
			t.Errorf("%s: verified %t", s, answers[i].Verified)
		} else if s.genuine {
			s.compareV3(t, answers[i].Decrypted)
		}
	}
}

func (s sent) compareV3(t *testing.T, decrypted string) {
	t.Helper()
	var got struct {
		MchID         string `json:"mchid"`
		TransactionID string `json:"transaction_id"`
		OrderNo       string `json:"out_trade_no"`
		RefundNo      string `json:"out_refund_no"`
		Amount        struct {
			Total  int64 `json:"total"`
			Refund int64 `json:"refund"`
		} `json:"amount"`
	}
	if err := json.Unmarshal([]byte(decrypted), &got); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	amount, refundNo := got.Amount.Total, ""
	if s.refund != nil {
		amount, refundNo = got.Amount.Refund, s.refund.RefundNo
	}
	if got.MchID != s.merchant() || got.TransactionID != s.payment.TradeNo || got.OrderNo != s.payment.OrderNo ||
		got.RefundNo != refundNo || amount != s.amount() {
		t.Errorf("%s: the SDK reads %s", s, decrypted)
	}
}

func TestTheSDKVerifiesWhatTheSandboxSendsAsWeChatV2(t *testing.T) {
	sdk, keys := interop.Open(t), newKeys(t)
	var requests []wechatRequest
	var all []sent
	algorithms := map[string]int{}
	for seed := range uint64(seeds) {
		p := pay(t, keys, sandbox.WeChatV2, seed)
		for _, s := range p.deliveries(false) {
			m := p.message(t, s.fact(), s.variant)
			request := wechatRequest{Operation: "openV2Refund", Body: string(m.Body), APIv2Key: keys.WeChatV2Key}
			if s.refund == nil {
				request.Operation, request.Algorithm = "verifyV2", "MD5"
				if strings.Contains(request.Body, "HMAC-SHA256") {
					request.Algorithm = "HMAC-SHA256"
				}
				algorithms[request.Algorithm]++
			}
			all, requests = append(all, s), append(requests, request)
		}
	}
	if algorithms["MD5"] == 0 || algorithms["HMAC-SHA256"] == 0 {
		t.Fatalf("signed with %v, want both kinds", algorithms)
	}
	var answers []wechatAnswer
	sdk.AskAll(t, "wechat.mjs", requests, &answers)
	for i, s := range all {
		s.compareV2(t, requests[i].Body, answers[i])
	}
}

func (s sent) compareV2(t *testing.T, body string, got wechatAnswer) {
	t.Helper()
	if got.Verified != s.genuine {
		t.Errorf("%s: verified %t", s, got.Verified)
	}
	if !s.genuine {
		return
	}
	amountName, refundNo := "total_fee", ""
	if s.refund != nil {
		amountName, refundNo = "refund_fee", s.refund.RefundNo
	}
	if !strings.Contains(body, s.merchant()) || got.Fields["transaction_id"] != s.payment.TradeNo ||
		got.Fields["out_trade_no"] != s.payment.OrderNo || got.Fields["out_refund_no"] != refundNo ||
		got.Fields[amountName] != fmt.Sprint(s.amount()) {
		t.Errorf("%s: the SDK reads %v", s, got.Fields)
	}
}
