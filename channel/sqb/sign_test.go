package sqb_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/sqb"
)

// published is the key that public integrations of Shouqianba print, and the SHA-256 of its bytes.
const (
	published = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA5+MNqcjgw4bsSWhJfw2M+gQB7P+pEiYOfvRmA6kt7Wisp0J3JbOtsLXG" +
		"nErn5ZY2D8KkSAHtMYbeddphFZQJzUbiaDi75GUAG9XS3MfoKAhvNkK15VcCd8hFgNYCZdwEjZrvx6Zu1B7c29S64LQPHceS0nyX" +
		"F8DwMIVRcIWKy02cexgX0UmUPE0A2sJFoV19ogAHaBIhx5FkTy+eeBJEbU03Do97q5G9IN1O3TssvbYBAzugz+yUPww2LadaKexh" +
		"JGg+5+ufoDd0+V3oFL0/ebkJvD0uiBzdE3/ci/tANpInHAUDIHoWZCKxhn60f3/3KiR8xuj2vASgEqphxT5OfwIDAQAB"
	publishedSum = "1ce8d5db646c7c0effc6d1dc9398b5f042b23cbb779c329e67eadd6e317fced6"
)

func TestDuringARotationEitherKeySigns(t *testing.T) {
	old, next, stranger := newKey(t), newKey(t), newKey(t)
	both, onlyNext := newClient(t, old, next), newClient(t, next)
	for name, test := range map[string]struct {
		client channel.Channel
		key    *rsa.PrivateKey
		want   error
	}{
		"both, signed by the old":     {both, old, nil},
		"both, signed by the new":     {both, next, nil},
		"both, signed by a stranger":  {both, stranger, channel.ErrForged},
		"afterwards, the old is gone": {onlyNext, old, channel.ErrForged},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := test.client.Parse(t.Context(), send(t, test.key, paid())); !errors.Is(err, test.want) {
				t.Fatalf("Parse: %v, want %v", err, test.want)
			}
		})
	}
}

func TestTheFormsOfTheHeader(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	body := paid().encode(t)
	signed := signature(t, key, body)
	for name, test := range map[string]struct {
		header string
		want   error
	}{
		"bare signature":                 {signed, nil},
		"terminal and signature":         {terminal + " " + signed, nil},
		"another terminal and signature": {"100000339999999 " + signed, nil},
		"scheme, terminal and signature": {"SQB " + terminal + " " + signed, nil},
		"tab instead of a space":         {terminal + "\t" + signed, channel.ErrForged},
		"signature before the terminal":  {signed + " " + terminal, channel.ErrForged},
		"space at the end":               {signed + " ", channel.ErrForged},
		"base64 of the URL alphabet":     {urlAlphabet(signed), channel.ErrForged},
		"base64 without its padding":     {strings.TrimRight(signed, "="), channel.ErrForged},
		"base64 with its spare bits set": {spareBits(signed), channel.ErrForged},
		"hexadecimal":                    {hexadecimal(t, signed), channel.ErrForged},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := client.Parse(t.Context(), deliver(test.header, body)); !errors.Is(err, test.want) {
				t.Fatalf("Parse: %v, want %v", err, test.want)
			}
		})
	}
}

// A terminal's key lives on a device in a shop. What can be computed from it must never pass for a callback.
func TestAnMD5OfTheTerminalKeyIsNeverASignature(t *testing.T) {
	const terminalKey = "0123456789abcdef0123456789abcdef"
	client := newClient(t, newKey(t))
	body := paid().encode(t)
	sum := md5.Sum(append(body, terminalKey...))
	for name, text := range map[string]string{
		"hexadecimal": hex.EncodeToString(sum[:]),
		"capitals":    strings.ToUpper(hex.EncodeToString(sum[:])),
		"base64":      base64.StdEncoding.EncodeToString(sum[:]),
	} {
		for _, header := range []string{text, terminal + " " + text} {
			if _, err := client.Parse(t.Context(), deliver(header, body)); !errors.Is(err, channel.ErrForged) {
				t.Errorf("%s: Parse: %v, want %v", name, err, channel.ErrForged)
			}
		}
	}
}

