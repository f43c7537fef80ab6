package order_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
)

const key = "WECHAT:1:PAYMENT_RECEIVED"

func placed() order.Order {
	return order.Order{Tenant: 7, No: "ORD-1", Store: "s1", Amount: money.New(100, "CNY"), State: order.Open, Version: 1}
}

func payment() order.Payment {
	return order.Payment{Key: key, Channel: "WECHAT", Account: "shop", Amount: money.New(100, "CNY")}
}

// What a payment means for an order, in every state and for every way in which it may not fit. A payment that fits
// but comes late or twice is real money and never refused.
func TestPay(t *testing.T) {
	as := func(change func(*order.Order)) order.Order { o := placed(); change(&o); return o }
	of := func(minor int64, c money.Currency) order.Payment {
		p := payment()
		p.Amount = money.New(minor, c)
		return p
	}
	at := func(channel, account string) order.Order {
		o := placed()
		o.Channel, o.Account = channel, account
		return o
	}
	paid := as(func(o *order.Order) { o.State, o.PaidBy = order.Paid, "ALIPAY:9:PAYMENT_RECEIVED" })
	closed := as(func(o *order.Order) { o.State = order.Closed })
	for name, test := range map[string]struct {
		order    order.Order
		payment  order.Payment
		decision order.Decision
		why      string
	}{
		"open order, right amount":    {placed(), payment(), order.Settle, ""},
		"a second payment":            {paid, payment(), order.Excess, order.AlreadyPaid},
		"a payment after the close":   {closed, payment(), order.Excess, order.AfterClose},
		"a fen short":                 {placed(), of(99, "CNY"), order.Hold, order.AmountMismatch},
		"a fen too much":              {placed(), of(101, "CNY"), order.Hold, order.AmountMismatch},
		"yuan for fen":                {placed(), of(1, "CNY"), order.Hold, order.AmountMismatch},
		"another currency":            {placed(), of(100, "HKD"), order.Hold, order.CurrencyMismatch},
		"wrong amount on a paid one":  {paid, of(99, "CNY"), order.Hold, order.AmountMismatch},
		"wrong amount after a close":  {closed, of(99, "CNY"), order.Hold, order.AmountMismatch},
		"the channel that it is for":  {at("WECHAT", ""), payment(), order.Settle, ""},
		"another channel":             {at("ALIPAY", ""), payment(), order.Hold, order.AccountMismatch},
		"the account that it is for":  {at("", "shop"), payment(), order.Settle, ""},
		"another account":             {at("", "shop-2"), payment(), order.Hold, order.AccountMismatch},
		"no currency at all":          {placed(), of(100, ""), order.Hold, order.CurrencyMismatch},
		"a payment of another letter": {at("", "Shop"), payment(), order.Hold, order.AccountMismatch},
	} {
		next, decision, why := test.order.Pay(test.payment)
		if decision != test.decision || why != test.why {
			t.Errorf("%s: %s (%s), want %s (%s)", name, decision, why, test.decision, test.why)
		}
		want := test.order
		if decision == order.Settle {
			want.State, want.PaidBy = order.Paid, key
		}
		if next != want {
			t.Errorf("%s: the order became %+v, want %+v", name, next, want)
		}
	}
}

// A late close never overwrites a payment, and closing twice is closing once.
func TestCloseUnpaid(t *testing.T) {
	for _, test := range []struct {
		from, to order.State
		want     order.Decision
	}{
		{order.Open, order.Closed, order.Close}, {order.Closed, order.Closed, order.Nothing},
		{order.Paid, order.Paid, order.Nothing},
	} {
		o := placed()
		o.State = test.from
		next, decision := o.CloseUnpaid()
		want := o
		want.State = test.to
		if decision != test.want || next != want {
			t.Errorf("closing a %s order: %s, %+v", test.from, decision, next)
		}
	}
}

// In whatever order payments and closes arrive, an order is settled at most once, is never opened again, and keeps
// the payment that made it paid.
func TestAnOrderIsSettledAtMostOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, settled, excess := placed(), 0, 0
		payments := 0
		for _, pay := range rapid.SliceOf(rapid.Bool()).Draw(t, "pay or close") {
			before := o
			if pay {
				payments++
				var decision order.Decision
				o, decision, _ = o.Pay(payment())
				switch decision {
				case order.Settle:
					settled++
				case order.Excess:
					excess++
				}
			} else {
				o, _ = o.CloseUnpaid()
			}
			if before.State != order.Open && o != before {
				t.Fatalf("%+v became %+v", before, o)
			}
		}
		if settled > 1 || settled+excess != payments || (o.State == order.Paid) != (settled == 1) {
			t.Fatalf("%d payments: %d settled, %d in excess, %+v", payments, settled, excess, o)
		}
	})
}

func TestValidate(t *testing.T) {
	if err := placed().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*order.Order){
		"no tenant":           func(o *order.Order) { o.Tenant = 0 },
		"negative tenant":     func(o *order.Order) { o.Tenant = -1 },
		"no number":           func(o *order.Order) { o.No = "" },
		"long number":         func(o *order.Order) { o.No = strings.Repeat("1", 65) },
		"space in the number": func(o *order.Order) { o.No = "ORD 1" },
		"accent":              func(o *order.Order) { o.No = "é" },
		"colon":               func(o *order.Order) { o.No = "A:B" },
		"NUL":                 func(o *order.Order) { o.No = "A\x00" },
		"no store":            func(o *order.Order) { o.Store = "" },
		"colon in the store":  func(o *order.Order) { o.Store = "s:1" },
		"long store":          func(o *order.Order) { o.Store = strings.Repeat("s", 65) },
		"nothing to pay":      func(o *order.Order) { o.Amount.Minor = 0 },
		"negative amount":     func(o *order.Order) { o.Amount.Minor = -1 },
		"no currency":         func(o *order.Order) { o.Amount.Currency = "" },
		"small currency":      func(o *order.Order) { o.Amount.Currency = "cny" },
	} {
		o := placed()
		spoil(&o)
		if err := o.Validate(); !errors.Is(err, order.ErrOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
	longest := placed()
	longest.No, longest.Store = strings.Repeat("|", 64), strings.Repeat("s", 64)
	if err := longest.Validate(); err != nil {
		t.Error(err)
	}
}

// The same order is what the merchant said, not what became of it.
func TestSame(t *testing.T) {
	o := placed()
	later := o
	later.State, later.PaidBy, later.Version, later.CreatedUs, later.PaidUs = order.Paid, key, 9, 1, 2
	if !o.Same(later) {
		t.Error("an order is not the same once it is paid")
	}
	for name, change := range map[string]func(*order.Order){
		"tenant": func(o *order.Order) { o.Tenant++ }, "number": func(o *order.Order) { o.No = "ord-1" },
		"store": func(o *order.Order) { o.Store = "s2" }, "amount": func(o *order.Order) { o.Amount.Minor++ },
		"currency": func(o *order.Order) { o.Amount.Currency = "HKD" },
		"channel":  func(o *order.Order) { o.Channel = "SQB" }, "account": func(o *order.Order) { o.Account = "x" },
	} {
		other := o
		change(&other)
		if o.Same(other) {
			t.Errorf("another %s is the same order", name)
		}
	}
}
