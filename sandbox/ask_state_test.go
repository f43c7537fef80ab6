package sandbox_test

import (
	"testing"

	"github.com/paidonce/paidonce/sandbox"
)

// words are what the channels say of one thing, in the order WeChat v3, WeChat v2, Alipay, Shouqianba.
type words [4]string

// stories are how an order comes to each of its states, and the word for it.
func stories() []struct {
	name  string
	play  func(t *testing.T, box *sandbox.Sandbox, channel string)
	query words
} {
	open := func(t *testing.T, box *sandbox.Sandbox, channel string) {
		must(t, box.Open(channel, "shop", "A-1", yuan(1999)))
	}
	refund := func(amounts ...int64) func(*testing.T, *sandbox.Sandbox, string) {
		return func(t *testing.T, box *sandbox.Sandbox, channel string) {
			payment := pay(t, box, channel, "A-1", 1999)
			for i, minor := range amounts {
				_, err := box.Refund(payment, string(rune('a'+i)), yuan(minor))
				must(t, err)
			}
		}
	}
	return []struct {
		name  string
		play  func(t *testing.T, box *sandbox.Sandbox, channel string)
		query words
	}{
		{"never heard of", func(*testing.T, *sandbox.Sandbox, string) {},
			words{"404 ORDER_NOT_EXIST", "ORDERNOTEXIST", "ACQ.TRADE_NOT_EXIST", "FAIL UPAY_ORDER_NOT_EXISTS"}},
		{"only announced", func(t *testing.T, box *sandbox.Sandbox, channel string) {
			must(t, box.Behave(channel, "shop", "A-1", sandbox.Behaviour{PayAt: 1, RefundAt: 1, ScanAt: 1}))
		}, words{"404 ORDER_NOT_EXIST", "ORDERNOTEXIST", "ACQ.TRADE_NOT_EXIST", "FAIL UPAY_ORDER_NOT_EXISTS"}},
		{"open", open, words{"NOTPAY", "NOTPAY", "ACQ.TRADE_NOT_EXIST", "SUCCESS IN_PROG CREATED"}},
		{"scanned", func(t *testing.T, box *sandbox.Sandbox, channel string) {
			open(t, box, channel)
			must(t, box.Scan(channel, "shop", "A-1"))
		}, words{"USERPAYING", "USERPAYING", "WAIT_BUYER_PAY", "SUCCESS IN_PROG CREATED"}},
		{"paid", refund(), words{"SUCCESS", "SUCCESS", "TRADE_SUCCESS", "SUCCESS SUCCESS PAID"}},
		{"refunded in part", refund(500), words{"REFUND", "REFUND", "TRADE_SUCCESS", "SUCCESS SUCCESS PARTIAL_REFUNDED"}},
		{"refunded", refund(500, 1499), words{"REFUND", "REFUND", "TRADE_CLOSED", "SUCCESS SUCCESS REFUNDED"}},
		{"expired", func(t *testing.T, box *sandbox.Sandbox, channel string) {
			open(t, box, channel)
			must(t, box.Expire(channel, "shop", "A-1"))
		}, words{"CLOSED", "CLOSED", "ACQ.TRADE_NOT_EXIST", "SUCCESS FAIL_CANCELED PAY_CANCELED"}},
		{"expired after scanning", func(t *testing.T, box *sandbox.Sandbox, channel string) {
			open(t, box, channel)
			must(t, box.Scan(channel, "shop", "A-1"))
			must(t, box.Expire(channel, "shop", "A-1"))
		}, words{"CLOSED", "CLOSED", "TRADE_CLOSED", "SUCCESS FAIL_CANCELED PAY_CANCELED"}},
	}
}

func TestEveryStateIsToldInTheChannelsOwnWords(t *testing.T) {
	keys := newKeys(t)
	for i, channel := range channels() {
		for _, story := range stories() {
			m := newMerchant(t, keys, 1)
			story.play(t, m.box, channel)
			got := m.ask(channel, query, "A-1")
			if got.word != story.query[i] || !got.genuine {
				t.Errorf("%s, %s: %q, genuine %t; want %q", channel, story.name, got.word, got.genuine, story.query[i])
			}
		}
	}
}

