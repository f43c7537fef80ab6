package wechat_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/wechat"
)

func TestClosingAnOrderV2(t *testing.T) {
	h := newHostV2()
	payer := h.payer(t)
	paid, unpaid := paid2(nil).hmacXML(), unpaid2("NOTPAY").hmacXML()
	both := []string{closePath, queryPath}
	for _, test := range []struct {
		name         string
		close, query string
		want         channel.Standing
		key          string
		fails        error
		asked        []string
	}{
		{"closed", closed2().hmacXML(), "", channel.StandingClosed, closedKey, nil, both[:1]},
		{"closed, and named", closed2().with(fields{"out_trade_no": "ORDER-1"}).hmacXML(), "", channel.StandingClosed,
			closedKey, nil, both[:1]},
		{"the payer was faster", refused2("ORDERPAID").hmacXML(), paid, channel.StandingPaid, paidKey, nil, both},
		{"so it was, other spelling", refused2("ORDER_PAID").hmacXML(), paid, channel.StandingPaid, paidKey, nil, both},
		{"closed before", refused2("ORDERCLOSED").hmacXML(), unpaid2("CLOSED").hmacXML(), channel.StandingClosed,
			closedKey, nil, both},
		{"refused though open", refused2("TRADE_ERROR").hmacXML(), unpaid, "", "", channel.ErrRefused, both},
		{"unclear after a refusal", refused2("ORDERPAID").hmacXML(), refused2("SYSTEMERROR").hmacXML(), "", "",
			channel.ErrUnanswered, both},
		{"no such order", refused2("ORDERNOTEXIST").hmacXML(), "", channel.StandingAbsent, "", nil, both[:1]},
		{"system error", refused2("SYSTEMERROR").hmacXML(), "", "", "", channel.ErrUnanswered, both[:1]},
		{"no right to close", refused2("NOAUTH").hmacXML(), "", "", "", channel.ErrRefused, both[:1]},
		{"another order", closed2().with(fields{"out_trade_no": "ORDER-2"}).hmacXML(), "", "", "",
			channel.ErrUnanswered, both[:1]},
		{"the answer to a query", unpaid, "", "", "", channel.ErrUnanswered, both[:1]},
		{"a notification", string(pay2(nil).Body), "", "", "", channel.ErrUnanswered, both[:1]},
		{"unsigned", string(closed2().encode("xml", true)), "", "", "", channel.ErrUnanswered, both[:1]},
		{"two readings", closed2().with(fields{"return_msg": "a&result_code=FAIL"}).hmacXML(), "", "", "",
			channel.ErrUnanswered, both[:1]},
		{"another merchant", closed2().with(fields{"mch_id": "1900000110"}).hmacXML(), "", "", "",
			channel.ErrUnanswered, both[:1]},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.say(closePath, test.close)
			h.say(queryPath, test.query)
			answer, err := payer.Close(t.Context(), question())
			checkOutcome(t, answer, err, test.want, test.key, test.fails)
			var paths []string
			for _, one := range h.take() {
				paths = append(paths, one["path"])
			}
			if !slices.Equal(paths, test.asked) {
				t.Fatalf("asked %q, want %q", paths, test.asked)
			}
		})
	}
}

// A close is one event in v2 and v3, whether Close or a later Query reports it.
func TestACloseIsOneEventInBothVersions(t *testing.T) {
	h2, h3 := newHostV2(), newHost(t)
	h2.say(closePath, closed2().hmacXML())
	h2.say(queryPath, unpaid2("CLOSED").hmacXML())
	h3.say(http.MethodPost, http.StatusNoContent, "")
	v2, v3 := h2.payer(t), h3.payer(t)
	want, err := v3.Close(t.Context(), question())
	checkOutcome(t, want, err, channel.StandingClosed, closedKey, nil)
	for _, ask := range []func(context.Context, channel.Question) (channel.Answer, error){v2.Close, v2.Query} {
		got, err := ask(t.Context(), question())
		checkOutcome(t, got, err, channel.StandingClosed, closedKey, nil)
		checkSame(t, got.Parsed.Events[0], want.Parsed.Events[0])
	}
}

