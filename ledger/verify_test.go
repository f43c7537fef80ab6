package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/ledger"
)

// books are a tenant's stored books in memory, which a test may tamper with.
type books struct {
	seals    []ledger.Head
	sealed   map[int64][]ledger.Sealed
	unsealed []ledger.Recorded
	strays   []ledger.Stray
	balances []ledger.Balance
	err      error
}

func recorded(n int) ledger.Recorded {
	b := booking(capture(int64(n)))
	b.Cause = fmt.Sprintf("WECHAT:%d:PAYMENT_RECEIVED", n)
	return ledger.Recorded{Booking: b, ID: fmt.Sprintf("%026d", n), BookedUs: int64(n)}
}

// newBooks seals three batches of three bookings and leaves one more unsealed.
func newBooks() *books {
	b := &books{sealed: map[int64][]ledger.Sealed{}, unsealed: []ledger.Recorded{recorded(10)}}
	var all []ledger.Recorded
	for seal := range 3 {
		var batch []ledger.Sealed
		for i := range 3 {
			booked := recorded(3*seal + i + 1)
			all = append(all, booked)
			batch = append(batch, ledger.Sealed{ID: booked.ID, Digest: booked.Digest(), Booking: &booked})
		}
		b.sealed[int64(seal+1)] = batch
	}
	b.balances = ledger.Sums(all)
	b.chain()
	return b
}

// chain computes the chain of seals anew, as somebody does who covers up what he changed.
func (b *books) chain() {
	head := ledger.Head{Tenant: 7}
	b.seals = nil
	for seal := int64(1); seal <= 3; seal++ {
		var digests []string
		for _, s := range b.sealed[seal] {
			digests = append(digests, s.Digest)
		}
		head = head.Next(digests)
		b.seals = append(b.seals, head)
	}
}

func (b *books) head() *ledger.Head { head := b.seals[len(b.seals)-1]; return &head }

func (b *books) Seals(_ context.Context, _ int64, fn func(ledger.Head) error) error {
	for _, seal := range b.seals {
		if err := fn(seal); err != nil {
			return err
		}
	}
	return b.err
}

func (b *books) SealedBookings(_ context.Context, _, seal int64) ([]ledger.Sealed, error) {
	return b.sealed[seal], b.err
}

func (b *books) Unsealed(_ context.Context, _ int64, fn func(ledger.Recorded) error) error {
	for _, booked := range b.unsealed {
		if err := fn(booked); err != nil {
			return err
		}
	}
	return nil
}

func (b *books) Strays(context.Context, int64) ([]ledger.Stray, error) { return b.strays, nil }

func (b *books) SealedBalances(context.Context, int64) ([]ledger.Balance, error) {
	return b.balances, nil
}

func TestCleanBooks(t *testing.T) {
	b := newBooks()
	for _, kept := range []*ledger.Head{nil, b.head(), {Tenant: 7}, &b.seals[0], &b.seals[1]} {
		report, err := ledger.Verify(t.Context(), b, 7, kept)
		if err != nil || len(report.Findings) != 0 || report.Bookings != 9 || report.Unsealed != 1 ||
			report.Head != *b.head() {
			t.Errorf("kept %+v: %+v, %v", kept, report, err)
		}
	}
}

// tampering is one way of changing the books behind the house's back, and what must be found.
type tampering struct {
	tamper func(b *books)
	kept   bool // found only by the head that was kept outside
	fault  ledger.Fault
	where  string
}

// edited changes the amount of booking 5, which lies under seal 2.
func edited(b *books) *ledger.Sealed {
	s := &b.sealed[2][1]
	changed := *s.Booking
	changed.Entries = []ledger.Entry{capture(500)}
	s.Booking = &changed
	return s
}

// coveredUp changes booking 5, its digest and the whole chain after it.
func coveredUp(b *books) {
	s := edited(b)
	s.Digest = s.Booking.Digest()
	b.chain()
}

