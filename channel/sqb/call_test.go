package sqb_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/sqb"
)

// The stand-in checks every signature, so it has to follow the rule itself. The vector was made with other tools.
func TestTheStandInSignsLikeShouqianba(t *testing.T) {
	const body = `{"terminal_sn":"100000330000001","client_sn":"T1","total_amount":"1"}`
	if got := md5Hex(body + firstKey); got != "1b020b4b3191e8f4c9a51aabf4d08a5a" {
		t.Fatal(got)
	}
}

func TestClassesOfAnswers(t *testing.T) {
	u := newUpay()
	payer := newPayer(t, u, terminal)
	outer := func(code, errorCode string) string {
		return fmt.Sprintf(`{"result_code":"%s","error_code":"%s","error_message":"看"}`, code, errorCode)
	}
	for _, test := range []struct {
		answer string
		want   error
	}{
		{outer("400", "INVALID_PARAMS"), channel.ErrRefused},
		{outer("400", "INVALID_PARAMETER"), channel.ErrRefused},
		{outer("400", "INVALID_TERMINAL"), channel.ErrRefused},
		{outer("400", "TERMINAL_NOT_EXISTS"), channel.ErrRefused},
		{outer("400", "ILLEGAL_SIGN"), channel.ErrRefused},
		{outer("500", "UNKNOWN_SYSTEM_ERROR"), channel.ErrUnanswered},
		{outer("500", "MAINTENANCE_INPROGRESS"), channel.ErrUnanswered},
		{outer("300", ""), channel.ErrUnanswered},
		{outer("", ""), channel.ErrUnanswered},
		{outer("200", ""), channel.ErrUnanswered},
		{failure("FAIL", "UPAY_TERMINAL_NOT_EXISTS"), channel.ErrRefused},
		{failure("FAIL", "UPAY_TERMINAL_STATUS_ABNORMAL"), channel.ErrRefused},
		{failure("FAIL", "INVALID_BARCODE"), channel.ErrRefused},
		{failure("FAIL", "UNEXPECTED_PROVIDER_ERROR"), channel.ErrUnanswered},
		{failure("FAIL", ""), channel.ErrUnanswered},
		{failure("PAY_FAIL_ERROR", ""), channel.ErrUnanswered},
		{failure("PAY_IN_PROGRESS", ""), channel.ErrUnanswered},
		{failure("NEVER_HEARD_OF", "NEITHER"), channel.ErrUnanswered},
		{failure("SUCCESS", ""), channel.ErrUnanswered}, // without data
		{order(t, "PAY_SUCCESS", nil), channel.ErrUnanswered},
	} {
		u.say(terminal, queryPath, test.answer)
		answer, err := payer.Query(t.Context(), question())
		checkOutcome(t, answer, err, "", test.want)
		if strings.ContainsAny(err.Error(), "看啊") {
			t.Errorf("error %q quotes a message", err)
		}
	}
}

// Answers are not signed, so at least what they are about has to fit, and they have one reading only.
func TestAnswersThatDoNotFitAreNone(t *testing.T) {
	u := newUpay()
	payer := newPayer(t, u, terminal)
	good := order(t, "SUCCESS", nil)
	for name, answer := range map[string]string{
		"another order":         order(t, "SUCCESS", callback{"client_sn": "ORDER-2"}),
		"no order":              order(t, "SUCCESS", callback{"client_sn": nil}),
		"no number":             order(t, "SUCCESS", callback{"sn": nil}),
		"a stranger's terminal": order(t, "SUCCESS", callback{"terminal_sn": "100000330000009"}),
		"a number, not a text":  order(t, "SUCCESS", callback{"total_amount": 1999}),
		"a field twice":         strings.Replace(good, `"total_amount"`, `"total_amount":"1","total_amount"`, 1),
		"two answers":           good + good,
		"cut off":               good[:len(good)-1],
		"not UTF-8":             strings.Replace(good, "tea", "t\xe9a", 1),
		"no JSON":               "<html>",
		"nothing":               "",
		"too long":              good + strings.Repeat(" ", channel.MaxBodyBytes),
	} {
		t.Run(name, func(t *testing.T) {
			u.say(terminal, queryPath, answer)
			answer, err := payer.Query(t.Context(), question())
			checkOutcome(t, answer, err, "", channel.ErrUnanswered)
		})
	}
	// The docs' own example leaves the terminal out.
	u.say(terminal, queryPath, order(t, "SUCCESS", callback{"terminal_sn": nil}))
	answer, err := payer.Query(t.Context(), question())
	checkOutcome(t, answer, err, channel.StandingPaid, nil)
	answer, err = payer.Query(t.Context(), channel.Question{OrderNo: "ORDER-1", TradeNo: "7892259488290000"})
	checkOutcome(t, answer, err, "", channel.ErrUnanswered)
}

