package channel_test

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/channel"
)

func TestParsePrivateKeyReadsWhatTheChannelsToolsWrite(t *testing.T) {
	key := newKey(t, 2048)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs1 := x509.MarshalPKCS1PrivateKey(key)
	for name, text := range map[string]string{
		"PKCS #8": frame("PRIVATE KEY", pkcs8), "PKCS #1": frame("RSA PRIVATE KEY", pkcs1),
		"bare PKCS #8": base64.StdEncoding.EncodeToString(pkcs8),
		"bare PKCS #1": base64.StdEncoding.EncodeToString(pkcs1) + "\n",
	} {
		if got, err := channel.ParsePrivateKey(text); err != nil || !got.Equal(key) {
			t.Errorf("%s: %v", name, err)
		}
	}
	short := x509.MarshalPKCS1PrivateKey(newKey(t, 1024))
	curve, err := x509.MarshalPKCS8PrivateKey(newCurveKey(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nothing": "", "a public key": frame("PUBLIC KEY", pkix(t, &key.PublicKey)),
		"1024 bits": frame("RSA PRIVATE KEY", short), "an elliptic key": frame("PRIVATE KEY", curve),
		"encrypted": frame("ENCRYPTED PRIVATE KEY", pkcs8), "cut": base64.StdEncoding.EncodeToString(pkcs8)[:400],
		"two": strings.Repeat(frame("PRIVATE KEY", pkcs8), 2),
	} {
		_, err := channel.ParsePrivateKey(text)
		if !errors.Is(err, channel.ErrPrivateKey) {
			t.Errorf("%s: %v, want %v", name, err, channel.ErrPrivateKey)
		} else if len(text) > 90 && strings.Contains(err.Error(), text[70:90]) {
			t.Errorf("%s: the error quotes the key", name)
		}
	}
}
