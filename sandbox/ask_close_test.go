package sandbox_test

import (
	"testing"

	"github.com/paidonce/paidonce/sandbox"
)

// Alipay makes a trade when its code is scanned: before that there is nothing to close and the code stays payable;
// after it the close is a fact that can be notified.
func TestAlipayClosesOnlyWhatWasScanned(t *testing.T) {
	m := newMerchant(t, newKeys(t), 1)
	must(t, m.box.Open(sandbox.Alipay, "shop", "A-1", yuan(1)))
	m.ask(sandbox.Alipay, end, "A-1")
	if _, err := m.box.Pay(sandbox.Alipay, "shop", "A-1", yuan(1)); err != nil {
		t.Errorf("a code that nobody had scanned was closed: %v", err)
	}
	must(t, m.box.Open(sandbox.Alipay, "shop", "A-2", yuan(1)))
	must(t, m.box.Scan(sandbox.Alipay, "shop", "A-2"))
	m.ask(sandbox.Alipay, end, "A-2")
	if closes := m.box.Record().Closes; len(closes) != 1 || closes[0].OrderNo != "A-2" || closes[0].TradeNo == "" {
		t.Errorf("closes in the record: %+v", closes)
	}
}

// WeChat Pay v2 answers in the digest of the question, and closes by the merchant's number alone.
func TestTheDigestAndTheNumberOfV2(t *testing.T) {
	m := newMerchant(t, newKeys(t), 1)
	payment := pay(t, m.box, sandbox.WeChatV2, "A-1", 1)
	for signType, length := range map[string]int{"": 32, "MD5": 32, "HMAC-SHA256": 64} {
		got := m.v2("/pay/orderquery", map[string]string{"out_trade_no": "A-1", "sign_type": signType})
		if sign := flatXML(t, []byte(got.raw))["sign"]; len(sign) != length || !got.genuine {
			t.Errorf("asked by %q: a digest of %d digits, genuine %t; want %d", signType, len(sign), got.genuine, length)
		}
	}
	must(t, m.box.Open(sandbox.WeChatV2, "shop", "A-2", yuan(1)))
	if got := m.v2("/pay/closeorder", map[string]string{"out_trade_no": "A-2",
		"transaction_id": payment.TradeNo}); got.word != "done" {
		t.Errorf("closing A-2: %q", got.word)
	}
}
