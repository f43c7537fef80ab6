package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const because = `{"actor":"li","why":"the customer called"}`

// What is held can be looked at, tried out without a trace, and ended by a person, who has to say why.
func TestAHeldPaymentIsDecidedByAPerson(t *testing.T) {
	w := newWorld(t)
	w.order(1, "B1")
	if got := w.notify("shop-1", w.paid("77", "no-such-order")); got.body != "success" {
		t.Fatal(got)
	}
	const claim = "/v1/claims/SQB%3A77%3APAYMENT_RECEIVED"
	held := w.get(1, "/v1/claims")
	if held.field(t, "claims", 0, "reason") != "waiting_order" || held.field(t, "claims", 0, "amount", "minor") != "1999" {
		t.Fatal(held.body)
	}
	for range 2 { // the second look sees what the first saw
		if got := w.get(1, claim+"/forecast"); got.field(t, "would_be_booked") != false ||
			got.field(t, "reason") != "waiting_order" {
			t.Fatal(got.body)
		}
	}
	for name, test := range map[string]struct {
		tenant     int64
		path, body string
		status     int
		problem    string
	}{
		"no reason":         {1, claim + "/reject", `{"actor":"li","why":""}`, 422, "urn:paidonce:request_invalid"},
		"control character": {1, claim + "/reject", `{"actor":"li","why":"a\nb"}`, 422, "urn:paidonce:reason_missing"},
		"another tenant":    {2, claim + "/reject", because, 404, "urn:paidonce:event_unknown"},
		"unknown order": {1, claim + "/link", `{"actor":"li","why":"x","order_no":"nowhere"}`, 409,
			"urn:paidonce:action_unfit"},
	} {
		if got := w.post(test.tenant, test.path, test.body); got.status != test.status ||
			got.field(t, "type") != test.problem {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if got := w.post(1, claim+"/retry", because); got.status != 200 || got.field(t, "status") != "parked" {
		t.Fatal(got)
	}
	got := w.post(1, claim+"/link", `{"actor":"li","why":"typed by hand","order_no":"B1"}`)
	if got.status != 200 || got.field(t, "status") != "booked" {
		t.Fatal(got)
	}
	if got := w.post(1, claim+"/reject", because); got.status != 200 || got.field(t, "status") != "repeat" {
		t.Fatalf("an action on a finished event: %v", got)
	}
	if got := w.get(1, "/v1/orders/B1"); got.field(t, "order", "state") != "paid" {
		t.Fatal(got.body)
	}
	file := w.get(1, "/v1/events/SQB%3A77%3APAYMENT_RECEIVED")
	if file.rows(t, "actions") != 2 || !strings.Contains(file.body, "typed by hand") {
		t.Fatal(file.body)
	}
}

// Money that fits nowhere is listed with its age, adds up in the risk, and leaves by a move that counts once.
func TestSuspenseIsListedMovedAndAddedUp(t *testing.T) {
	w := newWorld(t)
	w.order(1, "B1")
	w.order(1, "B2")
	for _, sn := range []string{"1", "2"} {
		if got := w.notify("shop-1", w.paid(sn, "B1")); got.body != "success" {
			t.Fatal(got)
		}
	}
	list := w.get(1, "/v1/suspense")
	if list.rows(t, "suspense") != 1 || list.field(t, "suspense", 0, "reason") != "already_paid" ||
		list.field(t, "suspense", 0, "left", "minor") != "1999" {
		t.Fatal(list.body)
	}
	if w.get(2, "/v1/suspense").rows(t, "suspense") != 0 {
		t.Fatal("a tenant sees another's money")
	}
	risk := w.get(1, "/v1/risk")
	if risk.field(t, "suspense", 0, "minor") != "1999" || risk.rows(t, "unbooked") != 0 {
		t.Fatal(risk.body)
	}
	open := w.get(1, "/v1/open-orders")
	if open.rows(t, "orders") != 1 || open.field(t, "orders", 0, "order_no") != "B2" {
		t.Fatal(open.body)
	}
	move := `{"actor":"li","why":"paid the wrong bill","move_no":"m1","order_no":"B2",
		"amount_minor":1999,"currency":"CNY"}`
	for _, want := range []string{"booked", "repeat"} {
		if got := w.post(1, "/v1/suspense/SQB/2/moves", move); got.status != 200 || got.field(t, "status") != want {
			t.Fatalf("want %s: %v", want, got)
		}
	}
	if w.get(1, "/v1/suspense").rows(t, "suspense") != 0 ||
		w.get(1, "/v1/suspense?settled=true").rows(t, "suspense") != 1 {
		t.Fatal("moved money is still listed, or forgotten")
	}
	if got := w.get(1, "/v1/orders/B2"); got.field(t, "order", "state") != "paid" {
		t.Fatal(got.body)
	}
}

// The monitoring sees what is at risk, per tenant, channel and reason.
func TestMetricsNameTheMoneyAtRisk(t *testing.T) {
	w := newWorld(t)
	w.order(1, "B1")
	w.notify("shop-1", w.paid("1", "nowhere"))
	w.notify("shop-1", w.paid("2", "B1"))
	w.notify("shop-1", w.paid("2", "B1"))
	w.notify("shop-1", w.paid("3", "B1"))
	recorder := httptest.NewRecorder()
	w.server.Metrics().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`paidonce_unbooked_amount_minor{channel="SQB",currency="CNY",reason="waiting_order",tenant="1"} 1999`,
		`paidonce_unbooked_events{channel="SQB",currency="CNY",reason="waiting_order",tenant="1"} 1`,
		`paidonce_suspense_amount_minor{channel="SQB",currency="CNY",reason="already_paid",tenant="1"} 1999`,
		`paidonce_accepted_total 4`, `paidonce_repeats_total 1`, `paidonce_booked_total 2`, `paidonce_parked_total 1`,
		`paidonce_mismatches_total 0`, `paidonce_unknown_commits_total 0`,
	} {
		if !strings.Contains(recorder.Body.String(), line+"\n") {
			t.Errorf("no line %s in\n%s", line, recorder.Body)
		}
	}
	if got := w.get(1, "/metrics"); got.status != http.StatusNotFound {
		t.Errorf("the address of the channels answers scrapes: %d", got.status)
	}
}
