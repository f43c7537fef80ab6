package settle

import (
	"fmt"
	"time"
)

// Rule puts a chain in force for payments of one tenant, channel and account from a moment on.
type Rule struct {
	Tenant  int64     // 0: every tenant
	Channel string    // "": every channel
	Account string    // "": every account
	From    time.Time // zero: since ever
	Chain   Chain
}

// Rules chooses the chain of a payment. The zero value knows only Plain.
type Rules struct{ list []Rule }

// Plain captures the money for the merchant and takes nothing.
func Plain() Chain { return Chain{Version: "plain"} }

// NewRules checks every chain. Two rules for the same scope and moment are refused.
func NewRules(list ...Rule) (Rules, error) {
	for i, rule := range list {
		if err := rule.Chain.Validate(); err != nil {
			return Rules{}, fmt.Errorf("settlement rule %d: %w", i+1, err)
		}
		for _, other := range list[:i] {
			if rule.scope() == other.scope() && rule.From.Equal(other.From) {
				return Rules{}, fmt.Errorf("%w: rule %d repeats the scope of another", ErrChain, i+1)
			}
		}
	}
	return Rules{append([]Rule(nil), list...)}, nil
}

type scope struct {
	tenant           int64
	channel, account string
}

func (r Rule) scope() scope { return scope{r.Tenant, r.Channel, r.Account} }

func (r Rule) covers(tenant int64, channel, account string, when time.Time) bool {
	return (r.Tenant == 0 || r.Tenant == tenant) && (r.Channel == "" || r.Channel == channel) &&
		(r.Account == "" || r.Account == account) && (when.IsZero() || !r.From.After(when))
}

// weight orders rules by how narrow they are: account before channel before tenant.
func (r Rule) weight() int {
	weight := 0
	if r.Account != "" {
		weight += 4
	}
	if r.Channel != "" {
		weight += 2
	}
	if r.Tenant != 0 {
		weight++
	}
	return weight
}

// At returns the chain that was in force at the channel's success time: the narrowest rule that covers the payment,
// and of equally narrow ones the latest. An event that does not know its time is settled by the oldest of the
// narrowest rules, so that a silent channel does not escape its fees.
func (r Rules) At(tenant int64, channel, account string, when time.Time) Chain {
	best, found := Rule{}, false
	for _, rule := range r.list {
		if !rule.covers(tenant, channel, account, when) {
			continue
		}
		nearer := rule.From.After(best.From)
		if when.IsZero() {
			nearer = rule.From.Before(best.From)
		}
		if !found || rule.weight() > best.weight() || rule.weight() == best.weight() && nearer {
			best, found = rule, true
		}
	}
	if !found {
		return Plain()
	}
	return best.Chain
}
