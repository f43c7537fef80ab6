package sqb_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
	"pgregory.net/rapid"
)

// What closing an order answers. An order that is paid is never cancelled, because a cancel gives the money back.
func TestClosing(t *testing.T) {
	state := func(orderStatus, status, net string) string {
		return order(t, "SUCCESS", callback{"order_status": orderStatus, "status": status, "net_amount": net})
	}
	cancelled := func(code, orderStatus string) string {
		return order(t, code, callback{"order_status": orderStatus, "net_amount": "0"})
	}
	open, paidNow := state("CREATED", "IN_PROG", "1999"), order(t, "SUCCESS", nil)
	unpaid := state("PAY_CANCELED", "FAIL_CANCELED", "0")
	asks, cancels := []string{queryPath}, []string{queryPath, cancelPath}
	again := []string{queryPath, cancelPath, queryPath}
	u := newUpay()
	payer := newPayer(t, u, terminal)
	for _, test := range []struct {
		name, before, cancel, after string
		want                        channel.Standing
		fails                       error
		asked                       []string
	}{
		{"paid already", paidNow, "", "", channel.StandingPaid, nil, asks},
		{"closed already", unpaid, "", "", channel.StandingClosed, nil, asks},
		{"voided before", state("CANCELED", "SUCCESS", "0"), "", "", channel.StandingUnknown, nil, asks},
		{"unclear", state("PAY_ERROR", "FAIL_ERROR", "1999"), "", "", channel.StandingUnknown, nil, asks},
		{"not known", failure("FAIL", "UPAY_ORDER_NOT_EXISTS"), "", "", channel.StandingAbsent, nil, asks},
		{"no answer", `{"result_code":"500"}`, "", "", "", channel.ErrUnanswered, asks},
		{"broken off", open, cancelled("CANCEL_ABORT_SUCCESS", "CANCELED"), "", channel.StandingClosed, nil, cancels},
		{"ended unpaid", open, cancelled("CANCEL_SUCCESS", "PAY_CANCELED"), "", channel.StandingClosed, nil, cancels},
		{"reversed, perhaps paid", open, cancelled("CANCEL_SUCCESS", "CANCELED"), "", channel.StandingUnknown, nil,
			cancels},
		{"broken off, yet refunded", open, cancelled("CANCEL_ABORT_SUCCESS", "REFUNDED"), "", channel.StandingPaid, nil,
			cancels},
		{"the payer was faster", open, failure("FAIL", "TRADE_HAS_SUCCESS"), paidNow, channel.StandingPaid, nil, again},
		{"cancelled before", open, failure("FAIL", "UPAY_CANCEL_ORDER_NOOP"), unpaid, channel.StandingClosed, nil, again},
		{"not in this state", open, failure("FAIL", "UPAY_CANCEL_INVALID_ORDER_STATE"), open, "", channel.ErrRefused,
			again},
		{"under way", open, failure("CANCEL_ABORT_IN_PROGRESS", ""), open, "", channel.ErrUnanswered, again},
		{"unclear, then closed", open, failure("CANCEL_ABORT_ERROR", ""), unpaid, channel.StandingClosed, nil, again},
		{"unclear for good", open, failure("CANCEL_ERROR", "UPAY_TCP_ORDER_NOT_REFUNDABLE"), open, "",
			channel.ErrUnanswered, again},
		{"the wallet is silent", open, failure("FAIL", "UNEXPECTED_PROVIDER_ERROR"), open, "", channel.ErrUnanswered,
			again},
		{"no answer to the cancel", open, `{"result_code":"500"}`, open, "", channel.ErrUnanswered, cancels},
		{"the answer to a query", open, paidNow, open, "", channel.ErrUnanswered, again},
		{"an answer about another order", open, order(t, "CANCEL_ABORT_SUCCESS", callback{"client_sn": "ORDER-2"}), "",
			"", channel.ErrUnanswered, cancels},
	} {
		t.Run(test.name, func(t *testing.T) {
			u.sayThen(terminal, queryPath, test.before, test.after)
			u.say(terminal, cancelPath, test.cancel)
			u.questions()
			answer, err := payer.Close(t.Context(), question())
			checkOutcome(t, answer, err, test.want, test.fails)
			if asked := paths(u.questions()); !slices.Equal(asked, test.asked) {
				t.Fatalf("asked %v, want %v", asked, test.asked)
			}
		})
	}
}

// paths takes the path out of each question.
func paths(questions []string) []string {
	var paths []string
	for _, q := range questions {
		path, _, _ := strings.Cut(q[len(terminal):], "{")
		paths = append(paths, path)
	}
	return paths
}

