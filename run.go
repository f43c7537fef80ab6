package paidonce

import (
	"context"
	"sync"
	"time"

	"github.com/paidonce/paidonce/ledger"
)

// LedgerHead is the end of a tenant's chain of seals.
type LedgerHead = ledger.Head

// The bounds of one reading of background work.
const (
	duePerTenant = 64
	sealBatch    = 200
	sealTurns    = 8
)

// Run does the background work of one instance until ctx ends: it drives unfinished events on, asks the
// channels about open orders and seals the journal.
// It returns when what it had begun is finished. Any number of instances may run at once.
func (h *House) Run(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() { h.redriveLoop(ctx) })
	group.Go(func() { h.sealLoop(ctx) })
	group.Go(func() { h.askLoop(ctx) })
	group.Wait()
}

func (h *House) sealLoop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		h.Seal(ctx)
		timer.Reset(h.opt.Poll)
	}
}

// Seal adds fresh bookings to the balances and the chains of digests, a few batches per tenant.
func (h *House) Seal(ctx context.Context) {
	tenants, err := h.store.PendingTenants(ctx)
	if err != nil {
		if ctx.Err() == nil {
			h.log.WarnContext(ctx, "cannot list bookings to seal", "err", err)
		}
		return
	}
	for _, tenant := range tenants {
		if ctx.Err() != nil {
			return
		}
		h.sealTenant(ctx, tenant)
	}
}

// sealTenant seals at most sealTurns batches, so that a long backlog of one tenant lets the others in between.
func (h *House) sealTenant(ctx context.Context, tenant int64) {
	for range sealTurns {
		head, sealed, err := h.store.Seal(ctx, tenant, sealBatch)
		if err != nil {
			h.log.WarnContext(ctx, "cannot seal the journal, will be tried again", "tenant", tenant, "err", err)
		}
		if err != nil || !sealed || ctx.Err() != nil {
			return
		}
		if h.opt.OnHead != nil {
			h.opt.OnHead(head)
		}
	}
}
