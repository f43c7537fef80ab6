package storetest

import (
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/store"
)

func indexClauses() []clause {
	return []clause{{"a duplicate on another index is an error, never \"taken\"", otherIndex}}
}

// Somebody adds a second unique index to the claims. A new key that collides on it alone is a new event that cannot be
// stored: to call it taken would swallow the money.
func otherIndex(f *fixture) {
	f.exec("CREATE UNIQUE INDEX stranger ON channel_idempotent (tenant_id, instance)")
	g := f.gate("till-a", longLease)
	known := f.claim(f.key("known"))
	t := f.acquire(g, known, gate.First)

	fresh := f.claim(f.key("fresh"))
	_, err := g.Acquire(f.Context(), fresh)
	f.wantError(err, store.ErrOtherIndex)
	f.wantError(err, gate.ErrUndecided)
	won, err := g.TryAcquire(f.Context(), f.tenant, fresh.Key)
	f.wantError(err, store.ErrOtherIndex)
	if won {
		f.Error("won without a row")
	}
	nobodyHas(f, fresh.Key)
	if n := f.count("SELECT COUNT(*) FROM claim_work") + f.count("SELECT COUNT(*) FROM channel_delivery"); n != 2 {
		f.Errorf("the refused claim left %d rows of work and deliveries instead of the known claim's 2", n)
	}

	// Both indexes collide: whichever the engine names, the key is there, so it is a repeat.
	f.acquire(g, known, gate.Busy)
	f.must(f.finish(g, t))
	f.acquire(g, known, gate.Done)

	f.exec(dropIndex(f.store.Engine()))
	f.acquire(g, fresh, gate.First)
}

func dropIndex(engine string) string {
	if engine == "mysql" {
		return "DROP INDEX stranger ON channel_idempotent"
	}
	return "DROP INDEX stranger"
}
