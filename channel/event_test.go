package channel_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/money"
)

func payment() channel.Event {
	return channel.Event{Tenant: 7, Channel: "WECHAT", Account: "shop-1", Kind: channel.PaymentReceived,
		BizNo: []string{"4200001234202612010000000001"}, OrderNo: "ORDER-1", TradeNo: "4200001234202612010000000001",
		Amount: money.New(1999, money.CNY), HappenedAt: time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)}
}

// Key, digest and stored form outlive every release: a change here makes the claims of a running house foreign.
func TestWhatIsStoredForEver(t *testing.T) {
	e := payment()
	key, err := e.Key()
	if err != nil || key != "WECHAT:4200001234202612010000000001:PAYMENT_RECEIVED" {
		t.Errorf("key %q, %v", key, err)
	}
	const digest = "012b8a1054b9fe1946666568a9fd3491974790cc9b25c7141e2ad07a77f42c154b"
	if e.Digest() != digest {
		t.Errorf("digest %s, want %s", e.Digest(), digest)
	}
	const stored = `{"tenant":7,"channel":"WECHAT","account":"shop-1","kind":"PAYMENT_RECEIVED",` +
		`"biz_no":["4200001234202612010000000001"],"order_no":"ORDER-1",` +
		`"trade_no":"4200001234202612010000000001","amount":{"minor":1999,"currency":"CNY"},` +
		`"happened_at":"2026-12-01T08:00:00Z"}`
	encoded, err := e.Encode()
	if err != nil || string(encoded) != stored {
		t.Errorf("stored form %s, %v\nwant        %s", encoded, err, stored)
	}
}

// A bill knows no notification and a notification knows no fee. What only one source knows is not digested.
func TestTheDigestLeavesOutWhatSourcesMayDifferIn(t *testing.T) {
	for name, change := range map[string]func(*channel.Event){
		"tenant":        func(e *channel.Event) { e.Tenant = 8 },
		"trade number":  func(e *channel.Event) { e.TradeNo = "" },
		"refund number": func(e *channel.Event) { e.RefundNo = "R-1" },
		"key":           func(e *channel.Event) { e.BizNo = []string{"1"} },
		"time":          func(e *channel.Event) { e.HappenedAt = time.Time{} },
		"note":          func(e *channel.Event) { e.Note = "from the bill" },
	} {
		e := payment()
		if change(&e); e.Digest() != payment().Digest() {
			t.Errorf("another %s is another digest", name)
		}
	}
}

