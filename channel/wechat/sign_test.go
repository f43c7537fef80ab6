package wechat_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/wechat"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The notification that the test of WeChat Pay's own Go library verifies (wechatpay-apiv3/wechatpay-go, notify_test.go,
// Apache-2.0). Its signature is good at its time. It is of a kind that is not booked here, so it ends in quarantine,
// and a single changed byte makes a forgery of it.
func TestAPublishedNotificationVerifies(t *testing.T) {
	body := readFile(t, "v3_notification.json")
	const wantSum = "b6fdfc5e4afdc463950d873c4fdc3c494df05965016225c6a1e8e2e887cdc94d"
	if sum := sha256.Sum256([]byte(body)); hex.EncodeToString(sum[:]) != wantSum {
		t.Fatalf("the notification on file is not the published one: %x", sum)
	}
	serial, key, err := wechat.ParseCertificate(readFile(t, "v3_certificate.pem"))
	if err != nil || serial != "D7CE59D1F522D701" {
		t.Fatalf("ParseCertificate: %q, %v", serial, err)
	}
	config := newPlatform(t).config()
	config.PlatformKeys = map[string]*rsa.PublicKey{serial: key}
	client, err := wechat.New(config)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Wechatpay-Nonce": {"EcZ9Cmy4Xyx1i6RlJQzLcCyEqDa26NBz"},
		"Wechatpay-Timestamp": {"1624523846"}, "Wechatpay-Serial": {"D7CE59D1F522D701"},
		"Wechatpay-Signature": {readFile(t, "v3_signature.txt")}}
	r := channel.Request{Header: header, Body: []byte(body), Received: time.Unix(1624523846, 0)}
	hint := single(t, client, r)
	if hint.Kind != channel.Quarantined || hint.Note != "an event_type that is not known" {
		t.Fatalf("became %s: %s", hint.Kind, hint.Note)
	}
	r.Body = []byte(strings.Replace(body, "PAYSCORE", "PAYSCORf", 1))
	if _, err := client.Parse(t.Context(), r); !errors.Is(err, channel.ErrForged) {
		t.Fatalf("with a byte changed: %v", err)
	}
	config.APIv3Keys = [][]byte{[]byte("testMchAPIv3Key0")}
	if _, err := wechat.New(config); !errors.Is(err, wechat.ErrConfig) {
		t.Fatalf("the 16-byte key of that test: %v, want %v", err, wechat.ErrConfig)
	}
}

func TestBothKindsOfKeySignSideBySide(t *testing.T) {
	p := newPlatform(t)
	client := p.client(t)
	body := p.pay(t, nil).Body
	stamp := strconv.Itoa(signedAt)
	for name, test := range map[string]struct {
		key    *rsa.PrivateKey
		serial string
		want   error
	}{
		"certificate":                  {p.certificate, certSerial, nil},
		"serial in small letters":      {p.certificate, strings.ToLower(certSerial), nil},
		"serial with a leading zero":   {p.certificate, "00" + certSerial, nil},
		"public key":                   {p.public, publicKeyID, nil},
		"public key in small letters":  {p.public, strings.ToLower(publicKeyID), channel.ErrForged},
		"another public key":           {p.public, publicKeyID + "1", channel.ErrForged},
		"certificate's key for the id": {p.certificate, publicKeyID, channel.ErrForged},
		"the id's key for the serial":  {p.public, certSerial, channel.ErrForged},
		"only zeros":                   {p.public, "000", channel.ErrForged},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Parse(t.Context(), signed(t, test.key, test.serial, stamp, "nonce", body))
			if !errors.Is(err, test.want) {
				t.Fatalf("Parse: %v, want %v", err, test.want)
			}
		})
	}
}

