package sandbox_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paidonce/paidonce/sandbox"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// A paid order whose channel drops one answer, forges the next, says "ask again" to the next two, then knows nothing
// of it, and then tells the truth.
func TestAnswersAreSpoiltInTheirOrderAndCounted(t *testing.T) {
	keys := newKeys(t)
	for i, channel := range channels() {
		m := newMerchant(t, keys, 1)
		must(t, m.box.Behave(channel, "shop", "A-1", sandbox.Behaviour{Drop: 1, BadSignature: 1, Unknown: 2, Hidden: 1}))
		pay(t, m.box, channel, "A-1", 1999)
		var got []told
		for range 6 {
			got = append(got, m.ask(channel, query, "A-1"))
		}
		want := [][]string{
			{dropped, "SUCCESS", "500 SYSTEM_ERROR", "USERPAYING", "404 ORDER_NOT_EXIST", "SUCCESS"},
			{dropped, "SUCCESS", "SYSTEMERROR", "USERPAYING", "ORDERNOTEXIST", "SUCCESS"},
			{dropped, "TRADE_SUCCESS", "isp.unknow-error", "ACQ.SYSTEM_ERROR", "ACQ.TRADE_NOT_EXIST", "TRADE_SUCCESS"},
			{dropped, "", "500 UNKNOWN_SYSTEM_ERROR", "PAY_IN_PROGRESS IN_PROG CREATED", "FAIL UPAY_ORDER_NOT_EXISTS",
				"SUCCESS SUCCESS PAID"},
		}[i]
		for n, answer := range got {
			if answer.word != want[n] || answer.genuine != (n > 1) {
				t.Errorf("%s, question %d: %q, genuine %t; want %q", channel, n+1, answer.word, answer.genuine, want[n])
			}
		}
		asked := sandbox.Asked{Questions: 6, Queries: 6, Dropped: 1, BadSignature: 1, Unknown: 2, Hidden: 1}
		if record := m.asked(channel, "A-1"); record != asked {
			t.Errorf("%s: the record says %+v, want %+v", channel, record, asked)
		}
	}
}

// What is asked for is done even if the answer gets lost or spoilt, and not done if the channel says "ask again".
func TestWhetherASpoiltCloseIsDone(t *testing.T) {
	keys := newKeys(t)
	for i, channel := range channels() {
		what := []string{end, end, end, reverse}[i]
		for _, test := range []struct {
			behaviour sandbox.Behaviour
			done      bool
		}{{sandbox.Behaviour{Drop: 1}, true}, {sandbox.Behaviour{BadSignature: 1}, true},
			{sandbox.Behaviour{Unknown: 1}, false}, {sandbox.Behaviour{Hidden: 1}, false}} {
			m := newMerchant(t, keys, 1)
			must(t, m.box.Behave(channel, "shop", "A-1", test.behaviour))
			must(t, m.box.Open(channel, "shop", "A-1", yuan(1)))
			must(t, m.box.Scan(channel, "shop", "A-1"))
			m.ask(channel, what, "A-1")
			_, err := m.box.Pay(channel, "shop", "A-1", yuan(1))
			if (err != nil) != test.done {
				t.Errorf("%s, %+v: a payment after it: %v, want the order closed: %t", channel, test.behaviour, err, test.done)
			}
		}
	}
}

