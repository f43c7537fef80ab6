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

// ruling is a person's word about an event that fits nowhere by itself. The zero value is none.
type ruling struct {
	orderNo  string // book it as a payment of this order, instead of the one that it names
	suspense string // book it to suspense, for this reason
}

// book is TX 2: finish the claim under its fence, then, unless the journal has the event already, move the order, run
// the settlement chain and post. All of it commits together or not at all, with whatever also belongs to it.
func (h *House) book(ctx context.Context, t gate.Ticket, e channel.Event, r ruling,
	also ...func(context.Context, *store.Tx) error) error {
	if e.Kind.IsHint() {
		return &hold{reasonOfHint(e.Kind), e.Note}
	}
	var excess int64
	err := h.store.Do(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := h.gate.Finish(ctx, tx, t, "booked"); err != nil {
			return err
		}
		booked, err := tx.Booked(ctx, t.Tenant, string(t.Key))
		if err != nil {
			return err
		}
		if !booked {
			booking, err := h.plan(ctx, tx, t.Key, e, r)
			if err != nil {
				return err
			}
			if _, err := ledger.Post(ctx, tx, booking); err != nil {
				return err
			}
			excess = settle.Held(booking.Entries, settle.ExcessAccount(e.Channel))
		}
		for _, act := range also {
			if err := act(ctx, tx); err != nil {
				return err
			}
		}
		return h.opt.Hook(PointInBooking)
	})
	if err == nil && excess > 0 {
		h.log.WarnContext(ctx, "real money that fits no open order lies in suspense", "tenant", t.Tenant,
			"order", e.OrderNo, "key", t.Key)
	}
	return err
}

func reasonOfHint(k channel.Kind) string {
	if k == channel.QueryDue {
		return ReasonQueryDue
	}
	return ReasonQuarantined
}

