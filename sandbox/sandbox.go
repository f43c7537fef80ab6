// Package sandbox is three payment channels that are not there: WeChat Pay (v3 and v2), Alipay and Shouqianba. They
// take payments, refund them and deliver notifications in the real wire formats, signed with keys of their own. The
// package shares no code with the adapters that it exercises, so a misreading of a channel's rules would have to be
// made twice to go unnoticed. It keeps its own record of what happened: the truth that books are compared with.
package sandbox

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/paidonce/paidonce/money"
)

// Errors of the sandbox.
var (
	// ErrLive: an account or key belongs to a live configuration. The sandbox signs forged money and refuses to go
	// near real books.
	ErrLive = errors.New("sandbox: refuses to work with a live configuration")
	// ErrRequest: the channel would refuse this: unknown account or payment, refund of more than was paid.
	ErrRequest = errors.New("sandbox: request refused")
)

// The channels by the name of their endpoint.
const (
	WeChat   = "wechat"
	WeChatV2 = "wechat-v2"
	Alipay   = "alipay"
	SQB      = "sqb"
)

// Account is a merchant account at one of the channels.
type Account struct {
	Channel    string `json:"channel"` // WeChat, WeChatV2, Alipay or SQB
	Name       string `json:"name"`
	Tenant     int64  `json:"tenant"`
	Mode       string `json:"mode"` // must be "sandbox"
	MchID      string `json:"mch_id,omitempty"`
	AppID      string `json:"app_id,omitempty"`
	SellerID   string `json:"seller_id,omitempty"`
	TerminalSN string `json:"terminal_sn,omitempty"`
	NotifyURL  string `json:"notify_url"` // on this machine
}

// Options of a sandbox. Keys, Accounts and Clock are needed.
type Options struct {
	Keys     *Keys
	Accounts []Account
	Clock    func() time.Time
	Seed     uint64       // the same seed makes the same choices; keys are not drawn from it
	Client   *http.Client // nil: a client with a time limit of 6 s
	Logger   *slog.Logger // nil: no log
}

// Sandbox is safe for concurrent use.
type Sandbox struct {
	opt  Options
	keys *Keys
	ring *ring

	mu       sync.Mutex
	random   *rand.Rand
	serial   int64
	payments []*Payment
	refunds  []*Refund
	closes   []*Close
	orders   []*Order
	index    map[orderName]*Order
	counts   Counts

	rates     Rates
	terminals map[string]*terminal // by terminal_sn
}

