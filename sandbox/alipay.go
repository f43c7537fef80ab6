package sandbox

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/paidonce/paidonce/money"
)

// alipay builds an asynchronous notification: a form, signed over the sorted decoded parameters. Payments, refunds
// and closes share one type of message. The caller holds the lock.
func (s *Sandbox) alipay(fact Fact, v Variant) (Message, error) {
	var form map[string]string
	switch f := fact.(type) {
	case *Payment:
		form = s.alipayTrade(f.Account, f.OrderNo, f.TradeNo, f.Amount.Minor+v.WrongBy, f.PaidAt, v)
		form["notify_id"], form["gmt_payment"], form["trade_status"] = f.NotifyID, clockTime(f.PaidAt), "TRADE_SUCCESS"
		if v.Finished {
			form["trade_status"] = "TRADE_FINISHED"
		}
		if s.random.IntN(2) == 0 {
			form["refund_fee"] = "0.00"
		}
	case *Refund:
		p := f.Payment
		form = s.alipayTrade(p.Account, p.OrderNo, p.TradeNo, p.Amount.Minor+v.WrongBy, p.PaidAt, v)
		form["notify_id"], form["gmt_payment"], form["trade_status"] = f.NotifyID, clockTime(p.PaidAt), "TRADE_SUCCESS"
		form["refund_fee"] = money.New(f.Cumulative, money.CNY).Decimal()
		form["gmt_refund"], form["out_biz_no"] = clockTime(f.RefundedAt)+".123", f.RefundNo
		if f.Cumulative == p.Amount.Minor {
			form["trade_status"], form["gmt_close"] = "TRADE_CLOSED", clockTime(f.RefundedAt)
		}
	case *Close:
		form = s.alipayTrade(f.Account, f.OrderNo, f.TradeNo, f.Amount.Minor, f.ClosedAt, v)
		form["notify_id"], form["trade_status"], form["gmt_close"] = f.NotifyID, "TRADE_CLOSED", clockTime(f.ClosedAt)
	default:
		return Message{}, fmt.Errorf("%w: Alipay does not notify this", ErrRequest)
	}
	return s.alipaySign(form, v)
}

func (s *Sandbox) alipayTrade(a Account, orderNo, tradeNo string, minor int64, at time.Time, v Variant,
) map[string]string {
	amount := money.New(minor, money.CNY).Decimal()
	form := map[string]string{
		"notify_time": clockTime(s.opt.Clock()), "notify_type": "trade_status_sync", "app_id": a.AppID,
		"auth_app_id": a.AppID, "charset": "utf-8", "version": "1.0", "sign_type": "RSA2", "trade_no": tradeNo,
		"out_trade_no": orderNo, "buyer_id": "2088102122524333", "buyer_logon_id": "159****5620",
		"seller_id": orElse(v.OtherMerchant, a.SellerID, "2088999999999999"), "seller_email": "shop@example.com",
		"total_amount": amount, "receipt_amount": amount, "invoice_amount": amount, "buyer_pay_amount": amount,
		"point_amount": "0.00", "subject": "咖啡 + 蛋糕", "body": "", "passback_params": "",
		"gmt_create":     clockTime(at.Add(-20 * time.Second)),
		"fund_bill_list": `[{"amount":"` + amount + `","fundChannel":"ALIPAYACCOUNT"}]`, "voucher_detail_list": "[]",
	}
	if s.surprise() {
		form["undocumented_field"] = "明天"
	}
	return form
}

func (s *Sandbox) alipaySign(form map[string]string, v Variant) (Message, error) {
	charset := "UTF-8"
	if v.GBK {
		charset, form["charset"] = "GBK", "gbk"
		for name, value := range form {
			encoded, err := simplifiedchinese.GBK.NewEncoder().String(value)
			if err != nil {
				return Message{}, fmt.Errorf("sandbox: encode as GBK: %w", err)
			}
			form[name] = encoded
		}
	}
	signature, err := sign(s.signer(s.ring.alipayKey, v), []byte(alipayText(form)))
	if err != nil {
		return Message{}, err
	}
	form["sign"] = signature
	if v.BadSignature {
		form["total_amount"] = "0.01"
		form["receipt_amount"] = "0.02"
	}
	names := make([]string, 0, len(form))
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	pairs := make([]string, len(names))
	for i, name := range names {
		pairs[i] = url.QueryEscape(name) + "=" + url.QueryEscape(form[name])
	}
	return Message{Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=" + charset},
		"User-Agent": {"Mozilla/4.0"}}, Body: []byte(strings.Join(pairs, "&"))}, nil
}

// alipayText is what is signed: every parameter but sign and sign_type, empty ones too.
func alipayText(form map[string]string) string {
	var pairs []string
	for name, value := range form {
		if name != "sign" && name != "sign_type" {
			pairs = append(pairs, name+"="+value)
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}
