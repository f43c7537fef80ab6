package alipay_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/alipay"
	"github.com/paidonce/paidonce/channel/channeltest"
)

const (
	queryMethod  = "alipay.trade.query"
	closeMethod  = "alipay.trade.close"
	cancelMethod = "alipay.trade.cancel"
)

// gateway stands in for Alipay: it checks the application's signature and answers each method with the given inner
// object, signed with Alipay's key.
type gateway struct {
	application, alipay *rsa.PrivateKey

	mutex   sync.Mutex
	asked   []url.Values
	answers map[string]string
	wrap    func(envelope string) string // changes the signed envelope on its way
	respond http.HandlerFunc             // takes the place of the answer
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	return &gateway{application: newKey(t), alipay: newKey(t), answers: map[string]string{}}
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.ParseForm() != nil || g.signedByUs(r.PostForm) != nil {
		http.Error(w, "no signed form", http.StatusForbidden)
		return
	}
	method := r.PostForm.Get("method")
	g.mutex.Lock()
	g.asked = append(g.asked, r.PostForm)
	inner, wrap, respond := g.answers[method], g.wrap, g.respond
	g.mutex.Unlock()
	if respond != nil {
		respond(w, r)
		return
	}
	envelope := g.envelope(strings.ReplaceAll(method, ".", "_")+"_response", inner)
	if wrap != nil {
		envelope = wrap(envelope)
	}
	fmt.Fprint(w, envelope)
}

// signedByUs checks a request after Alipay's rule, written apart from the adapter's own.
func (g *gateway) signedByUs(form url.Values) error {
	var pairs []string
	for name := range form {
		if name != "sign" {
			pairs = append(pairs, name+"="+form.Get(name))
		}
	}
	slices.Sort(pairs)
	signature, err := base64.StdEncoding.DecodeString(form.Get("sign"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(strings.Join(pairs, "&")))
	return rsa.VerifyPKCS1v15(&g.application.PublicKey, crypto.SHA256, sum[:], signature)
}

func (g *gateway) envelope(name, inner string) string {
	sum := sha256.Sum256([]byte(inner))
	signature, err := rsa.SignPKCS1v15(nil, g.alipay, crypto.SHA256, sum[:])
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf(`{"%s":%s,"sign":"%s"}`, name, inner, base64.StdEncoding.EncodeToString(signature))
}

// say sets what is answered to a method from now on.
func (g *gateway) say(method, inner string) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.answers[method] = inner
}

// methods takes what was asked since the last call.
func (g *gateway) methods() []string {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	var methods []string
	for _, form := range g.asked {
		methods = append(methods, form.Get("method"))
	}
	g.asked = nil
	return methods
}

func (g *gateway) config(address string) alipay.PayerConfig {
	return alipay.PayerConfig{Account: account(), AppID: appID, SellerIDs: []string{seller},
		PublicKeys: []*rsa.PublicKey{&g.alipay.PublicKey}, PrivateKey: g.application, Gateway: address, AllowHTTP: true,
		Clock: func() time.Time { return time.Date(2026, 12, 1, 2, 30, 0, 0, time.UTC) }}
}

// payer starts the gateway and makes a payer of it, with changes to its configuration.
func (g *gateway) payer(t *testing.T, changes ...func(*alipay.PayerConfig)) *alipay.Payer {
	t.Helper()
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	config := g.config(server.URL)
	for _, change := range changes {
		change(&config)
	}
	payer, err := alipay.NewPayer(config)
	if err != nil {
		t.Fatal(err)
	}
	return payer
}

// trade is the answer to a query about a paid trade; "-" in changes removes a field.
func trade(changes params) string {
	fields := params{"code": "10000", "msg": "Success", "trade_no": channeltest.PaymentNumber, "out_trade_no": "ORDER-1",
		"buyer_logon_id": "hfj***@example.com", "trade_status": "TRADE_SUCCESS", "total_amount": "19.99",
		"buyer_pay_amount": "0.00", "receipt_amount": "0.00", "invoice_amount": "0.00", "point_amount": "0.00",
		"send_pay_date": "2026-12-01 10:00:00"}.with(changes)
	inner, err := json.Marshal(fields)
	if err != nil {
		return err.Error()
	}
	return string(inner)
}

func refusal(code, sub string) string {
	return fmt.Sprintf(`{"code":"%s","msg":"failed","sub_code":"%s","sub_msg":"看 ]} \"这里"}`, code, sub)
}

func question() channel.Question { return channel.Question{OrderNo: "ORDER-1"} }

// closedUnpaid is the changes that make of a trade one that was never paid, and those given.
func closedUnpaid(more params) params {
	changes := params{"trade_status": "TRADE_CLOSED", "send_pay_date": "-"}
	maps.Copy(changes, more)
	return changes
}

