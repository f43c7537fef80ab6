package storetest

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

func queryClauses() []clause {
	return []clause{
		{"a new order is on the list of questions until it ends", orderIsAskedAbout},
		{"of many who take a question exactly one puts it", oneAsks},
		{"an order is not due again before its pause", pauseHolds},
		{"open orders are listed page by page with what asking brought", openPages},
		{"a due time behind the mark is found by a scan from the beginning", markIsNoWall},
	}
}

// scopeOf finds this clause's own scope.
func (f *fixture) scopeOf(after time.Duration) (found []store.QueryScope) {
	f.Helper()
	scopes, err := f.store.QueryScopes(f.Context(), after)
	f.must(err)
	for _, s := range scopes {
		if s.Tenant == f.tenant {
			found = append(found, s)
		}
	}
	return found
}

func (f *fixture) questions() []store.Query {
	f.Helper()
	var all []store.Query
	for _, scope := range f.scopeOf(0) {
		due, err := f.store.DueQueries(f.Context(), scope, 0, 100)
		f.must(err)
		all = append(all, due...)
	}
	return all
}

func orderIsAskedAbout(f *fixture) {
	o := f.order("ORD-1")
	if scopes := f.scopeOf(time.Hour); len(scopes) != 0 {
		f.Errorf("asked about at once: %+v", scopes)
	}
	due := f.questions()
	if len(due) != 1 || due[0].OrderNo != "ORD-1" || due[0].Order.State != order.Open || due[0].Tries != 0 ||
		due[0].Age < 0 || due[0].Order.Amount != o.Amount {
		f.Fatalf("due: %+v", due)
	}
	o.State = order.Paid
	f.must(f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.UpdateOrder(ctx, o) }))
	if due = f.questions(); len(due) != 1 || due[0].Order.State != order.Paid {
		f.Fatalf("the row of a paid order: %+v", due)
	}
	f.must(f.store.EndQueries(f.Context(), due))
	if due = f.questions(); len(due) != 0 {
		f.Errorf("still asked about: %+v", due)
	}
}

func oneAsks(f *fixture) {
	f.order("ORD-1")
	due := f.questions()
	var taken atomic.Int64
	together(16, func(int) {
		ok, err := f.store.TakeQuery(f.Context(), due[0], time.Hour)
		if err != nil {
			f.Error(err)
		}
		if ok {
			taken.Add(1)
		}
	})
	if taken.Load() != 1 {
		f.Errorf("%d put the question", taken.Load())
	}
}

func pauseHolds(f *fixture) {
	f.order("ORD-1")
	due := f.questions()
	if ok, err := f.store.TakeQuery(f.Context(), due[0], 150*time.Millisecond); !ok || err != nil {
		f.Fatal(ok, err)
	}
	f.must(f.store.NoteAnswer(f.Context(), due[0], "没有回答 🕰"))
	if again := f.questions(); len(again) != 0 {
		f.Errorf("due again at once: %+v", again)
	}
	for range 200 {
		if again := f.questions(); len(again) == 1 {
			if again[0].Tries != 1 || again[0].Answer != "没有回答 🕰" || again[0].AskedUs == 0 {
				f.Errorf("%+v", again[0])
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.Error("never due again")
}

func openPages(f *fixture) {
	for i := range 5 {
		f.order("ORD-" + strconv.Itoa(i))
	}
	var seen []string
	after := ""
	for {
		page, err := f.store.OpenQueries(f.Context(), f.tenant, 0, after, 2)
		f.must(err)
		for _, q := range page {
			seen = append(seen, q.OrderNo)
		}
		if len(page) < 2 {
			break
		}
		after = page[len(page)-1].OrderNo
	}
	if len(seen) != 5 || seen[0] != "ORD-0" || seen[4] != "ORD-4" {
		f.Errorf("listed %q", seen)
	}
	if old, err := f.store.OpenQueries(f.Context(), f.tenant, time.Hour, "", 10); err != nil || len(old) != 0 {
		f.Errorf("older than an hour: %+v, %v", old, err)
	}
}

// A row whose due time lies further back than any should, as after a restored backup, is found in the end.
func markIsNoWall(f *fixture) {
	f.order("ORD-1")
	f.questions()
	f.exec("UPDATE order_query SET due_us = 1 WHERE tenant_id = " + strconv.FormatInt(f.tenant, 10))
	for range 700 {
		if len(f.scopeOf(0)) == 1 {
			return
		}
	}
	f.Error("behind the mark, and never found")
}
