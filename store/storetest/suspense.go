package storetest

import (
	"context"
	"strconv"
	"time"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/store"
)

func suspenseClauses() []clause {
	return []clause{
		{"money in suspense is listed until all of it has left", suspenseIsListed},
		{"of two changes of one record at once one is refused", suspenseIsVersioned},
		{"what people did is kept with the event", actionsAreKept},
		{"a second witness is a query or a bill with the same digest", secondWitness},
		{"the money at risk adds up per reason", riskAddsUp},
	}
}

func (f *fixture) do(fn func(ctx context.Context, tx *store.Tx) error) error {
	return f.store.Do(f.Context(), fn)
}

func (f *fixture) suspend(no string, minor int64) {
	f.Helper()
	f.must(f.do(func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertSuspense(ctx, store.Suspense{Tenant: f.tenant, Channel: "WECHAT", TradeNo: no, Account: "shop",
			OrderNo: "ORD-1", Cause: string(f.key(no)), Reason: "overpaid", Amount: cny(minor), Left: cny(minor)})
	}))
}

func (f *fixture) suspended(no string) store.Suspense {
	f.Helper()
	var s store.Suspense
	f.must(f.do(func(ctx context.Context, tx *store.Tx) (err error) {
		s, _, err = tx.Suspense(ctx, f.tenant, "WECHAT", no)
		return err
	}))
	return s
}

func suspenseIsListed(f *fixture) {
	f.suspend("1", 700)
	tick()
	f.suspend("2", 300)
	list, err := f.store.SuspenseList(f.Context(), f.tenant, false)
	f.must(err)
	if len(list) != 2 || list[0].TradeNo != "1" || list[0].Left != cny(700) || list[0].Reason != "overpaid" ||
		list[0].SinceUs == 0 || list[0].AgeUs < 0 {
		f.Fatalf("%+v", list)
	}
	s := list[0]
	s.Tenant, s.Left, s.Moved, s.MovedTo = f.tenant, cny(0), cny(700), "liability:merchant:s1"
	f.must(f.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateSuspense(ctx, s) }))
	open, err := f.store.SuspenseList(f.Context(), f.tenant, false)
	f.must(err)
	all, err := f.store.SuspenseList(f.Context(), f.tenant, true)
	f.must(err)
	if len(open) != 1 || len(all) != 2 || all[0].MovedTo != s.MovedTo || all[0].Moved != cny(700) {
		f.Errorf("open %+v, all %+v", open, all)
	}
}

func suspenseIsVersioned(f *fixture) {
	f.suspend("1", 700)
	stale := f.suspended("1")
	fresh := stale
	fresh.Left = cny(1)
	f.must(f.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateSuspense(ctx, fresh) }))
	err := f.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateSuspense(ctx, stale) })
	f.wantError(err, store.ErrConflict)
	if f.suspended("1").Left != cny(1) {
		f.Error("the stale change was written")
	}
}

func actionsAreKept(f *fixture) {
	g, c := f.gate("till-a", longLease), f.claim(f.key("acted"))
	f.acquire(g, c, gate.First)
	for _, what := range []string{"retry", "reject"} {
		f.must(f.do(func(ctx context.Context, tx *store.Tx) error {
			return tx.InsertAction(ctx, f.tenant, c.Key, store.Action{What: what, Actor: "李", Why: "客户来电 📞", Detail: "x"})
		}))
		tick()
	}
	line, err := f.store.Timeline(f.Context(), f.tenant, c.Key)
	f.must(err)
	if len(line.Actions) != 2 || line.Actions[0].What != "retry" || line.Actions[1].Why != "客户来电 📞" ||
		line.Actions[0].Actor != "李" || line.Actions[0].AtUs == 0 {
		f.Errorf("%+v", line.Actions)
	}
}

func secondWitness(f *fixture) {
	c := f.claim(f.key("witness"))
	f.acquire(f.gate("till-a", longLease), c, gate.First)
	confirmed := func() (ok bool) {
		f.must(f.do(func(ctx context.Context, tx *store.Tx) (err error) {
			ok, err = tx.Confirmed(ctx, f.tenant, c.Key, c.Digest)
			return err
		}))
		return ok
	}
	for range 100 {
		f.must(f.store.Note(f.Context(), c, gate.Busy, "till-a"))
	}
	other := c
	other.Raw.Source, other.Digest = "query", "v1:other"
	f.must(f.store.Note(f.Context(), other, gate.Mismatch, "till-a"))
	if confirmed() {
		f.Error("repeats, or another amount, are taken for a second witness")
	}
	c.Raw.Source = "query"
	f.must(f.store.Note(f.Context(), c, gate.Busy, "till-a"))
	if !confirmed() {
		f.Error("the answer to a question is no second witness")
	}
}

func riskAddsUp(f *fixture) {
	g := f.gate("till-a", longLease)
	for i, reason := range []string{"waiting_order", "waiting_order", "failed"} {
		c := f.claim(f.key("risk" + strconv.Itoa(i)))
		c.Amount = cny(int64(100 * (i + 1)))
		f.must(f.park(g, f.acquire(g, c, gate.First), gate.Parking{Reason: reason, Delay: time.Hour}))
	}
	f.suspend("1", 700)
	f.order("ORD-9")
	tick()
	risk, err := f.store.Risk(f.Context(), f.tenant, 0)
	f.must(err)
	sums := map[string]int64{}
	for _, s := range risk.Unbooked {
		sums[s.Reason] = s.Minor*10 + s.Count
	}
	if len(sums) != 2 || sums["waiting_order"] != 3002 || sums["failed"] != 3001 {
		f.Errorf("unbooked %+v", risk.Unbooked)
	}
	if len(risk.Suspense) != 1 || risk.Suspense[0].Minor != 700 || len(risk.Overdue) != 1 || risk.Overdue[0].Count != 1 ||
		risk.Overdue[0].Reason != "not asked" {
		f.Errorf("suspense %+v, overdue %+v", risk.Suspense, risk.Overdue)
	}
	all, err := f.store.Risk(f.Context(), 0, 0)
	if err != nil || len(all.Suspense) < len(risk.Suspense) || len(all.Unbooked) < len(risk.Unbooked) {
		f.Errorf("of all tenants: %+v, %v", all, err)
	}
}
