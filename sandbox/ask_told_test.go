package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/sandbox"
)

// saying reads what an answer says of its order, flat: names with dots for what is inside objects.
func (m *merchant) saying(channel string, answer told) map[string]string {
	if channel == sandbox.WeChatV2 {
		return flatXML(m.t, []byte(answer.raw))
	}
	fields := map[string]string{}
	var walk func(prefix string, value any)
	walk = func(prefix string, value any) {
		if object, ok := value.(map[string]any); ok {
			for name, inner := range object {
				walk(strings.TrimPrefix(prefix+"."+name, "."), inner)
			}
			return
		}
		text, ok := value.(string)
		if !ok {
			text = fmt.Sprint(value)
		}
		fields[prefix] = text
	}
	walk("", m.object(answer.raw))
	return fields
}

// The numbers, sums and times of a payment of 19.99 yuan at 10:30 in Beijing, of which 5.00 were given back, under the
// names that the channels document.
func TestWhatAnAnswerTellsOfAPayment(t *testing.T) {
	m := newMerchant(t, newKeys(t), 1)
	const trade, data = "alipay_trade_query_response.", "biz_response.data."
	for channel, want := range map[string]map[string]string{
		sandbox.WeChat: {"appid": "wx8888888888888888", "mchid": "1900000109", "out_trade_no": "A-1",
			"transaction_id": "#", "trade_type": "NATIVE", "trade_state": "REFUND", "trade_state_desc": "订单发生过退款",
			"bank_type": "CMC", "success_time": "2026-12-01T10:30:00+08:00", "payer.openid": "*", "amount.total": "1999",
			"amount.payer_total": "1999", "amount.currency": "CNY", "amount.payer_currency": "CNY", "attach": "",
			"promotion_detail": "[]", "scene_info.device_id": ""},
		sandbox.WeChatV2: {"return_code": "SUCCESS", "result_code": "SUCCESS", "appid": "wx8888888888888888",
			"mch_id": "1900000109", "nonce_str": "*", "sign": "*", "trade_state": "REFUND", "trade_type": "MICROPAY",
			"total_fee": "1999", "fee_type": "CNY", "cash_fee": "1999", "cash_fee_type": "CNY", "transaction_id": "#",
			"out_trade_no": "A-1", "attach": "", "time_end": "20261201103000", "bank_type": "CMC", "openid": "*",
			"is_subscribe": "N", "settlement_total_fee": "1999", "trade_state_desc": "订单发生过退款", "device_info": "pos-1"},
		sandbox.Alipay: {trade + "code": "10000", trade + "msg": "Success", trade + "trade_no": "#",
			trade + "out_trade_no": "A-1", trade + "buyer_logon_id": "*", trade + "trade_status": "TRADE_SUCCESS",
			trade + "total_amount": "19.99", trade + "receipt_amount": "19.99", trade + "buyer_pay_amount": "19.99",
			trade + "invoice_amount": "19.99", trade + "point_amount": "0.00", trade + "buyer_user_id": "*",
			trade + "send_pay_date": "2026-12-01 10:30:00", "sign": "*"},
		sandbox.SQB: {"result_code": "200", "biz_response.result_code": "SUCCESS", data + "sn": "#",
			data + "client_sn": "A-1", data + "terminal_sn": "100000330000001", data + "trade_no": "*",
			data + "status": "SUCCESS", data + "order_status": "PARTIAL_REFUNDED", data + "total_amount": "1999",
			data + "net_amount": "1499", data + "payway": "3", data + "sub_payway": "1", data + "subject": "咖啡",
			data + "finish_time": "1796092200000", data + "channel_finish_time": "1796092200000", data + "payer_uid": "*",
			data + "operator": "counter-1", data + "reflect": ""},
	} {
		payment := pay(t, m.box, channel, "A-1", 1999)
		_, err := m.box.Refund(payment, "R-1", yuan(500))
		must(t, err)
		got := m.saying(channel, m.ask(channel, query, "A-1"))
		for name, value := range want {
			value = strings.Replace(value, "#", payment.TradeNo, 1)
			if told, there := got[name]; !there || told != value && (value != "*" || told == "") {
				t.Errorf("%s: %s is %q, want %q", channel, name, told, value)
			}
		}
	}
}

