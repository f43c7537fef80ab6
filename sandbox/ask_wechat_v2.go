package sandbox

import (
	"bytes"
	"crypto/hmac"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

func (s *Sandbox) v2Query(_ *http.Request, body []byte) answer { return s.v2(body, taskQuery) }

func (s *Sandbox) v2Close(_ *http.Request, body []byte) answer { return s.v2(body, taskClose) }

// v2 answers a question in XML (WeChat Pay v2 docs, order query and close order). It is signed in the way in which the
// question was.
func (s *Sandbox) v2(body []byte, t task) answer {
	asked, err := flatFields(body)
	if err != nil {
		return s.refused(v2Fail("XML格式错误"))
	}
	if kind := asked["sign_type"]; kind != "" && kind != "MD5" && kind != "HMAC-SHA256" {
		return s.refused(v2Fail("签名类型错误"))
	}
	if !hmac.Equal([]byte(v2Sign(asked, s.keys.WeChatV2Key)), []byte(asked["sign"])) {
		return s.refused(v2Fail("签名错误"))
	}
	mine := func(a Account) bool { return a.MchID == asked["mch_id"] && a.AppID == asked["appid"] }
	switch {
	case !s.has(WeChatV2, mine):
		return s.refused(v2Fail("appid和mch_id不匹配"))
	case asked["nonce_str"] == "", asked["out_trade_no"] == "" && (asked["transaction_id"] == "" || t == taskClose):
		return s.refused(v2Fail("缺少参数"))
	}
	q := question{WeChatV2, mine, asked["out_trade_no"], asked["transaction_id"], t}
	if t == taskClose {
		q.tradeNo = ""
	}
	f := s.look(q)
	fields := map[string]string{"return_code": "SUCCESS", "return_msg": "OK", "appid": asked["appid"],
		"mch_id": asked["mch_id"], "nonce_str": s.hex(32), "result_code": "SUCCESS"}
	if code, text := f.v2Problem(t); code != "" {
		fields["result_code"], fields["err_code"], fields["err_code_des"] = "FAIL", code, text
	} else if t == taskQuery {
		s.v2Order(f, fields)
	}
	return s.v2Answer(f, fields, asked["sign_type"])
}

func (f finding) v2Problem(t task) (code, text string) {
	switch {
	case f.spoil == spoilUnknown && (t != taskQuery || f.nth%2 == 1):
		return "SYSTEMERROR", "系统异常，请用相同参数重新调用"
	case f.spoil == spoilUnknown:
		return "", ""
	case f.order == nil, f.outcome == outcomeAbsent:
		return "ORDERNOTEXIST", "此交易订单号不存在"
	case f.outcome == outcomePaid:
		return "ORDERPAID", "订单已支付"
	case f.outcome == outcomeAlready:
		return "ORDERCLOSED", "订单已关闭"
	}
	return "", ""
}

// v2Order adds what is known of the order: for a paid one the fields of its notification.
func (s *Sandbox) v2Order(f finding, fields map[string]string) {
	state, description := f.tradeState()
	fields["trade_state"], fields["trade_state_desc"] = state, description
	fields["out_trade_no"], fields["device_info"], fields["attach"] = f.order.OrderNo, "pos-1", ""
	fields["total_fee"], fields["fee_type"] = strconv.FormatInt(f.order.Amount.Minor, 10), "CNY"
	if f.payment == nil || f.spoil == spoilUnknown {
		return
	}
	for name, value := range s.v2Payment(f.payment, Variant{}) {
		if _, there := fields[name]; !there && name != "sign" && name != "sign_type" {
			fields[name] = value
		}
	}
	fields["total_fee"] = strconv.FormatInt(f.payment.Amount.Minor, 10)
}

func (s *Sandbox) v2Answer(f finding, fields map[string]string, signType string) answer {
	key := s.keys.WeChatV2Key
	if f.spoil == spoilSignature {
		key = strings.Repeat("0", 32)
	}
	if signType == "HMAC-SHA256" {
		fields["sign_type"] = signType
	}
	fields["sign"] = v2Sign(fields, key)
	return f.deliverBy(http.StatusOK, xmlHeader(), flatXML("xml", fields))
}

// v2Fail turns a question down at the outer layer, which carries no signature (WeChat Pay v2 docs, return_code).
func v2Fail(text string) answer {
	return answer{status: http.StatusOK, header: xmlHeader(), body: flatXML("xml", map[string]string{
		"return_code": "FAIL", "return_msg": text})}
}

func xmlHeader() http.Header { return http.Header{"Content-Type": {"text/xml; charset=utf-8"}} }

var errNotFlat = errors.New("sandbox: not a flat XML document")

// flatFields reads <xml> with one level of fields, each once. Directives, which could declare entities, are refused.
func flatFields(text []byte) (map[string]string, error) {
	fields := map[string]string{}
	decoder := xml.NewDecoder(bytes.NewReader(text))
	depth, name, value := 0, "", ""
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) && depth == 0 && len(fields) > 0 {
			return fields, nil
		}
		if err != nil {
			return nil, errNotFlat
		}
		switch t := token.(type) {
		case xml.Directive:
			return nil, errNotFlat
		case xml.StartElement:
			depth++
			if depth > 2 || (depth == 1) != (t.Name.Local == "xml") || depth == 1 && len(fields) > 0 {
				return nil, errNotFlat
			}
			name, value = t.Name.Local, ""
		case xml.CharData:
			value += string(t)
		case xml.EndElement:
			if _, twice := fields[name]; depth == 2 && twice {
				return nil, errNotFlat
			}
			if depth == 2 {
				fields[name] = value
			}
			depth--
		}
	}
}