// New checks that nothing about the configuration is live, and returns a sandbox.
func New(opt Options) (*Sandbox, error) {
	if opt.Keys == nil || opt.Clock == nil || len(opt.Accounts) == 0 {
		return nil, errors.New("sandbox: keys, clock and accounts are needed")
	}
	for i, a := range opt.Accounts {
		if err := a.check(); err != nil {
			return nil, err
		}
		same := func(b Account) bool { return b.Channel == a.Channel && b.Name == a.Name }
		if slices.ContainsFunc(opt.Accounts[:i], same) {
			return nil, fmt.Errorf("sandbox: account %s/%s is there twice", a.Channel, a.Name)
		}
	}
	ring, err := opt.Keys.parse()
	if err != nil {
		return nil, err
	}
	if opt.Client == nil {
		opt.Client = &http.Client{Timeout: 6 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	return &Sandbox{opt: opt, keys: opt.Keys, ring: ring, random: rand.New(rand.NewPCG(opt.Seed, 0x9e3779b97f4a7c15)),
		serial: opt.Clock().UnixMilli() % 1_000_000_000 * 1000, index: map[orderName]*Order{},
		terminals: map[string]*terminal{}}, nil
}

func (a Account) check() error {
	if a.Mode != "sandbox" {
		return fmt.Errorf("%w: account %s/%s has mode %q", ErrLive, a.Channel, a.Name, a.Mode)
	}
	if a.Name == "" || a.Tenant <= 0 || !slices.Contains([]string{WeChat, WeChatV2, Alipay, SQB}, a.Channel) {
		return fmt.Errorf("sandbox: account %q/%q is incomplete", a.Channel, a.Name)
	}
	u, err := url.Parse(a.NotifyURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("sandbox: the notify URL of account %s/%s is not one", a.Channel, a.Name)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return fmt.Errorf("%w: account %s/%s would notify %s, which is not this machine", ErrLive, a.Channel, a.Name,
			u.Hostname())
	}
	return nil
}

func (s *Sandbox) account(channel, name string) (Account, error) {
	for _, a := range s.opt.Accounts {
		if a.Channel == channel && a.Name == name {
			return a, nil
		}
	}
	return Account{}, fmt.Errorf("%w: no account %s/%s", ErrRequest, channel, name)
}

func orderable(orderNo string, amount money.Amount) error {
	if amount.Minor <= 0 || amount.Currency != money.CNY || orderNo == "" {
		return fmt.Errorf("%w: an order has a number and a positive amount of CNY", ErrRequest)
	}
	return nil
}

// Pay lets a customer pay an order. Paying it again is a second payment, as at a real channel whose order number was
// presented through another one. A closed order takes no payment, unless its behaviour says so.
func (s *Sandbox) Pay(channel, account, orderNo string, amount money.Amount) (*Payment, error) {
	a, err := s.account(channel, account)
	if err != nil {
		return nil, err
	}
	if err := orderable(orderNo, amount); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.placed(a, orderNo, amount)
	if o.closed() && !o.Behaviour.PayAfterClose {
		return nil, fmt.Errorf("%w: the order is closed", ErrRequest)
	}
	return s.pay(o, amount), nil
}

// Refund gives part of a payment back. It refuses more than is left, as the channel does; the same number again is
// the same refund.
func (s *Sandbox) Refund(p *Payment, refundNo string, amount money.Amount) (*Refund, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refund(p, refundNo, amount)
}

// refund is Refund for a caller that holds the lock.
func (s *Sandbox) refund(p *Payment, refundNo string, amount money.Amount) (*Refund, error) {
	for _, r := range s.refunds {
		if r.Payment == p && r.RefundNo == refundNo {
			if r.Amount != amount {
				return nil, fmt.Errorf("%w: refund %s was for another amount", ErrRequest, refundNo)
			}
			return r, nil
		}
	}
	if amount.Minor <= 0 || amount.Currency != p.Amount.Currency || amount.Minor > p.Amount.Minor-p.Refunded {
		return nil, fmt.Errorf("%w: %s is more than is left of the payment", ErrRequest, amount)
	}
	p.Refunded += amount.Minor
	r := &Refund{Payment: p, RefundNo: refundNo, RefundID: s.number("503", 25), Amount: amount, Cumulative: p.Refunded,
		RefundedAt: s.opt.Clock(), NotifyID: s.hex(34)}
	s.refunds = append(s.refunds, r)
	return r, nil
}

// CloseUnpaid lets an order expire without payment. WeChat does not notify that, so only Alipay and SQB accept it.
func (s *Sandbox) CloseUnpaid(channel, account, orderNo string, amount money.Amount) (*Close, error) {
	a, err := s.account(channel, account)
	if err != nil {
		return nil, err
	}
	if channel != Alipay && channel != SQB {
		return nil, fmt.Errorf("%w: %s does not notify a close", ErrRequest, channel)
	}
	if err := orderable(orderNo, amount); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.placed(a, orderNo, amount)
	if o.State == OrderPaid {
		return nil, fmt.Errorf("%w: the order is paid", ErrRequest)
	}
	o.State = OrderClosed
	return s.closing(o), nil
}

// tradeNo makes a number in the channel's form. The caller holds the lock.
func (s *Sandbox) tradeNo(channel string) string {
	switch channel {
	case Alipay:
		return s.opt.Clock().In(beijing()).Format("20060102") + "22001" + s.number("", 15)
	case SQB:
		return s.number("7894", 16)
	}
	return s.number("4200", 28)
}

// number is the next unused number of the given length. The caller holds the lock.
func (s *Sandbox) number(prefix string, length int) string {
	s.serial++
	return prefix + fmt.Sprintf("%0*d", length-len(prefix), s.serial)
}

// hex draws hex digits. The caller holds the lock.
func (s *Sandbox) hex(length int) string {
	text := make([]byte, length)
	for i := range text {
		text[i] = "0123456789abcdef"[s.random.IntN(16)]
	}
	return string(text)
}

// beijing is the zone of every time that the channels write without one.
func beijing() *time.Location { return time.FixedZone("+08:00", 8*3600) }
