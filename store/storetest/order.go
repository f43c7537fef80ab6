package storetest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

func orderClauses() []clause {
	return []clause{
		{"registering an order again returns it, another one under its number is refused", registerAgain},
		{"an order wakes its own unfinished events, whatever their reason, and no others", orderWakes},
		{"order numbers that look alike are different orders", alikeOrders},
		{"orders are listed by number, page by page", orderPages},
		{"an order that nobody registered is unknown", unknownOrder},
		{"a channel payment is recorded once", paymentOnce},
		{"refunds at once are all counted", refundsCount},
	}
}

func registerAgain(f *fixture) {
	first := f.order("ORD-1")
	if first.State != order.Open || first.Version != 1 || first.CreatedUs <= 0 {
		f.Errorf("registered as %+v", first)
	}
	if again := f.order("ORD-1"); again != first {
		f.Errorf("again: %+v", again)
	}
	other := first
	other.Amount = cny(101)
	_, err := f.store.CreateOrder(f.Context(), other)
	f.wantError(err, order.ErrExists)
	var failed atomic.Int64
	together(16, func(int) {
		o, err := f.store.CreateOrder(f.Context(), order.Order{Tenant: f.tenant, No: "ORD-2", Store: "s1", Amount: cny(5)})
		if err != nil || o.Version != 1 {
			failed.Add(1)
		}
	})
	if failed.Load() != 0 {
		f.Errorf("%d of 16 registrations at once failed", failed.Load())
	}
}

func orderWakes(f *fixture) {
	g := f.gate("till-a", longLease)
	for _, event := range []struct{ no, order, reason string }{
		{"waits", "ORD-1", "waiting_order"}, {"another order", "ORD-2", "waiting_order"},
		{"another reason", "ORD-1", "amount_mismatch"},
	} {
		c := f.claim(f.key(event.no))
		c.OrderNo = event.order
		f.must(f.park(g, f.acquire(g, c, gate.First), gate.Parking{Reason: event.reason, Delay: time.Hour}))
	}
	if due := f.due(10); len(due) != 0 {
		f.Fatalf("due before the order came: %+v", due)
	}
	f.order("ORD-1")
	due := f.due(10)
	slices.SortFunc(due, func(a, b gate.Row) int { return strings.Compare(string(a.Key), string(b.Key)) })
	if len(due) != 2 || due[0].Key != f.key("another reason") || due[1].Key != f.key("waits") {
		f.Errorf("woken: %+v", due)
	}
}

func alikeOrders(f *fixture) {
	a, b := f.order("ord-a"), f.order("ORD-A")
	if a.No == b.No {
		f.Errorf("%q and %q", a.No, b.No)
	}
}

func orderPages(f *fixture) {
	for _, no := range []string{"c", "A", "b", "a", "B"} {
		f.order(no)
	}
	var listed string
	after := ""
	for {
		page, err := f.store.Orders(f.Context(), f.tenant, after, 2)
		f.must(err)
		if len(page) == 0 {
			break
		}
		for _, o := range page {
			listed += o.No
			after = o.No
		}
	}
	if listed != "ABabc" {
		f.Errorf("listed %s", listed)
	}
}

func unknownOrder(f *fixture) {
	_, err := f.store.Order(f.Context(), f.tenant, "ORD-1")
	f.wantError(err, order.ErrUnknown)
	_, err = f.store.CreateOrder(f.Context(), order.Order{Tenant: f.tenant, No: "ORD-1", Store: "s1"})
	f.wantError(err, order.ErrOrder)
}

// recorded inserts a captured payment of 1.00 and tells what became of it.
func (f *fixture) recorded(tradeNo string) error {
	p := store.Payment{Tenant: f.tenant, Channel: "WECHAT", TradeNo: tradeNo, Account: "shop", OrderNo: "ORD-1",
		Cause: string(f.key(tradeNo)), Captured: cny(100), Suspense: order.AlreadyPaid}
	return f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertPayment(ctx, p) })
}

func paymentOnce(f *fixture) {
	f.must(f.recorded("T1"))
	if err := f.recorded("T1"); err == nil {
		f.Error("recorded twice")
	}
	payments, err := f.store.Payments(f.Context(), f.tenant, "ORD-1")
	f.must(err)
	want := store.Payment{Tenant: f.tenant, Channel: "WECHAT", TradeNo: "T1", Account: "shop", OrderNo: "ORD-1",
		Cause: string(f.key("T1")), Captured: cny(100), Refunded: cny(0), Suspense: order.AlreadyPaid, Version: 1}
	if len(payments) != 1 || payments[0] != want {
		f.Errorf("payments %+v, want %+v", payments, want)
	}
}

func refundsCount(f *fixture) {
	f.must(f.recorded("T2"))
	together(8, func(i int) {
		err := f.store.Do(f.Context(), func(ctx context.Context, tx *store.Tx) error {
			p, _, err := tx.Payment(ctx, f.tenant, "WECHAT", "T2")
			if err != nil {
				return err
			}
			return tx.AddRefund(ctx, p, cny(10))
		})
		if err != nil {
			f.Errorf("refund %s: %v", strconv.Itoa(i), err)
		}
	})
	payments, err := f.store.Payments(f.Context(), f.tenant, "ORD-1")
	f.must(err)
	if len(payments) != 1 || payments[0].Refunded != cny(80) {
		f.Errorf("payments %+v", payments)
	}
}
