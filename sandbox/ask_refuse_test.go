package sandbox_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/sandbox"
)

// replaced changes one text of a request's header after signing.
func replaced(name, old, with string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, strings.ReplaceAll(r.Header.Get(name), old, with)) }
}

// body changes the body after signing.
func body(old, with string) func(*http.Request) {
	return func(r *http.Request) {
		text, _ := io.ReadAll(r.Body) // a strings.Reader gives all it has
		changed := strings.Replace(string(text), old, with, 1)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
	}
}

func rawQuery(raw string) func(*http.Request) {
	return func(r *http.Request) { r.URL.RawQuery = raw }
}

// forgery is a question that the merchant did not sign as it arrives.
type forgery struct {
	name, channel, what string
	edit                func(*http.Request)
	stranger            bool // signed with another merchant's keys
	want                string
}

func forgeriesOfV3() []forgery {
	const v3 = sandbox.WeChat
	at := strconv.FormatInt(now().Unix(), 10)
	old := strconv.FormatInt(now().Add(-5*time.Minute-time.Second).Unix(), 10)
	return []forgery{
		{"another key", v3, query, nil, true, "401 SIGN_ERROR"},
		{"another path", v3, query, func(r *http.Request) { r.URL.Path += "X" }, false, "401 SIGN_ERROR"},
		{"another query", v3, query, rawQuery("mchid=1900000109&x=1"), false, "401 SIGN_ERROR"},
		{"another body", v3, end, body("}", " }"), false, "401 SIGN_ERROR"},
		{"another nonce", v3, query, replaced("Authorization", "n0nce", "nonce"), false, "401 SIGN_ERROR"},
		{"another time", v3, query, replaced("Authorization", at, old), false, "401 SIGN_ERROR"},
		{"another merchant", v3, query, replaced("Authorization", "mchid=\"19", "mchid=\"18"), false, "404 MCH_NOT_EXISTS"},
		{"another certificate", v3, query, replaced("Authorization", "serial_no=\"", "serial_no=\"0"), false,
			"401 SIGN_ERROR"},
		{"another scheme", v3, query, replaced("Authorization", "RSA2048", "RSA1024"), false, "401 SIGN_ERROR"},
		{"a field twice", v3, query, replaced("Authorization", ",serial_no", `,mchid="1900000109",serial_no`), false,
			"401 SIGN_ERROR"},
		{"a field more", v3, query, replaced("Authorization", ",serial_no", `,more="1",serial_no`), false, "401 SIGN_ERROR"},
		{"a field missing", v3, query, replaced("Authorization", "nonce_str", "nonce"), false, "401 SIGN_ERROR"},
		{"no signature", v3, query, func(r *http.Request) { r.Header.Del("Authorization") }, false, "401 SIGN_ERROR"},
		{"no Accept", v3, query, func(r *http.Request) { r.Header.Del("Accept") }, false, "400 PARAM_ERROR"},
	}
}

