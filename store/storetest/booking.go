package storetest

import (
	"strconv"
	"sync/atomic"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
)

func bookingClauses() []clause {
	return []clause{
		{"an event is booked once even if its claim is lost", bookedOnce},
		{"of many bookings of one event at once exactly one is posted", oneIsPosted},
		{"a booking reads back as it was written", readsBack},
		{"a booking that moves no money is a booking", emptyBooking},
		{"what is not balanced is not posted", unbalanced},
		{"the trial balance is the sum of all postings", trialBalance},
	}
}

func bookedOnce(f *fixture) {
	g, c := f.gate("till-a", longLease), f.claim(f.key("fence"))
	f.must(f.finish(g, f.acquire(g, c, gate.First)))
	if posted, err := f.book(f.booking(c.Key, 100)); !posted || err != nil {
		f.Fatalf("first booking: %v, %v", posted, err)
	}
	tenant := strconv.FormatInt(f.tenant, 10)
	f.exec("DELETE FROM channel_idempotent WHERE tenant_id = " + tenant)
	f.exec("DELETE FROM channel_delivery WHERE tenant_id = " + tenant)
	f.acquire(g, c, gate.First) // the claim is gone, so the repeat is a first again
	other := f.booking(c.Key, 250)
	other.Chain = "another plan"
	if posted, err := f.book(other); posted || err != nil {
		f.Errorf("second booking: %v, %v", posted, err)
	}
	booked := f.journal(c.Key)
	if len(booked) != 1 || booked[0].Chain != "plain" {
		f.Errorf("journal: %+v", booked)
	}
}

func oneIsPosted(f *fixture) {
	key := f.key("race")
	var posted atomic.Int64
	together(rivals, func(i int) {
		mine, err := f.book(f.booking(key, int64(100+i)))
		if err != nil {
			f.Error(err)
		}
		if mine {
			posted.Add(1)
		}
	})
	if booked := f.journal(key); posted.Load() != 1 || len(booked) != 1 || len(booked[0].Entries) != 1 {
		f.Errorf("%d posted, journal %+v", posted.Load(), booked)
	}
	tenant := strconv.FormatInt(f.tenant, 10)
	if n := f.count("SELECT COUNT(*) FROM posting WHERE tenant_id = " + tenant); n != 2 {
		f.Errorf("%d postings", n)
	}
}

func readsBack(f *fixture) {
	written := f.booking(f.key("back"), 9007199254740993) // does not fit a double
	written.Entries = append(written.Entries, ledger.Entry{Step: "split", Postings: []ledger.Posting{
		{Account: "liability:merchant:s1", Side: ledger.Debit, Amount: cny(3)},
		{Account: "liability:receiver:b", Side: ledger.Credit, Amount: cny(1)},
		{Account: "liability:receiver:a", Side: ledger.Credit, Amount: cny(2)},
	}})
	if posted, err := f.book(written); !posted || err != nil {
		f.Fatalf("%v, %v", posted, err)
	}
	byOrder, err := f.store.JournalOfOrder(f.Context(), f.tenant, written.OrderNo)
	f.must(err)
	byCause := f.journal(f.key("back"))
	if len(byCause) != 1 || len(byOrder) != 1 || byCause[0].Digest() != byOrder[0].Digest() {
		f.Fatalf("by cause %+v, by order %+v", byCause, byOrder)
	}
	read := byCause[0]
	again := ledger.Recorded{Booking: written, ID: read.ID, BookedUs: read.BookedUs}
	if again.Digest() != read.Digest() || len(read.ID) != 26 || read.BookedUs <= 0 {
		f.Errorf("written %+v, read %+v", written, read)
	}
}

func emptyBooking(f *fixture) {
	empty := f.booking(f.key("empty"), 1)
	empty.Entries = nil
	for _, want := range []bool{true, false} {
		if posted, err := f.book(empty); posted != want || err != nil {
			f.Errorf("posted %v, %v; want %v", posted, err, want)
		}
	}
	if booked := f.journal(f.key("empty")); len(booked) != 1 || len(booked[0].Entries) != 0 {
		f.Errorf("journal %+v", booked)
	}
}

func unbalanced(f *fixture) {
	b := f.booking(f.key("off"), 100)
	b.Entries[0].Postings[1].Amount = cny(99)
	_, err := f.book(b)
	f.wantError(err, ledger.ErrUnbalanced)
	if booked := f.journal(f.key("off")); len(booked) != 0 {
		f.Errorf("journal %+v", booked)
	}
}

// The balance is right before anything is sealed, while bookings and seals run, and after.
func trialBalance(f *fixture) {
	const bookings = 40
	f.wantBalance(0)
	var done atomic.Int64
	together(4, func(i int) {
		if i == 3 {
			f.sealWhile(func() bool { return done.Load() < 3 })
			return
		}
		for n := range bookings {
			posted, err := f.book(f.booking(f.key("w"+strconv.Itoa(i), strconv.Itoa(n)), 7))
			if err != nil || !posted {
				f.Errorf("booking %d/%d: %v, %v", i, n, posted, err)
			}
		}
		done.Add(1)
	})
	f.wantBalance(3 * bookings * 7)
	f.sealAll()
	f.wantBalance(3 * bookings * 7)
}

// sealWhile seals in small batches and looks at the balance in between: it is in balance at every moment and never
// shrinks.
func (f *fixture) sealWhile(running func() bool) {
	last := int64(0)
	for running() {
		if _, _, err := f.store.Seal(f.Context(), f.tenant, 5); err != nil {
			f.Error(err)
			return
		}
		balances, err := f.store.TrialBalance(f.Context(), f.tenant)
		if err != nil {
			f.Error(err)
			return
		}
		var debit, credit int64
		for _, b := range balances {
			debit += b.Debit
			credit += b.Credit
		}
		if debit != credit || debit < last || debit%7 != 0 {
			f.Errorf("debits %d, credits %d, after %d", debit, credit, last)
		}
		last = debit
	}
}

func (f *fixture) wantBalance(minor int64) {
	f.Helper()
	balances, err := f.store.TrialBalance(f.Context(), f.tenant)
	f.must(err)
	want := []ledger.Balance{
		{Account: "asset:clearing:wechat:shop", Currency: "CNY", Debit: minor},
		{Account: "liability:merchant:s1", Currency: "CNY", Credit: minor},
	}
	if minor == 0 {
		want = nil
	}
	if len(balances) != len(want) {
		f.Fatalf("balances %+v, want %+v", balances, want)
	}
	for i := range want {
		if balances[i] != want[i] {
			f.Errorf("balance %+v, want %+v", balances[i], want[i])
		}
	}
}
