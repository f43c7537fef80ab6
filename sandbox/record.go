package sandbox

import (
	"slices"
	"time"

	"github.com/paidonce/paidonce/money"
)

// Fact is something that happened at a channel and can be notified: *Payment, *Refund or *Close.
type Fact interface {
	owner() Account
	delivered(d Delivered)
}

// Payment is one success at a channel.
type Payment struct {
	Account  Account      `json:"account"`
	OrderNo  string       `json:"order_no"`
	TradeNo  string       `json:"trade_no"`
	Amount   money.Amount `json:"amount"`
	Refunded int64        `json:"refunded_minor"`
	PaidAt   time.Time    `json:"paid_at"`
	NotifyID string       `json:"notify_id"` // constant over the deliveries, as Alipay's is
	Tally    Tally        `json:"tally"`
}

// Refund is money that a channel gave back.
type Refund struct {
	Payment    *Payment     `json:"-"`
	RefundNo   string       `json:"refund_no"`
	RefundID   string       `json:"refund_id"`
	Amount     money.Amount `json:"amount"`
	Cumulative int64        `json:"cumulative_minor"` // refunded of the payment so far, this one included
	RefundedAt time.Time    `json:"refunded_at"`
	NotifyID   string       `json:"notify_id"`
	Tally      Tally        `json:"tally"`
}

// Close is an order that expired without payment.
type Close struct {
	Account  Account      `json:"account"`
	OrderNo  string       `json:"order_no"`
	TradeNo  string       `json:"trade_no"`
	Amount   money.Amount `json:"amount"`
	ClosedAt time.Time    `json:"closed_at"`
	NotifyID string       `json:"notify_id"`
	Tally    Tally        `json:"tally"`
}

// Tally counts the genuine deliveries of one fact.
type Tally struct {
	Sent         int `json:"sent"`         // attempts to deliver
	Answered     int `json:"answered"`     // of these, with an answer that was read
	Acknowledged int `json:"acknowledged"` // of these, with the channel's word for success
}

// Counts are totals over all facts.
type Counts struct {
	Sent               int `json:"sent"`
	Acknowledged       int `json:"acknowledged"`
	ForgedSent         int `json:"forged_sent"`
	ForgedAcknowledged int `json:"forged_acknowledged"`
	DroppedAnswers     int `json:"dropped_answers"`
	Asked              int `json:"asked"`         // questions that were signed well, check-ins included
	AskedUnknown       int `json:"asked_unknown"` // of these, about orders that the sandbox has never heard of
	AskRefused         int `json:"ask_refused"`   // questions turned down before anything was looked up
}

// Record is the sandbox's own truth at one moment.
type Record struct {
	Payments []Payment `json:"payments"`
	Refunds  []Refund  `json:"refunds"`
	Closes   []Close   `json:"closes"`
	Orders   []Order   `json:"orders"`
	Counts   Counts    `json:"counts"`
}

// Record copies what has happened so far.
func (s *Sandbox) Record() Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	record := Record{Counts: s.counts}
	for _, p := range s.payments {
		record.Payments = append(record.Payments, *p)
	}
	for _, r := range s.refunds {
		clone := *r
		payment := *r.Payment
		clone.Payment = &payment
		record.Refunds = append(record.Refunds, clone)
	}
	for _, c := range s.closes {
		record.Closes = append(record.Closes, *c)
	}
	for _, o := range s.orders {
		record.Orders = append(record.Orders, *o)
	}
	return record
}

// Trades lists the trade numbers of all payments of one account, sorted.
func (r Record) Trades(channel, account string) []string {
	var list []string
	for _, p := range r.Payments {
		if p.Account.Channel == channel && p.Account.Name == account {
			list = append(list, p.TradeNo)
		}
	}
	slices.Sort(list)
	return list
}

func (p *Payment) owner() Account { return p.Account }
func (r *Refund) owner() Account  { return r.Payment.Account }
func (c *Close) owner() Account   { return c.Account }

func (p *Payment) delivered(d Delivered) { p.Tally.add(d) }
func (r *Refund) delivered(d Delivered)  { r.Tally.add(d) }
func (c *Close) delivered(d Delivered)   { c.Tally.add(d) }

func (t *Tally) add(d Delivered) {
	t.Sent++
	if d.Answered {
		t.Answered++
	}
	if d.Acknowledged {
		t.Acknowledged++
	}
}

// count counts one delivery.
func (s *Sandbox) count(fact Fact, v Variant, d Delivered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.Dropped {
		s.counts.DroppedAnswers++
	}
	if v.Forged() {
		s.counts.ForgedSent++
		if d.Acknowledged {
			s.counts.ForgedAcknowledged++
		}
		return
	}
	s.counts.Sent++
	if d.Acknowledged {
		s.counts.Acknowledged++
	}
	fact.delivered(d)
}
