package wechat

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/paidonce/paidonce/channel"
)

// productionHost is where WeChat Pay takes all requests (WeChat Pay v3 docs, request address).
const productionHost = "https://api.mch.weixin.qq.com"

// PayerConfig is one merchant account at WeChat Pay, asking side, for API v3.
type PayerConfig struct {
	// Account, MchID, AppIDs, PlatformKeys and Window are as in Config. Answers are signed like notifications.
	Account      channel.Account
	MchID        string
	AppIDs       []string
	PlatformKeys map[string]*rsa.PublicKey
	Window       time.Duration
	// SubMchID is the merchant for whom a service provider asks; MchID is then the provider's own number. Empty for
	// a direct merchant.
	SubMchID string
	// SerialNo is the serial number, in hexadecimal, of the merchant API certificate of MchID. PrivateKey, of at
	// least 2048 bits, belongs to it and signs what we ask.
	SerialNo   string
	PrivateKey *rsa.PrivateKey
	// HTTP sends the requests. Nil is a client with a time limit of ten seconds. A redirect is never followed: an
	// *http.Client is copied and told so, any other Doer has to hand out the 3xx answer as it came.
	HTTP channel.Doer
	// BaseURL is scheme and host of the API; empty is WeChat Pay's own.
	BaseURL string
	// AllowHTTP also takes a BaseURL without TLS, for a sandbox on the same machine. Answers are signed, but the
	// signature does not cover the question, so only TLS keeps the answer to one from being given to another.
	AllowHTTP bool
	// Clock gives the time of a request and of its answer; WeChat Pay refuses a request that is far off.
	Clock func() time.Time
	// Random makes the nonces; it must be safe for concurrent use. Nil is crypto/rand.
	Random io.Reader
}

// Payer asks WeChat Pay about the payments of one account, by API v3. It keeps no state and is safe for concurrent
// use.
type Payer struct {
	receiver *Client // holds whose answers are believed, and has no key to decrypt: answers are not encrypted
	subMchID string
	serialNo string
	key      *rsa.PrivateKey
	answerBy string // id of the public key that shall sign the answers; empty: a certificate may
	line     line
	clock    func() time.Time
}

var _ channel.Payer = (*Payer)(nil)

// NewPayer checks the configuration; ErrConfig says what is missing.
func NewPayer(c PayerConfig) (*Payer, error) {
	id, err := newIdentity(c.Account, c.MchID, c.AppIDs)
	if err != nil {
		return nil, err
	}
	keys, err := platformKeys(c.PlatformKeys)
	if err != nil {
		return nil, err
	}
	switch {
	case !validNumber(c.MchID) || c.SubMchID != "" && !validNumber(c.SubMchID):
		return nil, fmt.Errorf("%w: a merchant number has characters that none has", ErrConfig)
	case c.SerialNo == "" || strings.Trim(strings.ToUpper(c.SerialNo), "0123456789ABCDEF") != "":
		return nil, fmt.Errorf("%w: the certificate's serial number is not hexadecimal", ErrConfig)
	case c.PrivateKey == nil || channel.UsableKey(&c.PrivateKey.PublicKey) != nil || c.PrivateKey.Validate() != nil:
		return nil, fmt.Errorf("%w: the merchant's private key is missing, too short or broken", ErrConfig)
	case c.Window < 0:
		return nil, fmt.Errorf("%w: the window is negative", ErrConfig)
	case c.Clock == nil:
		return nil, fmt.Errorf("%w: no clock", ErrConfig)
	case c.Window == 0:
		c.Window = DefaultWindow
	}
	line, err := newLine(c.HTTP, c.BaseURL, c.AllowHTTP, c.Random)
	if err != nil {
		return nil, err
	}
	p := &Payer{receiver: &Client{identity: id, keys: keys, window: c.Window}, subMchID: c.SubMchID,
		serialNo: c.SerialNo, key: c.PrivateKey, line: line, clock: c.Clock}
	for _, serial := range slices.Sorted(maps.Keys(c.PlatformKeys)) {
		if p.answerBy == "" && strings.HasPrefix(serial, publicKeyPrefix) {
			p.answerBy = serial
		}
	}
	return p, nil
}

// Account is the account whose payments are asked about.
func (p *Payer) Account() channel.Account { return p.receiver.account }

