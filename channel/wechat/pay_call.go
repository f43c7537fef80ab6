package wechat

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/paidonce/paidonce/channel"
)

const nonceBytes = 16 // 32 characters in hexadecimal, as long as the documents allow

// line is the way to WeChat Pay's API.
type line struct {
	http   channel.Doer
	base   string // scheme and host
	random io.Reader
}

// received is an answer as it came in, unverified.
type received struct {
	status int
	header http.Header
	body   []byte
}

// send exchanges one request for an answer of any status. Whatever goes wrong is ErrUnanswered.
func (l line) send(request *http.Request) (received, error) {
	request.Header.Set("User-Agent", "paidonce")
	response, err := l.http.Do(request)
	if err != nil {
		return received{}, channel.Unanswered(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, channel.MaxBodyBytes+1))
	if err != nil {
		return received{}, channel.Unanswered(err)
	}
	if len(body) > channel.MaxBodyBytes {
		return received{}, fmt.Errorf("%w: the body is too long", channel.ErrUnanswered)
	}
	return received{response.StatusCode, response.Header, body}, nil
}

// nonce makes a random text that no two requests share.
func (l line) nonce() (string, error) {
	var random [nonceBytes]byte
	if _, err := io.ReadFull(l.random, random[:]); err != nil {
		return "", fmt.Errorf("%w: no random bytes", channel.ErrUnanswered)
	}
	return hex.EncodeToString(random[:]), nil
}

// reply is an answer of API v3. What reply.raw holds is verified, whatever the status.
type reply struct {
	status int
	code   string // why a question was turned down; empty where it was not
	raw    []byte
}

// ask sends one signed question. The reply is usable as evidence also beside errAbsent.
func (p *Payer) ask(ctx context.Context, method, path string, content []byte) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, method, p.line.base+path, bytes.NewReader(content))
	if err != nil {
		return reply{}, fmt.Errorf("%w: the request cannot be made", channel.ErrRefused)
	}
	if err := p.sign(request, content); err != nil {
		return reply{}, err
	}
	request.Header.Set("Accept", "application/json")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	// Without this header WeChat Pay signs with a platform certificate, which newer merchants do not have.
	if p.answerBy != "" {
		request.Header.Set("Wechatpay-Serial", p.answerBy)
	}
	answer, err := p.line.send(request)
	if err != nil {
		return reply{}, err
	}
	r, err := p.open(answer)
	if err != nil {
		return reply{}, err
	}
	expected := http.StatusOK
	if method == http.MethodPost {
		expected = http.StatusNoContent
	}
	if r.status == expected {
		return r, nil
	}
	return r, verdict(r.code, fmt.Sprintf("HTTP status %d, code %s", r.status, word(r.code)))
}

// sign signs method, path with query, time, nonce and body, each followed by a line feed (WeChat Pay v3 docs, signing
// of requests). The path is the one on the wire, with its escapes.
func (p *Payer) sign(request *http.Request, content []byte) error {
	nonce, err := p.line.nonce()
	if err != nil {
		return err
	}
	stamp := fmt.Sprint(p.clock().Unix())
	digest := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s\n%s\n", request.Method, request.URL.RequestURI(), stamp,
		nonce, content))
	signature, err := rsa.SignPKCS1v15(nil, p.key, crypto.SHA256, digest[:])
	if err != nil {
		return fmt.Errorf("%w: the question cannot be signed", channel.ErrRefused)
	}
	request.Header.Set("Authorization", fmt.Sprintf(
		`%s mchid="%s",nonce_str="%s",signature="%s",timestamp="%s",serial_no="%s"`, signatureType, p.receiver.mchID,
		nonce, base64.StdEncoding.EncodeToString(signature), stamp, p.serialNo))
	return nil
}

// open verifies an answer as a notification is verified: whose signature it has, and that it was made just now.
//
// WeChat Pay signs an answer only after it has verified the question (WeChat Pay v3 docs, verifying answers). So that
// it could not do so is the one thing that it says unsigned, and that is taken for what it is: a word to the operator.
func (p *Payer) open(a received) (reply, error) {
	r := reply{status: a.status, raw: a.body}
	var malformed error
	if len(a.body) != 0 {
		m := newReader(a.body)
		r.code, malformed = m.text("code"), m.err
	}
	why := fmt.Sprintf("HTTP status %d, code %s", r.status, word(r.code))
	if r.status >= http.StatusInternalServerError || r.status == http.StatusTooManyRequests {
		return reply{}, fmt.Errorf("%w: %s", channel.ErrUnanswered, why)
	}
	err := p.receiver.verify(channel.Request{Header: a.header, Body: a.body, Received: p.clock()})
	unsigned := a.header.Values("Wechatpay-Signature") == nil
	switch {
	case err != nil && unsigned && r.status == http.StatusUnauthorized && sameCode(r.code, "SIGN_ERROR"):
		return reply{}, fmt.Errorf("%w: %s", channel.ErrRefused, why)
	case err != nil:
		return reply{}, fmt.Errorf("%w: unverified, with %s: %w", channel.ErrUnanswered, why, err)
	case malformed != nil:
		return reply{}, fmt.Errorf("%w: %s: %w", channel.ErrUnanswered, why, malformed)
	}
	return r, nil
}

func encodeClose(merchants map[string]string) ([]byte, error) {
	content, err := json.Marshal(merchants)
	if err != nil {
		return nil, fmt.Errorf("%w: the question has no JSON form", channel.ErrRefused)
	}
	return content, nil
}
