// Package channeltest is the contract that every channel adapter passes. An adapter's test describes its channel in a
// Subject, with keys and signatures of its own making, and calls Run; a fuzz test calls Fuzz. There are no flags to
// leave a part out: a channel that cannot keep a promise is not ready to be trusted with money.
package channeltest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
)

// Notice describes one delivery of a payment notification that a Subject is asked to make.
type Notice struct {
	// Number is the channel's own number of the payment (transaction_id, trade_no, sn). It must reach the message
	// as it is, whatever characters it holds.
	Number string
	// Variant changes all that differs between two deliveries of the same payment: nonce, time stamp, notification
	// id, signature. It never changes what was paid, or when.
	Variant int
	// Extra adds a field that no documentation knows. It is signed like every other field.
	Extra bool
}

// Refusal is a delivery that must be refused, and why.
type Refusal struct {
	Name    string
	Request channel.Request
	Want    error // one of the reasons in package channel
}

// Delivery is a named request.
type Delivery struct {
	Name    string
	Request channel.Request
}

// Subject is a channel as its own test describes it. Every function makes authentic deliveries unless it says
// otherwise, signed as the channel would sign them, and may be called from several goroutines.
type Subject struct {
	// New makes the adapter for Account.
	New     func(tb testing.TB) channel.Channel
	Account channel.Account
	// Received is the arrival time of the deliveries that the suite makes up itself. It lies within the channel's
	// replay window of what the functions below make.
	Received time.Time

	// Payment delivers the success of a payment. Two calls with the same Number are the same payment.
	Payment func(tb testing.TB, n Notice) channel.Request
	// Refund delivers refund number which (0 or 1: two different partial refunds) of the payment PaymentNumber, as
	// the channel notifies it, whether the adapter makes an event or a hint of it. The variant is that of Notice.
	Refund func(tb testing.TB, which, variant int) channel.Request
	// Authentic signs (and encrypts, where the channel does) a message of any content. Where some contents cannot
	// be signed at all, it returns what comes nearest. Fuzz uses it to reach the decoder behind the signature.
	Authentic func(tb testing.TB, message []byte) channel.Request
	// Messages are contents for Authentic: one for each kind of message that the channel sends.
	Messages [][]byte

	// Refused are deliveries that must be refused: at least four with ErrForged (a damaged signature, a stranger's
	// key, a changed body, no signature at all), one with ErrIdentity and one with ErrMalformed.
	Refused func(tb testing.TB) []Refusal
	// Unbookable are authentic notifications to this account that cannot become an event: an unknown type, missing
	// fields, an amount that is none. Each must become one quarantined hint, never a refusal. What the channel signs
	// for payers is none of them: it belongs to Refused.
	Unbookable func(tb testing.TB) []Delivery
	// Signed returns the range of body bytes, from included and to excluded, in which the signature tolerates no
	// change at all: the whole body where the channel signs raw bytes.
	Signed func(body []byte) (from, to int)

	// Reworded returns other raw forms of an authentic delivery under the same signature: white space, escapes, order,
	// parameters that are not signed. Each differs from the delivery. Empty where the channel signs raw bytes: then a
	// quarantined hint must be kept under the SHA-256 of the body.
	Reworded func(tb testing.TB, r channel.Request) []channel.Request

	// Held and Refusing are the exact answers for "we hold it" and "send it again", from the channel's documents.
	Held, Refusing channel.Reply
	// Secrets are the texts that must never be seen in an error or a note. Empty only if the receiving side of this
	// channel has no secret.
	Secrets []string
}

// PaymentNumber is the payment that the suite delivers most of the time.
const PaymentNumber = "7892259488292938"

// complete reports what is missing in a subject, so that nothing is left out by accident.
func (s Subject) complete(tb testing.TB) error {
	if s.New == nil || s.Payment == nil || s.Refund == nil || s.Authentic == nil || s.Refused == nil ||
		s.Unbookable == nil || s.Signed == nil || s.Reworded == nil {
		return errors.New("the subject leaves out a function")
	}
	if s.Received.IsZero() || len(s.Messages) == 0 || s.Account.Tenant <= 0 || len(s.Unbookable(tb)) == 0 {
		return errors.New("the subject leaves out Received, Messages, Account or Unbookable")
	}
	count := make(map[error]int)
	for _, refusal := range s.Refused(tb) {
		count[refusal.Want]++
	}
	if count[channel.ErrForged] < 4 || count[channel.ErrIdentity] < 1 || count[channel.ErrMalformed] < 1 {
		return fmt.Errorf("too few refusals: %d forged, %d foreign, %d malformed", count[channel.ErrForged],
			count[channel.ErrIdentity], count[channel.ErrMalformed])
	}
	return nil
}

// check is one promise. It returns what is broken, so that the suite can itself be tested against broken adapters.
type check struct {
	name string
	run  func(tb testing.TB, s Subject) error
}

func checks() []check {
	return []check{
		{"the subject describes everything", func(tb testing.TB, s Subject) error { return s.complete(tb) }},
		{"the adapter verifies for its account", accountIsItsOwn},
		{"every delivery of a payment is the same event", redeliveryIsTheSameEvent},
		{"different payments have different keys", numbersAreCompared},
		{"a payment without a usable number is quarantined", badNumbersAreQuarantined},
		{"two refunds of a payment are two facts and no payment", refundsAreFacts},
		{"a refusal has its one reason and tells nothing", refusalsHaveOneReason},
		{"an authentic message that cannot be booked is quarantined", unbookableIsQuarantined},
		{"one signature makes one claim, however it is worded", oneSignatureOneClaim},
		{"a changed byte is never believed", changedBytesAreNotBelieved},
		{"a delivery of any form is answered", anyFormIsAnswered},
		{"Parse changes nothing", parseChangesNothing},
		{"Parse runs concurrently", parseRunsConcurrently},
		{"the acknowledgement is exact", acknowledgementIsExact},
	}
}

// Run checks the whole contract. Run it with -race.
func Run(t *testing.T, s Subject) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(t, s); err != nil {
				t.Fatal(err)
			}
		})
	}
}
