package sandbox

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/paidonce/paidonce/money"
)

// alipayGateway answers a call of the gateway (Alipay open platform, common request parameters). Its parameters may be
// in the query and in the body, each once.
func (s *Sandbox) alipayGateway(r *http.Request, body []byte) answer {
	form, ok := alipayParameters(r.URL.RawQuery, string(body))
	if !ok {
		return s.refused(alipayError("40002", "Invalid Arguments", "isv.invalid-parameter"))
	}
	mine := func(a Account) bool { return a.AppID == form["app_id"] }
	if code, sub := s.alipayRefusal(form, mine); code != "" {
		return s.refused(alipayError(code, "Invalid Arguments", sub))
	}
	tasks := map[string]task{"alipay.trade.query": taskQuery, "alipay.trade.close": taskClose,
		"alipay.trade.cancel": taskCancel}
	t, known := tasks[form["method"]]
	if !known {
		return s.refused(alipayError("40002", "Invalid Arguments", "isv.invalid-method"))
	}
	var wish struct {
		OrderNo string `json:"out_trade_no"`
		TradeNo string `json:"trade_no"`
	}
	if json.Unmarshal([]byte(form["biz_content"]), &wish) != nil {
		return s.refused(alipayError("40002", "Invalid Arguments", "isv.invalid-parameter"))
	}
	if wish.OrderNo == "" && wish.TradeNo == "" {
		return s.alipayAnswer(finding{}, form["method"], businessFailed("ACQ.INVALID_PARAMETER", "参数无效"))
	}
	f := s.look(question{Alipay, mine, wish.OrderNo, wish.TradeNo, t})
	return s.alipayAnswer(f, form["method"], s.alipayContent(f, t, wish.OrderNo))
}

// alipayParameters merges the parameters of query and body; false if one is there twice.
func alipayParameters(query, body string) (map[string]string, bool) {
	form := map[string]string{}
	for _, text := range []string{query, body} {
		values, err := url.ParseQuery(text)
		if err != nil {
			return nil, false
		}
		for name, list := range values {
			if _, twice := form[name]; twice || len(list) != 1 {
				return nil, false
			}
			form[name] = list[0]
		}
	}
	return form, true
}

// alipayRefusal checks what every call needs. The application signs every parameter that is not empty but sign:
// sign_type too, unlike in notifications.
func (s *Sandbox) alipayRefusal(form map[string]string, mine func(Account) bool) (code, sub string) {
	var pairs []string
	for name, value := range form {
		if name != "sign" && value != "" {
			pairs = append(pairs, name+"="+value)
		}
	}
	slices.Sort(pairs)
	switch {
	case form["sign"] == "":
		return "40001", "isv.missing-signature"
	case form["method"] == "":
		return "40001", "isv.missing-method"
	case form["timestamp"] == "" || form["version"] != "1.0":
		return "40001", "isv.missing-timestamp"
	case !s.has(Alipay, mine):
		return "40002", "isv.invalid-app-id"
	case form["sign_type"] != "RSA2":
		return "40002", "isv.invalid-signature-type"
	case !strings.EqualFold(form["charset"], "utf-8"):
		return "40002", "isv.invalid-charset"
	case form["format"] != "" && form["format"] != "JSON" && form["format"] != "json":
		return "40002", "isv.invalid-format"
	case !verified(s.ring.merchant.alipay, []byte(strings.Join(pairs, "&")), form["sign"]):
		return "40002", "isv.invalid-signature"
	}
	return "", ""
}

// pair is one field of an answer. Alipay does not sort them, so whoever encodes an answer anew gets other bytes.
type pair struct{ name, value string }

func businessFailed(sub, text string) []pair {
	return []pair{{"code", "40004"}, {"msg", "Business Failed"}, {"sub_code", sub}, {"sub_msg", text}}
}

