package wechat_test

import (
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
	"github.com/paidonce/paidonce/channel/wechat"
)

const (
	queryPath = "/pay/orderquery"
	closePath = "/pay/closeorder"
)

// hostV2 stands in for WeChat Pay's API v2: it checks the merchant's signature and gives the answer that was set for
// each path, as it is.
type hostV2 struct {
	mutex   sync.Mutex
	asked   []fields // with the path under "path"
	status  int
	answers map[string]string
}

func newHostV2() *hostV2 { return &hostV2{status: http.StatusOK, answers: map[string]string{}} }

func (h *hostV2) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	question, form := readXML(body), r.Header.Get("Content-Type")
	unsigned := question.with(fields{"sign": "-"})
	signedByUs := question["sign"] == unsigned.sign(question["sign_type"], apiKey)["sign"]
	if err != nil || r.Method != http.MethodPost || !signedByUs || !strings.HasPrefix(form, "text/xml") {
		http.Error(w, "not a question of the merchant", http.StatusTeapot)
		return
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.asked = append(h.asked, question.with(fields{"path": r.URL.Path, "sign": "-"}))
	w.WriteHeader(h.status)
	_, _ = io.WriteString(w, h.answers[r.URL.Path]) // a client that went away is the client's matter
}

// readXML reads flat XML with another reader than the adapter's.
func readXML(body []byte) fields {
	var document struct {
		Fields []struct {
			XMLName xml.Name
			Text    string `xml:",chardata"`
		} `xml:",any"`
	}
	if xml.Unmarshal(body, &document) != nil {
		return fields{}
	}
	read := fields{}
	for _, field := range document.Fields {
		read[field.XMLName.Local] = field.Text
	}
	return read
}

// say sets what is answered at a path from now on.
func (h *hostV2) say(path, body string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.answers[path] = body
}

func (h *hostV2) take() []fields {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	taken := h.asked
	h.asked = nil
	return taken
}

func payerConfigV2(address string) wechat.PayerV2Config {
	return wechat.PayerV2Config{Account: account(), MchID: mchID, AppIDs: []string{appID, "wx2421b1c4370ec43b"},
		APIKeys: []string{apiKey, oldAPIKey}, BaseURL: address, AllowHTTP: true}
}

func (h *hostV2) payer(t *testing.T, changes ...func(*wechat.PayerV2Config)) *wechat.PayerV2 {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	config := payerConfigV2(server.URL)
	for _, change := range changes {
		change(&config)
	}
	payer, err := wechat.NewPayerV2(config)
	if err != nil {
		t.Fatal(err)
	}
	return payer
}

// paid2 is the answer about a paid order; "-" in changes removes a field.
func paid2(changes fields) fields {
	return v2Payment().with(fields{"trade_state": "SUCCESS", "trade_state_desc": "支付成功"}).with(changes)
}

// unpaid2 is the answer about an order of which no payment is known.
func unpaid2(state string) fields {
	return fields{"return_code": "SUCCESS", "return_msg": "OK", "result_code": "SUCCESS", "appid": appID, "mch_id": mchID,
		"nonce_str": "n", "out_trade_no": "ORDER-1", "attach": "", "trade_state": state}
}

func refused2(code string) fields {
	return fields{"return_code": "SUCCESS", "return_msg": "OK", "result_code": "FAIL", "appid": appID, "mch_id": mchID,
		"nonce_str": "n", "err_code": code, "err_code_des": "看这里"}
}

// closed2 is the answer to a close that was done.
func closed2() fields {
	return refused2("").with(fields{"result_code": "SUCCESS", "err_code_des": "-"})
}

// hmacXML writes an answer as WeChat Pay signs it when HMAC-SHA256 was asked for.
func (f fields) hmacXML() string { return string(f.sign(hmacType, apiKey).encode("xml", true)) }

