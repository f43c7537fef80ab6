package paidonce

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/store"
)

// Errors of what a person asks for. None of them changes anything.
var (
	// ErrNoReason: an action needs the name of who acts and why, each 1 to 500 bytes of text.
	ErrNoReason = errors.New("paidonce: an action needs an actor and a reason")
	// ErrInWork: somebody works on the event at this moment; try again in a few seconds.
	ErrInWork = errors.New("paidonce: event is being worked on")
	// ErrUnfit: the action does not fit the event, the order or the money that is there.
	ErrUnfit = errors.New("paidonce: action does not fit")
)

// Act says who does something to an event, and why. Both are kept for ever beside the event.
type Act struct {
	Actor string
	Why   string
}

// maxActText is the longest actor or reason, in bytes.
const maxActText = 500

func (a Act) validate() error {
	for _, text := range []string{a.Actor, a.Why} {
		if text == "" || len(text) > maxActText || !utf8.ValidString(text) || forPeople(text) != text {
			return ErrNoReason
		}
	}
	return nil
}

func (a Act) record(what, detail string) store.Action {
	return store.Action{What: what, Actor: a.Actor, Why: a.Why, Detail: detail}
}

// seize takes an unfinished event for a person, under the same fence that everybody else needs. done is true for an
// event that is finished already: every action on it has nothing left to do.
func (h *House) seize(ctx context.Context, tenant int64, key gate.Key, a Act) (t gate.Ticket, e channel.Event,
	done bool, err error) {
	if err := a.validate(); err != nil {
		return t, e, false, err
	}
	row, err := h.gate.Lookup(ctx, tenant, key)
	if err != nil {
		return t, e, false, err
	}
	if row.State != gate.Open {
		return t, e, true, nil
	}
	if t, err = h.gate.Resume(ctx, row); err != nil {
		return t, e, false, err
	}
	if !t.Held() {
		return t, e, t.Verdict == gate.Done, ErrInWork
	}
	t.Failures = 1 // a person has looked: what failed before does not count any more
	e, err = channel.Decode(t.Event)
	return t, e, false, err
}

// finished is the answer of an action on an event that needs none.
func finished(key gate.Key) Result { return Result{Key: key, Status: Repeat, Verdict: gate.Done} }

// Retry drives an event on at once, whatever its next try and however often it failed. Errors: ErrNoReason, ErrInWork,
// gate.ErrNoClaim, or the database's.
func (h *House) Retry(ctx context.Context, tenant int64, key gate.Key, a Act) (Result, error) {
	t, _, done, err := h.seize(ctx, tenant, key, a)
	if done {
		return finished(key), nil
	}
	if err != nil {
		return Result{}, err
	}
	err = h.store.Do(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertAction(ctx, tenant, key, a.record("retry", t.Row.Reason))
	})
	if err != nil {
		h.giveBack(ctx, t)
		return Result{}, fmt.Errorf("paidonce: record the action: %w", err)
	}
	return h.drive(ctx, t), nil
}

// PostToSuspense books a payment that is held for a business reason as real money that fits no order. Errors as of
// Retry, and ErrUnfit for what is no payment.
func (h *House) PostToSuspense(ctx context.Context, tenant int64, key gate.Key, a Act) (Result, error) {
	return h.rule(ctx, tenant, key, a, "suspense", func(t gate.Ticket) ruling {
		reason := t.Row.Reason
		if reason == "" {
			reason = "operator"
		}
		return ruling{suspense: reason}
	})
}

// LinkToOrder books a held payment as a payment of the order that a person names, under that order's own conditions:
// amount, currency and account must fit. Errors as of Retry, and ErrUnfit if they do not.
func (h *House) LinkToOrder(ctx context.Context, tenant int64, key gate.Key, orderNo string, a Act) (Result, error) {
	if orderNo == "" {
		return Result{}, fmt.Errorf("%w: no order named", ErrUnfit)
	}
	return h.rule(ctx, tenant, key, a, "link", func(gate.Ticket) ruling { return ruling{orderNo: orderNo} })
}

func (h *House) rule(ctx context.Context, tenant int64, key gate.Key, a Act, what string, of func(gate.Ticket) ruling,
) (Result, error) {
	t, e, done, err := h.seize(ctx, tenant, key, a)
	if done {
		return finished(key), nil
	}
	if err != nil {
		return Result{}, err
	}
	if e.Kind != channel.PaymentReceived {
		h.giveBack(ctx, t)
		return Result{}, fmt.Errorf("%w: %s is not a payment", ErrUnfit, key)
	}
	r := of(t)
	err = h.book(ctx, t, e, r, func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertAction(ctx, tenant, key, a.record(what, r.orderNo+r.suspense))
	})
	var no *hold
	switch {
	case err == nil:
		return Result{Key: key, Status: Booked, Verdict: t.Verdict, Order: e.OrderNo}, nil
	case errors.As(err, &no):
		h.giveBack(ctx, t)
		return Result{}, fmt.Errorf("%w: %s: %s", ErrUnfit, no.reason, no.detail)
	}
	h.giveBack(ctx, t)
	return Result{}, err
}

// Reject ends an event without booking it: a test payment, a hint that was dealt with elsewhere. The claim stays, with
// this outcome; if money did move, the channel's bill will show it as an orphan. Errors as of Retry.
func (h *House) Reject(ctx context.Context, tenant int64, key gate.Key, a Act) (Result, error) {
	t, _, done, err := h.seize(ctx, tenant, key, a)
	if done {
		return finished(key), nil
	}
	if err != nil && !t.Held() {
		return Result{}, err
	}
	err = h.store.Do(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := h.gate.Finish(ctx, tx, t, OutcomeRejected); err != nil {
			return err
		}
		return tx.InsertAction(ctx, tenant, key, a.record("reject", t.Row.Reason))
	})
	if err != nil {
		h.giveBack(ctx, t)
		return Result{}, err
	}
	return Result{Key: key, Status: Rejected, Verdict: t.Verdict}, nil
}

