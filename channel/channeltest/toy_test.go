package channeltest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/money"
)

const toySecret = "toysecret99"

// message is what the toy channel sends, as JSON under an HMAC in the header.
type message struct {
	To, Type, Trade, Order, Refund, Notice string
	Fen, At                                int64
}

// toy is a small adapter that keeps the contract, except for one defect that a test may plant.
type toy struct {
	account channel.Account
	defect  string
}

var _ channel.Channel = toy{}

func (t toy) Account() channel.Account {
	if t.defect == "foreign account" {
		return channel.Account{Tenant: t.account.Tenant + 1, Channel: t.account.Channel, Name: t.account.Name}
	}
	return t.account
}

func (t toy) Ack(held bool) channel.Reply {
	reply := channel.Reply{Status: http.StatusInternalServerError, ContentType: "text/plain", Body: []byte("fail")}
	if held || t.defect == "always held" {
		reply.Status, reply.Body = http.StatusOK, []byte("ok")
	}
	return reply
}

func (t toy) Parse(_ context.Context, r channel.Request) (channel.Parsed, error) {
	switch t.defect {
	case "panics":
		return channel.Parsed{Hints: make([]channel.Hint, len(r.Body)-1)}, nil
	case "changes the header":
		r.Header.Del("Toy-Nonce")
	}
	if len(r.Body) == 0 || len(r.Body) > channel.MaxBodyBytes {
		return channel.Parsed{}, channel.ErrMalformed
	}
	mac := toyMAC([]byte(toySecret), r.Header.Get("Toy-Nonce"), r.Body)
	if t.defect != "believes everything" && !hmac.Equal([]byte(mac), []byte(r.Header.Get("Toy-Mac"))) {
		switch t.defect {
		case "tells the secret":
			return channel.Parsed{}, fmt.Errorf("%w: key %s", channel.ErrForged, toySecret)
		case "tells the body":
			return channel.Parsed{}, fmt.Errorf("%w: %s", channel.ErrForged, r.Body)
		case "no reason":
			return channel.Parsed{}, context.Canceled
		case "two reasons":
			return channel.Parsed{}, fmt.Errorf("%w: %w", channel.ErrForged, channel.ErrMalformed)
		}
		return channel.Parsed{}, channel.ErrForged
	}
	if t.defect == "claims every wording" {
		return t.decode(r.Body)
	}
	return t.decode(bytes.TrimSpace(r.Body))
}

func (t toy) decode(body []byte) (channel.Parsed, error) {
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return channel.Parsed{Hints: []channel.Hint{channel.Quarantine(t.account, body, "not JSON")}}, nil
	}
	if m.To != t.account.Name && t.defect != "any merchant" {
		return channel.Parsed{}, channel.ErrIdentity
	}
	e := channel.Event{Kind: channel.PaymentReceived, BizNo: []string{m.Trade}, OrderNo: m.Order, TradeNo: m.Trade,
		Amount: money.New(m.Fen, money.CNY), HappenedAt: time.Unix(m.At, 0)}
	if m.Type != "PAID" {
		if t.defect == "drops the unknown" {
			return channel.Parsed{}, nil
		}
		e.Kind = channel.Kind(m.Type)
		if e.Kind.IsHint() || e.Kind == "" || !strings.HasPrefix(m.Type, "REFUND_") {
			return channel.Parsed{Hints: []channel.Hint{channel.Quarantine(t.account, body, "unknown type")}}, nil
		}
		e.BizNo, e.RefundNo = []string{m.Trade, m.Refund}, m.Refund
	}
	switch t.defect {
	case "key from the notice":
		e.BizNo = append(e.BizNo, m.Notice)
	case "key from the trade":
		e.BizNo, e.Kind = []string{m.Trade}, channel.PaymentReceived
	case "folds case":
		e.BizNo[0] = strings.ToLower(m.Trade)
	case "trims":
		e.BizNo[0] = strings.TrimSpace(m.Trade)
	case "amount from the notice":
		e.Amount.Minor += int64(len(m.Notice))
	case "does not validate":
		e.Tenant, e.Channel, e.Account = t.account.Tenant, t.account.Channel, t.account.Name
		return channel.Parsed{Events: []channel.Event{e}}, nil
	}
	return channel.One(t.account, e, body), nil
}

