package alipay_test

import (
	"crypto/rsa"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/alipay"
	"github.com/paidonce/paidonce/channel/channeltest"
	"github.com/paidonce/paidonce/money"
)

func parse(t *testing.T, c *alipay.Client, r channel.Request) channel.Event {
	t.Helper()
	parsed, err := c.Parse(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(parsed.Events) == 1 && len(parsed.Hints) == 0 {
		return parsed.Events[0]
	}
	if len(parsed.Hints) == 1 && len(parsed.Events) == 0 {
		return parsed.Hints[0].Event
	}
	t.Fatalf("%+v", parsed)
	return channel.Event{}
}

func mustKey(t *testing.T, e channel.Event) string {
	t.Helper()
	key, err := e.Key()
	if err != nil {
		t.Fatal(err)
	}
	return string(key)
}

func TestWhatHappenedIsToldByMarksNotByTheStatusAlone(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	const number = channeltest.PaymentNumber
	const payment = "ALIPAY:" + number + ":PAYMENT_RECEIVED"
	closed := params{"trade_status": "TRADE_CLOSED", "gmt_payment": "-", "refund_fee": "-"}
	waiting := params{"trade_status": "WAIT_BUYER_PAY", "gmt_payment": "-"}
	over := params{"trade_status": "TRADE_FINISHED"}
	for name, test := range map[string]struct {
		sent   params
		key    string
		amount int64
	}{
		"paid":                       {paid(), payment, 1999},
		"paid, no refund_fee":        {paid().with(params{"refund_fee": "-"}), payment, 1999},
		"paid, empty refund_fee":     {paid().with(params{"refund_fee": ""}), payment, 1999},
		"time for refunds over":      {paid().with(over), payment, 1999},
		"over, with an older refund": {refunded("2.00", "R1").with(over), payment, 1999},
		"first partial refund":       {refunded("2.00", "R1"), "ALIPAY:" + number + "/R1/2.00:QUERY_DUE", 200},
		"second partial refund":      {refunded("5.00", "R2"), "ALIPAY:" + number + "/R2/5.00:QUERY_DUE", 500},
		"full refund": {refunded("19.99", "R3").with(params{"trade_status": "TRADE_CLOSED"}),
			"ALIPAY:" + number + "/R3/19.99:QUERY_DUE", 1999},
		"refund without a number": {refunded("1.00", "-"),
			"ALIPAY:" + number + "/2026-12-01%2011%3A00%3A00.123/1.00:QUERY_DUE", 100},
		"full refund without a number": {
			refunded("19.99", "-").with(params{"trade_status": "TRADE_CLOSED", "gmt_close": "2026-12-01 11:00:00"}),
			"ALIPAY:" + number + "/2026-12-01%2011%3A00%3A00.123/19.99:QUERY_DUE", 1999},
		"refund with one decimal": {refunded("2.0", "R1"), "ALIPAY:" + number + "/R1/2.00:QUERY_DUE", 200},
		"closed unpaid":           {paid().with(closed), "ALIPAY:" + number + ":PAYMENT_CLOSED", 0},
		"closed, nobody ever scanned": {paid().with(closed).with(params{"trade_no": "-"}),
			"ALIPAY:@ORDER-1:PAYMENT_CLOSED", 0},
		"closed, nothing refunded": {paid().with(closed).with(params{"refund_fee": "0.00"}),
			"ALIPAY:" + number + ":PAYMENT_CLOSED", 0},
		"finished at once, not refundable": {paid().with(over).with(params{"refund_fee": "-"}), payment, 1999},
		"broken text that nobody reads":    {paid().with(params{"subject": "t\xe9a"}), payment, 1999},
		"the buyer still has to pay":       {paid().with(waiting), "ALIPAY:" + number + "/WAIT_BUYER_PAY:QUERY_DUE", 0},
		"a field that nobody defined":      {paid().with(params{"since_tomorrow": "1"}), payment, 1999},
	} {
		t.Run(name, func(t *testing.T) {
			e := parse(t, client, send(t, key, test.sent))
			if got := mustKey(t, e); got != test.key || e.Amount.Minor != test.amount || e.OrderNo != "ORDER-1" {
				t.Fatalf("%s of %s for %s", got, e.Amount, e.OrderNo)
			}
		})
	}
}

// The second message comes months later, perhaps after refunds; it must not move or change what is booked.
func TestSuccessAndFinishedAreOnePayment(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	over := params{"trade_status": "TRADE_FINISHED", "notify_time": "2027-03-01 00:00:00", "notify_id": "another"}
	success := parse(t, client, send(t, key, paid()))
	for name, later := range map[string]params{
		"untouched": paid().with(over), "refunded": refunded("2.00", "R1").with(over),
	} {
		finished := parse(t, client, send(t, key, later))
		if mustKey(t, success) != mustKey(t, finished) || success.Digest() != finished.Digest() {
			t.Errorf("%s: two payments", name)
		}
		if !finished.HappenedAt.Equal(success.HappenedAt) {
			t.Errorf("%s: moved to %s", name, finished.HappenedAt)
		}
	}
}

func TestAnEventCarriesWhatIsBooked(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	want := channel.Event{Tenant: 7, Channel: "ALIPAY", Account: "shop-1", Kind: channel.PaymentReceived,
		BizNo: []string{channeltest.PaymentNumber}, OrderNo: "ORDER-1", TradeNo: channeltest.PaymentNumber,
		Amount: money.New(1999, money.CNY), HappenedAt: time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)}
	if got := parse(t, client, send(t, key, paid())); !reflect.DeepEqual(got, want) {
		t.Errorf("payment %+v\nwant    %+v", got, want)
	}
	refund := parse(t, client, send(t, key, refunded("2.00", "R1")))
	if refund.RefundNo != "R1" || !refund.HappenedAt.Equal(want.HappenedAt.Add(time.Hour)) || refund.Note == "" {
		t.Errorf("refund %+v", refund)
	}
}

