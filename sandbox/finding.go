package sandbox

import (
	"net/http"
	"slices"
	"time"

	"github.com/paidonce/paidonce/money"
)

// task is what a question wants done.
type task int

const (
	taskQuery  task = iota
	taskClose       // take no payment any more; refused for a paid order
	taskCancel      // the same, and give back what was paid
)

// question names one order of the accounts that the signature speaks for. The channel's number wins over ours.
type question struct {
	channel          string
	mine             func(Account) bool
	orderNo, tradeNo string
	task             task
}

// spoil is what is wrong with an answer.
type spoil int

const (
	spoilNone spoil = iota
	spoilDrop
	spoilSignature
	spoilUnknown
	spoilHidden
)

// outcome is what became of a close or a cancel.
type outcome int

const (
	outcomeNone     outcome = iota // a query, or nothing was tried
	outcomeDone                    // closed now, nothing had been paid
	outcomeRefunded                // cancelled now; what had been paid is given back
	outcomePaid                    // refused: the order is paid
	outcomeAlready                 // refused: closed before
	outcomeAbsent                  // refused: no such order
	outcomeBarred                  // refused: Shouqianba cancels neither another day's payment nor a refunded one
)

// finding is the truth about the order of a question, and how much of it is to be told.
type finding struct {
	order   *Order   // nil: as far as the answer goes there is no such order
	payment *Payment // nil: not paid
	outcome outcome
	spoil   spoil
	nth     int // the question's number among those about this order
	late    time.Duration
}

// look counts a question that was signed well, lets the world move, does what is asked for, and finds what there is to
// tell. The caller holds the lock.
func (s *Sandbox) look(q question) finding {
	s.counts.Asked++
	o := s.wanted(q)
	if o == nil {
		s.counts.AskedUnknown++
		return finding{outcome: outcomeAbsent}
	}
	o.Asked.Questions++
	switch q.task {
	case taskQuery:
		o.Asked.Queries++
	case taskClose:
		o.Asked.Closes++
	case taskCancel:
		o.Asked.Cancels++
	}
	f := finding{order: o, nth: o.Asked.Questions, late: o.Behaviour.Late}
	s.move(o, f.nth)
	f.spoil = o.spoil(f.nth)
	if f.spoil == spoilHidden || o.State == OrderAnnounced {
		f.order, f.outcome = nil, outcomeAbsent
		return f
	}
	if f.spoil != spoilUnknown {
		f.outcome = s.act(o, q.task)
	}
	for _, p := range o.paid {
		if f.payment == nil || p.TradeNo == q.tradeNo {
			f.payment = p
		}
	}
	return f
}

// wanted finds the order that a question names; nil if there is none.
func (s *Sandbox) wanted(q question) *Order {
	for _, a := range s.opt.Accounts {
		if a.Channel != q.channel || !q.mine(a) {
			continue
		}
		if q.tradeNo == "" {
			if o := s.order(a, q.orderNo); o != nil {
				return o
			}
			continue
		}
		for _, o := range s.orders {
			numbered := func(p *Payment) bool { return p.TradeNo == q.tradeNo }
			if o.Account.Channel == a.Channel && o.Account.Name == a.Name &&
				(o.TradeNo == q.tradeNo || slices.ContainsFunc(o.paid, numbered)) {
				return o
			}
		}
	}
	return nil
}

// move lets happen what the behaviour keeps for this question.
func (s *Sandbox) move(o *Order, nth int) {
	b := o.Behaviour
	due := func(at int) bool { return at > 0 && nth >= at }
	if due(b.ScanAt) && o.State == OrderOpen {
		s.scan(o)
	}
	late := o.State == OrderClosed && b.PayAfterClose
	if due(b.PayAt) && (late || o.State == OrderOpen || o.State == OrderScanned) {
		s.pay(o, o.Amount)
	}
	if due(b.RefundAt) && o.State == OrderPaid {
		s.giveBack(o, "LATER-")
	}
}

// giveBack refunds all that is left of an order's payments.
func (s *Sandbox) giveBack(o *Order, prefix string) {
	for _, p := range o.paid {
		if left := p.Amount.Minor - p.Refunded; left > 0 {
			// It cannot be refused: it is what is left, under a number of its own.
			_, _ = s.refund(p, prefix+p.TradeNo, money.New(left, p.Amount.Currency))
		}
	}
}

func (s *Sandbox) act(o *Order, t task) outcome {
	if t == taskQuery {
		return outcomeNone
	}
	unpaid := o.State == OrderOpen || o.State == OrderScanned
	if unpaid && o.Behaviour.PayOnClose {
		s.pay(o, o.Amount)
		unpaid = false
	}
	switch {
	case o.closed():
		return outcomeAlready
	case o.State == OrderPaid && t == taskClose:
		return outcomePaid
	case o.State == OrderPaid && s.barred(o):
		return outcomeBarred
	case o.State == OrderPaid:
		s.giveBack(o, "CANCEL-")
		o.State, o.ClosedAt = OrderReversed, s.opt.Clock()
		return outcomeRefunded
	case o.Account.Channel == Alipay && o.State == OrderOpen && t == taskClose:
		return outcomeAbsent // Alipay makes the trade when the code is scanned
	}
	scanned := o.State == OrderScanned
	o.State, o.ClosedAt = OrderClosed, s.opt.Clock()
	if t == taskCancel {
		o.State = OrderReversed
	}
	if o.Account.Channel == Alipay && scanned {
		s.closing(o)
	}
	return outcomeDone
}

// barred: Shouqianba cancels only a payment of the same natural day of which nothing was refunded (upay docs, cancel).
func (s *Sandbox) barred(o *Order) bool {
	const day = "20060102"
	today := s.opt.Clock().In(beijing()).Format(day)
	return o.Account.Channel == SQB && slices.ContainsFunc(o.paid, func(p *Payment) bool {
		return p.Refunded > 0 || p.PaidAt.In(beijing()).Format(day) != today
	})
}

// spoil says what is wrong with the answer to the nth question, and counts it.
func (o *Order) spoil(nth int) spoil {
	for _, stage := range []struct {
		length int
		spoil  spoil
		count  *int
	}{
		{o.Behaviour.Drop, spoilDrop, &o.Asked.Dropped},
		{o.Behaviour.BadSignature, spoilSignature, &o.Asked.BadSignature},
		{o.Behaviour.Unknown, spoilUnknown, &o.Asked.Unknown},
		{o.Behaviour.Hidden, spoilHidden, &o.Asked.Hidden},
	} {
		if nth <= stage.length {
			*stage.count++
			return stage.spoil
		}
		nth -= stage.length
	}
	return spoilNone
}

// deliverBy puts an answer on the wire in the manner of the order's behaviour.
func (f finding) deliverBy(status int, header http.Header, body []byte) answer {
	return answer{status: status, header: header, body: body, late: f.late, drop: f.spoil == spoilDrop}
}
