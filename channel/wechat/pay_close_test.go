package wechat_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/wechat"
)

func TestClosingAnOrder(t *testing.T) {
	h := newHost(t)
	payer := h.payer(t)
	done := said{http.StatusNoContent, ""}
	refused := func(status int, code string) said { return said{status, refusal(code)} }
	tell := func(d doc) said { return said{http.StatusOK, string(d.encode(t))} }
	for _, test := range []struct {
		name         string
		close, query said
		want         channel.Standing
		key          string
		fails        error
		asked        int
	}{
		{"closed", done, said{}, channel.StandingClosed, closedKey, nil, 1},
		{"the payer was faster", refused(400, "ORDER_PAID"), tell(transaction()), channel.StandingPaid, paidKey, nil, 2},
		{"so it was, other spelling", refused(400, "ORDERPAID"), tell(transaction()), channel.StandingPaid, paidKey, nil,
			2},
		{"closed before", refused(400, "ORDER_CLOSED"), tell(unpaid("CLOSED")), channel.StandingClosed, closedKey, nil, 2},
		{"so it was, other spelling", refused(400, "ORDERCLOSED"), tell(unpaid("CLOSED")), channel.StandingClosed,
			closedKey, nil, 2},
		{"paid, in other words", refused(400, "INVALID_REQUEST"), tell(transaction()), channel.StandingPaid, paidKey, nil,
			2},
		{"refused though open", refused(403, "TRADE_ERROR"), tell(unpaid("NOTPAY")), "", "", channel.ErrRefused, 2},
		{"unclear after a refusal", refused(400, "ORDER_PAID"), refused(500, "SYSTEM_ERROR"), "", "",
			channel.ErrUnanswered, 2},
		{"no such order", refused(404, "ORDER_NOT_EXIST"), said{}, channel.StandingAbsent, "", nil, 1},
		{"no right to close", refused(403, "NO_AUTH"), said{}, "", "", channel.ErrRefused, 1},
		{"the payer types the password", refused(202, "USERPAYING"), said{}, "", "", channel.ErrUnanswered, 1},
		{"system error", refused(500, "SYSTEM_ERROR"), said{}, "", "", channel.ErrUnanswered, 1},
		{"too often", refused(429, "FREQUENCY_LIMITED"), said{}, "", "", channel.ErrUnanswered, 1},
		{"the answer to a query", tell(unpaid("CLOSED")), said{}, "", "", channel.ErrUnanswered, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.say(http.MethodPost, test.close.status, test.close.body)
			h.say(http.MethodGet, test.query.status, test.query.body)
			answer, err := payer.Close(t.Context(), question())
			checkOutcome(t, answer, err, test.want, test.key, test.fails)
			if got := h.take(); len(got) != test.asked {
				t.Fatalf("asked %d questions, want %d", len(got), test.asked)
			}
		})
	}
}

func TestAnUnverifiedCloseIsNone(t *testing.T) {
	h := newHost(t)
	payer := h.payer(t)
	h.say(http.MethodPost, http.StatusNoContent, "")
	for name, alter := range map[string]func(*channel.Request){
		"unsigned":            func(r *channel.Request) { clear(r.Header) },
		"signed long ago":     func(r *channel.Request) { *r = signed(t, h.public, publicKeyID, "1000", "nonce", nil) },
		"a stranger's":        func(r *channel.Request) { *r = signed(t, h.stranger, publicKeyID, "1796090405", "n", nil) },
		"signed with content": func(r *channel.Request) { *r = h.raw(t, []byte("{}")) },
	} {
		t.Run(name, func(t *testing.T) {
			h.meddle(alter)
			answer, err := payer.Close(t.Context(), question())
			checkOutcome(t, answer, err, "", "", channel.ErrUnanswered)
		})
	}
}

// The close that Close reports and the one that a later Query finds are one event.
func TestACloseIsOneEventWhoeverReportsIt(t *testing.T) {
	h := newHost(t)
	payer := h.payer(t)
	h.say(http.MethodPost, http.StatusNoContent, "")
	closed, err := payer.Close(t.Context(), question())
	checkOutcome(t, closed, err, channel.StandingClosed, closedKey, nil)
	for _, state := range []string{"CLOSED", "REVOKED"} {
		h.say(http.MethodGet, http.StatusOK, string(unpaid(state).encode(t)))
		found, err := payer.Query(t.Context(), question())
		checkOutcome(t, found, err, channel.StandingClosed, closedKey, nil)
		if got, want := found.Parsed.Events[0], closed.Parsed.Events[0]; got.Digest() != want.Digest() {
			t.Fatalf("found %+v\nclosed %+v", got, want)
		}
	}
}

