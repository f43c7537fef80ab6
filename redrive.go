package paidonce

import (
	"context"
	"fmt"
	"time"

	"github.com/paidonce/paidonce/gate"
)

// suspectAfter is how many technical failures in a row make an event one that may be poisoned. Suspects share a small
// part of the workers, so that whatever is slow or deadly about them delays nobody else.
const suspectAfter = 3

// claimID names a claim over all tenants.
type claimID struct {
	tenant int64
	key    gate.Key
}

// lanes hand out the workers of one house: at most half of them to one tenant, at most a quarter to suspects. They
// belong to one goroutine; only the workers' ends come from others, through the channel ended.
type lanes struct {
	h        *House
	waiting  []gate.Row // read from the database and not begun
	running  map[claimID]gate.Row
	tenants  map[int64]int
	suspects int
	ended    chan end
	finished int
}

type end struct {
	row    gate.Row
	booked bool
}

func (h *House) newLanes() *lanes {
	return &lanes{h: h, running: map[claimID]gate.Row{}, tenants: map[int64]int{}, ended: make(chan end, h.opt.Workers)}
}

// refill replaces what is waiting by what the database says is due now.
func (l *lanes) refill(ctx context.Context, perTenant int) error {
	due, err := l.h.gate.Due(ctx, perTenant)
	if err != nil {
		return fmt.Errorf("paidonce: look for unfinished events: %w", err)
	}
	l.waiting = interleave(due)
	return nil
}

// start begins all waiting work that has a free worker, and keeps the rest in order.
func (l *lanes) start(ctx context.Context) {
	var left []gate.Row
	for i, row := range l.waiting {
		if len(l.running) >= l.h.opt.Workers || ctx.Err() != nil {
			left = append(left, l.waiting[i:]...)
			break
		}
		id := claimID{row.Tenant, row.Key}
		if _, begun := l.running[id]; begun {
			continue
		}
		suspect := row.Failures >= suspectAfter
		if l.tenants[row.Tenant] >= share(l.h.opt.Workers, 2) || suspect && l.suspects >= share(l.h.opt.Workers, 4) {
			left = append(left, row)
			continue
		}
		l.running[id] = row
		l.tenants[row.Tenant]++
		if suspect {
			l.suspects++
		}
		go func() { l.ended <- end{row, l.h.redriveOne(ctx, row)} }()
	}
	l.waiting = left
}

func share(workers, part int) int { return max(workers/part, 1) }

// settle notes that a worker is free again.
func (l *lanes) settle(e end) {
	delete(l.running, claimID{e.row.Tenant, e.row.Key})
	if l.tenants[e.row.Tenant]--; l.tenants[e.row.Tenant] == 0 {
		delete(l.tenants, e.row.Tenant)
	}
	if e.row.Failures >= suspectAfter {
		l.suspects--
	}
	if e.booked {
		l.finished++
	}
}

// drain waits until everything that was begun has ended, beginning what is waiting as long as ctx lives.
func (l *lanes) drain(ctx context.Context) {
	for l.start(ctx); len(l.running) > 0; l.start(ctx) {
		l.settle(<-l.ended)
	}
}

// Redrive takes unfinished claims whose time has come, at most perTenant of each tenant, and drives them on. It
// returns how many it brought to their end. Several instances may run it at once; each claim has one holder.
func (h *House) Redrive(ctx context.Context, perTenant int) (int, error) {
	l := h.newLanes()
	if err := l.refill(ctx, perTenant); err != nil {
		return 0, err
	}
	l.drain(ctx)
	return l.finished, nil
}

// redriveOne finishes what it started even if the process is asked to stop meanwhile.
func (h *House) redriveOne(ctx context.Context, row gate.Row) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.opt.Budget)
	defer cancel()
	t, err := h.gate.Resume(ctx, row)
	if err != nil {
		h.log.WarnContext(ctx, "cannot take an unfinished event", "tenant", row.Tenant, "key", row.Key, "err", err)
		return false
	}
	if !t.Held() {
		return false
	}
	h.counts.lagged(row.LateUs)
	if h.drive(ctx, t).Status != Booked {
		return false
	}
	h.counts.redriven.Add(1)
	return true
}

// redriveLoop drives unfinished events on until ctx ends, and returns when what was begun is finished. What is due is
// read again when the last reading has been begun, at every turn of the poll, and whenever somebody nudges.
func (h *House) redriveLoop(ctx context.Context) {
	l := h.newLanes()
	defer func() { l.waiting = nil; l.drain(ctx) }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-l.ended:
			l.settle(e)
			if len(l.waiting) > 0 || !e.booked {
				l.start(ctx)
				continue
			}
		case <-timer.C:
			timer.Reset(h.opt.Poll)
		case <-h.nudge:
		}
		if err := l.refill(ctx, duePerTenant); err != nil && ctx.Err() == nil {
			h.log.WarnContext(ctx, "background work could not reach the database", "err", err)
		}
		l.start(ctx)
	}
}

// interleave mixes the tenants, so that none waits behind another's backlog.
func interleave(due []gate.Row) []gate.Row {
	byTenant := map[int64][]gate.Row{}
	var tenants []int64
	for _, row := range due {
		if len(byTenant[row.Tenant]) == 0 {
			tenants = append(tenants, row.Tenant)
		}
		byTenant[row.Tenant] = append(byTenant[row.Tenant], row)
	}
	mixed := make([]gate.Row, 0, len(due))
	for round := 0; len(mixed) < len(due); round++ {
		for _, tenant := range tenants {
			if rows := byTenant[tenant]; round < len(rows) {
				mixed = append(mixed, rows[round])
			}
		}
	}
	return mixed
}
