package settle

import (
	"fmt"
	"strings"

	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
)

// Bearer says who pays the channel's fee.
type Bearer string

// The bearers of a channel fee.
const (
	Platform Bearer = "platform" // an expense of ours
	Merchant Bearer = "merchant" // taken from what the merchant gets
)

// Fee books what the channel keeps for itself: it leaves the clearing account.
type Fee struct {
	Rate     money.Rate
	Rounding money.Rounding
	Bearer   Bearer
	Kept     bool // the channel keeps its fee when a payment is refunded
}

// The names of the steps, each at most once in a booking. The name is stored with the entry, so a refund years later
// knows whether the fee of the day was kept.
const (
	stepFee        = "channel_fee"
	stepFeeKept    = "channel_fee_kept"
	stepCommission = "commission"
	stepSplit      = "split"
)

func (f Fee) name() string {
	if f.Kept {
		return stepFeeKept
	}
	return stepFee
}

// Plan implements Step.
func (f Fee) Plan(c Case, d Draft) (*ledger.Entry, Draft, error) {
	fee, err := c.Amount.Times(f.Rate, f.Rounding)
	if f.Bearer == Merchant {
		fee = atMost(fee, d.Left)
	}
	if err != nil || fee.IsZero() {
		return nil, d, err
	}
	payer := ledger.Account("expense:channel-fee:" + strings.ToLower(c.Channel))
	if f.Bearer == Merchant {
		payer = d.Holder
		if d.Left, err = d.Left.Sub(fee); err != nil {
			return nil, d, err
		}
	}
	entry := transfer(f.name(), payer, ClearingAccount(c.Channel, c.Account), fee)
	return &entry, d, nil
}

// Commission is what the platform earns on the sale.
type Commission struct {
	Rate     money.Rate
	Rounding money.Rounding
}

func (s Commission) name() string { return stepCommission }

// Plan implements Step. Excess money earns nothing.
func (s Commission) Plan(c Case, d Draft) (*ledger.Entry, Draft, error) {
	if c.Excess {
		return nil, d, nil
	}
	earned, err := c.Amount.Times(s.Rate, s.Rounding)
	earned = atMost(earned, d.Left)
	if err != nil || earned.IsZero() {
		return nil, d, err
	}
	entry := transfer(stepCommission, d.Holder, "revenue:commission", earned)
	d.Left, err = d.Left.Sub(earned)
	return &entry, d, err
}

// atMost keeps a step from taking more than is left: of a payment of one fen, several shares rounded up would.
func atMost(wanted, left money.Amount) money.Amount {
	wanted.Minor = min(wanted.Minor, left.Minor)
	return wanted
}

// Remainder names who gets the minor units that rounding leaves over in a split.
type Remainder string

// The remainder rules.
const (
	ToStore Remainder = "store" // nobody takes them: they stay with the merchant
	ToFirst Remainder = "first" // the first receiver in the list
	ToLast  Remainder = "last"  // the last receiver in the list
)

// Share is one receiver's part of what is left for the merchant.
type Share struct {
	Receiver string
	Rate     money.Rate
}

// Split divides what is left among receivers (brand, agent, landlord …). Each gets its rate of what is left, rounded
// down; the difference to the exact total of all rates, itself rounded down, goes where Remainder says.
type Split struct {
	Shares    []Share
	Remainder Remainder
}

func (s Split) name() string { return stepSplit }

// Plan implements Step. Excess money is not shared.
func (s Split) Plan(c Case, d Draft) (*ledger.Entry, Draft, error) {
	if c.Excess || len(s.Shares) == 0 {
		return nil, d, nil
	}
	amounts, total, err := s.amounts(d.Left)
	if err != nil || total.IsZero() {
		return nil, d, err
	}
	entry := ledger.Entry{Step: stepSplit, Postings: []ledger.Posting{
		{Account: d.Holder, Side: ledger.Debit, Amount: total}}}
	for i, amount := range amounts {
		if !amount.IsZero() {
			entry.Postings = append(entry.Postings, ledger.Posting{
				Account: ledger.Account("liability:receiver:" + s.Shares[i].Receiver), Side: ledger.Credit, Amount: amount})
		}
	}
	d.Left, err = d.Left.Sub(total)
	return &entry, d, err
}

