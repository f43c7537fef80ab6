package wechat_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/wechat"
)

func TestClassesOfErrors(t *testing.T) {
	h := newHost(t)
	payer := h.payer(t)
	for _, test := range []struct {
		status int
		code   string
		want   channel.Standing
		fails  error
	}{
		{404, "ORDER_NOT_EXIST", channel.StandingAbsent, nil},
		{404, "ORDERNOTEXIST", channel.StandingAbsent, nil},
		{404, "RESOURCE_NOT_EXISTS", "", channel.ErrUnanswered},
		{404, "MCH_NOT_EXISTS", "", channel.ErrRefused},
		{400, "PARAM_ERROR", "", channel.ErrRefused},
		{400, "INVALID_REQUEST", "", channel.ErrRefused},
		{400, "APPID_MCHID_NOT_MATCH", "", channel.ErrRefused},
		{401, "SIGN_ERROR", "", channel.ErrRefused},
		{403, "NO_AUTH", "", channel.ErrRefused},
		{403, "NOAUTH", "", channel.ErrRefused},
		{403, "NEVER_HEARD_OF", "", channel.ErrUnanswered},
		{400, "", "", channel.ErrUnanswered},
		{202, "USERPAYING", "", channel.ErrUnanswered},
		{302, "", "", channel.ErrUnanswered},
		{429, "FREQUENCY_LIMITED", "", channel.ErrUnanswered},
		{429, "PARAM_ERROR", "", channel.ErrUnanswered},
		{500, "SYSTEM_ERROR", "", channel.ErrUnanswered},
		{500, "PARAM_ERROR", "", channel.ErrUnanswered},
		{502, "ORDER_NOT_EXIST", "", channel.ErrUnanswered},
	} {
		h.say(http.MethodGet, test.status, refusal(test.code))
		answer, err := payer.Query(t.Context(), question())
		checkOutcome(t, answer, err, test.want, "", test.fails)
		if err == nil && (answer.Note != test.code || string(answer.Raw) != refusal(test.code)) {
			t.Errorf("absent with note %q and evidence %q", answer.Note, answer.Raw)
		}
		if err != nil && (!strings.Contains(err.Error(), test.code) || strings.Contains(err.Error(), "这里") ||
			!strings.Contains(err.Error(), strconv.Itoa(test.status))) {
			t.Errorf("error %q should name %d %s and quote no message", err, test.status, test.code)
		}
	}
}

// An answer that is not exactly as WeChat Pay signed it, just now, is no answer, whatever its status says.
func TestTamperedAnswersAreNone(t *testing.T) {
	h := newHost(t)
	payer := h.payer(t)
	paid, gone := string(transaction().encode(t)), refusal("ORDER_NOT_EXIST")
	edit := func(old, new string) func(*channel.Request) {
		return func(r *channel.Request) { r.Body = []byte(strings.ReplaceAll(string(r.Body), old, new)) }
	}
	set := func(name string, values ...string) func(*channel.Request) {
		return func(r *channel.Request) { r.Header[name] = values }
	}
	sign := func(key *rsa.PrivateKey, serial string, at int64) func(*channel.Request) {
		return func(r *channel.Request) { *r = signed(t, key, serial, strconv.FormatInt(at, 10), "nonce", r.Body) }
	}
	for name, test := range map[string]struct {
		say   said
		alter func(*channel.Request)
		cause error
	}{
		"amount changed":       {said{200, paid}, edit("1999", "1998"), channel.ErrForged},
		"a space more":         {said{200, paid}, edit(",", ", "), channel.ErrForged},
		"unsigned":             {said{200, paid}, func(r *channel.Request) { clear(r.Header) }, channel.ErrForged},
		"absent, unsigned":     {said{404, gone}, set("Wechatpay-Signature"), channel.ErrForged},
		"another code":         {said{404, gone}, edit("ORDER_NOT_EXIST", "RESOURCE_NOT_EXISTS"), channel.ErrForged},
		"refused, forged":      {said{401, refusal("SIGN_ERROR")}, edit("看", "听"), channel.ErrForged},
		"refused, unsigned":    {said{403, refusal("NO_AUTH")}, set("Wechatpay-Signature"), channel.ErrForged},
		"a stranger's key":     {said{200, paid}, sign(h.stranger, publicKeyID, signedAt), channel.ErrForged},
		"an unknown key":       {said{200, paid}, sign(h.stranger, "ABCDEF", signedAt), channel.ErrForged},
		"the other key's name": {said{200, paid}, sign(h.public, certSerial, signedAt), channel.ErrForged},
		"our own key":          {said{200, paid}, sign(h.merchant, publicKeyID, signedAt), channel.ErrForged},
		"two signatures":       {said{200, paid}, set("Wechatpay-Signature", "YQ==", "YQ=="), channel.ErrForged},
		"another algorithm":    {said{200, paid}, set("Wechatpay-Signature-Type", "SM2"), channel.ErrForged},
		"a probe": {said{200, paid}, set("Wechatpay-Signature", "WECHATPAY/SIGNTEST/YQ=="),
			channel.ErrProbe},
		"an old answer":    {said{200, paid}, sign(h.public, publicKeyID, signedAt-300), channel.ErrStale},
		"an old absence":   {said{404, gone}, sign(h.public, publicKeyID, signedAt-300), channel.ErrStale},
		"from the future":  {said{200, paid}, sign(h.public, publicKeyID, signedAt+400), channel.ErrStale},
		"a refusal, stale": {said{403, refusal("NO_AUTH")}, sign(h.public, publicKeyID, 1), channel.ErrStale},
	} {
		t.Run(name, func(t *testing.T) {
			h.say(http.MethodGet, test.say.status, test.say.body)
			h.meddle(test.alter)
			answer, err := payer.Query(t.Context(), question())
			checkOutcome(t, answer, err, "", "", channel.ErrUnanswered)
			if !errors.Is(err, test.cause) || errors.Is(err, channel.ErrRefused) {
				t.Fatalf("got %v, want %v", err, test.cause)
			}
		})
	}
}

