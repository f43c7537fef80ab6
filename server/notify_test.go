package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/server"
)

const paymentKey = "SQB:7894259244067349:PAYMENT_RECEIVED"

// held is the acknowledgement that Shouqianba reads; notHeld is anything that it sends again for.
func (r reply) held() bool { return r.status == http.StatusOK && r.body == "success" }

func TestAPaymentIsBookedOnceHoweverOftenItIsDelivered(t *testing.T) {
	w := newWorld(t)
	w.order(1, "ORDER-1")
	body := w.paid("7894259244067349", "ORDER-1")
	for range 3 {
		if got := w.notify("shop-1", body); !got.held() {
			t.Fatalf("answer %d %q", got.status, got.body)
		}
	}
	file := w.get(1, "/v1/orders/ORDER-1")
	if file.field(t, "order", "state") != "paid" || file.rows(t, "payments") != 1 || file.rows(t, "bookings") != 1 {
		t.Fatalf("after three deliveries: %s", file.body)
	}
}

func TestSixtyFourFirstDeliveriesAtOnceAreOneBooking(t *testing.T) {
	w := newWorld(t)
	w.order(1, "ORDER-1")
	body := w.paid("7894259244067349", "ORDER-1")
	answers := make([]reply, 64)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() { answers[i] = w.notify("shop-1", body) })
	}
	group.Wait()
	for i, got := range answers {
		if !got.held() {
			t.Errorf("delivery %d: %d %q", i, got.status, got.body)
		}
	}
	journal := w.get(1, "/v1/journal?cause="+paymentKey)
	if journal.rows(t, "bookings") != 1 {
		t.Fatalf("not one booking: %s", journal.body)
	}
	books := w.get(1, "/v1/trial-balance")
	if books.field(t, "balanced") != true || books.field(t, "sums", 0, "debit", "minor") != "1999" {
		t.Fatalf("trial balance %s", books.body)
	}
}

// An authentic payment of an unknown order is held and acknowledged; it is booked when the order comes.
func TestWhatCannotBeBookedYetIsAcknowledgedBecauseItIsHeld(t *testing.T) {
	w := newWorld(t)
	if got := w.notify("shop-1", w.paid("7894259244067349", "ORDER-9")); !got.held() {
		t.Fatalf("answer %d %q", got.status, got.body)
	}
	waiting := w.get(1, "/v1/claims?state=unfinished")
	if waiting.rows(t, "claims") != 1 || waiting.field(t, "claims", 0, "reason") != "waiting_order" {
		t.Fatalf("claims %s", waiting.body)
	}
}

// A hint says too little to book, but it is claimed like an event before it is acknowledged.
func TestAHintIsHeldBeforeItIsAcknowledged(t *testing.T) {
	w := newWorld(t)
	refunded := []byte(strings.Replace(string(w.paid("7894259244067349", "ORDER-1")), `"PAID"`, `"REFUNDED"`, 1))
	if got := w.notify("shop-1", refunded); !got.held() {
		t.Fatalf("answer %d %q", got.status, got.body)
	}
	held := w.get(1, "/v1/claims?reason=query_due")
	if held.rows(t, "claims") != 1 {
		t.Fatalf("claims %s", held.body)
	}
}

func TestARefusedDeliveryWritesNothingAndIsNotAcknowledged(t *testing.T) {
	w := newWorld(t)
	good := w.paid("7894259244067349", "ORDER-1")
	stranger := []byte(strings.Replace(string(good), terminal, "999999", 1))
	huge := append(good, make([]byte, channel.MaxBodyBytes)...)
	for _, test := range []struct {
		name, signature string
		body            []byte
		status          int
		word            string
	}{
		{"no signature", "", good, http.StatusInternalServerError, "reason=forged"},
		{"changed by one byte", w.sign(good), append([]byte(" "), good...), http.StatusInternalServerError,
			"reason=forged"},
		{"signed for another terminal", w.sign(stranger), stranger, http.StatusInternalServerError, "reason=identity"},
		{"empty", w.sign(nil), nil, http.StatusInternalServerError, "reason=malformed"},
		{"too long", w.sign(huge), huge, http.StatusRequestEntityTooLarge, "reason=oversized"},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := http.Header{}
			if test.signature != "" {
				header.Set("Authorization", test.signature)
			}
			got := w.do(http.MethodPost, "/notify/sqb/shop-1", header, test.body)
			if got.status != test.status || got.body != "fail" {
				t.Errorf("answer %d %q, want %d fail", got.status, got.body, test.status)
			}
			if !strings.Contains(w.logs.String(), test.word) {
				t.Errorf("the log has no %s:\n%s", test.word, w.logs)
			}
		})
	}
	if claims := w.get(1, "/v1/claims"); claims.rows(t, "claims") != 0 {
		t.Errorf("a refused delivery took a key: %s", claims.body)
	}
}

