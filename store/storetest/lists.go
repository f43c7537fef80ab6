package storetest

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/store"
)

func listClauses() []clause {
	return []clause{
		{"repeats are kept as evidence, but not without end", notesAreBounded},
		{"what is unfinished is listed by reason, page by page", unfinishedPages},
		{"the timeline tells the life of an event", timeline},
		{"a header that is not JSON cannot break a timeline", badHeader},
		{"tenants with work and books are listed", tenantsListed},
	}
}

func notesAreBounded(f *fixture) {
	c := f.claim(f.key("notes"))
	f.acquire(f.gate("till-a", longLease), c, gate.First)
	deliveries := func() int64 {
		return f.count("SELECT COUNT(*) FROM channel_delivery WHERE tenant_id = " + strconv.FormatInt(f.tenant, 10))
	}
	const tries = 300
	for range tries {
		f.must(f.store.Note(f.Context(), c, gate.Busy, "till-a"))
	}
	repeats := deliveries()
	if repeats < 10 || repeats > 100 {
		f.Errorf("%d repeats left %d deliveries", tries, repeats)
	}
	c.Digest = "v1:other"
	f.must(f.store.Note(f.Context(), c, gate.Mismatch, "till-a"))
	if deliveries() != repeats+1 {
		f.Error("a deviating report was dropped because of repeats")
	}
	for range tries {
		f.must(f.store.Note(f.Context(), c, gate.Mismatch, "till-a"))
	}
	if n := deliveries(); n > tries {
		f.Errorf("%d deliveries: deviating reports are kept without end", n)
	}
}

func unfinishedPages(f *fixture) {
	g := f.gate("till-a", longLease)
	for i, reason := range []string{"waiting_order", "amount_mismatch", "waiting_order", "waiting_order"} {
		t := f.acquire(g, f.claim(f.key("u"+strconv.Itoa(i))), gate.First)
		f.must(f.park(g, t, gate.Parking{Reason: reason, Detail: reason, Delay: time.Hour}))
	}
	f.must(f.finish(g, f.acquire(g, f.claim(f.key("u9")), gate.First)))
	list := func(reason string) (keys []gate.Key) {
		after := ""
		for {
			page, err := f.store.Unfinished(f.Context(), f.tenant, reason, after, 2)
			f.must(err)
			if len(page) == 0 {
				return keys
			}
			for _, row := range page {
				keys = append(keys, row.Key)
				after = string(row.Key)
			}
		}
	}
	if got, want := list("waiting_order"), []gate.Key{f.key("u0"), f.key("u2"), f.key("u3")}; !slices.Equal(got, want) {
		f.Errorf("waiting for an order: %q", got)
	}
	if got, want := list(""), []gate.Key{f.key("u0"), f.key("u1"), f.key("u2"), f.key("u3")}; !slices.Equal(got, want) {
		f.Errorf("unfinished: %q", got)
	}
}

func timeline(f *fixture) {
	g, c := f.gate("till-a", longLease), f.claim(f.key("life"))
	first := f.acquire(g, c, gate.First)
	tick()
	f.acquire(g, c, gate.Busy)
	tick()
	f.must(f.park(g, first, gate.Parking{Reason: "waiting_order", Detail: "no order yet"}))
	second := f.acquire(f.gate("till-b", longLease), c, gate.Resume)
	f.must(f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) error {
		if err := g.Finish(ctx, tx, second, "booked"); err != nil {
			return err
		}
		_, err := ledger.Post(ctx, tx, f.booking(c.Key, 100))
		return err
	}))
	line, err := f.store.Timeline(f.Context(), f.tenant, c.Key)
	f.must(err)
	var verdicts, steps []string
	for _, d := range line.Deliveries {
		verdicts = append(verdicts, d.Verdict)
	}
	for _, s := range line.Steps {
		steps = append(steps, s.What+" by "+s.Instance)
	}
	if want := []string{"first", "busy", "resume"}; !slices.Equal(verdicts, want) {
		f.Errorf("deliveries %q, want %q", verdicts, want)
	}
	if want := []string{"parked by till-a", "taken by till-b"}; !slices.Equal(steps, want) {
		f.Errorf("steps %q, want %q", steps, want)
	}
	if line.Claim.State != gate.Finished || len(line.Bookings) != 1 {
		f.Errorf("claim %+v, bookings %+v", line.Claim, line.Bookings)
	}
	_, err = f.store.Timeline(f.Context(), f.tenant, f.key("nobody"))
	f.wantError(err, gate.ErrNoClaim)
}

func badHeader(f *fixture) {
	c := f.claim(f.key("header"))
	c.Raw.Header = []byte("\xff not JSON")
	f.acquire(f.gate("till-a", longLease), c, gate.First)
	line, err := f.store.Timeline(f.Context(), f.tenant, c.Key)
	f.must(err)
	if _, err := json.Marshal(line.Deliveries); err != nil {
		f.Error(err)
	}
}

func tenantsListed(f *fixture) {
	if posted, err := f.book(f.booking(f.key("tenant"), 1)); !posted || err != nil {
		f.Fatalf("%v, %v", posted, err)
	}
	pending, err := f.store.PendingTenants(f.Context())
	f.must(err)
	f.sealAll()
	after, err := f.store.PendingTenants(f.Context())
	f.must(err)
	books, err := f.store.LedgerTenants(f.Context())
	f.must(err)
	if !slices.Contains(pending, f.tenant) || slices.Contains(after, f.tenant) || !slices.Contains(books, f.tenant) {
		f.Errorf("pending %v, then %v, books %v", pending, after, books)
	}
}
