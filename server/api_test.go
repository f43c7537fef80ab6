package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/server"
	"github.com/paidonce/paidonce/store"
)

// reads is every route of the API that needs no body, over things that tenant 1 has in bookedWorld.
func reads() []string {
	return []string{"/v1/orders", "/v1/orders/ORDER-1", "/v1/events/" + paymentKey, "/v1/journal?cause=" + paymentKey,
		"/v1/journal?order_no=ORDER-1", "/v1/accounts", "/v1/trial-balance", "/v1/claims", "/v1/claims/inherited"}
}

// bookedWorld has one paid order of tenant 1 and one payment that waits for its order.
func bookedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.order(1, "ORDER-1")
	for _, body := range [][]byte{w.paid("7894259244067349", "ORDER-1"), w.paid("7894259244067350", "ORDER-2")} {
		if got := w.notify("shop-1", body); !got.held() {
			t.Fatalf("answer %d %q", got.status, got.body)
		}
	}
	return w
}

// problem checks an RFC 9457 answer.
func (r reply) problem(t *testing.T, status int, name string) {
	t.Helper()
	if r.status != status || r.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("answer %d %q %s, want the problem %d %s", r.status, r.header.Get("Content-Type"), r.body, status, name)
	}
	if got := r.field(t, "type"); got != "urn:paidonce:"+name {
		t.Fatalf("problem %v, want %s: %s", got, name, r.body)
	}
}

func TestEveryRouteNeedsAValidToken(t *testing.T) {
	w := bookedWorld(t)
	revoked, err := w.store.CreateToken(t.Context(), 1, "old")
	w.must(err)
	w.must(w.store.RevokeToken(t.Context(), 1, strings.Split(revoked, "_")[2]))
	foreign := strings.Replace(w.tokens[2], "pdo_2_", "pdo_1_", 1)
	for name, authorization := range map[string]string{"none": "", "basic": "Basic " + w.tokens[1], "empty": "Bearer ",
		"no scheme": w.tokens[1], "garbage": "Bearer x", "revoked": "Bearer " + revoked,
		"secret of another tenant": "Bearer " + foreign, "cut": "Bearer " + w.tokens[1][:90]} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			if authorization != "" {
				header.Set("Authorization", authorization)
			}
			for _, path := range reads() {
				got := w.do(http.MethodGet, path, header.Clone(), nil)
				got.problem(t, http.StatusUnauthorized, "token_invalid")
				if !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer ") {
					t.Errorf("%s: WWW-Authenticate %q", path, got.header.Get("WWW-Authenticate"))
				}
			}
			got := w.do(http.MethodPost, "/v1/orders", header.Clone(), []byte(`{}`))
			got.problem(t, http.StatusUnauthorized, "token_invalid")
		})
	}
	small := http.Header{"Authorization": {"bearer " + w.tokens[1]}}
	if got := w.do(http.MethodGet, "/v1/orders", small, nil); got.status != http.StatusOK {
		t.Errorf("the scheme's case matters: %d %s", got.status, got.body)
	}
}

func TestATenantSeesOnlyItsOwn(t *testing.T) {
	w := bookedWorld(t)
	for _, path := range reads() {
		mine, theirs := w.get(1, path), w.get(2, path)
		if mine.status != http.StatusOK {
			t.Errorf("%s of its own tenant: %d %s", path, mine.status, mine.body)
		}
		for _, trace := range []string{"ORDER-", "78942592440673"} {
			if theirs.status == http.StatusOK && strings.Contains(theirs.body, trace) {
				t.Errorf("%s shows tenant 2 what tenant 1 has: %s", path, theirs.body)
			}
		}
	}
	w.get(2, "/v1/orders/ORDER-1").problem(t, http.StatusNotFound, "order_unknown")
	w.get(2, "/v1/events/"+paymentKey).problem(t, http.StatusNotFound, "event_unknown")

	// The same order number and the same payment number are another order and another event at another tenant.
	w.order(2, "ORDER-1")
	if got := w.notify("shop-2", w.paid("7894259244067349", "ORDER-1")); !got.held() {
		t.Fatalf("answer %d %q", got.status, got.body)
	}
	for _, tenant := range []int64{1, 2} {
		if got := w.get(tenant, "/v1/journal?cause="+paymentKey); got.rows(t, "bookings") != 1 {
			t.Errorf("tenant %d: %s", tenant, got.body)
		}
	}
}

