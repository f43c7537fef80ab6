package wechat_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
	"github.com/paidonce/paidonce/channel/wechat"
)

// A reversal names the application too, and a service provider's application has another name than a merchant's.
func TestWhatIsAskedToReverse(t *testing.T) {
	h := newHost(t)
	h.say(http.MethodPost, http.StatusNoContent, "")
	for name, test := range map[string]struct {
		sub, path, content string
	}{
		"for itself": {"", "/v3/pay/transactions/out-trade-no/ORDER-1/reverse",
			`{"appid":"wx0000000000000001","mchid":"1900000109"}`},
		"for another merchant": {"1900000999", "/v3/pay/partner/transactions/out-trade-no/ORDER-1/reverse",
			`{"sp_appid":"wx0000000000000001","sp_mchid":"1900000109","sub_mchid":"1900000999"}`},
	} {
		t.Run(name, func(t *testing.T) {
			h.say(http.MethodGet, http.StatusInternalServerError, refusal("SYSTEM_ERROR"))
			payer := h.payer(t, func(c *wechat.PayerConfig) { c.SubMchID = test.sub })
			answer, err := payer.Reverse(t.Context(), question())
			checkOutcome(t, answer, err, "", "", channel.ErrUnanswered)
			got := h.take()
			if len(got) != 2 || got[0].line != "POST "+test.path || got[0].body != test.content {
				t.Fatalf("asked %+v\nwant POST %s with %s, then a query", got, test.path, test.content)
			}
		})
	}
}

// The money may be on its way back once a reversal is taken, so from then on nothing is told as a refusal; and a
// question that can only be refused is refused before.
func TestAReversalThatIsTakenIsNotRefused(t *testing.T) {
	h := newHost(t)
	payer := h.payer(t)
	done := said{http.StatusNoContent, ""}
	named := said{http.StatusOK, `{"appid":"wx0000000000000001","mchid":"1900000109","out_trade_no":"ORDER-1"}`}
	tell := func(d doc) said { return said{http.StatusOK, string(d.encode(t))} }
	both := []string{http.MethodPost, http.MethodGet}
	for _, test := range []struct {
		name           string
		question       channel.Question
		reverse, query said
		want           channel.Standing
		key            string
		fails          error
		asked          []string
	}{
		{"the query is refused", question(), done, said{http.StatusForbidden, refusal("NO_AUTH")}, "", "",
			channel.ErrUnanswered, both},
		{"answered with the order's names", question(), named, tell(unpaid("REVOKED")), channel.StandingClosed,
			closedKey, nil, both},
		{"paid, and given back", question(), done, tell(transaction().with(doc{"trade_state": "REVOKED"})),
			channel.StandingUnknown, "", nil, both},
		{"not done yet", question(), done, tell(unpaid("USERPAYING")), channel.StandingOpen, "", nil, both},
		{"an error with status 200", question(), said{http.StatusOK, refusal("SYSTEM_ERROR")}, said{}, "", "",
			channel.ErrUnanswered, both[:1]},
		{"taken some other way", question(), said{http.StatusAccepted, "{}"}, said{}, "", "", channel.ErrUnanswered,
			both[:1]},
		{"the payer is busy", question(), said{http.StatusAccepted, refusal("USERPAYING")}, said{}, "", "",
			channel.ErrUnanswered, both[:1]},
		{"no number of the channel", channel.Question{OrderNo: "ORDER-1", TradeNo: "../1"}, done, said{}, "", "",
			channel.ErrRefused, nil},
		{"no number of ours", channel.Question{OrderNo: "A/B", TradeNo: channeltest.PaymentNumber}, done, said{}, "", "",
			channel.ErrRefused, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.say(http.MethodPost, test.reverse.status, test.reverse.body)
			h.say(http.MethodGet, test.query.status, test.query.body)
			answer, err := payer.Reverse(t.Context(), test.question)
			var asked []string
			for _, one := range h.take() {
				method, _, _ := strings.Cut(one.line, " ")
				asked = append(asked, method)
			}
			checkOutcome(t, answer, err, test.want, test.key, test.fails)
			if !slices.Equal(asked, test.asked) {
				t.Fatalf("asked %q, want %q", asked, test.asked)
			}
		})
	}
}

func TestAnUnverifiedReversalIsUnanswered(t *testing.T) {
	h := newHost(t)
	payer := h.payer(t)
	h.say(http.MethodPost, http.StatusNoContent, "")
	for name, alter := range map[string]func(*channel.Request){
		"unsigned":        func(r *channel.Request) { clear(r.Header) },
		"signed long ago": func(r *channel.Request) { *r = signed(t, h.public, publicKeyID, "1000", "nonce", nil) },
		"a probe": func(r *channel.Request) {
			r.Header["Wechatpay-Signature"] = []string{"WECHATPAY/SIGNTEST/YQ=="}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h.meddle(alter)
			answer, err := payer.Reverse(t.Context(), question())
			checkOutcome(t, answer, err, "", "", channel.ErrUnanswered)
			if got := h.take(); len(got) != 1 {
				t.Fatalf("asked %d questions, want 1", len(got))
			}
		})
	}
}
