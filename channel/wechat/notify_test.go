package wechat_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
	"github.com/paidonce/paidonce/channel/wechat"
	"github.com/paidonce/paidonce/money"
)

// sameEvent compares everything that is stored.
func sameEvent(t *testing.T, got, want channel.Event) {
	t.Helper()
	want.Tenant, want.Channel, want.Account = account().Tenant, account().Channel, account().Name
	gotText, err := got.Encode()
	if err != nil {
		t.Fatal(err)
	}
	wantText, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if string(gotText) != string(wantText) {
		t.Fatalf("event %s\nwant  %s", gotText, wantText)
	}
}

func beijing(hour int) time.Time {
	return time.Date(2026, 12, 1, hour, 0, 0, 0, time.FixedZone("", 8*60*60)).UTC()
}

func paymentEvent() channel.Event {
	return channel.Event{Kind: channel.PaymentReceived, BizNo: []string{channeltest.PaymentNumber}, OrderNo: "ORDER-1",
		TradeNo: channeltest.PaymentNumber, Amount: money.New(1999, money.CNY), HappenedAt: beijing(10)}
}

func TestWhatAPaymentNotificationProves(t *testing.T) {
	p := newPlatform(t)
	client := p.client(t)
	plain, zero := paymentEvent(), paymentEvent()
	zero.HappenedAt = time.Time{}
	dollars := paymentEvent()
	dollars.Amount = money.New(1999, "USD")
	partner := doc{"mchid": nil, "appid": nil, "sp_mchid": mchID, "sp_appid": appID, "sub_mchid": "1900000110"}
	for name, test := range map[string]struct {
		changes doc
		want    channel.Event
	}{
		"paid":                   {nil, plain},
		"paid and refunded":      {doc{"trade_state": "REFUND"}, plain},
		"for a service provider": {partner, plain},
		"the other application":  {doc{"appid": "wx0000000000000001"}, plain},
		"paid with coupons":      {doc{"amount": doc{"total": 1999, "payer_total": 1, "currency": "CNY"}}, plain},
		"no currency":            {doc{"amount": doc{"total": 1999}}, plain},
		"another currency":       {doc{"amount": doc{"total": 1999, "currency": "USD"}}, dollars},
		"no time":                {doc{"success_time": nil}, zero},
		"unreadable time":        {doc{"success_time": "20261201100000"}, zero},
		"time before time":       {doc{"success_time": "0000-01-01T00:00:00+08:00"}, zero},
		"time in another zone":   {doc{"success_time": "2026-12-01T02:00:00Z"}, plain},
		"names in capitals":      {doc{"Transaction_Id": "other", "TRADE_STATE": "CLOSED"}, plain},
		"junk nobody reads":      {doc{"attach": json.RawMessage("\"\xff\"")}, plain},
		"a field nobody knows":   {doc{"transaction_id2": doc{"transaction_id": "other"}}, plain},
	} {
		t.Run(name, func(t *testing.T) { sameEvent(t, single(t, client, p.pay(t, test.changes)), test.want) })
	}
}

func TestWhatARefundNotificationProves(t *testing.T) {
	p := newPlatform(t)
	client := p.client(t)
	for name, test := range map[string]struct {
		eventType string
		changes   doc
		want      channel.Kind
	}{
		"succeeded":            {"REFUND.SUCCESS", nil, channel.RefundSucceeded},
		"abnormal":             {"REFUND.ABNORMAL", doc{"refund_status": "ABNORMAL"}, channel.RefundAbnormal},
		"closed":               {"REFUND.CLOSED", doc{"refund_status": "CLOSED"}, channel.RefundFailed},
		"by the API's name":    {"REFUND.SUCCESS", doc{"refund_status": nil, "status": "SUCCESS"}, channel.RefundSucceeded},
		"by both names":        {"REFUND.SUCCESS", doc{"status": "SUCCESS"}, channel.RefundSucceeded},
		"empty by one name":    {"REFUND.SUCCESS", doc{"status": ""}, channel.RefundSucceeded},
		"for service provider": {"REFUND.SUCCESS", doc{"mchid": nil, "sp_mchid": mchID}, channel.RefundSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			sameEvent(t, single(t, client, p.send(t, test.eventType, refund().with(test.changes))), channel.Event{
				Kind: test.want, BizNo: []string{"50000000382019052709732678859"}, OrderNo: "ORDER-1",
				TradeNo: channeltest.PaymentNumber, RefundNo: "REFUND-1", Amount: money.New(500, money.CNY),
				HappenedAt: beijing(10)})
		})
	}
}

// The states of one refund are different facts, so an abnormal refund can still succeed.
func TestStatesOfOneRefundHaveDifferentKeys(t *testing.T) {
	p := newPlatform(t)
	client := p.client(t)
	for state, want := range map[string]string{
		"SUCCESS":  "WECHAT:50000000382019052709732678859:REFUND_SUCCEEDED",
		"ABNORMAL": "WECHAT:50000000382019052709732678859:REFUND_ABNORMAL",
		"CLOSED":   "WECHAT:50000000382019052709732678859:REFUND_FAILED",
	} {
		event := single(t, client, p.send(t, "REFUND."+state, refund().with(doc{"refund_status": state})))
		if key, err := event.Key(); err != nil || string(key) != want {
			t.Errorf("%s: key %q, %v; want %q", state, key, err, want)
		}
	}
}

// While the APIv3 key is being changed, either may have encrypted; associated data may be empty or absent.
func TestWhatTheResourceMayBeSealedWith(t *testing.T) {
	p := newPlatform(t)
	plain := transaction().encode(t)
	for name, resource := range map[string]doc{
		"new key":               seal(t, apiV3Key, "transaction", plain),
		"old key":               seal(t, oldAPIv3Key, "transaction", plain),
		"no associated data":    seal(t, apiV3Key, "", plain),
		"empty associated data": seal(t, apiV3Key, "", plain).with(doc{"associated_data": ""}),
		"original type given":   seal(t, apiV3Key, "x", plain).with(doc{"original_type": "transaction"}),
	} {
		t.Run(name, func(t *testing.T) {
			body := envelope(t, "TRANSACTION.SUCCESS", plain).with(doc{"resource": resource}).encode(t)
			sameEvent(t, single(t, p.client(t), p.raw(t, body)), paymentEvent())
		})
	}
	config := p.config()
	config.APIv3Keys = config.APIv3Keys[1:]
	onlyNew, err := wechat.New(config)
	if err != nil {
		t.Fatal(err)
	}
	body := envelope(t, "TRANSACTION.SUCCESS", plain).with(doc{"resource": seal(t, oldAPIv3Key, "", plain)}).encode(t)
	if hint := single(t, onlyNew, p.raw(t, body)); hint.Kind != channel.Quarantined {
		t.Fatalf("sealed with a key that is gone: %s", hint.Kind)
	}
}
