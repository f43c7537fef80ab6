package storetest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/store"
)

func claimClauses() []clause {
	return []clause{
		{"of many claims at once exactly one is first", oneIsFirst},
		{"of many simple claims at once exactly one is true", oneIsTrue},
		{"a claim is durable with its event and raw delivery", claimIsInbox},
		{"a finished event is done for ever", finishedIsDone},
		{"another digest is a mismatch and its report is kept", mismatchIsKept},
		{"the host's claim is done for everybody else", hostClaim},
		{"a lost answer is found again by its owner", lostAnswer},
		{"a rolled back booking does not release the claim", rollbackKeepsClaim},
		{"a claim inside a business transaction is refused", insideTransaction},
		{"a key that nobody claimed is not there", nobodysKey},
		{"the true report replaces the other under the fence", replaceEvent},
	}
}

const rivals = 64

func oneIsFirst(f *fixture) {
	gates := []*gate.Gate{f.gate("till-a", longLease), f.gate("till-b", longLease)}
	var first, busy atomic.Int64
	together(rivals, func(i int) {
		t, err := gates[i%2].Acquire(f.Context(), f.claim(f.key("once")))
		switch {
		case err != nil:
			f.Error(err)
		case t.Verdict == gate.First:
			first.Add(1)
		case t.Verdict == gate.Busy:
			busy.Add(1)
		}
	})
	if first.Load() != 1 || busy.Load() != rivals-1 {
		f.Errorf("%d first, %d busy of %d", first.Load(), busy.Load(), rivals)
	}
}

func oneIsTrue(f *fixture) {
	g := f.gate("till-a", longLease)
	var won atomic.Int64
	together(rivals, func(int) {
		mine, err := g.TryAcquire(f.Context(), f.tenant, f.key("once"))
		if err != nil {
			f.Error(err)
		}
		if mine {
			won.Add(1)
		}
	})
	if won.Load() != 1 {
		f.Errorf("%d of %d hold the key", won.Load(), rivals)
	}
}

func claimIsInbox(f *fixture) {
	c := f.claim(f.key("inbox"))
	t := f.acquire(f.gate("till-a", longLease), c, gate.First)
	row := f.row(c.Key)
	if string(row.Event) != string(c.Event) || row.Digest != c.Digest || row.State != gate.Open || row.LeaseOver ||
		row.OrderNo != c.OrderNo || row.Owner != t.Owner || row.Fence != t.Fence || row.Attempts != 1 ||
		row.Instance != "till-a" || row.CreatedUs <= 0 || row.HandledUs != 0 {
		f.Errorf("stored as %+v", row)
	}
	line, err := f.store.Timeline(f.Context(), f.tenant, c.Key)
	f.must(err)
	if len(line.Deliveries) != 1 || string(line.Deliveries[0].Body) != string(c.Raw.Body) ||
		string(line.Deliveries[0].Header) != string(c.Raw.Header) || line.Deliveries[0].Source != "notify" {
		f.Errorf("deliveries %+v", line.Deliveries)
	}
}

func finishedIsDone(f *fixture) {
	g, c := f.gate("till-a", longLease), f.claim(f.key("done"))
	f.must(f.finish(g, f.acquire(g, c, gate.First)))
	f.acquire(g, c, gate.Done)
	f.acquire(f.gate("till-b", shortLease), c, gate.Done)
	row := f.row(c.Key)
	if row.State != gate.Finished || row.Outcome != "booked" || row.HandledUs < row.CreatedUs || row.Event != nil {
		f.Errorf("finished as %+v", row)
	}
	if won, err := g.TryAcquire(f.Context(), f.tenant, c.Key); won || err != nil {
		f.Errorf("the host got a booked event: %v, %v", won, err)
	}
}

func mismatchIsKept(f *fixture) {
	g, c := f.gate("till-a", longLease), f.claim(f.key("other"))
	t := f.acquire(g, c, gate.First)
	tick()
	other := c
	other.Digest, other.Event, other.Raw.Body = "v1:other", []byte(`{"report":2}`), []byte("another body")
	f.acquire(g, other, gate.Mismatch)
	f.must(f.finish(g, t))
	f.acquire(g, other, gate.Mismatch)
	if row := f.row(c.Key); row.Digest != c.Digest {
		f.Errorf("the deviating report changed the claim: %+v", row)
	}
	variants, err := f.store.Variants(f.Context(), f.tenant, c.Key)
	f.must(err)
	if len(variants) != 2 || string(variants[0]) != string(other.Event) {
		f.Errorf("variants %q", variants)
	}
	line, err := f.store.Timeline(f.Context(), f.tenant, c.Key)
	f.must(err)
	if len(line.Deliveries) != 3 || string(line.Deliveries[1].Body) != "another body" ||
		line.Deliveries[1].Verdict != string(gate.Mismatch) || line.Deliveries[1].Digest != "v1:other" {
		f.Errorf("deliveries %+v", line.Deliveries)
	}
}

