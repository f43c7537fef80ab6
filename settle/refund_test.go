package settle_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/settle"
)

// refunds plans refunds of one payment one after the other and returns all their entries.
func refunds(t *rapid.T, stored []ledger.Entry, captured int64, amounts []int64) []ledger.Entry {
	var all []ledger.Entry
	var before int64
	for _, amount := range amounts {
		entries, err := settle.PlanRefund(settle.RefundCase{Channel: "WECHAT", Account: "shop", Captured: cny(captured),
			Before: cny(before), Amount: cny(amount), Stored: stored})
		if err != nil {
			t.Fatal(err)
		}
		if err := (ledger.Booking{Tenant: 7, Cause: "x", Entries: entries}).Validate(); err != nil {
			t.Fatalf("refund of %d after %d on %d: %v", amount, before, captured, err)
		}
		all = append(all, entries...)
		before += amount
	}
	return all
}

// parts draws consecutive refunds that add up to at most the whole.
func parts(t *rapid.T, whole int64) []int64 {
	var list []int64
	left := whole
	for range rapid.IntRange(1, 6).Draw(t, "refunds") {
		if left == 0 {
			break
		}
		part := rapid.Int64Range(1, left).Draw(t, "part")
		list = append(list, part)
		left -= part
	}
	return list
}

func sumOf(list []int64) (sum int64) {
	for _, v := range list {
		sum += v
	}
	return sum
}

// Partial refunds end the same in whatever order they come, and the same as one refund of their sum.
func TestTheOrderOfRefundsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		captured := anAmount(t)
		stored, err := aChain(t).Plan(sale(captured))
		if err != nil {
			t.Fatal(err)
		}
		list := parts(t, captured)
		once := nets(refunds(t, stored, captured, []int64{sumOf(list)})...)
		inTurn := nets(refunds(t, stored, captured, list)...)
		shuffled := nets(refunds(t, stored, captured, rapid.Permutation(list).Draw(t, "order"))...)
		if !equal(inTurn, once) || !equal(shuffled, once) {
			t.Fatalf("at once %v, in turn %v, shuffled %v", once, inTurn, shuffled)
		}
	})
}

// A payment that is refunded in full leaves every account where it began; a fee that the channel keeps is all that
// may stay.
func TestAFullRefundLeavesNothingBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		captured := anAmount(t)
		stored, err := aChain(t).Plan(sale(captured))
		if err != nil {
			t.Fatal(err)
		}
		list := parts(t, captured)
		if left := captured - sumOf(list); left > 0 {
			list = append(list, left)
		}
		back := refunds(t, stored, captured, list)
		kept := slices.DeleteFunc(slices.Clone(stored), func(e ledger.Entry) bool { return e.Step != "channel_fee_kept" })
		if got, want := nets(slices.Concat(stored, back)...), nets(kept...); !equal(got, want) {
			t.Fatalf("%v is left, want %v", got, want)
		}
	})
}

// On the way there no account is taken beyond what the payment gave it, and no refund takes back an earlier one.
func TestNoRefundGoesTooFar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		captured := anAmount(t)
		stored, err := aChain(t).Plan(sale(captured))
		if err != nil {
			t.Fatal(err)
		}
		list := parts(t, captured)
		for n := range list {
			now := nets(slices.Concat(stored, refunds(t, stored, captured, list[:n+1]))...)
			for account, net := range nets(stored...) {
				rest := now[account]
				if account != clearing && account != merchant && (net > 0) != (rest >= 0) && rest != 0 {
					t.Fatalf("%s had %d and has %d", account, net, rest)
				}
				if account != clearing && account != merchant && max(rest, -rest) > max(net, -net) {
					t.Fatalf("%s had %d and has %d", account, net, rest)
				}
			}
		}
	})
}

// Money that the channel paid out beyond what it took in has left: it is booked, to suspense.
func TestRefundsBeyondThePayment(t *testing.T) {
	stored, err := settle.Plain().Plan(sale(100))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		before, amount int64
		want           map[string]int64
	}{
		"one fen too much":   {0, 101, map[string]int64{clearing: -101, merchant: 100, "suspense:refund-excess:wechat": 1}},
		"the last too large": {60, 60, map[string]int64{clearing: -60, merchant: 40, "suspense:refund-excess:wechat": 20}},
		"all of it too much": {100, 5, map[string]int64{clearing: -5, "suspense:refund-excess:wechat": 5}},
		"beyond the beyond":  {130, 5, map[string]int64{clearing: -5, "suspense:refund-excess:wechat": 5}},
		"just enough":        {60, 40, map[string]int64{clearing: -40, merchant: 40}},
	} {
		entries, err := settle.PlanRefund(settle.RefundCase{Channel: "WECHAT", Account: "shop", Captured: cny(100),
			Before: cny(test.before), Amount: cny(test.amount), Stored: stored})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := (ledger.Booking{Tenant: 7, Cause: "x", Entries: entries}).Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := nets(entries...); !equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestWhatIsNotARefund(t *testing.T) {
	good := settle.RefundCase{Channel: "WECHAT", Account: "shop", Captured: cny(100), Before: cny(0), Amount: cny(1)}
	for name, test := range map[string]struct {
		spoil func(*settle.RefundCase)
		want  error
	}{
		"nothing":             {func(c *settle.RefundCase) { c.Amount = cny(0) }, settle.ErrChain},
		"negative":            {func(c *settle.RefundCase) { c.Amount = cny(-1) }, settle.ErrChain},
		"of nothing":          {func(c *settle.RefundCase) { c.Captured = cny(0) }, settle.ErrChain},
		"in another currency": {func(c *settle.RefundCase) { c.Captured.Currency = "HKD" }, settle.ErrChain},
		"currencies mixed":    {func(c *settle.RefundCase) { c.Amount.Currency = "HKD" }, money.ErrCurrency},
		"more than can be":    {func(c *settle.RefundCase) { c.Before = cny(math.MaxInt64) }, money.ErrOverflow},
	} {
		c := good
		test.spoil(&c)
		if entries, err := settle.PlanRefund(c); !errors.Is(err, test.want) || entries != nil {
			t.Errorf("%s: %v, %v; want %v", name, entries, err, test.want)
		}
	}
}
