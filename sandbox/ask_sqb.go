package sandbox

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// sqbAsked is the body of every question to Shouqianba.
type sqbAsked struct {
	TerminalSN string `json:"terminal_sn"`
	SN         string `json:"sn"`
	ClientSN   string `json:"client_sn"`
	DeviceID   string `json:"device_id"`
}

func (s *Sandbox) sqbQuery(r *http.Request, body []byte) answer { return s.sqbAsk(r, body, taskQuery) }

// sqbCancel serves cancel and revoke: one reverses by machine, the other by hand, under the same rules (upay docs).
func (s *Sandbox) sqbCancel(r *http.Request, body []byte) answer {
	return s.sqbAsk(r, body, taskCancel)
}

func (s *Sandbox) sqbAsk(r *http.Request, body []byte, t task) answer {
	asked, refusal := s.sqbAuthenticate(r, body, false)
	if refusal == "" && asked.SN == "" && asked.ClientSN == "" {
		refusal = "INVALID_PARAMS"
	}
	if refusal != "" {
		return s.refused(sqbFail("400", refusal))
	}
	f := s.look(question{SQB, func(a Account) bool { return a.TerminalSN == asked.TerminalSN }, asked.ClientSN, asked.SN,
		t})
	if f.spoil == spoilUnknown && f.nth%2 == 1 {
		return f.sqbDeliver(sqbFail("500", "UNKNOWN_SYSTEM_ERROR"))
	}
	return f.sqbDeliver(sqbAnswer(s.sqbBusiness(f, t)))
}

// sqbCheckIn changes a terminal's key (upay docs, check-in).
func (s *Sandbox) sqbCheckIn(r *http.Request, body []byte) answer {
	asked, refusal := s.sqbAuthenticate(r, body, true)
	if refusal == "" && asked.DeviceID == "" {
		refusal = "INVALID_PARAMS"
	}
	if refusal != "" {
		return s.refused(sqbFail("400", refusal))
	}
	s.counts.Asked++
	key, lost := s.checkIn(asked.TerminalSN)
	a := sqbAnswer(map[string]any{"terminal_sn": asked.TerminalSN, "terminal_key": key})
	a.drop = lost
	return a
}

// sqbAuthenticate checks "Authorization: <terminal_sn> <lower-case hex MD5 of body and key>" (upay docs, signing).
func (s *Sandbox) sqbAuthenticate(r *http.Request, body []byte, checkIn bool) (sqbAsked, string) {
	var asked sqbAsked
	if json.Unmarshal(body, &asked) != nil || asked.TerminalSN == "" {
		return asked, "INVALID_PARAMS"
	}
	sn, sign, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case sn != asked.TerminalSN, !s.has(SQB, func(a Account) bool { return a.TerminalSN == sn }):
		return asked, "INVALID_TERMINAL"
	case !s.terminalSigned(sn, body, sign, checkIn):
		return asked, "ILLEGAL_SIGN"
	}
	return asked, ""
}

// sqbBusiness is the second layer of an answer, with the order as the third.
func (s *Sandbox) sqbBusiness(f finding, t task) map[string]any {
	failed := func(code, text string) map[string]any {
		return map[string]any{"result_code": "FAIL", "error_code": code, "error_message": text}
	}
	done, unclear := "SUCCESS", "PAY_IN_PROGRESS"
	if t == taskCancel {
		done, unclear = "CANCEL_SUCCESS", "CANCEL_IN_PROGRESS"
	}
	switch {
	case f.order == nil:
		return failed("UPAY_ORDER_NOT_EXISTS", "订单不存在")
	case f.spoil == spoilUnknown:
		return map[string]any{"result_code": unclear, "data": s.sqbOrder(f)}
	case f.outcome == outcomeAlready:
		return failed("UPAY_CANCEL_ORDER_NOOP", "订单已撤销")
	case f.outcome == outcomeBarred:
		return failed("UPAY_CANCEL_INVALID_ORDER_STATE", "订单状态不允许撤销")
	}
	return map[string]any{"result_code": done, "data": s.sqbOrder(f)}
}

// sqbOrder tells of an order: all values are strings, net_amount is what is left, the times are of the last action.
func (s *Sandbox) sqbOrder(f finding) map[string]any {
	o, p := f.order, f.payment
	sn, at, total, net := "", o.OpenedAt, o.Amount.Minor, o.Amount.Minor
	status, state := "SUCCESS", "PAID"
	switch {
	case p == nil:
		sn = s.channelNo(o)
		status, state = "IN_PROG", "CREATED"
	case p.Refunded > 0:
		state = "PARTIAL_REFUNDED"
		if p.Refunded == p.Amount.Minor {
			state = "REFUNDED"
		}
	}
	if p != nil {
		sn, at, total, net = p.TradeNo, p.PaidAt, p.Amount.Minor, p.Amount.Minor-p.Refunded
		if last := s.lastRefund(p); last != nil {
			at = last.RefundedAt
		}
	}
	switch {
	case f.spoil == spoilUnknown:
		status, state, net = "IN_PROG", "CREATED", total
	case o.State == OrderClosed:
		status, state, at = "FAIL_CANCELED", "PAY_CANCELED", o.ClosedAt
	case o.State == OrderReversed:
		status, state, at, net = "SUCCESS", "CANCELED", o.ClosedAt, 0
	}
	fields := s.sqbTrade(o.Account, o.OrderNo, sn, total, net, at, Variant{})
	fields["status"], fields["order_status"] = status, state
	if status == "IN_PROG" || p == nil {
		delete(fields, "payer_uid")
		delete(fields, "trade_no")
	}
	if status == "IN_PROG" {
		delete(fields, "finish_time")
		delete(fields, "channel_finish_time")
	}
	fields["ctime"] = strconv.FormatInt(o.OpenedAt.UnixMilli(), 10)
	return fields
}

// lastRefund is the newest refund of a payment; nil if there is none.
func (s *Sandbox) lastRefund(p *Payment) *Refund {
	var last *Refund
	for _, r := range s.refunds {
		if r.Payment == p {
			last = r
		}
	}
	return last
}

func sqbAnswer(business map[string]any) answer {
	return sqbBody(map[string]any{"result_code": "200", "biz_response": business})
}

func sqbFail(code, reason string) answer {
	return sqbBody(map[string]any{"result_code": code, "error_code": reason, "error_message": reason})
}

func sqbBody(document map[string]any) answer {
	body, err := compact(document)
	if err != nil {
		return errorAnswer()
	}
	return answer{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json;charset=UTF-8"}},
		body: body}
}

// sqbDeliver spoils an answer as the order's behaviour says. There is no signature to spoil, so half is cut off.
func (f finding) sqbDeliver(a answer) answer {
	if f.spoil == spoilSignature {
		a.body = a.body[:len(a.body)/2]
	}
	return f.deliverBy(a.status, a.header, a.body)
}
