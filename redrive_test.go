package paidonce_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/settle"
	"github.com/paidonce/paidonce/store"
)

// row reads the claim of a payment.
func row(t *testing.T, s *store.Store, tradeNo string) gate.Row {
	t.Helper()
	r, err := s.Lookup(t.Context(), 1, gate.Key("WECHAT:"+tradeNo+":PAYMENT_RECEIVED"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var errBroken = errors.New("broken on purpose")

// Waiting is not failing: however often a channel repeats itself before the order comes, the first technical failure
// afterwards is the first one.
func TestWaitingDoesNotWearAnEventOut(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		broken := false
		h := newHouse(t, s, func(o *paidonce.Options) {
			o.Hook = func(point string) error {
				if broken && point == paidonce.PointInBooking {
					return errBroken
				}
				return nil
			}
		})
		for range 24 {
			mustAccept(t, h, payment("42", "A1", 500), paidonce.Parked)
		}
		mustOrder(t, h, "A1", 500)
		broken = true
		mustAccept(t, h, payment("42", "A1", 500), paidonce.Pending)
		if r := row(t, s, "42"); r.Reason != paidonce.ReasonFailed || r.Failures != 1 || r.Attempts != 25 {
			t.Fatalf("after one failure: %+v", r)
		}
	})
}

// What comes between looking and parking is not forgotten, even if nobody is there any more to look again.
func TestWhatComesWhileAnEventIsBeingParkedWakesIt(t *testing.T) {
	for name, test := range map[string]struct {
		first   channel.Event
		between func(t *testing.T, h *paidonce.House)
	}{
		"its order": {payment("42", "A1", 500), func(t *testing.T, h *paidonce.House) { mustOrder(t, h, "A1", 500) }},
		"the true report": {payment("42", "A0", 1), func(t *testing.T, h *paidonce.House) {
			r, err := h.Accept(t.Context(), payment("42", "A0", 500), gate.Delivery{Source: "notify"})
			if err != nil || r.Status != paidonce.Deviating {
				t.Errorf("the true report, while the other is being parked: %+v, %v", r, err)
			}
		}},
		"its payment": {refund("r1", "7", "A0", 500), func(t *testing.T, h *paidonce.House) {
			mustAccept(t, h, payment("7", "A0", 500), paidonce.Booked)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *store.Store) {
				other := newHouse(t, s, nil)
				mustOrder(t, other, "A0", 500)
				h := newHouse(t, s, func(o *paidonce.Options) {
					o.Hook = func(point string) error {
						if point == paidonce.PointBeforePark {
							test.between(t, other)
						}
						return nil
					}
				})
				// Repeats make the pause until the next look long, so that only the wake-up can be what drives it on.
				for range 3 {
					if _, err := other.Accept(t.Context(), test.first, gate.Delivery{Source: "notify"}); err != nil {
						t.Fatal(err)
					}
				}
				mustAccept(t, h, test.first, paidonce.Parked)
				if n, err := other.Redrive(t.Context(), 10); n != 1 || err != nil {
					t.Fatalf("driven on: %d, %v", n, err)
				}
			})
		})
	}
}

// A claim whose holder dies every time is put on the shelf before it is tried once more.
func TestAnEventThatEndsEveryProcessIsShelved(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		h := newHouse(t, s, nil)
		mustOrder(t, h, "A1", 500)
		mustAccept(t, h, payment("42", "A2", 500), paidonce.Parked)
		// A process that dies leaves a lease that runs out, and a failure that was counted when it was taken.
		for range 20 {
			r := row(t, s, "42")
			seat := gate.Seat{Owner: fmt.Sprintf("dead-%d", r.Fence), Instance: "dead", Lease: time.Millisecond}
			if _, ok, err := s.Take(t.Context(), r, seat); !ok || err != nil {
				t.Fatal(ok, err)
			}
			for !row(t, s, "42").LeaseOver {
				time.Sleep(time.Millisecond)
			}
		}
		mustAccept(t, h, payment("42", "A2", 500), paidonce.Pending)
		r := row(t, s, "42")
		if r.Reason != paidonce.ReasonShelved || !strings.Contains(r.Detail, "may end the process") {
			t.Fatalf("%+v", r)
		}
		mustOrder(t, h, "A2", 500) // a shelved event is not given up
		if n, err := h.Redrive(t.Context(), 10); n != 1 || err != nil {
			t.Fatalf("driven on: %d, %v", n, err)
		}
	})
}

// slow is a settlement step that takes its time and then fails.
type slow struct{ tries *atomic.Int64 }

func (s slow) Plan(settle.Case, settle.Draft) (*ledger.Entry, settle.Draft, error) {
	s.tries.Add(1)
	time.Sleep(50 * time.Millisecond)
	return nil, settle.Draft{}, errBroken
}

// A thousand slow and broken events of one tenant do not stand in the way of nine others.
func TestOnePoisonedTenantDelaysNobodyElse(t *testing.T) {
	const poisoned, healthy, tenants = 1000, 10, 9
	eachEngine(t, func(t *testing.T, s *store.Store) {
		var tries atomic.Int64
		rules, err := settle.NewRules(settle.Rule{Tenant: 1, Chain: settle.Chain{Version: "poison",
			Steps: []settle.Step{slow{&tries}}}})
		if err != nil {
			t.Fatal(err)
		}
		h := newHouse(t, s, func(o *paidonce.Options) { o.Rules, o.Poll = rules, 50*time.Millisecond })
		g := h.Gate()
		hold := func(tenant int64, no string) {
			e := payment(no, "A"+no, 5)
			e.Tenant = tenant
			_, err := s.CreateOrder(t.Context(), order.Order{Tenant: tenant, No: "A" + no, Store: "s1",
				Amount: money.New(5, "CNY")})
			if err != nil {
				t.Fatal(err)
			}
			text, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			ticket, err := g.Acquire(t.Context(), gate.Claim{Tenant: tenant, Key: gate.Key("WECHAT:" + no + ":PAYMENT_RECEIVED"),
				Digest: e.Digest(), Event: text, OrderNo: e.OrderNo, Raw: gate.Delivery{Source: "notify"}})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Do(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				return g.Park(ctx, tx, ticket, gate.Parking{Reason: paidonce.ReasonFailed, Failures: 1})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range poisoned {
			hold(1, fmt.Sprint("p", i))
		}
		for i := range healthy * tenants {
			hold(int64(2+i%tenants), fmt.Sprint("h", i))
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { h.Run(ctx); close(ended) }()
		for tenant := int64(2); tenant < 2+tenants; tenant++ {
			for unfinished(t, s, tenant) > 0 {
				time.Sleep(5 * time.Millisecond)
			}
		}
		wasted := tries.Load()
		stop()
		<-ended
		if wasted >= poisoned/2 || unfinished(t, s, 1) != poisoned {
			t.Errorf("%d poisoned attempts came before the last healthy event", wasted)
		}
	})
}

func unfinished(t *testing.T, s *store.Store, tenant int64) int {
	t.Helper()
	rows, err := s.Unfinished(t.Context(), tenant, "", "", 2000)
	if err != nil {
		t.Fatal(err)
	}
	return len(rows)
}
