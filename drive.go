package paidonce

import (
	"context"
	"errors"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

// drive brings a claim that we hold to its end, or parks it. The claim is durable before and after, so there is no
// error to return: whatever goes wrong here is tried again later.
func (h *House) drive(ctx context.Context, t gate.Ticket) Result {
	result := h.tryToBook(ctx, t)
	h.counts.drove(result.Status)
	return result
}

func (h *House) tryToBook(ctx context.Context, t gate.Ticket) Result {
	result := Result{Key: t.Key, Verdict: t.Verdict}
	if t.Failures > shelfAfter && t.Row.Reason != ReasonShelved {
		return h.settleFailure(ctx, t, failure{cause: errNeverAnswered}, result)
	}
	e, err := channel.Decode(t.Event)
	if err == nil {
		result.Order = e.OrderNo
		err = h.opt.Hook(PointClaimed)
	}
	if err == nil {
		err = h.book(ctx, t, e, ruling{})
	}
	fault := failure{cause: err, event: e}
	var no *hold
	if errors.As(err, &no) && fitsNoOrder(no.reason) {
		fault.variants, fault.cause = h.bookVariant(ctx, &t, err)
	}
	if fault.cause == nil {
		result.Status = Booked
		// The point lies behind the commit: a failure here can only lose the answer, not the booking.
		if err := h.opt.Hook(PointBooked); err != nil {
			h.log.WarnContext(ctx, "failure after the booking", "key", t.Key, "err", err)
		}
		return result
	}
	return h.settleFailure(ctx, t, fault, result)
}

// fitsNoOrder reports whether another report under the same key could fit where this one does not.
func fitsNoOrder(reason string) bool {
	return reason == order.AmountMismatch || reason == order.CurrencyMismatch || reason == WaitingOrder
}

// bookVariant looks whether another authentic report under the same key fits the order, when the claimed one does not.
// The channel signed both; the merchant's own order is the witness that decides. The true one replaces the other under
// the ticket's fence and is booked. If none fits, the event stays held for the first reason. It returns how many other
// reports it has seen.
func (h *House) bookVariant(ctx context.Context, t *gate.Ticket, held error) (int, error) {
	variants, err := h.store.Variants(ctx, t.Tenant, t.Key)
	if err != nil {
		return 0, held
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
			return h.gate.Replace(ctx, tx, *t, gate.Claim{Digest: e.Digest(), Event: stored, OrderNo: e.OrderNo,
				Amount: e.Amount})
		})
		if err == nil {
			h.log.WarnContext(ctx, "a later report fits the order and replaces the first", "tenant", t.Tenant, "key", t.Key)
			t.Event = stored
			return len(variants), h.book(ctx, *t, e, ruling{})
		}
	}
	return len(variants), held
}