// An order that nobody has paid has no payer, no payment time and no number of a payment.
func TestWhatAnAnswerDoesNotTellOfAnUnpaidOrder(t *testing.T) {
	m := newMerchant(t, newKeys(t), 1)
	for _, channel := range channels() {
		must(t, m.box.Open(channel, "shop", "A-1", yuan(1999)))
		must(t, m.box.Scan(channel, "shop", "A-1"))
		answer := m.ask(channel, query, "A-1")
		for _, name := range []string{"transaction_id", "success_time", "time_end", "openid", "send_pay_date", "payer_uid",
			"finish_time"} {
			if strings.Contains(answer.raw, name) {
				t.Errorf("%s tells a %s: %s", channel, name, answer.raw)
			}
		}
		if !strings.Contains(answer.raw, map[bool]string{true: "19.99", false: "1999"}[channel == sandbox.Alipay]) {
			t.Errorf("%s does not tell the sum: %s", channel, answer.raw)
		}
	}
}

// Whoever decodes Alipay's answer and encodes it anew gets other bytes, and no signature for them.
func TestAlipaysSignatureIsOfTheBytesThatWereSent(t *testing.T) {
	keys := newKeys(t)
	m := newMerchant(t, keys, 1)
	pay(t, m.box, sandbox.Alipay, "A-1", 1999)
	raw := m.ask(sandbox.Alipay, query, "A-1").raw
	var said struct {
		Answer map[string]any `json:"alipay_trade_query_response"`
		Sign   string         `json:"sign"`
	}
	must(t, json.Unmarshal([]byte(raw), &said))
	again, err := json.Marshal(said.Answer)
	must(t, err)
	if signed(public(t, keys.AlipayPublicKey), string(again), said.Sign) {
		t.Error("encoded anew it still verifies")
	}
	if said.Answer["store_name"] != "咖啡/蛋糕" || !strings.Contains(raw, `咖啡\/蛋糕`) {
		t.Errorf("a slash is not escaped: %s", raw)
	}
}

// Shouqianba cancels payments of the same day in Beijing only.
func TestCancelEndsWithTheDay(t *testing.T) {
	keys := newKeys(t)
	clock := now()
	box, err := sandbox.New(sandbox.Options{Keys: keys, Accounts: accounts(nowhere), Seed: 1,
		Clock: func() time.Time { return clock }})
	must(t, err)
	api, err := box.API()
	must(t, err)
	server := httptest.NewServer(api)
	defer server.Close()
	m := &merchant{t: t, keys: keys, box: box, base: server.URL, client: server.Client(), terminalKey: keys.SQBTerminalKey}
	for _, orderNo := range []string{"A-1", "A-2"} {
		pay(t, box, sandbox.SQB, orderNo, 1)
	}
	for _, test := range []struct {
		orderNo string
		at      time.Time
		want    string
	}{{"A-1", time.Date(2026, 12, 1, 15, 59, 59, 0, time.UTC), "CANCEL_SUCCESS SUCCESS CANCELED"},
		{"A-2", time.Date(2026, 12, 1, 16, 0, 0, 0, time.UTC), "FAIL UPAY_CANCEL_INVALID_ORDER_STATE"}} {
		clock = test.at
		if got := m.ask(sandbox.SQB, reverse, test.orderNo); got.word != test.want {
			t.Errorf("%s at %s: %q, want %q", test.orderNo, test.at, got.word, test.want)
		}
	}
}

// A base URL that may only be a host finds the paths as the channels have them.
func TestTheChannelsOwnPathsAreServedToo(t *testing.T) {
	keys := newKeys(t)
	box := newBox(t, keys, 1, nowhere)
	api, err := box.API()
	must(t, err)
	server := httptest.NewServer(api)
	defer server.Close()
	m := &merchant{t: t, keys: keys, box: box, base: server.URL, client: server.Client(), terminalKey: keys.SQBTerminalKey,
		bare: true}
	for _, channel := range channels() {
		pay(t, box, channel, "A-1", 1)
		if got := m.ask(channel, query, "A-1"); !got.genuine || !strings.Contains(got.word, "SUCCESS") {
			t.Errorf("%s: %q", channel, got.word)
		}
	}
}

