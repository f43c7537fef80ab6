package wechat_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
	"github.com/paidonce/paidonce/channel/wechat"
)

const (
	merchantSerial = "3775B6A45ACD588826D15E583A95F5DD1234ABCD"
	closedKey      = "WECHAT:@ORDER-1:PAYMENT_CLOSED"
	paidKey        = "WECHAT:" + channeltest.PaymentNumber + ":PAYMENT_RECEIVED"
)

// said is an answer of the host, before it is signed.
type said struct {
	status int
	body   string
}

// asked is a question as the host got it.
type asked struct {
	line, body string
	header     http.Header
}

// host stands in for WeChat Pay's API: it checks the merchant's signature and gives to each method the answer that was
// set, signed with a platform key.
type host struct {
	platform
	merchant *rsa.PrivateKey

	mutex   sync.Mutex
	asked   []asked
	answers map[string]said
	alter   func(*channel.Request) // changes a signed answer on its way
	respond http.HandlerFunc       // takes the place of the answer
}

func newHost(t *testing.T) *host {
	t.Helper()
	return &host{platform: newPlatform(t), merchant: newKey(t), answers: map[string]said{}}
}

func (h *host) handler(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || h.signedByUs(r, body) != nil {
			http.Error(w, "not signed by the merchant", http.StatusTeapot)
			return
		}
		h.mutex.Lock()
		h.asked = append(h.asked, asked{r.Method + " " + r.RequestURI, string(body), r.Header.Clone()})
		say, alter, respond := h.answers[r.Method], h.alter, h.respond
		h.mutex.Unlock()
		if respond != nil {
			respond(w, r)
			return
		}
		answer := h.raw(t, []byte(say.body))
		if r.Header.Get("Wechatpay-Serial") != "" {
			answer = signed(t, h.public, publicKeyID, strconv.Itoa(signedAt), "5K8264ILTKCH16CQ2502SI8ZNMTM67VS",
				[]byte(say.body))
		}
		if alter != nil {
			alter(&answer)
		}
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(say.status)
		if say.status != http.StatusNoContent {
			_, _ = w.Write(answer.Body) // a client that went away is the client's matter
		}
	}
}

var authorization = regexp.MustCompile(`^WECHATPAY2-SHA256-RSA2048 mchid="` + mchID +
	`",nonce_str="([0-9a-f]{32})",signature="([^"]+)",timestamp="([0-9]+)",serial_no="` + merchantSerial + `"$`)

// signedByUs checks a request after WeChat Pay's rule, written apart from the adapter's own.
func (h *host) signedByUs(r *http.Request, body []byte) error {
	parts := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if parts == nil {
		return errors.New("no authorization of the documented form")
	}
	signature, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil {
		return err
	}
	text := strings.Join([]string{r.Method, r.RequestURI, parts[3], parts[1], string(body), ""}, "\n")
	sum := sha256.Sum256([]byte(text))
	return rsa.VerifyPKCS1v15(&h.merchant.PublicKey, crypto.SHA256, sum[:], signature)
}

// say sets what is answered to a method from now on.
func (h *host) say(method string, status int, body string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.answers[method] = said{status, body}
}

// meddle sets what happens to the answers on their way from now on.
func (h *host) meddle(alter func(*channel.Request)) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.alter = alter
}

// take gives what was asked since the last call.
func (h *host) take() []asked {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	taken := h.asked
	h.asked = nil
	return taken
}

func (h *host) payerConfig(address string) wechat.PayerConfig {
	config := h.config()
	return wechat.PayerConfig{Account: config.Account, MchID: config.MchID, AppIDs: config.AppIDs,
		PlatformKeys: config.PlatformKeys, SerialNo: merchantSerial, PrivateKey: h.merchant, BaseURL: address,
		AllowHTTP: true, Clock: received}
}

