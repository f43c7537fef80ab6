package wechat

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/money"
)

// PayerV2Config is one merchant account at WeChat Pay, asking side, for API v2.
type PayerV2Config struct {
	Account channel.Account // Channel is Code
	MchID   string          // mch_id; a service provider's own
	// AppIDs are as in ConfigV2. The first one asks.
	AppIDs []string
	// SubMchID is the merchant for whom a service provider asks; empty for a direct merchant.
	SubMchID string
	// APIKeys are as in ConfigV2. The first one signs what we ask, any may have signed an answer.
	APIKeys []string
	// SignType is "MD5", "HMAC-SHA256", or empty: then HMAC-SHA256 is asked for and both are taken.
	SignType string
	// Currency is as in ConfigV2: what the account is paid in; empty is CNY.
	Currency money.Currency
	// HTTP sends the requests. Nil is a client with a time limit of ten seconds. A redirect is never followed: an
	// *http.Client is copied and told so, any other Doer has to hand out the 3xx answer as it came.
	HTTP channel.Doer
	// BaseURL is scheme and host of the API; empty is WeChat Pay's own.
	BaseURL string
	// AllowHTTP also takes a BaseURL without TLS, for a sandbox on the same machine. The signature of an answer covers
	// neither the question nor any time, so only TLS keeps an old answer from being played again.
	AllowHTTP bool
	// Random makes the nonces; it must be safe for concurrent use. Nil is crypto/rand.
	Random io.Reader
}

// PayerV2 asks WeChat Pay about the payments of one account, by API v2. It keeps no state and is safe for concurrent
// use.
type PayerV2 struct {
	receiver *ClientV2 // holds whose answers are believed
	subMchID string
	line     line
}

var _ channel.Payer = (*PayerV2)(nil)

// NewPayerV2 checks the configuration; ErrConfig says what is missing.
func NewPayerV2(c PayerV2Config) (*PayerV2, error) {
	receiver, err := NewV2(ConfigV2{Account: c.Account, MchID: c.MchID, AppIDs: c.AppIDs, APIKeys: c.APIKeys,
		SignType: c.SignType, Currency: c.Currency})
	if err != nil {
		return nil, err
	}
	// What is signed joins the values by separators, so no value that we send may hold one.
	if !validNumber(c.MchID) || !validNumber(c.AppIDs[0]) || c.SubMchID != "" && !validNumber(c.SubMchID) {
		return nil, fmt.Errorf("%w: a merchant or application has characters that none has", ErrConfig)
	}
	line, err := newLine(c.HTTP, c.BaseURL, c.AllowHTTP, c.Random)
	if err != nil {
		return nil, err
	}
	return &PayerV2{receiver, c.SubMchID, line}, nil
}

// Account is the account whose payments are asked about.
func (p *PayerV2) Account() channel.Account { return p.receiver.account }

// Query asks where the order stands (WeChat Pay v2 docs, query order). Only a paid order has a transaction_id, so one
// that may be unpaid is asked about by its own number. An order that WeChat Pay does not know is StandingAbsent.
func (p *PayerV2) Query(ctx context.Context, q channel.Question) (channel.Answer, error) {
	name, number := "out_trade_no", q.OrderNo
	if q.TradeNo != "" {
		name, number = "transaction_id", q.TradeNo
	}
	if !validNumber(number) || q.OrderNo != "" && !validNumber(q.OrderNo) {
		return channel.Answer{}, errNoOrder()
	}
	r, err := p.ask(ctx, "/pay/orderquery", name, number)
	if errors.Is(err, errAbsent) {
		return absent(r.raw, r.fields["err_code"]), nil
	}
	if err != nil {
		return channel.Answer{}, err
	}
	a := told{order: r.fields["out_trade_no"], trade: r.fields["transaction_id"], state: r.fields["trade_state"],
		paidAt: r.fields["time_end"], raw: r.raw}
	if err := a.about(q); err != nil {
		return channel.Answer{}, err
	}
	return p.receiver.standing(a, func() (channel.Event, error) { return p.receiver.payment(r.fields) }), nil
}