// The cancel goes to the terminal that knew the order.
func TestTheCancelGoesToTheOrdersTerminal(t *testing.T) {
	u := newUpay()
	payer := newPayer(t, u, terminal, otherTerminal)
	u.say(terminal, queryPath, failure("FAIL", "UPAY_ORDER_NOT_EXISTS"))
	u.say(otherTerminal, queryPath, order(t, "SUCCESS", callback{"order_status": "CREATED",
		"terminal_sn": otherTerminal}))
	u.say(otherTerminal, cancelPath, order(t, "CANCEL_ABORT_SUCCESS", callback{"order_status": "CANCELED",
		"terminal_sn": otherTerminal}))
	answer, err := payer.Close(t.Context(), question())
	checkOutcome(t, answer, err, channel.StandingClosed, nil)

	u.questions()
	u.say(otherTerminal, cancelPath, failure("FAIL", "UPAY_CANCEL_INVALID_ORDER_STATE"))
	answer, err = payer.Close(t.Context(), question())
	checkOutcome(t, answer, err, "", channel.ErrRefused)
	if asked := u.questions(); len(asked) != 4 || asked[3][:len(otherTerminal)] != otherTerminal {
		t.Fatalf("asked %v: the last question should go to the order's terminal alone", asked)
	}
}

// Whoever reports a payment or a close, it has the same key and the same digest.
func TestAnAnswerAndItsCallbackAreOneEvent(t *testing.T) {
	key := newKey(t)
	u := newUpay()
	payer, client := newPayer(t, u, terminal), newClient(t, key)
	rapid.Check(t, func(draw *rapid.T) {
		facts := callback{
			"sn":           rapid.StringMatching(`[0-9]{16}`).Draw(draw, "sn"),
			"client_sn":    rapid.StringMatching(`[0-9A-Za-z_-]{1,32}`).Draw(draw, "order"),
			"total_amount": rapid.StringMatching(`[1-9][0-9]{0,9}`).Draw(draw, "fen"),
			"net_amount":   nil,
			"order_status": rapid.SampledFrom([]string{"PAID", "PAY_CANCELED"}).Draw(draw, "state"),
		}
		answered := facts
		if facts["order_status"] == "PAID" && rapid.Bool().Draw(draw, "refunded since") {
			answered = facts.with(callback{"order_status": "REFUNDED", "net_amount": "0"})
		}
		u.say(terminal, queryPath, order(t, "SUCCESS", answered))
		answer, err := payer.Query(t.Context(), channel.Question{OrderNo: facts["client_sn"].(string)})
		parsed, parseErr := client.Parse(t.Context(), send(t, key, paid().with(facts)))
		if err != nil || parseErr != nil || len(answer.Parsed.Events) != 1 || len(parsed.Events) != 1 {
			draw.Fatalf("answer %+v, %v; callback %+v, %v", answer.Parsed, err, parsed, parseErr)
		}
		got, want := answer.Parsed.Events[0], parsed.Events[0]
		gotKey, keyErr := got.Key()
		wantKey, wantErr := want.Key()
		if keyErr != nil || wantErr != nil || gotKey != wantKey || got.Digest() != want.Digest() {
			draw.Fatalf("answer %+v\ncallback %+v", got, want)
		}
	})
}

// The time in an answer is that of the last action: the payment's as long as nothing was given back.
func TestATimeIsThePaymentsOnlyBeforeARefund(t *testing.T) {
	u := newUpay()
	payer := newPayer(t, u, terminal)
	for _, test := range []struct {
		changes callback
		want    time.Time
	}{
		{nil, time.UnixMilli(1790000000000)},
		{callback{"channel_finish_time": nil}, time.UnixMilli(1790000001500)},
		{callback{"channel_finish_time": "", "finish_time": "soon"}, time.Time{}},
		{callback{"net_amount": "1500"}, time.Time{}},
		{callback{"order_status": "PARTIAL_REFUNDED", "net_amount": "1500"}, time.Time{}},
		{callback{"order_status": "REFUNDED", "net_amount": nil}, time.Time{}},
	} {
		u.say(terminal, queryPath, order(t, "SUCCESS", test.changes))
		answer, err := payer.Query(t.Context(), channel.Question{TradeNo: channeltest.PaymentNumber})
		checkOutcome(t, answer, err, channel.StandingPaid, nil)
		if got := answer.Parsed.Events[0].HappenedAt; !got.Equal(test.want) {
			t.Errorf("%v: %v, want %v", test.changes, got, test.want)
		}
	}
}
