package settle

import (
	"fmt"
	"strings"

	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
)

// RefundCase is one refund of a payment, with the payment's entries as they are stored. Today's configuration plays
// no part: what was booked is what is reversed.
type RefundCase struct {
	Channel  string
	Account  string
	Captured money.Amount // what the payment brought in
	Before   money.Amount // what was refunded before this one
	Amount   money.Amount // this refund
	Stored   []ledger.Entry
}

// PlanRefund reverses the stored entries in proportion. Each entry's reversed total is a function of the cumulative
// refund alone, so the order of partial refunds does not matter, no partial refund ever takes back a fen of an earlier
// one, and a full refund leaves every account where it began (but for a fee that the channel keeps). Money refunded
// beyond what was captured did leave the channel, so it is booked too: against suspense:refund-excess.
func PlanRefund(c RefundCase) ([]ledger.Entry, error) {
	after, err := c.Before.Add(c.Amount)
	if err != nil {
		return nil, err
	}
	if c.Amount.Minor <= 0 || c.Captured.Minor <= 0 || c.Captured.Currency != after.Currency {
		return nil, fmt.Errorf("%w: refund of %s on a payment of %s", ErrChain, c.Amount, c.Captured)
	}
	from, to := min(c.Before.Minor, c.Captured.Minor), min(after.Minor, c.Captured.Minor)
	var entries []ledger.Entry
	for _, stored := range c.Stored {
		if stored.Step == stepFeeKept {
			continue
		}
		entry, err := reversed(stored, from, to, c.Captured)
		if err != nil {
			return nil, err
		}
		if len(entry.Postings) > 0 {
			entries = append(entries, entry)
		}
	}
	if beyond := c.Amount.Minor - (to - from); beyond > 0 {
		entries = append(entries, transfer("refund_excess",
			ledger.Account("suspense:refund-excess:"+strings.ToLower(c.Channel)),
			ClearingAccount(c.Channel, c.Account), money.New(beyond, c.Amount.Currency)))
	}
	return entries, nil
}

// reversed is the part of a stored entry that the step from cumulative refund `from` to `to` takes back.
func reversed(stored ledger.Entry, from, to int64, captured money.Amount) (ledger.Entry, error) {
	total, err := stored.Total(captured.Currency)
	if err != nil {
		return ledger.Entry{}, err
	}
	entry := ledger.Entry{Step: "refund_" + stored.Step}
	for _, side := range []ledger.Side{ledger.Credit, ledger.Debit} {
		var lines []ledger.Posting
		var parts []int64
		for _, posting := range stored.Postings {
			if posting.Side == side {
				lines = append(lines, posting)
				parts = append(parts, posting.Amount.Minor)
			}
		}
		before, err := portion(total.Minor, from, captured.Minor, parts)
		if err != nil {
			return ledger.Entry{}, err
		}
		after, err := portion(total.Minor, to, captured.Minor, parts)
		if err != nil {
			return ledger.Entry{}, err
		}
		for i, line := range lines {
			if share := after[i] - before[i]; share > 0 {
				entry.Postings = append(entry.Postings, ledger.Posting{Account: line.Account,
					Side: side.Opposite(), Amount: money.New(share, captured.Currency)})
			}
		}
	}
	return entry, nil
}

func portion(total, refunded, captured int64, parts []int64) ([]int64, error) {
	share, err := money.MulDiv(total, refunded, captured, money.Down)
	if err != nil {
		return nil, err
	}
	return money.Apportion(share, parts)
}