func TestTheLongestBodyThatIsReadIsStillTaken(t *testing.T) {
	w := newWorld(t)
	body := w.paid("7894259244067349", "ORDER-1")
	body = append(body, []byte(strings.Repeat(" ", channel.MaxBodyBytes-len(body)))...)
	if got := w.notify("shop-1", body); !got.held() {
		t.Fatalf("a body of %d bytes: %d %q", len(body), got.status, got.body)
	}
}

func TestAddressesThatAreNoneAndMethodsThatAreNotPOST(t *testing.T) {
	w := newWorld(t)
	body := w.paid("7894259244067349", "ORDER-1")
	header := http.Header{"Authorization": {w.sign(body)}}
	for _, test := range []struct {
		method, path string
		status       int
	}{
		{http.MethodPost, "/notify/sqb/shop-3", http.StatusNotFound},
		{http.MethodPost, "/notify/wechat/shop-1", http.StatusNotFound},
		{http.MethodPost, "/notify/sqb/SHOP-1", http.StatusNotFound},
		{http.MethodPost, "/notify/sqb", http.StatusNotFound},
		{http.MethodPost, "/notify/sqb/shop-1/x", http.StatusNotFound},
		{http.MethodPost, "/notify/sqb%2Fshop-1/", http.StatusNotFound},
		{http.MethodGet, "/notify/sqb/shop-1", http.StatusMethodNotAllowed},
		{http.MethodPut, "/notify/sqb/shop-1", http.StatusMethodNotAllowed},
	} {
		got := w.do(test.method, test.path, header.Clone(), body)
		if got.status != test.status || strings.Contains(strings.ToLower(got.body), "success") {
			t.Errorf("%s %s: %d %q, want %d", test.method, test.path, got.status, got.body, test.status)
		}
	}
	if claims := w.get(1, "/v1/claims"); claims.rows(t, "claims") != 0 {
		t.Errorf("something was claimed: %s", claims.body)
	}
}

func TestWhatAnAdapterMayAnswer(t *testing.T) {
	event := func(no string) channel.Event {
		return channel.Event{Tenant: 1, Channel: "TOY", Account: "a", Kind: channel.PaymentReceived, BizNo: []string{no},
			OrderNo: "o", TradeNo: no, Amount: money.New(1, money.CNY)}
	}
	says := func(parsed channel.Parsed, err error) func() (channel.Parsed, error) {
		return func() (channel.Parsed, error) { return parsed, err }
	}
	incomplete := event("3")
	incomplete.TradeNo = ""
	foreign := event("5")
	foreign.Tenant = 2
	for name, test := range map[string]struct {
		parse  func() (channel.Parsed, error)
		status int
		log    string
	}{
		"stale":     {says(channel.Parsed{}, channel.ErrStale), http.StatusBadRequest, "level=WARN.*reason=stale"},
		"probe":     {says(channel.Parsed{}, channel.ErrProbe), http.StatusBadRequest, "level=INFO.*reason=probe"},
		"malformed": {says(channel.Parsed{}, channel.ErrMalformed), http.StatusBadRequest, "reason=malformed"},
		"unknown":   {says(channel.Parsed{}, errors.New("body: tea")), http.StatusBadRequest, "reason=refused"},
		"nothing":   {says(channel.Parsed{}, nil), http.StatusBadRequest, ""},
		"two events": {says(channel.Parsed{Events: []channel.Event{event("1"), event("2")}}, nil),
			http.StatusOK, "TOY:2:PAYMENT_RECEIVED"},
		"one of two cannot be claimed": {says(channel.Parsed{Events: []channel.Event{event("4"), incomplete}}, nil),
			http.StatusBadRequest, "level=ERROR"},
		"event of another tenant": {says(channel.Parsed{Events: []channel.Event{foreign}}, nil),
			http.StatusBadRequest, "level=ERROR.*another account"},
		"panic": {func() (channel.Parsed, error) { panic("body: tea") }, http.StatusInternalServerError,
			"panic while answering.*what=string"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, server.Endpoint{Path: "toy", Channel: toy{"a", test.parse}})
			got := w.do(http.MethodPost, "/notify/toy/a", nil, []byte("tea"))
			if got.status != test.status || strings.Contains(got.body, "goroutine") {
				t.Errorf("answer %d %q, want %d", got.status, got.body, test.status)
			}
			before, after, _ := strings.Cut(test.log, ".*")
			if log := w.logs.String(); !strings.Contains(log, before) || !strings.Contains(log, after) {
				t.Errorf("the log lacks %q:\n%s", test.log, log)
			}
			if strings.Contains(w.logs.String(), "body: tea") {
				t.Errorf("the log quotes the body:\n%s", w.logs)
			}
		})
	}
}