func TestTheWindow(t *testing.T) {
	p := newPlatform(t)
	config := p.config()
	config.Window = time.Minute
	narrow, err := wechat.New(config)
	if err != nil {
		t.Fatal(err)
	}
	wide := p.client(t)
	r := p.pay(t, nil)
	for _, test := range []struct {
		client channel.Channel
		late   time.Duration
		want   error
	}{
		{wide, 0, nil},
		{wide, 299 * time.Second, nil},
		{wide, -299 * time.Second, nil},
		{wide, 300*time.Second - 1, nil},
		{wide, 300 * time.Second, channel.ErrStale},
		{wide, -300 * time.Second, channel.ErrStale},
		{narrow, 59 * time.Second, nil},
		{narrow, 60 * time.Second, channel.ErrStale},
		{wide, 1<<63 - 1, channel.ErrStale},
	} {
		r.Received = time.Unix(signedAt, 0).Add(test.late)
		if _, err := test.client.Parse(t.Context(), r); !errors.Is(err, test.want) {
			t.Errorf("%s late: %v, want %v", test.late, err, test.want)
		}
	}
	r.Received, r.Body = time.Time{}, append(r.Body, ' ')
	if _, err := wide.Parse(t.Context(), r); !errors.Is(err, channel.ErrForged) {
		t.Fatalf("late and forged: %v; the time is only looked at behind a good signature", err)
	}
}

func TestTimeStampsAndNoncesHaveOneReading(t *testing.T) {
	p := newPlatform(t)
	client := p.client(t)
	body := p.pay(t, nil).Body
	for name, test := range map[string]struct{ stamp, nonce string }{
		"sign":                 {"+1796090405", "n"},
		"space":                {" 1796090405", "n"},
		"underscore":           {"1_796_090_405", "n"},
		"milliseconds":         {"1796090405000", "n"},
		"line feed in a stamp": {"1796090405\n", "n"},
		"line feed in a nonce": {"1796090405", "n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := signed(t, p.certificate, certSerial, test.stamp, test.nonce, body)
			if _, err := client.Parse(t.Context(), r); !errors.Is(err, channel.ErrForged) {
				t.Fatalf("Parse: %v, want %v", err, channel.ErrForged)
			}
		})
	}
}

// The first line of a body must not become the end of the nonce: the signed bytes are the same.
func TestTheBorderBetweenNonceAndBodyCannotMove(t *testing.T) {
	p := newPlatform(t)
	inner := p.pay(t, nil).Body
	whole := signed(t, p.certificate, certSerial, strconv.Itoa(signedAt), "n", []byte("first\n"+string(inner)))
	whole.Body = inner
	whole.Header.Set("Wechatpay-Nonce", "n\nfirst")
	if _, err := p.client(t).Parse(t.Context(), whole); !errors.Is(err, channel.ErrForged) {
		t.Fatalf("Parse: %v, want %v", err, channel.ErrForged)
	}
}

// Of the last letter before the padding four bits mean nothing; a second writing of a signature is not one.
func TestASignatureHasOneWriting(t *testing.T) {
	p := newPlatform(t)
	good := p.pay(t, nil)
	signature := good.Header.Get("Wechatpay-Signature")
	last := len(signature) - len("==") - 1
	for name, text := range map[string]string{
		"spare bits": signature[:last] + string(signature[last]+1) + "==",
		"no padding": signature[:last+1],
		"URL":        strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(signature),
		"space":      signature + " ",
	} {
		good.Header.Set("Wechatpay-Signature", text)
		if _, err := p.client(t).Parse(t.Context(), good); !errors.Is(err, channel.ErrForged) {
			t.Errorf("%s: %v, want %v", name, err, channel.ErrForged)
		}
	}
}

func TestAProbeIsARefusalOfItsOwn(t *testing.T) {
	p := newPlatform(t)
	client := p.client(t)
	good := p.pay(t, nil)
	signature := good.Header.Get("Wechatpay-Signature")
	for name, test := range map[string]struct {
		signature string
		want      error
	}{
		"short":              {"WECHATPAY/SIGNTEST/", channel.ErrProbe},
		"length of the real": {"WECHATPAY/SIGNTEST/" + signature[19:], channel.ErrProbe},
		"not base64":         {"WECHATPAY/SIGNTEST/!", channel.ErrProbe},
		"another case":       {"wechatpay/signtest/" + signature[19:], channel.ErrForged},
		"in the middle":      {signature[:20] + "WECHATPAY/SIGNTEST/", channel.ErrForged},
	} {
		t.Run(name, func(t *testing.T) {
			good.Header.Set("Wechatpay-Signature", test.signature)
			_, err := client.Parse(t.Context(), good)
			if !errors.Is(err, test.want) || errors.Is(err, channel.ErrProbe) && errors.Is(err, channel.ErrForged) {
				t.Fatalf("Parse: %v, want %v", err, test.want)
			}
		})
	}
}

