package ledger_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
)

func debit(account ledger.Account, minor int64) ledger.Posting {
	return ledger.Posting{Account: account, Side: ledger.Debit, Amount: money.New(minor, "CNY")}
}

func credit(account ledger.Account, minor int64) ledger.Posting {
	return ledger.Posting{Account: account, Side: ledger.Credit, Amount: money.New(minor, "CNY")}
}

func hongKong(p ledger.Posting) ledger.Posting { p.Amount.Currency = "HKD"; return p }

const (
	clearing ledger.Account = "asset:clearing:wechat:shop"
	merchant ledger.Account = "liability:merchant:s1"
	agent    ledger.Account = "liability:receiver:agent"
)

func booking(entries ...ledger.Entry) ledger.Booking {
	return ledger.Booking{Tenant: 7, Cause: "WECHAT:1:PAYMENT_RECEIVED", Chain: "v1", OrderNo: "ORD-1", Entries: entries}
}

func capture(minor int64) ledger.Entry {
	return ledger.Entry{Step: "capture", Postings: []ledger.Posting{debit(clearing, minor), credit(merchant, minor)}}
}

func TestAccountsAreClassesAndNames(t *testing.T) {
	long := "asset:" + strings.Repeat("x", ledger.MaxAccountBytes-len("asset:"))
	for _, account := range []ledger.Account{clearing, merchant, "revenue:commission", "expense:channel-fee:alipay",
		"equity:opening", "suspense:excess:sqb", "asset:clearing:wechat:a|b@c", ledger.Account(long)} {
		if !account.Valid() {
			t.Errorf("%q is refused", account)
		}
	}
	for _, account := range []ledger.Account{"", "asset", "asset:", ":asset", "asset::x", "asset:x:", "Asset:x", "money:x",
		"asset:a b", "asset:a\n", "asset:é", "asset:\x00", "asset:\x7f", "asset:\xff", ledger.Account(long + "x")} {
		if account.Valid() {
			t.Errorf("%q is an account", account)
		}
	}
}

