package storetest

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

func transactionClauses() []clause {
	return []clause{
		{"finish and booking are one", finishAndBooking},
		{"a transaction that saw an error stores nothing", poisoned},
		{"a unit that met a changed row runs again as a whole", conflict},
		{"two units that lock in opposite order both succeed", deadlock},
		{"a unit that always conflicts ends with the conflict", hopeless},
		{"an error of the caller is returned and not tried again", callersError},
		{"more callers than connections do not wait for each other", morePeopleThanChairs},
	}
}

func finishAndBooking(f *fixture) {
	g, c := f.gate("till-a", longLease), f.claim(f.key("both"))
	t := f.acquire(g, c, gate.First)
	broken := errors.New("power failed")
	unit := func(end error) error {
		return f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) error {
			if err := g.Finish(ctx, tx, t, "booked"); err != nil {
				return err
			}
			if _, err := ledger.Post(ctx, tx, f.booking(c.Key, 100)); err != nil {
				return err
			}
			return end
		})
	}
	f.wantError(unit(broken), broken)
	if booked := f.journal(c.Key); f.row(c.Key).State != gate.Open || len(booked) != 0 {
		f.Fatalf("half of it stayed: %+v, %+v", f.row(c.Key), booked)
	}
	f.must(unit(nil))
	if booked := f.journal(c.Key); f.row(c.Key).State != gate.Finished || len(booked) != 1 {
		f.Fatalf("half of it is there: %+v, %+v", f.row(c.Key), booked)
	}
	f.wantError(unit(nil), gate.ErrFenced)
}

func (f *fixture) journal(key gate.Key) []ledger.Recorded {
	f.Helper()
	booked, err := f.store.Journal(f.Context(), f.tenant, string(key))
	f.must(err)
	return booked
}

// The caller swallows an error and goes on. Whatever came before and after it must not be committed: some engines
// have rolled back already, so that the rest would stand alone.
func poisoned(f *fixture) {
	o := f.order("ORD-1")
	bad := f.booking(f.key("bad"), 100)
	bad.Entries[0].Postings[0].Amount.Minor = -100 // refused by the database
	var after error
	err := f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.InsertBooking(ctx, f.booking(f.key("before"), 100)); err != nil {
			return err
		}
		if err := tx.InsertBooking(ctx, bad); err == nil {
			f.Error("a negative posting was stored")
		}
		o.State = order.Closed
		after = tx.UpdateOrder(ctx, o)
		if _, _, err := tx.Order(ctx, f.tenant, o.No); !errors.Is(err, store.ErrPoisoned) {
			f.Errorf("a read after the error: %v", err)
		}
		if _, err := tx.Booked(ctx, f.tenant, bad.Cause); !errors.Is(err, store.ErrPoisoned) {
			f.Errorf("a second read after the error: %v", err)
		}
		return nil
	})
	f.wantError(after, store.ErrPoisoned)
	f.wantError(err, store.ErrPoisoned)
	stored, readErr := f.store.Order(f.Context(), f.tenant, o.No)
	f.must(readErr)
	if booked := f.journal(f.key("before")); len(booked) != 0 || stored.State != order.Open {
		f.Errorf("stored after all: %+v, %+v", booked, stored)
	}
}

func conflict(f *fixture) {
	f.order("ORD-1")
	var runs atomic.Int64
	const writers = 12
	together(writers, func(i int) {
		err := f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) error {
			runs.Add(1)
			o, _, err := tx.Order(ctx, f.tenant, "ORD-1")
			if err != nil {
				return err
			}
			if i == 0 {
				o.State, o.PaidBy = order.Paid, "WECHAT:1:PAYMENT_RECEIVED"
			}
			return tx.UpdateOrder(ctx, o)
		})
		if err != nil {
			f.Error(err)
		}
	})
	o, err := f.store.Order(f.Context(), f.tenant, "ORD-1")
	f.must(err)
	if o.Version != writers+1 || o.State != order.Paid || o.PaidUs < o.CreatedUs || runs.Load() < writers {
		f.Errorf("after %d writers in %d runs: %+v", writers, runs.Load(), o)
	}
}

// Each of two units has one order and wants the other's. SQLite has one writer, so there they pass one after the other.
func deadlock(f *fixture) {
	f.order("ORD-A")
	f.order("ORD-B")
	var holding, runs atomic.Int64
	meets := f.store.Engine() != "sqlite"
	paths := [2][2]string{{"ORD-A", "ORD-B"}, {"ORD-B", "ORD-A"}}
	together(2, func(i int) {
		err := f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) error {
			runs.Add(1)
			for step, no := range paths[i] {
				o, _, err := tx.Order(ctx, f.tenant, no)
				if err != nil {
					return err
				}
				if err := tx.UpdateOrder(ctx, o); err != nil {
					return err
				}
				if step == 0 && meets {
					holding.Add(1)
					meet(ctx, &holding)
				}
			}
			return nil
		})
		if err != nil {
			f.Error(err)
		}
	})
	for _, no := range paths[0] {
		if o, err := f.store.Order(f.Context(), f.tenant, no); err != nil || o.Version != 3 {
			f.Errorf("%s: %+v, %v", no, o, err)
		}
	}
	if meets && runs.Load() < 3 {
		f.Error("the two units never met, so nothing was shown")
	}
}

// meet waits until both units hold a row.
func meet(ctx context.Context, holding *atomic.Int64) {
	for range 300 {
		if holding.Load() >= 2 || ctx.Err() != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func hopeless(f *fixture) {
	o := f.order("ORD-1")
	o.Version += 7
	runs := 0
	err := f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) error {
		runs++
		return tx.UpdateOrder(ctx, o)
	})
	f.wantError(err, store.ErrConflict)
	if runs < 2 {
		f.Errorf("%d runs", runs)
	}
}

func callersError(f *fixture) {
	no := errors.New("no")
	runs := 0
	err := f.store.Do(f.Context(), func(context.Context, *store.Tx) error { runs++; return no })
	if !errors.Is(err, no) || runs != 1 {
		f.Errorf("%v after %d runs", err, runs)
	}
}

// Every caller claims and then books, four times as many at once as there are connections. A claim that waited for
// a connection of a business transaction, which waits for a claim, would hang until the deadline.
func morePeopleThanChairs(f *fixture) {
	callers := 4 * f.store.Pools().Main.Stats().MaxOpenConnections
	g := f.gate("till-a", longLease)
	ctx, cancel := context.WithTimeout(f.Context(), 30*time.Second)
	defer cancel()
	together(max(callers, 16), func(i int) {
		c := f.claim(f.key("chair" + strconv.Itoa(i)))
		t, err := g.Acquire(ctx, c)
		if err != nil || t.Verdict != gate.First {
			f.Errorf("caller %d: %s, %v", i, t.Verdict, err)
			return
		}
		err = f.store.Do(ctx, func(ctx context.Context, tx *store.Tx) error {
			if err := g.Finish(ctx, tx, t, "booked"); err != nil {
				return err
			}
			_, err := ledger.Post(ctx, tx, f.booking(c.Key, 1))
			return err
		})
		if err != nil {
			f.Errorf("caller %d: %v", i, err)
		}
	})
}
