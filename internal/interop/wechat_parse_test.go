package interop_test

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/wechat"
	"github.com/paidonce/paidonce/internal/interop"
	"github.com/paidonce/paidonce/money"
)

const (
	transaction = "4200002469202612010000000001"
	publicKeyID = "PUB_KEY_ID_0119000001092026120100000000000001"
)

func wechatAccount() channel.Account {
	return channel.Account{Tenant: 3, Channel: wechat.Code, Name: boxAccount}
}

// told completes an event of the payment that all messages below are about.
func told(e channel.Event) channel.Event {
	a := wechatAccount()
	e.Tenant, e.Channel, e.Account = a.Tenant, a.Channel, a.Name
	e.OrderNo, e.TradeNo, e.HappenedAt = "ORDER-1", transaction, now()
	return e
}

func TestTheAdapterReadsWhatTheSDKSignsAsWeChatV3(t *testing.T) {
	sdk, key := interop.Open(t), newKey(t)
	client, err := wechat.New(wechat.Config{Account: wechatAccount(), MchID: boxMchID, AppIDs: []string{boxAppID},
		APIv3Keys: [][]byte{[]byte(apiV3Key)}, PlatformKeys: map[string]*rsa.PublicKey{publicKeyID: &key.PublicKey}})
	if err != nil {
		t.Fatal(err)
	}
	const common = `"mchid":"` + boxMchID + `","appid":"` + boxAppID + `","transaction_id":"` + transaction +
		`","out_trade_no":"ORDER-1","success_time":"2026-12-01T10:30:00+08:00","attach":"一杯 茶",`
	for name, test := range map[string]struct {
		eventType, original, plain string
		want                       channel.Event
	}{
		"payment": {"TRANSACTION.SUCCESS", "transaction", `{` + common +
			`"trade_state":"SUCCESS","amount":{"total":1999,"currency":"CNY"}}`, channel.Event{
			Kind: channel.PaymentReceived, BizNo: []string{transaction}, Amount: money.New(1999, money.CNY)}},
		"refund": {"REFUND.SUCCESS", "refund", `{` + common + `"out_refund_no":"REFUND-1","refund_id":"5030",` +
			`"refund_status":"SUCCESS","amount":{"total":1999,"refund":500}}`, channel.Event{
			Kind: channel.RefundSucceeded, BizNo: []string{"5030"}, RefundNo: "REFUND-1",
			Amount: money.New(500, money.CNY)}},
	} {
		t.Run(name, func(t *testing.T) {
			var signed wechatAnswer
			sdk.Ask(t, "wechat.mjs", wechatRequest{Operation: "signV3", Plain: test.plain, APIv3Key: apiV3Key,
				Envelope:   map[string]string{"id": "EV-1", "event_type": test.eventType, "summary": "支付成功"},
				PrivateKey: privatePEM(t, key), Timestamp: fmt.Sprint(now().Unix()), Nonce: "EcZ9Cmy4Xyx1i6Rl",
				ResourceNonce: "0123456789ab", Associated: test.original}, &signed)
			header := http.Header{"Wechatpay-Serial": {publicKeyID}, "Wechatpay-Nonce": {signed.Headers.Nonce},
				"Wechatpay-Timestamp": {signed.Headers.Timestamp}, "Wechatpay-Signature": {signed.Headers.Signature}}
			r := channel.Request{Header: header, Body: []byte(signed.Body), Received: now()}
			parsesTo(t, client, r, told(test.want))
			for name, change := range map[string]func(*channel.Request){
				"body":  func(r *channel.Request) { r.Body = append(r.Body, ' ') },
				"nonce": func(r *channel.Request) { r.Header.Set("Wechatpay-Nonce", "other") },
			} {
				changed := channel.Request{Header: header.Clone(), Body: []byte(signed.Body), Received: now()}
				change(&changed)
				if _, err := client.Parse(t.Context(), changed); !errors.Is(err, channel.ErrForged) {
					t.Errorf("%s changed: %v, want %v", name, err, channel.ErrForged)
				}
			}
		})
	}
}

func newV2(t *testing.T) *wechat.ClientV2 {
	t.Helper()
	client, err := wechat.NewV2(wechat.ConfigV2{Account: wechatAccount(), MchID: boxMchID, AppIDs: []string{boxAppID},
		APIKeys: []string{apiV2Key}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestTheAdapterReadsWhatTheSDKSignsAsWeChatV2(t *testing.T) {
	sdk, client := interop.Open(t), newV2(t)
	want := told(channel.Event{Kind: channel.PaymentReceived, BizNo: []string{transaction},
		Amount: money.New(1999, money.CNY)})
	for _, algorithm := range []string{"MD5", "HMAC-SHA256"} {
		fields := map[string]string{"return_code": "SUCCESS", "result_code": "SUCCESS", "mch_id": boxMchID,
			"appid": boxAppID, "transaction_id": transaction, "out_trade_no": "ORDER-1", "total_fee": "1999",
			"fee_type": "CNY", "time_end": "20261201103000", "attach": `<b>一杯</b> & "茶"`, "device_info": "",
			"sign_type": algorithm}
		var signed wechatAnswer
		sdk.Ask(t, "wechat.mjs", wechatRequest{Operation: "signV2", Fields: fields, APIv2Key: apiV2Key,
			Algorithm: algorithm}, &signed)
		parsesTo(t, client, channel.Request{Body: []byte(signed.Body), Received: now()}, want)
		changed := strings.Replace(signed.Body, ">1999<", ">1998<", 1)
		_, err := client.Parse(t.Context(), channel.Request{Body: []byte(changed), Received: now()})
		if changed == signed.Body || !errors.Is(err, channel.ErrForged) {
			t.Errorf("%s changed: %v, want %v", algorithm, err, channel.ErrForged)
		}
	}
}

func TestTheAdapterOpensTheRefundThatTheSDKSealsAsWeChatV2(t *testing.T) {
	sdk, client := interop.Open(t), newV2(t)
	seal := func(key string) channel.Request {
		var sealed wechatAnswer
		sdk.Ask(t, "wechat.mjs", wechatRequest{Operation: "sealV2Refund", APIv2Key: key,
			Envelope: map[string]string{"return_code": "SUCCESS", "mch_id": boxMchID, "appid": boxAppID},
			Fields: map[string]string{"transaction_id": transaction, "out_trade_no": "ORDER-1", "refund_id": "5030",
				"out_refund_no": "REFUND-1", "refund_fee": "500", "total_fee": "1999", "refund_status": "SUCCESS",
				"success_time": "2026-12-01 10:30:00", "refund_recv_accout": "招商银行信用卡0403"}}, &sealed)
		return channel.Request{Body: []byte(sealed.Body), Received: now()}
	}
	parsesTo(t, client, seal(apiV2Key), told(channel.Event{Kind: channel.QueryDue, BizNo: []string{"5030", "SUCCESS"},
		RefundNo: "REFUND-1", Amount: money.New(500, money.CNY),
		Note: "refund notification of API v2, which is not signed"}))
	_, err := client.Parse(t.Context(), seal(strings.Repeat("0", 32)))
	if !errors.Is(err, channel.ErrForged) {
		t.Errorf("sealed under another key: %v, want %v", err, channel.ErrForged)
	}
}
