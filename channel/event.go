package channel

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/money"
)

// Kind is the economic kind of an event, the third part of its key. It is never a trade status and never the name
// of a delivery: Alipay's TRADE_SUCCESS and TRADE_FINISHED are one PaymentReceived.
type Kind string

// The kinds of events. The first group are facts; the last two are hints (see Hint).
const (
	PaymentReceived Kind = "PAYMENT_RECEIVED"
	PaymentClosed   Kind = "PAYMENT_CLOSED"
	RefundSucceeded Kind = "REFUND_SUCCEEDED"
	RefundFailed    Kind = "REFUND_FAILED"
	RefundAbnormal  Kind = "REFUND_ABNORMAL"
	// SuspenseMoved is a fact of our own books: a person moved money out of suspense to an order's merchant.
	SuspenseMoved Kind = "SUSPENSE_MOVED"

	QueryDue    Kind = "QUERY_DUE"
	Quarantined Kind = "QUARANTINED"
)

// IsHint reports whether the kind only says that something has to be asked or looked at.
func (k Kind) IsHint() bool { return k == QueryDue || k == Quarantined }

// ErrEvent: an event does not carry what its kind needs, so it cannot be claimed.
var ErrEvent = errors.New("channel: incomplete event")

// MaxNumberBytes is the longest order, trade or refund number an event may carry (the channels stop at 64).
const MaxNumberBytes = 64

// Account says whose endpoint a delivery arrived at. It belongs to exactly one tenant, and a tenant is never taken
// from a message.
type Account struct {
	Tenant  int64  // > 0
	Channel string // canonical code: "WECHAT", "ALIPAY", "SQB"
	Name    string // [a-z0-9-]+, unique within tenant and channel
}

// Event is one economic fact, whoever reported it: a notification, an answer to a query, a bill line, a person.
// Two reports of the same fact have the same key and the same digest, however much else they carry.
type Event struct {
	Tenant  int64    `json:"tenant"`
	Channel string   `json:"channel"`
	Account string   `json:"account"`
	Kind    Kind     `json:"kind"`
	BizNo   []string `json:"biz_no"` // the channel's own number of this fact, in components

	OrderNo  string       `json:"order_no"`            // the merchant's order (out_trade_no, client_sn)
	TradeNo  string       `json:"trade_no,omitempty"`  // the channel's payment (transaction_id, trade_no, sn)
	RefundNo string       `json:"refund_no,omitempty"` // the merchant's refund number, refunds only
	Amount   money.Amount `json:"amount"`              // gross; zero for a close and for hints without one

	// HappenedAt is when the channel says that it happened; zero if the message does not say.
	HappenedAt time.Time `json:"happened_at,omitzero"`
	// Note is for people: the observed state of a hint, why something was quarantined. It names no secret, and it
	// is not part of the digest.
	Note string `json:"note,omitempty"`
}

// Key is the event's name, unique within its tenant. It is gate.ErrKey if a part is empty or the whole too long.
func (e Event) Key() (gate.Key, error) { return gate.NewKey(e.Channel, string(e.Kind), e.BizNo...) }

// digestVersion is the first byte of every digest; it changes whenever the digested fields change.
const digestVersion = 1

// Digest covers what every source of the same fact must agree on: kind, order number, gross amount, currency and
// account. Fees, notify ids and times are left out, because a bill knows them and a notification does not.
func (e Event) Digest() gate.Digest {
	h := sha256.New()
	for _, field := range []string{string(e.Kind), e.OrderNo, string(e.Amount.Currency), e.Channel, e.Account} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(field)))
		h.Write(length[:])
		h.Write([]byte(field))
	}
	var minor [8]byte
	binary.BigEndian.PutUint64(minor[:], uint64(e.Amount.Minor))
	h.Write(minor[:])
	return gate.Digest(hex.EncodeToString(h.Sum([]byte{digestVersion})))
}

// Validate reports whether the event can be claimed, stored and booked: ErrEvent says what is missing. Numbers are
// valid UTF-8 without control characters, so that every database gives the same answer and the stored event, being
// JSON, still has the key of its claim.
func (e Event) Validate() error {
	if e.Tenant <= 0 || e.Account == "" {
		return fmt.Errorf("%w: no tenant or account", ErrEvent)
	}
	if _, err := e.Key(); err != nil {
		return err
	}
	for _, number := range []string{e.OrderNo, e.TradeNo, e.RefundNo} {
		if !ValidNumber(number) && number != "" {
			return fmt.Errorf("%w: a number is too long or has control characters", ErrEvent)
		}
	}
	for _, component := range e.BizNo {
		if !plainText(component) {
			return fmt.Errorf("%w: the business number is not UTF-8 or has control characters", ErrEvent)
		}
	}
	if _, err := e.HappenedAt.MarshalText(); err != nil {
		return fmt.Errorf("%w: the time has no RFC 3339 form", ErrEvent)
	}
	if e.Kind.IsHint() {
		return nil
	}
	if e.OrderNo == "" && e.TradeNo == "" {
		return fmt.Errorf("%w: neither order nor trade number", ErrEvent)
	}
	return e.validateMoney()
}

func (e Event) validateMoney() error {
	switch e.Kind {
	case PaymentReceived, RefundSucceeded, RefundFailed, RefundAbnormal, SuspenseMoved:
		if e.TradeNo == "" {
			return fmt.Errorf("%w: no trade number", ErrEvent)
		}
		if !e.Amount.Currency.Valid() || e.Amount.Minor <= 0 {
			return fmt.Errorf("%w: %s needs a positive amount", ErrEvent, e.Kind)
		}
	}
	return nil
}

// ValidNumber reports whether s can stand as an order, trade or refund number in the books: 1 to MaxNumberBytes
// bytes of valid UTF-8 without control characters.
func ValidNumber(s string) bool {
	return s != "" && len(s) <= MaxNumberBytes && plainText(s)
}

func plainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f })
}

// Encode writes the event as the JSON text that is stored beside its claim.
func (e Event) Encode() ([]byte, error) { return json.Marshal(e) }

// Decode reads what Encode wrote.
func Decode(stored []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(stored, &e); err != nil {
		return Event{}, fmt.Errorf("channel: stored event: %w", err)
	}
	return e, nil
}