// brokenBooks knows tokens and reads nothing: the database went away between the two.
type brokenBooks struct {
	server.Store
	err error
}

var errGone = errors.New("dial tcp: secret-host refused")

func (brokenBooks) TokenTenant(context.Context, string) (int64, error) { return 1, nil }
func (b brokenBooks) Order(context.Context, int64, string) (order.Order, error) {
	return order.Order{}, b.err
}
func (b brokenBooks) Orders(context.Context, int64, string, int) ([]order.Order, error) {
	return nil, b.err
}
func (b brokenBooks) Journal(context.Context, int64, string) ([]ledger.Recorded, error) {
	return nil, b.err
}
func (b brokenBooks) JournalOfOrder(context.Context, int64, string) ([]ledger.Recorded, error) {
	return nil, b.err
}
func (b brokenBooks) TrialBalance(context.Context, int64) ([]ledger.Balance, error) {
	return nil, b.err
}
func (b brokenBooks) Timeline(context.Context, int64, gate.Key) (store.Timeline, error) {
	return store.Timeline{}, b.err
}
func (b brokenBooks) Unfinished(context.Context, int64, string, string, int) ([]gate.Row, error) {
	return nil, b.err
}
func (b brokenBooks) Inherited(context.Context, int64, string, int) ([]gate.Row, error) {
	return nil, b.err
}

// A database that is away says nothing about a token or an order: 503, never 401 or 404.
func TestWithoutTheDatabaseEveryRouteIsUnavailable(t *testing.T) {
	w := bookedWorld(t)
	broken, err := server.New(server.Options{House: w.house, Store: brokenBooks{err: errGone}, Clock: fixed})
	w.must(err)
	for _, path := range reads() {
		got := ask(t, broken, path)
		got.problem(t, http.StatusServiceUnavailable, "unavailable")
		if strings.Contains(got.body, "secret-host") {
			t.Errorf("%s shows the database's own words: %s", path, got.body)
		}
	}
	w.must(w.store.Close())
	for _, path := range reads() {
		got := w.get(1, path)
		got.problem(t, http.StatusServiceUnavailable, "unavailable")
		if got.header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s asks for another token", path)
		}
	}
	w.post(1, "/v1/orders", `{"order_no":"A","store":"s","amount_minor":1,"currency":"CNY"}`).
		problem(t, http.StatusServiceUnavailable, "unavailable")
}

func ask(t *testing.T, handler http.Handler, path string) reply {
	t.Helper()
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	request.Header.Set("Authorization", "Bearer x")
	handler.ServeHTTP(recorder, request)
	return reply{recorder.Code, recorder.Header(), recorder.Body.String()}
}

func TestEachErrorHasOneAnswer(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		err    error
		status int
		name   string
	}{
		{fmt.Errorf("%w: store is empty", order.ErrOrder), http.StatusUnprocessableEntity, "order_invalid"},
		{order.ErrExists, http.StatusConflict, "order_exists"},
		{order.ErrUnknown, http.StatusNotFound, "order_unknown"},
		{gate.ErrKey, http.StatusUnprocessableEntity, "key_invalid"},
		{gate.ErrNoClaim, http.StatusNotFound, "event_unknown"},
		{store.ErrToken, http.StatusUnauthorized, "token_invalid"},
		{fmt.Errorf("%w: %w", store.ErrCommitUnknown, errGone), http.StatusServiceUnavailable, "outcome_unknown"},
		{context.DeadlineExceeded, http.StatusServiceUnavailable, "unavailable"},
	} {
		handler, err := server.New(server.Options{House: w.house, Store: brokenBooks{err: test.err}, Clock: fixed})
		w.must(err)
		got := ask(t, handler, "/v1/orders/A")
		got.problem(t, test.status, test.name)
		if strings.Contains(got.body, "secret-host") {
			t.Errorf("%s shows the database's own words: %s", test.name, got.body)
		}
	}
}