func bookingTampering() map[string]tampering {
	return map[string]tampering{
		"an edited booking": {func(b *books) { edited(b) }, false, ledger.Edited, recorded(5).Cause},
		"an edit with its digest": {func(b *books) { s := edited(b); s.Digest = s.Booking.Digest() }, false, ledger.Broken,
			"seal 2"},
		"an edit that forgot the balance": {coveredUp, false, ledger.Unbalanced, string(clearing) + " CNY"},
		"an edit that forgot nothing": {func(b *books) {
			coveredUp(b)
			b.balances[0].Debit += 500 - 5
			b.balances[1].Credit += 500 - 5
		}, true, ledger.Broken, "seal 3"},
		"a deleted booking": {func(b *books) { b.sealed[1][0].Booking = nil }, false, ledger.Deleted, recorded(1).ID},
		"a deleted booking and its digest": {func(b *books) { b.sealed[1] = b.sealed[1][1:] }, false, ledger.Broken,
			"seal 1"},
		"a row of a stranger": {func(b *books) { b.strays = []ledger.Stray{{Kind: ledger.Inserted, Where: "x"}} }, false,
			ledger.Inserted, "x"},
		"an unsealed booking that is off": {func(b *books) {
			b.unsealed[0].Entries = []ledger.Entry{{Step: "capture", Postings: []ledger.Posting{debit(clearing, 2),
				credit(merchant, 1)}}}
		}, false, ledger.Unbalanced, recorded(10).Cause},
	}
}

func chainTampering() map[string]tampering {
	return map[string]tampering{
		"the last seal is gone": {func(b *books) { b.seals = b.seals[:2] }, false, ledger.Unbalanced,
			string(clearing) + " CNY"},
		"the last seal and its money are gone": {func(b *books) {
			b.seals = b.seals[:2]
			b.balances[0].Debit -= 7 + 8 + 9
			b.balances[1].Credit -= 7 + 8 + 9
		}, true, ledger.Deleted, "seal 3"},
		"everything sealed is gone": {func(b *books) { b.seals, b.balances = nil, nil }, true, ledger.Deleted, "seal 3"},
		"the first seal is gone":    {func(b *books) { b.seals = b.seals[1:] }, false, ledger.Broken, "seal 2"},
		"two seals changed places": {func(b *books) { b.seals[0], b.seals[1] = b.seals[1], b.seals[0] }, false,
			ledger.Broken, "seal 2"},
		"a changed balance": {func(b *books) { b.balances[1].Credit++ }, false, ledger.Unbalanced,
			string(merchant) + " CNY"},
		"a balance of a stranger": {func(b *books) {
			b.balances = append(b.balances, ledger.Balance{Account: agent, Currency: "CNY", Credit: 1})
		}, false, ledger.Unbalanced, string(agent) + " CNY"},
		"a lost balance": {func(b *books) { b.balances = b.balances[1:] }, false, ledger.Deleted, string(clearing) + " CNY"},
	}
}

// Every way of tampering is found, and the finding says where. What was covered up by computing the chain anew is
// found by the head that was kept outside.
func TestTamperingIsFound(t *testing.T) {
	cases := bookingTampering()
	maps.Copy(cases, chainTampering())
	for name, test := range cases {
		b := newBooks()
		kept := b.head()
		test.tamper(b)
		blind, errBlind := ledger.Verify(t.Context(), b, 7, nil)
		seen, errSeen := ledger.Verify(t.Context(), b, 7, kept)
		if err := errors.Join(errBlind, errSeen); err != nil {
			t.Fatal(err)
		}
		found := func(f ledger.Finding) bool {
			return f.Fault == test.fault && f.Where == test.where && f.Detail != "" && f.Tenant == 7
		}
		if !slices.ContainsFunc(seen.Findings, found) {
			t.Errorf("%s: %+v, want %s at %s", name, seen.Findings, test.fault, test.where)
		}
		if test.kept && len(blind.Findings) != 0 {
			t.Errorf("%s: found without the kept head: %+v", name, blind.Findings)
		}
		if !test.kept && !slices.ContainsFunc(blind.Findings, found) {
			t.Errorf("%s: not found without the kept head", name)
		}
	}
}

