package paidonce

import (
	"context"
	"time"

	"github.com/paidonce/paidonce/ledger"
)

// LedgerHead is the end of a tenant's chain of seals.
type LedgerHead = ledger.Head

// The bounds of one round of background work.
const (
	duePerTenant = 32
	sealBatch    = 200
)

// Run does the background work of one instance until ctx ends: it drives unfinished events on and seals the journal.
// It returns when what it had begun is finished. Any number of instances may run at once.
func (h *House) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-h.nudge:
		}
		finished, err := h.Redrive(ctx, duePerTenant)
		if err != nil && ctx.Err() == nil {
			h.log.WarnContext(ctx, "background work could not reach the database", "err", err)
		}
		if err == nil {
			h.Seal(ctx)
		}
		pause := h.opt.Poll
		if finished > 0 {
			pause = 0 // there may be more
		}
		timer.Reset(pause)
	}
}

// Seal adds fresh bookings to the balances and the chains of digests, one batch per tenant.
func (h *House) Seal(ctx context.Context) {
	tenants, err := h.store.PendingTenants(ctx)
	if err != nil {
		h.log.WarnContext(ctx, "cannot list bookings to seal", "err", err)
		return
	}
	for _, tenant := range tenants {
		if ctx.Err() != nil {
			return
		}
		head, sealed, err := h.store.Seal(ctx, tenant, sealBatch)
		switch {
		case err != nil:
			h.log.WarnContext(ctx, "cannot seal the journal, will be tried again", "tenant", tenant, "err", err)
		case sealed && h.opt.OnHead != nil:
			h.opt.OnHead(head)
		}
	}
}