// An authentic notification is no answer: its document has no order on its outside.
func TestANotificationIsNoAnswer(t *testing.T) {
	h := newHost(t)
	h.say(http.MethodGet, http.StatusOK, string(h.pay(t, nil).Body))
	answer, err := h.payer(t).Query(t.Context(), question())
	checkOutcome(t, answer, err, "", "", channel.ErrUnanswered)
}

// WeChat Pay does not sign its answer to a question whose signature it could not verify.
func TestThatOurSignatureIsWrongIsHeardUnsigned(t *testing.T) {
	h := newHost(t)
	h.meddle(func(r *channel.Request) { clear(r.Header) })
	payer := h.payer(t)
	for status, fails := range map[int]error{401: channel.ErrRefused, 403: channel.ErrUnanswered,
		500: channel.ErrUnanswered} {
		h.say(http.MethodGet, status, refusal("SIGN_ERROR"))
		answer, err := payer.Query(t.Context(), question())
		checkOutcome(t, answer, err, "", "", fails)
	}
}

func TestAnswersThatAreNotThere(t *testing.T) {
	h := newHost(t)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed")
	}))
	t.Cleanup(other.Close)
	for name, respond := range map[string]http.HandlerFunc{
		"the connection breaks": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"too long": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat(" ", channel.MaxBodyBytes+1))
		},
		"cut short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{}")
		},
		"a proxy's page": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>", http.StatusBadGateway)
		},
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
	} {
		h := &host{platform: h.platform, merchant: h.merchant, respond: respond}
		for client, doer := range map[string]channel.Doer{"own client": nil, "the host's": &http.Client{}} {
			t.Run(name+", "+client, func(t *testing.T) {
				payer := h.payer(t, func(c *wechat.PayerConfig) { c.HTTP = doer })
				for _, ask := range []func(context.Context, channel.Question) (channel.Answer, error){
					payer.Query, payer.Close} {
					answer, err := ask(t.Context(), question())
					checkOutcome(t, answer, err, "", "", channel.ErrUnanswered)
				}
			})
		}
	}
}