func forgeries() []forgery {
	const v2, ali, sqb = sandbox.WeChatV2, sandbox.Alipay, sandbox.SQB
	return []forgery{
		{"another key", v2, query, nil, true, "签名错误"},
		{"another order", v2, query, body("A-1", "A-2"), false, "签名错误"},
		{"a further field", v2, query, body("</xml>", "<a>1</a></xml>"), false, "签名错误"},
		{"another digest", v2, query, body("HMAC-SHA256", "MD5"), false, "签名错误"},
		{"an unknown digest", v2, query, body("HMAC-SHA256", "SM3"), false, "签名类型错误"},
		{"a field twice", v2, query, body("</xml>", "<appid>1</appid></xml>"), false, "XML格式错误"},
		{"an entity", v2, query, body("<xml>", `<!DOCTYPE x [<!ENTITY e "1">]><xml>`), false, "XML格式错误"},
		{"nested fields", v2, query, body("<appid>", "<appid><b>1</b>"), false, "XML格式错误"},
		{"no document", v2, query, body("<xml>", ""), false, "XML格式错误"},
		{"another key", ali, query, nil, true, "40002 isv.invalid-signature"},
		{"another order", ali, query, body("A-1", "A-2"), false, "40002 isv.invalid-signature"},
		{"a further field", ali, query, body("format", "a=1&format"), false, "40002 isv.invalid-signature"},
		{"a field in the query", ali, query, rawQuery("a=1"), false, "40002 isv.invalid-signature"},
		{"a field twice", ali, query, rawQuery("format=JSON"), false, "40002 isv.invalid-parameter"},
		{"a weaker digest", ali, query, body("RSA2", "RSA"), false, "40002 isv.invalid-signature-type"},
		{"another application", ali, query, body("wx88", "wx77"), false, "40002 isv.invalid-app-id"},
		{"no signature", ali, query, body("&sign=", "&nosign="), false, "40001 isv.missing-signature"},
		{"another key", sqb, query, nil, true, "400 ILLEGAL_SIGN"},
		{"another order", sqb, query, body("A-1", "A-2"), false, "400 ILLEGAL_SIGN"},
		{"another terminal", sqb, query, replaced("Authorization", "100000330000001 ", "100000330000002 "), false,
			"400 INVALID_TERMINAL"},
		{"no signature", sqb, query, func(r *http.Request) { r.Header.Del("Authorization") }, false, "400 INVALID_TERMINAL"},
		{"not JSON", sqb, query, body("{", ""), false, "400 INVALID_PARAMS"},
	}
}

// Whatever was changed after signing, or signed by another, is turned down before the order is looked up.
func TestQuestionsThatAreNotSignedByTheMerchantAreRefused(t *testing.T) {
	keys, others := newKeys(t), newKeys(t)
	for _, test := range append(forgeriesOfV3(), forgeries()...) {
		m := newMerchant(t, keys, 1)
		pay(t, m.box, test.channel, "A-1", 1)
		if test.stranger {
			m.terminalKey, m.keys = others.SQBTerminalKey, &sandbox.Keys{}
			*m.keys = *keys
			m.keys.WeChatMerchantKey, m.keys.AlipayAppKey = others.WeChatMerchantKey, others.AlipayAppKey
			m.keys.WeChatV2Key = others.WeChatV2Key
		}
		m.edit = test.edit
		got := m.ask(test.channel, test.what, "A-1")
		if got.word != test.want {
			t.Errorf("%s, %s: %q, want %q", test.channel, test.name, got.word, test.want)
		}
		record := m.box.Record()
		if record.Counts.AskRefused != 1 || record.Counts.Asked != 0 || record.Orders[0].Asked != (sandbox.Asked{}) {
			t.Errorf("%s, %s: counted %+v, %+v", test.channel, test.name, record.Counts, record.Orders[0].Asked)
		}
	}
}

// WeChat Pay takes a question up to five minutes from its own time, in both directions.
func TestAQuestionIsSignedJustNow(t *testing.T) {
	m := newMerchant(t, newKeys(t), 1)
	pay(t, m.box, sandbox.WeChat, "A-1", 1)
	for ahead, want := range map[time.Duration]string{-301 * time.Second: "401 SIGN_ERROR", -300 * time.Second: "SUCCESS",
		300 * time.Second: "SUCCESS", 301 * time.Second: "401 SIGN_ERROR"} {
		m.ahead = ahead
		if got := m.ask(sandbox.WeChat, query, "A-1"); got.word != want || !got.genuine {
			t.Errorf("%s ahead: %q, genuine %t; want %q", ahead, got.word, got.genuine, want)
		}
	}
}

