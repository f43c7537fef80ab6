package interop_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/internal/interop"
)

const (
	apiV3Key = "0123456789abcdef0123456789ABCDEF"
	apiV2Key = "192006250b4c09247ec02edce69f6a2d"
)

// The digests that WeChat Pay's v2 signature page works out for its sample order.
func TestTheWeChatSDKKnowsThePublishedVectors(t *testing.T) {
	sdk := interop.Open(t)
	fields := map[string]string{"appid": "wxd930ea5d5a258f4f", "mch_id": "10000100", "device_info": "1000",
		"body": "test", "nonce_str": "ibuaiVcKdpRxkhJA"}
	for algorithm, want := range map[string]string{
		"MD5":         "9A0A8659F005D6984697E2CA0A9CF3B7",
		"HMAC-SHA256": "6A9AE1657590FD6257D693A078E1C3E4BB6BA4DC30B23E0EE2496E54170DACD6",
	} {
		var signed, read wechatAnswer
		sdk.Ask(t, "wechat.mjs", wechatRequest{Operation: "signV2", Fields: fields, APIv2Key: apiV2Key,
			Algorithm: algorithm}, &signed)
		if !strings.Contains(signed.Body, "<sign>"+want+"</sign>") {
			t.Errorf("%s: %s", algorithm, signed.Body)
		}
		sdk.Ask(t, "wechat.mjs", wechatRequest{Operation: "verifyV2", Body: signed.Body, APIv2Key: apiV2Key,
			Algorithm: algorithm}, &read)
		if !read.Verified || read.Fields["device_info"] != "1000" {
			t.Errorf("%s: %+v", algorithm, read)
		}
	}
}

// An SDK that accepted everything would prove nothing about what we sign.
func TestTheSDKsRefuseAChangedMessage(t *testing.T) {
	sdk, key := interop.Open(t), newKey(t)
	private, public := privatePEM(t, key), publicPEM(t, &key.PublicKey)

	var v3 wechatAnswer
	sdk.Ask(t, "wechat.mjs", wechatRequest{Operation: "signV3", Plain: `{"a":"元"}`, APIv3Key: apiV3Key,
		PrivateKey: private, Timestamp: "1790000000", Nonce: "n", ResourceNonce: "0123456789ab",
		Associated: "transaction"}, &v3)
	for body, want := range map[string]bool{v3.Body: true, v3.Body + " ": false} {
		var read wechatAnswer
		sdk.Ask(t, "wechat.mjs", wechatRequest{Operation: "verifyV3", Headers: v3.Headers, Body: body,
			PublicKey: public, APIv3Key: apiV3Key}, &read)
		if read.Verified != want || (read.Decrypted == `{"a":"元"}`) != want {
			t.Errorf("v3: %q: %+v", body, read)
		}
	}

	var form alipayAnswer
	fields := map[string]string{"subject": "一杯 茶 + 50%", "trade_no": "1"}
	sdk.Ask(t, "alipay.mjs", alipayRequest{Operation: "sign", Fields: fields, PrivateKey: private,
		PublicKey: public}, &form)
	changed := strings.Replace(form.Body, "trade_no=1", "trade_no=2", 1)
	for body, want := range map[string]bool{form.Body: true, changed: false} {
		var read alipayAnswer
		sdk.Ask(t, "alipay.mjs", alipayRequest{Operation: "verify", Body: body, PublicKey: public}, &read)
		if read.Verified != want {
			t.Errorf("alipay: %q: verified %t", body, read.Verified)
		}
	}
}

func TestTheWeChatSDKOpensWhatItSeals(t *testing.T) {
	sdk := interop.Open(t)
	fields := map[string]string{"refund_id": "50000404922017112502468056157", "refund_fee": "6"}
	var sealed, opened wechatAnswer
	sdk.Ask(t, "wechat.mjs", wechatRequest{Operation: "sealV2Refund", Fields: fields, APIv2Key: apiV2Key,
		Envelope: map[string]string{"return_code": "SUCCESS"}}, &sealed)
	sdk.Ask(t, "wechat.mjs", wechatRequest{Operation: "openV2Refund", Body: sealed.Body, APIv2Key: apiV2Key}, &opened)
	if !maps.Equal(opened.Fields, fields) || !strings.HasPrefix(opened.Decrypted, "<root>") {
		t.Errorf("opened %+v", opened)
	}
}