func TestTheDigestCoversWhatSourcesMustAgreeOn(t *testing.T) {
	seen := map[gate.Digest]string{payment().Digest(): "the event itself"}
	for name, change := range map[string]func(*channel.Event){
		"kind":         func(e *channel.Event) { e.Kind = channel.RefundSucceeded },
		"order":        func(e *channel.Event) { e.OrderNo = "ORDER-2" },
		"order's case": func(e *channel.Event) { e.OrderNo = "order-1" },
		"no order":     func(e *channel.Event) { e.OrderNo = "" },
		"amount":       func(e *channel.Event) { e.Amount.Minor++ },
		"sign":         func(e *channel.Event) { e.Amount.Minor = -e.Amount.Minor },
		"currency":     func(e *channel.Event) { e.Amount.Currency = "USD" },
		"channel":      func(e *channel.Event) { e.Channel = "ALIPAY" },
		"account":      func(e *channel.Event) { e.Account = "shop-2" },
		"one byte moved between the fields": func(e *channel.Event) {
			e.Channel, e.Account = "WECHATs", "hop-1"
		},
	} {
		e := payment()
		change(&e)
		if other, taken := seen[e.Digest()]; taken {
			t.Errorf("another %s has the digest of %s", name, other)
		}
		seen[e.Digest()] = name
	}
}

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*channel.Event)
		want   error
	}{
		"a payment":                     {func(*channel.Event) {}, nil},
		"no time":                       {func(e *channel.Event) { e.HappenedAt = time.Time{} }, nil},
		"no order number":               {func(e *channel.Event) { e.OrderNo = "" }, nil},
		"the longest number":            {func(e *channel.Event) { e.OrderNo = strings.Repeat("9", 64) }, nil},
		"a close without trade":         {unpaidClose, nil},
		"a refund":                      {func(e *channel.Event) { e.Kind = channel.RefundSucceeded }, nil},
		"a hint without numbers":        {func(e *channel.Event) { *e = hint() }, nil},
		"no tenant":                     {func(e *channel.Event) { e.Tenant = 0 }, channel.ErrEvent},
		"negative tenant":               {func(e *channel.Event) { e.Tenant = -7 }, channel.ErrEvent},
		"no account":                    {func(e *channel.Event) { e.Account = "" }, channel.ErrEvent},
		"no channel":                    {func(e *channel.Event) { e.Channel = "" }, gate.ErrKey},
		"no kind":                       {func(e *channel.Event) { e.Kind = "" }, gate.ErrKey},
		"no business number":            {func(e *channel.Event) { e.BizNo = nil }, gate.ErrKey},
		"empty business number":         {func(e *channel.Event) { e.BizNo = []string{""} }, gate.ErrKey},
		"over-long business number":     {func(e *channel.Event) { e.BizNo[0] = strings.Repeat("9", 191) }, gate.ErrKey},
		"business number not UTF-8":     {func(e *channel.Event) { e.BizNo[0] = "4200\xff" }, channel.ErrEvent},
		"control in business number":    {func(e *channel.Event) { e.BizNo[0] = "4200\x00" }, channel.ErrEvent},
		"over-long order number":        {func(e *channel.Event) { e.OrderNo = strings.Repeat("9", 65) }, channel.ErrEvent},
		"control in order number":       {func(e *channel.Event) { e.OrderNo = "ORDER\n" }, channel.ErrEvent},
		"trade number not UTF-8":        {func(e *channel.Event) { e.TradeNo = "\xc3" }, channel.ErrEvent},
		"delete in refund number":       {func(e *channel.Event) { e.RefundNo = "R\x7f" }, channel.ErrEvent},
		"neither order nor trade":       {func(e *channel.Event) { unpaidClose(e); e.OrderNo = "" }, channel.ErrEvent},
		"a payment without trade":       {func(e *channel.Event) { e.TradeNo = "" }, channel.ErrEvent},
		"a payment of nothing":          {func(e *channel.Event) { e.Amount.Minor = 0 }, channel.ErrEvent},
		"a negative payment":            {func(e *channel.Event) { e.Amount.Minor = -1 }, channel.ErrEvent},
		"a payment without currency":    {func(e *channel.Event) { e.Amount.Currency = "" }, channel.ErrEvent},
		"a failed refund of nothing":    {failedRefundOfNothing, channel.ErrEvent},
		"a hint with a broken trade no": {func(e *channel.Event) { *e = hint(); e.TradeNo = "\x00" }, channel.ErrEvent},
		"a year that JSON cannot hold":  {yearTenThousand, channel.ErrEvent},
	} {
		e := payment()
		test.change(&e)
		if err := e.Validate(); !errors.Is(err, test.want) {
			t.Errorf("%s: Validate = %v, want %v", name, err, test.want)
		}
	}
}

func unpaidClose(e *channel.Event) {
	e.Kind, e.TradeNo, e.Amount, e.BizNo = channel.PaymentClosed, "", money.Amount{}, []string{"@ORDER-1"}
}

func yearTenThousand(e *channel.Event) { e.HappenedAt = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) }

func failedRefundOfNothing(e *channel.Event) { e.Kind, e.Amount.Minor = channel.RefundFailed, 0 }

func hint() channel.Event {
	return channel.Event{Tenant: 7, Channel: "SQB", Account: "shop-1", Kind: channel.QueryDue,
		BizNo: []string{"789", "REFUNDED", "0"}}
}