// payer starts the host and makes a payer of it, with changes to its configuration.
func (h *host) payer(t *testing.T, changes ...func(*wechat.PayerConfig)) *wechat.Payer {
	t.Helper()
	server := httptest.NewServer(h.handler(t))
	t.Cleanup(server.Close)
	config := h.payerConfig(server.URL)
	for _, change := range changes {
		change(&config)
	}
	payer, err := wechat.NewPayer(config)
	if err != nil {
		t.Fatal(err)
	}
	return payer
}

func question() channel.Question { return channel.Question{OrderNo: "ORDER-1"} }

func refusal(code string) string { return fmt.Sprintf(`{"code":"%s","message":"看 \"这里"}`, code) }

// unpaid is an order of which no payment is known, in a state.
func unpaid(state string) doc {
	return doc{"appid": appID, "mchid": mchID, "out_trade_no": "ORDER-1", "trade_state": state,
		"trade_state_desc": "订单未支付", "attach": "", "amount": doc{"total": 1999, "currency": "CNY"}}
}

func amount(total any, currency any) doc {
	return doc{"amount": doc{"total": total, "currency": currency}}
}

// checkOutcome demands either this standing, with the event of this key if it is not empty, or this error and no
// answer.
func checkOutcome(t *testing.T, a channel.Answer, err error, want channel.Standing, key string, fails error) {
	t.Helper()
	if !errors.Is(err, fails) || a.Standing != want {
		t.Fatalf("%q (%s), %v; want %q, %v", a.Standing, a.Note, err, want, fails)
	}
	var keys []string
	for _, event := range a.Parsed.Events {
		name, err := event.Key()
		if err := errors.Join(err, event.Validate()); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, string(name))
	}
	if len(a.Parsed.Hints) != 0 || strings.Join(keys, ",") != key {
		t.Fatalf("standing %q with events %q and hints %+v; want event %q", want, keys, a.Parsed.Hints, key)
	}
}

func TestStandingsOfAnOrder(t *testing.T) {
	h := newHost(t)
	payer := h.payer(t)
	paid := func(changes doc) doc { return transaction().with(changes) }
	for _, test := range []struct {
		name string
		body doc
		want channel.Standing
		key  string
	}{
		{"paid", paid(nil), channel.StandingPaid, paidKey},
		{"paid, refunds since", paid(doc{"trade_state": "REFUND"}), channel.StandingPaid, paidKey},
		{"paid, no time given", paid(doc{"success_time": nil}), channel.StandingPaid, paidKey},
		{"paid, another known application", paid(doc{"appid": "wx0000000000000001"}), channel.StandingPaid, paidKey},
		{"paid, currency left out", paid(amount(1999, "")), channel.StandingPaid, paidKey},
		{"paid, no number", paid(doc{"transaction_id": nil}), channel.StandingUnknown, ""},
		{"paid, no amount", paid(doc{"amount": nil}), channel.StandingUnknown, ""},
		{"paid, no application", paid(doc{"appid": nil}), channel.StandingUnknown, ""},
		{"paid, amount zero", paid(amount(0, "CNY")), channel.StandingUnknown, ""},
		{"paid, amount a text", paid(amount("1999", "CNY")), channel.StandingUnknown, ""},
		{"paid, in no currency", paid(amount(1999, "???")), channel.StandingUnknown, ""},
		{"not paid yet", unpaid("NOTPAY"), channel.StandingOpen, ""},
		{"payer types the password", unpaid("USERPAYING"), channel.StandingOpen, ""},
		{"payment failed", unpaid("PAYERROR"), channel.StandingOpen, ""},
		{"closed", unpaid("CLOSED"), channel.StandingClosed, closedKey},
		{"closed, no application", unpaid("CLOSED").with(doc{"appid": nil}), channel.StandingClosed, closedKey},
		{"reversed unpaid", unpaid("REVOKED"), channel.StandingClosed, closedKey},
		{"reversed after a payment", paid(doc{"trade_state": "REVOKED"}), channel.StandingUnknown, ""},
		{"closed, but a time of payment", unpaid("CLOSED").with(doc{"success_time": paidAt}), channel.StandingUnknown, ""},
		{"unknown state", unpaid("FROZEN"), channel.StandingUnknown, ""},
		{"no state", unpaid(""), channel.StandingUnknown, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := string(test.body.encode(t))
			h.say(http.MethodGet, http.StatusOK, body)
			answer, err := payer.Query(t.Context(), question())
			checkOutcome(t, answer, err, test.want, test.key, nil)
			if string(answer.Raw) != body {
				t.Fatalf("the answer is not kept as evidence: %q", answer.Raw)
			}
		})
	}
}

