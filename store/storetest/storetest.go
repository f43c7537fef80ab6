// Package storetest is the contract of a store: what every engine must hold before money may rest on it. An engine
// has no way to leave a clause out.
package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

// Run holds one engine to the whole contract. open gives a fresh, migrated database and closes it when the test ends.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	for _, chapter := range []struct {
		name    string
		clauses []clause
	}{
		{"claim", claimClauses()},
		{"keys", keyClauses()},
		{"lease", leaseClauses()},
		{"index", indexClauses()},
		{"transaction", transactionClauses()},
		{"booking", bookingClauses()},
		{"seal", sealClauses()},
		{"order", orderClauses()},
		{"lists", listClauses()},
		{"token", tokenClauses()},
		{"adopt", adoptClauses()},
		{"query", queryClauses()},
		{"suspense", suspenseClauses()},
	} {
		t.Run(chapter.name, func(t *testing.T) {
			s := open(t)
			for i, c := range chapter.clauses {
				t.Run(c.name, func(t *testing.T) { c.holds(&fixture{T: t, store: s, tenant: int64(i + 1)}) })
			}
		})
	}
}

// clause is one sentence of the contract. Clauses of a chapter share a database, each in a tenant of its own.
type clause struct {
	name  string
	holds func(f *fixture)
}

// fixture is what a clause works with.
type fixture struct {
	*testing.T
	store  *store.Store
	tenant int64
}

const (
	longLease  = time.Minute
	shortLease = 20 * time.Millisecond
)

// gate is the gate of one process.
func (f *fixture) gate(instance string, lease time.Duration) *gate.Gate {
	f.Helper()
	g, err := gate.New(gate.Options{Storage: f.store, Instance: instance, Lease: lease, Tries: 3})
	f.must(err)
	return g
}

// key is the key of a payment with that number.
func (f *fixture) key(bizNo ...string) gate.Key {
	f.Helper()
	key, err := gate.NewKey("WECHAT", "PAYMENT_RECEIVED", bizNo...)
	f.must(err)
	return key
}

func (f *fixture) claim(key gate.Key) gate.Claim {
	return gate.Claim{Tenant: f.tenant, Key: key, Digest: "v1:first", Event: []byte(`{"report":1}`), OrderNo: "ORD-1",
		Raw: gate.Delivery{Source: "notify", Header: []byte(`{"Serial":"1"}`), Body: []byte("as received \x00\xff")}}
}

// acquire claims and expects the verdict.
func (f *fixture) acquire(g *gate.Gate, c gate.Claim, want gate.Verdict) gate.Ticket {
	f.Helper()
	t, err := g.Acquire(f.Context(), c)
	if err != nil || t.Verdict != want {
		f.Fatalf("%s: verdict %q, %v; want %s", c.Key, t.Verdict, err, want)
	}
	return t
}

// finish finishes a claim in a business transaction of its own.
func (f *fixture) finish(g *gate.Gate, t gate.Ticket) error {
	return f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) error {
		return g.Finish(ctx, tx, t, "booked")
	})
}

// park gives a claim back in a transaction of its own.
func (f *fixture) park(g *gate.Gate, t gate.Ticket, p gate.Parking) error {
	return f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) error { return g.Park(ctx, tx, t, p) })
}

// row reads a claim.
func (f *fixture) row(key gate.Key) gate.Row {
	f.Helper()
	row, err := f.store.Lookup(f.Context(), f.tenant, key)
	f.must(err)
	return row
}

// leaseOver waits, by the database's clock, until nobody holds the claim any more.
func (f *fixture) leaseOver(key gate.Key) gate.Row {
	f.Helper()
	for range 500 {
		if row := f.row(key); row.LeaseOver {
			return row
		}
		time.Sleep(shortLease)
	}
	f.Fatalf("the lease of %s does not end", key)
	return gate.Row{}
}

// tick lets time pass, so that what comes next has a later time on the coarsest engine, which counts milliseconds.
func tick() { time.Sleep(3 * time.Millisecond) }

// exec runs a statement behind the store's back.
func (f *fixture) exec(statement string) {
	f.Helper()
	if _, err := f.store.Pools().Main.ExecContext(f.Context(), statement); err != nil {
		f.Fatalf("%s: %v", statement, err)
	}
}

// count asks behind the store's back.
func (f *fixture) count(query string) int64 {
	f.Helper()
	var n int64
	if err := f.store.Pools().Read.QueryRowContext(f.Context(), query).Scan(&n); err != nil {
		f.Fatalf("%s: %v", query, err)
	}
	return n
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) wantError(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("error %v, want %v", err, want)
	}
}

// together runs n tasks that start at the same moment, and returns when all have ended.
func together(n int, task func(i int)) {
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-start
			task(i)
		})
	}
	close(start)
	group.Wait()
}

func cny(minor int64) money.Amount { return money.New(minor, "CNY") }

// booking is a small balanced booking of one event.
func (f *fixture) booking(key gate.Key, minor int64) ledger.Booking {
	return ledger.Booking{Tenant: f.tenant, Cause: string(key), Chain: "plain", OrderNo: "ORD-1", Entries: []ledger.Entry{
		{Step: "capture", Postings: []ledger.Posting{
			{Account: "asset:clearing:wechat:shop", Side: ledger.Debit, Amount: cny(minor)},
			{Account: "liability:merchant:s1", Side: ledger.Credit, Amount: cny(minor)},
		}},
	}}
}

// book posts a booking in a transaction of its own and tells whether it was new.
func (f *fixture) book(b ledger.Booking) (posted bool, err error) {
	err = f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
		posted, err = ledger.Post(ctx, tx, b)
		return err
	})
	return posted, err
}

// order registers an open order.
func (f *fixture) order(no string) order.Order {
	f.Helper()
	o, err := f.store.CreateOrder(f.Context(), order.Order{Tenant: f.tenant, No: no, Store: "s1", Amount: cny(100)})
	f.must(err)
	return o
}