func TestWhatTheTransportSays(t *testing.T) {
	u := newUpay()
	keys := sqb.StaticKeys{terminal: firstKey}
	config := payerConfig(u.start(t), keys, terminal)
	config.HTTP = http.DefaultClient
	payer, err := sqb.NewPayer(config)
	if err != nil {
		t.Fatal(err)
	}
	write := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	for name, test := range map[string]struct {
		respond http.HandlerFunc
		want    error
	}{
		"500":                         {write(500, order(t, "SUCCESS", nil)), channel.ErrUnanswered},
		"502 with an error":           {write(502, illegalSign), channel.ErrUnanswered},
		"403 of somebody else":        {write(403, "<html>"), channel.ErrUnanswered},
		"400 with a good answer":      {write(400, order(t, "SUCCESS", nil)), channel.ErrUnanswered},
		"400 that says so in its way": {write(400, illegalSign), channel.ErrRefused},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
			channel.ErrUnanswered},
		"connection lost": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			channel.ErrUnanswered},
		"body cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		}, channel.ErrUnanswered},
	} {
		t.Run(name, func(t *testing.T) {
			u.mutex.Lock()
			u.respond = test.respond
			u.mutex.Unlock()
			u.questions()
			answer, err := payer.Query(t.Context(), question())
			checkOutcome(t, answer, err, "", test.want)
			if strings.Contains(err.Error(), firstKey) || len(u.questions()) != 1 {
				t.Fatalf("error %q, or asked more than once", err)
			}
		})
	}
}

func TestTheCallersDeadlineHolds(t *testing.T) {
	u := newUpay()
	u.respond = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := newPayer(t, u, terminal, otherTerminal).Query(ctx, question())
	if !errors.Is(err, channel.ErrUnanswered) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v, want %v by the deadline", err, channel.ErrUnanswered)
	}
}

func TestPayersThatCannotWorkAreRefused(t *testing.T) {
	good := payerConfig("", sqb.StaticKeys{terminal: firstKey}, terminal)
	good.AllowHTTP = false
	for name, test := range map[string]struct {
		change func(*sqb.PayerConfig)
		want   error
	}{
		"Shouqianba's own host": {func(*sqb.PayerConfig) {}, nil},
		"https":                 {func(c *sqb.PayerConfig) { c.BaseURL = "https://api.example/" }, nil},
		"a sandbox that is allowed": {func(c *sqb.PayerConfig) { c.BaseURL, c.AllowHTTP = "http://127.0.0.1:1", true },
			nil},
		"no TLS":          {func(c *sqb.PayerConfig) { c.BaseURL = "http://api.example" }, sqb.ErrConfig},
		"no host":         {func(c *sqb.PayerConfig) { c.BaseURL = "https://" }, sqb.ErrConfig},
		"no address":      {func(c *sqb.PayerConfig) { c.BaseURL = "%" }, sqb.ErrConfig},
		"another scheme":  {func(c *sqb.PayerConfig) { c.BaseURL, c.AllowHTTP = "ftp://x", true }, sqb.ErrConfig},
		"no keys":         {func(c *sqb.PayerConfig) { c.Keys = nil }, sqb.ErrConfig},
		"no terminal":     {func(c *sqb.PayerConfig) { c.TerminalSNs = nil }, sqb.ErrConfig},
		"an odd terminal": {func(c *sqb.PayerConfig) { c.TerminalSNs = []string{"a\n"} }, sqb.ErrConfig},
		"no tenant":       {func(c *sqb.PayerConfig) { c.Account.Tenant = 0 }, sqb.ErrConfig},
		"no name":         {func(c *sqb.PayerConfig) { c.Account.Name = "" }, sqb.ErrConfig},
		"another channel": {func(c *sqb.PayerConfig) { c.Account.Channel = "ALIPAY" }, sqb.ErrConfig},
	} {
		c := good
		test.change(&c)
		if _, err := sqb.NewPayer(c); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// Without an address the payer asks Shouqianba itself.
func TestTheHostIsShouqianbasUnlessGiven(t *testing.T) {
	asked := ""
	config := payerConfig("", sqb.StaticKeys{terminal: firstKey}, terminal)
	config.HTTP = doer(func(r *http.Request) (*http.Response, error) {
		asked = r.URL.String()
		return nil, errors.New("not today, " + firstKey)
	})
	payer, err := sqb.NewPayer(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = payer.Query(t.Context(), question())
	if !errors.Is(err, channel.ErrUnanswered) || strings.Contains(err.Error(), firstKey) ||
		asked != "https://vsi-api.shouqianba.com/upay/v2/query" || payer.Account() != account() {
		t.Fatalf("asked %v, %v", asked, err)
	}
}