func TestStandingsOfAnOrderV2(t *testing.T) {
	h := newHostV2()
	payer := h.payer(t)
	for _, test := range []struct {
		name string
		body fields
		want channel.Standing
		key  string
	}{
		{"paid", paid2(nil), channel.StandingPaid, paidKey},
		{"paid, refunds since", paid2(fields{"trade_state": "REFUND"}), channel.StandingPaid, paidKey},
		{"paid, no time given", paid2(fields{"time_end": "-"}), channel.StandingPaid, paidKey},
		{"paid, currency left out", paid2(fields{"fee_type": "-"}), channel.StandingPaid, paidKey},
		{"paid, a field that nobody knows", paid2(fields{"tomorrow": "&x=1"}), channel.StandingPaid, paidKey},
		{"refunds, but no more", unpaid2("REFUND"), channel.StandingUnknown, ""},
		{"paid, no number", paid2(fields{"transaction_id": "-"}), channel.StandingUnknown, ""},
		{"paid, no amount", paid2(fields{"total_fee": "-"}), channel.StandingUnknown, ""},
		{"paid, no application", paid2(fields{"appid": "-"}), channel.StandingUnknown, ""},
		{"paid, amount zero", paid2(fields{"total_fee": "0"}), channel.StandingUnknown, ""},
		{"paid, in yuan", paid2(fields{"total_fee": "19.99"}), channel.StandingUnknown, ""},
		{"not paid yet", unpaid2("NOTPAY"), channel.StandingOpen, ""},
		{"payer types the password", unpaid2("USERPAYING"), channel.StandingOpen, ""},
		{"payment failed", unpaid2("PAYERROR"), channel.StandingOpen, ""},
		{"closed", unpaid2("CLOSED"), channel.StandingClosed, closedKey},
		{"reversed unpaid", unpaid2("REVOKED"), channel.StandingClosed, closedKey},
		{"reversed after a payment", paid2(fields{"trade_state": "REVOKED"}), channel.StandingUnknown, ""},
		{"closed, but a time of payment", unpaid2("CLOSED").with(fields{"time_end": "20261201100000"}),
			channel.StandingUnknown, ""},
		{"taken, to be charged", unpaid2("ACCEPT"), channel.StandingUnknown, ""},
		{"a notification", v2Payment(), channel.StandingUnknown, ""},
		{"no such order", refused2("ORDERNOTEXIST"), channel.StandingAbsent, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, body := range map[string]fields{"HMAC": test.body.sign(hmacType, apiKey),
				"MD5": test.body.sign("MD5", apiKey), "the other key": test.body.sign(hmacType, oldAPIKey)} {
				text := string(body.encode("xml", name == "MD5"))
				h.say(queryPath, text)
				answer, err := payer.Query(t.Context(), question())
				checkOutcome(t, answer, err, test.want, test.key, nil)
				if string(answer.Raw) != text {
					t.Fatalf("the answer is not kept as evidence: %q", answer.Raw)
				}
			}
		})
	}
}

func TestAnswersThatAreNoneV2(t *testing.T) {
	h := newHostV2()
	payer := h.payer(t)
	both := channel.Question{OrderNo: "ORDER-1", TradeNo: channeltest.PaymentNumber}
	paid := paid2(nil).hmacXML()
	for name, test := range map[string]struct {
		question channel.Question
		body     string
	}{
		"amount changed":        {question(), strings.Replace(paid, "[1999]", "[1998]", 1)},
		"a field more":          {question(), strings.Replace(paid, "<xml>", "<xml><a>1</a>", 1)},
		"signed by a stranger":  {question(), string(paid2(nil).sign(hmacType, mchID).encode("xml", true))},
		"unsigned":              {question(), string(paid2(nil).encode("xml", true))},
		"absent, unsigned":      {question(), string(refused2("ORDERNOTEXIST").encode("xml", true))},
		"two readings":          {question(), paid2(fields{"attach": "a&total_fee=1&x=2"}).hmacXML()},
		"an amount in an order": {question(), paid2(fields{"fee_type": "CNY&total_fee=1"}).hmacXML()},
		"another order":         {question(), paid2(fields{"out_trade_no": "ORDER-2"}).hmacXML()},
		"the order in capitals": {channel.Question{OrderNo: "Order-1"}, paid},
		"no order":              {question(), paid2(fields{"out_trade_no": "-"}).hmacXML()},
		"another transaction":   {both, paid2(fields{"transaction_id": "42"}).hmacXML()},
		"another merchant":      {question(), paid2(fields{"mch_id": "1900000110"}).hmacXML()},
		"no merchant":           {question(), paid2(fields{"mch_id": "-"}).hmacXML()},
		"another application":   {question(), paid2(fields{"appid": "wx9"}).hmacXML()},
		"another sub merchant":  {question(), paid2(fields{"sub_mch_id": "1900000110"}).hmacXML()},
		"absent at another's":   {question(), refused2("ORDERNOTEXIST").with(fields{"mch_id": "1900000110"}).hmacXML()},
		"a document type":       {question(), "<!DOCTYPE xml>" + paid},
		"a field twice":         {question(), strings.Replace(paid, "<xml>", "<xml><appid>x</appid>", 1)},
		"JSON":                  {question(), string(transaction().encode(t))},
		"nothing":               {question(), ""},
		"too long":              {question(), paid + strings.Repeat(" ", channel.MaxBodyBytes)},
	} {
		t.Run(name, func(t *testing.T) {
			h.say(queryPath, test.body)
			answer, err := payer.Query(t.Context(), test.question)
			checkOutcome(t, answer, err, "", "", channel.ErrUnanswered)
		})
	}
	h.say(queryPath, paid)
	h.mutex.Lock()
	h.status = http.StatusBadGateway
	h.mutex.Unlock()
	answer, err := payer.Query(t.Context(), question())
	checkOutcome(t, answer, err, "", "", channel.ErrUnanswered)
}

