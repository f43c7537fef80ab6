package sqb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/money"
)

// States of an order and of the flow item that a callback reports (Shouqianba upay docs, result codes).
const (
	orderPaid            = "PAID"
	orderPayCanceled     = "PAY_CANCELED"
	orderRefunded        = "REFUNDED"
	orderPartialRefunded = "PARTIAL_REFUNDED"

	flowSuccess     = "SUCCESS"
	flowFailCancel  = "FAIL_CANCELED"
	currency        = money.CNY // a callback names no currency; Shouqianba settles in yuan only
	unknownNet      = "-"       // stands in a hint's key where the callback has no net_amount
	quarantineState = "order_status or status is not one that is known"
)

// Parse verifies the signature over the raw body before anything in it is read, then the terminal, then decodes. A
// message that is authentic but not understood becomes a quarantined hint, because the money behind it may be real.
//
// Nothing is decoded before it is verified, so whatever is not signed is ErrForged; ErrMalformed is left for an empty
// body and for one that is longer than any notification. Nothing that a payer gets to see is signed with Shouqianba's
// key: what a browser brings back to the shop has an MD5 by the terminal's key (Shouqianba docs, WAP cashier, page
// return), which is never taken.
func (c *Client) Parse(_ context.Context, r channel.Request) (channel.Parsed, error) {
	if len(r.Body) == 0 || len(r.Body) > channel.MaxBodyBytes {
		return channel.Parsed{}, fmt.Errorf("%w: a body of this size is no callback", channel.ErrMalformed)
	}
	if err := c.verify(r.Header, r.Body); err != nil {
		return channel.Parsed{}, err
	}
	n, err := decode(r.Body)
	if err != nil {
		return c.quarantine(r.Body, err.Error()), nil
	}
	if !c.terminals[n.terminalSN] {
		return channel.Parsed{}, fmt.Errorf("%w: the signed terminal is none of ours", channel.ErrIdentity)
	}
	return c.interpret(n, r.Body), nil
}

func (c *Client) quarantine(body []byte, why string) channel.Parsed {
	return channel.Parsed{Hints: []channel.Hint{channel.Quarantine(c.account, body, why)}}
}

// interpret turns a callback into the one event or hint that it proves.
//
// PAID proves a payment only while nothing has been given back. A PAID callback with a net_amount below the total
// contradicts itself: some refund came between, whose number and time it does not tell, and finish_time may then be
// the refund's. So the house asks and books payment and refund from the answer.
//
// PAY_CANCELED means that the payment failed and whatever was taken was returned: the order ended unpaid. CANCELED is
// the merchant's own cancel or revoke, which may come after a payment that is booked here; unpaid and paid-then-voided
// look alike in the callback, so it is a question and not a close.
func (c *Client) interpret(n notification, body []byte) channel.Parsed {
	e := channel.Event{BizNo: []string{n.sn}, OrderNo: n.clientSN, TradeNo: n.sn, HappenedAt: n.happenedAt}
	untouched := !n.hasNet || n.net == n.total
	switch {
	case !knownOrderState(n.orderStatus) || !knownFlowState(n.status):
		return c.quarantine(body, quarantineState)
	case n.orderStatus == orderPaid && n.status == flowSuccess && untouched:
		e.Kind, e.Amount = channel.PaymentReceived, n.total
	case n.orderStatus == orderPayCanceled && n.failedOrDone() && (untouched || n.net.IsZero()):
		e.Kind = channel.PaymentClosed
	default:
		return channel.One(c.account, question(n), body)
	}
	return channel.One(c.account, e, body)
}

// question is the hint to query the order. Its key names what was observed, so that the next partial refund, which
// shows as a lower net_amount, is a new question and a repeated callback is not.
func question(n notification) channel.Event {
	net := unknownNet
	if n.hasNet {
		net = strconv.FormatInt(n.net.Minor, 10)
	}
	observed := []string{n.sn, n.orderStatus, net}
	if n.status != flowSuccess {
		observed = append(observed, n.status)
	}
	return channel.Event{Kind: channel.QueryDue, BizNo: observed, OrderNo: n.clientSN, TradeNo: n.sn,
		Amount: n.total, HappenedAt: n.happenedAt,
		Note: fmt.Sprintf("order_status %s, status %s, net_amount %s of %d fen",
			n.orderStatus, n.status, net, n.total.Minor)}
}

