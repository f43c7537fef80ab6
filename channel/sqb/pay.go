package sqb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/paidonce/paidonce/channel"
)

// PayerConfig is one Shouqianba merchant account, asking side.
type PayerConfig struct {
	// Account has the channel "SQB".
	Account channel.Account
	// TerminalSNs are the terminals whose orders belong to the account. An order is known to its own terminal for
	// certain and to others perhaps, so each is asked in turn: put the busiest first.
	TerminalSNs []string
	// Keys knows the terminals' keys. If it is a KeyStore, a key that is refused is followed by the previous one.
	Keys Keys
	// HTTP sends the requests. Nil is a client with a time limit of ten seconds. A redirect is never followed: an
	// *http.Client is copied and told so, any other Doer has to hand out the 3xx answer as it came.
	HTTP channel.Doer
	// BaseURL is the Web API's host; empty is Shouqianba's own. It must be https, because answers are not signed and
	// TLS is all that vouches for them. AllowHTTP also takes http, for a sandbox on the same machine.
	BaseURL   string
	AllowHTTP bool
}

// Payer asks Shouqianba about the payments of one account. It keeps no state and is safe for concurrent use if Keys
// is.
type Payer struct {
	account   channel.Account
	terminals []string
	link      link
}

var _ channel.Payer = (*Payer)(nil)

// NewPayer checks the configuration; ErrConfig says what is missing.
func NewPayer(c PayerConfig) (*Payer, error) {
	if c.Account.Channel != Code || c.Account.Tenant <= 0 || c.Account.Name == "" {
		return nil, fmt.Errorf("%w: the account needs a tenant, a name and the channel %s", ErrConfig, Code)
	}
	if len(c.TerminalSNs) == 0 {
		return nil, fmt.Errorf("%w: no terminal", ErrConfig)
	}
	for i, sn := range c.TerminalSNs {
		if !channel.ValidNumber(sn) {
			return nil, fmt.Errorf("%w: terminal %d is not a terminal_sn", ErrConfig, i+1)
		}
	}
	l, err := newLink(c.HTTP, c.BaseURL, c.AllowHTTP, c.Keys)
	if err != nil {
		return nil, err
	}
	return &Payer{account: c.Account, terminals: slices.Clone(c.TerminalSNs), link: l}, nil
}

// Account is the account whose payments are asked about.
func (p *Payer) Account() channel.Account { return p.account }

// Query asks each terminal with /upay/v2/query until one knows the order. StandingAbsent means that none does, which
// proves nothing: an order may show only after the payer has scanned it. If a terminal did not answer, or turned the
// question down, and no other knew the order, that is the result, because the order may be there.
func (p *Payer) Query(ctx context.Context, q channel.Question) (channel.Answer, error) {
	answer, _, err := p.find(ctx, q)
	return answer, err
}