// giveBack parks an event as it was found, due soon. If that fails, its lease runs out.
func (h *House) giveBack(ctx context.Context, t gate.Ticket) {
	err := h.store.Do(context.WithoutCancel(ctx), func(ctx context.Context, tx *store.Tx) error {
		return h.gate.Park(ctx, tx, t, gate.Parking{Reason: t.Row.Reason, Detail: t.Row.Detail,
			Delay: waitingPause(t.Row.Reason, 2), Failures: max(t.Row.Failures-1, 0)})
	})
	if err != nil && !errors.Is(err, gate.ErrFenced) {
		h.log.WarnContext(ctx, "cannot give an event back, its lease will run out", "tenant", t.Tenant, "key", t.Key,
			"err", err)
	}
}

// Move is a person's transfer of money out of suspense to the merchant of an order. No is the person's own number for
// it: the same number moves once.
type Move struct {
	Tenant           int64
	Channel, TradeNo string // the payment that lies in suspense
	No               string
	OrderNo          string
	Amount           money.Amount
}

// MoveFromSuspense books a move. It enters by Accept like every event: under its own key, once. Errors: ErrNoReason,
// ErrUnfit if there is no such money or order, channel.ErrEvent, or the database's.
func (h *House) MoveFromSuspense(ctx context.Context, m Move, a Act) (Result, error) {
	if err := a.validate(); err != nil {
		return Result{}, err
	}
	e, err := h.moveEvent(ctx, m)
	if err != nil {
		return Result{}, err
	}
	forecast, err := h.forecast(ctx, e)
	if err != nil {
		return Result{}, err
	}
	if forecast.Reason != "" {
		return Result{}, fmt.Errorf("%w: %s: %s", ErrUnfit, forecast.Reason, forecast.Detail)
	}
	result, err := h.Accept(ctx, e, gate.Delivery{Source: "operator"})
	switch {
	case err != nil || result.Status == Repeat:
		return result, err
	case result.Status == Deviating:
		return Result{}, fmt.Errorf("%w: number %s is that of another move of this payment", ErrUnfit, m.No)
	}
	return result, h.store.Do(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertAction(ctx, m.Tenant, result.Key, a.record("move", m.OrderNo+" "+m.Amount.String()))
	})
}

// moveEvent is the event of a move, on the account through which the payment came.
func (h *House) moveEvent(ctx context.Context, m Move) (channel.Event, error) {
	e := channel.Event{Tenant: m.Tenant, Channel: m.Channel, Kind: channel.SuspenseMoved,
		BizNo: []string{m.TradeNo, m.No}, OrderNo: m.OrderNo, TradeNo: m.TradeNo, Amount: m.Amount}
	err := h.store.Do(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, found, err := tx.Suspense(ctx, m.Tenant, m.Channel, m.TradeNo)
		if err == nil && !found {
			err = fmt.Errorf("%w: payment %s %s is not in suspense", ErrUnfit, m.Channel, m.TradeNo)
		}
		e.Account = s.Account
		return err
	})
	return e, err
}

// Forecast is what driving an event on would do at this moment.
type Forecast struct {
	Reason  string // why it would be held; empty if it would be booked
	Detail  string
	Booking ledger.Booking // what would be booked
}

// errDryRun ends the transaction of a forecast: nothing of it is ever committed.
var errDryRun = errors.New("paidonce: dry run")

// Explain tries an unfinished event in a transaction that is rolled back, and says what came of it. Errors:
// gate.ErrNoClaim, ErrUnfit for an event that is finished, or the database's.
func (h *House) Explain(ctx context.Context, tenant int64, key gate.Key) (Forecast, error) {
	row, err := h.gate.Lookup(ctx, tenant, key)
	if err != nil {
		return Forecast{}, err
	}
	if row.State != gate.Open {
		return Forecast{}, fmt.Errorf("%w: %s is finished", ErrUnfit, key)
	}
	e, err := channel.Decode(row.Event)
	if err != nil {
		return Forecast{}, err
	}
	return h.forecast(ctx, e)
}

func (h *House) forecast(ctx context.Context, e channel.Event) (Forecast, error) {
	if e.Kind.IsHint() {
		return Forecast{Reason: reasonOfHint(e.Kind), Detail: e.Note}, nil
	}
	key, err := e.Key()
	if err != nil {
		return Forecast{}, err
	}
	var f Forecast
	err = h.store.Do(ctx, func(ctx context.Context, tx *store.Tx) error {
		booked, err := tx.Booked(ctx, e.Tenant, string(key))
		if err != nil || booked {
			return errors.Join(err, errDryRun)
		}
		f.Booking, err = h.plan(ctx, tx, key, e, ruling{})
		return errors.Join(err, errDryRun)
	})
	var no *hold
	if errors.As(err, &no) {
		return Forecast{Reason: no.reason, Detail: no.detail}, nil
	}
	if errors.Is(err, store.ErrConflict) || err != nil && !onlyDryRun(err) {
		return Forecast{Reason: ReasonFailed, Detail: forPeople(err.Error())}, nil
	}
	return f, nil
}

// onlyDryRun reports whether nothing but the end of the dry run was wrong.
func onlyDryRun(err error) bool {
	joined, ok := err.(interface{ Unwrap() []error })
	return ok && len(joined.Unwrap()) == 1 && errors.Is(err, errDryRun)
}