func (n notification) failedOrDone() bool {
	return n.status == flowSuccess || n.status == flowFailCancel
}

// knownOrderState lists order_status. The ones that end in ERROR leave the consumer's side open.
func knownOrderState(state string) bool {
	switch state {
	case orderPaid, orderPayCanceled, orderRefunded, orderPartialRefunded, "CREATED", "PAY_ERROR", "REFUND_ERROR",
		"CANCELED", "CANCEL_ERROR", "CANCEL_INPROGRESS", "INVALID_STATUS_CODE":
		return true
	}
	return false
}

// knownFlowState lists status: done, cancelled, in progress, and failures that leave the consumer's side open.
func knownFlowState(state string) bool {
	switch state {
	case flowSuccess, flowFailCancel, "IN_PROG", "FAIL_PROTOCOL_1", "FAIL_PROTOCOL_2", "FAIL_PROTOCOL_3",
		"FAIL_IO_1", "FAIL_IO_2", "FAIL_ERROR", "CANCEL_ERROR", "REFUND_ERROR":
		return true
	}
	return false
}

// Reasons for which an authentic message is not understood. They are written into a note, so they never quote it.
var (
	errIncomplete = errors.New("terminal_sn, sn, client_sn, status, order_status or total_amount is missing")
	errAmount     = errors.New("total_amount or net_amount is not a number of fen")
)

// notification holds what is read of a callback (Shouqianba upay docs, callback fields). Amounts are fen.
type notification struct {
	terminalSN, sn, clientSN string
	status                   string // of the flow item that is reported
	orderStatus              string
	total                    money.Amount
	net                      money.Amount // total less refunds
	hasNet                   bool
	happenedAt               time.Time // zero if the callback does not say
}

// decode reads the strict form: one object, every name once and compared byte by byte, texts for the fields that are
// used. Shouqianba sends all values as texts; other fields may be of any type, because nobody reads them.
func decode(body []byte) (notification, error) {
	fields, err := channel.ParseObject(body)
	if err != nil {
		return notification{}, err
	}
	texts := make(map[string]string)
	for _, name := range []string{"terminal_sn", "sn", "client_sn", "status", "order_status", "total_amount",
		"net_amount", "finish_time", "channel_finish_time"} {
		if texts[name], err = fields.Text(name); err != nil {
			return notification{}, err
		}
	}
	n := notification{terminalSN: texts["terminal_sn"], sn: texts["sn"], clientSN: texts["client_sn"],
		status: texts["status"], orderStatus: texts["order_status"]}
	for _, needed := range []string{n.terminalSN, n.sn, n.clientSN, n.status, n.orderStatus, texts["total_amount"]} {
		if needed == "" {
			return notification{}, errIncomplete
		}
	}
	if n.total, err = money.ParseMinor(texts["total_amount"], currency); err != nil {
		return notification{}, errAmount
	}
	if n.hasNet = texts["net_amount"] != ""; n.hasNet {
		if n.net, err = money.ParseMinor(texts["net_amount"], currency); err != nil {
			return notification{}, errAmount
		}
	}
	// The provider's time is when the payer paid; Shouqianba's own is close to it.
	if n.happenedAt = instant(texts["channel_finish_time"]); n.happenedAt.IsZero() {
		n.happenedAt = instant(texts["finish_time"])
	}
	return n, nil
}

// instant reads milliseconds since 1970. A time that cannot be read is zero, "the message does not say": it decides
// nothing about the money, so it is no reason to hold the payment back.
func instant(millis string) time.Time {
	ms, err := strconv.ParseUint(millis, 10, 64)
	if err != nil || ms == 0 || len(millis) > 13 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}
