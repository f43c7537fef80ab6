package paidonce_test

import (
	"context"
	"testing"
	"time"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/internal/testdb"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/migrate"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

// eachEngine runs a test against a fresh, migrated and checked database of every engine.
func eachEngine(t *testing.T, test func(t *testing.T, s *store.Store)) {
	eachEngineAt(t, func(t *testing.T, _ testdb.Engine, s *store.Store) { test(t, s) })
}

// eachEngineAt also says where the database is, for processes of their own.
func eachEngineAt(t *testing.T, test func(t *testing.T, e testdb.Engine, s *store.Store)) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		s, err := openEngine(e.Name, e.DSN, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if _, err := migrate.Up(t.Context(), s.Engine(), s.Pools().Main, s.Schema()); err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, e, s)
	})
}

func newHouse(t *testing.T, s *store.Store, change func(*paidonce.Options)) *paidonce.House {
	t.Helper()
	opt := paidonce.Options{Store: s, Instance: "test"}
	if change != nil {
		change(&opt)
	}
	h, err := paidonce.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func payment(tradeNo, orderNo string, minor int64) channel.Event {
	return channel.Event{Tenant: 1, Channel: "WECHAT", Account: "main", Kind: channel.PaymentReceived,
		BizNo: []string{tradeNo}, OrderNo: orderNo, TradeNo: tradeNo, Amount: money.New(minor, money.CNY)}
}

func refund(id, tradeNo, orderNo string, minor int64) channel.Event {
	e := payment(tradeNo, orderNo, minor)
	e.Kind, e.BizNo, e.RefundNo = channel.RefundSucceeded, []string{id}, "R"+id
	return e
}

func mustAccept(t *testing.T, h *paidonce.House, e channel.Event, want paidonce.Status) {
	t.Helper()
	r, err := h.Accept(t.Context(), e, gate.Delivery{Source: "notify", Body: []byte("raw")})
	if err != nil || r.Status != want {
		t.Fatalf("Accept(%v) = %+v, %v; want %s", e.BizNo, r, err, want)
	}
}

func mustOrder(t *testing.T, h *paidonce.House, no string, minor int64) {
	t.Helper()
	_, err := h.CreateOrder(t.Context(), order.Order{Tenant: 1, No: no, Store: "s1", Amount: money.New(minor, money.CNY)})
	if err != nil {
		t.Fatal(err)
	}
}

// net reads the books: debits minus credits per account.
func net(t *testing.T, s *store.Store) map[string]int64 {
	t.Helper()
	balances, err := s.TrialBalance(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	net, sum := map[string]int64{}, int64(0)
	for _, b := range balances {
		net[string(b.Account)] = b.Net()
		sum += b.Net()
	}
	if sum != 0 {
		t.Fatalf("books are off by %d: %v", sum, balances)
	}
	return net
}

const clearing, merchant = "asset:clearing:wechat:main", "liability:merchant:s1"

func TestRepeatedAndParallelDeliveriesBookOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		h := newHouse(t, s, nil)
		mustOrder(t, h, "A1", 1999)
		const parallel = 64
		failed := make(chan error)
		for range parallel {
			go func() {
				_, err := h.Accept(context.Background(), payment("42", "A1", 1999), gate.Delivery{Source: "notify"})
				failed <- err
			}()
		}
		for range parallel {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		mustAccept(t, h, payment("42", "A1", 1999), paidonce.Repeat)
		if got := net(t, s); got[clearing] != 1999 || got[merchant] != -1999 {
			t.Fatal(got)
		}
		line, err := s.Timeline(t.Context(), 1, "WECHAT:42:PAYMENT_RECEIVED")
		if err != nil || len(line.Bookings) != 1 || line.Claim.State != gate.Finished {
			t.Fatalf("%+v, %v", line, err)
		}
	})
}

func TestCallbackBeforeItsOrderIsBookedWhenTheOrderComes(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		h := newHouse(t, s, nil)
		mustAccept(t, h, payment("42", "A1", 500), paidonce.Parked)
		mustOrder(t, h, "A1", 500)
		if n, err := h.Redrive(t.Context(), 10); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if got := net(t, s); got[clearing] != 500 {
			t.Fatal(got)
		}
	})
}

