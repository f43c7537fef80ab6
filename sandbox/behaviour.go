package sandbox

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// Behaviour says how a channel treats one order: what it does to its callbacks and answers, and how it changes its
// mind. Questions of any kind about the order are counted from 1. The first Drop of them are not answered, the next
// BadSignature are answered with a signature that does not verify, the next Unknown with "ask again", the next Hidden
// as if there were no such order, all later ones truthfully. What a question asks for is done in the first two cases
// and not in the next two. The zero value is an honest channel.
type Behaviour struct {
	Silent bool          `json:"silent,omitempty"` // no callback is ever delivered
	Late   time.Duration `json:"late,omitempty"`   // before every answer

	Drop         int `json:"drop,omitempty"`
	BadSignature int `json:"bad_signature,omitempty"` // Shouqianba does not sign answers: there they are cut short
	Unknown      int `json:"unknown,omitempty"`
	Hidden       int `json:"hidden,omitempty"`

	// The world moves just before the question of this number is answered; 0 means never by itself.
	ScanAt   int `json:"scan_at,omitempty"`   // an open order is scanned
	PayAt    int `json:"pay_at,omitempty"`    // an unpaid order that is not closed is paid
	RefundAt int `json:"refund_at,omitempty"` // all of a paid order that is left is given back

	PayOnClose    bool `json:"pay_on_close,omitempty"`    // the buyer pays just as the order is being closed
	PayAfterClose bool `json:"pay_after_close,omitempty"` // a closed order can be paid
}

// Rates say how often orders misbehave, in orders per thousand, where no Behave says otherwise. Each fault is drawn
// from the seed and the order's name alone, so neither the order of questions nor other orders change it.
type Rates struct {
	Silent, Late, Drop, BadSignature, Unknown, Hidden, PayOnClose, PayAfterClose int
	LateBy                                                                       time.Duration
}

// mostFaults is how many questions in a row a drawn fault spoils at most.
const mostFaults = 3

// SetRates draws the behaviour of all orders that the sandbox first hears of from now on.
func (s *Sandbox) SetRates(r Rates) error {
	for _, rate := range []int{r.Silent, r.Late, r.Drop, r.BadSignature, r.Unknown, r.Hidden, r.PayOnClose,
		r.PayAfterClose} {
		if rate < 0 || rate > 1000 {
			return fmt.Errorf("%w: rates are from 0 to 1000 per thousand", ErrRequest)
		}
	}
	if r.LateBy < 0 {
		return fmt.Errorf("%w: an answer cannot come before its question", ErrRequest)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rates = r
	return nil
}

// Behave sets the behaviour of one order, which may be placed later. What was asked before stays counted.
func (s *Sandbox) Behave(channel, account, orderNo string, b Behaviour) error {
	a, err := s.account(channel, account)
	if err != nil {
		return err
	}
	for _, n := range []int{b.Drop, b.BadSignature, b.Unknown, b.Hidden, b.ScanAt, b.PayAt, b.RefundAt, int(b.Late)} {
		if n < 0 {
			return fmt.Errorf("%w: a behaviour counts from zero", ErrRequest)
		}
	}
	if orderNo == "" {
		return fmt.Errorf("%w: an order has a number", ErrRequest)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.announced(a, orderNo).Behaviour = b
	return nil
}

func (r Rates) draw(seed uint64, a Account, orderNo string) Behaviour {
	chosen := func(fault string, rate int) int {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%s\n%s\n%s", seed, a.Channel, a.Name, orderNo, fault))
		if binary.BigEndian.Uint64(sum[:8])%1000 >= uint64(rate) {
			return 0
		}
		return 1 + int(sum[8])%mostFaults
	}
	b := Behaviour{Silent: chosen("silent", r.Silent) > 0, Drop: chosen("drop", r.Drop),
		BadSignature: chosen("bad signature", r.BadSignature), Unknown: chosen("unknown", r.Unknown),
		Hidden: chosen("hidden", r.Hidden), PayOnClose: chosen("pay on close", r.PayOnClose) > 0,
		PayAfterClose: chosen("pay after close", r.PayAfterClose) > 0}
	if chosen("late", r.Late) > 0 {
		b.Late = r.LateBy
	}
	return b
}

// silent reports whether a fact's order is one whose callbacks are lost.
func (s *Sandbox) silent(fact Fact) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var orderNo string
	switch f := fact.(type) {
	case *Payment:
		orderNo = f.OrderNo
	case *Refund:
		orderNo = f.Payment.OrderNo
	case *Close:
		orderNo = f.OrderNo
	}
	o := s.order(fact.owner(), orderNo)
	return o != nil && o.Behaviour.Silent
}