func TestChannelsChangeTheirMind(t *testing.T) {
	keys := newKeys(t)
	b := sandbox.Behaviour{ScanAt: 2, PayAt: 3, RefundAt: 4}
	for i, channel := range channels() {
		m := newMerchant(t, keys, 1)
		must(t, m.box.Open(channel, "shop", "A-1", yuan(1999)))
		must(t, m.box.Behave(channel, "shop", "A-1", b))
		want := [][]string{
			{"NOTPAY", "USERPAYING", "SUCCESS", "REFUND"},
			{"NOTPAY", "USERPAYING", "SUCCESS", "REFUND"},
			{"ACQ.TRADE_NOT_EXIST", "WAIT_BUYER_PAY", "TRADE_SUCCESS", "TRADE_CLOSED"},
			{"SUCCESS IN_PROG CREATED", "SUCCESS IN_PROG CREATED", "SUCCESS SUCCESS PAID", "SUCCESS SUCCESS REFUNDED"},
		}[i]
		var got []string
		for range 4 {
			got = append(got, m.ask(channel, query, "A-1").word)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", channel, got, want)
		}
		payments := m.box.Payments(channel, "shop", "A-1")
		if len(payments) != 1 || payments[0].Amount != yuan(1999) || payments[0].Refunded != 1999 {
			t.Fatalf("%s: the truth is %+v", channel, payments)
		}
		if !read(t, channel, keys, notification(t, m.box, payments[0], sandbox.Variant{})).genuine {
			t.Errorf("%s: the payment cannot be notified", channel)
		}
	}
}

func TestAnOrderIsPaidWhileItIsBeingClosed(t *testing.T) {
	keys := newKeys(t)
	for i, channel := range channels()[:3] {
		m := newMerchant(t, keys, 1)
		must(t, m.box.Open(channel, "shop", "A-1", yuan(1)))
		must(t, m.box.Behave(channel, "shop", "A-1", sandbox.Behaviour{PayOnClose: true}))
		closed, then := m.ask(channel, end, "A-1").word, m.ask(channel, query, "A-1").word
		if closed != []string{"400 ORDERPAID", "ORDERPAID", "ACQ.TRADE_STATUS_ERROR"}[i] ||
			then != []string{"SUCCESS", "SUCCESS", "TRADE_SUCCESS"}[i] {
			t.Errorf("%s: %q, then %q", channel, closed, then)
		}
		want := sandbox.Asked{Questions: 2, Queries: 1, Closes: 1}
		if asked := m.asked(channel, "A-1"); asked != want {
			t.Errorf("%s: the record says %+v, want %+v", channel, asked, want)
		}
	}
}

func TestCallbacksOfASilentOrderAreLostForgeriesAreNot(t *testing.T) {
	var arrived atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	defer server.Close()
	box := newBox(t, newKeys(t), 1, server.URL)
	must(t, box.Behave(sandbox.SQB, "shop", "A-1", sandbox.Behaviour{Silent: true}))
	for _, test := range []struct {
		orderNo string
		variant sandbox.Variant
		want    int
	}{{"A-1", sandbox.Variant{}, 0}, {"A-1", sandbox.Variant{WrongBy: 1}, 0}, {"A-1", sandbox.Variant{Stranger: true}, 1},
		{"A-2", sandbox.Variant{}, 1}} {
		before := arrived.Load()
		all, err := box.Deliver(t.Context(), pay(t, box, sandbox.SQB, test.orderNo, 1), sandbox.Plan{Variant: test.variant})
		if err != nil || len(all) != test.want || int(arrived.Load()-before) != test.want {
			t.Errorf("%s, %+v: %d deliveries, %d arrived, %v; want %d", test.orderNo, test.variant, len(all),
				arrived.Load()-before, err, test.want)
		}
	}
}

func TestALateAnswerIsLateAndAnImpatientMerchantGetsNone(t *testing.T) {
	m := newMerchant(t, newKeys(t), 1)
	pay(t, m.box, sandbox.Alipay, "A-1", 1)
	const late = 80 * time.Millisecond
	must(t, m.box.Behave(sandbox.Alipay, "shop", "A-1", sandbox.Behaviour{Late: late}))
	start := time.Now()
	if got := m.ask(sandbox.Alipay, query, "A-1"); got.word != "TRADE_SUCCESS" || time.Since(start) < late {
		t.Errorf("%q after %s", got.word, time.Since(start))
	}
	must(t, m.box.Behave(sandbox.Alipay, "shop", "A-1", sandbox.Behaviour{Late: time.Hour}))
	m.edit = func(r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), late)
		t.Cleanup(cancel)
		*r = *r.WithContext(ctx)
	}
	if got := m.ask(sandbox.Alipay, query, "A-1"); got.word != dropped {
		t.Errorf("an hour later: %q", got.word)
	}
}

