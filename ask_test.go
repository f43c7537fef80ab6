package paidonce_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

// oracle is a channel that is asked. It knows what was paid and answers as the test wants; the adapters' own tests hold
// that real channels' answers become such answers.
type oracle struct {
	account channel.Account

	mu     sync.Mutex
	paid   map[string]channel.Event
	fails  int // questions that get no answer before the next is answered
	asked  map[string]int
	closed []string
}

func newOracle() *oracle {
	return &oracle{account: channel.Account{Tenant: 1, Channel: "WECHAT", Name: "main"}, paid: map[string]channel.Event{},
		asked: map[string]int{}}
}

func (o *oracle) Account() channel.Account { return o.account }

func (o *oracle) Query(_ context.Context, q channel.Question) (channel.Answer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[q.OrderNo]++
	if o.fails > 0 {
		o.fails--
		return channel.Answer{}, fmt.Errorf("%w: timeout", channel.ErrUnanswered)
	}
	e, paid := o.paid[q.OrderNo]
	if !paid {
		return channel.Answer{Standing: channel.StandingOpen, Note: "NOTPAY"}, nil
	}
	return channel.Answer{Standing: channel.StandingPaid, Raw: []byte("signed"),
		Parsed: channel.Parsed{Events: []channel.Event{e}}}, nil
}

func (o *oracle) Close(_ context.Context, q channel.Question) (channel.Answer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = append(o.closed, q.OrderNo)
	return channel.Answer{Standing: channel.StandingClosed, Parsed: channel.Parsed{Events: []channel.Event{{
		Tenant: 1, Channel: "WECHAT", Account: "main", Kind: channel.PaymentClosed, BizNo: []string{"@" + q.OrderNo},
		OrderNo: q.OrderNo}}}}, nil
}

// asking returns a house that asks the oracle about every order that is open for longer than 1 ms.
func asking(t *testing.T, s *store.Store, o *oracle, change func(*paidonce.Options)) *paidonce.House {
	t.Helper()
	return newHouse(t, s, func(opt *paidonce.Options) {
		opt.Payers, opt.AskAfter, opt.AskRate = []channel.Payer{o}, time.Millisecond, 1000
		if change != nil {
			change(opt)
		}
	})
}

// mustAsk lets the order's first question come due, and asks.
func mustAsk(t *testing.T, h *paidonce.House, want int) {
	t.Helper()
	time.Sleep(5 * time.Millisecond)
	if n, err := h.Ask(t.Context()); err != nil || n != want {
		t.Fatalf("%d questions, %v; want %d", n, err, want)
	}
}

func mustState(t *testing.T, s *store.Store, no string, want order.State) {
	t.Helper()
	if o, err := s.Order(t.Context(), 1, no); err != nil || o.State != want {
		t.Fatalf("%s is %s, %v; want %s", no, o.State, err, want)
	}
}

// A callback that never comes is found by asking, and one that comes late is a repeat.
func TestALostCallbackIsFoundByAsking(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		o := newOracle()
		h := asking(t, s, o, nil)
		mustOrder(t, h, "A1", 500)
		o.paid["A1"] = payment("42", "A1", 500)
		mustAsk(t, h, 1)
		mustState(t, s, "A1", order.Paid)
		mustAccept(t, h, payment("42", "A1", 500), paidonce.Repeat)
		if got := net(t, s); got[clearing] != 500 || got[merchant] != -500 {
			t.Fatal(got)
		}
		mustAsk(t, h, 0)
		if open, err := s.OpenQueries(t.Context(), 1, 0, "", 10); err != nil || len(open) != 0 {
			t.Fatalf("a paid order is still listed as open: %+v, %v", open, err)
		}
	})
}

// An order that was paid as usual is not asked about, and its row in the list of questions goes away by itself.
func TestPaidOrdersAreNotAskedAbout(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		o := newOracle()
		h := asking(t, s, o, nil)
		mustOrder(t, h, "A1", 500)
		mustAccept(t, h, payment("42", "A1", 500), paidonce.Booked)
		mustAsk(t, h, 0)
		scopes, err := s.QueryScopes(t.Context(), 0)
		if err != nil || len(scopes) != 0 || o.asked["A1"] != 0 {
			t.Fatalf("%+v, %v, asked %d", scopes, err, o.asked["A1"])
		}
	})
}