func TestWhatMayBeBooked(t *testing.T) {
	split := ledger.Entry{Step: "split", Postings: []ledger.Posting{debit(merchant, 30), credit(agent, 10),
		credit("liability:receiver:brand", 20)}}
	for name, b := range map[string]ledger.Booking{
		"no money at all": booking(), "one entry": booking(capture(100)), "two entries": booking(capture(100), split),
		"two currencies": booking(ledger.Entry{Step: "exchange", Postings: []ledger.Posting{debit(clearing, 100),
			credit(merchant, 100), hongKong(debit(clearing, 5)), hongKong(credit(merchant, 5))}}),
	} {
		if err := b.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	entry := func(postings ...ledger.Posting) ledger.Booking {
		return booking(ledger.Entry{Step: "capture", Postings: postings})
	}
	third := ledger.Posting{Account: merchant, Side: "X", Amount: money.New(1, "CNY")}
	noTenant, noCause := booking(), booking()
	noTenant.Tenant, noCause.Cause = 0, ""
	for name, test := range map[string]struct {
		booking ledger.Booking
		want    error
	}{
		"a fen is missing":           {entry(debit(clearing, 100), credit(merchant, 99)), ledger.ErrUnbalanced},
		"both on one side":           {entry(debit(clearing, 100), debit(merchant, 100)), ledger.ErrUnbalanced},
		"balanced across currencies": {entry(debit(clearing, 5), hongKong(credit(merchant, 5))), ledger.ErrUnbalanced},
		"balanced across entries": {booking(ledger.Entry{Step: "a", Postings: []ledger.Posting{debit(clearing, 2),
			credit(merchant, 1)}}, ledger.Entry{Step: "b", Postings: []ledger.Posting{debit(clearing, 1),
			credit(merchant, 2)}}), ledger.ErrUnbalanced},
		"one posting":         {entry(debit(clearing, 100)), ledger.ErrEntry},
		"no posting":          {entry(), ledger.ErrEntry},
		"zero":                {entry(debit(clearing, 0), credit(merchant, 0)), ledger.ErrEntry},
		"negative":            {entry(debit(clearing, -1), credit(merchant, -1)), ledger.ErrEntry},
		"no currency":         {entry(ledger.Posting{Account: clearing, Side: ledger.Debit}), ledger.ErrEntry},
		"no account":          {entry(debit("", 1), credit(merchant, 1)), ledger.ErrEntry},
		"a third side":        {entry(debit(clearing, 1), third), ledger.ErrEntry},
		"more than there is":  {entry(debit(clearing, math.MaxInt64), debit(agent, 1)), money.ErrOverflow},
		"a step twice":        {booking(capture(1), capture(2)), ledger.ErrEntry},
		"a step without name": {booking(ledger.Entry{Postings: capture(1).Postings}), ledger.ErrEntry},
		"a long step": {booking(ledger.Entry{Step: strings.Repeat("s", 65), Postings: capture(1).Postings}),
			ledger.ErrEntry},
		"no tenant": {noTenant, ledger.ErrEntry},
		"no cause":  {noCause, ledger.ErrEntry},
	} {
		if err := test.booking.Validate(); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// journal is a business transaction in memory.
type journal struct {
	booked map[string]ledger.Booking
	err    error
}

func (j *journal) Booked(_ context.Context, tenant int64, cause string) (bool, error) {
	_, booked := j.booked[strconv.FormatInt(tenant, 10)+cause]
	return booked, j.err
}

func (j *journal) InsertBooking(_ context.Context, b ledger.Booking) error {
	j.booked[strconv.FormatInt(b.Tenant, 10)+b.Cause] = b
	return nil
}

func TestPostBooksOncePerTenantAndCause(t *testing.T) {
	j := &journal{booked: map[string]ledger.Booking{}}
	post := func(b ledger.Booking, want bool) {
		t.Helper()
		if posted, err := ledger.Post(t.Context(), j, b); posted != want || err != nil {
			t.Errorf("posted %v, %v; want %v", posted, err, want)
		}
	}
	first, other, refund := booking(capture(100)), booking(capture(100)), booking(capture(5))
	other.Tenant++
	refund.Cause = "WECHAT:1:REFUND_SUCCEEDED"
	post(first, true)
	post(first, false)
	post(booking(capture(250)), false) // another plan for the same event
	post(other, true)
	post(refund, true)
	bad := booking(ledger.Entry{Step: "capture", Postings: []ledger.Posting{debit(clearing, 2), credit(merchant, 1)}})
	bad.Cause = "WECHAT:2:PAYMENT_RECEIVED"
	if posted, err := ledger.Post(t.Context(), j, bad); posted || !errors.Is(err, ledger.ErrUnbalanced) {
		t.Errorf("posted %v, %v", posted, err)
	}
	j.err = errors.New("database is gone")
	bad.Entries = nil
	if posted, err := ledger.Post(t.Context(), j, bad); posted || !errors.Is(err, j.err) {
		t.Errorf("posted %v, %v", posted, err)
	}
	if len(j.booked) != 3 {
		t.Errorf("%d bookings", len(j.booked))
	}
}

// anEntry draws a balanced entry of up to four credits.
func anEntry(t *rapid.T, step string) ledger.Entry {
	parts := rapid.SliceOfN(rapid.Int64Range(1, 1_000_000), 1, 4).Draw(t, "parts")
	entry := ledger.Entry{Step: step}
	var sum int64
	for _, part := range parts {
		account := rapid.SampledFrom([]ledger.Account{merchant, agent, clearing, "revenue:commission"}).Draw(t, "account")
		entry.Postings = append(entry.Postings, credit(account, part))
		sum += part
	}
	entry.Postings = append(entry.Postings, debit(clearing, sum))
	return entry
}

func TestAReversalTakesEverythingBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entry := anEntry(t, "capture")
		reversal := entry.Reverse("reversal")
		for _, e := range []ledger.Entry{entry, reversal} {
			if err := e.Validate(); err != nil {
				t.Fatal(err)
			}
		}
		both := ledger.Recorded{Booking: booking(entry, reversal)}
		for _, sum := range ledger.Sums([]ledger.Recorded{both}) {
			if sum.Net() != 0 {
				t.Fatalf("%+v is left", sum)
			}
		}
		if back := reversal.Reverse("capture"); !slices.Equal(back.Postings, entry.Postings) || back.Step != entry.Step {
			t.Fatalf("reversed twice: %+v", back)
		}
		total, err := entry.Total("CNY")
		if err != nil || total.Minor != entry.Postings[len(entry.Postings)-1].Amount.Minor {
			t.Fatalf("total %s, %v", total, err)
		}
	})
}

// Balances are sums: in any order of bookings, of any split into batches, sorted for every instance alike.
func TestSumsDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []ledger.Recorded
		for range rapid.IntRange(0, 6).Draw(t, "bookings") {
			list = append(list, ledger.Recorded{Booking: booking(anEntry(t, "a"), anEntry(t, "b"))})
		}
		sums := ledger.Sums(list)
		if again := ledger.Sums(rapid.Permutation(list).Draw(t, "order")); !slices.Equal(again, sums) {
			t.Fatalf("%+v and %+v", sums, again)
		}
		var debits, credits int64
		for i, sum := range sums {
			debits += sum.Debit
			credits += sum.Credit
			if i > 0 && sums[i-1].Account >= sum.Account {
				t.Fatalf("%s before %s", sums[i-1].Account, sum.Account)
			}
		}
		if debits != credits {
			t.Fatalf("debits %d, credits %d", debits, credits)
		}
	})
}
