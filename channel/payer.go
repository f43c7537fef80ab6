package channel

import (
	"context"
	"errors"
)

// Errors of asking a channel. None of them says anything about the money: whoever gets one asks again later.
var (
	// ErrUnanswered: no answer, one that does not verify, or one that says "ask again". The outcome is unknown.
	ErrUnanswered = errors.New("channel: no usable answer")
	// ErrRefused: the channel turned the question itself down (a key, an account, a right): a person must look.
	ErrRefused = errors.New("channel: question refused")
)

// Standing is where an order stands at the channel, by the channel's own word.
type Standing string

// The standings of an order. Only Paid and ClosedUnpaid are final enough to become an event.
const (
	StandingPaid    Standing = "paid"    // the money was taken; later refunds do not change that
	StandingOpen    Standing = "open"    // the channel knows the order; it may still be paid
	StandingClosed  Standing = "closed"  // closed or reversed, and not paid
	StandingUnknown Standing = "unknown" // under way, or in a state that the channel itself calls unclear
	StandingAbsent  Standing = "absent"  // the channel does not know the order (yet): it proves nothing
)

// Question names the order that is asked about. OrderNo is the merchant's number; TradeNo, the channel's own, may be
// empty and wins where it is given.
type Question struct {
	OrderNo string
	TradeNo string
}

// Answer is what a channel says of an order, after its signature was verified (where the channel signs answers).
type Answer struct {
	Standing Standing
	// Parsed holds the PaymentReceived event of a paid order, under the same key and digest as its notification, or
	// the PaymentClosed of a closed one. It is empty for the other standings.
	Parsed Parsed
	Raw    []byte // the answer's body as received: evidence
	Note   string // the channel's own word for the state or error, for people
}

// Payer asks one account's channel about payments. Both calls are outside any transaction, and both may be repeated.
//
// Query and Close return ErrUnanswered whenever the outcome is not known, ErrRefused when the channel turned the
// question down. No error and no absence ever means "not paid".
type Payer interface {
	Account() Account
	// Query asks where the order stands.
	Query(ctx context.Context, q Question) (Answer, error)
	// Close asks the channel to take no payment for the order any more. The answer's standing says what became of it:
	// closed, or paid if the payer was faster.
	Close(ctx context.Context, q Question) (Answer, error)
}
