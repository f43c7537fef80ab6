package storetest

import (
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/paidonce/paidonce/gate"
)

func leaseClauses() []clause {
	return []clause{
		{"a repeat is busy while somebody works and resumes when the lease is over", busyThenResume},
		{"a stalled holder can neither finish nor park after a takeover", stalledHolder},
		{"of many who take over exactly one holds the claim", oneTakesOver},
		{"taking again with the same owner is not a second take", takeAgain},
		{"a lease that ends further ahead than any may is over", jumpedClock},
		{"parking gives the claim back with its reason", parking},
		{"taking counts a failure in advance, and parking says how many there are", failuresAreCounted},
		{"a finished claim is not taken", takeFinished},
		{"what is due is listed for every tenant, bounded and oldest first", dueIsFair},
	}
}

func busyThenResume(f *fixture) {
	g, c := f.gate("till-a", shortLease), f.claim(f.key("lease"))
	patient := f.gate("till-b", longLease)
	first := f.acquire(g, c, gate.First)
	f.leaseOver(c.Key)
	second := f.acquire(patient, c, gate.Resume)
	if second.Fence <= first.Fence || second.Attempts != 2 || string(second.Event) != string(c.Event) ||
		second.Owner == first.Owner {
		f.Errorf("resumed as %+v after %+v", second, first)
	}
	f.acquire(g, c, gate.Busy)
	f.must(f.finish(patient, second))
	f.acquire(g, c, gate.Done)
}

func stalledHolder(f *fixture) {
	g, c := f.gate("till-a", shortLease), f.claim(f.key("stalled"))
	stalled := f.acquire(g, c, gate.First)
	f.leaseOver(c.Key)
	taken := f.acquire(f.gate("till-b", longLease), c, gate.Resume)
	f.wantError(f.finish(g, stalled), gate.ErrFenced)
	f.wantError(f.park(g, stalled, gate.Parking{Reason: "late"}), gate.ErrFenced)
	if row := f.row(c.Key); row.State != gate.Open || row.Owner != taken.Owner || row.Reason != "" {
		f.Errorf("the stalled holder left %+v", row)
	}
	f.must(f.finish(g, taken))
	f.wantError(f.finish(g, stalled), gate.ErrFenced)
	f.wantError(f.finish(g, taken), gate.ErrFenced)
	f.wantError(f.park(g, taken, gate.Parking{Reason: "late"}), gate.ErrFenced)
}

func oneTakesOver(f *fixture) {
	c := f.claim(f.key("takeover"))
	f.acquire(f.gate("till-a", shortLease), c, gate.First)
	seen := f.leaseOver(c.Key)
	g := f.gate("till-b", longLease)
	var held atomic.Int64
	together(16, func(int) {
		t, err := g.Resume(f.Context(), seen)
		if err != nil {
			f.Error(err)
		}
		if t.Held() {
			held.Add(1)
		}
	})
	if row := f.row(c.Key); held.Load() != 1 || row.Attempts != 2 {
		f.Errorf("%d hold the claim, %d attempts", held.Load(), row.Attempts)
	}
}

func takeAgain(f *fixture) {
	c := f.claim(f.key("again"))
	f.acquire(f.gate("till-a", shortLease), c, gate.First)
	seen := f.leaseOver(c.Key)
	seat := gate.Seat{Owner: "me", Instance: "till-b", Lease: longLease}
	for range 2 {
		row, ok, err := f.store.Take(f.Context(), seen, seat)
		if !ok || err != nil || row.Fence != seen.Fence+1 || row.Attempts != 2 {
			f.Errorf("Take = %+v, %v, %v", row, ok, err)
		}
	}
	seat.Owner = "somebody else"
	if row, ok, err := f.store.Take(f.Context(), seen, seat); ok || err != nil || row.Owner != "me" {
		f.Errorf("somebody else's Take = %+v, %v, %v", row, ok, err)
	}
}

func jumpedClock(f *fixture) {
	g, c := f.gate("till-a", longLease), f.claim(f.key("jumped"))
	f.acquire(g, c, gate.First)
	if f.row(c.Key).LeaseOver {
		f.Fatal("a lease of a minute is over at once")
	}
	f.exec("UPDATE channel_idempotent SET lease_until_us = lease_until_us + 2 * 3600000000 WHERE tenant_id = " +
		strconv.FormatInt(f.tenant, 10))
	f.acquire(g, c, gate.Resume)
}

