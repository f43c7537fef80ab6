package settle_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/settle"
)

func cny(minor int64) money.Amount { return money.New(minor, "CNY") }

func sale(minor int64) settle.Case {
	return settle.Case{Channel: "WECHAT", Account: "shop", Store: "s1", Amount: cny(minor)}
}

const (
	clearing = "asset:clearing:wechat:shop"
	merchant = "liability:merchant:s1"
)

// nets adds entries up: debits minus credits per account, in minor units, accounts at zero left out.
func nets(entries ...ledger.Entry) map[string]int64 {
	sums := map[string]int64{}
	for _, b := range ledger.Sums([]ledger.Recorded{{Booking: ledger.Booking{Entries: entries}}}) {
		if b.Net() != 0 {
			sums[string(b.Account)] = b.Net()
		}
	}
	return sums
}

func equal(a, b map[string]int64) bool {
	if len(a) != len(b) {
		return false
	}
	for account, net := range a {
		if b[account] != net {
			return false
		}
	}
	return true
}

// What each step does with a sale of 100.01 yuan, to the fen.
func TestStepsToTheFen(t *testing.T) {
	share := func(name string, rate money.Rate) settle.Share { return settle.Share{Receiver: name, Rate: rate} }
	thirds := []settle.Share{share("a", 333_333), share("b", 333_333), share("c", 333_334)}
	for name, test := range map[string]struct {
		steps []settle.Step
		want  map[string]int64
	}{
		"nothing but the capture": {nil, map[string]int64{clearing: 10001, merchant: -10001}},
		"a fee of the platform's": {[]settle.Step{settle.Fee{6000, money.HalfUp, settle.Platform, false}},
			map[string]int64{clearing: 9941, "expense:channel-fee:wechat": 60, merchant: -10001}},
		"a fee of the merchant's": {[]settle.Step{settle.Fee{6000, money.HalfUp, settle.Merchant, true}},
			map[string]int64{clearing: 9941, merchant: -9941}},
		"a fee rounded up": {[]settle.Step{settle.Fee{6000, money.Up, settle.Merchant, false}},
			map[string]int64{clearing: 9940, merchant: -9940}},
		"commission": {[]settle.Step{settle.Commission{10_000, money.Down}},
			map[string]int64{clearing: 10001, "revenue:commission": -100, merchant: -9901}},
		"a split by thirds, the rest to the first": {[]settle.Step{settle.Split{thirds, settle.ToFirst}},
			map[string]int64{clearing: 10001, "liability:receiver:a": -3335, "liability:receiver:b": -3333,
				"liability:receiver:c": -3333}},
		"a split by thirds, the rest to the last": {[]settle.Step{settle.Split{thirds, settle.ToLast}},
			map[string]int64{clearing: 10001, "liability:receiver:a": -3333, "liability:receiver:b": -3333,
				"liability:receiver:c": -3335}},
		"a split by thirds, the rest to the store": {[]settle.Step{settle.Split{thirds, settle.ToStore}},
			map[string]int64{clearing: 10001, merchant: -2, "liability:receiver:a": -3333,
				"liability:receiver:b": -3333, "liability:receiver:c": -3333}},
		"a split of what fee and commission leave": {[]settle.Step{settle.Fee{6000, money.HalfUp, settle.Merchant, false},
			settle.Commission{10_000, money.Down}, settle.Split{[]settle.Share{share("brand", 500_000)}, settle.ToStore}},
			map[string]int64{clearing: 9941, "revenue:commission": -100, "liability:receiver:brand": -4920,
				merchant: -4921}},
		"rates of zero book nothing": {[]settle.Step{settle.Fee{0, money.Up, settle.Platform, false},
			settle.Commission{0, money.Up}, settle.Split{nil, settle.ToStore}},
			map[string]int64{clearing: 10001, merchant: -10001}},
	} {
		chain := settle.Chain{Version: "v1", Steps: test.steps}
		entries, err := chain.Plan(sale(10001))
		if err := errors.Join(err, chain.Validate()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := nets(entries...); !equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Money that fits no order earns nobody anything; only the channel's own fee is gone.
func TestExcessMoneyIsKeptWhole(t *testing.T) {
	chain := settle.Chain{Version: "v1", Steps: []settle.Step{settle.Fee{6000, money.HalfUp, settle.Merchant, false},
		settle.Commission{100_000, money.HalfUp},
		settle.Split{[]settle.Share{{Receiver: "brand", Rate: 500_000}}, settle.ToFirst}}}
	c := sale(10000)
	c.Excess, c.Store = true, ""
	entries, err := chain.Plan(c)
	want := map[string]int64{clearing: 9940, "suspense:excess:wechat": -9940}
	if got := nets(entries...); err != nil || !equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// Shares that are each rounded up would take two fen of one; the later step gets what is left.
func TestNoStepTakesMoreThanIsLeft(t *testing.T) {
	chain := settle.Chain{Version: "v1", Steps: []settle.Step{settle.Fee{6000, money.Up, settle.Merchant, false},
		settle.Commission{10_000, money.Up}}}
	entries, err := chain.Plan(sale(1))
	want := map[string]int64{}
	if got := nets(entries...); err != nil || !equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWhatIsNotAPaymentIsNotPlanned(t *testing.T) {
	for _, minor := range []int64{0, -1} {
		if entries, err := settle.Plain().Plan(sale(minor)); !errors.Is(err, settle.ErrChain) || entries != nil {
			t.Errorf("%d: %v, %v", minor, entries, err)
		}
	}
}

// A mistake in the configuration is found at start, not at the first payment.
func TestWhatIsNotAChain(t *testing.T) {
	fee := settle.Fee{Rate: 6000, Rounding: money.HalfUp, Bearer: settle.Platform}
	split := func(remainder settle.Remainder, shares ...settle.Share) settle.Split {
		return settle.Split{Shares: shares, Remainder: remainder}
	}
	half := settle.Share{Receiver: "a", Rate: 500_000}
	for name, steps := range map[string][]settle.Step{
		"no bearer":             {settle.Fee{Rate: 1, Rounding: money.Up}},
		"no rounding":           {settle.Fee{Rate: 1, Bearer: settle.Platform}},
		"negative rate":         {settle.Commission{Rate: -1, Rounding: money.Down}},
		"more than 100 %":       {settle.Commission{Rate: money.One + 1, Rounding: money.Down}},
		"unknown rounding":      {settle.Commission{Rate: 1, Rounding: "bankers"}},
		"a receiver twice":      {split(settle.ToStore, half, half)},
		"a receiver of no name": {split(settle.ToStore, settle.Share{Rate: 1})},
		"a receiver of colons":  {split(settle.ToStore, settle.Share{Receiver: "a::b", Rate: 1})},
		"shares above 100 %":    {split(settle.ToStore, half, settle.Share{Receiver: "b", Rate: 500_001})},
		"nobody's remainder":    {split("", half)},
		"more than all": {settle.Fee{600_000, money.Down, settle.Merchant, false},
			settle.Commission{600_000, money.Down}},
		"two fees":        {fee, fee},
		"two commissions": {settle.Commission{1, money.Down}, fee, settle.Commission{2, money.Down}},
		"two splits":      {split(settle.ToStore, half), split(settle.ToStore, half)},
	} {
		if err := (settle.Chain{Version: "v1", Steps: steps}).Validate(); !errors.Is(err, settle.ErrChain) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, version := range []string{"", "a version of more than 32 bytes is too long"} {
		if err := (settle.Chain{Version: version}).Validate(); !errors.Is(err, settle.ErrChain) {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

// aChain draws a chain whose parts may, rounded up, ask for more than there is.
func aChain(t *rapid.T) settle.Chain {
	rate := rapid.Custom(func(t *rapid.T) money.Rate { return money.Rate(rapid.Int64Range(0, 300_000).Draw(t, "ppm")) })
	bearer := rapid.SampledFrom([]settle.Bearer{settle.Platform, settle.Merchant})
	remainder := rapid.SampledFrom([]settle.Remainder{settle.ToStore, settle.ToFirst, settle.ToLast})
	rounding := rapid.SampledFrom([]money.Rounding{money.Down, money.Up, money.HalfUp, money.HalfEven})
	steps := []settle.Step{
		settle.Fee{rate.Draw(t, "fee"), rounding.Draw(t, "fee rounding"), bearer.Draw(t, "bearer"),
			rapid.Bool().Draw(t, "kept")},
		settle.Commission{rate.Draw(t, "commission"), rounding.Draw(t, "commission rounding")},
	}
	var shares []settle.Share
	for _, name := range []string{"a", "b", "c"}[:rapid.IntRange(0, 3).Draw(t, "shares")] {
		shares = append(shares, settle.Share{Receiver: name, Rate: rate.Draw(t, "share")})
	}
	steps = append(steps, settle.Split{shares, remainder.Draw(t, "remainder")})
	return settle.Chain{Version: "v1", Steps: rapid.Permutation(steps).Draw(t, "steps")}
}

// anAmount draws tiny amounts, where rounding matters most, as often as large ones.
func anAmount(t *rapid.T) int64 {
	return rapid.OneOf(rapid.Int64Range(1, 50), rapid.Int64Range(1, 1_000_000_000)).Draw(t, "amount")
}

// A fee for which the steps before have left nothing is no entry at all: a posting of zero cannot be booked.
func TestAFeeOfNothingLeftIsNotBooked(t *testing.T) {
	chain := settle.Chain{Version: "v1", Steps: []settle.Step{
		settle.Commission{Rate: 1, Rounding: money.Up},
		settle.Fee{Rate: 1, Rounding: money.Up, Bearer: settle.Merchant},
	}}
	entries, err := chain.Plan(sale(1))
	if err != nil || len(entries) != 2 || entries[1].Step != "commission" {
		t.Fatalf("one fen, of which the commission takes all: %v, %v", entries, err)
	}
	if err := (ledger.Booking{Tenant: 7, Cause: "x", Entries: entries}).Validate(); err != nil {
		t.Fatal(err)
	}
}

// Whatever the chain, every entry may be booked, no fen appears or vanishes, nobody is taken below zero, and planning
// again gives the same.
func TestTheChainConservesMoney(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chain, c := aChain(t), sale(anAmount(t))
		c.Excess = rapid.Bool().Draw(t, "excess")
		entries, err := chain.Plan(c)
		if err := errors.Join(err, chain.Validate()); err != nil {
			t.Fatal(err)
		}
		if err := (ledger.Booking{Tenant: 7, Cause: "x", Entries: entries}).Validate(); err != nil {
			t.Fatal(err)
		}
		sums, total := nets(entries...), int64(0)
		for account, net := range sums {
			total += net
			if wantsCredit := account != clearing && account != "expense:channel-fee:wechat"; wantsCredit && net > 0 {
				t.Fatalf("%s owes us %d: %v", account, net, sums)
			}
		}
		if total != 0 || sums[clearing] < 0 || sums[clearing] > c.Amount.Minor {
			t.Fatalf("%v add up to %d", sums, total)
		}
		again, err := chain.Plan(c)
		if err != nil || !equal(nets(again...), sums) || len(again) != len(entries) {
			t.Fatalf("planned again: %v, %v", again, err)
		}
	})
}