func TestVerifyReportsWhatItCannotRead(t *testing.T) {
	b := newBooks()
	b.err = errors.New("database is gone")
	if report, err := ledger.Verify(t.Context(), b, 7, nil); !errors.Is(err, b.err) || report.Bookings != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// A database that was replaced finds something in every row; the report still ends.
func TestAReportIsBounded(t *testing.T) {
	b := newBooks()
	for i := range 5000 {
		b.strays = append(b.strays, ledger.Stray{Kind: ledger.Inserted, Where: fmt.Sprint(i)})
	}
	report, err := ledger.Verify(t.Context(), b, 7, nil)
	if err != nil || len(report.Findings) == 0 || len(report.Findings) > 1000 {
		t.Errorf("%d findings, %v", len(report.Findings), err)
	}
}

// Whatever of a booking is changed, its digest changes, and no text can slide into the field beside it.
func TestTheDigestCoversEverything(t *testing.T) {
	seen := map[string]string{recorded(1).Digest(): "the booking itself"}
	for name, change := range map[string]func(*ledger.Recorded){
		"tenant":             func(r *ledger.Recorded) { r.Tenant++ },
		"id":                 func(r *ledger.Recorded) { r.ID += "0" },
		"cause":              func(r *ledger.Recorded) { r.Cause = strings.ToLower(r.Cause) },
		"chain":              func(r *ledger.Recorded) { r.Chain = "v2" },
		"order":              func(r *ledger.Recorded) { r.OrderNo = "" },
		"time":               func(r *ledger.Recorded) { r.BookedUs++ },
		"step":               func(r *ledger.Recorded) { r.Entries[0].Step += "d" },
		"account":            func(r *ledger.Recorded) { r.Entries[0].Postings[0].Account = merchant },
		"side":               func(r *ledger.Recorded) { r.Entries[0].Postings[0].Side = ledger.Credit },
		"amount":             func(r *ledger.Recorded) { r.Entries[0].Postings[0].Amount.Minor++ },
		"currency":           func(r *ledger.Recorded) { r.Entries[0].Postings[0].Amount.Currency = "HKD" },
		"order of postings":  func(r *ledger.Recorded) { slices.Reverse(r.Entries[0].Postings) },
		"no entries":         func(r *ledger.Recorded) { r.Entries = nil },
		"no postings":        func(r *ledger.Recorded) { r.Entries[0].Postings = nil },
		"one entry more":     func(r *ledger.Recorded) { r.Entries = append(r.Entries, capture(1)) },
		"text slides left":   func(r *ledger.Recorded) { r.Chain, r.OrderNo = "v1O", "RD-1" },
		"text slides right":  func(r *ledger.Recorded) { r.Chain, r.OrderNo = "v", "1ORD-1" },
		"text changes place": func(r *ledger.Recorded) { r.Chain, r.OrderNo = r.OrderNo, r.Chain },
	} {
		r := recorded(1)
		change(&r)
		if other, taken := seen[r.Digest()]; taken {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[r.Digest()] = name
	}
}

// The digests of a seal cannot be regrouped, reordered or moved between seals unnoticed.
func TestAHeadCoversItsPast(t *testing.T) {
	start := ledger.Head{Tenant: 7}
	seen := map[string]string{}
	for name, head := range map[string]ledger.Head{
		"nothing": start.Next(nil), "one": start.Next([]string{"a"}), "two": start.Next([]string{"a", "b"}),
		"swapped": start.Next([]string{"b", "a"}), "joined": start.Next([]string{"ab"}),
		"two seals": start.Next([]string{"a"}).Next([]string{"b"}),
		"late":      start.Next(nil).Next([]string{"a", "b"}),
	} {
		if other, taken := seen[head.Digest]; taken {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[head.Digest] = name
	}
	head := start.Next([]string{"a", "b"}).Next([]string{"c"})
	if head.Seal != 2 || head.Bookings != 3 || head.Tenant != 7 {
		t.Errorf("head %+v", head)
	}
}
