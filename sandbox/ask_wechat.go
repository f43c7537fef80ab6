package sandbox

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// v3Skew is how far a request's time stamp may be from WeChat Pay's clock (WeChat Pay v3 docs, request signing).
const v3Skew = 5 * time.Minute

// v3Scheme is the only signature scheme of requests that the sandbox knows.
const v3Scheme = "WECHATPAY2-SHA256-RSA2048"

// v3Error is an error's document and status (WeChat Pay v3 docs, error codes).
type v3Error struct {
	status        int
	code, message string
}

func (s *Sandbox) v3Query(r *http.Request, body []byte) answer {
	mchid, problem := s.v3Authenticate(r, body)
	if problem == nil && r.URL.Query().Get("mchid") != mchid {
		problem = &v3Error{http.StatusBadRequest, "PARAM_ERROR", "参数错误"}
	}
	if problem != nil {
		return s.refused(s.v3Fail(r, finding{}, *problem))
	}
	f := s.look(question{WeChat, func(a Account) bool { return a.MchID == mchid }, r.PathValue("no"), r.PathValue("id"),
		taskQuery})
	if problem := f.v3Problem(taskQuery); problem != nil {
		return s.v3Fail(r, f, *problem)
	}
	return s.v3Answer(r, f, http.StatusOK, s.v3Order(f))
}

func (s *Sandbox) v3Close(r *http.Request, body []byte) answer { return s.v3End(r, body, taskClose) }

func (s *Sandbox) v3Reverse(r *http.Request, body []byte) answer { return s.v3End(r, body, taskCancel) }

// v3End closes or reverses. Both answer 204 without a body.
func (s *Sandbox) v3End(r *http.Request, body []byte, t task) answer {
	mchid, problem := s.v3Authenticate(r, body)
	var wish struct {
		MchID string `json:"mchid"`
		AppID string `json:"appid"`
	}
	if problem == nil && (json.Unmarshal(body, &wish) != nil || wish.MchID != mchid) {
		problem = &v3Error{http.StatusBadRequest, "PARAM_ERROR", "参数错误"}
	}
	mine := func(a Account) bool { return a.MchID == mchid && (t == taskClose || a.AppID == wish.AppID) }
	if problem == nil && !s.has(WeChat, mine) {
		problem = &v3Error{http.StatusBadRequest, "APPID_MCHID_NOT_MATCH", "AppID和mch_id不匹配"}
	}
	if problem != nil {
		return s.refused(s.v3Fail(r, finding{}, *problem))
	}
	f := s.look(question{channel: WeChat, mine: mine, orderNo: r.PathValue("no"), task: t})
	if problem := f.v3Problem(t); problem != nil {
		return s.v3Fail(r, f, *problem)
	}
	return s.v3Answer(r, f, http.StatusNoContent, nil)
}

// has reports whether the sandbox plays such an account.
func (s *Sandbox) has(channel string, mine func(Account) bool) bool {
	for _, a := range s.opt.Accounts {
		if a.Channel == channel && mine(a) {
			return true
		}
	}
	return false
}

// v3Authenticate verifies the merchant's signature over method, path with query, time stamp, nonce and body, each with
// a line feed (WeChat Pay v3 docs, request signing), and returns the merchant that made it.
func (s *Sandbox) v3Authenticate(r *http.Request, body []byte) (string, *v3Error) {
	denied := &v3Error{http.StatusUnauthorized, "SIGN_ERROR", "签名错误"}
	if r.Header.Get("Accept") != "application/json" || r.Header.Get("User-Agent") == "" {
		return "", &v3Error{http.StatusBadRequest, "PARAM_ERROR", "Http头缺少Accept或User-Agent"}
	}
	scheme, list, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	said, ok := v3Fields(list)
	if !ok || scheme != v3Scheme || said["serial_no"] != s.keys.WeChatMerchantSerial {
		return "", denied
	}
	seconds, err := strconv.ParseInt(said["timestamp"], 10, 64)
	if err != nil || s.opt.Clock().Sub(time.Unix(seconds, 0)).Abs() > v3Skew {
		return "", denied
	}
	text := strings.Join([]string{r.Method, r.RequestURI, said["timestamp"], said["nonce_str"], string(body), ""}, "\n")
	if !verified(s.ring.merchant.wechat, []byte(text), said["signature"]) {
		return "", denied
	}
	if !s.has(WeChat, func(a Account) bool { return a.MchID == said["mchid"] }) {
		return "", &v3Error{http.StatusNotFound, "MCH_NOT_EXISTS", "商户号不存在"}
	}
	return said["mchid"], nil
}