// An answer that is authentic but about something else, or not readable, says nothing about the order.
func TestAnswersAboutSomethingElse(t *testing.T) {
	h := newHost(t)
	payer := h.payer(t)
	both := channel.Question{OrderNo: "ORDER-1", TradeNo: channeltest.PaymentNumber}
	for name, test := range map[string]struct {
		question channel.Question
		body     string
	}{
		"another order":          {question(), string(transaction().with(doc{"out_trade_no": "ORDER-2"}).encode(t))},
		"the order in capitals":  {channel.Question{OrderNo: "Order-1"}, string(transaction().encode(t))},
		"no order":               {question(), string(transaction().with(doc{"out_trade_no": nil}).encode(t))},
		"another transaction":    {both, string(transaction().with(doc{"transaction_id": "42"}).encode(t))},
		"no transaction":         {both, string(unpaid("NOTPAY").encode(t))},
		"an order beside theirs": {both, string(transaction().with(doc{"out_trade_no": "ORDER-2"}).encode(t))},
		"another merchant":       {question(), string(transaction().with(doc{"mchid": "1900000110"}).encode(t))},
		"no merchant":            {question(), string(transaction().with(doc{"mchid": nil}).encode(t))},
		"another application":    {question(), string(transaction().with(doc{"appid": "wx9"}).encode(t))},
		"theirs, and open":       {question(), string(unpaid("NOTPAY").with(doc{"appid": "wx9"}).encode(t))},
		"a service provider's":   {question(), string(transaction().with(doc{"sub_mchid": "1900000110"}).encode(t))},
		"a field twice":          {question(), `{"mchid":"1900000109","mchid":"1900000109"}`},
		"no text":                {question(), string(transaction().with(doc{"trade_state": 1}).encode(t))},
		"no JSON":                {question(), "ok"},
		"nothing":                {question(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			h.say(http.MethodGet, http.StatusOK, test.body)
			answer, err := payer.Query(t.Context(), test.question)
			checkOutcome(t, answer, err, "", "", channel.ErrUnanswered)
		})
	}
}

// Whoever reports a payment, the notification or the answer, it has the same key and the same digest.
func TestAnAnswerAndItsNotificationAreOneEvent(t *testing.T) {
	h := newHost(t)
	payer, client := h.payer(t), h.client(t)
	rapid.Check(t, func(draw *rapid.T) {
		order := rapid.StringMatching(`[0-9A-Za-z_|*@-]{6,32}`).Draw(draw, "order")
		facts := transaction().with(doc{"out_trade_no": order,
			"transaction_id": rapid.StringMatching(`[0-9]{20,32}`).Draw(draw, "transaction"),
			"amount":         doc{"total": rapid.Int64Range(1, 10_000_000_000).Draw(draw, "fen"), "currency": "CNY"}})
		state := rapid.SampledFrom([]string{"SUCCESS", "REFUND"}).Draw(draw, "state")
		h.say(http.MethodGet, http.StatusOK, string(facts.with(doc{"trade_state": state}).encode(t)))
		q := channel.Question{OrderNo: order}
		if rapid.Bool().Draw(draw, "by transaction") {
			q.TradeNo, _ = facts["transaction_id"].(string)
		}
		answer, err := payer.Query(t.Context(), q)
		if err != nil || answer.Standing != channel.StandingPaid || len(answer.Parsed.Events) != 1 {
			draw.Fatalf("%q, %v, %d events", answer.Standing, err, len(answer.Parsed.Events))
		}
		got, want := answer.Parsed.Events[0], single(t, client, h.send(t, "TRANSACTION.SUCCESS", facts))
		checkSame(draw, got, want)
	})
}

