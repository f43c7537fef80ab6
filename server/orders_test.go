package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const tea = `{"order_no":"T-1","store":"s1","amount_minor":1999,"currency":"CNY","channel":"SQB","account":"shop-1"}`

func TestRegisteringAnOrder(t *testing.T) {
	w := newWorld(t)
	first := w.post(1, "/v1/orders", tea)
	if first.status != http.StatusCreated || first.field(t, "state") != "open" ||
		first.field(t, "amount", "minor") != "1999" || first.field(t, "amount", "currency") != "CNY" {
		t.Fatalf("first: %d %s", first.status, first.body)
	}
	again := w.post(1, "/v1/orders", tea)
	if again.status != http.StatusOK || again.body != first.body {
		t.Errorf("the same again: %d %s, want 200 and the stored order", again.status, again.body)
	}
	for _, change := range [][2]string{{"1999", "2000"}, {`"s1"`, `"s2"`}, {"CNY", "USD"}, {"shop-1", "shop-9"}} {
		w.post(1, "/v1/orders", strings.Replace(tea, change[0], change[1], 1)).
			problem(t, http.StatusConflict, "order_exists")
	}
	if got := w.get(1, "/v1/orders/T-1"); got.field(t, "order", "amount", "minor") != "1999" {
		t.Errorf("the stored order changed: %s", got.body)
	}
}

func TestAnOrderThatIsRefusedNamesTheField(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct{ name, from, to, field string }{
		{"no number", `"T-1"`, `""`, "body.order_no"},
		{"number too long", `"T-1"`, `"` + strings.Repeat("x", 65) + `"`, "body.order_no"},
		{"number with a space", `"T-1"`, `"T 1"`, "body.order_no"},
		{"number is missing", `"order_no":"T-1",`, ``, "body"},
		{"store with a colon", `"s1"`, `"s:1"`, "body.store"},
		{"amount zero", `1999`, `0`, "body.amount_minor"},
		{"amount negative", `1999`, `-1`, "body.amount_minor"},
		{"amount with a point", `1999`, `19.99`, "body.amount_minor"},
		{"amount as a text", `1999`, `"1999"`, "body.amount_minor"},
		{"currency in small letters", `CNY`, `cny`, "body.currency"},
		{"unknown channel code", `"SQB"`, `"sqb"`, "body.channel"},
		{"unknown field", `"store"`, `"tenant":2,"store"`, "body.tenant"},
		{"amount beyond 64 bits", `1999`, `99999999999999999999`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := w.post(1, "/v1/orders", strings.Replace(tea, test.from, test.to, 1))
			got.problem(t, http.StatusUnprocessableEntity, "request_invalid")
			if test.field != "" && !strings.Contains(got.body, `"location":"`+test.field+`"`) {
				t.Errorf("the answer does not name %s: %s", test.field, got.body)
			}
		})
	}
	for name, body := range map[string]string{"no JSON": "{", "nothing": ""} {
		if got := w.post(1, "/v1/orders", body); got.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	w.post(1, "/v1/orders", tea+strings.Repeat(" ", 17<<10)).
		problem(t, http.StatusRequestEntityTooLarge, "request_invalid")
	if got := w.get(1, "/v1/orders"); got.rows(t, "orders") != 0 {
		t.Errorf("a refused order is stored: %s", got.body)
	}
}

// The largest amount survives the way through JSON exactly; a floating-point number would not hold it.
func TestAmountsAreExact(t *testing.T) {
	w := newWorld(t)
	const most = "9223372036854775807"
	got := w.post(1, "/v1/orders", strings.Replace(tea, "1999", most, 1))
	if got.status != http.StatusCreated || got.field(t, "amount", "minor") != most {
		t.Fatalf("answer %d %s", got.status, got.body)
	}
}

func TestListsGoOnWhereThePageBeforeEnded(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.order(1, fmt.Sprintf("N-%d", i))
	}
	var seen []string
	after := ""
	for range 10 {
		got := w.get(1, "/v1/orders?limit=2&after="+after)
		for i := range got.rows(t, "orders") {
			seen = append(seen, got.field(t, "orders", i, "order_no").(string))
		}
		next, more := got.field(t, "next").(string)
		if !more {
			break
		}
		after = next
	}
	if strings.Join(seen, " ") != "N-0 N-1 N-2 N-3 N-4" {
		t.Errorf("pages show %v", seen)
	}
}

func TestAnOrderWithItsPaymentAndBooking(t *testing.T) {
	w := bookedWorld(t)
	got := w.get(1, "/v1/orders/ORDER-1")
	for _, want := range []struct {
		value any
		path  []any
	}{
		{"paid", []any{"order", "state"}},
		{paymentKey, []any{"order", "paid_by"}},
		{"7894259244067349", []any{"payments", 0, "trade_no"}},
		{"1999", []any{"payments", 0, "captured", "minor"}},
		{paymentKey, []any{"bookings", 0, "cause"}},
		{"CNY", []any{"bookings", 0, "entries", 0, "postings", 0, "amount", "currency"}},
	} {
		if value := got.field(t, want.path...); value != want.value {
			t.Errorf("%v is %v, want %v", want.path, value, want.value)
		}
	}
	w.get(1, "/v1/orders/ORDER-2").problem(t, http.StatusNotFound, "order_unknown")
}
