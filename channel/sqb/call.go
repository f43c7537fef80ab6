package sqb

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/paidonce/paidonce/channel"
)

// productionBase is the host of the Web API.
const productionBase = "https://vsi-api.shouqianba.com"

// Keys knows the terminal_key of each terminal. Keys rotate, so they are read anew for every question.
type Keys interface {
	// Key returns the key in force. An error means that it cannot be read now.
	Key(ctx context.Context, terminalSN string) (string, error)
}

// StaticKeys are keys that never rotate, by terminal_sn: for terminals that nobody checks in.
type StaticKeys map[string]string

// Key returns the terminal's key, or none: that is refused when it is needed.
func (k StaticKeys) Key(_ context.Context, terminalSN string) (string, error) {
	return k[terminalSN], nil
}

// errIllegalSign: Shouqianba does not take the key. The question was not executed, so it may be asked under another.
var errIllegalSign = errors.New("sqb: signature not accepted")

// link is the way to Shouqianba for the terminals of one account.
type link struct {
	http channel.Doer
	base string
	keys Keys
}

// newLink checks the address. Answers are not signed, so whoever answers at it is believed: it has to be https, and
// only a sandbox on the same machine goes without.
func newLink(d channel.Doer, base string, allowHTTP bool, keys Keys) (link, error) {
	if base == "" {
		base = productionBase
	}
	address, err := url.Parse(base)
	if err != nil || address.Host == "" || address.Scheme != "https" && !(allowHTTP && address.Scheme == "http") {
		return link{}, fmt.Errorf("%w: the base URL needs https", ErrConfig)
	}
	if keys == nil {
		return link{}, fmt.Errorf("%w: no source of terminal keys", ErrConfig)
	}
	return link{http: channel.WithoutRedirects(d), base: strings.TrimRight(base, "/"), keys: keys}, nil
}

// ask sends a question under the terminal's key. A key that is not accepted may have been rotated a moment ago, or by
// an instance whose saving crossed ours, so the other key that is known is tried, once. It never checks in by itself: a
// key that dies again and again is a matter for a person.
func (l link) ask(ctx context.Context, terminalSN, path string, fields map[string]string) (reply, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return reply{}, fmt.Errorf("%w: the question has no JSON form", channel.ErrRefused)
	}
	key, err := l.keys.Key(ctx, terminalSN)
	if err != nil {
		return reply{}, fmt.Errorf("%w: the terminal key: %w", channel.ErrUnanswered, err)
	}
	if key == "" {
		return reply{}, fmt.Errorf("%w: a terminal has no key", channel.ErrRefused)
	}
	r, err := l.send(ctx, terminalSN, key, path, body)
	if !errors.Is(err, errIllegalSign) {
		return r, err
	}
	other, lookErr := l.otherKey(ctx, terminalSN, key)
	if lookErr != nil {
		return reply{}, fmt.Errorf("%w: the terminal key: %w", channel.ErrUnanswered, lookErr)
	}
	if other == "" {
		return r, err
	}
	return l.send(ctx, terminalSN, other, path, body)
}

// otherKey is the key that another instance has saved meanwhile, or else the one before; empty if there is neither.
func (l link) otherKey(ctx context.Context, terminalSN, used string) (string, error) {
	key, err := l.keys.Key(ctx, terminalSN)
	if err != nil || key != used {
		return key, err
	}
	store, ok := l.keys.(KeyStore)
	if !ok {
		return "", nil
	}
	if key, err = store.Previous(ctx, terminalSN); key == used {
		key = ""
	}
	return key, err
}

// send makes one exchange. The Authorization header is "terminal_sn sign", the sign being the MD5, in lower-case hex,
// of the body followed by the terminal's key (Shouqianba upay docs, signing).
func (l link) send(ctx context.Context, terminalSN, key, path string, body []byte) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.base+path, bytes.NewReader(body))
	if err != nil {
		return reply{}, fmt.Errorf("%w: the request cannot be made", channel.ErrUnanswered)
	}
	sum := md5.Sum(append(bytes.Clone(body), key...))
	request.Header.Set("Authorization", terminalSN+" "+hex.EncodeToString(sum[:]))
	request.Header.Set("Content-Type", "application/json")
	response, err := l.http.Do(request)
	if err != nil {
		return reply{}, channel.Unanswered(err)
	}
	defer response.Body.Close()
	// The docs tell errors by result_code and name no HTTP status, so an error that says 4xx as well is read too.
	if response.StatusCode != http.StatusOK && response.StatusCode/100 != 4 {
		return reply{}, fmt.Errorf("%w: HTTP status %d", channel.ErrUnanswered, response.StatusCode)
	}
	answered, err := io.ReadAll(io.LimitReader(response.Body, channel.MaxBodyBytes+1))
	if err != nil {
		return reply{}, channel.Unanswered(err)
	}
	if len(answered) > channel.MaxBodyBytes {
		return reply{}, fmt.Errorf("%w: the body is too long", channel.ErrUnanswered)
	}
	return open(response.StatusCode, answered)
}

// reply is an answer whose first layer says that the exchange went well.
type reply struct {
	biz channel.Object // biz_response, the second layer
	raw []byte         // the whole body, as evidence
}

// open reads the first layer (Shouqianba upay docs, answer codes): result_code 200 is an answer, 400 a question that
// was turned down and not executed, and with 500 or anything else the outcome is not known.
func open(status int, body []byte) (reply, error) {
	envelope, err := channel.ParseObject(body)
	if err != nil {
		return reply{}, fmt.Errorf("%w: HTTP status %d: %w", channel.ErrUnanswered, status, err)
	}
	codes, err := envelope.Texts("result_code", "error_code")
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	switch {
	case codes[0] == "400" && codes[1] == "ILLEGAL_SIGN":
		return reply{}, fmt.Errorf("%w: %w", channel.ErrRefused, errIllegalSign)
	case codes[0] == "400":
		return reply{}, fmt.Errorf("%w: code %s %s", channel.ErrRefused, word(codes[0]), word(codes[1]))
	case codes[0] != "200" || status != http.StatusOK:
		return reply{}, fmt.Errorf("%w: HTTP status %d, code %s %s", channel.ErrUnanswered, status, word(codes[0]),
			word(codes[1]))
	}
	biz, err := envelope.Object("biz_response")
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", channel.ErrUnanswered, err)
	}
	return reply{biz: biz, raw: body}, nil
}

// word lets a code through into a text for people, and nothing that is not the form of one.
func word(code string) string {
	strange := func(c rune) bool { return !('A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_') }
	if len(code) > 64 || strings.ContainsFunc(code, strange) {
		return "?"
	}
	return code
}