// Where the server does not give its connection away, a dropped answer breaks off all the same.
func TestAnAnswerIsDroppedBehindMiddlewareToo(t *testing.T) {
	keys := newKeys(t)
	box := newBox(t, keys, 1, nowhere)
	api, err := box.API()
	must(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(struct{ http.ResponseWriter }{w}, r)
	}))
	defer server.Close()
	m := &merchant{t: t, keys: keys, box: box, base: server.URL, client: server.Client(), terminalKey: keys.SQBTerminalKey}
	pay(t, box, sandbox.SQB, "A-1", 1)
	must(t, box.Behave(sandbox.SQB, "shop", "A-1", sandbox.Behaviour{Drop: 1}))
	if got := []string{m.ask(sandbox.SQB, query, "A-1").word, m.ask(sandbox.SQB, query, "A-1").word}; got[0] != dropped ||
		got[1] != "SUCCESS SUCCESS PAID" {
		t.Errorf("told %q", got)
	}
}

// A key file from before there were questions still signs notifications; the missing keys can be made, once.
func TestKeysFromBeforeTheQuestionsAreCompleted(t *testing.T) {
	keys := newKeys(t)
	keys.WeChatMerchantKey, keys.WeChatMerchantSerial, keys.AlipayAppKey, keys.SQBTerminalKey = "", "", "", ""
	if _, err := newBox(t, keys, 1, nowhere).API(); err == nil {
		t.Error("an API without the merchant's keys")
	}
	before := *keys
	if added, err := keys.CompleteMerchant(); !added || err != nil {
		t.Fatalf("added %t, %v", added, err)
	}
	completed := *keys
	if added, err := keys.CompleteMerchant(); added || err != nil || *keys != completed {
		t.Errorf("again: added %t, %v", added, err)
	}
	if keys.WeChatKey != before.WeChatKey || keys.StrangerKey != before.StrangerKey {
		t.Error("a key that was there has changed")
	}
	m := newMerchant(t, keys, 1)
	for _, channel := range channels() {
		pay(t, m.box, channel, "A-1", 1)
		if got := m.ask(channel, query, "A-1"); !got.genuine || !strings.Contains(got.word, "SUCCESS") {
			t.Errorf("%s: %q", channel, got.word)
		}
	}
}

// A payment that another run of the sandbox made can be asked about here, refunds included.
func TestARestoredPaymentIsTheTruthAgain(t *testing.T) {
	keys := newKeys(t)
	for _, channel := range channels() {
		earlier := newBox(t, keys, 1, nowhere)
		payment := pay(t, earlier, channel, "A-1", 1999)
		m := newMerchant(t, keys, 2)
		for range 2 {
			if _, err := m.box.Restore(*payment); err != nil {
				t.Fatal(err)
			}
		}
		if got := m.ask(channel, query, "A-1"); !strings.Contains(got.raw, payment.TradeNo) || !got.genuine {
			t.Errorf("%s: told %s", channel, got.raw)
		}
		if n := len(m.box.Record().Payments); n != 1 {
			t.Errorf("%s: %d payments", channel, n)
		}
		for name, change := range map[string]func(*sandbox.Payment){
			"no number":      func(p *sandbox.Payment) { p.TradeNo = "" },
			"no account":     func(p *sandbox.Payment) { p.Account.Name = "other" },
			"no order":       func(p *sandbox.Payment) { p.OrderNo = "" },
			"refunded twice": func(p *sandbox.Payment) { p.Refunded = 2000 },
		} {
			spoiled := *payment
			change(&spoiled)
			if _, err := m.box.Restore(spoiled); err == nil {
				t.Errorf("%s, %s: restored", channel, name)
			}
		}
	}
}

// What merchants ask at the same time is counted one by one, and the buyer pays once.
func TestQuestionsAtTheSameTime(t *testing.T) {
	m := newMerchant(t, newKeys(t), 1)
	must(t, m.box.Open(sandbox.SQB, "shop", "A-1", yuan(1)))
	must(t, m.box.Behave(sandbox.SQB, "shop", "A-1", sandbox.Behaviour{PayAt: 5}))
	const askers = 12
	words := make(chan string)
	for range askers {
		go func() { words <- m.ask(sandbox.SQB, query, "A-1").word }()
	}
	count := map[string]int{}
	for range askers {
		count[<-words]++
	}
	if count["SUCCESS IN_PROG CREATED"] != 4 || count["SUCCESS SUCCESS PAID"] != askers-4 {
		t.Errorf("told %v", count)
	}
	if n := len(m.box.Payments(sandbox.SQB, "shop", "A-1")); n != 1 || m.asked(sandbox.SQB, "A-1").Queries != askers {
		t.Errorf("%d payments, asked %+v", n, m.asked(sandbox.SQB, "A-1"))
	}
}