func (s *Sandbox) alipayContent(f finding, t task, orderNo string) []pair {
	success := []pair{{"code", "10000"}, {"msg", "Success"}}
	absent := f.order == nil || f.outcome == outcomeAbsent || f.alipayNo() == ""
	switch {
	case f.spoil == spoilUnknown && f.nth%2 == 1:
		return []pair{{"code", "20000"}, {"msg", "Service Currently Unavailable"}, {"sub_code", "isp.unknow-error"},
			{"sub_msg", "系统繁忙"}}
	case f.spoil == spoilUnknown:
		return businessFailed("ACQ.SYSTEM_ERROR", "系统错误")
	case t == taskQuery && absent:
		return append(businessFailed("ACQ.TRADE_NOT_EXIST", "交易不存在"), pair{"out_trade_no", orderNo},
			pair{"buyer_pay_amount", "0.00"}, pair{"invoice_amount", "0.00"}, pair{"point_amount", "0.00"},
			pair{"receipt_amount", "0.00"})
	case t == taskQuery:
		return append(success, s.alipayOrder(f)...)
	case t == taskClose && absent:
		return businessFailed("ACQ.TRADE_NOT_EXIST", "交易不存在")
	case t == taskClose && f.outcome != outcomeDone:
		return businessFailed("ACQ.TRADE_STATUS_ERROR", "交易状态不合法")
	case t == taskCancel && absent:
		return append(success, pair{"out_trade_no", orderNo}, pair{"retry_flag", "N"})
	case t == taskClose:
		return append(success, pair{"out_trade_no", f.order.OrderNo}, pair{"trade_no", f.alipayNo()})
	}
	action := "close"
	if f.payment != nil {
		action = "refund"
	}
	return append(success, pair{"trade_no", f.alipayNo()}, pair{"out_trade_no", f.order.OrderNo},
		pair{"retry_flag", "N"}, pair{"action", action})
}

// alipayNo is the trade number of an order; empty while nobody has scanned its code, because only that makes the trade.
func (f finding) alipayNo() string {
	if f.payment != nil {
		return f.payment.TradeNo
	}
	return f.order.TradeNo
}

// alipayOrder tells of a trade that was scanned (Alipay open platform, alipay.trade.query).
func (s *Sandbox) alipayOrder(f finding) []pair {
	status, amount, paid := "WAIT_BUYER_PAY", f.order.Amount, money.New(0, f.order.Amount.Currency)
	if f.order.closed() {
		status = "TRADE_CLOSED"
	}
	var when []pair
	if p := f.payment; p != nil {
		status, amount, paid = "TRADE_SUCCESS", p.Amount, p.Amount
		if p.Refunded == p.Amount.Minor {
			status = "TRADE_CLOSED"
		}
		when = []pair{{"send_pay_date", clockTime(p.PaidAt)}}
	}
	list := []pair{{"trade_no", f.alipayNo()}, {"out_trade_no", f.order.OrderNo}, {"trade_status", status},
		{"total_amount", amount.Decimal()}, {"receipt_amount", paid.Decimal()}, {"buyer_pay_amount", paid.Decimal()},
		{"invoice_amount", paid.Decimal()}, {"point_amount", "0.00"}, {"buyer_logon_id", "159****5620"},
		{"buyer_user_id", "2088102122524333"}, {"buyer_user_type", "PRIVATE"}, {"store_name", "咖啡/蛋糕"}}
	if s.surprise() {
		list = append(list, pair{"undocumented_field", "明天"})
	}
	return append(list, when...)
}

// alipayAnswer signs the bytes of the inner object as they are sent (Alipay open platform, verifying answers). A slash
// is written with a backslash before it, as Alipay's own encoder does.
func (s *Sandbox) alipayAnswer(f finding, method string, content []pair) answer {
	inner, err := orderedJSON(content)
	if err != nil {
		return errorAnswer()
	}
	signature, err := sign(s.signer(s.ring.alipayKey, Variant{Stranger: f.spoil == spoilSignature}), []byte(inner))
	if err != nil {
		return errorAnswer()
	}
	name := strings.ReplaceAll(method, ".", "_") + "_response"
	return f.deliverBy(http.StatusOK, alipayHeader(), []byte(`{"`+name+`":`+inner+`,"sign":"`+signature+`"}`))
}

func orderedJSON(content []pair) (string, error) {
	parts := make([]string, len(content))
	for i, p := range content {
		value, err := compact(p.value)
		if err != nil {
			return "", err
		}
		parts[i] = `"` + p.name + `":` + strings.ReplaceAll(string(value), "/", `\/`)
	}
	return "{" + strings.Join(parts, ",") + "}", nil
}

// alipayError turns a call down before it reaches a method. Such an answer is not signed.
func alipayError(code, text, sub string) answer {
	inner, err := orderedJSON([]pair{{"code", code}, {"msg", text}, {"sub_code", sub}, {"sub_msg", "请检查请求参数"}})
	if err != nil {
		return errorAnswer()
	}
	return answer{status: http.StatusOK, header: alipayHeader(), body: []byte(`{"error_response":` + inner + `}`)}
}

func alipayHeader() http.Header { return http.Header{"Content-Type": {"text/html;charset=utf-8"}} }
