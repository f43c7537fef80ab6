package alipay_test

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/alipay"
)

func TestWhatIsSent(t *testing.T) {
	g := newGateway(t)
	g.say(queryMethod, trade(nil))
	for name, test := range map[string]struct {
		change   func(*alipay.PayerConfig)
		question channel.Question
		want     params
	}{
		"by order": {func(*alipay.PayerConfig) {}, question(), params{"biz_content": `{"out_trade_no":"ORDER-1"}`}},
		"the trade number wins": {func(*alipay.PayerConfig) {}, channel.Question{OrderNo: "ORDER-1", TradeNo: "2026"},
			params{"biz_content": `{"trade_no":"2026"}`}},
		"for a merchant that authorised us": {func(c *alipay.PayerConfig) { c.AuthToken = "token-1" }, question(),
			params{"biz_content": `{"out_trade_no":"ORDER-1"}`, "app_auth_token": "token-1"}},
		"certificate mode": {func(c *alipay.PayerConfig) {
			c.AppCertSN, c.AlipayRootCertSN = "app", "root"
			c.Certificates = map[string]*rsa.PublicKey{"sn": &g.alipay.PublicKey}
		}, question(), params{"biz_content": `{"out_trade_no":"ORDER-1"}`, "app_cert_sn": "app",
			"alipay_root_cert_sn": "root"}},
	} {
		t.Run(name, func(t *testing.T) {
			g.methods()
			// What comes back is of no interest here: the trade is another than some of these ask for.
			_, err := g.payer(t, test.change).Query(t.Context(), test.question)
			if err != nil && !errors.Is(err, channel.ErrUnanswered) {
				t.Fatal(err)
			}
			want := params{"app_id": appID, "method": queryMethod, "format": "JSON", "charset": "utf-8", "version": "1.0",
				"sign_type": "RSA2", "timestamp": "2026-12-01 10:30:00"}.with(test.want)
			g.mutex.Lock()
			defer g.mutex.Unlock()
			got := params{}
			for name, values := range g.asked[0] {
				got[name] = values[0]
			}
			delete(got, "sign") // the gateway refuses a request that it does not verify
			if !maps.Equal(got, want) {
				t.Fatalf("sent %v\nwant %v", got, want)
			}
		})
	}
}

func TestClassesOfCodes(t *testing.T) {
	g := newGateway(t)
	payer := g.payer(t)
	for _, test := range []struct {
		code, sub string
		want      error
	}{
		{"20000", "isp.unknow-error", channel.ErrUnanswered},
		{"20000", "aop.unknow-error", channel.ErrUnanswered},
		{"40004", "ACQ.SYSTEM_ERROR", channel.ErrUnanswered},
		{"40004", "AQC.SYSTEM_ERROR", channel.ErrUnanswered},
		{"40004", "isp.unknow-error", channel.ErrUnanswered},
		{"40004", "", channel.ErrUnanswered},
		{"40005", "isv.app-call-limited", channel.ErrUnanswered},
		{"10003", "", channel.ErrUnanswered},
		{"", "", channel.ErrUnanswered},
		{"99999", "never.heard-of", channel.ErrUnanswered},
		{"20001", "aop.invalid-auth-token", channel.ErrRefused},
		{"40001", "isv.missing-signature", channel.ErrRefused},
		{"40002", "isv.invalid-signature", channel.ErrRefused},
		{"40003", "isv.missing-parameter", channel.ErrRefused},
		{"40004", "ACQ.INVALID_PARAMETER", channel.ErrRefused},
		{"40006", "isv.insufficient-isv-permissions", channel.ErrRefused},
	} {
		g.say(queryMethod, refusal(test.code, test.sub))
		answer, err := payer.Query(t.Context(), question())
		checkOutcome(t, answer, err, "", test.want)
		if !strings.Contains(err.Error(), test.sub) || strings.Contains(err.Error(), "这里") {
			t.Errorf("error %q should name the code %s and quote no message", err, test.sub)
		}
	}
}