// No answer and "not paid yet" prove nothing: the order stays open, is seen with its age and what asking brought, and
// is asked about again, each time later.
func TestWhatCannotBeLearnedStaysVisible(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		o := newOracle()
		o.fails = 1
		h := asking(t, s, o, nil)
		mustOrder(t, h, "A1", 500)
		for i, want := range []string{"WECHAT main: channel: no usable answer: timeout", "WECHAT main: open NOTPAY"} {
			mustAsk(t, h, 1)
			mustState(t, s, "A1", order.Open)
			open, err := s.OpenQueries(t.Context(), 1, 0, "", 10)
			if err != nil || len(open) != 1 || open[0].Answer != want || open[0].Tries != i+1 || open[0].Age <= 0 ||
				open[0].AskedUs == 0 || open[0].DueUs-open[0].AskedUs < 10_000_000 {
				t.Fatalf("%+v, %v", open, err)
			}
			mustAsk(t, h, 0) // not before its time
			dueAgain(t, s)
		}
		risk, err := s.Risk(t.Context(), 1, 0)
		if err != nil || len(risk.Overdue) != 1 || risk.Overdue[0].Minor != 500 || risk.Overdue[0].Reason != "asked" {
			t.Fatalf("%+v, %v", risk, err)
		}
	})
}

// dueAgain makes the next questions due now: the ladder's pauses are minutes.
func dueAgain(t *testing.T, s *store.Store) {
	t.Helper()
	if _, err := s.Pools().Main.ExecContext(t.Context(), "UPDATE order_query SET due_us = asked_us"); err != nil {
		t.Fatal(err)
	}
}

// Of many instances one puts each question.
func TestInstancesShareTheQuestions(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		o := newOracle()
		const orders, instances = 20, 4
		houses := make([]*paidonce.House, instances)
		for i := range houses {
			houses[i] = asking(t, s, o, nil)
		}
		for i := range orders {
			no := fmt.Sprint("A", i)
			mustOrder(t, houses[0], no, 500)
			o.paid[no] = payment(fmt.Sprint(i), no, 500)
		}
		time.Sleep(5 * time.Millisecond)
		var group sync.WaitGroup
		for _, h := range houses {
			group.Go(func() {
				if _, err := h.Ask(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		for i := range orders {
			if n := o.asked[fmt.Sprint("A", i)]; n != 1 {
				t.Errorf("order %d was asked about %d times", i, n)
			}
		}
		if got := net(t, s); got[clearing] != orders*500 {
			t.Fatal(got)
		}
	})
}

// An unpaid order past its age is closed on the channel's word; one that was paid meanwhile is booked.
func TestAnOldUnpaidOrderIsClosedOnTheChannelsWord(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		o := newOracle()
		h := asking(t, s, o, func(opt *paidonce.Options) { opt.CloseAfter = time.Millisecond })
		mustOrder(t, h, "A1", 500)
		mustOrder(t, h, "A2", 500)
		o.paid["A2"] = payment("42", "A2", 500)
		mustAsk(t, h, 2)
		mustState(t, s, "A1", order.Closed)
		mustState(t, s, "A2", order.Paid)
		if len(o.closed) != 1 {
			t.Fatalf("asked to close %v", o.closed)
		}
		mustAccept(t, h, payment("43", "A1", 500), paidonce.Booked) // it was paid after all, and came late
		if got := net(t, s); got[merchant] != -500 || got[excess] != -500 {
			t.Fatal(got)
		}
	})
}

// The background work asks, books and ends; an answer about another order is not believed.
func TestTheBackgroundWorkAsks(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		o := newOracle()
		h := asking(t, s, o, func(opt *paidonce.Options) { opt.Poll = 10 * time.Millisecond })
		mustOrder(t, h, "A1", 500)
		mustOrder(t, h, "A2", 500)
		o.paid["A1"], o.paid["A2"] = payment("42", "A1", 500), payment("42", "A1", 500)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { h.Run(ctx); close(ended) }()
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			open, err := s.OpenQueries(t.Context(), 1, 0, "", 10)
			if err != nil || time.Now().After(end) {
				t.Fatalf("%+v, %v", open, err)
			}
			if len(open) == 1 && open[0].OrderNo == "A2" && open[0].Answer != "" {
				break
			}
		}
		stop()
		<-ended
		mustState(t, s, "A2", order.Open)
	})
}