// plan moves order and payment and returns what goes into the journal.
func (h *House) plan(ctx context.Context, tx *store.Tx, key gate.Key, e channel.Event, r ruling,
) (ledger.Booking, error) {
	if r.orderNo != "" {
		if err := tx.WakeRefunds(ctx, e.Tenant, e.OrderNo); err != nil {
			return ledger.Booking{}, err
		}
		e.OrderNo = r.orderNo
	}
	booking := ledger.Booking{Tenant: e.Tenant, Cause: string(key), Chain: "none", OrderNo: e.OrderNo}
	var err error
	switch e.Kind {
	case channel.PaymentReceived:
		chain := h.opt.Rules.At(e.Tenant, e.Channel, e.Account, e.HappenedAt)
		booking.Chain = chain.Version
		booking.Entries, err = h.planPayment(ctx, tx, key, e, chain, r.suspense)
	case channel.PaymentClosed:
		err = h.planClose(ctx, tx, e)
	case channel.RefundSucceeded:
		booking.Chain = "reversal"
		booking.Entries, err = h.planRefund(ctx, tx, e)
	case channel.SuspenseMoved:
		booking.Chain = "move"
		booking.Entries, err = h.planMove(ctx, tx, key, e)
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

// fit finds the order of a payment and decides what the payment is to it. A person's word to book to suspense stands
// above that.
func (h *House) fit(ctx context.Context, tx *store.Tx, key gate.Key, e channel.Event, suspense string,
) (o order.Order, excess string, err error) {
	o, found, err := tx.Order(ctx, e.Tenant, e.OrderNo)
	if err != nil || suspense != "" {
		return o, suspense, err
	}
	if !found {
		return o, "", &hold{WaitingOrder, "no order " + e.OrderNo + " yet"}
	}
	pay := paymentOf(key, e)
	next, decision, why := o.Pay(pay)
	if decision == order.Hold && why == order.AmountMismatch {
		if pay.Confirmed, err = tx.Confirmed(ctx, e.Tenant, key, e.Digest()); err != nil {
			return o, "", err
		}
		next, decision, why = o.Pay(pay)
	}
	switch decision {
	case order.Hold:
		return o, "", &hold{why, fmt.Sprintf("the channel reports %s, order %s is for %s", e.Amount, o.No, o.Amount)}
	case order.Settle:
		return o, "", tx.UpdateOrder(ctx, next)
	}
	return o, why, nil
}

func (h *House) planPayment(ctx context.Context, tx *store.Tx, key gate.Key, e channel.Event, chain settle.Chain,
	suspense string) ([]ledger.Entry, error) {
	o, excess, err := h.fit(ctx, tx, key, e, suspense)
	if err != nil {
		return nil, err
	}
	if err := tx.InsertPayment(ctx, store.Payment{Tenant: e.Tenant, Channel: e.Channel, TradeNo: e.TradeNo,
		Account: e.Account, OrderNo: e.OrderNo, Cause: string(key), Captured: e.Amount, Suspense: excess}); err != nil {
		return nil, err
	}
	if err := tx.WakeRefunds(ctx, e.Tenant, e.OrderNo); err != nil {
		return nil, err
	}
	entries, err := chain.Plan(settle.Case{Channel: e.Channel, Account: e.Account, Store: o.Store, Amount: e.Amount,
		Excess: excess != ""})
	if err != nil || excess == "" {
		return entries, err
	}
	left := e.Amount
	left.Minor = settle.Held(entries, settle.ExcessAccount(e.Channel))
	return entries, tx.InsertSuspense(ctx, store.Suspense{Tenant: e.Tenant, Channel: e.Channel, TradeNo: e.TradeNo,
		Account: e.Account, OrderNo: e.OrderNo, Cause: string(key), Reason: excess, Amount: e.Amount, Left: left})
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
	entries, err := settle.PlanRefund(settle.RefundCase{Channel: e.Channel, Account: e.Account, Captured: p.Captured,
		Before: p.Refunded, Amount: e.Amount, Stored: stored})
	if err != nil || p.Suspense == "" {
		return entries, err
	}
	return h.takeFromSuspense(ctx, tx, e, entries)
}

// takeFromSuspense keeps the suspense record in step with a refund of its payment. What no longer lies there, because
// a person moved it to a merchant, is taken back from that merchant.
func (h *House) takeFromSuspense(ctx context.Context, tx *store.Tx, e channel.Event, entries []ledger.Entry,
) ([]ledger.Entry, error) {
	s, found, err := tx.Suspense(ctx, e.Tenant, e.Channel, e.TradeNo)
	if err != nil || !found {
		return entries, err
	}
	s.Left.Minor += settle.Held(entries, settle.ExcessAccount(e.Channel))
	if back := min(-s.Left.Minor, s.Moved.Minor); back > 0 {
		amount := s.Left
		amount.Minor = back
		entries = append(entries, settle.PlanReturn(e.Channel, ledger.Account(s.MovedTo), amount))
		s.Left.Minor += back
		s.Moved.Minor -= back
	}
	return entries, tx.UpdateSuspense(ctx, s)
}

// planMove moves money that lies in suspense to the merchant of an order.
func (h *House) planMove(ctx context.Context, tx *store.Tx, key gate.Key, e channel.Event) ([]ledger.Entry, error) {
	s, found, err := tx.Suspense(ctx, e.Tenant, e.Channel, e.TradeNo)
	if err != nil {
		return nil, err
	}
	o, known, err := tx.Order(ctx, e.Tenant, e.OrderNo)
	if err != nil {
		return nil, err
	}
	to := settle.MerchantAccount(o.Store)
	switch {
	case !known:
		return nil, &hold{WaitingOrder, "no order " + e.OrderNo + " yet"}
	case !found || s.Left.Minor < e.Amount.Minor || s.Left.Currency != e.Amount.Currency:
		return nil, &hold{ReasonNotInSuspense, fmt.Sprintf("of payment %s %s lie in suspense", e.TradeNo, s.Left)}
	case s.Moved.Minor > 0 && s.MovedTo != string(to):
		return nil, &hold{ReasonNotInSuspense, "part of payment " + e.TradeNo + " was moved to " + s.MovedTo}
	}
	s.Left.Minor -= e.Amount.Minor
	s.Moved.Minor += e.Amount.Minor
	s.MovedTo = string(to)
	if err := tx.UpdateSuspense(ctx, s); err != nil {
		return nil, err
	}
	if next, decision := o.Honour(string(key), e.Amount); decision == order.Settle {
		if err := tx.UpdateOrder(ctx, next); err != nil {
			return nil, err
		}
	}
	return settle.PlanMove(e.Channel, o.Store, e.Amount), nil
}