func parking(f *fixture) {
	g, c := f.gate("till-a", longLease), f.claim(f.key("parked"))
	t := f.acquire(g, c, gate.First)
	f.must(f.park(g, t, gate.Parking{Reason: "waiting_order", Detail: "没有订单 🧾", Delay: time.Hour}))
	row := f.row(c.Key)
	if row.State != gate.Open || !row.LeaseOver || row.Reason != "waiting_order" || row.Detail != "没有订单 🧾" ||
		row.Attempts != 1 || string(row.Event) != string(c.Event) {
		f.Errorf("parked as %+v", row)
	}
	f.wantError(f.finish(g, t), gate.ErrFenced)
	f.wantError(f.park(g, t, gate.Parking{Reason: "twice"}), gate.ErrFenced)
	if slices.ContainsFunc(f.due(1000), func(r gate.Row) bool { return r.Key == c.Key }) {
		f.Error("due an hour early")
	}
	f.must(f.finish(g, f.acquire(g, c, gate.Resume)))
}

func failuresAreCounted(f *fixture) {
	g, c := f.gate("till-a", longLease), f.claim(f.key("failures"))
	t := f.acquire(g, c, gate.First)
	for i, say := range []int{t.Failures, 5, 0} {
		f.must(f.park(g, t, gate.Parking{Reason: "failed", Failures: say}))
		if row := f.row(c.Key); row.Failures != say || row.Attempts != i+1 || row.LateUs < 0 {
			f.Errorf("parked as %+v, want %d failures", row, say)
		}
		if t = f.acquire(g, c, gate.Resume); t.Failures != say+1 || t.Attempts != i+2 {
			f.Errorf("taken as %+v after %d failures", t, say)
		}
	}
}

func takeFinished(f *fixture) {
	g, c := f.gate("till-a", longLease), f.claim(f.key("finished"))
	f.must(f.finish(g, f.acquire(g, c, gate.First)))
	if t, err := g.Resume(f.Context(), f.row(c.Key)); err != nil || t.Verdict != gate.Done {
		f.Errorf("Resume = %s, %v", t.Verdict, err)
	}
	_, err := g.Resume(f.Context(), gate.Row{Tenant: f.tenant, Key: f.key("nobody"), Fence: 1})
	if !errors.Is(err, gate.ErrNoClaim) || !errors.Is(err, gate.ErrUndecided) {
		f.Errorf("Resume of a key that nobody claimed: %v", err)
	}
}

// due lists this clause's own due claims.
func (f *fixture) due(perTenant int) []gate.Row {
	f.Helper()
	due, err := f.store.Due(f.Context(), perTenant)
	f.must(err)
	return slices.DeleteFunc(due, func(r gate.Row) bool { return r.Tenant != f.tenant && r.Tenant != f.tenant+1000 })
}

func dueIsFair(f *fixture) {
	const backlog, perTenant = 20, 7
	g := f.gate("till-a", longLease)
	parked := func(tenant int64, no string) gate.Key {
		c := f.claim(f.key(no))
		c.Tenant = tenant
		f.must(f.park(g, f.acquire(g, c, gate.First), gate.Parking{Reason: "failed"}))
		return c.Key
	}
	var keys []gate.Key
	for i := range backlog {
		keys = append(keys, parked(f.tenant, "due"+strconv.Itoa(i)))
		tick()
	}
	small := parked(f.tenant+1000, "small")
	var big []gate.Key
	seenSmall := false
	for _, row := range f.due(perTenant) {
		if row.Tenant == f.tenant {
			big = append(big, row.Key)
		} else {
			seenSmall = row.Key == small
		}
		if string(row.Event) == "" || !row.LeaseOver || row.Reason != "failed" {
			f.Errorf("listed as %+v", row)
		}
	}
	if !slices.Equal(big, keys[:perTenant]) || !seenSmall {
		f.Errorf("due are %q (small tenant: %v), want the oldest %q", big, seenSmall, keys[:perTenant])
	}
	f.must(f.finish(g, f.acquire(g, gate.Claim{Tenant: f.tenant, Key: keys[0], Digest: "v1:first",
		Event: []byte("{}")}, gate.Resume)))
	if due := f.due(perTenant); due[0].Key != keys[1] {
		f.Errorf("%s is due after %s was finished", due[0].Key, keys[0])
	}
}
