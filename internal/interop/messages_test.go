package interop_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"
)

// The requests and answers of wechat.mjs and alipay.mjs. A field that an operation does not use stays empty.

type wechatHeaders struct {
	Timestamp string `json:"timestamp"`
	Nonce     string `json:"nonce"`
	Signature string `json:"signature"`
}

type wechatRequest struct {
	Operation     string            `json:"operation"`
	Headers       wechatHeaders     `json:"headers,omitzero"`
	Body          string            `json:"body,omitempty"`
	Envelope      map[string]string `json:"envelope,omitempty"`
	Fields        map[string]string `json:"fields,omitempty"`
	Plain         string            `json:"plain,omitempty"`
	PublicKey     string            `json:"publicKey,omitempty"`
	PrivateKey    string            `json:"privateKey,omitempty"`
	APIv3Key      string            `json:"apiV3Key,omitempty"`
	APIv2Key      string            `json:"apiV2Key,omitempty"`
	Algorithm     string            `json:"algorithm,omitempty"`
	Timestamp     string            `json:"timestamp,omitempty"`
	Nonce         string            `json:"nonce,omitempty"`
	ResourceNonce string            `json:"resourceNonce,omitempty"`
	Associated    string            `json:"associated,omitempty"`
}

type wechatAnswer struct {
	Verified  bool              `json:"verified"`
	Decrypted string            `json:"decrypted"`
	Fields    map[string]string `json:"fields"`
	Headers   wechatHeaders     `json:"headers"`
	Body      string            `json:"body"`
}

type alipayRequest struct {
	Operation  string            `json:"operation"`
	Body       string            `json:"body,omitempty"`
	Fields     map[string]string `json:"fields,omitempty"`
	PublicKey  string            `json:"publicKey,omitempty"`
	PrivateKey string            `json:"privateKey,omitempty"`
}

type alipayAnswer struct {
	Verified bool              `json:"verified"`
	Fields   map[string]string `json:"fields"`
	Body     string            `json:"body"`
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func privatePEM(t *testing.T, key *rsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func publicPEM(t *testing.T, key *rsa.PublicKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}
