package sandbox

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// sqb builds a callback: flat JSON in which every value is a string, signed over the raw body. The caller holds the
// lock.
func (s *Sandbox) sqb(fact Fact, v Variant) (Message, error) {
	var fields map[string]any
	switch f := fact.(type) {
	case *Payment:
		fields = s.sqbTrade(f.Account, f.OrderNo, f.TradeNo, f.Amount.Minor+v.WrongBy, f.Amount.Minor+v.WrongBy, f.PaidAt, v)
		fields["status"], fields["order_status"] = "SUCCESS", "PAID"
		fields["payment_list"] = []any{map[string]any{"type": "WALLET_WEIXIN", "amount_total": fields["total_amount"]}}
	case *Refund:
		p := f.Payment
		fields = s.sqbTrade(p.Account, p.OrderNo, p.TradeNo, p.Amount.Minor, p.Amount.Minor-f.Cumulative+v.WrongBy,
			f.RefundedAt, v)
		fields["status"], fields["order_status"] = "SUCCESS", "PARTIAL_REFUNDED"
		if f.Cumulative == p.Amount.Minor {
			fields["order_status"] = "REFUNDED"
		}
	case *Close:
		fields = s.sqbTrade(f.Account, f.OrderNo, f.TradeNo, f.Amount.Minor, f.Amount.Minor, f.ClosedAt, v)
		fields["status"], fields["order_status"] = "FAIL_CANCELED", "PAY_CANCELED"
	default:
		return Message{}, fmt.Errorf("%w: SQB does not notify this", ErrRequest)
	}
	body, err := compact(fields)
	if err != nil {
		return Message{}, err
	}
	signature, err := sign(s.signer(s.ring.sqbKey, v), body)
	if err != nil {
		return Message{}, err
	}
	if v.BadSignature {
		body = append(append([]byte(nil), body[:len(body)-1]...), ' ', '}')
	}
	if s.random.IntN(4) == 0 { // some installations put the terminal before the signature
		signature = fact.owner().TerminalSN + " " + signature
	}
	return Message{Header: http.Header{"Content-Type": {"application/json"}, "Authorization": {signature}},
		Body: body}, nil
}

func (s *Sandbox) sqbTrade(a Account, orderNo, sn string, total, net int64, at time.Time, v Variant) map[string]any {
	ms := strconv.FormatInt(at.UnixMilli(), 10)
	fields := map[string]any{
		"terminal_sn": orElse(v.OtherMerchant, a.TerminalSN, "100999999999999"), "sn": sn, "client_sn": orderNo,
		"client_tsn": orderNo, "trade_no": "4200" + sn, "payway": "3", "sub_payway": "1",
		"payer_uid": "oUpF8uMuAJO_M2pxb1Q9zNjWeS6o", "payer_login": "", "total_amount": strconv.FormatInt(total, 10),
		"net_amount": strconv.FormatInt(net, 10), "subject": "咖啡", "operator": "counter-1", "reflect": "",
		"finish_time": ms, "channel_finish_time": ms,
	}
	if s.surprise() {
		fields["undocumented_field"] = map[string]any{"since": 1}
	}
	return fields
}