// An end to an order is final, and a paid one cannot be closed, only given back.
func TestWhatCloseAndCancelDo(t *testing.T) {
	keys := newKeys(t)
	absent := words{"404 ORDER_NOT_EXIST", "ORDERNOTEXIST", "ACQ.TRADE_NOT_EXIST", "FAIL UPAY_ORDER_NOT_EXISTS"}
	for _, test := range []struct{ story, what, channel, answer, then string }{
		{"never heard of", end, sandbox.WeChat, absent[0], absent[0]},
		{"open", end, sandbox.WeChat, "done", "CLOSED"},
		{"scanned", end, sandbox.WeChat, "done", "CLOSED"},
		{"paid", end, sandbox.WeChat, "400 ORDERPAID", "SUCCESS"},
		{"refunded", end, sandbox.WeChat, "400 ORDERPAID", "REFUND"},
		{"expired", end, sandbox.WeChat, "400 ORDER_CLOSED", "CLOSED"},
		{"never heard of", reverse, sandbox.WeChat, absent[0], absent[0]},
		{"open", reverse, sandbox.WeChat, "done", "REVOKED"},
		{"paid", reverse, sandbox.WeChat, "done", "REVOKED"},
		{"expired", reverse, sandbox.WeChat, "400 ORDER_CLOSED", "CLOSED"},
		{"never heard of", end, sandbox.WeChatV2, absent[1], absent[1]},
		{"open", end, sandbox.WeChatV2, "done", "CLOSED"},
		{"paid", end, sandbox.WeChatV2, "ORDERPAID", "SUCCESS"},
		{"expired", end, sandbox.WeChatV2, "ORDERCLOSED", "CLOSED"},
		{"open", end, sandbox.Alipay, absent[2], absent[2]},
		{"scanned", end, sandbox.Alipay, "done", "TRADE_CLOSED"},
		{"paid", end, sandbox.Alipay, "ACQ.TRADE_STATUS_ERROR", "TRADE_SUCCESS"},
		{"expired after scanning", end, sandbox.Alipay, "ACQ.TRADE_STATUS_ERROR", "TRADE_CLOSED"},
		{"never heard of", reverse, sandbox.Alipay, "done", absent[2]},
		{"open", reverse, sandbox.Alipay, "done", absent[2]},
		{"scanned", reverse, sandbox.Alipay, "close", "TRADE_CLOSED"},
		{"paid", reverse, sandbox.Alipay, "refund", "TRADE_CLOSED"},
		{"refunded in part", reverse, sandbox.Alipay, "refund", "TRADE_CLOSED"},
		{"never heard of", reverse, sandbox.SQB, absent[3], absent[3]},
		{"open", reverse, sandbox.SQB, "CANCEL_SUCCESS SUCCESS CANCELED", "SUCCESS SUCCESS CANCELED"},
		{"paid", reverse, sandbox.SQB, "CANCEL_SUCCESS SUCCESS CANCELED", "SUCCESS SUCCESS CANCELED"},
		{"refunded in part", reverse, sandbox.SQB, "FAIL UPAY_CANCEL_INVALID_ORDER_STATE",
			"SUCCESS SUCCESS PARTIAL_REFUNDED"},
		{"expired", reverse, sandbox.SQB, "FAIL UPAY_CANCEL_ORDER_NOOP", "SUCCESS FAIL_CANCELED PAY_CANCELED"},
	} {
		m := newMerchant(t, keys, 1)
		for _, story := range stories() {
			if story.name == test.story {
				story.play(t, m.box, test.channel)
			}
		}
		answer, then := m.ask(test.channel, test.what, "A-1"), m.ask(test.channel, query, "A-1")
		if answer.word != test.answer || then.word != test.then || !answer.genuine || !then.genuine {
			t.Errorf("%s, %s, %s: %q (genuine %t), then %q (genuine %t); want %q, then %q", test.channel, test.story, test.what,
				answer.word, answer.genuine, then.word, then.genuine, test.answer, test.then)
		}
		for _, p := range m.box.Record().Payments {
			given := test.what == reverse && test.answer[0] != 'F' || test.story == "refunded"
			if (p.Refunded == p.Amount.Minor) != given {
				t.Errorf("%s, %s, %s: refunded %d of %s", test.channel, test.story, test.what, p.Refunded, p.Amount)
			}
		}
	}
}

// A closed order takes no payment, however it was closed, unless the channel is one that slips.
func TestAClosedOrderIsPaidOnlyByTheFaultForThat(t *testing.T) {
	keys := newKeys(t)
	for i, channel := range channels() {
		for _, slips := range []bool{false, true} {
			m := newMerchant(t, keys, 1)
			must(t, m.box.Behave(channel, "shop", "A-1", sandbox.Behaviour{PayAfterClose: slips}))
			must(t, m.box.Open(channel, "shop", "A-1", yuan(1999)))
			must(t, m.box.Expire(channel, "shop", "A-1"))
			payment, err := m.box.Pay(channel, "shop", "A-1", yuan(1999))
			if (err == nil) != slips || (payment != nil) != slips {
				t.Fatalf("%s, slips %t: %v", channel, slips, err)
			}
			want := words{"CLOSED", "CLOSED", "ACQ.TRADE_NOT_EXIST", "SUCCESS FAIL_CANCELED PAY_CANCELED"}[i]
			if slips {
				want = words{"SUCCESS", "SUCCESS", "TRADE_SUCCESS", "SUCCESS SUCCESS PAID"}[i]
			}
			if got := m.ask(channel, query, "A-1").word; got != want {
				t.Errorf("%s, slips %t: %q, want %q", channel, slips, got, want)
			}
		}
	}
}

// Two payments of one order are both there; the order's number finds the first, the channel's number either.
func TestTheChannelsNumberWins(t *testing.T) {
	m := newMerchant(t, newKeys(t), 1)
	for _, channel := range channels() {
		first, second := pay(t, m.box, channel, "A-1", 100), pay(t, m.box, channel, "A-1", 200)
		if list := m.box.Payments(channel, "shop", "A-1"); len(list) != 2 || list[0] != first || list[1] != second {
			t.Errorf("%s: %d payments", channel, len(list))
		}
		by := func(tradeNo string) string {
			switch channel {
			case sandbox.WeChat:
				return m.v3("GET", "/v3/pay/transactions/id/"+tradeNo+"?mchid=1900000109", "").raw
			case sandbox.WeChatV2:
				return m.v2("/pay/orderquery", map[string]string{"transaction_id": tradeNo, "out_trade_no": "OTHER"}).raw
			case sandbox.Alipay:
				return m.alipay("alipay.trade.query", `{"trade_no":"`+tradeNo+`","out_trade_no":"OTHER"}`).raw
			}
			return m.sqb("/upay/v2/query", `{"terminal_sn":"100000330000001","sn":"`+tradeNo+`","client_sn":"OTHER"}`).raw
		}
		for _, p := range []*sandbox.Payment{first, second} {
			if raw := by(p.TradeNo); !contains(raw, p.TradeNo) || !contains(raw, "A-1") {
				t.Errorf("%s: asked for %s, told %s", channel, p.TradeNo, raw)
			}
		}
		if raw := m.ask(channel, query, "A-1").raw; !contains(raw, first.TradeNo) {
			t.Errorf("%s: the order's number found %s", channel, raw)
		}
	}
}
