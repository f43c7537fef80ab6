package paidonce_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

var act = paidonce.Act{Actor: "li", Why: "the customer called"}

const excess = "suspense:excess:wechat"

// asked makes a report come in as the channel's answer to a question.
func asked(t *testing.T, h *paidonce.House, e channel.Event, want paidonce.Status) {
	t.Helper()
	r, err := h.Accept(t.Context(), e, gate.Delivery{Source: "query", Body: []byte("answer")})
	if err != nil || r.Status != want {
		t.Fatalf("answer %v = %+v, %v; want %s", e.BizNo, r, err, want)
	}
}

// More money than the order asks for is believed when the channel says so twice: in its notification and when it is
// asked. It is never the order's.
func TestAnOverpaymentGoesToSuspenseOnceTheChannelConfirmsIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		h := newHouse(t, s, nil)
		mustOrder(t, h, "A1", 500)
		mustAccept(t, h, payment("42", "A1", 700), paidonce.Parked)
		mustAccept(t, h, payment("42", "A1", 700), paidonce.Parked) // a repeat is no second witness
		asked(t, h, payment("42", "A1", 700), paidonce.Booked)
		if got := net(t, s); got[clearing] != 700 || got[excess] != -700 || got[merchant] != 0 {
			t.Fatal(got)
		}
		list, err := s.SuspenseList(t.Context(), 1, false)
		if err != nil || len(list) != 1 || list[0].Reason != order.Overpaid || list[0].Left.Minor != 700 ||
			list[0].OrderNo != "A1" || list[0].AgeUs < 0 {
			t.Fatalf("%+v, %v", list, err)
		}
		mustAccept(t, h, payment("43", "A1", 500), paidonce.Booked) // the order is still open
		if got := net(t, s); got[merchant] != -500 || got[excess] != -700 {
			t.Fatal(got)
		}
	})
}

// Less money than the order asks for stays held, however often the channel says so: nobody but a person knows whose
// it is.
func TestAnUnderpaymentWaitsForAPerson(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		h := newHouse(t, s, nil)
		mustOrder(t, h, "A1", 500)
		mustAccept(t, h, payment("42", "A1", 300), paidonce.Parked)
		asked(t, h, payment("42", "A1", 300), paidonce.Parked)
		r, err := h.PostToSuspense(t.Context(), 1, "WECHAT:42:PAYMENT_RECEIVED", act)
		if err != nil || r.Status != paidonce.Booked {
			t.Fatal(r, err)
		}
		if got := net(t, s); got[excess] != -300 {
			t.Fatal(got)
		}
	})
}

// Money that fits nowhere is found again, moved to the order that a person names, and refunded from where it lies.
func TestMoneyLeavesSuspenseByMoveAndByRefund(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		h := newHouse(t, s, nil)
		mustOrder(t, h, "A1", 500)
		mustAccept(t, h, payment("42", "A1", 700), paidonce.Parked)
		asked(t, h, payment("42", "A1", 700), paidonce.Booked)
		move := paidonce.Move{Tenant: 1, Channel: "WECHAT", TradeNo: "42", No: "m1", OrderNo: "A1",
			Amount: money.New(500, "CNY")}
		for _, want := range []paidonce.Status{paidonce.Booked, paidonce.Repeat} {
			if r, err := h.MoveFromSuspense(t.Context(), move, act); err != nil || r.Status != want {
				t.Fatal(r, err)
			}
		}
		if got := net(t, s); got[merchant] != -500 || got[excess] != -200 || got[clearing] != 700 {
			t.Fatal(got)
		}
		if o, err := s.Order(t.Context(), 1, "A1"); err != nil || o.State != order.Paid {
			t.Fatalf("%+v, %v", o, err)
		}
		move.Amount = money.New(1, "CNY")
		if r, err := h.MoveFromSuspense(t.Context(), move, act); !errors.Is(err, paidonce.ErrUnfit) {
			t.Fatalf("one number for two moves: %+v, %v", r, err)
		}
		move.No, move.Amount = "m2", money.New(201, "CNY")
		if r, err := h.MoveFromSuspense(t.Context(), move, act); !errors.Is(err, paidonce.ErrUnfit) {
			t.Fatalf("moved more than there is: %+v, %v", r, err)
		}
		mustAccept(t, h, refund("r1", "42", "A1", 200), paidonce.Booked) // what was too much goes back
		if got := net(t, s); got[merchant] != -500 || got[excess] != 0 || got[clearing] != 500 {
			t.Fatal(got)
		}
		mustAccept(t, h, refund("r2", "42", "A1", 500), paidonce.Booked) // and then the sale is undone
		for account, sum := range net(t, s) {
			if sum != 0 {
				t.Errorf("%s is left with %d after everything was refunded", account, sum)
			}
		}
		if list, err := s.SuspenseList(t.Context(), 1, false); err != nil || len(list) != 0 {
			t.Fatalf("%+v, %v", list, err)
		}
	})
}