func TestTheContextEndsTheWait(t *testing.T) {
	h := newHost(t)
	h.respond = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	answer, err := h.payer(t).Query(ctx, question())
	checkOutcome(t, answer, err, "", "", channel.ErrUnanswered)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestQuestionsThatAreNotSent(t *testing.T) {
	h := newHost(t)
	payer := h.payer(t)
	for _, number := range []string{"", "..", "A/B", "A?mchid=1", "A B", "订单", "A\nB", "A%2FB", strings.Repeat("7", 65)} {
		answer, err := payer.Query(t.Context(), channel.Question{OrderNo: number})
		checkOutcome(t, answer, err, "", "", channel.ErrRefused)
		answer, err = payer.Close(t.Context(), channel.Question{OrderNo: number, TradeNo: "42"})
		checkOutcome(t, answer, err, "", "", channel.ErrRefused)
		answer, err = payer.Query(t.Context(), channel.Question{OrderNo: "ORDER-1", TradeNo: "." + number})
		checkOutcome(t, answer, err, "", "", channel.ErrRefused)
	}
	silent := h.payer(t, func(c *wechat.PayerConfig) { c.Random = iotest.ErrReader(io.ErrUnexpectedEOF) })
	answer, err := silent.Query(t.Context(), question())
	checkOutcome(t, answer, err, "", "", channel.ErrUnanswered)
	if got := h.take(); len(got) != 0 {
		t.Fatalf("sent %+v", got)
	}
}

func TestNoncesComeFromTheGivenSource(t *testing.T) {
	h := newHost(t)
	h.say(http.MethodGet, http.StatusOK, string(transaction().encode(t)))
	payer := h.payer(t, func(c *wechat.PayerConfig) {
		c.Random = strings.NewReader(strings.Repeat("a", 16) + "0123456789abcdef")
	})
	var nonces []string
	for range 2 {
		if _, err := payer.Query(t.Context(), question()); err != nil {
			t.Fatal(err)
		}
		nonces = append(nonces, authorization.FindStringSubmatch(h.take()[0].header.Get("Authorization"))[1])
	}
	if want := []string{strings.Repeat("61", 16), "30313233343536373839616263646566"}; !slices.Equal(nonces, want) {
		t.Fatalf("nonces %q, want %q", nonces, want)
	}
}

func TestPayerConfigurationsThatAreRefused(t *testing.T) {
	h := newHost(t)
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*wechat.PayerConfig){
		"another channel":        func(c *wechat.PayerConfig) { c.Account.Channel = "ALIPAY" },
		"no merchant":            func(c *wechat.PayerConfig) { c.MchID = "" },
		"a merchant in quotes":   func(c *wechat.PayerConfig) { c.MchID = `19",serial_no="1` },
		"a strange sub merchant": func(c *wechat.PayerConfig) { c.SubMchID = "19&mchid=1" },
		"no application":         func(c *wechat.PayerConfig) { c.AppIDs = nil },
		"no platform key":        func(c *wechat.PayerConfig) { c.PlatformKeys = nil },
		"a short platform key": func(c *wechat.PayerConfig) {
			c.PlatformKeys = map[string]*rsa.PublicKey{certSerial: &short.PublicKey}
		},
		"no serial number":    func(c *wechat.PayerConfig) { c.SerialNo = "" },
		"a serial not in hex": func(c *wechat.PayerConfig) { c.SerialNo = `12",x="` },
		"no private key":      func(c *wechat.PayerConfig) { c.PrivateKey = nil },
		"a short private key": func(c *wechat.PayerConfig) { c.PrivateKey = short },
		"a broken private key": func(c *wechat.PayerConfig) {
			c.PrivateKey = &rsa.PrivateKey{PublicKey: h.merchant.PublicKey}
		},
		"a negative window":      func(c *wechat.PayerConfig) { c.Window = -1 },
		"no clock":               func(c *wechat.PayerConfig) { c.Clock = nil },
		"http without leave":     func(c *wechat.PayerConfig) { c.AllowHTTP = false },
		"another scheme":         func(c *wechat.PayerConfig) { c.BaseURL = "ftp://localhost" },
		"no host":                func(c *wechat.PayerConfig) { c.BaseURL = "https://" },
		"a path":                 func(c *wechat.PayerConfig) { c.BaseURL = "https://localhost/wechat" },
		"a query":                func(c *wechat.PayerConfig) { c.BaseURL = "https://localhost?a=b" },
		"a user":                 func(c *wechat.PayerConfig) { c.BaseURL = "https://a:b@localhost" },
		"an address with spaces": func(c *wechat.PayerConfig) { c.BaseURL = "https://local host" },
	} {
		config := h.payerConfig("http://localhost")
		spoil(&config)
		if _, err := wechat.NewPayer(config); !errors.Is(err, wechat.ErrConfig) {
			t.Errorf("%s: got %v, want %v", name, err, wechat.ErrConfig)
		}
	}
	for _, address := range []string{"", "https://api2.mch.weixin.qq.com", "http://localhost:8080/"} {
		payer, err := wechat.NewPayer(h.payerConfig(address))
		if err != nil || payer.Account() != account() {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestTheClockIsReadAnewForTheAnswer(t *testing.T) {
	h := newHost(t)
	h.say(http.MethodGet, http.StatusOK, string(transaction().encode(t)))
	for name, test := range map[string]struct {
		window, late time.Duration
		want         channel.Standing
		fails        error
	}{
		"in time":           {0, 299 * time.Second, channel.StandingPaid, nil},
		"at the end":        {0, 300 * time.Second, "", channel.ErrStale},
		"our clock is slow": {0, -300 * time.Second, "", channel.ErrStale},
		"narrow window":     {time.Second, time.Second, "", channel.ErrStale},
		"wide window":       {time.Hour, 300 * time.Second, channel.StandingPaid, nil},
	} {
		t.Run(name, func(t *testing.T) {
			times := []time.Time{time.Unix(signedAt, 0), time.Unix(signedAt, 0).Add(test.late)}
			answer, err := h.payer(t, func(c *wechat.PayerConfig) {
				c.Window = test.window
				c.Clock = func() time.Time {
					now := times[0]
					times = times[1:]
					return now
				}
			}).Query(t.Context(), question())
			if (err != nil) != errors.Is(err, channel.ErrUnanswered) || !errors.Is(err, test.fails) ||
				answer.Standing != test.want {
				t.Fatalf("%q, %v; want %q, %v", answer.Standing, err, test.want, test.fails)
			}
		})
	}
}