// An answer that is not exactly as Alipay signed it, or that is about something else, is no answer.
func TestTamperedAnswersAreNone(t *testing.T) {
	g := newGateway(t)
	g.say(queryMethod, trade(nil))
	payer := g.payer(t)
	replace := func(old, new string) func(string) string {
		return func(envelope string) string {
			if !strings.Contains(envelope, old) {
				return "nothing was replaced, so the case shows nothing"
			}
			return strings.Replace(envelope, old, new, 1)
		}
	}
	for name, wrap := range map[string]func(string) string{
		"amount changed":        replace("19.99", "19.98"),
		"one space more":        replace(`"code":`, `"code": `),
		"same JSON, other form": replace(`ORDER-1`, `ORDER-\u0031`),
		"a field added":         replace(`"msg"`, `"seller_id":"`+seller+`","msg"`),
		"another method":        replace("alipay_trade_query_response", "alipay_trade_close_response"),
		"no signature":          replace(`"sign"`, `"sing"`),
		"signature twice":       replace(`"sign"`, `"sign":"AAAA","sign"`),
		"answer twice":          func(e string) string { return strings.TrimSuffix(e, "}") + "," + e[1:] },
		"something after it":    func(e string) string { return e + e },
		"cut off":               func(e string) string { return e[:len(e)-2] },
		"no JSON":               func(string) string { return "<html>" },
		"nothing":               func(string) string { return "" },
		"too long":              func(e string) string { return e + strings.Repeat(" ", channel.MaxBodyBytes) },
		"an unsigned error":     func(string) string { return `{"error_response":` + refusal("40002", "isv.x") + `}` },
		"signed by a stranger":  signed(&gateway{alipay: g.application}, nil),
		"another order":         signed(g, params{"out_trade_no": "ORDER-2"}),
		"no order":              signed(g, params{"out_trade_no": "-"}),
		"another seller":        signed(g, params{"seller_id": "2088"}),
	} {
		t.Run(name, func(t *testing.T) {
			g.mutex.Lock()
			g.wrap = wrap
			g.mutex.Unlock()
			answer, err := payer.Query(t.Context(), question())
			checkOutcome(t, answer, err, "", channel.ErrUnanswered)
		})
	}
	g.wrap = nil
	answer, err := payer.Query(t.Context(), channel.Question{OrderNo: "ORDER-1", TradeNo: "20260000"})
	checkOutcome(t, answer, err, "", channel.ErrUnanswered)
}

// signed puts another trade in the place of the answer, with the signature of g.
func signed(g *gateway, changes params) func(string) string {
	return func(string) string { return g.envelope("alipay_trade_query_response", trade(changes)) }
}

// The signed bytes are the object as it stands in the body, with whatever spaces, escapes and order it has.
func TestTheSignatureIsOverTheBytesAsTheyCame(t *testing.T) {
	g := newGateway(t)
	payer := g.payer(t)
	for _, inner := range []string{
		strings.ReplaceAll(trade(nil), ",", " ,\n\t"),
		strings.Replace(trade(nil), "Success", `\u6210功 } ] \" \/ &<>`, 1),
		strings.Replace(trade(nil), `{`, `{"sign":"inside","alipay_trade_query_response":{"a":[{}]},`, 1),
	} {
		g.say(queryMethod, inner)
		answer, err := payer.Query(t.Context(), question())
		checkOutcome(t, answer, err, channel.StandingPaid, nil)
	}
}

func TestSignedErrorsWithoutAMethodAreBelieved(t *testing.T) {
	g := newGateway(t)
	g.wrap = func(string) string { return g.envelope("error_response", refusal("40002", "isv.invalid-app-id")) }
	answer, err := g.payer(t).Query(t.Context(), question())
	checkOutcome(t, answer, err, "", channel.ErrRefused)
}

// In certificate mode the answer names the certificate; a name that is not known is no better than no signature.
func TestTheCertificateIsChosenByItsSerial(t *testing.T) {
	g := newGateway(t)
	g.say(queryMethod, trade(nil))
	payer := g.payer(t, func(c *alipay.PayerConfig) {
		c.PublicKeys, c.AppCertSN, c.AlipayRootCertSN = nil, "app", "root"
		c.Certificates = map[string]*rsa.PublicKey{"old": &g.application.PublicKey, "new": &g.alipay.PublicKey}
	})
	for serial, want := range map[string]error{"new": nil, "old": channel.ErrUnanswered, "x": channel.ErrUnanswered,
		"": channel.ErrUnanswered} {
		g.mutex.Lock()
		g.wrap = func(e string) string { return fmt.Sprintf(`{"alipay_cert_sn":"%s",%s`, serial, e[1:]) }
		g.mutex.Unlock()
		answer, err := payer.Query(t.Context(), question())
		standing := channel.StandingPaid
		if want != nil {
			standing = ""
		}
		checkOutcome(t, answer, err, standing, want)
	}
}

