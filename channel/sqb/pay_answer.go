package sqb

import (
	"fmt"
	"slices"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/money"
)

// Codes of the second layer (Shouqianba upay docs, business result codes).
const (
	bizSuccess    = "SUCCESS" // of a query: look at order_status
	bizFail       = "FAIL"    // turned down, nothing was started
	cancelDone    = "CANCEL_SUCCESS"
	cancelAborted = "CANCEL_ABORT_SUCCESS"
)

// States that only answers show, beside those of a callback.
const (
	orderCreated   = "CREATED"
	orderCanceled  = "CANCELED"
	flowCreated    = "CREATED"
	flowInProgress = "IN_PROG"
)

// providerUnclear reports whether an error code says that the wallet behind Shouqianba did not answer clearly.
func providerUnclear(code string) bool { return code == "UNEXPECTED_PROVIDER_ERROR" }

// state is what an answer says of an order. Amounts are fen.
type state struct {
	order, flow string
	total, net  money.Amount // net is the total if the answer does not say
	sound       bool         // both are amounts, and no more is left than was paid
}

// interpret tells where the order stands, by the third layer. aborted says that this is the answer to a cancel that
// broke off a payment under way. A paid order becomes the event that its callback is; the time in the answer is that of
// the last action, so once something was given back it is no longer the payment's and is left out.
func (p *Payer) interpret(r reply, q channel.Question, aborted bool) (channel.Answer, error) {
	e, s, err := p.read(r, q)
	if err != nil {
		return channel.Answer{}, err
	}
	answer := channel.Answer{Standing: s.standing(aborted), Raw: r.raw, Note: word(s.order) + " " + word(s.flow)}
	switch answer.Standing {
	case channel.StandingPaid:
		e.Kind, e.Amount = channel.PaymentReceived, s.total
		if s.order != orderPaid || s.net != s.total {
			e.HappenedAt = time.Time{}
		}
	case channel.StandingClosed:
		e.Kind = channel.PaymentClosed
	default:
		return answer, nil
	}
	answer.Parsed = channel.One(p.account, e, r.raw)
	if len(answer.Parsed.Events) == 0 { // what cannot be claimed proves nothing to the books
		answer.Standing, answer.Parsed = channel.StandingUnknown, channel.Parsed{}
	}
	return answer, nil
}

// read takes the order out of the answer and refuses one that is about another order, or another merchant's terminal.
// Not every answer names the terminal.
func (p *Payer) read(r reply, q channel.Question) (channel.Event, state, error) {
	data, err := r.biz.Object("data")
	if err != nil {
		return channel.Event{}, state{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	texts, err := data.Texts("sn", "client_sn", "terminal_sn", "order_status", "status", "total_amount", "net_amount",
		"channel_finish_time", "finish_time")
	if err != nil {
		return channel.Event{}, state{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	sn, clientSN, terminal := texts[0], texts[1], texts[2]
	if sn == "" || clientSN == "" || q.TradeNo != "" && q.TradeNo != sn || q.OrderNo != "" && q.OrderNo != clientSN {
		return channel.Event{}, state{}, fmt.Errorf("%w: the answer is about another order", channel.ErrUnanswered)
	}
	if terminal != "" && !slices.Contains(p.terminals, terminal) {
		return channel.Event{}, state{}, fmt.Errorf("%w: the answer is about a stranger's terminal",
			channel.ErrUnanswered)
	}
	e := channel.Event{BizNo: []string{sn}, OrderNo: clientSN, TradeNo: sn, HappenedAt: instant(texts[7])}
	if e.HappenedAt.IsZero() {
		e.HappenedAt = instant(texts[8])
	}
	s := state{order: texts[3], flow: texts[4]}
	s.total, err = money.ParseMinor(texts[5], currency)
	s.net, s.sound = s.total, err == nil
	if texts[6] != "" {
		s.net, err = money.ParseMinor(texts[6], currency)
		s.sound = s.sound && err == nil && s.net.Minor <= s.total.Minor
	}
	return e, s, nil
}

// standing reads order_status (Shouqianba upay docs, order states). PAID is believed only of a flow that succeeded.
// After a refund the order was paid, whatever became of further refunds. All states that end in ERROR leave the payer's
// side open, and CANCELED does not say whether there had been a payment, unless it was broken off just now.
func (s state) standing(aborted bool) channel.Standing {
	switch s.order {
	case orderCreated:
		switch s.flow {
		case "", flowCreated, flowInProgress, flowSuccess:
			return channel.StandingOpen
		}
	case orderPaid:
		if s.flow == flowSuccess && s.sound {
			return channel.StandingPaid
		}
	case orderRefunded, orderPartialRefunded:
		if s.sound {
			return channel.StandingPaid
		}
	case orderPayCanceled:
		if (s.flow == flowSuccess || s.flow == flowFailCancel) && s.sound && (s.net == s.total || s.net.IsZero()) {
			return channel.StandingClosed
		}
	case orderCanceled:
		if aborted && s.flow == flowSuccess {
			return channel.StandingClosed
		}
	}
	return channel.StandingUnknown
}