func TestStandingsOfATrade(t *testing.T) {
	const number = channeltest.PaymentNumber
	const paidKey, closedKey = "ALIPAY:" + number + ":PAYMENT_RECEIVED", "ALIPAY:" + number + ":PAYMENT_CLOSED"
	unpaid := func(changes params) string { return trade(closedUnpaid(changes)) }
	g := newGateway(t)
	payer := g.payer(t)
	for _, test := range []struct {
		name, inner string
		want        channel.Standing
		key         string
	}{
		{"paid", trade(nil), channel.StandingPaid, paidKey},
		{"paid, refunds over", trade(params{"trade_status": "TRADE_FINISHED"}), channel.StandingPaid, paidKey},
		{"paid, no time given", trade(params{"send_pay_date": "-"}), channel.StandingPaid, paidKey},
		{"paid, to a known seller", trade(params{"seller_id": seller}), channel.StandingPaid, paidKey},
		{"paid, refunded in full", trade(params{"trade_status": "TRADE_CLOSED"}), channel.StandingPaid, paidKey},
		{"paid, in yuan by name", trade(params{"trans_currency": "CNY"}), channel.StandingPaid, paidKey},
		{"paid, amount a number", strings.Replace(trade(nil), `"19.99"`, `19.99`, 1), channel.StandingPaid, paidKey},
		{"paid, no trade number", trade(params{"trade_no": "-"}), channel.StandingUnknown, ""},
		{"paid, no amount", trade(params{"total_amount": "-"}), channel.StandingUnknown, ""},
		{"paid, amount zero", trade(params{"total_amount": "0.00"}), channel.StandingUnknown, ""},
		{"paid, three decimals", trade(params{"total_amount": "19.990"}), channel.StandingUnknown, ""},
		{"paid, another currency", trade(params{"trans_currency": "USD"}), channel.StandingUnknown, ""},
		{"not paid yet", trade(params{"trade_status": "WAIT_BUYER_PAY"}), channel.StandingOpen, ""},
		{"closed unpaid", unpaid(nil), channel.StandingClosed, closedKey},
		{"closed, empty time", unpaid(params{"send_pay_date": ""}), channel.StandingClosed, closedKey},
		{"closed, empty amounts", unpaid(params{"receipt_amount": "", "fund_bill_list": "[]"}),
			channel.StandingClosed, closedKey},
		{"closed, never a trade", unpaid(params{"trade_no": "-"}), channel.StandingClosed,
			"ALIPAY:@ORDER-1:PAYMENT_CLOSED"},
		{"closed, but something paid", unpaid(params{"buyer_pay_amount": "0.01"}), channel.StandingUnknown, ""},
		{"closed, but received", unpaid(params{"receipt_amount": "19.99"}), channel.StandingUnknown, ""},
		{"closed, but invoiced", unpaid(params{"invoice_amount": "19.99"}), channel.StandingUnknown, ""},
		{"closed, points unclear", unpaid(params{"point_amount": "all"}), channel.StandingUnknown, ""},
		{"closed, paid from somewhere", unpaid(params{"fund_bill_list": `[{"amount":"1"}]`}),
			channel.StandingUnknown, ""},
		{"unknown state", trade(params{"trade_status": "TRADE_FROZEN"}), channel.StandingUnknown, ""},
		{"no state", trade(params{"trade_status": "-"}), channel.StandingUnknown, ""},
		{"no such trade", refusal("40004", "ACQ.TRADE_NOT_EXIST"), channel.StandingAbsent, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g.say(queryMethod, test.inner)
			answer, err := payer.Query(t.Context(), question())
			if err != nil || answer.Standing != test.want {
				t.Fatalf("Query = %q, %v; want %q", answer.Standing, err, test.want)
			}
			if !strings.Contains(string(answer.Raw), test.inner) || len(answer.Parsed.Hints) != 0 {
				t.Fatalf("the answer is not kept as evidence: %q, hints %v", answer.Raw, answer.Parsed.Hints)
			}
			if got := onlyKey(t, answer); got != test.key {
				t.Fatalf("event %q, want %q", got, test.key)
			}
		})
	}
}

// onlyKey is the key of the answer's event, or empty if it has none.
func onlyKey(t *testing.T, a channel.Answer) string {
	t.Helper()
	switch len(a.Parsed.Events) {
	case 0:
		return ""
	case 1:
		if err := a.Parsed.Events[0].Validate(); err != nil {
			t.Fatal(err)
		}
		return mustKey(t, a.Parsed.Events[0])
	}
	t.Fatalf("%d events", len(a.Parsed.Events))
	return ""
}