// Questions that are signed well and still wrong.
func TestQuestionsThatDoNotFitAreRefused(t *testing.T) {
	m := newMerchant(t, newKeys(t), 1)
	const order = "/v3/pay/transactions/out-trade-no/A-1"
	for name, test := range map[string]struct{ got, want string }{
		"v3: another merchant's query": {m.v3("GET", order+"?mchid=1900000108", "").word, "400 PARAM_ERROR"},
		"v3: nobody's query":           {m.v3("GET", order, "").word, "400 PARAM_ERROR"},
		"v3: another merchant's close": {m.v3("POST", order+"/close", `{"mchid":"1"}`).word, "400 PARAM_ERROR"},
		"v3: close without a body":     {m.v3("POST", order+"/close", "").word, "400 PARAM_ERROR"},
		"v3: another app": {m.v3("POST", order+"/reverse", `{"mchid":"1900000109","appid":"wx"}`).word,
			"400 APPID_MCHID_NOT_MATCH"},
		"v2: another app": {m.v2("/pay/orderquery", map[string]string{"appid": "wx", "out_trade_no": "A-1"}).word,
			"appid和mch_id不匹配"},
		"v2: no order":       {m.v2("/pay/orderquery", map[string]string{}).word, "缺少参数"},
		"v2: no number":      {m.v2("/pay/closeorder", map[string]string{"transaction_id": "1"}).word, "缺少参数"},
		"alipay: a method":   {m.alipay("alipay.trade.create", "{}").word, "40002 isv.invalid-method"},
		"alipay: no content": {m.alipay("alipay.trade.query", "nothing").word, "40002 isv.invalid-parameter"},
		"alipay: no order":   {m.alipay("alipay.trade.query", "{}").word, "ACQ.INVALID_PARAMETER"},
		"sqb: no order":      {m.sqb("/upay/v2/query", `{"terminal_sn":"100000330000001"}`).word, "400 INVALID_PARAMS"},
		"sqb: no device":     {m.sqb("/terminal/checkin", `{"terminal_sn":"100000330000001"}`).word, "400 INVALID_PARAMS"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", name, test.got, test.want)
		}
	}
	if n := m.box.Record().Counts.Asked; n != 0 {
		t.Errorf("%d questions counted as asked", n)
	}
}

// A body of 64 KiB is read, and one byte more is not.
func TestQuestionsAreBounded(t *testing.T) {
	m := newMerchant(t, newKeys(t), 1)
	for size, want := range map[int]int{64 << 10: http.StatusOK, 64<<10 + 1: http.StatusRequestEntityTooLarge} {
		for path, method := range map[string]string{"/wechat-v2/pay/orderquery": "POST", "/alipay/gateway.do": "POST",
			"/sqb/upay/v2/query": "POST", "/sqb/terminal/checkin": "POST"} {
			response, _ := m.send(method, path, strings.Repeat("a", size), nil)
			if response == nil || response.StatusCode != want {
				t.Errorf("%s with %d bytes: %v, want %d", path, size, response, want)
			}
		}
	}
	for path, want := range map[string]int{"/wechat/v3/refund/domestic/refunds": 404, "/alipay/gateway.do": 405,
		"/paypal/": 404} {
		if response, _ := m.send("GET", path, "", nil); response == nil || response.StatusCode != want {
			t.Errorf("GET %s: %v, want %d", path, response, want)
		}
	}
}

// WeChat Pay signs an answer, whatever it says, with the key that the request's Wechatpay-Serial names, else with the
// certificate.
func TestTheRequestChoosesThePlatformKey(t *testing.T) {
	keys := newKeys(t)
	m := newMerchant(t, keys, 1)
	pay(t, m.box, sandbox.WeChat, "A-1", 1)
	for header, byPublicKey := range map[string]bool{keys.WeChatPublicKeyID: true, "": false, "PUB_KEY_ID_0": false} {
		for _, orderNo := range []string{"A-1", "A-2"} {
			var serial string
			m.edit = func(r *http.Request) {
				r.Header.Set("Wechatpay-Serial", header)
				if header == "" {
					r.Header.Del("Wechatpay-Serial")
				}
			}
			m.client.Transport = &spy{m.client.Transport, &serial}
			got := m.ask(sandbox.WeChat, query, orderNo)
			if !got.genuine || (serial == keys.WeChatPublicKeyID) != byPublicKey {
				t.Errorf("asked for %q about %s: signed by %q, genuine %t", header, orderNo, serial, got.genuine)
			}
		}
	}
}

// spy notes which key an answer names.
type spy struct {
	http.RoundTripper
	serial *string
}

func (s *spy) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		*s.serial = response.Header.Get("Wechatpay-Serial")
	}
	return response, err
}
