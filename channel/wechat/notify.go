package wechat

import (
	"context"
	"errors"
	"time"

	"github.com/paidonce/paidonce/channel"
)

// Types of the notifications that are understood (WeChat Pay v3 docs, payment and refund notification).
const (
	transactionSuccess = "TRANSACTION.SUCCESS"
	refundPrefix       = "REFUND."
	originalPayment    = "transaction"
	originalRefund     = "refund"
	stateSuccess       = "SUCCESS"
	stateRefund        = "REFUND" // of a payment: it was received, and some of it has been refunded since
)

var (
	errUnknownType   = errors.New("an event_type that is not known")
	errContradiction = errors.New("event_type, original_type and state contradict each other")
)

// Parse verifies the signature over the raw body, then opens and decodes it, then compares the merchant. A message
// that is authentic but not understood becomes a quarantined hint, because the money behind it may be real.
//
// Nothing is decoded before it is verified, so whatever is not signed is ErrForged; ErrMalformed is left for an empty
// body and for one that is longer than any notification. Nothing that a payer gets to see is signed with WeChat Pay's
// key: the parameters that a page pays with are signed by the merchant's own (WeChat Pay v3 docs, JSAPI payment).
func (c *Client) Parse(_ context.Context, r channel.Request) (channel.Parsed, error) {
	if err := tooBig(r.Body); err != nil {
		return channel.Parsed{}, err
	}
	if err := c.verify(r); err != nil {
		return channel.Parsed{}, err
	}
	event, err := c.decode(r.Body)
	if errors.Is(err, channel.ErrIdentity) {
		return channel.Parsed{}, err
	}
	if err != nil {
		return c.quarantine(r.Body, err), nil
	}
	return channel.One(c.account, event, r.Body), nil
}

func (c *Client) decode(body []byte) (channel.Event, error) {
	outer := newReader(body)
	eventType := outer.needed("event_type")
	resource := outer.object("resource")
	original := resource.text("original_type")
	if outer.err != nil {
		return channel.Event{}, outer.err
	}
	kind, isRefund := refundKind(eventType)
	if !isRefund && eventType != transactionSuccess {
		return channel.Event{}, errUnknownType
	}
	plain, err := c.open(resource)
	if err != nil {
		return channel.Event{}, err
	}
	if isRefund {
		return c.refund(newReader(plain), eventType, original, kind)
	}
	return c.payment(newReader(plain), original)
}

// refundKind gives what a refund's event_type proves. A closed refund left the money with the merchant; an abnormal
// one is stuck and may still succeed.
func refundKind(eventType string) (channel.Kind, bool) {
	switch eventType {
	case "REFUND.SUCCESS":
		return channel.RefundSucceeded, true
	case "REFUND.ABNORMAL":
		return channel.RefundAbnormal, true
	case "REFUND.CLOSED":
		return channel.RefundFailed, true
	}
	return "", false
}

// payment reads the notification of a payment. amount.total is the order's amount; what the payer paid after coupons
// is another figure and not compared with an order.
func (c *Client) payment(m *reader, original string) (channel.Event, error) {
	apps := []string{m.text("appid"), m.text("sp_appid")}
	if err := c.ours(m, apps); err != nil {
		return channel.Event{}, err
	}
	if apps[0]+apps[1] == "" {
		return channel.Event{}, errIncomplete
	}
	e := channel.Event{Kind: channel.PaymentReceived, OrderNo: m.needed("out_trade_no"),
		TradeNo: m.needed("transaction_id"), HappenedAt: instant(time.RFC3339, m.text("success_time"))}
	e.BizNo = []string{e.TradeNo}
	state := m.needed("trade_state")
	e.Amount = m.amount("total")
	if m.err != nil {
		return channel.Event{}, m.err
	}
	if (state != stateSuccess && state != stateRefund) || (original != "" && original != originalPayment) {
		return channel.Event{}, errContradiction
	}
	return e, nil
}

// refund reads the notification of a refund. The state is called refund_status in the documents of the notification
// and status in those of the API; a missing one is a question for a person and never "failed".
func (c *Client) refund(m *reader, eventType, original string, kind channel.Kind) (channel.Event, error) {
	if err := c.ours(m, []string{m.text("appid"), m.text("sp_appid")}); err != nil {
		return channel.Event{}, err
	}
	e := channel.Event{Kind: kind, OrderNo: m.needed("out_trade_no"), TradeNo: m.needed("transaction_id"),
		RefundNo: m.needed("out_refund_no"), BizNo: []string{m.needed("refund_id")},
		HappenedAt: instant(time.RFC3339, m.text("success_time"))}
	state, other := m.text("refund_status"), m.text("status")
	if state == "" {
		state, other = other, ""
	}
	e.Amount = m.amount("refund")
	if m.err != nil {
		return channel.Event{}, m.err
	}
	if state == "" {
		return channel.Event{}, errIncomplete
	}
	if refundPrefix+state != eventType || (other != "" && other != state) ||
		(original != "" && original != originalRefund) {
		return channel.Event{}, errContradiction
	}
	return e, nil
}

// ours checks the merchant of a message that has been read so far.
func (c *Client) ours(m *reader, apps []string) error {
	merchants := []string{m.text("mchid"), m.text("sp_mchid")}
	if m.err != nil {
		return m.err
	}
	return c.check(merchants, apps)
}

// instant reads a time; one without a zone is Beijing's. A time that cannot be read is zero, "the message does not
// say": it decides nothing about the money, so it is no reason to hold the payment back.
func instant(layout, text string) time.Time {
	at, err := time.ParseInLocation(layout, text, time.FixedZone("Beijing", 8*60*60))
	if err != nil || at.Year() < 1971 || at.Year() > 9998 {
		return time.Time{}
	}
	return at.UTC()
}
