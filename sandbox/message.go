package sandbox

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Message is one delivery, ready to be sent.
type Message struct {
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// Variant changes one delivery. The zero value is an honest one.
type Variant struct {
	BadSignature  bool  // the body was changed after signing
	Stranger      bool  // signed by a key that is not the channel's
	Probe         bool  // WeChat v3: the deliberate wrong signature WECHATPAY/SIGNTEST/…
	OtherMerchant bool  // authentic, but another merchant's
	WrongBy       int64 // added to the amount in minor units; authentic all the same
	Finished      bool  // Alipay: TRADE_FINISHED instead of TRADE_SUCCESS
	GBK           bool  // Alipay: charset gbk
	Certificate   bool  // WeChat v3: sign with the platform certificate; false leaves it to chance
}

// Forged reports whether a merchant must refuse the delivery.
func (v Variant) Forged() bool { return v.BadSignature || v.Stranger || v.Probe || v.OtherMerchant }

// Notification builds and signs one delivery of a fact. Every call is a new delivery: nonce and time stamp change
// where the channel changes them. Every field that the channel documents is there, and now and then one that nobody
// has documented.
func (s *Sandbox) Notification(fact Fact, v Variant) (Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.Probe && fact.owner().Channel != WeChat {
		return Message{}, fmt.Errorf("%w: only WeChat Pay v3 probes signatures", ErrRequest)
	}
	switch channel := fact.owner().Channel; channel {
	case WeChat:
		return s.wechat(fact, v)
	case WeChatV2:
		return s.wechatV2(fact, v)
	case Alipay:
		return s.alipay(fact, v)
	case SQB:
		return s.sqb(fact, v)
	default:
		return Message{}, fmt.Errorf("%w: unknown channel %q", ErrRequest, channel)
	}
}

// surprise says whether this delivery carries an undocumented field. The caller holds the lock.
func (s *Sandbox) surprise() bool { return s.random.IntN(7) == 0 }

// sign is RSASSA-PKCS1-v1_5 with SHA-256, in base64: the one algorithm that all three channels share.
func sign(key *rsa.PrivateKey, text []byte) (string, error) {
	sum := sha256.Sum256(text)
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("sandbox: sign: %w", err)
	}
	return base64.StdEncoding.EncodeToString(signature), nil
}

func (s *Sandbox) signer(own *rsa.PrivateKey, v Variant) *rsa.PrivateKey {
	if v.Stranger {
		return s.ring.strange
	}
	return own
}

// orElse returns the other merchant's identity where a delivery is not for us.
func orElse(other bool, ours, theirs string) string {
	if other {
		return theirs
	}
	return ours
}

func compact(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("sandbox: encode: %w", err)
	}
	return text, nil
}

// Curl writes the delivery as a shell command, signature and all.
func (m Message) Curl(url string) string {
	var b strings.Builder
	b.WriteString("curl -sS -i -X POST " + quote(url))
	names := make([]string, 0, len(m.Header))
	for name := range m.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.WriteString(" \\\n  -H " + quote(name+": "+m.Header.Get(name)))
	}
	b.WriteString(" \\\n  --data-binary " + quote(string(m.Body)))
	return b.String()
}

// quote makes one word of a POSIX shell out of any text.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
