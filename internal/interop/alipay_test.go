package interop_test

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/alipay"
	"github.com/paidonce/paidonce/internal/interop"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/sandbox"
)

// The SDK hashes texts as UTF-8 only, so it cannot judge a notification in GBK.
func TestTheSDKVerifiesWhatTheSandboxSendsAsAlipay(t *testing.T) {
	sdk, keys := interop.Open(t), newKeys(t)
	var requests []alipayRequest
	var wanted []func(alipayAnswer) error
	for seed := range uint64(seeds) {
		p := pay(t, keys, sandbox.Alipay, seed)
		expired, err := p.CloseUnpaid(sandbox.Alipay, boxAccount, "EXPIRED", money.New(1, money.CNY))
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string]sandbox.Variant{"honest": {}, "finished": {Finished: true}, "wrong": {WrongBy: 1},
			"other merchant": {OtherMerchant: true}, "changed": {BadSignature: true}, "stranger": {Stranger: true}} {
			for _, fact := range []sandbox.Fact{p.payment, p.partial, p.full, expired} {
				m := p.message(t, fact, v)
				want := alipayFields(fact, v)
				requests = append(requests, alipayRequest{Operation: "verify", Body: string(m.Body),
					PublicKey: keys.AlipayPublicKey})
				wanted = append(wanted, func(got alipayAnswer) error {
					if genuine := !v.BadSignature && !v.Stranger; got.Verified != genuine {
						return fmt.Errorf("%s, %T: verified %t", name, fact, got.Verified)
					}
					for field, value := range want {
						if !v.BadSignature && got.Fields[field] != value {
							return fmt.Errorf("%s, %T: %s %q, want %q", name, fact, field, got.Fields[field], value)
						}
					}
					return nil
				})
			}
		}
	}
	var answers []alipayAnswer
	sdk.AskAll(t, "alipay.mjs", requests, &answers)
	for i, check := range wanted {
		if err := check(answers[i]); err != nil {
			t.Error(err)
		}
	}
}

// alipayFields are what the message must say about the fact of 19.99 yuan, refunded by 5.00 and then by the rest.
func alipayFields(fact sandbox.Fact, v sandbox.Variant) map[string]string {
	amount := func(minor int64) string { return money.New(minor+v.WrongBy, money.CNY).Decimal() }
	seller := boxSeller
	if v.OtherMerchant {
		seller = "2088999999999999"
	}
	fields := map[string]string{"app_id": boxAppID, "seller_id": seller, "subject": "咖啡 + 蛋糕"}
	switch f := fact.(type) {
	case *sandbox.Payment:
		fields["trade_no"], fields["total_amount"], fields["trade_status"] = f.TradeNo, amount(1999), "TRADE_SUCCESS"
		if v.Finished {
			fields["trade_status"] = "TRADE_FINISHED"
		}
	case *sandbox.Refund:
		fields["trade_no"], fields["total_amount"] = f.Payment.TradeNo, amount(1999)
		fields["out_biz_no"], fields["refund_fee"], fields["trade_status"] = f.RefundNo, "5.00", "TRADE_SUCCESS"
		if f.RefundNo == "REFUND-2" {
			fields["refund_fee"], fields["trade_status"] = "19.99", "TRADE_CLOSED"
		}
	case *sandbox.Close:
		fields["trade_no"], fields["out_trade_no"], fields["trade_status"] = f.TradeNo, "EXPIRED", "TRADE_CLOSED"
	}
	return fields
}

func TestTheAdapterReadsWhatAlipaysSDKSigns(t *testing.T) {
	sdk, key := interop.Open(t), newKey(t)
	client, err := alipay.New(alipay.Config{Account: channel.Account{Tenant: 3, Channel: alipay.Code, Name: boxAccount},
		AppID: boxAppID, SellerIDs: []string{boxSeller}, PublicKeys: []*rsa.PublicKey{&key.PublicKey}})
	if err != nil {
		t.Fatal(err)
	}
	const trade = "2026120122001400001400000001"
	common := map[string]string{"notify_type": "trade_status_sync", "app_id": boxAppID, "seller_id": boxSeller,
		"charset": "utf-8", "trade_no": trade, "out_trade_no": "ORDER-1", "total_amount": "19.99", "body": "",
		"subject": `一杯 茶 + 50% & "饼" ~*'()`, "fund_bill_list": `[{"amount":"19.99"}]`}
	for name, test := range map[string]struct {
		fields map[string]string
		want   channel.Event
	}{
		"payment": {map[string]string{"trade_status": "TRADE_SUCCESS", "gmt_payment": "2026-12-01 10:30:00"},
			channel.Event{Kind: channel.PaymentReceived, BizNo: []string{trade}, Amount: money.New(1999, money.CNY)}},
		"close": {map[string]string{"trade_status": "TRADE_CLOSED", "gmt_close": "2026-12-01 10:30:00"},
			channel.Event{Kind: channel.PaymentClosed, BizNo: []string{trade}}},
		"refund": {map[string]string{"trade_status": "TRADE_SUCCESS", "refund_fee": "5.00", "out_biz_no": "REFUND-1",
			"gmt_payment": "2026-12-01 10:00:00", "gmt_refund": "2026-12-01 10:30:00.123"},
			channel.Event{Kind: channel.QueryDue, BizNo: []string{trade, "REFUND-1", "5.00"}, RefundNo: "REFUND-1",
				Amount: money.New(500, money.CNY), Note: "refund seen, 5.00 yuan given back so far"}},
	} {
		t.Run(name, func(t *testing.T) {
			for field, value := range common {
				test.fields[field] = value
			}
			var signed alipayAnswer
			sdk.Ask(t, "alipay.mjs", alipayRequest{Operation: "sign", Fields: test.fields, PrivateKey: privatePEM(t, key),
				PublicKey: publicPEM(t, &key.PublicKey)}, &signed)
			test.want.Tenant, test.want.Channel, test.want.Account = 3, alipay.Code, boxAccount
			test.want.OrderNo, test.want.TradeNo, test.want.HappenedAt = "ORDER-1", trade, now()
			parsesTo(t, client, channel.Request{Body: []byte(signed.Body), Received: now()}, test.want)
			changed := strings.Replace(signed.Body, "total_amount=19.99", "total_amount=19.98", 1)
			_, err := client.Parse(t.Context(), channel.Request{Body: []byte(changed), Received: now()})
			if changed == signed.Body || !errors.Is(err, channel.ErrForged) {
				t.Errorf("changed: %v, want %v", err, channel.ErrForged)
			}
		})
	}
}
