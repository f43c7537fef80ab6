package paidonce

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

// Reasons by which an event is parked, beside those of order and store.
const (
	ReasonFailed      = "failed"       // the booking failed for technical reasons; tried again with back-off
	ReasonShelved     = "shelved"      // it failed so often that it is only tried daily; a person must look
	ReasonUnknownKind = "unknown_type" // an event kind that this version cannot book
)

// shelfAfter is how many leases an event may use up before it is put on the shelf.
const shelfAfter = 20

// hold is a business "no": a state, not a failure. It rolls the business transaction back and parks the event.
type hold struct{ reason, detail string }

func (h *hold) Error() string { return "paidonce: parked: " + h.reason }

// drive brings a claim that we hold to its end, or parks it. The claim is durable before and after, so there is no
// error to return: whatever goes wrong here is tried again later.
func (h *House) drive(ctx context.Context, t gate.Ticket) Result {
	result := Result{Key: t.Key, Verdict: t.Verdict}
	e, err := channel.Decode(t.Event)
	if err == nil {
		result.Order = e.OrderNo
		err = h.opt.Hook(PointClaimed)
	}
	if err == nil {
		err = h.book(ctx, t, e)
	}
	var no *hold
	if errors.As(err, &no) && fitsNoOrder(no.reason) {
		err = h.bookVariant(ctx, &t, err)
	}
	if err == nil {
		result.Status = Booked
		// The point lies behind the commit: a failure here can only lose the answer, not the booking.
		if err := h.opt.Hook(PointBooked); err != nil {
			h.log.WarnContext(ctx, "failure after the booking", "key", t.Key, "err", err)
		}
		return result
	}
	return h.settleFailure(ctx, t, err, result)
}

// fitsNoOrder reports whether another report under the same key could fit where this one does not.
func fitsNoOrder(reason string) bool {
	return reason == order.AmountMismatch || reason == order.CurrencyMismatch || reason == store.WaitingOrder
}

// settleFailure parks what could not be booked, unless it turns out to be finished after all.
func (h *House) settleFailure(ctx context.Context, t gate.Ticket, cause error, result Result) Result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	parking := parkingFor(t, cause)
	result.Status, result.Reason, result.Detail = Parked, parking.Reason, parking.Detail
	if parking.Reason == ReasonFailed || parking.Reason == ReasonShelved {
		result.Status = Pending
		h.log.WarnContext(ctx, "booking failed, will be tried again", "tenant", t.Tenant, "key", t.Key,
			"attempt", t.Attempts, "err", cause)
	}
	err := h.opt.Hook(PointBeforePark)
	if err == nil {
		err = h.gate.Park(ctx, t, parking)
	}
	if err == nil {
		err = h.opt.Hook(PointParked)
	}
	switch {
	case errors.Is(err, gate.ErrFenced):
		// Either the COMMIT whose answer was lost did happen, or somebody else took over. The row knows.
		if row, err := h.gate.Lookup(ctx, t.Tenant, t.Key); err == nil && row.State != gate.Open {
			result.Status, result.Reason, result.Detail = Booked, "", ""
		} else {
			result.Status = Busy
		}
	case err != nil:
		// The lease runs out by itself, and re-drive takes over.
		h.log.WarnContext(ctx, "parking failed, the lease will run out", "tenant", t.Tenant, "key", t.Key, "err", err)
	case parking.Reason == store.WaitingOrder || parking.Reason == store.WaitingPayment:
		h.lookAgain(ctx, t, parking.Reason)
	}
	return result
}

// lookAgain makes a parked event due at once if what it waits for was committed between our look and our parking:
// whoever committed it found nothing to wake.
func (h *House) lookAgain(ctx context.Context, t gate.Ticket, reason string) {
	e, err := channel.Decode(t.Event)
	if err != nil {
		return
	}
	err = h.store.Do(ctx, func(ctx context.Context, tx *store.Tx) error {
		var there bool
		var err error
		if reason == store.WaitingOrder {
			_, there, err = tx.Order(ctx, e.Tenant, e.OrderNo)
		} else {
			_, there, err = tx.Payment(ctx, e.Tenant, e.Channel, e.TradeNo)
		}
		if err != nil || !there {
			return err
		}
		_, err = tx.Wake(ctx, e.Tenant, e.OrderNo, reason)
		return err
	})
	if err != nil {
		h.log.WarnContext(ctx, "cannot look again, the next try will", "tenant", t.Tenant, "key", t.Key, "err", err)
	}
	h.wake()
}