// Close asks WeChat Pay to close an unpaid order (WeChat Pay v2 docs, close order). It needs the merchant's number.
// Where WeChat Pay says that the order is paid or closed already, Query tells which. A payment by code scan cannot be
// closed, only reversed, and that needs a client certificate: it is not done here.
func (p *PayerV2) Close(ctx context.Context, q channel.Question) (channel.Answer, error) {
	if !validNumber(q.OrderNo) {
		return channel.Answer{}, errNoOrder()
	}
	r, err := p.ask(ctx, "/pay/closeorder", "out_trade_no", q.OrderNo)
	switch {
	case errors.Is(err, errAbsent):
		return absent(r.raw, r.fields["err_code"]), nil
	case errors.Is(err, errState):
		return afterRefusal(ctx, p, q, err)
	case err != nil:
		return channel.Answer{}, err
	}
	order := r.fields["out_trade_no"] // the documents name none
	if r.fields["trade_state"] != "" || r.fields["transaction_id"] != "" || order != "" && order != q.OrderNo {
		return channel.Answer{}, fmt.Errorf("%w: the answer belongs to another question", channel.ErrUnanswered)
	}
	return p.receiver.closed(q.OrderNo, r.raw, "closed"), nil
}

// replyV2 is a verified answer of API v2.
type replyV2 struct {
	fields map[string]string
	raw    []byte
}

// ask sends one signed question about one number. The reply is usable as evidence also beside errAbsent.
func (p *PayerV2) ask(ctx context.Context, path, name, number string) (replyV2, error) {
	nonce, err := p.line.nonce()
	if err != nil {
		return replyV2{}, err
	}
	fields := map[string]string{"appid": p.receiver.appIDs[0], "mch_id": p.receiver.mchID, "nonce_str": nonce,
		"sign_type": p.receiver.signType, name: number}
	if fields["sign_type"] == "" {
		fields["sign_type"] = signHMAC
	}
	if p.subMchID != "" {
		fields["sub_mch_id"] = p.subMchID
	}
	fields["sign"] = signature(fields["sign_type"], fields, p.receiver.apiKeys[0])
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.line.base+path, bytes.NewReader(document(fields)))
	if err != nil {
		return replyV2{}, fmt.Errorf("%w: the request cannot be made", channel.ErrRefused)
	}
	request.Header.Set("Content-Type", "text/xml; charset=utf-8")
	answer, err := p.line.send(request)
	if err != nil {
		return replyV2{}, err
	}
	return p.open(answer)
}

// document writes fields as the flat XML of v2.
func document(fields map[string]string) []byte {
	var b bytes.Buffer
	b.WriteString("<xml>")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		b.WriteString("<" + name + ">")
		_ = xml.EscapeText(&b, []byte(fields[name])) // a bytes.Buffer takes everything
		b.WriteString("</" + name + ">")
	}
	b.WriteString("</xml>")
	return b.Bytes()
}

// open verifies an answer and sorts its three layers (WeChat Pay v2 docs, query order): return_code says whether the
// question was taken at all, result_code whether it was answered, err_code why not.
//
// WeChat Pay does not sign the answer to a question that it did not take, one of wrong form or signature. That is
// taken for what it is: a word to the operator. Everything else that is not signed is no answer.
func (p *PayerV2) open(a received) (replyV2, error) {
	if a.status != http.StatusOK {
		return replyV2{}, fmt.Errorf("%w: HTTP status %d", channel.ErrUnanswered, a.status)
	}
	fields, err := flatXML(a.body, "xml")
	if err != nil {
		return replyV2{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	code := fields["err_code"]
	why := fmt.Sprintf("return_code %s, result_code %s, err_code %s", word(fields["return_code"]),
		word(fields["result_code"]), word(code))
	if fields["sign"] == "" && fields["return_code"] == "FAIL" {
		kind := verdict(code, why)
		if code == "" || errors.Is(kind, channel.ErrRefused) {
			return replyV2{}, fmt.Errorf("%w: unsigned, %s", channel.ErrRefused, why)
		}
	}
	if err := p.believe(fields); err != nil {
		return replyV2{}, fmt.Errorf("%w: %s: %w", channel.ErrUnanswered, why, err)
	}
	r := replyV2{fields: fields, raw: a.body}
	if fields["return_code"] == stateSuccess && fields["result_code"] == stateSuccess {
		return r, nil
	}
	return r, verdict(code, why)
}

// believe checks that an answer is signed, that its signed text has only one reading, and that it is for this account.
func (p *PayerV2) believe(fields map[string]string) error {
	if err := p.receiver.verify(fields); err != nil {
		return err
	}
	if ambiguous(fields) {
		return errAmbiguous
	}
	if err := p.receiver.check([]string{fields["mch_id"]}, []string{fields["appid"]}); err != nil {
		return err
	}
	if fields["sub_mch_id"] != p.subMchID {
		return errOtherSub
	}
	return nil
}
