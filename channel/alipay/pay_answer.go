package alipay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/money"
)

// absent is the answer for a trade that Alipay does not have.
func absent(r reply) channel.Answer {
	return channel.Answer{Standing: channel.StandingAbsent, Raw: r.raw, Note: word(r.sub)}
}

// numbers reads whose trade the answer is about, and refuses one about another than was asked for. Where the answer
// leaves a number out, the question's stands.
func (p *Payer) numbers(r reply, q channel.Question) (order, trade string, err error) {
	texts, err := r.fields.Texts("out_trade_no", "trade_no", "seller_id")
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	order, trade = texts[0], texts[1]
	if texts[2] != "" && !slices.Contains(p.config.SellerIDs, texts[2]) {
		return "", "", fmt.Errorf("%w: the answer is about another seller", channel.ErrUnanswered)
	}
	if order != "" && q.OrderNo != "" && order != q.OrderNo || trade != "" && q.TradeNo != "" && trade != q.TradeNo {
		return "", "", fmt.Errorf("%w: the answer is about another order", channel.ErrUnanswered)
	}
	if order == "" {
		order = q.OrderNo
	}
	if trade == "" {
		trade = q.TradeNo
	}
	return order, trade, nil
}

// interpret tells where the trade stands. A paid one becomes the event that its notification is: total_amount is the
// same field in both, send_pay_date is the notification's gmt_payment.
func (p *Payer) interpret(r reply, q channel.Question) (channel.Answer, error) {
	if text, err := r.fields.Text("out_trade_no"); err != nil || text == "" {
		return channel.Answer{}, fmt.Errorf("%w: the answer names no order", channel.ErrUnanswered)
	}
	order, trade, err := p.numbers(r, q)
	if err != nil {
		return channel.Answer{}, err
	}
	texts, err := r.fields.Texts("trade_status", "send_pay_date", "trans_currency")
	if err != nil {
		return channel.Answer{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	status, paidAt, foreign := texts[0], texts[1], texts[2] != "" && texts[2] != string(currency)
	e := channel.Event{Kind: channel.PaymentReceived, BizNo: []string{trade}, OrderNo: order, TradeNo: trade,
		HappenedAt: beijing(paidAt)}
	unknown := channel.Answer{Standing: channel.StandingUnknown, Raw: r.raw, Note: word(status)}
	switch {
	case foreign:
		return unknown, nil
	case status == statusSuccess, status == statusFinished, status == statusClosed && paidAt != "":
		var ok bool
		if e.Amount, ok = r.yuan("total_amount"); !ok {
			return unknown, nil
		}
		return p.event(e, channel.StandingPaid, r, status), nil
	case status == statusClosed && !r.showsMoney():
		e.Kind, e.BizNo = channel.PaymentClosed, closeNumber(e)
		return p.event(e, channel.StandingClosed, r, status), nil
	case status == statusWait:
		return channel.Answer{Standing: channel.StandingOpen, Raw: r.raw, Note: status}, nil
	}
	return unknown, nil
}

// showsMoney reports whether an answer without send_pay_date holds any other sign that the buyer paid. TRADE_CLOSED
// means "never paid" as well as "paid and given back in full". send_pay_date, when the seller got the money, tells
// them apart: it stays after a full refund. The amounts do not, because Alipay shows 0.00 in paid trades too; but one
// above zero without the time is a contradiction, and what contradicts itself closes nothing.
func (r reply) showsMoney() bool {
	for _, name := range []string{"buyer_pay_amount", "receipt_amount", "invoice_amount", "point_amount"} {
		if amount, ok := r.yuan(name); !r.empty(name) && (!ok || !amount.IsZero()) {
			return true
		}
	}
	return !r.empty("fund_bill_list")
}

// empty reports whether a field is left out or holds nothing. Lists come as JSON or as a text that holds JSON.
func (r reply) empty(name string) bool {
	switch string(r.fields[name]) {
	case "", "null", `""`, "[]", `"[]"`:
		return true
	}
	return false
}

// yuan reads an amount. Alipay sends texts; its documents show some amounts as bare numbers, so the digits of those
// are read as they stand.
func (r reply) yuan(name string) (money.Amount, bool) {
	text, err := r.fields.Text(name)
	if errors.Is(err, channel.ErrNotText) {
		text = string(r.fields[name])
	}
	amount, err := money.Parse(text, currency)
	return amount, err == nil
}

// closed makes the event of a trade that Alipay says it closed unpaid. If no order number is known to either side, the
// close could not be matched with its notification, so the trade is asked about once more.
func (p *Payer) closed(ctx context.Context, r reply, q channel.Question) (channel.Answer, error) {
	order, trade, err := p.numbers(r, q)
	if err != nil {
		return channel.Answer{}, err
	}
	if order == "" {
		return p.Query(ctx, q)
	}
	e := channel.Event{Kind: channel.PaymentClosed, OrderNo: order, TradeNo: trade}
	e.BizNo = closeNumber(e)
	return p.event(e, channel.StandingClosed, r, statusClosed), nil
}

// event makes the answer that carries an event. One that cannot be claimed proves nothing to the books: its standing
// is unknown, and the raw answer is there for a person.
func (p *Payer) event(e channel.Event, s channel.Standing, r reply, note string) channel.Answer {
	parsed := channel.One(p.config.Account, e, r.raw)
	if len(parsed.Events) == 0 {
		return channel.Answer{Standing: channel.StandingUnknown, Raw: r.raw, Note: note}
	}
	return channel.Answer{Standing: s, Parsed: parsed, Raw: r.raw, Note: note}
}