func TestParsePublicKey(t *testing.T) {
	private := newKey(t)
	pkix, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	bare := base64.StdEncoding.EncodeToString(pkix)
	public := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix}))
	for name, text := range map[string]string{"bare": bare, "two lines": bare[:64] + "\r\n" + bare[64:], "PEM": public} {
		if key, err := wechat.ParsePublicKey(text); err != nil || !key.Equal(&private.PublicKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	elliptic, err := x509.MarshalPKIXPublicKey(&curve.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	pkcs1 := x509.MarshalPKCS1PrivateKey(private)
	for name, text := range map[string]string{
		"nothing": "", "not base64": "key!", "cut": bare[:200], "two": public + public,
		"elliptic": base64.StdEncoding.EncodeToString(elliptic), "certificate": readFile(t, "v3_certificate.pem"),
		"private": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: pkcs1})),
	} {
		if _, err := wechat.ParsePublicKey(text); !errors.Is(err, wechat.ErrConfig) {
			t.Errorf("%s: %v, want %v", name, err, wechat.ErrConfig)
		}
	}
	for name, text := range map[string]string{"nothing": "", "a key": public,
		"two":    strings.Repeat(readFile(t, "v3_certificate.pem"), 2),
		"broken": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}))} {
		if _, _, err := wechat.ParseCertificate(text); !errors.Is(err, wechat.ErrConfig) {
			t.Errorf("certificate, %s: %v, want %v", name, err, wechat.ErrConfig)
		}
	}
}

func TestNewRefusesAnIncompleteConfiguration(t *testing.T) {
	p := newPlatform(t)
	key := &p.certificate.PublicKey
	for name, spoil := range map[string]func(*wechat.Config){
		"no tenant":       func(c *wechat.Config) { c.Account.Tenant = 0 },
		"no name":         func(c *wechat.Config) { c.Account.Name = "" },
		"another channel": func(c *wechat.Config) { c.Account.Channel = "wechat" },
		"no merchant":     func(c *wechat.Config) { c.MchID = "" },
		"no application":  func(c *wechat.Config) { c.AppIDs = nil },
		"empty one":       func(c *wechat.Config) { c.AppIDs = append(c.AppIDs, "") },
		"no APIv3 key":    func(c *wechat.Config) { c.APIv3Keys = nil },
		"24 bytes":        func(c *wechat.Config) { c.APIv3Keys[1] = c.APIv3Keys[1][:24] },
		"33 bytes":        func(c *wechat.Config) { c.APIv3Keys[1] = append(c.APIv3Keys[1], 'x') },
		"no platform key": func(c *wechat.Config) { c.PlatformKeys = nil },
		"nil key":         func(c *wechat.Config) { c.PlatformKeys["AA"] = nil },
		"short key":       func(c *wechat.Config) { c.PlatformKeys["AA"] = &rsa.PublicKey{N: big.NewInt(7), E: 3} },
		"no serial":       func(c *wechat.Config) { c.PlatformKeys["0"] = key },
		"not hexadecimal": func(c *wechat.Config) { c.PlatformKeys["AA:BB"] = key },
		"half an id":      func(c *wechat.Config) { c.PlatformKeys["PUB_KEY_ID_"] = key },
		"one in two ways": func(c *wechat.Config) { c.PlatformKeys[strings.ToLower(certSerial)] = key },
		"negative window": func(c *wechat.Config) { c.Window = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			config := p.config()
			spoil(&config)
			if _, err := wechat.New(config); !errors.Is(err, wechat.ErrConfig) {
				t.Fatalf("New: %v, want %v", err, wechat.ErrConfig)
			}
		})
	}
	if _, err := wechat.New(p.config()); err != nil {
		t.Fatal(err)
	}
}
