// Package settle turns an event into journal entries: the settlement chain (结算链). A chain is a list of pure steps,
// configured per tenant, channel and account, each with a version. Planning reads nothing and writes nothing.
package settle

import (
	"errors"
	"fmt"
	"strings"

	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
)

// ErrChain: a chain is not well formed, or cannot settle the case (a share of more than there is).
var ErrChain = errors.New("settle: chain does not fit")

// Case is one payment as the chain sees it.
type Case struct {
	Channel string // canonical code; account paths use it in lower case
	Account string
	Store   string // whose sale; empty for excess money
	Amount  money.Amount
	Excess  bool // real money that fits no order: it goes to suspense, only the channel's own fee is taken
}

// Draft is what the steps before have left: how much the counterparty still has, and on which account.
type Draft struct {
	Holder ledger.Account // liability:merchant:<store>, or suspense:excess:<channel>
	Left   money.Amount
}

// Step is one link of a chain. It returns its entry (nil: nothing to book) and what is left for the next step.
// A step is pure: the same case and draft always give the same entry.
type Step interface {
	Plan(c Case, d Draft) (*ledger.Entry, Draft, error)
}

// Chain is a versioned list of steps. Capture always comes first and is not in the list.
type Chain struct {
	Version string
	Steps   []Step
}

// Plan returns the entries of a payment: the capture, then one per step that books something.
func (c Chain) Plan(pay Case) ([]ledger.Entry, error) {
	if pay.Amount.Minor <= 0 {
		return nil, fmt.Errorf("%w: amount %s", ErrChain, pay.Amount)
	}
	draft := Draft{Holder: MerchantAccount(pay.Store), Left: pay.Amount}
	if pay.Excess {
		draft.Holder = ExcessAccount(pay.Channel)
	}
	entries := []ledger.Entry{transfer("capture", ClearingAccount(pay.Channel, pay.Account), draft.Holder, pay.Amount)}
	for _, step := range c.Steps {
		entry, next, err := step.Plan(pay, draft)
		if err != nil {
			return nil, err
		}
		if next.Left.Minor < 0 {
			return nil, fmt.Errorf("%w: step takes more than the %s that are left", ErrChain, draft.Left)
		}
		if entry != nil {
			entries = append(entries, *entry)
		}
		draft = next
	}
	return entries, nil
}

// ClearingAccount is where money lies that a channel owes us.
func ClearingAccount(channel, account string) ledger.Account {
	return ledger.Account("asset:clearing:" + strings.ToLower(channel) + ":" + account)
}

// ExcessAccount is where real money lies that fits no order.
func ExcessAccount(channel string) ledger.Account {
	return ledger.Account("suspense:excess:" + strings.ToLower(channel))
}

// PlanMove moves money out of suspense to the merchant of an order.
func PlanMove(channel, store string, amount money.Amount) []ledger.Entry {
	return []ledger.Entry{transfer("suspense_moved", ExcessAccount(channel), MerchantAccount(store), amount)}
}

// PlanReturn brings moved money back into suspense, because the channel refunded more than still lay there.
func PlanReturn(channel string, from ledger.Account, amount money.Amount) ledger.Entry {
	return transfer("suspense_returned", from, ExcessAccount(channel), amount)
}

// MerchantAccount is what we owe the merchant of a store.
func MerchantAccount(store string) ledger.Account {
	return ledger.Account("liability:merchant:" + store)
}

// Held is by how much entries raise what lies on an account: credits minus debits, in minor units.
func Held(entries []ledger.Entry, account ledger.Account) int64 {
	var held int64
	for _, entry := range entries {
		for _, p := range entry.Postings {
			switch {
			case p.Account != account:
			case p.Side == ledger.Credit:
				held += p.Amount.Minor
			default:
				held -= p.Amount.Minor
			}
		}
	}
	return held
}

// transfer is the simplest entry: debit one account, credit another.
func transfer(step string, debit, credit ledger.Account, amount money.Amount) ledger.Entry {
	return ledger.Entry{Step: step, Postings: []ledger.Posting{
		{Account: debit, Side: ledger.Debit, Amount: amount},
		{Account: credit, Side: ledger.Credit, Amount: amount},
	}}
}
