package paidonce

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

// Reasons by which an event is parked, beside those of package order.
const (
	WaitingOrder   = "waiting_order"   // driven on when the order is created
	WaitingPayment = "waiting_payment" // a refund; driven on when its payment is booked

	ReasonFailed        = "failed"          // the booking failed for technical reasons; tried again with back-off
	ReasonShelved       = "shelved"         // it failed so often that it is only tried daily; a person must look
	ReasonNotInSuspense = "not_in_suspense" // a person's move of more than lies in suspense
	ReasonUnknownKind   = "unknown_type"    // an event kind that this version cannot book
	ReasonQueryDue      = "query_due"       // a hint: the channel has to be asked
	ReasonQuarantined   = "quarantined"     // a hint: authentic, but nobody can read it; a person must look
)

// Needs says, for people, what drives an event on that is held for a reason, or who must act.
func Needs(reason string) string {
	switch reason {
	case "":
		return "nothing: it is being worked on"
	case WaitingOrder:
		return "the order: creating it books the event at once; or link it to another order, or post it to suspense"
	case WaitingPayment:
		return "its payment: booking it books the event at once"
	case order.AmountMismatch:
		return "the channel's word on the amount when it is asked, or a person: suspense, link or reject"
	case order.CurrencyMismatch, order.AccountMismatch:
		return "a person: suspense, link or reject"
	case ReasonNotInSuspense:
		return "a person: reject the move, or wait for the money"
	case ReasonFailed:
		return "nothing: it is tried again with growing pauses"
	case ReasonShelved:
		return "a person: see the detail, remove the cause, then retry; it is tried daily by itself"
	case ReasonQueryDue:
		return "the channel's answer about a refund, or a person: reject it when it is dealt with"
	case ReasonQuarantined, ReasonUnknownKind:
		return "a person: look at the kept delivery, then reject it when it is dealt with"
	}
	return "a person"
}

// shelfAfter is how many technical failures in a row put an event on the shelf.
const shelfAfter = 20

// errNeverAnswered stands for the failure that nobody could report.
var errNeverAnswered = errors.New("every attempt ended without a word: this event may end the process that works on it")

// hold is a business "no": a state, not a failure. It rolls the business transaction back and parks the event.
type hold struct{ reason, detail string }

func (h *hold) Error() string { return "paidonce: parked: " + h.reason }

// failure is why an event was not booked, and what was seen on the way.
type failure struct {
	cause    error
	event    channel.Event
	variants int // other reports under the same key
}

// settleFailure parks what could not be booked, unless it turns out to be finished after all.
func (h *House) settleFailure(ctx context.Context, t gate.Ticket, f failure, result Result) Result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	parking := h.parkingFor(t, f.cause)
	result.Status, result.Reason, result.Detail = Parked, parking.Reason, parking.Detail
	if parking.Reason == ReasonFailed || parking.Reason == ReasonShelved {
		result.Status = Pending
		h.log.WarnContext(ctx, "booking failed, will be tried again", "tenant", t.Tenant, "key", t.Key,
			"failures", t.Failures, "err", f.cause)
	}
	err := h.opt.Hook(PointBeforePark)
	if err == nil {
		err = h.park(ctx, t, parking, f)
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
	}
	return result
}

// park is TX 3. After the row is written, and in the same transaction, it looks once more for what the event waits
// for. Whoever brings that writes the work row too: if he was first, his commit is visible to the look; if he comes
// later, he waits for this transaction and then makes the event due. So no death in between loses the wake-up.
func (h *House) park(ctx context.Context, t gate.Ticket, p gate.Parking, f failure) error {
	arrived := false
	err := h.store.Do(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if err = h.gate.Park(ctx, tx, t, p); err != nil {
			return err
		}
		arrived, err = h.arrived(ctx, tx, t, p.Reason, f)
		if err != nil || !arrived {
			return err
		}
		return tx.WakeClaim(ctx, t.Tenant, t.Key)
	})
	if err == nil && arrived {
		h.wake()
	}
	return err
}

// arrived reports whether what was missing when the event was looked at is there now.
func (h *House) arrived(ctx context.Context, tx *store.Tx, t gate.Ticket, reason string, f failure,
) (there bool, err error) {
	switch reason {
	case WaitingOrder:
		_, there, err = tx.Order(ctx, f.event.Tenant, f.event.OrderNo)
	case WaitingPayment:
		_, there, err = tx.Payment(ctx, f.event.Tenant, f.event.Channel, f.event.TradeNo)
	case order.AmountMismatch, order.CurrencyMismatch:
		var variants int
		variants, err = tx.CountVariants(ctx, t.Tenant, t.Key)
		there = variants > f.variants
	}
	return there, err
}

// parkingFor turns a failure into a reason and the time of the next try.
func (h *House) parkingFor(t gate.Ticket, cause error) gate.Parking {
	var no *hold
	switch {
	case errors.As(cause, &no):
		return gate.Parking{Reason: no.reason, Detail: forPeople(no.detail), Delay: waitingPause(no.reason, t.Attempts)}
	case h.store.OutOfReach(cause): // says nothing about the event
		failures := max(t.Failures-1, 0)
		return gate.Parking{Reason: ReasonFailed, Detail: forPeople(cause.Error()), Delay: backOff(failures),
			Failures: failures}
	case t.Failures >= shelfAfter:
		return gate.Parking{Reason: ReasonShelved, Detail: forPeople(cause.Error()), Delay: 24 * time.Hour,
			Failures: t.Failures}
	}
	return gate.Parking{Reason: ReasonFailed, Detail: forPeople(cause.Error()), Delay: backOff(t.Failures),
		Failures: t.Failures}
}

// waitingPause is how long a business "no" stands before it is looked at again without being woken. What is waited for
// wakes the event by itself, so the looks only guard against the unthought-of and soon become rare.
func waitingPause(reason string, attempts int) time.Duration {
	pauses := []time.Duration{750 * time.Millisecond, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour,
		24 * time.Hour}
	switch reason {
	case ReasonQuarantined, ReasonQueryDue: // nothing in the books can change their mind
		return 24 * time.Hour
	case WaitingOrder, WaitingPayment:
		pauses = pauses[:5]
	}
	return jitter(pauses[min(max(attempts, 1), len(pauses))-1])
}

// backOff doubles from half a second to an hour. The first pause is always below 1 s.
func backOff(failures int) time.Duration {
	return jitter(min(500*time.Millisecond<<min(max(failures-1, 0), 18), time.Hour))
}

// jitter moves a pause by up to a quarter, so that what failed together is not tried together.
func jitter(pause time.Duration) time.Duration { return pause*3/4 + rand.N(pause/2) }

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
