package alipay_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
	"github.com/paidonce/paidonce/money"
	"pgregory.net/rapid"
)

// What closing an order answers, and what it takes to find out.
func TestClosing(t *testing.T) {
	const done = `{"code":"10000","msg":"Success","trade_no":"` + channeltest.PaymentNumber + `","out_trade_no":"ORDER-1"}`
	noOrder := fmt.Sprintf(`{"code":"10000","trade_no":"%s"}`, channeltest.PaymentNumber)
	late := refusal("40004", "ACQ.TRADE_STATUS_ERROR")
	both := []string{closeMethod, queryMethod}
	g := newGateway(t)
	payer := g.payer(t)
	for _, test := range []struct {
		name         string
		close, query string
		question     channel.Question
		want         channel.Standing
		fails        error
		asked        []string
	}{
		{"closed", done, "", question(), channel.StandingClosed, nil, both[:1]},
		{"closed, numbers left out", `{"code":"10000"}`, "", question(), channel.StandingClosed, nil, both[:1]},
		{"closed, no order number", noOrder, trade(closedUnpaid(nil)),
			channel.Question{TradeNo: channeltest.PaymentNumber}, channel.StandingClosed, nil, both},
		{"the payer was faster", late, trade(nil), question(), channel.StandingPaid, nil, both},
		{"refunded in full", late, trade(params{"trade_status": "TRADE_CLOSED"}), question(), channel.StandingPaid, nil,
			both},
		{"closed before", late, trade(closedUnpaid(nil)), question(), channel.StandingClosed, nil, both},
		{"refused though open", late, trade(params{"trade_status": "WAIT_BUYER_PAY"}), question(), "",
			channel.ErrRefused, both},
		{"unclear after a refusal", late, refusal("20000", "isp.unknow-error"), question(), "", channel.ErrUnanswered,
			both},
		{"no trade yet", refusal("40004", "ACQ.TRADE_NOT_EXIST"), "", question(), channel.StandingAbsent, nil, both[:1]},
		{"no right to close", refusal("40006", "isv.insufficient-isv-permissions"), "", question(), "",
			channel.ErrRefused, both[:1]},
		{"system error", refusal("40004", "ACQ.SYSTEM_ERROR"), "", question(), "", channel.ErrUnanswered, both[:1]},
		{"another order", strings.Replace(done, "ORDER-1", "ORDER-2", 1), "", question(), "", channel.ErrUnanswered,
			both[:1]},
		{"the answer to a query", trade(nil), "", question(), "", channel.ErrUnanswered, both[:1]},
	} {
		t.Run(test.name, func(t *testing.T) {
			g.say(closeMethod, test.close)
			g.say(queryMethod, test.query)
			answer, err := payer.Close(t.Context(), test.question)
			checkOutcome(t, answer, err, test.want, test.fails)
			if asked := g.methods(); !slices.Equal(asked, test.asked) {
				t.Fatalf("asked %v, want %v", asked, test.asked)
			}
		})
	}
}

// checkOutcome demands either this standing, with an event where the standing has one, or this error and nothing else.
func checkOutcome(t *testing.T, a channel.Answer, err error, want channel.Standing, fails error) {
	t.Helper()
	if !errors.Is(err, fails) || a.Standing != want {
		t.Fatalf("%q, %v; want %q, %v", a.Standing, err, want, fails)
	}
	kind := map[channel.Standing]channel.Kind{channel.StandingPaid: channel.PaymentReceived,
		channel.StandingClosed: channel.PaymentClosed}[want]
	if (len(a.Parsed.Events) == 1) != (kind != "") || kind != "" && a.Parsed.Events[0].Kind != kind {
		t.Fatalf("standing %q with events %+v", want, a.Parsed.Events)
	}
}