// Close asks with /upay/v2/cancel, the reversal of a payment under way, which is possible on the order's own day only
// (Shouqianba upay docs, cancel and revoke). A cancel gives the money back if the order is paid, and no refund of ours
// would stand for it. So the order is queried first, and only an open one is cancelled; any other standing is returned
// as it is, which for an order that SQB does not show yet is StandingAbsent.
//
// The payer may still pay between the two calls. The order was certainly unpaid if Shouqianba says that it broke off a
// payment under way (CANCEL_ABORT_SUCCESS) or that the payment failed (PAY_CANCELED): that is StandingClosed. A plain
// CANCELED may have been paid and reversed, and no field of the answer tells, so that is StandingUnknown.
func (p *Payer) Close(ctx context.Context, q channel.Question) (channel.Answer, error) {
	answer, terminal, err := p.find(ctx, q)
	if err != nil || answer.Standing != channel.StandingOpen {
		return answer, err
	}
	fields, err := request(terminal, q)
	if err != nil {
		return channel.Answer{}, err
	}
	r, err := p.link.ask(ctx, terminal, "/upay/v2/cancel", fields)
	if err != nil {
		return channel.Answer{}, err
	}
	code, err := r.biz.Text("result_code")
	if err != nil {
		return channel.Answer{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	switch code {
	case cancelDone:
		return p.interpret(r, q, false)
	case cancelAborted:
		return p.interpret(r, q, true)
	}
	return p.afterFailure(ctx, terminal, q, r)
}

// afterFailure asks where an order stands that was not cancelled. FAIL means that nothing was started, so if the order
// is open the cancel was refused; all other codes leave it unclear whether it is under way.
func (p *Payer) afterFailure(ctx context.Context, terminal string, q channel.Question, r reply) (
	channel.Answer, error,
) {
	answer, err := p.queryAt(ctx, terminal, q)
	if err != nil || answer.Standing != channel.StandingOpen {
		return answer, err
	}
	codes, err := r.biz.Texts("result_code", "error_code")
	if err != nil {
		return channel.Answer{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	kind := channel.ErrUnanswered
	if codes[0] == bizFail && !providerUnclear(codes[1]) {
		kind = channel.ErrRefused
	}
	return channel.Answer{}, fmt.Errorf("%w: %s %s", kind, word(codes[0]), word(codes[1]))
}

// find asks the terminals in turn and says which one knew the order.
func (p *Payer) find(ctx context.Context, q channel.Question) (answer channel.Answer, terminal string, err error) {
	var refused, unanswered error
	for _, terminal := range p.terminals {
		asked, err := p.queryAt(ctx, terminal, q)
		switch {
		case err == nil && asked.Standing != channel.StandingAbsent:
			return asked, terminal, nil
		case err == nil:
			answer = asked
		case errors.Is(err, channel.ErrRefused) && refused == nil:
			refused = err
		case !errors.Is(err, channel.ErrRefused) && unanswered == nil:
			unanswered = err
		}
	}
	if unanswered != nil {
		return channel.Answer{}, "", unanswered
	}
	if refused != nil {
		return channel.Answer{}, "", refused
	}
	return answer, "", nil
}

// request names the order. The channel's own number wins, and the other is then left out: Shouqianba looks for
// client_sn where sn is not found, and would answer about another order than was meant.
func request(terminal string, q channel.Question) (map[string]string, error) {
	name, number := "client_sn", q.OrderNo
	if q.TradeNo != "" {
		name, number = "sn", q.TradeNo
	}
	if !channel.ValidNumber(number) {
		return nil, fmt.Errorf("%w: the question names no order", channel.ErrRefused)
	}
	return map[string]string{"terminal_sn": terminal, name: number}, nil
}

// queryAt asks one terminal.
func (p *Payer) queryAt(ctx context.Context, terminal string, q channel.Question) (channel.Answer, error) {
	fields, err := request(terminal, q)
	if err != nil {
		return channel.Answer{}, err
	}
	r, err := p.link.ask(ctx, terminal, "/upay/v2/query", fields)
	if err != nil {
		return channel.Answer{}, err
	}
	codes, err := r.biz.Texts("result_code", "error_code")
	if err != nil {
		return channel.Answer{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	switch {
	case codes[0] == bizSuccess:
		return p.interpret(r, q, false)
	case codes[0] == bizFail && (codes[1] == "UPAY_ORDER_NOT_EXISTS" || codes[1] == "TRADE_NOT_EXIST"):
		return channel.Answer{Standing: channel.StandingAbsent, Raw: r.raw, Note: codes[1]}, nil
	case codes[0] == bizFail && codes[1] != "" && !providerUnclear(codes[1]):
		return channel.Answer{}, fmt.Errorf("%w: %s %s", channel.ErrRefused, codes[0], word(codes[1]))
	}
	return channel.Answer{}, fmt.Errorf("%w: %s %s", channel.ErrUnanswered, word(codes[0]), word(codes[1]))
}
