package sandbox

import (
	"fmt"
	"slices"
	"time"

	"github.com/paidonce/paidonce/money"
)

// OrderState is where an order stands, by the sandbox's own truth. Refunds are read from its payments.
type OrderState string

// The states of an order.
const (
	OrderAnnounced OrderState = ""         // only its behaviour is set; the channel does not know it yet
	OrderOpen      OrderState = "open"     // placed; nobody has scanned its code
	OrderScanned   OrderState = "scanned"  // the buyer is at it: WeChat's USERPAYING, Alipay's WAIT_BUYER_PAY
	OrderPaid      OrderState = "paid"     // at least one payment
	OrderClosed    OrderState = "closed"   // closed or expired, not paid
	OrderReversed  OrderState = "reversed" // reversed or cancelled; what had been paid is refunded
)

// Order is an order that the merchant placed at a channel. An account knows each number once.
type Order struct {
	Account   Account      `json:"account"`
	OrderNo   string       `json:"order_no"`
	TradeNo   string       `json:"trade_no,omitempty"` // the channel's number before any payment
	Amount    money.Amount `json:"amount"`
	State     OrderState   `json:"state"`
	OpenedAt  time.Time    `json:"opened_at"`
	ClosedAt  time.Time    `json:"closed_at,omitzero"` // closed or reversed
	Behaviour Behaviour    `json:"behaviour"`
	Asked     Asked        `json:"asked"`

	paid []*Payment // oldest first
}

// orderName tells orders apart.
type orderName struct{ channel, account, orderNo string }

// Asked counts what a merchant asked about one order, and how that was answered.
type Asked struct {
	Questions    int `json:"questions"` // of any kind, signed well
	Queries      int `json:"queries"`
	Closes       int `json:"closes"`        // WeChat and Alipay close
	Cancels      int `json:"cancels"`       // WeChat reverse, Alipay cancel, Shouqianba cancel and revoke
	Dropped      int `json:"dropped"`       // the connection was closed instead of an answer
	BadSignature int `json:"bad_signature"` // answered with a signature that does not verify
	Unknown      int `json:"unknown"`       // answered with "ask again"
	Hidden       int `json:"hidden"`        // answered as if there were no such order
}

func (o *Order) closed() bool { return o.State == OrderClosed || o.State == OrderReversed }

// Open places an order without paying it. Opening it again with the same amount changes nothing.
func (s *Sandbox) Open(channel, account, orderNo string, amount money.Amount) error {
	a, err := s.account(channel, account)
	if err != nil {
		return err
	}
	if err := orderable(orderNo, amount); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.placed(a, orderNo, amount); o.Amount != amount {
		return fmt.Errorf("%w: the order is of another amount", ErrRequest)
	}
	return nil
}

// Scan lets the buyer scan the code of an open order, or type a password: not paid yet.
func (s *Sandbox) Scan(channel, account, orderNo string) error {
	return s.change(channel, account, orderNo, s.scan, OrderOpen)
}

// scan gives the order the channel's number, which Alipay only makes now. The caller holds the lock.
func (s *Sandbox) scan(o *Order) {
	s.channelNo(o)
	o.State = OrderScanned
}

// Expire closes an unpaid order without a word to the merchant: what WeChat Pay does at the end of an order's time, and
// Alipay for products that do not notify it.
func (s *Sandbox) Expire(channel, account, orderNo string) error {
	expire := func(o *Order) { o.State, o.ClosedAt = OrderClosed, s.opt.Clock() }
	return s.change(channel, account, orderNo, expire, OrderOpen, OrderScanned)
}

// change applies a change to an order in one of the given states.
func (s *Sandbox) change(channel, account, orderNo string, apply func(*Order), from ...OrderState) error {
	a, err := s.account(channel, account)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.order(a, orderNo)
	if o == nil || !slices.Contains(from, o.State) {
		return fmt.Errorf("%w: no such order, or not in that state", ErrRequest)
	}
	apply(o)
	return nil
}

// Payments returns the payments of one order, oldest first: also those that the buyer made in the middle of a
// question. They may be delivered.
func (s *Sandbox) Payments(channel, account, orderNo string) []*Payment {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.index[orderName{channel, account, orderNo}]; o != nil {
		return slices.Clone(o.paid)
	}
	return nil
}

// Restore takes a payment that another run of this sandbox made into its truth, so that it can be asked about here.
// Restoring it again changes nothing.
func (s *Sandbox) Restore(p Payment) (*Payment, error) {
	a, err := s.account(p.Account.Channel, p.Account.Name)
	if err != nil {
		return nil, err
	}
	if err := orderable(p.OrderNo, p.Amount); err != nil {
		return nil, err
	}
	if p.TradeNo == "" || p.Refunded < 0 || p.Refunded > p.Amount.Minor {
		return nil, fmt.Errorf("%w: that was no payment", ErrRequest)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.placed(a, p.OrderNo, p.Amount)
	for _, known := range o.paid {
		if known.TradeNo == p.TradeNo {
			return known, nil
		}
	}
	p.Account = a
	s.payments = append(s.payments, &p)
	o.paid, o.State = append(o.paid, &p), OrderPaid
	return &p, nil
}

// order finds an order of an account; nil if there is none. The caller holds the lock.
func (s *Sandbox) order(a Account, orderNo string) *Order {
	return s.index[orderName{a.Channel, a.Name, orderNo}]
}

// announced finds or makes an order, perhaps one that the channel has not heard of. The caller holds the lock.
func (s *Sandbox) announced(a Account, orderNo string) *Order {
	if o := s.order(a, orderNo); o != nil {
		return o
	}
	o := &Order{Account: a, OrderNo: orderNo, Behaviour: s.rates.draw(s.opt.Seed, a, orderNo)}
	s.orders = append(s.orders, o)
	s.index[orderName{a.Channel, a.Name, orderNo}] = o
	return o
}

// placed finds or places an order. The caller holds the lock.
func (s *Sandbox) placed(a Account, orderNo string, amount money.Amount) *Order {
	o := s.announced(a, orderNo)
	if o.State == OrderAnnounced {
		o.Amount, o.State, o.OpenedAt = amount, OrderOpen, s.opt.Clock()
	}
	return o
}

// pay books a payment in the sandbox's truth. The caller holds the lock.
func (s *Sandbox) pay(o *Order, amount money.Amount) *Payment {
	p := &Payment{Account: o.Account, OrderNo: o.OrderNo, TradeNo: s.tradeNo(o.Account.Channel), Amount: amount,
		PaidAt: s.opt.Clock(), NotifyID: s.hex(34)}
	if o.TradeNo != "" && len(o.paid) == 0 {
		p.TradeNo = o.TradeNo
	}
	s.payments = append(s.payments, p)
	o.paid, o.State = append(o.paid, p), OrderPaid
	return p
}

// closing makes the fact that an order was closed. The caller holds the lock.
func (s *Sandbox) closing(o *Order) *Close {
	o.ClosedAt = s.opt.Clock()
	c := &Close{Account: o.Account, OrderNo: o.OrderNo, TradeNo: s.channelNo(o), Amount: o.Amount, ClosedAt: o.ClosedAt,
		NotifyID: s.hex(34)}
	s.closes = append(s.closes, c)
	return c
}

// channelNo is the channel's number of an order that is not paid. The caller holds the lock.
func (s *Sandbox) channelNo(o *Order) string {
	if o.TradeNo == "" {
		o.TradeNo = s.tradeNo(o.Account.Channel)
	}
	return o.TradeNo
}
