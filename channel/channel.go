// Package channel says what a payment channel is to the house: something that turns a raw delivery into events and
// hints after verifying it, and that knows the exact bytes of its acknowledgement.
//
// An adapter (wechat, alipay, sqb, or one of a host's own) holds no state of the books and writes nothing. The
// contract that every adapter passes is the test suite in channeltest.
package channel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"time"
)

// MaxBodyBytes is the longest delivery that is read at all.
const MaxBodyBytes = 64 << 10

// Reasons to refuse a delivery. A refused delivery writes nothing: a forger must never occupy a key.
var (
	// ErrForged: the signature does not verify, or the key that it names is not known.
	ErrForged = errors.New("channel: signature does not verify")
	// ErrProbe: a deliberate wrong signature by which a channel tests its merchants. It is refused like ErrForged,
	// but nobody needs to be alarmed.
	ErrProbe = errors.New("channel: signature probe")
	// ErrStale: the signature is good, but its time stamp lies outside the allowed window.
	ErrStale = errors.New("channel: time stamp outside the allowed window")
	// ErrMalformed: the delivery does not have the form of this channel's notifications. That includes texts of another
	// use that the channel or the merchant signs with the same key and hands to payers, such as what a browser brings
	// back to the shop: they are authentic, but everybody who pays holds some, and none may become a claim.
	ErrMalformed = errors.New("channel: malformed delivery")
	// ErrIdentity: the message is authentic but meant for another merchant account.
	ErrIdentity = errors.New("channel: not for this account")
)

// Request is one raw delivery as it came in. Body holds the bytes as received, unparsed.
type Request struct {
	Header   http.Header
	Body     []byte
	Received time.Time // by the host's clock; only ever used for the channel's replay window
}

// Parsed is what a verified delivery says. Usually it is one event or one hint.
type Parsed struct {
	Events []Event
	Hints  []Hint
}

// Hint is an authentic message that does not say enough to book: ask the channel (QueryDue), or let a person look
// (Quarantined). Hints are claimed like events, so an acknowledged hint is never forgotten. Its BizNo names what was
// observed (the channel's id and state, or the SHA-256 of what was signed), so that a new observation is a new claim.
type Hint struct {
	Event Event // Kind is QueryDue or Quarantined
}

// Reply is an answer to the channel, byte for byte.
type Reply struct {
	Status      int
	ContentType string // empty: no such header and no body
	Body        []byte
}

// Channel is one merchant account at one payment channel, receiving side.
type Channel interface {
	// Account is the account that this instance verifies for.
	Account() Account
	// Parse verifies signature and identity and decodes. On a nil error at least one event or hint is returned, all
	// of this account and valid. The error wraps one of ErrForged, ErrProbe, ErrStale, ErrMalformed and ErrIdentity
	// and names no secret and no part of the body. Parse changes nothing and never panics, whatever the bytes are.
	Parse(ctx context.Context, r Request) (Parsed, error)
	// Ack returns the exact bytes that tell the channel "we hold it" (true) or "send it again" (false).
	Ack(held bool) Reply
}

// Quarantine makes the hint for an authentic message that cannot be decoded or booked: it is kept under the SHA-256 of
// what was signed, for a person to look at. What was signed, not what came: where a channel signs fields and not bytes,
// one captured message has any number of raw forms, and each would else be a claim of its own. So signed is the raw
// body where the channel signs that (Shouqianba, WeChat Pay v3), the joined fields where it signs those (Alipay, WeChat
// Pay v2), and never the signature's text or a time stamp beside the body.
func Quarantine(a Account, signed []byte, why string) Hint {
	sum := sha256.Sum256(signed)
	return Hint{Event{Tenant: a.Tenant, Channel: a.Channel, Account: a.Name, Kind: Quarantined,
		BizNo: []string{hex.EncodeToString(sum[:])}, Note: why}}
}

// One wraps a single event: the usual result of Parse. An event that cannot be claimed (an over-long number, control
// characters, no amount) is turned into a quarantined hint, because the message is authentic and must not be lost.
// signed is what the channel's signature covers.
func One(a Account, e Event, signed []byte) Parsed {
	e.Tenant, e.Channel, e.Account = a.Tenant, a.Channel, a.Name
	if err := e.Validate(); err != nil {
		return Parsed{Hints: []Hint{Quarantine(a, signed, err.Error())}}
	}
	if e.Kind.IsHint() {
		return Parsed{Hints: []Hint{{e}}}
	}
	return Parsed{Events: []Event{e}}
}
