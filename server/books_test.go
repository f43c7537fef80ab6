package server_test

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/server"
)

func TestTheJournalByEventAndByOrder(t *testing.T) {
	w := bookedWorld(t)
	byEvent, byOrder := w.get(1, "/v1/journal?cause="+paymentKey), w.get(1, "/v1/journal?order_no=ORDER-1")
	if byEvent.rows(t, "bookings") != 1 || byEvent.body != byOrder.body {
		t.Errorf("by event %s\nby order %s", byEvent.body, byOrder.body)
	}
	if got := w.get(1, "/v1/journal?cause=SQB:1:PAYMENT_RECEIVED"); got.rows(t, "bookings") != 0 {
		t.Errorf("an event that never was: %s", got.body)
	}
}

// A close moves no money. Its booking has an empty list of entries; no list of the API is ever null.
func TestAnEventThatMovesNoMoneyIsBookedWithoutEntries(t *testing.T) {
	w := newWorld(t)
	w.order(1, "ORDER-1")
	closed := strings.Replace(string(w.paid("7894259244067349", "ORDER-1")), `"PAID"`, `"PAY_CANCELED"`, 1)
	if got := w.notify("shop-1", []byte(closed)); !got.held() {
		t.Fatalf("answer %d %q", got.status, got.body)
	}
	const key = "SQB:7894259244067349:PAYMENT_CLOSED"
	for _, path := range []string{"/v1/journal?cause=" + key, "/v1/events/" + key, "/v1/orders/ORDER-1"} {
		got := w.get(1, path)
		if got.rows(t, "bookings") != 1 || got.rows(t, "bookings", 0, "entries") != 0 || strings.Contains(got.body, "null") {
			t.Errorf("%s: %s", path, got.body)
		}
	}
	if got := w.get(1, "/v1/orders/ORDER-1"); got.field(t, "order", "state") != "closed" {
		t.Errorf("order %s", got.body)
	}
}

func TestTheTrialBalance(t *testing.T) {
	w := newWorld(t)
	empty := w.get(1, "/v1/trial-balance")
	if empty.rows(t, "accounts") != 0 || empty.rows(t, "sums") != 0 || empty.field(t, "balanced") != true {
		t.Errorf("empty books: %s", empty.body)
	}
	w = bookedWorld(t)
	accounts, balance := w.get(1, "/v1/accounts"), w.get(1, "/v1/trial-balance")
	if accounts.rows(t, "accounts") != 2 || balance.rows(t, "accounts") != 2 {
		t.Fatalf("accounts %s\nbalance %s", accounts.body, balance.body)
	}
	for i, want := range []struct{ account, debit, credit, net string }{
		{"asset:clearing:sqb:shop-1", "1999", "0", "1999"},
		{"liability:merchant:s1", "0", "1999", "-1999"},
	} {
		if accounts.field(t, "accounts", i, "account") != want.account ||
			accounts.field(t, "accounts", i, "debit", "minor") != want.debit ||
			accounts.field(t, "accounts", i, "credit", "minor") != want.credit ||
			accounts.field(t, "accounts", i, "net", "minor") != want.net {
			t.Errorf("row %d is not %v: %s", i, want, accounts.body)
		}
	}
	for _, side := range []string{"debit", "credit"} {
		if balance.field(t, "sums", 0, side, "minor") != "1999" || balance.field(t, "sums", 0, side, "currency") != "CNY" {
			t.Errorf("sum of %s: %s", side, balance.body)
		}
	}
	if balance.field(t, "balanced") != true || balance.field(t, "sums", 0, "balanced") != true {
		t.Errorf("not balanced: %s", balance.body)
	}
}

// wrongBooks has a trial balance that storage of ours would never give.
type wrongBooks struct {
	server.Store
	balances []ledger.Balance
}

func (wrongBooks) TokenTenant(context.Context, string) (int64, error) { return 1, nil }

func (b wrongBooks) TrialBalance(context.Context, int64) ([]ledger.Balance, error) {
	return b.balances, nil
}

// Currencies are never added to each other: two that are off by the same amount do not make it good.
func TestATrialBalanceThatIsOffSaysSo(t *testing.T) {
	w := newWorld(t)
	balance := func(rows ...ledger.Balance) reply {
		handler, err := server.New(server.Options{House: w.house, Store: wrongBooks{balances: rows}, Clock: fixed})
		w.must(err)
		return ask(t, handler, "/v1/trial-balance")
	}
	got := balance(ledger.Balance{Account: "asset:a", Currency: "CNY", Debit: 5, Credit: 0},
		ledger.Balance{Account: "asset:a", Currency: "JPY", Debit: 7, Credit: 7},
		ledger.Balance{Account: "asset:a", Currency: "USD", Debit: 0, Credit: 5})
	if got.field(t, "balanced") != false || got.rows(t, "sums") != 3 {
		t.Fatalf("answer %s", got.body)
	}
	for i, want := range []bool{false, true, false} {
		if got.field(t, "sums", i, "balanced") != want {
			t.Errorf("sum %d: %s", i, got.body)
		}
	}
	balance(ledger.Balance{Account: "asset:a", Currency: "CNY", Debit: math.MaxInt64},
		ledger.Balance{Account: "asset:b", Currency: "CNY", Debit: 1}).
		problem(t, http.StatusInternalServerError, "sum_out_of_range")
}