// drawn are the behaviours that one seed gives to 400 orders of each channel, asked for in the given direction.
func drawn(t *testing.T, keys *sandbox.Keys, seed uint64, rates sandbox.Rates, backwards bool,
) map[string]sandbox.Behaviour {
	t.Helper()
	box := newBox(t, keys, seed, nowhere)
	must(t, box.SetRates(rates))
	numbers := make([]string, 0, 400)
	for i := range 400 {
		numbers = append(numbers, "ORDER-"+strings.Repeat("i", i))
	}
	if backwards {
		slices.Reverse(numbers)
	}
	for _, orderNo := range numbers {
		for _, channel := range channels() {
			must(t, box.Open(channel, "shop", orderNo, yuan(1)))
		}
	}
	all := map[string]sandbox.Behaviour{}
	for _, o := range box.Record().Orders {
		all[o.Account.Channel+" "+o.OrderNo] = o.Behaviour
	}
	return all
}

func TestTheSeedAndTheOrderDecideItsBehaviour(t *testing.T) {
	keys := newKeys(t)
	rates := sandbox.Rates{Silent: 300, Late: 300, Drop: 300, BadSignature: 300, Unknown: 300, Hidden: 300,
		PayOnClose: 300, PayAfterClose: 300, LateBy: time.Second}
	first := drawn(t, keys, 7, rates, false)
	if !reflect.DeepEqual(first, drawn(t, keys, 7, rates, true)) {
		t.Error("the order of the orders changed their behaviours")
	}
	if reflect.DeepEqual(first, drawn(t, keys, 8, rates, false)) {
		t.Error("another seed drew the same")
	}
	var counts [8]int
	for _, b := range first {
		for i, fault := range []bool{b.Silent, b.Late == time.Second, b.Drop > 0, b.BadSignature > 0, b.Unknown > 0,
			b.Hidden > 0, b.PayOnClose, b.PayAfterClose} {
			if fault {
				counts[i]++
			}
		}
		if max(b.Drop, b.BadSignature, b.Unknown, b.Hidden) > 3 || b.ScanAt+b.PayAt+b.RefundAt != 0 {
			t.Fatalf("drew %+v", b)
		}
	}
	for i, n := range counts { // of 1600 orders 480 are expected; ten standard deviations are 183
		if n < 297 || n > 663 {
			t.Errorf("fault %d: %d of %d orders, want 300 per thousand", i, n, len(first))
		}
	}
	for rate, want := range map[int]bool{0: false, 1000: true} {
		for name, b := range drawn(t, keys, 7, sandbox.Rates{Silent: rate, Drop: rate}, false) {
			if b.Silent != want || (b.Drop > 0) != want {
				t.Fatalf("at %d per thousand, %s drew %+v", rate, name, b)
			}
		}
	}
}

func TestFaultsThatMakeNoSenseAreRefused(t *testing.T) {
	box := newBox(t, newKeys(t), 1, nowhere)
	for name, err := range map[string]error{
		"a rate over 1000":    box.SetRates(sandbox.Rates{Drop: 1001}),
		"a rate below 0":      box.SetRates(sandbox.Rates{Silent: -1}),
		"an answer before":    box.SetRates(sandbox.Rates{LateBy: -1}),
		"a negative count":    box.Behave(sandbox.SQB, "shop", "A-1", sandbox.Behaviour{Unknown: -1}),
		"a negative delay":    box.Behave(sandbox.SQB, "shop", "A-1", sandbox.Behaviour{Late: -1}),
		"no order":            box.Behave(sandbox.SQB, "shop", "", sandbox.Behaviour{}),
		"no account":          box.Behave(sandbox.SQB, "other", "A-1", sandbox.Behaviour{}),
		"scanning nothing":    box.Scan(sandbox.SQB, "shop", "A-1"),
		"nothing to expire":   box.Expire(sandbox.SQB, "shop", "A-1"),
		"an order of nothing": box.Open(sandbox.SQB, "shop", "A-1", yuan(0)),
		"minus one check-in":  box.LoseCheckIns("shop", -1),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