func hostClaim(f *fixture) {
	g, key := f.gate("till-a", shortLease), f.key("host")
	won, err := g.TryAcquire(f.Context(), f.tenant, key)
	if !won || err != nil {
		f.Fatalf("TryAcquire = %v, %v", won, err)
	}
	f.leaseOver(key)
	f.acquire(g, f.claim(key), gate.Done)
	due, err := g.Due(f.Context(), 100)
	f.must(err)
	for _, row := range due {
		if row.Tenant == f.tenant {
			f.Errorf("the host's claim is driven on: %+v", row)
		}
	}
}

// The same call asks again with the same owner token: its own row is its own, anybody else's is not.
func lostAnswer(f *fixture) {
	c := f.claim(f.key("lost"))
	seat := gate.Seat{Owner: "me", Instance: "till-a", Lease: longLease}
	for range 3 {
		if row, won, err := f.store.Insert(f.Context(), c, seat); !won || err != nil || row.Fence != 1 {
			f.Fatalf("my own insert: %v, %v, %+v", won, err, row)
		}
	}
	seat.Owner = "somebody else"
	row, won, err := f.store.Insert(f.Context(), c, seat)
	if won || err != nil || row.Owner != "me" {
		f.Fatalf("somebody else's insert: %v, %v, %+v", won, err, row)
	}
	if line, err := f.store.Timeline(f.Context(), f.tenant, c.Key); err != nil || len(line.Deliveries) != 1 {
		f.Errorf("asking again left %d deliveries, %v", len(line.Deliveries), err)
	}
}

func rollbackKeepsClaim(f *fixture) {
	g, c := f.gate("till-a", longLease), f.claim(f.key("rollback"))
	t := f.acquire(g, c, gate.First)
	broken := errors.New("the business said no")
	err := f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) error {
		if err := g.Finish(ctx, tx, t, "booked"); err != nil {
			return err
		}
		return broken
	})
	f.wantError(err, broken)
	f.acquire(f.gate("till-b", longLease), c, gate.Busy)
	if row := f.row(c.Key); row.State != gate.Open || string(row.Event) != string(c.Event) {
		f.Errorf("after the rollback: %+v", row)
	}
	f.must(f.finish(g, t))
}

func insideTransaction(f *fixture) {
	g, c := f.gate("till-a", longLease), f.claim(f.key("inside"))
	err := f.store.Do(f.Context(), func(ctx context.Context, _ *store.Tx) error {
		if _, err := g.TryAcquire(ctx, f.tenant, c.Key); !errors.Is(err, gate.ErrInsideTx) {
			f.Errorf("TryAcquire: %v", err)
		}
		if _, err := g.Resume(ctx, gate.Row{Tenant: f.tenant, Key: c.Key}); !errors.Is(err, gate.ErrInsideTx) {
			f.Errorf("Resume: %v", err)
		}
		_, err := g.Acquire(ctx, c)
		return err
	})
	f.wantError(err, gate.ErrInsideTx)
	nobodyHas(f, c.Key)
}

func nobodysKey(f *fixture) { nobodyHas(f, f.key("nobody")) }

func nobodyHas(f *fixture, key gate.Key) {
	f.Helper()
	row, err := f.store.Lookup(f.Context(), f.tenant, key)
	if !errors.Is(err, gate.ErrNoClaim) {
		f.Errorf("%s is claimed: %+v, %v", key, row, err)
	}
}

func replaceEvent(f *fixture) {
	g, c := f.gate("till-a", longLease), f.claim(f.key("replace"))
	t := f.acquire(g, c, gate.First)
	other := gate.Claim{Digest: "v1:true", Event: []byte(`{"report":2}`), OrderNo: "ORD-2"}
	replace := func(t gate.Ticket) error {
		return f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) error { return g.Replace(ctx, tx, t, other) })
	}
	stale := t
	stale.Fence++
	f.wantError(replace(stale), gate.ErrFenced)
	f.must(replace(t))
	row := f.row(c.Key)
	if row.Digest != other.Digest || string(row.Event) != string(other.Event) || row.OrderNo != other.OrderNo {
		f.Errorf("replaced: %+v", row)
	}
	f.must(f.finish(g, t))
	other.Digest = "v1:late"
	f.wantError(replace(t), gate.ErrFenced)
}