func TestUnfinishedClaimsSayWhyAndWhenAgain(t *testing.T) {
	w := bookedWorld(t)
	got := w.get(1, "/v1/claims?state=unfinished")
	if got.rows(t, "claims") != 1 {
		t.Fatalf("claims %s", got.body)
	}
	for field, want := range map[string]any{"key": "SQB:7894259244067350:PAYMENT_RECEIVED", "state": "open",
		"reason": "waiting_order", "attempts": "1", "order_no": "ORDER-2", "instance": "till-a",
		"detail": "no order ORDER-2 yet"} {
		if value := got.field(t, "claims", 0, field); value != want {
			t.Errorf("%s is %v, want %v", field, value, want)
		}
	}
	if next, _ := got.field(t, "claims", 0, "next_try_us").(string); len(next) != 16 {
		t.Errorf("next try %q is no time", next)
	}
	if age, _ := got.field(t, "claims", 0, "age_seconds").(string); age == "" || len(age) > 2 {
		t.Errorf("age %q", age)
	}
	if got := w.get(1, "/v1/claims?reason=amount_mismatch"); got.rows(t, "claims") != 0 {
		t.Errorf("another reason: %s", got.body)
	}
	w.notify("shop-1", w.paid("7894259244067351", "ORDER-3"))
	page := w.get(1, "/v1/claims?limit=1")
	if page.rows(t, "claims") != 1 || page.field(t, "next") != "SQB:7894259244067350:PAYMENT_RECEIVED" {
		t.Fatalf("page 1: %s", page.body)
	}
	page = w.get(1, "/v1/claims?limit=1&after="+page.field(t, "next").(string))
	if page.field(t, "claims", 0, "key") != "SQB:7894259244067351:PAYMENT_RECEIVED" {
		t.Errorf("page 2: %s", page.body)
	}

	w.order(1, "ORDER-2")
	w.order(1, "ORDER-3")
	if _, err := w.house.Redrive(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	if got := w.get(1, "/v1/claims"); got.rows(t, "claims") != 0 {
		t.Errorf("the orders came and claims are left: %s", got.body)
	}
}

func TestInheritedClaimsAreListedUntilProved(t *testing.T) {
	w := newWorld(t)
	_, err := w.store.Pools().Main.ExecContext(t.Context(), `INSERT INTO channel_idempotent (tenant_id, idempotent_key,
 event_type, digest, state, owner, fence, lease_until_us, instance, outcome, created_us, handled_us) VALUES (1,
 'SQB:1:PAYMENT_RECEIVED', 'PAYMENT_RECEIVED', 'adopted', 3, 'adopted', 1, 0, '', '', 1, 1)`)
	w.must(err)
	got := w.get(1, "/v1/claims/inherited")
	if got.rows(t, "claims") != 1 || got.field(t, "claims", 0, "state") != "inherited" {
		t.Errorf("inherited %s", got.body)
	}
	if got := w.get(1, "/v1/claims/inherited?after=SQB:1:PAYMENT_RECEIVED"); got.rows(t, "claims") != 0 {
		t.Errorf("after the last: %s", got.body)
	}
}

func TestTheLifeOfAnEvent(t *testing.T) {
	w := bookedWorld(t)
	w.notify("shop-1", w.paid("7894259244067349", "ORDER-1"))
	got := w.get(1, "/v1/events/"+paymentKey)
	if got.rows(t, "deliveries") != 2 || got.rows(t, "bookings") != 1 || got.rows(t, "steps") != 0 {
		t.Fatalf("event %s", got.body)
	}
	for _, want := range []struct {
		value any
		path  []any
	}{
		{"finished", []any{"claim", "state"}},
		{"till-a", []any{"claim", "instance"}},
		{"first", []any{"deliveries", 0, "verdict"}},
		{"done", []any{"deliveries", 1, "verdict"}},
		{"notify", []any{"deliveries", 1, "source"}},
	} {
		if value := got.field(t, want.path...); value != want.value {
			t.Errorf("%v is %v, want %v", want.path, value, want.value)
		}
	}
	text, _ := got.field(t, "explanation").(string)
	for _, want := range []string{"in attempt 1 by instance till-a", "It was the first", "It was a repeat",
		"one booking"} {
		if !strings.Contains(text, want) {
			t.Errorf("the explanation lacks %q:\n%s", want, text)
		}
	}
}

// A key may hold slashes and percent codes; escaped as a path element it arrives as it is.
func TestKeysWithSlashesAndPercentCodesAreFound(t *testing.T) {
	w := newWorld(t)
	key, err := gate.NewKey("SQB", "PAYMENT_RECEIVED", "7894", "a b", "50%")
	w.must(err)
	_, err = w.house.Gate().TryAcquire(t.Context(), 1, key)
	w.must(err)
	got := w.get(1, "/v1/events/"+url.PathEscape(string(key)))
	if got.status != http.StatusOK || got.field(t, "claim", "key") != string(key) {
		t.Fatalf("key %s: %d %s", key, got.status, got.body)
	}
}