func TestATimeThatCannotBeReadHoldsNoPaymentBack(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	for _, text := range []string{"soon", "2026-12-01T10:00:00", "2026-13-01 10:00:00", "0000-01-01 00:00:00", "0"} {
		e := parse(t, client, send(t, key, paid().with(params{"gmt_payment": text})))
		if e.Kind != channel.PaymentReceived || !e.HappenedAt.IsZero() {
			t.Errorf("%q: %s at %s", text, e.Kind, e.HappenedAt)
		}
	}
}

func TestWhoseMoneyItIs(t *testing.T) {
	key := newKey(t)
	client, err := alipay.New(alipay.Config{Account: account(), AppID: appID, AuthAppIDs: []string{"20210005"},
		SellerIDs: []string{seller, "2088000000000002"}, PublicKeys: []*rsa.PublicKey{&key.PublicKey}})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		changes params
		want    error
	}{
		"our own application":     {params{}, nil},
		"no auth_app_id":          {params{"auth_app_id": "-"}, nil},
		"an authorised merchant":  {params{"auth_app_id": "20210005"}, nil},
		"the second seller":       {params{"seller_id": "2088000000000002"}, nil},
		"authorised, not by us":   {params{"auth_app_id": "20210006"}, channel.ErrIdentity},
		"the merchant's own":      {params{"app_id": "20210005", "auth_app_id": "20210005"}, channel.ErrIdentity},
		"a stranger's seller":     {params{"seller_id": "2088000000000003"}, channel.ErrIdentity},
		"no seller":               {params{"seller_id": ""}, channel.ErrIdentity},
		"no application":          {params{"app_id": "-"}, channel.ErrIdentity},
		"other type, other money": {params{"notify_type": "x", "seller_id": "2088000000000003"}, channel.ErrIdentity},
	} {
		if _, err := client.Parse(t.Context(), send(t, key, paid().with(test.changes))); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// The signed text is not escaped, so a captured message can be cut elsewhere and still verify. Wherever a border is
// moved, into a value or into a name, what is believed must be what Alipay said.
func TestACutElsewhereIsNeverAnotherStory(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	closed := params{"trade_status": "TRADE_CLOSED", "gmt_close": "2026-12-01 12:00:00"}
	for name, sent := range map[string]params{
		"paid":           paid(),
		"partial refund": refunded("2.00", "R1"),
		"full refund":    refunded("19.99", "-").with(closed),
		"unpaid":         paid().with(closed).with(params{"gmt_payment": "-", "refund_fee": "-"}),
	} {
		sent = sent.with(params{"fund_bill_list": "-"})
		want := parse(t, client, send(t, key, sent))
		pairs := strings.Split(canonical(sent, nil), "&")
		signature := sign(t, key, strings.Join(pairs, "&"))
		verified := 0
		for from := range pairs {
			for to := from + 1; to < len(pairs); to++ {
				for _, cut := range []params{intoValue(pairs, from, to), intoName(pairs, from, to)} {
					cut["sign"], cut["sign_type"] = signature, "RSA2"
					parsed, err := client.Parse(t.Context(), request(encode(cut)))
					if err != nil {
						continue
					}
					verified++
					sameStory(t, name+", hiding "+strings.Join(pairs[from+1:to+1], " "), parsed, want)
				}
			}
		}
		if verified == 0 {
			t.Errorf("%s: no cut verified, the test shows nothing", name)
		}
	}
}

// sameStory demands what Alipay said or a hint for a person.
func sameStory(t *testing.T, name string, got channel.Parsed, want channel.Event) {
	t.Helper()
	events := got.Events
	for _, hint := range got.Hints {
		if hint.Event.Kind != channel.Quarantined {
			events = append(events, hint.Event)
		}
	}
	for _, e := range events {
		if !reflect.DeepEqual(e, want) {
			t.Errorf("%s: made %+v", name, e)
		}
	}
}

// intoValue makes the pairs after from, up to and with to, a part of from's value.
func intoValue(pairs []string, from, to int) params {
	name, value, _ := strings.Cut(strings.Join(pairs[from:to+1], "&"), "=")
	return others(pairs, from, to).with(params{name: value})
}

// intoName makes all of these pairs one, whose name ends at the last equals sign.
func intoName(pairs []string, from, to int) params {
	text := strings.Join(pairs[from:to+1], "&")
	at := strings.LastIndex(text, "=")
	return others(pairs, from, to).with(params{text[:at]: text[at+1:]})
}

func others(pairs []string, from, to int) params {
	rest := params{}
	for i, pair := range pairs {
		if name, value, _ := strings.Cut(pair, "="); i < from || i > to {
			rest[name] = value
		}
	}
	return rest
}

func TestIncompleteConfigurationIsRefused(t *testing.T) {
	key := newKey(t)
	good := alipay.Config{Account: account(), AppID: appID, SellerIDs: []string{seller},
		PublicKeys: []*rsa.PublicKey{&key.PublicKey}}
	for name, change := range map[string]func(*alipay.Config){
		"no app":        func(c *alipay.Config) { c.AppID = "" },
		"no seller":     func(c *alipay.Config) { c.SellerIDs = nil },
		"empty seller":  func(c *alipay.Config) { c.SellerIDs = []string{""} },
		"no key":        func(c *alipay.Config) { c.PublicKeys = nil },
		"nil key":       func(c *alipay.Config) { c.PublicKeys = []*rsa.PublicKey{nil} },
		"other channel": func(c *alipay.Config) { c.Account.Channel = "WECHAT" },
		"no tenant":     func(c *alipay.Config) { c.Account.Tenant = 0 },
	} {
		changed := good
		change(&changed)
		if _, err := alipay.New(changed); !errors.Is(err, alipay.ErrConfig) {
			t.Errorf("%s: %v, want %v", name, err, alipay.ErrConfig)
		}
	}
}
