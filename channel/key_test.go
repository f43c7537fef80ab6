package channel_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
)

func newKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newCurveKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func pkix(t *testing.T, public any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func frame(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func TestParsePublicKeyReadsEveryFormThatAChannelHandsOut(t *testing.T) {
	key := newKey(t, 2048).Public().(*rsa.PublicKey)
	der := pkix(t, key)
	bare := base64.StdEncoding.EncodeToString(der)
	for name, text := range map[string]string{
		"bare base64":             bare,
		"bare, in lines":          bare[:64] + "\r\n" + bare[64:] + "\n",
		"bare, with spaces":       "  " + bare[:10] + "\t" + bare[10:],
		"PEM":                     frame("PUBLIC KEY", der),
		"PEM after other text":    "copied from the console:\n" + frame("PUBLIC KEY", der),
		"PEM and an empty line":   frame("PUBLIC KEY", der) + "\r\n \n",
		"the older form, PKCS #1": frame("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(key)),
	} {
		if got, err := channel.ParsePublicKey(text); err != nil || !got.Equal(key) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A private key has no place in a receiver's configuration, and an error must not show it.
func TestParsePublicKeyRefusesEverythingElse(t *testing.T) {
	private, short := newKey(t, 2048), newKey(t, 1024)
	der := pkix(t, &private.PublicKey)
	bare := base64.StdEncoding.EncodeToString(der)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nothing":                  "",
		"no base64":                bare[:20] + "!" + bare[20:],
		"cut":                      bare[:200],
		"cut PEM":                  frame("PUBLIC KEY", der)[:200],
		"two keys":                 strings.Repeat(frame("PUBLIC KEY", der), 2),
		"text after the key":       frame("PUBLIC KEY", der) + "x",
		"a private key, PKCS #1":   frame("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(private)),
		"a private key, PKCS #8":   frame("PRIVATE KEY", pkcs8),
		"a private key, bare":      base64.StdEncoding.EncodeToString(pkcs8),
		"a certificate":            certificate(t, &private.PublicKey, private),
		"1024 bits":                frame("PUBLIC KEY", pkix(t, &short.PublicKey)),
		"1024 bits, PKCS #1":       frame("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&short.PublicKey)),
		"an elliptic key":          frame("PUBLIC KEY", pkix(t, &newCurveKey(t).PublicKey)),
		"PKCS #1 under PKIX' name": frame("PUBLIC KEY", x509.MarshalPKCS1PublicKey(&private.PublicKey)),
		"PKIX under PKCS #1' name": frame("RSA PUBLIC KEY", der),
	} {
		_, err := channel.ParsePublicKey(text)
		if !errors.Is(err, channel.ErrPublicKey) {
			t.Errorf("%s: %v, want %v", name, err, channel.ErrPublicKey)
			continue
		}
		if len(text) > 40 && strings.Contains(err.Error(), text[30:40]) {
			t.Errorf("%s: the error quotes the text: %v", name, err)
		}
	}
}

// certificate signs a certificate over any public key.
func certificate(t *testing.T, public any, by *rsa.PrivateKey) string {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(0xCAFE), NotAfter: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, by)
	if err != nil {
		t.Fatal(err)
	}
	return frame("CERTIFICATE", der)
}

func TestParseCertificate(t *testing.T) {
	key := newKey(t, 2048)
	text := certificate(t, &key.PublicKey, key)
	cert, public, err := channel.ParseCertificate(text)
	if err != nil || !public.Equal(&key.PublicKey) || cert.SerialNumber.Int64() != 0xCAFE {
		t.Fatalf("ParseCertificate: %v", err)
	}
	for name, text := range map[string]string{
		"nothing":         "",
		"no PEM":          "MIIB",
		"a public key":    frame("PUBLIC KEY", pkix(t, &key.PublicKey)),
		"broken":          frame("CERTIFICATE", []byte("x")),
		"an elliptic key": certificate(t, &newCurveKey(t).PublicKey, key),
		"1024 bits":       certificate(t, &newKey(t, 1024).PublicKey, key),
	} {
		if _, _, err := channel.ParseCertificate(text); !errors.Is(err, channel.ErrPublicKey) {
			t.Errorf("%s: %v, want %v", name, err, channel.ErrPublicKey)
		}
	}
}

func TestUsableKey(t *testing.T) {
	for name, key := range map[string]*rsa.PublicKey{
		"no key": nil, "no modulus": {E: 65537}, "2047 bits": {N: new(big.Int).Lsh(big.NewInt(1), 2046), E: 65537},
	} {
		if err := channel.UsableKey(key); !errors.Is(err, channel.ErrPublicKey) {
			t.Errorf("%s: %v, want %v", name, err, channel.ErrPublicKey)
		}
	}
	if err := channel.UsableKey(&newKey(t, 2048).PublicKey); err != nil {
		t.Errorf("2048 bits: %v", err)
	}
}

func TestVerifyRSA(t *testing.T) {
	own, other := newKey(t, 2048), newKey(t, 2048)
	keys := []*rsa.PublicKey{&other.PublicKey, &own.PublicKey}
	text := []byte("total_amount=0.01&trade_no=1")
	sign := func(key *rsa.PrivateKey, hash crypto.Hash, sum []byte) string {
		raw, err := rsa.SignPKCS1v15(rand.Reader, key, hash, sum)
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(raw)
	}
	sum := sha256.Sum256(text)
	good := sign(own, crypto.SHA256, sum[:])
	if err := channel.VerifyRSA(keys, text, good); err != nil {
		t.Fatalf("signed by the second of two keys: %v", err)
	}
	stray := good[:len(good)-3] + string(nextDigit(good[len(good)-3])) + "==" // other bits that base64 does not use
	for name, test := range map[string]struct {
		keys      []*rsa.PublicKey
		text      string
		signature string
	}{
		"another text":          {keys, string(text) + " ", good},
		"another key only":      {keys[:1], string(text), good},
		"no key":                {nil, string(text), good},
		"no signature":          {keys, string(text), ""},
		"no base64":             {keys, string(text), "!" + good[1:]},
		"URL alphabet":          {keys, string(text), "-" + good[1:]},
		"a line break in it":    {keys, string(text), good[:76] + "\n" + good[76:]},
		"a return after it":     {keys, string(text), good + "\r"},
		"cut padding":           {keys, string(text), strings.TrimRight(good, "=")},
		"stray bits at its end": {keys, string(text), stray},
		"another digest":        {keys, string(text), sign(own, crypto.SHA1, sum[:20])},
	} {
		if err := channel.VerifyRSA(test.keys, []byte(test.text), test.signature); !errors.Is(err, channel.ErrForged) {
			t.Errorf("%s: %v, want %v", name, err, channel.ErrForged)
		}
	}
}

// nextDigit is the base64 digit that follows; 256 bytes end in a digit of which four bits are unused.
func nextDigit(c byte) byte {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	return digits[strings.IndexByte(digits, c)+1]
}
