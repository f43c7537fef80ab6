// Package order holds the merchant's orders as the channels see them, and the pure rules by which an event moves an
// order. Nothing here touches a database or a clock: the same order and the same fact always give the same answer.
package order

import (
	"errors"
	"fmt"

	"github.com/paidonce/paidonce/money"
)

// State of an order towards the channels.
type State string

// The states. Paid is final for payments: a late close or failure never overwrites it.
const (
	Open   State = "open"
	Paid   State = "paid"
	Closed State = "closed"
)

// Errors of the package.
var (
	// ErrOrder: an order lacks a number, store or positive amount.
	ErrOrder = errors.New("order: not a valid order")
	// ErrExists: an order of that number exists with other content.
	ErrExists = errors.New("order: number is taken by another order")
	// ErrUnknown: there is no order of that number.
	ErrUnknown = errors.New("order: unknown order")
)

// Order is one merchant order. Channel and Account may be empty: then any account of the tenant may receive it.
type Order struct {
	Tenant    int64        `json:"-"`
	No        string       `json:"order_no"`
	Store     string       `json:"store"` // whose sale it is: liability:merchant:<store>
	Amount    money.Amount `json:"amount"`
	Channel   string       `json:"channel,omitempty"`
	Account   string       `json:"account,omitempty"`
	State     State        `json:"state"`
	PaidBy    string       `json:"paid_by,omitempty"` // key of the payment that made it paid
	CreatedUs int64        `json:"created_us"`
	PaidUs    int64        `json:"paid_us,omitempty"`
	Version   int64        `json:"version"`
}

// Validate checks a new order.
func (o Order) Validate() error {
	switch {
	case o.Tenant <= 0:
		return fmt.Errorf("%w: no tenant", ErrOrder)
	case o.No == "" || len(o.No) > 64:
		return fmt.Errorf("%w: order_no must have 1 to 64 bytes", ErrOrder)
	case !name(o.No, "-_.*|@"):
		return fmt.Errorf("%w: order_no may hold letters, digits and -_.*|@ only", ErrOrder)
	case len(o.Store) > 64 || !name(o.Store, "-_."):
		return fmt.Errorf("%w: store must be 1 to 64 letters, digits, '-', '_' or '.'", ErrOrder)
	case o.Amount.Minor <= 0 || !o.Amount.Currency.Valid():
		return fmt.Errorf("%w: amount must be positive, with a currency such as CNY", ErrOrder)
	}
	return nil
}

func name(s, punctuation string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !alnum && !contains(punctuation, c) {
			return false
		}
	}
	return s != ""
}

func contains(set string, c byte) bool {
	for i := range len(set) {
		if set[i] == c {
			return true
		}
	}
	return false
}

// Same reports whether two registrations of one number mean the same order, so that a repeated registration is
// answered like the first.
func (o Order) Same(other Order) bool {
	return o.Tenant == other.Tenant && o.No == other.No && o.Store == other.Store && o.Amount == other.Amount &&
		o.Channel == other.Channel && o.Account == other.Account
}

// Payment is a success that a channel reports.
type Payment struct {
	Key     string // key of the event
	Channel string
	Account string
	Amount  money.Amount
	// Confirmed: the channel named this amount a second time, when it was asked or in its bill.
	Confirmed bool
}

// Decision is what an event means for an order.
type Decision string

// The decisions about a payment or a close.
const (
	Settle  Decision = "settle"  // the order becomes paid; run the settlement chain
	Excess  Decision = "excess"  // real money that fits nowhere: book it to suspense
	Close   Decision = "close"   // the order becomes closed
	Nothing Decision = "nothing" // legal, but changes nothing
	Hold    Decision = "hold"    // does not fit the order: park it
)

// Reasons of Hold and Excess, as stable words.
const (
	AmountMismatch   = "amount_mismatch"
	CurrencyMismatch = "currency_mismatch"
	AccountMismatch  = "account_mismatch"
	AlreadyPaid      = "already_paid"
	AfterClose       = "paid_after_close"
	Overpaid         = "overpaid"
)

// Pay decides about a payment. Amount, currency and account are compared first: a payment that does not fit the order
// is held, whatever state the order is in. Only more money than the order asks for, confirmed by the channel, is known
// to be there and known not to be the order's: it is excess as a whole, and the order stays as it is.
func (o Order) Pay(p Payment) (Order, Decision, string) {
	switch {
	case o.Channel != "" && o.Channel != p.Channel, o.Account != "" && o.Account != p.Account:
		return o, Hold, AccountMismatch
	case o.Amount.Currency != p.Amount.Currency:
		return o, Hold, CurrencyMismatch
	case p.Amount.Minor > o.Amount.Minor && p.Confirmed:
		return o, Excess, Overpaid
	case o.Amount.Minor != p.Amount.Minor:
		return o, Hold, AmountMismatch
	}
	switch o.State {
	case Open:
		o.State, o.PaidBy = Paid, p.Key
		return o, Settle, ""
	case Paid:
		return o, Excess, AlreadyPaid
	default:
		return o, Excess, AfterClose
	}
}

// Honour decides about money that a person moves out of suspense to this order. If it is what the order asks for, an
// order that nobody paid becomes paid by it, even after its close.
func (o Order) Honour(key string, amount money.Amount) (Order, Decision) {
	if o.State == Paid || o.Amount != amount {
		return o, Nothing
	}
	o.State, o.PaidBy = Paid, key
	return o, Settle
}

// CloseUnpaid decides about a channel's word that the order was closed without payment.
func (o Order) CloseUnpaid() (Order, Decision) {
	if o.State != Open {
		return o, Nothing
	}
	o.State = Closed
	return o, Close
}
