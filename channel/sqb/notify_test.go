package sqb_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
	"github.com/paidonce/paidonce/money"
)

const sn = channeltest.PaymentNumber

func TestAPaymentIsBookedFromTheSignedBody(t *testing.T) {
	key := newKey(t)
	parsed, err := newClient(t, key).Parse(t.Context(), send(t, key, paid()))
	if err != nil || len(parsed.Events) != 1 || len(parsed.Hints) != 0 {
		t.Fatalf("Parse = %+v, %v; want one event", parsed, err)
	}
	got, err := parsed.Events[0].Encode()
	if err != nil {
		t.Fatal(err)
	}
	want, err := channel.Event{
		Tenant: 7, Channel: "SQB", Account: "shop-1", Kind: channel.PaymentReceived, BizNo: []string{sn},
		OrderNo: "ORDER-1", TradeNo: sn, Amount: money.New(1999, money.CNY),
		HappenedAt: time.UnixMilli(1790000000000).UTC(),
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Fatalf("event %s\nwant  %s", got, want)
	}
}

// What a callback proves, by its order_status, status and net_amount of 1999 fen.
func TestStatesAndWhatTheyProve(t *testing.T) {
	const absent = ""
	key := newKey(t)
	client := newClient(t, key)
	for _, test := range []struct{ orderStatus, status, net, wantKey string }{
		{"PAID", "SUCCESS", "1999", "SQB:" + sn + ":PAYMENT_RECEIVED"},
		{"PAID", "SUCCESS", absent, "SQB:" + sn + ":PAYMENT_RECEIVED"},
		{"PAID", "SUCCESS", "1998", "SQB:" + sn + "/PAID/1998:QUERY_DUE"},
		{"PAID", "SUCCESS", "0", "SQB:" + sn + "/PAID/0:QUERY_DUE"},
		{"PAID", "SUCCESS", "2000", "SQB:" + sn + "/PAID/2000:QUERY_DUE"},
		{"PAID", "IN_PROG", "1999", "SQB:" + sn + "/PAID/1999/IN_PROG:QUERY_DUE"},
		{"PAID", "FAIL_ERROR", absent, "SQB:" + sn + "/PAID/-/FAIL_ERROR:QUERY_DUE"},

		{"PARTIAL_REFUNDED", "SUCCESS", "1500", "SQB:" + sn + "/PARTIAL_REFUNDED/1500:QUERY_DUE"},
		{"PARTIAL_REFUNDED", "SUCCESS", "01500", "SQB:" + sn + "/PARTIAL_REFUNDED/1500:QUERY_DUE"},
		{"PARTIAL_REFUNDED", "SUCCESS", "900", "SQB:" + sn + "/PARTIAL_REFUNDED/900:QUERY_DUE"},
		{"PARTIAL_REFUNDED", "SUCCESS", absent, "SQB:" + sn + "/PARTIAL_REFUNDED/-:QUERY_DUE"},
		{"REFUNDED", "SUCCESS", "0", "SQB:" + sn + "/REFUNDED/0:QUERY_DUE"},
		{"REFUND_ERROR", "REFUND_ERROR", "1999", "SQB:" + sn + "/REFUND_ERROR/1999/REFUND_ERROR:QUERY_DUE"},

		{"PAY_CANCELED", "SUCCESS", "1999", "SQB:" + sn + ":PAYMENT_CLOSED"},
		{"PAY_CANCELED", "FAIL_CANCELED", "0", "SQB:" + sn + ":PAYMENT_CLOSED"},
		{"PAY_CANCELED", "FAIL_CANCELED", absent, "SQB:" + sn + ":PAYMENT_CLOSED"},
		{"PAY_CANCELED", "SUCCESS", "1500", "SQB:" + sn + "/PAY_CANCELED/1500:QUERY_DUE"},
		{"PAY_CANCELED", "FAIL_IO_1", "0", "SQB:" + sn + "/PAY_CANCELED/0/FAIL_IO_1:QUERY_DUE"},
		{"CANCELED", "SUCCESS", "1999", "SQB:" + sn + "/CANCELED/1999:QUERY_DUE"},
		{"CANCELED", "SUCCESS", "0", "SQB:" + sn + "/CANCELED/0:QUERY_DUE"},
		{"CANCEL_ERROR", "CANCEL_ERROR", "1999", "SQB:" + sn + "/CANCEL_ERROR/1999/CANCEL_ERROR:QUERY_DUE"},
		{"PAY_ERROR", "FAIL_ERROR", "1999", "SQB:" + sn + "/PAY_ERROR/1999/FAIL_ERROR:QUERY_DUE"},
		{"CREATED", "SUCCESS", "1999", "SQB:" + sn + "/CREATED/1999:QUERY_DUE"},
	} {
		t.Run(test.orderStatus+" "+test.status+" "+test.net, func(t *testing.T) {
			changes := callback{"order_status": test.orderStatus, "status": test.status, "net_amount": test.net}
			event := single(t, client, send(t, key, paid().with(changes)))
			eventKey, err := event.Key()
			if err != nil || string(eventKey) != test.wantKey {
				t.Fatalf("key %q, %v; want %q", eventKey, err, test.wantKey)
			}
			if event.OrderNo != "ORDER-1" || event.TradeNo != sn {
				t.Fatalf("the event names order %q and trade %q", event.OrderNo, event.TradeNo)
			}
			if event.Kind == channel.PaymentClosed && event.Amount != (money.Amount{}) {
				t.Fatalf("a close carries %s", event.Amount)
			}
		})
	}
}