func toyMAC(secret []byte, nonce string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(nonce + "\n"))
	mac.Write(bytes.TrimSpace(body)) // white space around a toy's message is not signed
	return hex.EncodeToString(mac.Sum(nil))
}

func toyRequest(secret, nonce string, body []byte) channel.Request {
	header := http.Header{"Toy-Nonce": {nonce}, "Toy-Mac": {toyMAC([]byte(secret), nonce, body)}}
	return channel.Request{Header: header, Body: body, Received: time.Unix(1_800_000_000, 0)}
}

func toySend(tb testing.TB, variant int, m message) channel.Request {
	tb.Helper()
	m.Notice = strings.Repeat("n", variant)
	body, err := json.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return toyRequest(toySecret, strconv.Itoa(variant), body)
}

// toySubject describes the toy channel, with the defect planted in its adapter.
func toySubject(defect string) Subject {
	account := channel.Account{Tenant: 7, Channel: "TOY", Name: "shop"}
	paid := message{To: "shop", Type: "PAID", Trade: PaymentNumber, Order: "order-1", Fen: 1999, At: 1_790_000_000}
	return Subject{
		New:      func(testing.TB) channel.Channel { return toy{account, defect} },
		Account:  account,
		Received: time.Unix(1_800_000_000, 0),
		Payment: func(tb testing.TB, n Notice) channel.Request {
			m := paid
			m.Trade = n.Number
			r := toySend(tb, n.Variant, m)
			if n.Extra {
				body := append([]byte(`{"nobody":"knows",`), r.Body[1:]...)
				r = toyRequest(toySecret, "extra", body)
			}
			return r
		},
		Refund: func(tb testing.TB, which, variant int) channel.Request {
			m := paid
			m.Type, m.Refund, m.Fen = "REFUND_SUCCEEDED", strconv.Itoa(which), 100
			return toySend(tb, variant, m)
		},
		Authentic: func(_ testing.TB, text []byte) channel.Request { return toyRequest(toySecret, "n", text) },
		Messages:  [][]byte{[]byte(`{"To":"shop","Type":"PAID","Trade":"1","Order":"2","Fen":3}`)},
		Refused: func(tb testing.TB) []Refusal {
			good, foreign := toySend(tb, 0, paid), paid
			foreign.To = "stall"
			unsigned := channel.Request{Header: http.Header{}, Body: good.Body, Received: good.Received}
			changed := toySend(tb, 0, paid)
			changed.Body = []byte(strings.Replace(string(good.Body), "1999", "1", 1))
			damaged := toySend(tb, 0, paid)
			damaged.Header.Set("Toy-Mac", strings.ToUpper(good.Header.Get("Toy-Mac")))
			return []Refusal{
				{"no signature", unsigned, channel.ErrForged},
				{"changed body", changed, channel.ErrForged},
				{"damaged signature", damaged, channel.ErrForged},
				{"a stranger's key", toyRequest("stranger", "0", good.Body), channel.ErrForged},
				{"another merchant", toySend(tb, 0, foreign), channel.ErrIdentity},
				{"no body", toyRequest(toySecret, "0", nil), channel.ErrMalformed},
			}
		},
		Unbookable: func(tb testing.TB) []Delivery {
			unknown, nothing := paid, paid
			unknown.Type, nothing.Fen = "FROZEN", 0
			return []Delivery{
				{"unknown type", toySend(tb, 0, unknown)},
				{"no amount", toySend(tb, 0, nothing)},
				{"not JSON", toyRequest(toySecret, "0", []byte("paid!"))},
			}
		},
		Signed: func(body []byte) (int, int) { return 0, len(body) },
		Reworded: func(_ testing.TB, r channel.Request) []channel.Request {
			r.Body = append(slices.Clone(r.Body), '\n')
			return []channel.Request{r}
		},
		Held:     channel.Reply{Status: 200, ContentType: "text/plain", Body: []byte("ok")},
		Refusing: channel.Reply{Status: 500, ContentType: "text/plain", Body: []byte("fail")},
		Secrets:  []string{toySecret},
	}
}