// checkSame demands the same fact: key and digest, and all else that both sources tell.
func checkSame(t rapid.TB, got, want channel.Event) {
	t.Helper()
	gotKey, err := got.Key()
	wantKey, errWant := want.Key()
	if err := errors.Join(err, errWant); err != nil {
		t.Fatal(err)
	}
	if gotKey != wantKey || got.Digest() != want.Digest() || got.TradeNo != want.TradeNo ||
		got.Account != want.Account || got.Tenant != want.Tenant || !got.HappenedAt.Equal(want.HappenedAt) {
		t.Fatalf("answer %+v\nnotification %+v", got, want)
	}
}

func TestWhatIsAsked(t *testing.T) {
	h := newHost(t)
	h.say(http.MethodGet, http.StatusOK, "{}")
	h.say(http.MethodPost, http.StatusNoContent, "")
	direct := func(*wechat.PayerConfig) {}
	partner := func(c *wechat.PayerConfig) { c.SubMchID = "1900000999" }
	certificates := func(c *wechat.PayerConfig) { delete(c.PlatformKeys, publicKeyID) }
	both := channel.Question{OrderNo: "ORDER-1", TradeNo: channeltest.PaymentNumber}
	for name, test := range map[string]struct {
		change       func(*wechat.PayerConfig)
		question     channel.Question
		query, close string
		content      string
		serial       string
	}{
		"by order": {direct, question(), "/v3/pay/transactions/out-trade-no/ORDER-1?mchid=1900000109",
			"/v3/pay/transactions/out-trade-no/ORDER-1/close", `{"mchid":"1900000109"}`, publicKeyID},
		"by transaction": {direct, both, "/v3/pay/transactions/id/" + channeltest.PaymentNumber + "?mchid=1900000109",
			"/v3/pay/transactions/out-trade-no/ORDER-1/close", `{"mchid":"1900000109"}`, publicKeyID},
		"a number with signs": {certificates, channel.Question{OrderNo: "A|b*c@d_e-f"},
			"/v3/pay/transactions/out-trade-no/A%7Cb%2Ac@d_e-f?mchid=1900000109",
			"/v3/pay/transactions/out-trade-no/A%7Cb%2Ac@d_e-f/close", `{"mchid":"1900000109"}`, ""},
		"for another merchant": {partner, question(),
			"/v3/pay/partner/transactions/out-trade-no/ORDER-1?sp_mchid=1900000109&sub_mchid=1900000999",
			"/v3/pay/partner/transactions/out-trade-no/ORDER-1/close",
			`{"sp_mchid":"1900000109","sub_mchid":"1900000999"}`, publicKeyID},
	} {
		t.Run(name, func(t *testing.T) {
			h.take()
			payer := h.payer(t, test.change)
			// The empty object is about no merchant; only what was asked is of interest.
			if _, err := payer.Query(t.Context(), test.question); !errors.Is(err, channel.ErrUnanswered) {
				t.Fatal(err)
			}
			if _, err := payer.Close(t.Context(), test.question); err != nil {
				t.Fatal(err)
			}
			got, lines := h.take(), []string{"GET " + test.query, "POST " + test.close}
			if len(got) != 2 || !slices.Equal([]string{got[0].line, got[1].line}, lines) {
				t.Fatalf("asked %+v\nwant %q", got, lines)
			}
			if got[0].body != "" || got[1].body != test.content {
				t.Fatalf("sent %q and %q, want nothing and %q", got[0].body, got[1].body, test.content)
			}
			for i, one := range got {
				if one.header.Get("Accept") != "application/json" || one.header.Get("User-Agent") != "paidonce" ||
					one.header.Get("Wechatpay-Serial") != test.serial ||
					one.header.Get("Content-Type") != []string{"", "application/json"}[i] {
					t.Fatalf("header %v", one.header)
				}
			}
		})
	}
}
