package alipay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/money"
)

// The type of notification that is booked, and the states of a trade (Alipay open platform, asynchronous
// notifications, notify_type and trade_status).
const (
	tradeSync      = "trade_status_sync"
	statusWait     = "WAIT_BUYER_PAY"
	statusSuccess  = "TRADE_SUCCESS"
	statusFinished = "TRADE_FINISHED"
	statusClosed   = "TRADE_CLOSED"
)

// currency is the yuan: a domestic notification names none.
const currency = money.CNY

// Parse reads the form, verifies the signature over its decoded bytes, then whose it is, then what happened. A message
// that is authentic but not understood becomes a quarantined hint, because the money behind it may be real. The hint is
// kept under the digest of the signed text: one signature has one, but any number of forms with other escapes, in
// another order, or with empty parameters that are not signed.
func (c *Client) Parse(_ context.Context, r channel.Request) (channel.Parsed, error) {
	if len(r.Body) == 0 || len(r.Body) > channel.MaxBodyBytes {
		return channel.Parsed{}, fmt.Errorf("%w: a body of this size is no notification", channel.ErrMalformed)
	}
	raw, err := parseForm(r.Body)
	if err != nil {
		return channel.Parsed{}, fmt.Errorf("%w: %w", channel.ErrMalformed, err)
	}
	signed, err := c.verify(raw)
	if err != nil {
		return channel.Parsed{}, err
	}
	if returned(signed) {
		return channel.Parsed{}, fmt.Errorf("%w: a synchronous return, not a notification", channel.ErrMalformed)
	}
	if err := c.identify(raw); err != nil {
		return channel.Parsed{}, err
	}
	f, ok := raw.readable()
	if !ok {
		return c.quarantine(signed, "the charset is unknown or a value is no text in it"), nil
	}
	if raw.hides() {
		return c.quarantine(signed, "a value holds another parameter, so the signed text has two readings"), nil
	}
	return c.interpret(f, signed), nil
}

// returned tells what the payer's browser brings back to return_url (Alipay open platform, computer website payment,
// synchronous return parameters). It is signed by the same key in the same way, names the interface in method, and is
// known to everybody who pays, so it must not become a claim; a notification has a notify_type instead. The signed text
// is asked and not the parameters, because the payer could hide method in the value before it.
func returned(signed []byte) bool {
	return channel.SignsField(signed, "method") && !channel.SignsField(signed, "notify_type")
}

// identify checks that the signed message is about our application and our money. Only messages that are not about a
// trade may leave out the seller.
func (c *Client) identify(f form) error {
	app := f["app_id"] == c.config.AppID
	if authorised := f["auth_app_id"]; authorised != "" && authorised != c.config.AppID {
		app = app && slices.Contains(c.config.AuthAppIDs, authorised)
	}
	if !app {
		return fmt.Errorf("%w: the signed app_id is not ours", channel.ErrIdentity)
	}
	if f["seller_id"] == "" && f["notify_type"] != tradeSync {
		return nil
	}
	if !slices.Contains(c.config.SellerIDs, f["seller_id"]) {
		return fmt.Errorf("%w: the signed seller_id is not ours", channel.ErrIdentity)
	}
	return nil
}

func (c *Client) quarantine(signed []byte, why string) channel.Parsed {
	return channel.Parsed{Hints: []channel.Hint{channel.Quarantine(c.config.Account, signed, why)}}
}

