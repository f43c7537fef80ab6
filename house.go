// Package paidonce is the house: every payment event of every channel enters through Accept, is claimed under a unique
// key in a transaction of its own, and is then booked exactly once. Whatever was claimed and not booked is driven on
// by every instance until it is booked or visibly parked.
//
// A nil error from Accept means that the event is durable and will be finished without the channel's help. That, and
// only that, may be acknowledged.
package paidonce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/settle"
	"github.com/paidonce/paidonce/store"
)

// Options of a house. Store and Instance are needed; zero values of the others mean the defaults that are named.
type Options struct {
	Store    *store.Store
	Rules    settle.Rules  // zero: every payment is captured for its store, without fees
	Instance string        // name of this process in timelines, 1 to 64 bytes
	Logger   *slog.Logger  // nil: no log
	Lease    time.Duration // how long one holder may work on a claim; 30 s
	Budget   time.Duration // how long Accept may take, whatever the caller's context says; 4 s
	Poll     time.Duration // pause between two looks for unfinished work; 500 ms
	Workers  int           // claims that are driven on at the same time; 8

	// Payers are whom to ask about orders that stay open; empty: nobody is asked, and open orders are only listed.
	Payers     []channel.Payer
	AskAfter   time.Duration // how long an order may stay open before its channel is asked; 2 min
	AskRate    int           // questions per second to one account, by this instance; 5
	CloseAfter time.Duration // age at which the channel is asked to close an unpaid order; 0: never

	// Hook is called at named points of the way. An error is treated as a failure at that point. It exists for tests
	// that fail or kill a process there; nil does nothing.
	Hook func(point string) error

	// OnHead is told the end of a tenant's chain of seals whenever it grows, so that a copy can be kept outside the
	// database. nil: nobody is told.
	OnHead func(head LedgerHead)
}

// The named points, in the order in which an event passes them.
const (
	PointBeforeClaim = "before_claim"
	PointClaimed     = "claimed"
	PointInBooking   = "in_booking" // last act before the business transaction commits
	PointBooked      = "booked"
	PointBeforePark  = "before_park"
	PointParked      = "parked"
)

// House books events. It is safe for concurrent use; any number of houses may share a database.
type House struct {
	opt   Options
	gate  *gate.Gate
	store *store.Store
	log   *slog.Logger
	nudge chan struct{}

	counts counters
}

// Status says what became of an accepted event. Every one of them may be acknowledged.
type Status string

// The statuses.
const (
	Booked    Status = "booked"    // this call brought it to its end
	Repeat    Status = "repeat"    // it had been finished before
	Busy      Status = "busy"      // another holder works on it at this moment
	Parked    Status = "parked"    // held with a reason; driven on when what it waits for comes
	Pending   Status = "pending"   // held; the booking failed for technical reasons and is tried again
	Deviating Status = "deviating" // held as evidence: another event is known, and booked, under the same key
	Rejected  Status = "rejected"  // a person ended it without booking
)

// OutcomeRejected is the outcome of a claim that a person ended without booking.
const OutcomeRejected = "rejected"

// Result is what Accept reports beside a nil error.
type Result struct {
	Key     gate.Key
	Status  Status
	Verdict gate.Verdict
	Reason  string // of Parked and Pending
	Detail  string
	Order   string
}