func TestWrongAmountFirstAndTheRightOneNextEndsBookedRight(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		h := newHouse(t, s, nil)
		mustOrder(t, h, "A1", 500)
		mustAccept(t, h, payment("42", "A1", 1), paidonce.Parked)
		mustAccept(t, h, payment("42", "A1", 500), paidonce.Booked)
		mustAccept(t, h, payment("42", "A1", 1), paidonce.Deviating)
		if got := net(t, s); got[clearing] != 500 {
			t.Fatal(got)
		}
	})
}

func TestRefundBeforeItsPaymentAndInParts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		h := newHouse(t, s, nil)
		mustOrder(t, h, "A1", 500)
		mustAccept(t, h, refund("r1", "42", "A1", 200), paidonce.Parked)
		mustAccept(t, h, payment("42", "A1", 500), paidonce.Booked)
		if n, err := h.Redrive(t.Context(), 10); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		mustAccept(t, h, refund("r2", "42", "A1", 300), paidonce.Booked)
		mustAccept(t, h, refund("r2", "42", "A1", 300), paidonce.Repeat)
		if got := net(t, s); got[clearing] != 0 || got[merchant] != 0 {
			t.Fatal(got)
		}
	})
}

func TestASecondPaymentOfOneOrderGoesToSuspense(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		h := newHouse(t, s, nil)
		mustOrder(t, h, "A1", 500)
		mustAccept(t, h, payment("42", "A1", 500), paidonce.Booked)
		mustAccept(t, h, payment("43", "A1", 500), paidonce.Booked)
		if got := net(t, s); got[clearing] != 1000 || got["suspense:excess:wechat"] != -500 {
			t.Fatal(got)
		}
	})
}

func TestAFailureAfterTheClaimIsBookedByRedrive(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		fail := true
		h := newHouse(t, s, func(o *paidonce.Options) {
			o.Hook = func(point string) error {
				if point == paidonce.PointInBooking && fail {
					return context.DeadlineExceeded
				}
				return nil
			}
		})
		mustOrder(t, h, "A1", 500)
		mustAccept(t, h, payment("42", "A1", 500), paidonce.Pending)
		fail = false
		mustAccept(t, h, payment("42", "A1", 500), paidonce.Booked) // a repeat drives it on
		if got := net(t, s); got[clearing] != 500 {
			t.Fatal(got)
		}
	})
}

func TestTheLedgerVerifierFindsWhatWasChanged(t *testing.T) {
	tampering := map[string]struct {
		statement string
		want      ledger.Fault
	}{
		"edit":            {"UPDATE posting SET amount_minor = amount_minor + 1", ledger.Edited},
		"deletion":        {"DELETE FROM posting", ledger.Edited},
		"end of chain":    {"DELETE FROM seal", ledger.Deleted},
		"unclaimed entry": {"DELETE FROM channel_idempotent", ledger.Inserted},
	}
	for name, tamper := range tampering {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *store.Store) {
				var head ledger.Head
				h := newHouse(t, s, func(o *paidonce.Options) { o.OnHead = func(l paidonce.LedgerHead) { head = l } })
				mustOrder(t, h, "A1", 500)
				mustAccept(t, h, payment("42", "A1", 500), paidonce.Booked)
				h.Seal(t.Context())
				if r, err := ledger.Verify(t.Context(), s, 1, &head); err != nil || len(r.Findings) != 0 || r.Bookings != 1 {
					t.Fatalf("untouched books: %+v, %v", r, err)
				}
				if _, err := s.Pools().Main.ExecContext(t.Context(), tamper.statement); err != nil {
					t.Fatal(err)
				}
				report, err := ledger.Verify(t.Context(), s, 1, &head)
				if err != nil {
					t.Fatal(err)
				}
				for _, finding := range report.Findings {
					if finding.Fault == tamper.want {
						return
					}
				}
				t.Fatalf("not found: %+v", report)
			})
		})
	}
}