func TestTheAPIDescribesItself(t *testing.T) {
	w := newWorld(t)
	got := w.do(http.MethodGet, "/openapi.json", nil, nil)
	if got.status != http.StatusOK || got.field(t, "openapi") != "3.1.0" || got.field(t, "info", "version") != "test" {
		t.Fatalf("answer %d %.200s", got.status, got.body)
	}
	paths, ok := got.field(t, "paths").(map[string]any)
	if !ok {
		t.Fatal("no paths")
	}
	var names []string
	for name := range paths {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"/v1/accounts", "/v1/claims", "/v1/claims/inherited", "/v1/claims/{key}/forecast",
		"/v1/claims/{key}/link", "/v1/claims/{key}/reject", "/v1/claims/{key}/retry", "/v1/claims/{key}/suspense",
		"/v1/events/{key}", "/v1/journal", "/v1/open-orders", "/v1/orders", "/v1/orders/{order_no}", "/v1/risk",
		"/v1/suspense", "/v1/suspense/{channel}/{trade_no}/moves", "/v1/trial-balance"}
	if !slices.Equal(names, want) {
		t.Errorf("paths %v, want %v", names, want)
	}
	if got.field(t, "components", "securitySchemes", "token", "scheme") != "bearer" {
		t.Error("the token is not described")
	}
	if strings.Contains(got.body, `"double"`) || strings.Contains(got.body, `"number"`) {
		t.Error("some value is a floating-point number")
	}
	if yaml := w.do(http.MethodGet, "/openapi.yaml", nil, nil); !strings.Contains(yaml.body, "openapi: 3.1.0") {
		t.Errorf("YAML: %d %.200s", yaml.status, yaml.body)
	}
	for _, path := range []string{"/docs", "/schemas/Order.json"} {
		if got := w.do(http.MethodGet, path, nil, nil); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

func TestWhatTheAPIDoesNotUnderstandIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/v1/orders?limit=0", "/v1/orders?limit=501", "/v1/orders?limit=x",
		"/v1/orders?tenant=2", "/v1/claims?state=finished",
		"/v1/claims?limit=-1", "/v1/claims/inherited?reason=x", "/v1/accounts?after=a",
		"/v1/orders?after=" + strings.Repeat("x", 192)} {
		w.get(1, path).problem(t, http.StatusUnprocessableEntity, "request_invalid")
	}
	for _, path := range []string{"/v1/journal", "/v1/journal?cause=a&order_no=b"} {
		w.get(1, path).problem(t, http.StatusUnprocessableEntity, "query_invalid")
	}
	for _, key := range []string{"x", "SQB:1", "sqb:1:PAYMENT_RECEIVED", "SQB::PAYMENT_RECEIVED"} {
		w.get(1, "/v1/events/"+url.PathEscape(key)).problem(t, http.StatusUnprocessableEntity, "key_invalid")
	}
	if got := w.do(http.MethodDelete, "/v1/orders", nil, nil); got.status != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: %d", got.status)
	}
}

func TestAnswersAreForNobodyElse(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/", "/v1/orders", "/healthz", "/notify/sqb/shop-1", "/nowhere"} {
		got := w.do(http.MethodGet, path, http.Header{"Origin": {"https://example.org"}}, nil)
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"Referrer-Policy": "no-referrer", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
			"Access-Control-Allow-Origin": ""} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got.header.Get(name), want)
			}
		}
	}
}