// parkingFor turns a failure into a reason and the time of the next try.
func parkingFor(t gate.Ticket, cause error) gate.Parking {
	var no *hold
	switch {
	case errors.As(cause, &no):
		longest := 24 * time.Hour
		if no.reason == store.WaitingOrder || no.reason == store.WaitingPayment {
			longest = 10 * time.Minute
		}
		return gate.Parking{Reason: no.reason, Detail: forPeople(no.detail), Delay: backOff(t.Attempts, longest)}
	case t.Attempts >= shelfAfter:
		return gate.Parking{Reason: ReasonShelved, Detail: forPeople(cause.Error()), Delay: 24 * time.Hour}
	}
	return gate.Parking{Reason: ReasonFailed, Detail: forPeople(cause.Error()),
		Delay: backOff(t.Attempts, time.Hour)}
}

// backOff doubles from half a second, with a quarter of jitter to each side. The first pause is always below 1 s.
func backOff(attempts int, longest time.Duration) time.Duration {
	pause := min(500*time.Millisecond<<min(max(attempts-1, 0), 18), longest)
	return pause*3/4 + rand.N(pause/2)
}

// forPeople makes a text fit for every engine's column: valid UTF-8, no control characters, bounded.
func forPeople(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if runes := []rune(s); len(runes) > 400 {
		s = string(runes[:400]) + "…"
	}
	return s
}

// bookVariant looks whether another authentic report under the same key fits the order, when the claimed one does not.
// The channel signed both; the merchant's own order is the witness that decides. The true one replaces the other under
// the ticket's fence and is booked. If none fits, the event stays held for the first reason.
func (h *House) bookVariant(ctx context.Context, t *gate.Ticket, held error) error {
	variants, err := h.store.Variants(ctx, t.Tenant, t.Key)
	if err != nil {
		return held
	}
	for _, stored := range variants {
		e, err := channel.Decode(stored)
		if err != nil || e.Kind != channel.PaymentReceived || e.Digest() == t.Row.Digest {
			continue
		}
		err = h.store.Do(ctx, func(ctx context.Context, tx *store.Tx) error {
			o, found, err := tx.Order(ctx, e.Tenant, e.OrderNo)
			if err != nil {
				return err
			}
			if _, decision, _ := o.Pay(paymentOf(t.Key, e)); !found || decision == order.Hold {
				return held
			}
			return h.gate.Replace(ctx, tx, *t, gate.Claim{Digest: e.Digest(), Event: stored, OrderNo: e.OrderNo})
		})
		if err == nil {
			h.log.WarnContext(ctx, "a later report fits the order and replaces the first", "tenant", t.Tenant, "key", t.Key)
			t.Event = stored
			return h.book(ctx, *t, e)
		}
	}
	return held
}

// Redrive takes unfinished claims whose time has come, at most perTenant of each tenant, and drives them on. It
// returns how many it brought to their end. Several instances may run it at once; each claim has one holder.
func (h *House) Redrive(ctx context.Context, perTenant int) (int, error) {
	due, err := h.gate.Due(ctx, perTenant)
	if err != nil {
		return 0, fmt.Errorf("paidonce: look for unfinished events: %w", err)
	}
	return h.redriveAll(ctx, interleave(due)), nil
}

func (h *House) redriveAll(ctx context.Context, due []gate.Row) int {
	work := make(chan gate.Row)
	finished := make(chan int)
	workers := min(h.opt.Workers, max(len(due), 1))
	for range workers {
		go func() {
			count := 0
			for row := range work {
				if h.redriveOne(ctx, row) {
					count++
				}
			}
			finished <- count
		}()
	}
	for _, row := range due {
		if ctx.Err() != nil {
			break
		}
		work <- row
	}
	close(work)
	total := 0
	for range workers {
		total += <-finished
	}
	return total
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
	return t.Held() && h.drive(ctx, t).Status == Booked
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
