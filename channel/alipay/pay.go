package alipay

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/paidonce/paidonce/channel"
)

// productionGateway is where Alipay takes all requests (Alipay open platform, gateway address).
const productionGateway = "https://openapi.alipay.com/gateway.do"

// PayerConfig is one Alipay application of one seller, asking side.
type PayerConfig struct {
	// Account, AppID, SellerIDs, PublicKeys and Certificates are as in Config. Answers are signed like notifications.
	Account      channel.Account
	AppID        string
	SellerIDs    []string
	PublicKeys   []*rsa.PublicKey
	Certificates map[string]*rsa.PublicKey
	// AuthToken is the app_auth_token of the merchant for whom we ask (ISV mode); empty for our own shop.
	AuthToken string
	// PrivateKey is the application's own key, of at least 2048 bits: it signs what we ask.
	PrivateKey *rsa.PrivateKey
	// AppCertSN and AlipayRootCertSN are the serials of our certificate and of Alipay's root. Certificate mode needs
	// both, and at least one of the Certificates; key mode needs neither.
	AppCertSN        string
	AlipayRootCertSN string
	// HTTP sends the requests. Nil is a client with a time limit of ten seconds. A redirect is never followed: an
	// *http.Client is copied and told so, any other Doer has to hand out the 3xx answer as it came.
	HTTP channel.Doer
	// Gateway is the address of the gateway; empty is Alipay's own.
	Gateway string
	// AllowHTTP also takes a Gateway without TLS, for a sandbox on the same machine. Answers are signed, but the
	// signature covers neither the question nor the time, so only TLS keeps an old answer from being played again.
	AllowHTTP bool
	// Clock gives the time of a request; Alipay refuses one that is far off.
	Clock func() time.Time
}

// Payer asks Alipay about the payments of one account. It keeps no state and is safe for concurrent use.
type Payer struct {
	config   PayerConfig
	receiver *Client // holds whose answers are believed
}

var _ channel.Payer = (*Payer)(nil)

// NewPayer checks the configuration; ErrConfig says what is missing.
func NewPayer(c PayerConfig) (*Payer, error) {
	receiver, err := New(Config{Account: c.Account, AppID: c.AppID, SellerIDs: c.SellerIDs, PublicKeys: c.PublicKeys,
		Certificates: c.Certificates})
	if err != nil {
		return nil, err
	}
	if c.PrivateKey == nil || channel.UsableKey(&c.PrivateKey.PublicKey) != nil || c.PrivateKey.Validate() != nil {
		return nil, fmt.Errorf("%w: the application's private key is missing, too short or broken", ErrConfig)
	}
	if (c.AppCertSN == "") != (c.AlipayRootCertSN == "") || c.AppCertSN != "" && len(c.Certificates) == 0 {
		return nil, fmt.Errorf("%w: certificate mode needs both serials and a certificate of Alipay", ErrConfig)
	}
	if c.Clock == nil {
		return nil, fmt.Errorf("%w: no clock", ErrConfig)
	}
	if c.Gateway == "" {
		c.Gateway = productionGateway
	}
	address, err := url.Parse(c.Gateway)
	if err != nil || address.Host == "" || address.Scheme != "https" && !(c.AllowHTTP && address.Scheme == "http") {
		return nil, fmt.Errorf("%w: the gateway needs an https address", ErrConfig)
	}
	c.HTTP, c.SellerIDs = channel.WithoutRedirects(c.HTTP), receiver.config.SellerIDs
	return &Payer{c, receiver}, nil
}

// Account is the account whose payments are asked about.
func (p *Payer) Account() channel.Account { return p.config.Account }

// Query asks with alipay.trade.query. An order that nobody has scanned or opened yet has no trade at Alipay: that is
// StandingAbsent, and it may still be paid (Alipay open platform, alipay.trade.query, ACQ.TRADE_NOT_EXIST).
func (p *Payer) Query(ctx context.Context, q channel.Question) (channel.Answer, error) {
	r, err := p.ask(ctx, "alipay.trade.query", q)
	if errors.Is(err, errAbsent) {
		return absent(r), nil
	}
	if err != nil {
		return channel.Answer{}, err
	}
	return p.interpret(r, q)
}

// Close asks with alipay.trade.close, which closes an unpaid trade and refuses any other; what became of it is then
// asked with Query. Where Alipay has no trade yet there is nothing to close: that is StandingAbsent, and the buyer can
// still scan or open the order until its own time limit is over.
func (p *Payer) Close(ctx context.Context, q channel.Question) (channel.Answer, error) {
	r, err := p.ask(ctx, "alipay.trade.close", q)
	switch {
	case errors.Is(err, errAbsent):
		return absent(r), nil
	case errors.Is(err, channel.ErrRefused) && r.code == codeBusiness:
		return p.afterRefusal(ctx, q, err)
	case err != nil:
		return channel.Answer{}, err
	}
	if r.fields["trade_status"] != nil {
		return channel.Answer{}, fmt.Errorf("%w: the answer belongs to another question", channel.ErrUnanswered)
	}
	return p.closed(ctx, r, q)
}

// afterRefusal asks where a trade stands that Alipay did not close. If it is open all the same, the refusal stands.
func (p *Payer) afterRefusal(ctx context.Context, q channel.Question, refusal error) (channel.Answer, error) {
	answer, err := p.Query(ctx, q)
	if err == nil && answer.Standing == channel.StandingOpen {
		return channel.Answer{}, refusal
	}
	return answer, err
}

// Cancel asks with alipay.trade.cancel, for a payment at the counter whose outcome stayed unknown: Alipay closes the
// trade if it is unpaid and gives the money back if it is paid (Alipay open platform, alipay.trade.cancel). Such a
// refund has no number of ours, so an order that is known to be paid is refunded instead and never cancelled.
//
// The standing is closed if nothing had been paid. If something had, it is paid: the payment did happen, and the
// refund is a second fact that the bill or a notification reports. ErrUnanswered includes Alipay's "call again".
func (p *Payer) Cancel(ctx context.Context, q channel.Question) (channel.Answer, error) {
	r, err := p.ask(ctx, "alipay.trade.cancel", q)
	if errors.Is(err, errAbsent) {
		return absent(r), nil
	}
	if err != nil {
		return channel.Answer{}, err
	}
	words, err := r.fields.Texts("action", "retry_flag")
	if err != nil || words[1] != "N" {
		return channel.Answer{}, fmt.Errorf("%w: not cancelled yet", channel.ErrUnanswered)
	}
	switch words[0] {
	case "close":
		return p.closed(ctx, r, q)
	case "refund":
		answer, err := p.Query(ctx, q)
		if err == nil && answer.Standing != channel.StandingPaid {
			answer.Standing, answer.Parsed = channel.StandingUnknown, channel.Parsed{}
		}
		return answer, err
	}
	return p.Query(ctx, q)
}