// Whatever comes about one order in whatever sequence, the states are legal and the money is where it belongs.
func TestEverySequenceOfEventsOfOneOrderEndsTheSame(t *testing.T) {
	closed := payment("", "A1", 0)
	closed.Kind, closed.BizNo, closed.TradeNo, closed.Amount = channel.PaymentClosed, []string{"@A1"}, "", money.Amount{}
	failed := refund("r9", "42", "A1", 100)
	failed.Kind = channel.RefundFailed
	other := payment("77", "A1", 500)
	other.Channel = "ALIPAY"
	events := []channel.Event{payment("42", "A1", 500), failed, closed, payment("42", "A1", 500),
		refund("r1", "42", "A1", 200), other}
	eachEngine(t, func(t *testing.T, s *store.Store) {
		h := newHouse(t, s, nil)
		tenant, seen := int64(0), map[string]bool{}
		permute(events, func(sequence []channel.Event) {
			name := ""
			for _, e := range sequence {
				name += fmt.Sprint(" ", e.Channel, e.Kind)
			}
			if seen[name] {
				return // the two reports of one payment have changed places
			}
			seen[name] = true
			tenant++
			_, err := h.CreateOrder(t.Context(), order.Order{Tenant: tenant, No: "A1", Store: "s1",
				Amount: money.New(500, "CNY")})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range sequence {
				e.Tenant = tenant
				if _, err := h.Accept(t.Context(), e, gate.Delivery{Source: "notify"}); err != nil {
					t.Fatal(name, err)
				}
			}
			if _, err := h.Redrive(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
			checkOneOrder(t, s, tenant, name)
		})
		if tenant != 360 {
			t.Fatalf("%d sequences", tenant)
		}
	})
}

func checkOneOrder(t *testing.T, s *store.Store, tenant int64, name string) {
	t.Helper()
	balances, err := s.TrialBalance(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	held := int64(0) // merchant and suspense together: which payment is the excess one follows the order of booking
	for _, b := range balances {
		sums[string(b.Account)] = b.Net()
		if b.Account != "asset:clearing:wechat:main" && b.Account != "asset:clearing:alipay:main" {
			held += b.Net()
		}
	}
	o, err := s.Order(t.Context(), tenant, "A1")
	if err != nil {
		t.Fatal(err)
	}
	if n := unfinished(t, s, tenant); n != 0 || held != -800 || sums["asset:clearing:wechat:main"] != 300 ||
		sums["asset:clearing:alipay:main"] != 500 || o.State == order.Open {
		t.Fatalf("after%s: %v, order %s, %d unfinished", name, sums, o.State, n)
	}
}

func permute(events []channel.Event, visit func([]channel.Event)) {
	var walk func(int)
	walk = func(at int) {
		if at == len(events) {
			visit(events)
			return
		}
		for i := at; i < len(events); i++ {
			events[at], events[i] = events[i], events[at]
			walk(at + 1)
			events[at], events[i] = events[i], events[at]
		}
	}
	walk(0)
}