func TestNoAnswerSaysNothingAboutTheMoney(t *testing.T) {
	g := newGateway(t)
	g.say(queryMethod, trade(nil))
	payer := g.payer(t, func(c *alipay.PayerConfig) { c.HTTP = http.DefaultClient })
	for name, respond := range map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"404": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"connection lost": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"body cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		},
	} {
		t.Run(name, func(t *testing.T) {
			g.mutex.Lock()
			g.respond = respond
			g.mutex.Unlock()
			g.methods()
			for _, ask := range []func(context.Context, channel.Question) (channel.Answer, error){payer.Query, payer.Close,
				payer.Cancel} {
				answer, err := ask(t.Context(), question())
				checkOutcome(t, answer, err, "", channel.ErrUnanswered)
			}
			if asked := g.methods(); len(asked) != 3 {
				t.Fatalf("asked %v: a redirect was followed or a call repeated", asked)
			}
		})
	}
}

func TestTheCallersDeadlineHolds(t *testing.T) {
	g := newGateway(t)
	release := make(chan struct{})
	defer close(release)
	g.respond = func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := g.payer(t).Query(ctx, question())
	if !errors.Is(err, channel.ErrUnanswered) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v, want %v by the deadline", err, channel.ErrUnanswered)
	}
}

func TestAQuestionWithoutANumberIsNotSent(t *testing.T) {
	g := newGateway(t)
	payer := g.payer(t)
	for _, q := range []channel.Question{{}, {OrderNo: "a\nb"}, {OrderNo: strings.Repeat("1", 65)},
		{OrderNo: "ORDER-1", TradeNo: "\x00"}} {
		_, err := payer.Query(t.Context(), q)
		if !errors.Is(err, channel.ErrRefused) || len(g.methods()) != 0 {
			t.Errorf("%q: %v, want %v and no request", q, err, channel.ErrRefused)
		}
	}
}

func TestErrorsNameNoSecret(t *testing.T) {
	g := newGateway(t)
	payer := g.payer(t, func(c *alipay.PayerConfig) { c.AuthToken = "secret-token" })
	g.respond = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "%zz-secret")
		w.WriteHeader(http.StatusFound)
	}
	_, err := payer.Query(t.Context(), question())
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Fatalf("error %v", err)
	}
}

func TestPayersThatCannotWorkAreRefused(t *testing.T) {
	g := newGateway(t)
	good := g.config("https://gateway.example/gateway.do")
	if _, err := alipay.NewPayer(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*alipay.PayerConfig){
		"no application":          func(c *alipay.PayerConfig) { c.AppID = "" },
		"no key of Alipay":        func(c *alipay.PayerConfig) { c.PublicKeys = nil },
		"no private key":          func(c *alipay.PayerConfig) { c.PrivateKey = nil },
		"empty private key":       func(c *alipay.PayerConfig) { c.PrivateKey = &rsa.PrivateKey{} },
		"one serial of two":       func(c *alipay.PayerConfig) { c.AppCertSN = "app" },
		"serials, no certificate": func(c *alipay.PayerConfig) { c.AppCertSN, c.AlipayRootCertSN = "app", "root" },
		"no clock":                func(c *alipay.PayerConfig) { c.Clock = nil },
		"no TLS": func(c *alipay.PayerConfig) {
			c.Gateway, c.AllowHTTP = "http://gateway.example/gateway.do", false
		},
		"no host":      func(c *alipay.PayerConfig) { c.Gateway = "https:///gateway.do" },
		"no address":   func(c *alipay.PayerConfig) { c.Gateway = "%" },
		"other scheme": func(c *alipay.PayerConfig) { c.Gateway = "ftp://gateway.example" },
	} {
		c := good
		change(&c)
		if _, err := alipay.NewPayer(c); !errors.Is(err, alipay.ErrConfig) {
			t.Errorf("%s: %v, want %v", name, err, alipay.ErrConfig)
		}
	}
}

// Without an address the payer asks Alipay itself.
func TestTheGatewayIsAlipaysUnlessGiven(t *testing.T) {
	g := newGateway(t)
	var asked *url.URL
	config := g.config("")
	config.HTTP = doer(func(r *http.Request) (*http.Response, error) {
		asked = r.URL
		return nil, errors.New("not today")
	})
	payer, err := alipay.NewPayer(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := payer.Query(t.Context(), question()); !errors.Is(err, channel.ErrUnanswered) ||
		asked.String() != "https://openapi.alipay.com/gateway.do" || payer.Account() != account() {
		t.Fatalf("asked %v, %v", asked, err)
	}
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }
