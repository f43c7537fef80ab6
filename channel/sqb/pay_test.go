package sqb_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
	"github.com/paidonce/paidonce/channel/sqb"
)

const (
	otherTerminal = "100000330000002"
	firstKey      = "0123456789abcdef0123456789abcdef"
	queryPath     = "/upay/v2/query"
	cancelPath    = "/upay/v2/cancel"
)

// upay stands in for Shouqianba: it accepts what a terminal has signed with its key, and answers each path and terminal
// with the given body.
type upay struct {
	mutex   sync.Mutex
	keys    map[string]string                  // by terminal_sn
	answers map[string]string                  // by terminal_sn and path
	later   map[string]string                  // replaces an answer once it was given
	asked   []string                           // terminal_sn, path and body
	respond http.HandlerFunc                   // takes the place of everything
	checkIn func(sn, sign, body string) string // answers /terminal/checkin; empty: the connection breaks
}

func newUpay() *upay {
	return &upay{keys: map[string]string{terminal: firstKey, otherTerminal: firstKey}, answers: map[string]string{},
		later: map[string]string{}}
}

func md5Hex(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

const illegalSign = `{"result_code":"400","error_code":"ILLEGAL_SIGN","error_message":"签名错误"}`

func (u *upay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	sn, sign, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	u.asked = append(u.asked, sn+r.URL.Path+string(body))
	var named struct {
		TerminalSN string `json:"terminal_sn"`
	}
	switch {
	case u.respond != nil:
		u.respond(w, r)
	case r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
		json.Unmarshal(body, &named) != nil || named.TerminalSN != sn:
		fmt.Fprint(w, `{"result_code":"400","error_code":"INVALID_PARAMS"}`)
	case r.URL.Path == "/terminal/checkin":
		answer := u.checkIn(sn, sign, string(body))
		if answer == "" {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, answer)
	case sign != md5Hex(string(body)+u.keys[sn]):
		fmt.Fprint(w, illegalSign)
	default:
		fmt.Fprint(w, u.answers[sn+r.URL.Path])
		if next, ok := u.later[sn+r.URL.Path]; ok {
			u.answers[sn+r.URL.Path] = next
		}
	}
}

// say sets what a terminal is answered from now on.
func (u *upay) say(sn, path, answer string) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.answers[sn+path] = answer
	delete(u.later, sn+path)
}

// sayThen sets what a terminal is answered once, and what after that.
func (u *upay) sayThen(sn, path, answer, next string) {
	u.say(sn, path, answer)
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.later[sn+path] = next
}

// questions takes what was asked since the last call.
func (u *upay) questions() []string {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	asked := u.asked
	u.asked = nil
	return asked
}

func (u *upay) start(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(u)
	t.Cleanup(server.Close)
	return server.URL
}

func payerConfig(base string, keys sqb.Keys, terminals ...string) sqb.PayerConfig {
	return sqb.PayerConfig{Account: account(), TerminalSNs: terminals, Keys: keys, BaseURL: base, AllowHTTP: true}
}

func newPayer(t *testing.T, u *upay, terminals ...string) *sqb.Payer {
	t.Helper()
	keys := sqb.StaticKeys{terminal: firstKey, otherTerminal: firstKey}
	payer, err := sqb.NewPayer(payerConfig(u.start(t), keys, terminals...))
	if err != nil {
		t.Fatal(err)
	}
	return payer
}

// order is a second layer with the given code about an order like that of paid.
func order(tb testing.TB, code string, changes callback) string {
	tb.Helper()
	body, err := json.Marshal(callback{"result_code": "200", "error_code": "",
		"biz_response": callback{"result_code": code, "data": paid().with(changes)}})
	if err != nil {
		tb.Fatal(err)
	}
	return string(body)
}

func failure(code, errorCode string) string {
	return fmt.Sprintf(`{"result_code":"200","biz_response":{"result_code":"%s","error_code":"%s","error_message":"啊"}}`,
		code, errorCode)
}

func question() channel.Question { return channel.Question{OrderNo: "ORDER-1"} }

// checkOutcome demands either this standing, with an event where the standing has one, or this error and nothing else.
func checkOutcome(t *testing.T, a channel.Answer, err error, want channel.Standing, fails error) {
	t.Helper()
	if !errors.Is(err, fails) || a.Standing != want {
		t.Fatalf("%q (%s), %v; want %q, %v", a.Standing, a.Note, err, want, fails)
	}
	if err == nil && len(a.Raw) == 0 {
		t.Fatal("the answer is not kept as evidence")
	}
	key := map[channel.Standing]string{channel.StandingPaid: "SQB:" + channeltest.PaymentNumber + ":PAYMENT_RECEIVED",
		channel.StandingClosed: "SQB:" + channeltest.PaymentNumber + ":PAYMENT_CLOSED"}[want]
	got := ""
	for _, e := range a.Parsed.Events {
		k, err := e.Key()
		if err != nil || e.Validate() != nil {
			t.Fatalf("event %+v: %v, %v", e, err, e.Validate())
		}
		got += string(k)
	}
	if got != key || len(a.Parsed.Hints) != 0 {
		t.Fatalf("standing %q with event %q and hints %v, want %q", want, got, a.Parsed.Hints, key)
	}
}

// What each state of an order means, by order_status, status and net_amount of 1999 fen.
func TestStandingsOfAnOrder(t *testing.T) {
	const absent = ""
	u := newUpay()
	payer := newPayer(t, u, terminal)
	for _, test := range []struct {
		orderStatus, status, net string
		want                     channel.Standing
	}{
		{"CREATED", "CREATED", "1999", channel.StandingOpen},
		{"CREATED", "IN_PROG", "1999", channel.StandingOpen},
		{"CREATED", "SUCCESS", absent, channel.StandingOpen},
		{"CREATED", "FAIL_ERROR", "1999", channel.StandingUnknown},
		{"PAID", "SUCCESS", "1999", channel.StandingPaid},
		{"PAID", "SUCCESS", absent, channel.StandingPaid},
		{"PAID", "SUCCESS", "1500", channel.StandingPaid},
		{"PAID", "SUCCESS", "2000", channel.StandingUnknown},
		{"PAID", "SUCCESS", "all", channel.StandingUnknown},
		{"PAID", "IN_PROG", "1999", channel.StandingUnknown},
		{"PAID", "FAIL_IO_1", "1999", channel.StandingUnknown},
		{"PARTIAL_REFUNDED", "SUCCESS", "1500", channel.StandingPaid},
		{"PARTIAL_REFUNDED", "IN_PROG", "1500", channel.StandingPaid},
		{"PARTIAL_REFUNDED", "SUCCESS", "2000", channel.StandingUnknown},
		{"REFUNDED", "SUCCESS", "0", channel.StandingPaid},
		{"PAY_CANCELED", "FAIL_CANCELED", "0", channel.StandingClosed},
		{"PAY_CANCELED", "SUCCESS", "1999", channel.StandingClosed},
		{"PAY_CANCELED", "SUCCESS", absent, channel.StandingClosed},
		{"PAY_CANCELED", "SUCCESS", "1500", channel.StandingUnknown},
		{"PAY_CANCELED", "FAIL_PROTOCOL_1", "0", channel.StandingUnknown},
		{"CANCELED", "SUCCESS", "0", channel.StandingUnknown},
		{"CANCELED", "SUCCESS", "1999", channel.StandingUnknown},
		{"PAY_ERROR", "FAIL_ERROR", "1999", channel.StandingUnknown},
		{"REFUND_ERROR", "REFUND_ERROR", "1999", channel.StandingUnknown},
		{"CANCEL_ERROR", "CANCEL_ERROR", "1999", channel.StandingUnknown},
		{"CANCEL_INPROGRESS", "IN_PROG", "1999", channel.StandingUnknown},
		{"INVALID_STATUS_CODE", "SUCCESS", "1999", channel.StandingUnknown},
		{"IN_PROG", "IN_PROG", "1999", channel.StandingUnknown},
		{absent, absent, absent, channel.StandingUnknown},
	} {
		t.Run(test.orderStatus+" "+test.status+" "+test.net, func(t *testing.T) {
			u.say(terminal, queryPath, order(t, "SUCCESS", callback{"order_status": test.orderStatus,
				"status": test.status, "net_amount": test.net}))
			answer, err := payer.Query(t.Context(), question())
			checkOutcome(t, answer, err, test.want, nil)
		})
	}
}

// An order without an amount that can be booked is no event.
func TestAPaidOrderNeedsAnAmount(t *testing.T) {
	u := newUpay()
	payer := newPayer(t, u, terminal)
	for _, total := range []any{nil, "", "0", "-1", "19.99", "99999999999999999999"} {
		u.say(terminal, queryPath, order(t, "SUCCESS", callback{"total_amount": total, "net_amount": nil}))
		answer, err := payer.Query(t.Context(), question())
		checkOutcome(t, answer, err, channel.StandingUnknown, nil)
	}
}

func TestTheTerminalsAreAskedInTurn(t *testing.T) {
	here := order(t, "SUCCESS", nil)
	none, gone := failure("FAIL", "UPAY_ORDER_NOT_EXISTS"), failure("FAIL", "UPAY_TERMINAL_NOT_EXISTS")
	down := `{"result_code":"500","error_code":"UNKNOWN_SYSTEM_ERROR"}`
	both := []string{terminal, otherTerminal}
	u := newUpay()
	payer := newPayer(t, u, both...)
	for _, test := range []struct {
		name, first, second string
		want                channel.Standing
		fails               error
		asked               []string
	}{
		{"the first knows it", here, none, channel.StandingPaid, nil, both[:1]},
		{"the second knows it", none, here, channel.StandingPaid, nil, both},
		{"the wallet does not know it", failure("FAIL", "TRADE_NOT_EXIST"), here, channel.StandingPaid, nil, both},
		{"the first is down", down, here, channel.StandingPaid, nil, both},
		{"the first is no terminal", gone, here, channel.StandingPaid, nil, both},
		{"nobody knows it", none, none, channel.StandingAbsent, nil, both},
		{"it may be where nobody answered", down, none, "", channel.ErrUnanswered, both},
		{"it may be where nobody may ask", none, gone, "", channel.ErrRefused, both},
		{"down weighs more than refused", gone, down, "", channel.ErrUnanswered, both},
	} {
		t.Run(test.name, func(t *testing.T) {
			u.say(terminal, queryPath, test.first)
			u.say(otherTerminal, queryPath, test.second)
			u.questions()
			answer, err := payer.Query(t.Context(), question())
			checkOutcome(t, answer, err, test.want, test.fails)
			var asked []string
			for _, q := range u.questions() {
				asked = append(asked, q[:len(terminal)])
			}
			if !slices.Equal(asked, test.asked) {
				t.Fatalf("asked %v, want %v", asked, test.asked)
			}
		})
	}
}

// Only one number is sent, because Shouqianba falls back to the other.
func TestTheTradeNumberWins(t *testing.T) {
	u := newUpay()
	payer := newPayer(t, u, terminal)
	u.say(terminal, queryPath, order(t, "SUCCESS", nil))
	for _, test := range []struct {
		question channel.Question
		want     string
	}{
		{question(), `{"client_sn":"ORDER-1","terminal_sn":"100000330000001"}`},
		{channel.Question{TradeNo: channeltest.PaymentNumber},
			`{"sn":"` + channeltest.PaymentNumber + `","terminal_sn":"100000330000001"}`},
		{channel.Question{OrderNo: "ORDER-1", TradeNo: channeltest.PaymentNumber},
			`{"sn":"` + channeltest.PaymentNumber + `","terminal_sn":"100000330000001"}`},
	} {
		answer, err := payer.Query(t.Context(), test.question)
		checkOutcome(t, answer, err, channel.StandingPaid, nil)
		if asked := u.questions(); len(asked) != 1 || asked[0] != terminal+queryPath+test.want {
			t.Errorf("asked %v, want %s", asked, test.want)
		}
	}
	for _, q := range []channel.Question{{}, {OrderNo: "a\x00"}, {TradeNo: strings.Repeat("1", 65)}} {
		_, err := payer.Query(context.Background(), q)
		if !errors.Is(err, channel.ErrRefused) || len(u.questions()) != 0 {
			t.Errorf("%q: %v, want %v and no request", q, err, channel.ErrRefused)
		}
	}
}