// v3Fields reads name="value" pairs with commas between them: each of the five, once, and nothing else.
func v3Fields(list string) (map[string]string, bool) {
	fields := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		if _, twice := fields[name]; !found || twice || len(value) < 3 || value[0] != '"' || value[len(value)-1] != '"' {
			return nil, false
		}
		fields[name] = value[1 : len(value)-1]
	}
	for _, name := range []string{"mchid", "nonce_str", "signature", "timestamp", "serial_no"} {
		if fields[name] == "" {
			return nil, false
		}
	}
	return fields, len(fields) == 5
}

// verified checks RSASSA-PKCS1-v1_5 with SHA-256 in base64: the scheme in which every merchant here signs.
func verified(key *rsa.PublicKey, text []byte, signature string) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	sum := sha256.Sum256(text)
	return err == nil && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], raw) == nil
}

// v3Problem is the error that a finding is answered with; nil if there is none.
func (f finding) v3Problem(t task) *v3Error {
	switch {
	case f.spoil == spoilUnknown && (t != taskQuery || f.nth%2 == 1):
		return &v3Error{http.StatusInternalServerError, "SYSTEM_ERROR", "系统异常，请稍后重试"}
	case f.spoil == spoilUnknown:
		return nil // told as USERPAYING
	case f.order == nil, f.outcome == outcomeAbsent:
		return &v3Error{http.StatusNotFound, "ORDER_NOT_EXIST", "订单不存在"}
	case f.outcome == outcomePaid:
		return &v3Error{http.StatusBadRequest, "ORDERPAID", "订单已支付"}
	case f.outcome == outcomeAlready:
		return &v3Error{http.StatusBadRequest, "ORDER_CLOSED", "订单已关闭"}
	}
	return nil
}

// tradeState is the state of an order in the words of both API versions, and its description. A refund of any part
// outranks the payment.
func (f finding) tradeState() (state, description string) {
	switch {
	case f.spoil == spoilUnknown, f.order.State == OrderScanned:
		return "USERPAYING", "需要用户输入支付密码"
	case f.order.State == OrderReversed:
		return "REVOKED", "订单已撤销"
	case f.order.State == OrderClosed:
		return "CLOSED", "订单已关闭"
	case f.payment == nil:
		return "NOTPAY", "订单未支付"
	case f.payment.Refunded > 0:
		return "REFUND", "订单发生过退款"
	}
	return "SUCCESS", "支付成功"
}

// v3Order is the document of an order: for a paid one the fields of its notification.
func (s *Sandbox) v3Order(f finding) map[string]any {
	state, description := f.tradeState()
	o := f.order
	document := map[string]any{"appid": o.Account.AppID, "mchid": o.Account.MchID, "out_trade_no": o.OrderNo,
		"amount":           map[string]any{"total": o.Amount.Minor, "currency": "CNY", "payer_currency": "CNY"},
		"promotion_detail": []any{}, "attach": ""}
	if f.payment != nil && f.spoil != spoilUnknown {
		_, _, document, _ = s.wechatResource(f.payment, Variant{})
	}
	document["trade_state"], document["trade_state_desc"] = state, description
	document["scene_info"] = map[string]any{"device_id": ""}
	if s.surprise() {
		document["undocumented_field"] = map[string]any{"since": "tomorrow"}
	}
	return document
}

func (s *Sandbox) v3Fail(r *http.Request, f finding, problem v3Error) answer {
	return s.v3Answer(r, f, problem.status, map[string]any{"code": problem.code, "message": problem.message})
}

// v3Answer signs a document with the platform key that the request asks for in Wechatpay-Serial: the public key by its
// id, and the certificate by its serial or where nothing is asked for (WeChat Pay v3 docs, public key migration).
func (s *Sandbox) v3Answer(r *http.Request, f finding, status int, document map[string]any) answer {
	var body []byte
	if document != nil {
		text, err := compact(document)
		if err != nil {
			return errorAnswer()
		}
		body = text
	}
	serial, key := s.ring.certSerial, s.ring.certKey
	if r.Header.Get("Wechatpay-Serial") == s.keys.WeChatPublicKeyID {
		serial, key = s.keys.WeChatPublicKeyID, s.ring.wechatKey
	}
	now, nonce := strconv.FormatInt(s.opt.Clock().Unix(), 10), s.hex(32)
	signature, err := sign(s.signer(key, Variant{Stranger: f.spoil == spoilSignature}),
		[]byte(now+"\n"+nonce+"\n"+string(body)+"\n"))
	if err != nil {
		return errorAnswer()
	}
	header := http.Header{"Wechatpay-Serial": {serial}, "Wechatpay-Signature": {signature}, "Wechatpay-Timestamp": {now},
		"Wechatpay-Nonce": {nonce}, "Wechatpay-Signature-Type": {v3Scheme}, "Request-Id": {s.hex(32)}}
	if document != nil {
		header.Set("Content-Type", "application/json; charset=utf-8")
	}
	return f.deliverBy(status, header, body)
}