// An event that may be claimed is read back from its stored form as the same fact.
func TestAStoredEventIsTheSameFact(t *testing.T) {
	text := rapid.StringOfN(rapid.Rune(), 0, 20, 70)
	rapid.Check(t, func(t *rapid.T) {
		e := payment()
		e.BizNo = rapid.SliceOfN(rapid.OneOf(text, rapid.Just("9"), anyBytes()), 1, 3).Draw(t, "biz no")
		e.OrderNo = rapid.OneOf(text, anyBytes()).Draw(t, "order")
		e.Amount.Minor = rapid.Int64Min(1).Draw(t, "minor")
		e.Note = text.Draw(t, "note")
		if e.Validate() != nil {
			return
		}
		encoded, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := channel.Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		want, errWant := e.Key()
		got, errGot := decoded.Key()
		if err := errors.Join(errWant, errGot, decoded.Validate()); err != nil {
			t.Fatal(err)
		}
		if got != want || decoded.Digest() != e.Digest() || !decoded.HappenedAt.Equal(e.HappenedAt) {
			t.Fatalf("%q is read back as %q", want, got)
		}
	})
	if _, err := channel.Decode([]byte("{")); err == nil {
		t.Error("a torn event is decoded")
	}
}

func anyBytes() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) })
}

func account() channel.Account { return channel.Account{Tenant: 9, Channel: "SQB", Name: "shop-9"} }

func TestOneTakesTenantAndAccountFromTheEndpoint(t *testing.T) {
	parsed := channel.One(account(), payment(), []byte("body"))
	if len(parsed.Events) != 1 || len(parsed.Hints) != 0 {
		t.Fatalf("One = %+v, want one event", parsed)
	}
	if e := parsed.Events[0]; e.Tenant != 9 || e.Channel != "SQB" || e.Account != "shop-9" {
		t.Fatalf("the event belongs to %d %s %s", e.Tenant, e.Channel, e.Account)
	}
	if parsed := channel.One(account(), hint(), nil); len(parsed.Hints) != 1 || len(parsed.Events) != 0 {
		t.Fatalf("One of a hint = %+v", parsed)
	}
}

// An authentic message whose event cannot be claimed is kept under the digest of its bytes: the same bytes are one
// hint, other bytes another, and each can be claimed.
func TestOneQuarantinesWhatCannotBeClaimed(t *testing.T) {
	for name, spoil := range map[string]func(*channel.Event){
		"over-long number": func(e *channel.Event) { e.TradeNo, e.BizNo = strings.Repeat("9", 65), []string{"9"} },
		"over-long key":    func(e *channel.Event) { e.BizNo = []string{strings.Repeat("9", 300)} },
		"empty number":     func(e *channel.Event) { e.BizNo = []string{""} },
		"no amount":        func(e *channel.Event) { e.Amount = money.Amount{} },
		"broken hint":      func(e *channel.Event) { *e = hint(); e.BizNo[1] = "\x00" },
	} {
		e, body := payment(), []byte("body of "+name)
		spoil(&e)
		parsed := channel.One(account(), e, body)
		if len(parsed.Events) != 0 || len(parsed.Hints) != 1 {
			t.Fatalf("%s: One = %+v, want one hint", name, parsed)
		}
		kept := parsed.Hints[0].Event
		sum := sha256.Sum256(body)
		if kept.Kind != channel.Quarantined || kept.BizNo[0] != hex.EncodeToString(sum[:]) || kept.Note == "" {
			t.Errorf("%s: kept as %s %q: %q", name, kept.Kind, kept.BizNo, kept.Note)
		}
		if err := kept.Validate(); err != nil || kept.Tenant != 9 {
			t.Errorf("%s: the hint cannot be claimed: %v", name, err)
		}
		if strings.Contains(kept.Note, "9999") {
			t.Errorf("%s: the note quotes the message: %q", name, kept.Note)
		}
	}
}

func TestValidNumber(t *testing.T) {
	for number, want := range map[string]bool{
		"1": true, "ORD-1 ": true, "\u8ba2\u5355": true, "\U0001f600": true, strings.Repeat("9", 64): true,
		"": false, strings.Repeat("9", 65): false, "\x00": false, "a\tb": false, "a\n": false, "\x7f": false,
		"\xff": false, "\xed\xa0\x80": false,
	} {
		if channel.ValidNumber(number) != want {
			t.Errorf("ValidNumber(%q) = %t", number, !want)
		}
	}
}