func TestCancellingAnUnknownPayment(t *testing.T) {
	outcome := func(action, retry string) string {
		return fmt.Sprintf(`{"code":"10000","trade_no":"%s","out_trade_no":"ORDER-1","action":"%s","retry_flag":"%s"}`,
			channeltest.PaymentNumber, action, retry)
	}
	g := newGateway(t)
	payer := g.payer(t)
	for _, test := range []struct {
		name, cancel, query string
		want                channel.Standing
		fails               error
	}{
		{"nothing was paid", outcome("close", "N"), "", channel.StandingClosed, nil},
		{"it was paid and is given back", outcome("refund", "N"), trade(params{"trade_status": "TRADE_CLOSED"}),
			channel.StandingPaid, nil},
		{"given back, but the query shows no payment", outcome("refund", "N"), trade(closedUnpaid(nil)),
			channel.StandingUnknown, nil},
		{"Alipay wants it again", outcome("close", "Y"), "", "", channel.ErrUnanswered},
		{"no word on repeating", outcome("close", ""), "", "", channel.ErrUnanswered},
		{"no action, no trade", outcome("", "N"), refusal("40004", "ACQ.TRADE_NOT_EXIST"), channel.StandingAbsent, nil},
		{"no action, paid", outcome("", "N"), trade(nil), channel.StandingPaid, nil},
		{"no trade", refusal("40004", "ACQ.TRADE_NOT_EXIST"), "", channel.StandingAbsent, nil},
		{"too late", refusal("40004", "ACQ.TRADE_CANCEL_TIME_OUT"), "", "", channel.ErrRefused},
		{"system error", refusal("40004", "AQC.SYSTEM_ERROR"), "", "", channel.ErrUnanswered},
	} {
		t.Run(test.name, func(t *testing.T) {
			g.say(cancelMethod, test.cancel)
			g.say(queryMethod, test.query)
			answer, err := payer.Cancel(t.Context(), question())
			checkOutcome(t, answer, err, test.want, test.fails)
		})
	}
}

// Whoever reports a payment or a close, it has the same key and the same digest.
func TestAnAnswerAndItsNotificationAreOneEvent(t *testing.T) {
	g := newGateway(t)
	payer, client := g.payer(t), newClient(t, g.alipay)
	rapid.Check(t, func(draw *rapid.T) {
		facts := params{
			"trade_no":     rapid.StringMatching(`[0-9]{16,28}`).Draw(draw, "trade"),
			"out_trade_no": rapid.StringMatching(`[0-9A-Za-z_]{1,64}`).Draw(draw, "order"),
			"total_amount": money.New(rapid.Int64Range(1, 10_000_000_000).Draw(draw, "fen"), money.CNY).Decimal(),
			"trade_status": rapid.SampledFrom([]string{"TRADE_SUCCESS", "TRADE_FINISHED"}).Draw(draw, "status"),
		}
		answered, sent := trade(facts), paid().with(facts)
		if rapid.Bool().Draw(draw, "unpaid") {
			delete(facts, "trade_status")
			answered = trade(closedUnpaid(facts))
			sent = sent.with(params{"trade_status": "TRADE_CLOSED", "gmt_payment": "-", "refund_fee": "-"})
		}
		g.say(queryMethod, answered)
		answer, err := payer.Query(t.Context(), channel.Question{OrderNo: facts["out_trade_no"]})
		if err != nil || len(answer.Parsed.Events) != 1 {
			draw.Fatalf("%q, %v, %d events", answer.Standing, err, len(answer.Parsed.Events))
		}
		got, want := answer.Parsed.Events[0], parse(t, client, send(t, g.alipay, sent))
		if mustKey(t, got) != mustKey(t, want) || got.Digest() != want.Digest() {
			draw.Fatalf("answer %+v\nnotification %+v", got, want)
		}
	})
}

func TestThePaymentTimeIsSendPayDateInBeijing(t *testing.T) {
	g := newGateway(t)
	g.say(queryMethod, trade(params{"send_pay_date": "2026-12-01 00:30:00"}))
	answer, err := g.payer(t).Query(t.Context(), question())
	want := time.Date(2026, 11, 30, 16, 30, 0, 0, time.UTC)
	if err != nil || len(answer.Parsed.Events) != 1 || !answer.Parsed.Events[0].HappenedAt.Equal(want) {
		t.Fatalf("%+v, %v; want one event at %v", answer.Parsed.Events, err, want)
	}
}