// A service provider's answers name the merchant for whom it asked.
func TestAskingForAnotherMerchant(t *testing.T) {
	h := newHost(t)
	const sub = "1900000999"
	payer := h.payer(t, func(c *wechat.PayerConfig) { c.SubMchID = sub })
	provider := doc{"mchid": nil, "appid": nil, "sp_mchid": mchID, "sp_appid": appID, "sub_mchid": sub,
		"sub_appid": "wxsub"}
	for name, test := range map[string]struct {
		body  doc
		want  channel.Standing
		key   string
		fails error
	}{
		"paid":                   {transaction().with(provider), channel.StandingPaid, paidKey, nil},
		"closed":                 {unpaid("CLOSED").with(provider), channel.StandingClosed, closedKey, nil},
		"another merchant":       {transaction().with(provider).with(doc{"sub_mchid": "1"}), "", "", channel.ErrUnanswered},
		"no merchant":            {transaction().with(provider).with(doc{"sub_mchid": nil}), "", "", channel.ErrUnanswered},
		"another provider":       {transaction().with(provider).with(doc{"sp_mchid": "1"}), "", "", channel.ErrUnanswered},
		"another application":    {transaction().with(provider).with(doc{"sp_appid": "1"}), "", "", channel.ErrUnanswered},
		"a direct merchant's":    {transaction(), "", "", channel.ErrUnanswered},
		"that merchant's, alone": {transaction().with(doc{"mchid": sub}), "", "", channel.ErrUnanswered},
	} {
		t.Run(name, func(t *testing.T) {
			h.say(http.MethodGet, http.StatusOK, string(test.body.encode(t)))
			answer, err := payer.Query(t.Context(), question())
			checkOutcome(t, answer, err, test.want, test.key, test.fails)
		})
	}
}

// A reversal tells what became of the order by a question of its own; no answer says nothing.
func TestReversingAnOrder(t *testing.T) {
	h := newHost(t)
	payer := h.payer(t)
	done := said{http.StatusNoContent, ""}
	refused := func(status int, code string) said { return said{status, refusal(code)} }
	tell := func(d doc) said { return said{http.StatusOK, string(d.encode(t))} }
	for _, test := range []struct {
		name           string
		reverse, query said
		want           channel.Standing
		key            string
		fails          error
		asked          int
	}{
		{"unpaid", done, tell(unpaid("REVOKED")), channel.StandingClosed, closedKey, nil, 2},
		{"paid, and refunded by it", done, tell(transaction()), channel.StandingPaid, paidKey, nil, 2},
		{"reversed, and nobody answers", done, refused(500, "SYSTEM_ERROR"), "", "", channel.ErrUnanswered, 2},
		{"closed before", refused(400, "ORDER_CLOSED"), tell(unpaid("CLOSED")), channel.StandingClosed, closedKey, nil, 2},
		{"no such order", refused(404, "ORDER_NOT_EXIST"), said{}, channel.StandingAbsent, "", nil, 1},
		{"no right to reverse", refused(403, "NO_AUTH"), said{}, "", "", channel.ErrRefused, 1},
		{"system error", refused(500, "SYSTEM_ERROR"), said{}, "", "", channel.ErrUnanswered, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.say(http.MethodPost, test.reverse.status, test.reverse.body)
			h.say(http.MethodGet, test.query.status, test.query.body)
			answer, err := payer.Reverse(t.Context(), question())
			checkOutcome(t, answer, err, test.want, test.key, test.fails)
			if got := h.take(); len(got) != test.asked {
				t.Fatalf("asked %d questions, want %d", len(got), test.asked)
			}
		})
	}
	if _, err := payer.Reverse(t.Context(), channel.Question{TradeNo: "4200"}); !errors.Is(err, channel.ErrRefused) {
		t.Fatalf("a reversal without the merchant's number: %v", err)
	}
}