// interpret tells what happened. A refund is recognised by its amount and one of its marks, because it arrives with
// the trade_status of a payment (partial) or of a close (full).
//
// TRADE_FINISHED says that the time for refunds is over, or that the product knows none. It may still carry the marks
// of earlier refunds, of which it says nothing new. It does say that the trade was paid, and when, and that is the
// same payment under the same key and digest as TRADE_SUCCESS: a repeat where that one came, the payment where it was
// lost or never sent.
func (c *Client) interpret(f form, signed []byte) channel.Parsed {
	if f["notify_type"] != tradeSync || f["dback_status"] != "" || f["refund_status"] != "" {
		return c.quarantine(signed, "not a notification about the state of a trade")
	}
	if f.swallows() {
		return c.quarantine(signed, "a number or time holds & or =, which the signature cannot tell from separators")
	}
	total, refunded, ok := amounts(f)
	if !ok || f["out_trade_no"] == "" {
		return c.quarantine(signed, "no out_trade_no, or total_amount or refund_fee is not an amount of yuan that fits")
	}
	e := channel.Event{BizNo: []string{f["trade_no"]}, OrderNo: f["out_trade_no"], TradeNo: f["trade_no"]}
	status, paid := f["trade_status"], f["gmt_payment"] != ""
	marks := f["gmt_refund"] != "" || f["out_biz_no"] != ""
	untouched := refunded.IsZero() && !marks
	switch {
	case status == statusFinished && paid, status == statusSuccess && paid && untouched:
		e.Kind, e.Amount, e.HappenedAt = channel.PaymentReceived, total, beijing(f["gmt_payment"])
	case !refunded.IsZero() && marks && (status == statusSuccess || status == statusClosed):
		e = question(e, f, refunded)
	case status == statusClosed && !paid && untouched:
		e.Kind, e.BizNo, e.HappenedAt = channel.PaymentClosed, closeNumber(e), beijing(f["gmt_close"])
	case status == statusWait:
		e.Kind, e.BizNo, e.Note = channel.QueryDue, []string{f["trade_no"], status}, "the buyer has not paid yet"
	default:
		return c.quarantine(signed, "trade_status is not known, or the marks of payment and refund contradict it")
	}
	return channel.One(c.config.Account, e, signed)
}

// amounts reads the order's total and what was given back of it so far; an absent refund_fee is none. False: one of
// them is no amount, the total is zero, or more was given back than was paid.
func amounts(f form) (total, refunded money.Amount, ok bool) {
	total, err := money.Parse(f["total_amount"], currency)
	if err != nil || total.IsZero() {
		return total, refunded, false
	}
	refunded = money.New(0, currency)
	if f["refund_fee"] != "" {
		refunded, err = money.Parse(f["refund_fee"], currency)
	}
	return total, refunded, err == nil && refunded.Minor <= total.Minor
}

// question is the hint that a refund was seen. The amount of this refund is not in the message, only the sum of all so
// far, so it has to be asked for by its number. Its key names the observation: refund number (or time, where a refund
// made elsewhere has none) and cumulative amount.
func question(e channel.Event, f form, refunded money.Amount) channel.Event {
	mark := f["out_biz_no"]
	if mark == "" {
		mark = f["gmt_refund"]
	}
	e.Kind, e.RefundNo = channel.QueryDue, f["out_biz_no"]
	e.BizNo = []string{f["trade_no"], mark, refunded.Decimal()}
	e.Amount, e.HappenedAt = refunded, beijing(f["gmt_refund"])
	e.Note = "refund seen, " + refunded.Decimal() + " yuan given back so far"
	return e
}

// closeNumber names a close by the trade, or by @ and the order where no buyer ever made a trade of it. Alipay's trade
// numbers are digits, so the two never meet.
func closeNumber(e channel.Event) []string {
	if e.TradeNo == "" {
		return []string{"@" + e.OrderNo}
	}
	return []string{e.TradeNo}
}

// beijing reads a time as Alipay writes it, without a zone and sometimes with milliseconds. A time that cannot be read
// is zero, "the message does not say": it decides nothing about the money, so it is no reason to hold a payment back.
func beijing(text string) time.Time {
	whole, _, _ := strings.Cut(text, ".")
	t, err := time.ParseInLocation(time.DateTime, whole, time.FixedZone("+08:00", 8*3600))
	if err != nil || t.UTC().Year() < 1 {
		return time.Time{}
	}
	return t.UTC()
}