func TestParsePublicKeyReadsWhatShouqianbaHandsOut(t *testing.T) {
	own := &newKey(t).PublicKey
	pkix, err := x509.MarshalPKIXPublicKey(own)
	if err != nil {
		t.Fatal(err)
	}
	bare := base64.StdEncoding.EncodeToString(pkix)
	pkcs1 := x509.MarshalPKCS1PublicKey(own)
	for name, text := range map[string]string{
		"bare":               bare,
		"bare in two lines":  bare[:64] + "\r\n" + bare[64:] + "\n",
		"PEM":                string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix})),
		"PEM after a blank":  "\n" + string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix})) + "\n",
		"PKCS #1 inside PEM": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: pkcs1})),
	} {
		t.Run(name, func(t *testing.T) {
			if key, err := sqb.ParsePublicKey(text); err != nil || !key.Equal(own) {
				t.Fatalf("ParsePublicKey: %v", err)
			}
		})
	}
	key, err := sqb.ParsePublicKey(published)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(der); hex.EncodeToString(sum[:]) != publishedSum {
		t.Fatalf("the published key has the fingerprint %x", sum)
	}
}

func TestParsePublicKeyRefusesEverythingElse(t *testing.T) {
	private := newKey(t)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	short := &rsa.PublicKey{N: new(big.Int).SetBit(new(big.Int), 1023, 1), E: 65537}
	public := pemOf(t, &private.PublicKey)
	for name, text := range map[string]string{
		"nothing":       "",
		"no base64":     "no base64!",
		"no key":        base64.StdEncoding.EncodeToString([]byte("public key")),
		"cut":           published[:300],
		"private key":   string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})),
		"private bare":  base64.StdEncoding.EncodeToString(pkcs8),
		"two keys":      public + public,
		"elliptic":      pemOf(t, &curve.PublicKey),
		"1024 bits":     pemOf(t, short),
		"broken PKCS 1": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: []byte("key")})),
		"broken PEM":    "-----BEGIN PUBLIC KEY-----\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sqb.ParsePublicKey(text)
			if !errors.Is(err, sqb.ErrConfig) {
				t.Fatalf("ParsePublicKey: %v, want %v", err, sqb.ErrConfig)
			}
			if text != "" && strings.Contains(err.Error(), text) {
				t.Fatalf("the error repeats its input: %v", err)
			}
		})
	}
}

func TestNewRefusesAnIncompleteConfiguration(t *testing.T) {
	complete := func() sqb.Config {
		return sqb.Config{Account: account(), PublicKeys: []*rsa.PublicKey{&newKey(t).PublicKey},
			TerminalSNs: []string{terminal}}
	}
	for name, spoil := range map[string]func(*sqb.Config){
		"no tenant":       func(c *sqb.Config) { c.Account.Tenant = 0 },
		"no name":         func(c *sqb.Config) { c.Account.Name = "" },
		"another channel": func(c *sqb.Config) { c.Account.Channel = "sqb" },
		"no key":          func(c *sqb.Config) { c.PublicKeys = nil },
		"nil key":         func(c *sqb.Config) { c.PublicKeys = append(c.PublicKeys, nil) },
		"short key":       func(c *sqb.Config) { c.PublicKeys[0] = &rsa.PublicKey{N: big.NewInt(7), E: 3} },
		"no terminal":     func(c *sqb.Config) { c.TerminalSNs = nil },
		"empty terminal":  func(c *sqb.Config) { c.TerminalSNs = []string{terminal, ""} },
	} {
		t.Run(name, func(t *testing.T) {
			config := complete()
			spoil(&config)
			if _, err := sqb.New(config); !errors.Is(err, sqb.ErrConfig) {
				t.Fatalf("New: %v, want %v", err, sqb.ErrConfig)
			}
		})
	}
	if _, err := sqb.New(complete()); err != nil {
		t.Fatal(err)
	}
}

func pemOf(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// urlAlphabet rewrites base64 in its other alphabet, without padding.
func urlAlphabet(text string) string {
	return strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(text)
}

// spareBits writes the same bytes in a second form: the last letter before the padding holds four bits of no use.
func spareBits(text string) string {
	last := len(text) - len("==") - 1
	return text[:last] + string(text[last]+1) + text[last+1:]
}

func hexadecimal(t *testing.T, text string) string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(raw)
}
