package wechat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/paidonce/paidonce/channel"
)

// Outcomes of a question that are decided inside the package and never leave it as they are.
var (
	errAbsent = errors.New("wechat: no such order")
	errState  = fmt.Errorf("%w: not as the order stands", channel.ErrRefused)
)

var errOtherSub = errors.New("the answer is about another merchant of the service provider")

func errNoOrder() error {
	return fmt.Errorf("%w: the question names no order of WeChat Pay", channel.ErrRefused)
}

// validNumber reports whether s can be an order's or a transaction's number at WeChat Pay (WeChat Pay v3 docs, place
// order). No such number can leave its place in a path.
func validNumber(s string) bool {
	strange := func(c rune) bool {
		return !('A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.ContainsRune("_-|*@", c))
	}
	return channel.ValidNumber(s) && !strings.ContainsFunc(s, strange)
}

// refusals are the codes that mean "turned down because of what was asked, or who asked": only a person can change
// that (WeChat Pay v3 docs and v2 docs, error codes).
func refusals() []string {
	return []string{"PARAM_ERROR", "SIGN_ERROR", "NO_AUTH", "APPID_MCHID_NOT_MATCH", "MCH_NOT_EXISTS", "APPID_NOT_EXIST",
		"MCHID_NOT_EXIST", "LACK_PARAMS", "XML_FORMAT_ERROR", "POST_DATA_EMPTY", "NOT_UTF8", "REQUIRE_POST_METHOD"}
}

// stateRefusals are the codes with which an order is not closed because of where it stands. INVALID_REQUEST may also
// mean a question that is wrong in itself.
func stateRefusals() []string {
	return []string{"ORDER_PAID", "ORDER_CLOSED", "TRADE_ERROR", "INVALID_REQUEST"}
}

// sameCode compares codes. v2 and v3, and the pages of one version among themselves, write the same code with and
// without underscores.
func sameCode(a, b string) bool {
	return strings.ReplaceAll(a, "_", "") == strings.ReplaceAll(b, "_", "")
}

// verdict sorts the codes of answers that are not a success. Only what is known to mean "turned down, nothing done"
// is a refusal; a code that nobody knows leaves the outcome open.
func verdict(code, why string) error {
	is := func(other string) bool { return sameCode(code, other) }
	switch {
	case is("ORDER_NOT_EXIST"):
		return errAbsent
	case slices.ContainsFunc(stateRefusals(), is):
		return fmt.Errorf("%w: %s", errState, why)
	case slices.ContainsFunc(refusals(), is):
		return fmt.Errorf("%w: %s", channel.ErrRefused, why)
	}
	return fmt.Errorf("%w: %s", channel.ErrUnanswered, why)
}

// word lets a code through into a text for people, and nothing that is not the form of one.
func word(code string) string {
	strange := func(c rune) bool { return !('A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_') }
	if len(code) > 64 || strings.ContainsFunc(code, strange) {
		return "?"
	}
	return code
}

// absent is the answer for an order that WeChat Pay does not have.
func absent(raw []byte, code string) channel.Answer {
	return channel.Answer{Standing: channel.StandingAbsent, Raw: raw, Note: word(code)}
}

// told is what a verified answer says of an order, in the words that v3 and v2 share.
type told struct {
	order, trade string
	state        string
	paidAt       string // when it was paid, as the channel writes it; empty if it was not
	raw          []byte
}

// about refuses an answer about another order than was asked for. An answer always names the merchant's number.
func (a told) about(q channel.Question) error {
	if a.order == "" || q.OrderNo != "" && a.order != q.OrderNo || q.TradeNo != "" && a.trade != q.TradeNo {
		return fmt.Errorf("%w: the answer is about another order", channel.ErrUnanswered)
	}
	return nil
}

// standing tells where the order stands (WeChat Pay v3 docs, trade_state); whose it is has been checked before. paid
// makes the event of a paid order, as its notification would. A payment that failed can be tried again until the order
// is closed.
func (id identity) standing(a told, paid func() (channel.Event, error)) channel.Answer {
	answer := channel.Answer{Standing: channel.StandingUnknown, Raw: a.raw, Note: word(a.state)}
	switch a.state {
	case stateSuccess, stateRefund:
		e, err := paid()
		if err != nil {
			answer.Note += ": " + err.Error()
			return answer
		}
		return id.event(e, channel.StandingPaid, a.raw, a.state)
	case "NOTPAY", "USERPAYING", "PAYERROR":
		answer.Standing = channel.StandingOpen
	case "CLOSED", "REVOKED":
		// A reversal also gives back what was paid, and that is no close: money moved. Only a paid order has a
		// transaction_id and a time of payment, and what shows either is not closed as unpaid.
		if a.trade != "" || a.paidAt != "" {
			answer.Note += ": with a payment"
			return answer
		}
		return id.closed(a.order, a.raw, a.state)
	}
	return answer
}

// closed makes the event of an order that was closed unpaid. WeChat Pay notifies no close and gives it no number, so
// it is named by the order's, behind a sign that keeps it apart from transactions.
func (id identity) closed(order string, raw []byte, note string) channel.Answer {
	e := channel.Event{Kind: channel.PaymentClosed, BizNo: []string{"@" + order}, OrderNo: order}
	return id.event(e, channel.StandingClosed, raw, note)
}

// event makes the answer that carries an event. One that cannot be claimed proves nothing to the books: its standing
// is unknown, and the raw answer is there for a person.
func (id identity) event(e channel.Event, s channel.Standing, raw []byte, note string) channel.Answer {
	parsed := channel.One(id.account, e, raw)
	if len(parsed.Events) == 0 {
		return channel.Answer{Standing: channel.StandingUnknown, Raw: raw, Note: note}
	}
	return channel.Answer{Standing: s, Parsed: parsed, Raw: raw, Note: note}
}

// interpret reads the answer to a v3 query: the same document that a notification holds, encrypted there.
func (p *Payer) interpret(r reply, q channel.Question) (channel.Answer, error) {
	m := newReader(r.raw)
	apps := []string{m.text("appid"), m.text("sp_appid")}
	a := told{order: m.text("out_trade_no"), trade: m.text("transaction_id"), state: m.text("trade_state"),
		paidAt: m.text("success_time"), raw: r.raw}
	sub := m.text("sub_mchid")
	if err := p.receiver.ours(m, apps); err != nil {
		return channel.Answer{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	if sub != p.subMchID {
		return channel.Answer{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, errOtherSub)
	}
	if err := a.about(q); err != nil {
		return channel.Answer{}, err
	}
	paid := func() (channel.Event, error) { return p.receiver.payment(newReader(r.raw), originalPayment) }
	return p.receiver.standing(a, paid), nil
}