func TestOnlyTheSetSignTypeIsBelieved(t *testing.T) {
	h := newHostV2()
	for signType, other := range map[string]string{"MD5": hmacType, hmacType: "MD5"} {
		payer := h.payer(t, func(c *wechat.PayerV2Config) { c.SignType = signType })
		h.say(queryPath, string(paid2(nil).sign(signType, apiKey).encode("xml", true)))
		answer, err := payer.Query(t.Context(), question())
		checkOutcome(t, answer, err, channel.StandingPaid, paidKey, nil)
		h.say(queryPath, string(paid2(nil).sign(other, apiKey).encode("xml", true)))
		answer, err = payer.Query(t.Context(), question())
		checkOutcome(t, answer, err, "", "", channel.ErrUnanswered)
	}
}

func TestClassesOfErrorsV2(t *testing.T) {
	h := newHostV2()
	payer := h.payer(t)
	failed := fields{"return_code": "FAIL", "return_msg": "签名失败"}
	for _, test := range []struct {
		body  string
		want  error
		names string
	}{
		{refused2("SYSTEMERROR").hmacXML(), channel.ErrUnanswered, "SYSTEMERROR"},
		{refused2("BIZERR_NEED_RETRY").hmacXML(), channel.ErrUnanswered, "BIZERR_NEED_RETRY"},
		{refused2("NEVER_HEARD_OF").hmacXML(), channel.ErrUnanswered, "NEVER_HEARD_OF"},
		{refused2("").hmacXML(), channel.ErrUnanswered, "result_code FAIL"},
		{refused2("SIGNERROR").hmacXML(), channel.ErrRefused, "SIGNERROR"},
		{refused2("APPID_NOT_EXIST").hmacXML(), channel.ErrRefused, "APPID_NOT_EXIST"},
		{refused2("MCHID_NOT_EXIST").hmacXML(), channel.ErrRefused, "MCHID_NOT_EXIST"},
		{refused2("APPID_MCHID_NOT_MATCH").hmacXML(), channel.ErrRefused, "APPID_MCHID_NOT_MATCH"},
		{refused2("NOAUTH").hmacXML(), channel.ErrRefused, "NOAUTH"},
		{refused2("看").hmacXML(), channel.ErrUnanswered, "err_code ?"},
		{string(failed.encode("xml", true)), channel.ErrRefused, "return_code FAIL"},
		{string(failed.with(fields{"err_code": "SIGNERROR"}).encode("xml", true)), channel.ErrRefused, "SIGNERROR"},
		{string(failed.with(fields{"err_code": "SYSTEMERROR"}).encode("xml", true)), channel.ErrUnanswered, "SYSTEMERROR"},
		{string(failed.with(fields{"err_code": "ORDERNOTEXIST"}).encode("xml", true)), channel.ErrUnanswered,
			"ORDERNOTEXIST"},
		{string(refused2("SIGNERROR").encode("xml", true)), channel.ErrUnanswered, "SIGNERROR"},
	} {
		h.say(queryPath, test.body)
		answer, err := payer.Query(t.Context(), question())
		checkOutcome(t, answer, err, "", "", test.want)
		if !strings.Contains(err.Error(), test.names) || regexp.MustCompile(`\p{Han}`).MatchString(err.Error()) {
			t.Errorf("error %q should name %q and quote no message", err, test.names)
		}
	}
}

