package alipay

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/paidonce/paidonce/channel"
)

// errAbsent: Alipay knows no such trade. It never leaves the package as an error.
var errAbsent = errors.New("alipay: no such trade")

// Codes of the gateway (Alipay open platform, common answer codes).
const (
	codeSuccess  = "10000"
	codeBusiness = "40004" // the sub_code says why
)

// reply is a verified answer: the fields that were signed, and the whole body as evidence.
type reply struct {
	fields    channel.Object
	code, sub string
	raw       []byte
}

// ask names the order and sends the question. The reply is usable as evidence also beside errAbsent and ErrRefused.
// The channel's own number wins, so only that one is sent where it is known.
func (p *Payer) ask(ctx context.Context, method string, q channel.Question) (reply, error) {
	name, number := "out_trade_no", q.OrderNo
	if q.TradeNo != "" {
		name, number = "trade_no", q.TradeNo
	}
	if !channel.ValidNumber(number) {
		return reply{}, fmt.Errorf("%w: the question names no order", channel.ErrRefused)
	}
	content, err := json.Marshal(map[string]string{name: number})
	if err != nil {
		return reply{}, fmt.Errorf("%w: the question has no JSON form", channel.ErrRefused)
	}
	parameters, err := p.signed(method, string(content))
	if err != nil {
		return reply{}, err
	}
	body, err := p.post(ctx, parameters)
	if err != nil {
		return reply{}, err
	}
	r, err := p.open(method, body)
	if err != nil {
		return reply{}, err
	}
	return r, r.verdict()
}

// signed completes the parameters and signs them: all that have a value, sign_type included, sorted by name (Alipay
// open platform, signing of requests).
func (p *Payer) signed(method, content string) (url.Values, error) {
	parameters := map[string]string{"app_id": p.config.AppID, "method": method, "format": "JSON", "charset": "utf-8",
		"sign_type": "RSA2", "version": "1.0", "biz_content": content, "app_auth_token": p.config.AuthToken,
		"app_cert_sn": p.config.AppCertSN, "alipay_root_cert_sn": p.config.AlipayRootCertSN,
		"timestamp": p.config.Clock().In(time.FixedZone("+08:00", 8*3600)).Format(time.DateTime)}
	values, pairs := url.Values{}, make([]string, 0, len(parameters))
	for name, value := range parameters {
		if value != "" {
			values.Set(name, value)
			pairs = append(pairs, name+"="+value)
		}
	}
	slices.Sort(pairs)
	digest := sha256.Sum256([]byte(strings.Join(pairs, "&")))
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.config.PrivateKey, crypto.SHA256, digest[:])
	if err != nil {
		return nil, fmt.Errorf("%w: the question cannot be signed", channel.ErrRefused)
	}
	values.Set("sign", base64.StdEncoding.EncodeToString(signature))
	return values, nil
}

// post sends the form and returns the body of a 200; whatever else comes back is no answer.
func (p *Payer) post(ctx context.Context, parameters url.Values) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.config.Gateway,
		strings.NewReader(parameters.Encode()))
	if err != nil {
		return nil, fmt.Errorf("%w: the request cannot be made", channel.ErrUnanswered)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded;charset=utf-8")
	response, err := p.config.HTTP.Do(request)
	if err != nil {
		return nil, channel.Unanswered(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: HTTP status %d", channel.ErrUnanswered, response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, channel.MaxBodyBytes+1))
	if err != nil {
		return nil, channel.Unanswered(err)
	}
	if len(body) > channel.MaxBodyBytes {
		return nil, fmt.Errorf("%w: the body is too long", channel.ErrUnanswered)
	}
	return body, nil
}

// open takes the answer out of its envelope and verifies it. Alipay signs the bytes of the inner object exactly as
// they stand in the body (Alipay open platform, verifying synchronous answers), so the object is cut out and never
// written anew. An error that Alipay could not attribute to a method is called error_response, and is often unsigned.
func (p *Payer) open(method string, body []byte) (reply, error) {
	envelope, err := channel.ParseObject(body)
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	name := strings.ReplaceAll(method, ".", "_") + "_response"
	if envelope["error_response"] != nil {
		name = "error_response"
	}
	fields, err := envelope.Object(name)
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	seals, err := envelope.Texts("sign", "alipay_cert_sn")
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	codes, err := fields.Texts("code", "sub_code")
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	keys, err := p.receiver.keys(seals[1])
	if err == nil {
		err = channel.VerifyRSA(keys, envelope[name], seals[0])
	}
	if err != nil {
		return reply{}, fmt.Errorf("%w: unverified, with code %s %s: %w", channel.ErrUnanswered, word(codes[0]),
			word(codes[1]), err)
	}
	return reply{fields: fields, code: codes[0], sub: codes[1], raw: body}, nil
}

// verdict sorts the codes (Alipay open platform, common answer codes and those of the trade). Only what is known to
// mean "turned down, nothing done" is a refusal; a code that nobody knows leaves the outcome open. Too many calls
// (40005) is "later", not a refusal.
func (r reply) verdict() error {
	switch r.code {
	case codeSuccess:
		return nil
	case "20001", "40001", "40002", "40003", "40006":
		return r.fail(channel.ErrRefused)
	case codeBusiness:
		switch {
		case r.sub == "ACQ.TRADE_NOT_EXIST":
			return errAbsent
		case r.sub == "" || strings.HasSuffix(r.sub, "SYSTEM_ERROR") || strings.HasSuffix(r.sub, ".unknow-error"):
			return r.fail(channel.ErrUnanswered)
		}
		return r.fail(channel.ErrRefused)
	}
	return r.fail(channel.ErrUnanswered)
}

func (r reply) fail(kind error) error {
	return fmt.Errorf("%w: code %s %s", kind, word(r.code), word(r.sub))
}

// word lets a code through into a text for people, and nothing that is not the form of one.
func word(code string) string {
	strange := func(c rune) bool {
		return !('A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.ContainsRune("._-", c))
	}
	if len(code) > 64 || strings.ContainsFunc(code, strange) {
		return "?"
	}
	return code
}
