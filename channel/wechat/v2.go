package wechat

import (
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/money"
)

// The answers to a v2 notification, to the byte: anything else counts as no answer (WeChat Pay v2 docs, payment
// notification).
const (
	v2Held = `<xml><return_code><![CDATA[SUCCESS]]></return_code>` +
		`<return_msg><![CDATA[OK]]></return_msg></xml>`
	v2Refused = `<xml><return_code><![CDATA[FAIL]]></return_code>` +
		`<return_msg><![CDATA[not held, send it again]]></return_msg></xml>`
)

var (
	errNotPaid   = errors.New("return_code or result_code is not SUCCESS")
	errAmbiguous = errors.New("the signed text can be read in two ways")
	errCurrency  = errors.New("the currency is not the account's")
	errNoRefund  = errors.New("it names no refund and state")
)

// ConfigV2 is one merchant account at WeChat Pay, for API v2.
type ConfigV2 struct {
	Account channel.Account // Channel is Code
	MchID   string          // mch_id; a service provider's own
	AppIDs  []string        // appid; a service provider's own
	// APIKeys sign, encrypt and decrypt; each has 32 characters. Two or more while the key is being changed.
	APIKeys []string
	// SignType is "MD5", "HMAC-SHA256", or empty: then the length of the signature decides. Messages may leave
	// out sign_type although they use HMAC-SHA256, so that field is never asked.
	SignType string
	// Currency is what the account is paid in; empty is CNY. A payment in another one is quarantined: fee_type may be
	// left out, which means CNY, and then whoever chose attach could bring one out of it, and yuan would be dollars.
	Currency money.Currency
}

// ClientV2 receives v2 notifications for one account. It keeps no state and is safe for concurrent use.
//
// A v2 signature covers no time, so a notification verifies for ever. The claim under the payment's key is the only
// defence against replay, and it is enough.
type ClientV2 struct {
	identity
	apiKeys  []string
	blocks   []cipher.Block
	signType string
	currency money.Currency
}

var _ channel.Channel = (*ClientV2)(nil)

// NewV2 checks the configuration; ErrConfig says what is missing.
func NewV2(c ConfigV2) (*ClientV2, error) {
	id, err := newIdentity(c.Account, c.MchID, c.AppIDs)
	if err != nil {
		return nil, err
	}
	if len(c.APIKeys) == 0 {
		return nil, fmt.Errorf("%w: no API key", ErrConfig)
	}
	for i, key := range c.APIKeys {
		if len(key) != keyBytes {
			return nil, fmt.Errorf("%w: API key %d does not have %d characters", ErrConfig, i+1, keyBytes)
		}
	}
	switch c.SignType {
	case "", signMD5, signHMAC:
	default:
		return nil, fmt.Errorf("%w: the sign type is neither %s nor %s", ErrConfig, signMD5, signHMAC)
	}
	blocks, err := newECBs(c.APIKeys)
	if err != nil {
		return nil, err
	}
	currency := currencyOr(string(c.Currency))
	if !currency.Valid() {
		return nil, fmt.Errorf("%w: the currency is none", ErrConfig)
	}
	return &ClientV2{identity: id, apiKeys: slices.Clone(c.APIKeys), blocks: blocks, signType: c.SignType,
		currency: currency}, nil
}

// Ack answers with the XML that the documents ask for. A refusal also has a status that no reader takes for success.
func (c *ClientV2) Ack(held bool) channel.Reply {
	if held {
		return channel.Reply{Status: http.StatusOK, ContentType: "text/xml", Body: []byte(v2Held)}
	}
	return channel.Reply{Status: http.StatusInternalServerError, ContentType: "text/xml", Body: []byte(v2Refused)}
}

// Parse reads the flat XML of v2. The signature covers the fields and not the bytes, so the form is checked first:
// what is not one flat document is ErrMalformed, and what carries neither a signature nor a req_info is ErrForged.
//
// A quarantined hint is kept under the digest of the signed text, so that all the documents that can be made of one
// signature are one claim.
func (c *ClientV2) Parse(_ context.Context, r channel.Request) (channel.Parsed, error) {
	if err := tooBig(r.Body); err != nil {
		return channel.Parsed{}, err
	}
	fields, err := flatXML(r.Body, "xml")
	if err != nil {
		return channel.Parsed{}, fmt.Errorf("%w: %w", channel.ErrMalformed, err)
	}
	if fields["sign"] == "" && fields["req_info"] != "" {
		return c.unsigned(fields)
	}
	if err := c.verify(fields); err != nil {
		return channel.Parsed{}, err
	}
	signed := signedFields(fields)
	if !notifies(signed) {
		return channel.Parsed{}, fmt.Errorf("%w: a signed text of another use", channel.ErrMalformed)
	}
	read := c.payment
	if fields["req_info"] != "" {
		read = c.signedRefund
	}
	event, err := read(fields)
	if errors.Is(err, channel.ErrIdentity) {
		return channel.Parsed{}, err
	}
	if err != nil {
		return c.quarantine(signed, err), nil
	}
	return channel.One(c.account, event, signed), nil
}