// Query asks where the order stands (WeChat Pay v3 docs, query order). Only a paid order has a transaction_id, so one
// that may be unpaid is asked about by its own number. An order that WeChat Pay does not know is StandingAbsent.
func (p *Payer) Query(ctx context.Context, q channel.Question) (channel.Answer, error) {
	name, number := "out-trade-no", q.OrderNo
	if q.TradeNo != "" {
		name, number = "id", q.TradeNo
	}
	if !validNumber(number) || q.OrderNo != "" && !validNumber(q.OrderNo) {
		return channel.Answer{}, errNoOrder()
	}
	asker := url.Values{}
	for field, value := range p.merchants() {
		asker.Set(field, value)
	}
	r, err := p.ask(ctx, http.MethodGet, p.transactions()+"/"+name+"/"+url.PathEscape(number)+"?"+asker.Encode(), nil)
	if errors.Is(err, errAbsent) {
		return absent(r.raw, r.code), nil
	}
	if err != nil {
		return channel.Answer{}, err
	}
	return p.interpret(r, q)
}

// Close asks WeChat Pay to close an unpaid order (WeChat Pay v3 docs, close order). It needs the merchant's number.
// Where WeChat Pay says that the order is paid or closed already, Query tells which. A payment by code scan cannot be
// closed, only reversed: that is refused.
func (p *Payer) Close(ctx context.Context, q channel.Question) (channel.Answer, error) {
	if !validNumber(q.OrderNo) {
		return channel.Answer{}, errNoOrder()
	}
	content, err := encodeClose(p.merchants())
	if err != nil {
		return channel.Answer{}, err
	}
	path := p.transactions() + "/out-trade-no/" + url.PathEscape(q.OrderNo) + "/close"
	r, err := p.ask(ctx, http.MethodPost, path, content)
	switch {
	case errors.Is(err, errAbsent):
		return absent(r.raw, r.code), nil
	case errors.Is(err, errState):
		return afterRefusal(ctx, p, q, err)
	case err != nil:
		return channel.Answer{}, err
	}
	return p.receiver.closed(q.OrderNo, r.raw, "closed"), nil
}

// Reverse takes an order of a payment by code scan back, whether it was paid or not: an unpaid one is closed, a paid
// one is refunded by WeChat Pay itself (WeChat Pay v3 docs, reverse order). It is for a payment whose outcome stays
// unclear at the till, and never for one that is known to be paid. What became of the order is asked afterwards: a
// reversed one that may have been paid is StandingUnknown, and its refund is an event of its own.
func (p *Payer) Reverse(ctx context.Context, q channel.Question) (channel.Answer, error) {
	if !validNumber(q.OrderNo) || q.TradeNo != "" && !validNumber(q.TradeNo) {
		return channel.Answer{}, errNoOrder()
	}
	asker := p.merchants()
	asker[p.application()] = p.receiver.appIDs[0]
	content, err := encodeClose(asker)
	if err != nil {
		return channel.Answer{}, err
	}
	path := p.transactions() + "/out-trade-no/" + url.PathEscape(q.OrderNo) + "/reverse"
	r, err := p.askReversal(ctx, path, content)
	switch {
	case errors.Is(err, errAbsent):
		return absent(r.raw, r.code), nil
	case errors.Is(err, errState):
		return afterRefusal(ctx, p, q, err)
	case err != nil:
		return channel.Answer{}, err
	}
	return p.afterReversal(ctx, q)
}

// afterRefusal asks where an order stands that WeChat Pay did not close. If it is open all the same, the refusal
// stands.
func afterRefusal(ctx context.Context, p channel.Payer, q channel.Question, refusal error) (channel.Answer, error) {
	answer, err := p.Query(ctx, q)
	if err == nil && answer.Standing == channel.StandingOpen {
		return channel.Answer{}, refusal
	}
	return answer, err
}

// merchants are the names under which a direct merchant, or a service provider for one, presents itself.
func (p *Payer) merchants() map[string]string {
	if p.subMchID == "" {
		return map[string]string{"mchid": p.receiver.mchID}
	}
	return map[string]string{"sp_mchid": p.receiver.mchID, "sub_mchid": p.subMchID}
}

func (p *Payer) transactions() string {
	if p.subMchID == "" {
		return "/v3/pay/transactions"
	}
	return "/v3/pay/partner/transactions"
}

// newLine checks what both versions of the API need to ask at all.
func newLine(d channel.Doer, base string, allowHTTP bool, random io.Reader) (line, error) {
	if base == "" {
		base = productionHost
	}
	address, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil || address.Host == "" || address.Scheme != "https" && !(allowHTTP && address.Scheme == "http") {
		return line{}, fmt.Errorf("%w: the API needs an https address", ErrConfig)
	}
	// The path is signed. A prefix would have to be signed too, or not, depending on who takes it off again.
	if (&url.URL{Scheme: address.Scheme, Host: address.Host}).String() != address.String() {
		return line{}, fmt.Errorf("%w: the address is more than scheme and host", ErrConfig)
	}
	if random == nil {
		random = rand.Reader
	}
	return line{channel.WithoutRedirects(d), address.String(), random}, nil
}