// Whoever reports a payment, v2 or v3, notification or answer, it has the same key and the same digest.
func TestAnAnswerV2AndItsNotificationAreOneEvent(t *testing.T) {
	h, p := newHostV2(), newPlatform(t)
	payer, clientV3, client := h.payer(t), p.client(t), clientV2(t, "")
	rapid.Check(t, func(draw *rapid.T) {
		order := rapid.StringMatching(`[0-9A-Za-z_|*@-]{6,32}`).Draw(draw, "order")
		trade := rapid.StringMatching(`[0-9]{20,32}`).Draw(draw, "transaction")
		fen := rapid.Int64Range(1, 10_000_000_000).Draw(draw, "fen")
		facts := fields{"out_trade_no": order, "transaction_id": trade, "total_fee": strconv.FormatInt(fen, 10)}
		state := rapid.SampledFrom([]string{"SUCCESS", "REFUND"}).Draw(draw, "state")
		h.say(queryPath, paid2(facts).with(fields{"trade_state": state}).hmacXML())
		answer, err := payer.Query(t.Context(), channel.Question{OrderNo: order})
		if err != nil || answer.Standing != channel.StandingPaid || len(answer.Parsed.Events) != 1 {
			draw.Fatalf("%q, %v, %d events", answer.Standing, err, len(answer.Parsed.Events))
		}
		checkSame(draw, answer.Parsed.Events[0], single(t, client, pay2(facts)))
		checkSame(draw, answer.Parsed.Events[0], single(t, clientV3, p.pay(t, doc{"out_trade_no": order,
			"transaction_id": trade, "amount": doc{"total": fen, "currency": "CNY"}})))
	})
}

func TestWhatIsAskedV2(t *testing.T) {
	h := newHostV2()
	base := fields{"appid": appID, "mch_id": mchID, "sign_type": hmacType, "nonce_str": strings.Repeat("61", 16)}
	both := channel.Question{OrderNo: "ORDER-1", TradeNo: channeltest.PaymentNumber}
	for name, test := range map[string]struct {
		change       func(*wechat.PayerV2Config)
		question     channel.Question
		query, close fields
	}{
		"by order": {func(*wechat.PayerV2Config) {}, question(), fields{"out_trade_no": "ORDER-1"},
			fields{"out_trade_no": "ORDER-1"}},
		"by transaction": {func(*wechat.PayerV2Config) {}, both, fields{"transaction_id": channeltest.PaymentNumber},
			fields{"out_trade_no": "ORDER-1"}},
		"with MD5": {func(c *wechat.PayerV2Config) { c.SignType = "MD5" }, question(),
			fields{"out_trade_no": "ORDER-1", "sign_type": "MD5"}, fields{"out_trade_no": "ORDER-1", "sign_type": "MD5"}},
		"for another merchant": {func(c *wechat.PayerV2Config) { c.SubMchID = "1900000999" }, question(),
			fields{"out_trade_no": "ORDER-1", "sub_mch_id": "1900000999"},
			fields{"out_trade_no": "ORDER-1", "sub_mch_id": "1900000999"}},
	} {
		t.Run(name, func(t *testing.T) {
			h.take()
			payer := h.payer(t, test.change, func(c *wechat.PayerV2Config) {
				c.Random = strings.NewReader(strings.Repeat("a", 32))
			})
			// Nothing comes back; only what was asked is of interest.
			_, errQuery := payer.Query(t.Context(), test.question)
			_, errClose := payer.Close(t.Context(), test.question)
			if !errors.Is(errQuery, channel.ErrUnanswered) || !errors.Is(errClose, channel.ErrUnanswered) {
				t.Fatal(errQuery, errClose)
			}
			got := h.take()
			want := []fields{base.with(test.query).with(fields{"path": queryPath}),
				base.with(test.close).with(fields{"path": closePath})}
			if !slices.EqualFunc(got, want, func(a, b fields) bool { return maps.Equal(a, b) }) {
				t.Fatalf("asked %v\nwant %v", got, want)
			}
		})
	}
	silent := h.payer(t, func(c *wechat.PayerV2Config) { c.Random = iotest.ErrReader(io.ErrUnexpectedEOF) })
	_, err := silent.Query(t.Context(), question())
	if !errors.Is(err, channel.ErrUnanswered) || len(h.take()) != 0 {
		t.Fatalf("without a nonce: %v", err)
	}
}
