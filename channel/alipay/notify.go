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

// The states of a trade (Alipay open platform, trade_status).
const (
	statusWait     = "WAIT_BUYER_PAY"
	statusSuccess  = "TRADE_SUCCESS"
	statusFinished = "TRADE_FINISHED"
	statusClosed   = "TRADE_CLOSED"
)

// Parse reads the form, verifies the signature over its decoded bytes, then whose it is, then what happened. A message
// that is authentic but not understood becomes a quarantined hint, because the money behind it may be real.
func (c *Client) Parse(_ context.Context, r channel.Request) (channel.Parsed, error) {
	if len(r.Body) == 0 || len(r.Body) > channel.MaxBodyBytes {
		return channel.Parsed{}, fmt.Errorf("%w: a body of this size is no notification", channel.ErrMalformed)
	}
	raw, err := parseForm(r.Body)
	if err != nil {
		return channel.Parsed{}, fmt.Errorf("%w: %w", channel.ErrMalformed, err)
	}
	if err := c.verify(raw); err != nil {
		return channel.Parsed{}, err
	}
	f, ok := raw.readable()
	if !ok {
		return c.quarantine(r.Body, "the charset is unknown or a value is no text in it"), nil
	}
	if err := c.identify(f); err != nil {
		return channel.Parsed{}, err
	}
	return c.interpret(f, r.Body), nil
}

// identify checks that the signed message is about our application and our money.
func (c *Client) identify(f form) error {
	app := f["app_id"] == c.config.AppID
	if authorised := f["auth_app_id"]; authorised != "" && authorised != c.config.AppID {
		app = app && slices.Contains(c.config.AuthAppIDs, authorised)
	}
	if !app {
		return fmt.Errorf("%w: the signed app_id is not ours", channel.ErrIdentity)
	}
	if !slices.Contains(c.config.SellerIDs, f["seller_id"]) {
		return fmt.Errorf("%w: the signed seller_id is not ours", channel.ErrIdentity)
	}
	return nil
}

func (c *Client) quarantine(body []byte, why string) channel.Parsed {
	return channel.Parsed{Hints: []channel.Hint{channel.Quarantine(c.config.Account, body, why)}}
}

// interpret tells what happened. A refund is recognised first, by its amount and one of its marks, because it arrives
// with the trade_status of a payment (partial) or of a close (full).
//
// TRADE_FINISHED says that the time for refunds is over. It may still carry refund_fee of earlier refunds, but it says
// nothing new about them; it does say that the trade was paid, which is the same payment under the same key.
func (c *Client) interpret(f form, body []byte) channel.Parsed {
	if f["notify_type"] != "trade_status_sync" || f["trade_no"] == "" || f["out_trade_no"] == "" {
		return c.quarantine(body, "not a notification about a trade")
	}
	if strings.ContainsAny(f["trade_no"]+f["out_trade_no"]+f["out_biz_no"], "&=") {
		// The signed text is not escaped: whoever captured a message can hide a parameter inside another one's value.
		// In a number that would make a second name of the same payment.
		return c.quarantine(body, "a number holds & or =, which the signature cannot tell from its own separators")
	}
	total, totalErr := money.Parse(f["total_amount"], money.CNY)
	refunded, refundErr := money.New(0, money.CNY), error(nil)
	if f["refund_fee"] != "" {
		refunded, refundErr = money.Parse(f["refund_fee"], money.CNY)
	}
	if totalErr != nil || refundErr != nil || total.IsZero() || refunded.Minor > total.Minor {
		return c.quarantine(body, "total_amount or refund_fee is not an amount of yuan that fits")
	}
	e := channel.Event{BizNo: []string{f["trade_no"]}, OrderNo: f["out_trade_no"], TradeNo: f["trade_no"]}
	status, paid := f["trade_status"], f["gmt_payment"] != ""
	refundMarks := f["gmt_refund"] != "" || f["out_biz_no"] != ""
	switch {
	case status == statusFinished && paid:
		e.Kind, e.Amount, e.HappenedAt = channel.PaymentReceived, total, beijing(f["gmt_payment"])
	case !refunded.IsZero() && refundMarks && (status == statusSuccess || status == statusClosed):
		e = question(e, f, refunded)
	case status == statusSuccess && paid && refunded.IsZero() && !refundMarks:
		e.Kind, e.Amount, e.HappenedAt = channel.PaymentReceived, total, beijing(f["gmt_payment"])
	case status == statusClosed && refunded.IsZero() && !refundMarks && !paid:
		e.Kind, e.HappenedAt = channel.PaymentClosed, beijing(f["gmt_close"])
	case status == statusWait:
		e.Kind, e.BizNo, e.Note = channel.QueryDue, []string{f["trade_no"], status}, "the buyer has not paid yet"
	default:
		return c.quarantine(body, "trade_status and the marks of payment and refund contradict each other")
	}
	return channel.One(c.config.Account, e, body)
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

// beijing reads a time as Alipay writes it, without a zone and sometimes with milliseconds. A time that cannot be read
// is zero, "the message does not say".
func beijing(text string) time.Time {
	whole, _, _ := strings.Cut(text, ".")
	t, err := time.ParseInLocation("2006-01-02 15:04:05", whole, time.FixedZone("+08:00", 8*3600))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