func TestAskingForAnotherMerchantV2(t *testing.T) {
	h := newHostV2()
	payer := h.payer(t, func(c *wechat.PayerV2Config) { c.SubMchID = "1900000999" })
	for sub, want := range map[string]channel.Standing{"1900000999": channel.StandingPaid, "1900000110": "", "-": ""} {
		key, fails := paidKey, error(nil)
		if want == "" {
			key, fails = "", channel.ErrUnanswered
		}
		h.say(queryPath, paid2(fields{"sub_mch_id": sub}).hmacXML())
		answer, err := payer.Query(t.Context(), question())
		checkOutcome(t, answer, err, want, key, fails)
	}
}

func TestQuestionsThatAreNotSentV2(t *testing.T) {
	h := newHostV2()
	payer := h.payer(t)
	for _, number := range []string{"", "A&mch_id=1", "A=B", "A B", "<a>", "订单", strings.Repeat("7", 65)} {
		answer, err := payer.Query(t.Context(), channel.Question{OrderNo: number})
		checkOutcome(t, answer, err, "", "", channel.ErrRefused)
		answer, err = payer.Close(t.Context(), channel.Question{OrderNo: number, TradeNo: "42"})
		checkOutcome(t, answer, err, "", "", channel.ErrRefused)
		answer, err = payer.Query(t.Context(), channel.Question{OrderNo: "ORDER-1", TradeNo: "&" + number})
		checkOutcome(t, answer, err, "", "", channel.ErrRefused)
	}
	if got := h.take(); len(got) != 0 {
		t.Fatalf("sent %v", got)
	}
}

func TestTheContextEndsTheWaitV2(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client is gone
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	payer, err := wechat.NewPayerV2(payerConfigV2(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	answer, err := payer.Close(ctx, question())
	checkOutcome(t, answer, err, "", "", channel.ErrUnanswered)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestPayerConfigurationsThatAreRefusedV2(t *testing.T) {
	for name, spoil := range map[string]func(*wechat.PayerV2Config){
		"another channel":       func(c *wechat.PayerV2Config) { c.Account.Channel = "ALIPAY" },
		"no merchant":           func(c *wechat.PayerV2Config) { c.MchID = "" },
		"a strange merchant":    func(c *wechat.PayerV2Config) { c.MchID = "1&mch_id=2" },
		"a strange sub":         func(c *wechat.PayerV2Config) { c.SubMchID = "1=2" },
		"no application":        func(c *wechat.PayerV2Config) { c.AppIDs = nil },
		"a strange application": func(c *wechat.PayerV2Config) { c.AppIDs = []string{"wx&a=b"} },
		"no key":                func(c *wechat.PayerV2Config) { c.APIKeys = nil },
		"a short key":           func(c *wechat.PayerV2Config) { c.APIKeys = []string{apiKey[1:]} },
		"an unknown sign type":  func(c *wechat.PayerV2Config) { c.SignType = "RSA" },
		"http without leave":    func(c *wechat.PayerV2Config) { c.AllowHTTP = false },
		"a path":                func(c *wechat.PayerV2Config) { c.BaseURL = "https://localhost/pay" },
	} {
		config := payerConfigV2("http://localhost")
		spoil(&config)
		if _, err := wechat.NewPayerV2(config); !errors.Is(err, wechat.ErrConfig) {
			t.Errorf("%s: got %v, want %v", name, err, wechat.ErrConfig)
		}
	}
	config := payerConfigV2("")
	config.AllowHTTP = false
	payer, err := wechat.NewPayerV2(config)
	if err != nil || payer.Account() != account() {
		t.Fatalf("with WeChat Pay's own address: %v", err)
	}
}