func (s Split) amounts(left money.Amount) (each []money.Amount, total money.Amount, err error) {
	var rates money.Rate
	total = money.New(0, left.Currency)
	for _, share := range s.Shares {
		amount, err := left.Times(share.Rate, money.Down)
		if err != nil {
			return nil, total, err
		}
		each = append(each, amount)
		total.Minor += amount.Minor // at most left, checked by the sum of rates below
		rates += share.Rate
	}
	exact, err := left.Times(rates, money.Down)
	if err != nil {
		return nil, total, fmt.Errorf("%w: shares add up to %s", ErrChain, rates)
	}
	rest := exact.Minor - total.Minor
	switch s.Remainder {
	case ToFirst:
		each[0].Minor += rest
	case ToLast:
		each[len(each)-1].Minor += rest
	default:
		return each, total, nil
	}
	return each, exact, nil
}

// Validate checks the chain's configuration, so that a mistake is found at start and not at the first payment.
func (c Chain) Validate() error {
	if c.Version == "" || len(c.Version) > 32 {
		return fmt.Errorf("%w: a chain needs a version of 1 to 32 bytes", ErrChain)
	}
	names, taken := map[string]bool{}, money.Rate(0)
	for i, step := range c.Steps {
		if named, ok := step.(interface{ name() string }); ok {
			if names[named.name()] {
				return fmt.Errorf("%w: step %d is a second %s", ErrChain, i+1, named.name())
			}
			names[named.name()] = true
		}
		v, ok := step.(interface{ Validate() error })
		if !ok {
			continue
		}
		if err := v.Validate(); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		switch s := step.(type) {
		case Fee:
			if s.Bearer == Merchant {
				taken += s.Rate
			}
		case Commission:
			taken += s.Rate
		}
	}
	if taken > money.One {
		return fmt.Errorf("%w: fee and commission take %s of what the merchant sold", ErrChain, taken)
	}
	return nil
}

// Validate checks rate, rounding and bearer.
func (f Fee) Validate() error {
	if f.Bearer != Platform && f.Bearer != Merchant {
		return fmt.Errorf("%w: the fee's bearer must be platform or merchant", ErrChain)
	}
	return validRate(f.Rate, f.Rounding)
}

// Validate checks rate and rounding.
func (s Commission) Validate() error { return validRate(s.Rate, s.Rounding) }

// Validate checks receivers, rates and the remainder rule.
func (s Split) Validate() error {
	var sum money.Rate
	seen := map[string]bool{}
	for _, share := range s.Shares {
		if seen[share.Receiver] || !ledger.Account("liability:receiver:"+share.Receiver).Valid() {
			return fmt.Errorf("%w: receiver %q is not a name or appears twice", ErrChain, share.Receiver)
		}
		seen[share.Receiver] = true
		if err := validRate(share.Rate, money.Down); err != nil {
			return err
		}
		sum += share.Rate
	}
	switch {
	case sum > money.One:
		return fmt.Errorf("%w: shares add up to %s", ErrChain, sum)
	case s.Remainder != ToStore && s.Remainder != ToFirst && s.Remainder != ToLast:
		return fmt.Errorf("%w: the remainder must be store, first or last", ErrChain)
	}
	return nil
}

func validRate(r money.Rate, rule money.Rounding) error {
	if r < 0 || r > money.One {
		return fmt.Errorf("%w: rate %s is not between 0%% and 100%%", ErrChain, r)
	}
	if !rule.Valid() {
		return fmt.Errorf("%w: unknown rounding %q", ErrChain, rule)
	}
	return nil
}