// A channel that takes an empty answer gets one: no body, no content type.
func TestAcknowledgementsAreTheAdaptersBytes(t *testing.T) {
	e := channel.Event{Tenant: 1, Channel: "TOY", Account: "a", Kind: channel.QueryDue, BizNo: []string{"1"}}
	parse := func() (channel.Parsed, error) { return channel.Parsed{Hints: []channel.Hint{{Event: e}}}, nil }
	w := newWorld(t, server.Endpoint{Path: "toy", Channel: toy{"a", parse}})
	got := w.do(http.MethodPost, "/notify/toy/a", nil, []byte("x"))
	types, typed := got.header["Content-Type"]
	if got.status != http.StatusOK || got.body != "" || typed {
		t.Errorf("answer %d %q, content type %q", got.status, got.body, types)
	}
}

func TestNothingIsAcknowledgedWithoutTheDatabase(t *testing.T) {
	w := newWorld(t)
	body := w.paid("7894259244067349", "ORDER-1")
	w.must(w.store.Close())
	if got := w.notify("shop-1", body); got.held() || got.status < 500 {
		t.Fatalf("answer %d %q", got.status, got.body)
	}
	if !strings.Contains(w.logs.String(), "level=ERROR") {
		t.Errorf("nobody is told:\n%s", w.logs)
	}
}

func TestTheLogHoldsNoBodySignatureOrToken(t *testing.T) {
	w := newWorld(t)
	w.order(1, "ORDER-1")
	body := w.paid("7894259244067349", "ORDER-1")
	w.notify("shop-1", body)
	forged := append([]byte(" "), body...)
	w.do(http.MethodPost, "/notify/sqb/shop-1", http.Header{"Authorization": {w.sign(body)}}, forged)
	w.get(1, "/v1/orders")
	w.do(http.MethodGet, "/v1/orders", http.Header{"Authorization": {"Bearer pdo_1_wrong"}}, nil)
	log := w.logs.String()
	if !strings.Contains(log, "reason=forged") || !strings.Contains(log, paymentKey) {
		t.Fatalf("the log misses what happened:\n%s", log)
	}
	for what, secret := range map[string]string{"body": "tea for the minister", "signature": w.sign(body)[:40],
		"token": w.tokens[1], "wrong token": "pdo_1_wrong", "cookie": "cookie-of-a-proxy"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds the %s:\n%s", what, log)
		}
	}
}

func TestOnlySignatureHeadersAreKeptAsEvidence(t *testing.T) {
	w := newWorld(t)
	body := w.paid("7894259244067349", "ORDER-1")
	w.notify("shop-1", body)
	event := w.get(1, "/v1/events/"+paymentKey)
	if event.field(t, "deliveries", 0, "header", "Authorization") != w.sign(body) {
		t.Errorf("the signature is not kept: %s", event.body)
	}
	if strings.Contains(event.body, "cookie-of-a-proxy") || strings.Contains(event.body, "tea for the minister") {
		t.Errorf("cookie or body is shown: %s", event.body)
	}
}

func TestAServerRefusesAddressesThatItCouldMixUp(t *testing.T) {
	w := newWorld(t)
	good := toy{name: "a"}
	for name, endpoints := range map[string][]server.Endpoint{
		"two under one address": {{Path: "toy", Channel: good}, {Path: "toy", Channel: good}},
		"no channel":            {{Path: "toy"}},
		"capital path":          {{Path: "Toy", Channel: good}},
		"path with a slash":     {{Path: "toy/a", Channel: good}},
		"account with a slash":  {{Path: "toy", Channel: toy{name: "a/b"}}},
	} {
		_, err := server.New(server.Options{House: w.house, Store: w.store, Clock: fixed, Channels: endpoints})
		if !errors.Is(err, server.ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i, opt := range []server.Options{{Store: w.store, Clock: fixed}, {House: w.house, Clock: fixed},
		{House: w.house, Store: w.store}} {
		if _, err := server.New(opt); !errors.Is(err, server.ErrOptions) {
			t.Errorf("%s: %v", fmt.Sprint("options ", i), err)
		}
	}
}