// New checks the options and returns a house. It starts nothing: Run does the background work.
func New(opt Options) (*House, error) {
	if opt.Store == nil {
		return nil, errors.New("paidonce: no store")
	}
	if opt.Instance == "" || len(opt.Instance) > 64 {
		return nil, errors.New("paidonce: the instance name must have 1 to 64 bytes")
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	opt.Lease = orDefault(opt.Lease, 30*time.Second)
	opt.Budget = orDefault(opt.Budget, 4*time.Second)
	opt.Poll = orDefault(opt.Poll, 500*time.Millisecond)
	opt.Workers = orDefault(opt.Workers, 8)
	opt.AskAfter = orDefault(opt.AskAfter, 2*time.Minute)
	opt.AskRate = orDefault(opt.AskRate, 5)
	if opt.Hook == nil {
		opt.Hook = func(string) error { return nil }
	}
	if opt.Lease < 2*opt.Budget {
		return nil, fmt.Errorf("paidonce: the lease (%s) must be at least twice the budget (%s)", opt.Lease, opt.Budget)
	}
	g, err := gate.New(gate.Options{Storage: opt.Store, Instance: opt.Instance, Lease: opt.Lease, Tries: 4})
	if err != nil {
		return nil, err
	}
	return &House{opt: opt, gate: g, store: opt.Store, log: opt.Logger, nudge: make(chan struct{}, 1)}, nil
}

func orDefault[T ~int | ~int64](value, standard T) T {
	if value <= 0 {
		return standard
	}
	return value
}

// Gate is the house's gate, for hosts that claim keys of their own with TryAcquire.
func (h *House) Gate() *gate.Gate { return h.gate }

// Accept is the only door. It claims the event in a transaction of its own and books it in another one. It detaches
// from ctx: a channel that hangs up does not stop a booking half way. On a nil error the event is held (see Status);
// on any other error nothing may be acknowledged: gate.ErrUndecided, channel.ErrEvent, or the database's own error.
func (h *House) Accept(ctx context.Context, e channel.Event, raw gate.Delivery) (Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.opt.Budget)
	defer cancel()
	result, err := h.accept(ctx, e, raw)
	h.counts.took(result, err)
	return result, err
}

func (h *House) accept(ctx context.Context, e channel.Event, raw gate.Delivery) (Result, error) {
	claim, err := newClaim(e, raw)
	if err != nil {
		return Result{}, err
	}
	if err := h.opt.Hook(PointBeforeClaim); err != nil {
		return Result{}, err
	}
	t, err := h.gate.Acquire(ctx, claim)
	if err != nil {
		return Result{}, fmt.Errorf("paidonce: claim: %w", err)
	}
	if t.Verdict == gate.Mismatch {
		h.log.ErrorContext(ctx, "two different reports under one key", "tenant", t.Tenant, "key", t.Key,
			"state", t.Row.State.String())
		t = h.reopen(ctx, t)
	}
	if !t.Held() {
		return Result{Key: t.Key, Status: heldElsewhere(t.Verdict), Verdict: t.Verdict, Reason: t.Row.Reason,
			Order: e.OrderNo}, nil
	}
	return h.drive(ctx, t), nil
}

// reopen takes an unbooked claim whose key was just reported differently: one of the reports may be the true one. If
// somebody holds the claim, he looks at all reports before he parks, and this one is noted already; if he has looked
// before, he is about to commit his parking, and the wake-up waits for that.
func (h *House) reopen(ctx context.Context, t gate.Ticket) gate.Ticket {
	if t.Row.State != gate.Open {
		return t
	}
	if t.Row.LeaseOver {
		if taken, err := h.gate.Resume(ctx, t.Row); err == nil && taken.Held() {
			return taken
		}
	}
	err := h.store.Do(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.WakeClaim(ctx, t.Tenant, t.Key) })
	if err != nil {
		h.log.WarnContext(ctx, "cannot wake the event for its other report, its own next try will look", "tenant", t.Tenant,
			"key", t.Key, "err", err)
	}
	return t
}

func heldElsewhere(v gate.Verdict) Status {
	switch v {
	case gate.Busy:
		return Busy
	case gate.Mismatch:
		return Deviating
	}
	return Repeat
}

func newClaim(e channel.Event, raw gate.Delivery) (gate.Claim, error) {
	if err := e.Validate(); err != nil {
		return gate.Claim{}, err
	}
	key, err := e.Key()
	if err != nil {
		return gate.Claim{}, err
	}
	stored, err := e.Encode()
	if err != nil {
		return gate.Claim{}, fmt.Errorf("%w: %w", channel.ErrEvent, err)
	}
	return gate.Claim{Tenant: e.Tenant, Key: key, Digest: e.Digest(), Event: stored, OrderNo: e.OrderNo,
		Amount: e.Amount, Raw: raw}, nil
}

// CreateOrder registers an order. Events that came before it are driven on at once. Registering the same order again
// returns it; another order under the same number is order.ErrExists.
func (h *House) CreateOrder(ctx context.Context, o order.Order) (order.Order, error) {
	stored, err := h.store.CreateOrder(ctx, o)
	if err == nil {
		h.wake()
	}
	return stored, err
}

// wake lets Run look for work without waiting for its next turn.
func (h *House) wake() {
	select {
	case h.nudge <- struct{}{}:
	default:
	}
}
