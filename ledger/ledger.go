// Package ledger is the double-entry journal. A booking is the journal's record of one event; its entries are
// balanced per currency and never change; corrections are new entries. A booking is unique per tenant and cause, so
// an event cannot be booked twice even if its claim were lost.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/paidonce/paidonce/money"
)

// Errors of the ledger.
var (
	// ErrUnbalanced: an entry's debits and credits differ in some currency.
	ErrUnbalanced = errors.New("ledger: entry is not balanced")
	// ErrEntry: a booking, entry or posting is not well formed.
	ErrEntry = errors.New("ledger: not a valid entry")
)

// Side of a posting.
type Side string

// The two sides.
const (
	Debit  Side = "D"
	Credit Side = "C"
)

// Opposite is the other side.
func (s Side) Opposite() Side {
	if s == Debit {
		return Credit
	}
	return Debit
}

// Account is a path in the books, "liability:merchant:store-7": a class, then names. At most 191 bytes.
type Account string

// MaxAccountBytes is the longest account path.
const MaxAccountBytes = 191

// Valid reports whether the path starts with a known class and has no empty part and no byte outside [!-~].
func (a Account) Valid() bool {
	if len(a) > MaxAccountBytes {
		return false
	}
	parts := strings.Split(string(a), ":")
	switch parts[0] {
	case "asset", "liability", "revenue", "expense", "equity", "suspense":
	default:
		return false
	}
	for _, part := range parts {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool { return r <= 0x20 || r > 0x7e }) {
			return false
		}
	}
	return len(parts) > 1
}

// Posting is one leg of an entry; its amount is positive.
type Posting struct {
	Account Account      `json:"account"`
	Side    Side         `json:"side"`
	Amount  money.Amount `json:"amount"`
}

// Entry is one balanced record. Step names the link of the settlement chain that made it.
type Entry struct {
	Step     string    `json:"step"`
	Postings []Posting `json:"postings"`
}

// Booking is what one event wrote. Cause is the event's key.
type Booking struct {
	Tenant  int64   `json:"tenant"`
	Cause   string  `json:"cause"`
	Chain   string  `json:"chain"` // version of the settlement chain that was in force
	OrderNo string  `json:"order_no"`
	Entries []Entry `json:"entries"` // may be empty: an event that moves no money is still booked once
}

// Tx is what the ledger needs of the business transaction.
type Tx interface {
	// Booked reports whether tenant and cause have a booking.
	Booked(ctx context.Context, tenant int64, cause string) (bool, error)
	// InsertBooking writes the booking with its entries and postings.
	InsertBooking(ctx context.Context, b Booking) error
}

// Post writes the booking inside tx. It returns false if the event is already booked; then nothing was written and
// the caller plans nothing. A concurrent booking of the same cause makes the transaction fail, never book twice.
func Post(ctx context.Context, tx Tx, b Booking) (bool, error) {
	if err := b.Validate(); err != nil {
		return false, err
	}
	booked, err := tx.Booked(ctx, b.Tenant, b.Cause)
	if err != nil || booked {
		return false, err
	}
	if err := tx.InsertBooking(ctx, b); err != nil {
		return false, fmt.Errorf("ledger: post: %w", err)
	}
	return true, nil
}

// Validate checks that the booking may be written: ErrEntry or ErrUnbalanced.
func (b Booking) Validate() error {
	if b.Tenant <= 0 || b.Cause == "" {
		return fmt.Errorf("%w: no tenant or cause", ErrEntry)
	}
	steps := make(map[string]bool, len(b.Entries))
	for _, entry := range b.Entries {
		if entry.Step == "" || len(entry.Step) > 64 || steps[entry.Step] {
			return fmt.Errorf("%w: step %q is empty, too long or twice in one booking", ErrEntry, entry.Step)
		}
		steps[entry.Step] = true
		if err := entry.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Validate checks one entry: two postings at least, positive amounts, valid accounts, balanced per currency.
func (e Entry) Validate() error {
	if len(e.Postings) < 2 {
		return fmt.Errorf("%w: step %s has %d postings", ErrEntry, e.Step, len(e.Postings))
	}
	balance := make(map[money.Currency]money.Amount)
	for i, p := range e.Postings {
		if !p.Account.Valid() || p.Amount.Minor <= 0 || !p.Amount.Currency.Valid() {
			return fmt.Errorf("%w: step %s, posting %d: account %q, amount %s", ErrEntry, e.Step, i, p.Account, p.Amount)
		}
		sum, ok := balance[p.Amount.Currency]
		if !ok {
			sum = money.New(0, p.Amount.Currency)
		}
		var err error
		switch p.Side {
		case Debit:
			sum, err = sum.Add(p.Amount)
		case Credit:
			sum, err = sum.Sub(p.Amount)
		default:
			err = fmt.Errorf("%w: side %q", ErrEntry, p.Side)
		}
		if err != nil {
			return err
		}
		balance[p.Amount.Currency] = sum
	}
	for _, sum := range balance {
		if !sum.IsZero() {
			return fmt.Errorf("%w: step %s is off by %s", ErrUnbalanced, e.Step, sum)
		}
	}
	return nil
}

// Reverse returns the entry with debit and credit exchanged, under another step name.
func (e Entry) Reverse(step string) Entry {
	postings := make([]Posting, len(e.Postings))
	for i, p := range e.Postings {
		postings[i] = Posting{p.Account, p.Side.Opposite(), p.Amount}
	}
	return Entry{Step: step, Postings: postings}
}

// Total is the sum of the entry's debits in one currency.
func (e Entry) Total(c money.Currency) (money.Amount, error) {
	total := money.New(0, c)
	for _, p := range e.Postings {
		if p.Side != Debit || p.Amount.Currency != c {
			continue
		}
		var err error
		if total, err = total.Add(p.Amount); err != nil {
			return money.Amount{}, err
		}
	}
	return total, nil
}

// Balance is what an account holds in one currency, as sums of both sides.
type Balance struct {
	Account  Account        `json:"account"`
	Currency money.Currency `json:"currency"`
	Debit    int64          `json:"debit_minor"`
	Credit   int64          `json:"credit_minor"`
}

// Net is debits minus credits, in minor units.
func (b Balance) Net() int64 { return b.Debit - b.Credit }
