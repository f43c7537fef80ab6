package wechat_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
	"github.com/paidonce/paidonce/channel/wechat"
	"github.com/paidonce/paidonce/money"
)

// The sample of WeChat Pay's v2 signature page. It is no notification, so a good signature does not make it one.
func TestThePublishedV2SignaturesVerify(t *testing.T) {
	sample := fields{"appid": "wxd930ea5d5a258f4f", "mch_id": "10000100", "device_info": "1000", "body": "test",
		"nonce_str": "ibuaiVcKdpRxkhJA"}
	const (
		md5Digest  = "9A0A8659F005D6984697E2CA0A9CF3B7"
		hmacDigest = "6A9AE1657590FD6257D693A078E1C3E4BB6BA4DC30B23E0EE2496E54170DACD6"
	)
	config := configV2()
	config.MchID, config.AppIDs = sample["mch_id"], []string{sample["appid"]}
	for _, test := range []struct {
		signType, sign string
		want           error
	}{
		{"", md5Digest, channel.ErrMalformed},
		{"", hmacDigest, channel.ErrMalformed},
		{"MD5", md5Digest, channel.ErrMalformed},
		{"MD5", hmacDigest, channel.ErrForged},
		{hmacType, hmacDigest, channel.ErrMalformed},
		{hmacType, md5Digest, channel.ErrForged},
		{"", hmacDigest[:32], channel.ErrForged},
		{"", md5Digest + md5Digest, channel.ErrForged},
		{hmacType, "", channel.ErrForged},
	} {
		config.SignType = test.signType
		client, err := wechat.NewV2(config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Parse(t.Context(), post(sample.with(fields{"sign": test.sign}).encode("xml", true)))
		if !errors.Is(err, test.want) {
			t.Errorf("set to %q, signed %s: %v, want %v", test.signType, test.sign, err, test.want)
		}
	}
}

// A published req_info, with its key, that several client libraries test with.
func TestThePublishedRefundOpens(t *testing.T) {
	r := post(refundEnvelope(readFile(t, "v2_req_info.txt")).encode("xml", true))
	hint := single(t, clientV2(t, ""), r)
	if hint.Kind != channel.QueryDue || hint.BizNo[0] != "50000404922017112502468056157" ||
		hint.BizNo[1] != "SUCCESS" || hint.Amount != money.New(6, money.CNY) {
		t.Fatalf("became %s of %q, %s", hint.Kind, hint.BizNo, hint.Amount)
	}
}

// The same payment, told by both versions of the API: one event, down to the time.
func TestV2AndV3TellTheSameFact(t *testing.T) {
	p := newPlatform(t)
	v3 := single(t, p.client(t), p.pay(t, nil))
	v2 := single(t, clientV2(t, ""), pay2(nil))
	sameEvent(t, v2, paymentEvent())
	sameEvent(t, v3, paymentEvent())
	if v2.Digest() != v3.Digest() {
		t.Fatal("one payment has two digests")
	}
}

func TestWhatAV2PaymentProves(t *testing.T) {
	plain, zero := paymentEvent(), paymentEvent()
	zero.HappenedAt = time.Time{}
	for name, test := range map[string]struct {
		changes fields
		want    channel.Event
	}{
		"paid":                   {nil, plain},
		"no currency":            {fields{"fee_type": "-"}, plain},
		"no time":                {fields{"time_end": "-"}, zero},
		"unreadable time":        {fields{"time_end": "2026-12-01"}, zero},
		"no sign type":           {fields{"sign_type": "-"}, plain},
		"the other sign type":    {fields{"sign_type": hmacType}, plain},
		"no return code":         {fields{"return_code": "-"}, plain},
		"ampersands in attach":   {fields{"attach": "a=1&b=2&total_fees=3&=&"}, plain},
		"markup in attach":       {fields{"attach": "]]></attach><total_fee>1</total_fee>"}, plain},
		"a field nobody knows":   {fields{"Total_Fee": "1", "zone": "8"}, plain},
		"spaces are signed":      {fields{"attach": "  "}, plain},
		"the other application":  {fields{"appid": "wx2421b1c4370ec43b"}, plain},
		"for a service provider": {fields{"sub_mch_id": "1900000110", "sub_appid": "wx1"}, plain},
	} {
		for _, signType := range []string{"MD5", hmacType} {
			for _, key := range []string{apiKey, oldAPIKey} {
				f := v2Payment().with(test.changes).sign(signType, key)
				for _, client := range []channel.Channel{clientV2(t, ""), clientV2(t, signType)} {
					t.Run(name+" "+signType, func(t *testing.T) {
						sameEvent(t, single(t, client, post(f.encode("xml", true))), test.want)
						declared := `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + string(f.encode("xml", false)) + "\r\n"
						sameEvent(t, single(t, client, post([]byte(declared))), test.want)
					})
				}
			}
		}
	}
}

// fee_type may be left out, and then it could be brought out of attach: 19.99 yuan must not become 19.99 dollars.
func TestAPaymentInAnotherCurrencyThanTheAccountsIsQuarantined(t *testing.T) {
	config := configV2()
	config.Currency = "USD"
	abroad, err := wechat.NewV2(config)
	if err != nil {
		t.Fatal(err)
	}
	dollars := paymentEvent()
	dollars.Amount = money.New(1999, "USD")
	sameEvent(t, single(t, abroad, pay2(fields{"fee_type": "USD"})), dollars)
	for name, hint := range map[string]channel.Event{
		"dollars at home": single(t, clientV2(t, ""), pay2(fields{"fee_type": "USD"})),
		"yuan abroad":     single(t, abroad, pay2(nil)),
		"no currency":     single(t, abroad, pay2(fields{"fee_type": "-"})),
	} {
		if hint.Kind != channel.Quarantined || hint.Note != "the currency is not the account's" {
			t.Errorf("%s: became %s: %s", name, hint.Kind, hint.Note)
		}
	}
}

// A signature covers "name=value" joined by "&". Whoever has seen one can move the border between two fields.
func TestAFieldHiddenInAnotherIsNotBooked(t *testing.T) {
	dollars := v2Payment().with(fields{"fee_type": "USD"}).sign("MD5", apiKey)
	hidden := dollars.with(fields{"fee_type": "-", "device_info": dollars["device_info"] + "&fee_type=USD"})
	extra := v2Payment().with(fields{"zone": "8"}).sign("MD5", apiKey)
	renumbered := extra.with(fields{"zone": "-", "transaction_id": channeltest.PaymentNumber + "&zone=8"})
	for name, f := range map[string]fields{"currency": hidden, "number": renumbered} {
		hint := single(t, clientV2(t, ""), post(f.encode("xml", true)))
		if hint.Kind != channel.Quarantined || hint.Note != "the signed text can be read in two ways" {
			t.Errorf("%s: became %s: %s", name, hint.Kind, hint.Note)
		}
	}
}

// A refund notification of v2 is not signed: it never books, it makes the house ask.
func TestAV2RefundIsOnlyAQuestion(t *testing.T) {
	fen := money.New(500, money.CNY)
	for name, test := range map[string]struct {
		changes   fields
		wantState string
		amount    money.Amount
	}{
		"succeeded":         {nil, "SUCCESS", fen},
		"abnormal":          {fields{"refund_status": "CHANGE"}, "CHANGE", fen},
		"closed":            {fields{"refund_status": "REFUNDCLOSE"}, "REFUNDCLOSE", fen},
		"no amount":         {fields{"refund_fee": "-"}, "SUCCESS", money.Amount{}},
		"unreadable amount": {fields{"refund_fee": "5.00"}, "SUCCESS", money.Amount{}},
	} {
		t.Run(name, func(t *testing.T) {
			hint := single(t, clientV2(t, ""), refund2(t, test.changes))
			wantKey := "WECHAT:5000000003820/" + test.wantState + ":QUERY_DUE"
			if key, err := hint.Key(); err != nil || string(key) != wantKey {
				t.Fatalf("key %q, %v; want %q", key, err, wantKey)
			}
			if hint.OrderNo != "ORDER-1" || hint.TradeNo != channeltest.PaymentNumber || hint.RefundNo != "REFUND-1" ||
				hint.Amount != test.amount || !hint.HappenedAt.Equal(beijing(10)) {
				t.Fatalf("the hint says %+v", hint)
			}
		})
	}
	signed := refundEnvelope(sealECB(t, oldAPIKey, v2Refund().encode("root", true))).sign("MD5", apiKey)
	if hint := single(t, clientV2(t, ""), post(signed.encode("xml", true))); hint.Kind != channel.QueryDue {
		t.Fatalf("a signed envelope became %s", hint.Kind)
	}
}

func TestNewV2RefusesAnIncompleteConfiguration(t *testing.T) {
	for name, spoil := range map[string]func(*wechat.ConfigV2){
		"no tenant":       func(c *wechat.ConfigV2) { c.Account.Tenant = 0 },
		"another channel": func(c *wechat.ConfigV2) { c.Account.Channel = "WECHAT_V2" },
		"no merchant":     func(c *wechat.ConfigV2) { c.MchID = "" },
		"no application":  func(c *wechat.ConfigV2) { c.AppIDs = nil },
		"no key":          func(c *wechat.ConfigV2) { c.APIKeys = nil },
		"short key":       func(c *wechat.ConfigV2) { c.APIKeys[1] = "192006250b4c0924" },
		"long key":        func(c *wechat.ConfigV2) { c.APIKeys[1] = strings.Repeat("k", 33) },
		"sign type":       func(c *wechat.ConfigV2) { c.SignType = "RSA" },
		"currency":        func(c *wechat.ConfigV2) { c.Currency = "yuan" },
	} {
		t.Run(name, func(t *testing.T) {
			config := configV2()
			spoil(&config)
			if _, err := wechat.NewV2(config); !errors.Is(err, wechat.ErrConfig) {
				t.Fatalf("NewV2: %v, want %v", err, wechat.ErrConfig)
			}
		})
	}
}