// notifies tells a notification from the other texts that the API key signs. The parameters that a page or an app hands
// to WeChat to open the payment (WeChat Pay v2 docs, JSAPI and APP payment, paySign), and the address in the code of
// Native payment mode one, are signed with the same key in the same way and given to everybody who wants to pay. They
// must not become claims. Every notification says whether it succeeded, they never do.
func notifies(signed []byte) bool {
	return channel.SignsField(signed, "return_code") || channel.SignsField(signed, "result_code")
}

// payment reads a payment notification: the same fact, with the same key and digest, as v3 tells it. Only what readV2
// lists is there to be read.
func (c *ClientV2) payment(all map[string]string) (channel.Event, error) {
	fields := make(map[string]string)
	for _, name := range readV2() {
		fields[name] = all[name]
	}
	if err := c.check([]string{fields["mch_id"]}, []string{fields["appid"]}); err != nil {
		return channel.Event{}, err
	}
	for _, name := range []string{"appid", "transaction_id", "out_trade_no", "total_fee", "result_code"} {
		if fields[name] == "" {
			return channel.Event{}, errIncomplete
		}
	}
	if fields["result_code"] != stateSuccess || (fields["return_code"] != "" && fields["return_code"] != stateSuccess) {
		return channel.Event{}, errNotPaid
	}
	if ambiguous(all) {
		return channel.Event{}, errAmbiguous
	}
	if currencyOr(fields["fee_type"]) != c.currency {
		return channel.Event{}, errCurrency
	}
	amount, err := money.ParseMinor(fields["total_fee"], c.currency)
	if err != nil {
		return channel.Event{}, errAmount
	}
	trade := fields["transaction_id"]
	return channel.Event{Kind: channel.PaymentReceived, BizNo: []string{trade}, TradeNo: trade,
		OrderNo: fields["out_trade_no"], Amount: amount,
		HappenedAt: instant("20060102150405", fields["time_end"])}, nil
}

// readV2 lists the fields that are read of any v2 message: whose it is and what it says. All others are signed and
// ignored.
func readV2() []string {
	return []string{"appid", "mch_id", "sub_mch_id", "transaction_id", "out_trade_no", "total_fee", "fee_type",
		"return_code", "result_code", "err_code", "trade_state", "time_end", "req_info"}
}

// ambiguous finds messages whose signed text can be cut in another way that says something else: see
// channel.HidesField. req_info may hold the = that base64 ends with; with anything else that is none it does not open.
func ambiguous(fields map[string]string) bool {
	for _, name := range readV2() {
		if name != "req_info" && strings.ContainsAny(fields[name], "&=") {
			return true
		}
	}
	return channel.HidesField(fields, readV2())
}

// refundID reports whether s looks like WeChat Pay's own number of a refund: digits.
func refundID(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "0123456789") == ""
}

// unsigned reads a refund notification as WeChat Pay sends it: no part is signed. That its req_info opens shows that
// somebody who knew the API key once made each of its blocks, but not that these blocks belong together. So what does
// not even name a refund is refused: blocks can be put together in any number of ways, and none may become a claim.
func (c *ClientV2) unsigned(fields map[string]string) (channel.Parsed, error) {
	event, plain, err := c.refund(fields)
	if errors.Is(err, channel.ErrIdentity) {
		return channel.Parsed{}, err
	}
	if err != nil {
		return channel.Parsed{}, fmt.Errorf("%w: not signed, and %w", channel.ErrForged, err)
	}
	return channel.One(c.account, event, plain), nil
}

// signedRefund reads a refund whose envelope is signed, which the documents do not ask for. It proves no more.
func (c *ClientV2) signedRefund(fields map[string]string) (channel.Event, error) {
	event, _, err := c.refund(fields)
	if err == nil && ambiguous(fields) {
		err = errAmbiguous
	}
	return event, err
}

// refund reads a refund notification and returns what was encrypted in it. It never books anything: it makes the house
// ask WeChat Pay. The key names what was told, a repeat is no new question.
func (c *ClientV2) refund(fields map[string]string) (channel.Event, []byte, error) {
	inner, plain, err := c.openReqInfo(fields["req_info"])
	if err != nil {
		return channel.Event{}, nil, err
	}
	if fields["mch_id"] != c.mchID || !slices.Contains(c.appIDs, fields["appid"]) {
		return channel.Event{}, nil, fmt.Errorf("%w: another merchant or application", channel.ErrIdentity)
	}
	id, state := inner["refund_id"], inner["refund_status"]
	readable := refundID(id) && slices.Contains([]string{"SUCCESS", "CHANGE", "REFUNDCLOSE"}, state)
	for _, name := range []string{"out_trade_no", "transaction_id", "out_refund_no"} {
		readable = readable && (inner[name] == "" || channel.ValidNumber(inner[name]))
	}
	if !readable {
		return channel.Event{}, nil, errNoRefund
	}
	e := channel.Event{Kind: channel.QueryDue, BizNo: []string{id, state}, OrderNo: inner["out_trade_no"],
		TradeNo: inner["transaction_id"], RefundNo: inner["out_refund_no"],
		HappenedAt: instant(time.DateTime, inner["success_time"]),
		Note:       "refund notification of API v2, which is not signed"}
	if amount, err := money.ParseMinor(inner["refund_fee"], money.CNY); err == nil {
		e.Amount = amount
	}
	return e, plain, nil
}
