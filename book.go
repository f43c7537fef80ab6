package paidonce

import (
	"context"
	"fmt"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/settle"
	"github.com/paidonce/paidonce/store"
)

// book is TX 2: finish the claim under its fence, then, unless the journal has the event already, move the order, run
// the settlement chain and post. All of it commits together or not at all.
func (h *House) book(ctx context.Context, t gate.Ticket, e channel.Event) error {
	if e.Kind.IsHint() {
		return &hold{reasonOfHint(e.Kind), e.Note}
	}
	return h.store.Do(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := h.gate.Finish(ctx, tx, t, "booked"); err != nil {
			return err
		}
		booked, err := tx.Booked(ctx, t.Tenant, string(t.Key))
		if err != nil {
			return err
		}
		if !booked {
			booking, err := h.plan(ctx, tx, t.Key, e)
			if err != nil {
				return err
			}
			if _, err := ledger.Post(ctx, tx, booking); err != nil {
				return err
			}
		}
		return h.opt.Hook(PointInBooking)
	})
}

func reasonOfHint(k channel.Kind) string {
	if k == channel.QueryDue {
		return ReasonQueryDue
	}
	return ReasonQuarantined
}

// plan moves order and payment and returns what goes into the journal.
func (h *House) plan(ctx context.Context, tx *store.Tx, key gate.Key, e channel.Event) (ledger.Booking, error) {
	booking := ledger.Booking{Tenant: e.Tenant, Cause: string(key), Chain: "none", OrderNo: e.OrderNo}
	var err error
	switch e.Kind {
	case channel.PaymentReceived:
		chain := h.opt.Rules.At(e.Tenant, e.Channel, e.Account, e.HappenedAt)
		booking.Chain = chain.Version
		booking.Entries, err = h.planPayment(ctx, tx, key, e, chain)
	case channel.PaymentClosed:
		err = h.planClose(ctx, tx, e)
	case channel.RefundSucceeded:
		booking.Chain = "reversal"
		booking.Entries, err = h.planRefund(ctx, tx, e)
	case channel.RefundFailed, channel.RefundAbnormal:
		// No money moved. The booking records that the event is dealt with.
	default:
		err = &hold{ReasonUnknownKind, string(e.Kind)}
	}
	return booking, err
}

func paymentOf(key gate.Key, e channel.Event) order.Payment {
	return order.Payment{Key: string(key), Channel: e.Channel, Account: e.Account, Amount: e.Amount}
}

func (h *House) planPayment(ctx context.Context, tx *store.Tx, key gate.Key, e channel.Event, chain settle.Chain,
) ([]ledger.Entry, error) {
	o, found, err := tx.Order(ctx, e.Tenant, e.OrderNo)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, &hold{WaitingOrder, "no order " + e.OrderNo + " yet"}
	}
	next, decision, why := o.Pay(paymentOf(key, e))
	c := settle.Case{Channel: e.Channel, Account: e.Account, Store: o.Store, Amount: e.Amount}
	switch decision {
	case order.Hold:
		return nil, &hold{why, fmt.Sprintf("the channel reports %s, order %s is for %s", e.Amount, o.No, o.Amount)}
	case order.Settle:
		err = tx.UpdateOrder(ctx, next)
	case order.Excess:
		c.Excess = true
		h.log.WarnContext(ctx, "real money that fits no open order goes to suspense", "tenant", e.Tenant,
			"order", o.No, "reason", why, "key", key)
	}
	if err != nil {
		return nil, err
	}
	if err := tx.InsertPayment(ctx, store.Payment{Tenant: e.Tenant, Channel: e.Channel, TradeNo: e.TradeNo,
		Account: e.Account, OrderNo: e.OrderNo, Cause: string(key), Captured: e.Amount, Suspense: why}); err != nil {
		return nil, err
	}
	if err := tx.WakeRefunds(ctx, e.Tenant, e.OrderNo); err != nil {
		return nil, err
	}
	return chain.Plan(c)
}

func (h *House) planClose(ctx context.Context, tx *store.Tx, e channel.Event) error {
	o, found, err := tx.Order(ctx, e.Tenant, e.OrderNo)
	if err != nil {
		return err
	}
	if !found {
		return &hold{WaitingOrder, "no order " + e.OrderNo + " yet"}
	}
	next, decision := o.CloseUnpaid()
	if decision == order.Close {
		return tx.UpdateOrder(ctx, next)
	}
	return nil // a late close never overwrites a payment
}

func (h *House) planRefund(ctx context.Context, tx *store.Tx, e channel.Event) ([]ledger.Entry, error) {
	p, found, err := tx.Payment(ctx, e.Tenant, e.Channel, e.TradeNo)
	if err != nil {
		return nil, err
	}
	switch {
	case !found:
		return nil, &hold{WaitingPayment, "no payment " + e.TradeNo + " yet"}
	case p.Account != e.Account:
		return nil, &hold{order.AccountMismatch, "the payment came through account " + p.Account}
	case p.Captured.Currency != e.Amount.Currency:
		return nil, &hold{order.CurrencyMismatch, "the payment was in " + string(p.Captured.Currency)}
	}
	stored, err := tx.Entries(ctx, e.Tenant, p.Cause)
	if err != nil {
		return nil, err
	}
	if err := tx.AddRefund(ctx, p, e.Amount); err != nil {
		return nil, err
	}
	return settle.PlanRefund(settle.RefundCase{Channel: e.Channel, Account: e.Account, Captured: p.Captured,
		Before: p.Refunded, Amount: e.Amount, Stored: stored})
}