func TestTheTimeOfThePayment(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	for name, test := range map[string]struct {
		channelFinish, finish any
		want                  time.Time
	}{
		"the provider's":           {"1790000000000", "1790000001500", time.UnixMilli(1790000000000)},
		"else Shouqianba's":        {nil, "1790000001500", time.UnixMilli(1790000001500)},
		"null counts as absent":    {json.RawMessage("null"), "1790000001500", time.UnixMilli(1790000001500)},
		"unreadable is not said":   {"yesterday", "", time.Time{}},
		"seconds written too long": {"17900000000000", nil, time.Time{}},
		"negative":                 {"-1790000000000", nil, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			changes := callback{"channel_finish_time": test.channelFinish, "finish_time": test.finish}
			event := single(t, client, send(t, key, paid().with(changes)))
			if event.Kind != channel.PaymentReceived || !event.HappenedAt.Equal(test.want) {
				t.Fatalf("%s at %s, want a payment at %s", event.Kind, event.HappenedAt, test.want)
			}
		})
	}
}

// The fields that nobody reads may have any type and any content; payment_list is seen as a list and as a text.
func TestFieldsThatAreNotReadDoNotMatter(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	want := single(t, client, send(t, key, paid()))
	for name, changes := range map[string]callback{
		"payment_list as a text": {"payment_list": `[{"type":"HONGBAO_CHANNEL","amount_total":"1"}]`},
		"payment_list absent":    {"payment_list": nil},
		"payway as a number":     {"payway": 3},
		"a new number":           {"fee": json.RawMessage("1e400")},
		"a new object":           {"store": map[string]any{"sn": "other", "total_amount": "1"}},
		"replacement characters": {"subject": "\ufffd"},
		"names in capitals":      {"SN": "other", "Total_Amount": "1", "ORDER_STATUS": "REFUNDED"},
	} {
		t.Run(name, func(t *testing.T) {
			got := single(t, client, send(t, key, paid().with(changes)))
			if got.Digest() != want.Digest() || got.BizNo[0] != want.BizNo[0] || got.Kind != want.Kind {
				t.Fatalf("became %s of %s, want %s of %s", got.Kind, got.Amount, want.Kind, want.Amount)
			}
		})
	}
}

// A note tells a person where to look, in words of ours.
func TestWhyAMessageIsQuarantined(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	good := string(paid().encode(t))
	for name, test := range map[string]struct{ body, want string }{
		"twice":      {`{"sn":"1",` + good[1:], "a field appears twice"},
		"not object": {"[]", "the body is not one JSON object in UTF-8"},
		"type":       {`{"sn":1}`, "a field that must be a text is none"},
		"half":       {`{"sn":"\ud800"}`, "a field that must be a text is none"},
		"missing":    {"{}", "terminal_sn, sn, client_sn, status, order_status or total_amount is missing"},
		"amount": {string(paid().with(callback{"total_amount": "19.99"}).encode(t)),
			"total_amount or net_amount is not a number of fen"},
		"state": {string(paid().with(callback{"order_status": "FROZEN"}).encode(t)),
			"order_status or status is not one that is known"},
	} {
		t.Run(name, func(t *testing.T) {
			hint := single(t, client, deliver(signature(t, key, []byte(test.body)), []byte(test.body)))
			if hint.Kind != channel.Quarantined || hint.Note != test.want {
				t.Fatalf("%s: %q, want quarantine: %q", hint.Kind, hint.Note, test.want)
			}
		})
	}
}

// single parses an authentic delivery that yields one event or hint.
func single(t *testing.T, client channel.Channel, r channel.Request) channel.Event {
	t.Helper()
	parsed, err := client.Parse(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, hint := range parsed.Hints {
		parsed.Events = append(parsed.Events, hint.Event)
	}
	if len(parsed.Events) != 1 {
		t.Fatalf("want one event or hint, got %+v", parsed)
	}
	return parsed.Events[0]
}
