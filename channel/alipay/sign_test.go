package alipay_test

import (
	"crypto"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/alipay"
)

func TestValuesInGBKAreVerifiedAsSentAndReadAsText(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	for _, charset := range []string{"gbk", "GBK", "gb2312", "GB18030"} {
		sent := paid().with(params{"charset": charset, "out_trade_no": "订单-1"})
		for name, value := range sent {
			encoded, err := simplifiedchinese.GBK.NewEncoder().String(value)
			if err != nil {
				t.Fatal(err)
			}
			sent[name] = encoded
		}
		if sent["out_trade_no"] == "订单-1" {
			t.Fatal("still in UTF-8: the test shows nothing")
		}
		if e := parse(t, client, send(t, key, sent)); e.OrderNo != "订单-1" {
			t.Errorf("%s: order %q", charset, e.OrderNo)
		}
	}
}

// Alipay's own libraries disagree on whether an empty value is signed.
func TestEmptyValuesMayBeSignedOrNot(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	sent := paid().with(params{"body": "", "out_biz_no": ""})
	without := sign(t, key, canonical(sent, func(_, value string) bool { return value == "" }))
	some := sign(t, key, canonical(sent, func(name, _ string) bool { return name == "body" }))
	for name, r := range map[string]channel.Request{
		"signed":     send(t, key, sent),
		"not signed": request(encode(sent.with(params{"sign": without}))),
	} {
		if e := parse(t, client, r); e.Kind != channel.PaymentReceived {
			t.Errorf("%s: %s", name, e.Kind)
		}
	}
	_, err := client.Parse(t.Context(), request(encode(sent.with(params{"sign": some}))))
	if !errors.Is(err, channel.ErrForged) {
		t.Errorf("only some signed: %v, want %v", err, channel.ErrForged)
	}
}

// A plus sign in the signature or a subject is sent as %2B. One decoding too many makes a space of it.
func TestAFormIsDecodedExactlyOnce(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	sent := paid().with(params{"subject": "1+1=2; 100%25 tea", "fund_bill_list": "-"})
	for i := 0; !strings.Contains(sent["sign"], "+"); i++ {
		sent = sent.with(params{"notify_id": fmt.Sprint("id-", i), "sign": "-"})
		sent["sign"] = sign(t, key, canonical(sent, nil))
	}
	once := encode(sent)
	if e := parse(t, client, request(once)); e.Kind != channel.PaymentReceived {
		t.Errorf("as sent: %s", e.Kind)
	}
	for name, body := range map[string]string{
		"the signature":  strings.ReplaceAll(once, url.QueryEscape(sent["sign"]), sent["sign"]),
		"the subject":    strings.ReplaceAll(once, url.QueryEscape("1+1"), "1+1"),
		"the whole form": decoded(t, once),
	} {
		if _, err := client.Parse(t.Context(), request(body)); !errors.Is(err, channel.ErrForged) {
			t.Errorf("%s decoded before it got here: %v, want %v", name, err, channel.ErrForged)
		}
	}
}

// decoded is the form after a middleman's own decoding.
func decoded(t *testing.T, body string) string {
	t.Helper()
	text, err := url.QueryUnescape(body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestABareSemicolonBelongsToItsValue(t *testing.T) {
	key := newKey(t)
	r := send(t, key, paid())
	r.Body = []byte(strings.ReplaceAll(string(r.Body), "%3B", ";"))
	if !strings.Contains(string(r.Body), ";") {
		t.Fatal("no semicolon: the test shows nothing")
	}
	if e := parse(t, newClient(t, key), r); e.Kind != channel.PaymentReceived {
		t.Error(e.Kind)
	}
}

// sign_type is not signed: if the message could choose, everybody could choose SHA-1.
func TestSHA1IsTakenOnlyWhereTheAccountAllowsIt(t *testing.T) {
	key := newKey(t)
	sum := sha1.Sum([]byte(canonical(paid(), nil)))
	raw, err := rsa.SignPKCS1v15(nil, key, crypto.SHA1, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	weak := base64.StdEncoding.EncodeToString(raw)
	strong := sign(t, key, canonical(paid(), nil))
	for _, test := range []struct {
		allow           bool
		signType, value string
		want            error
	}{
		{false, "RSA2", strong, nil},
		{false, "RSA", weak, channel.ErrForged},
		{false, "RSA2", weak, channel.ErrForged},
		{true, "RSA2", strong, nil},
		{true, "RSA", weak, nil},
		{true, "RSA", strong, channel.ErrForged},
		{true, "RSA2", weak, channel.ErrForged},
		{true, "", weak, channel.ErrForged},
		{true, "RSA", weak[:76] + "\n" + weak[76:], channel.ErrForged},
	} {
		client, err := alipay.New(alipay.Config{Account: account(), AppID: appID, SellerIDs: []string{seller},
			PublicKeys: []*rsa.PublicKey{&key.PublicKey}, AllowRSA1: test.allow})
		if err != nil {
			t.Fatal(err)
		}
		sent := paid().with(params{"sign_type": test.signType, "sign": test.value})
		if _, err := client.Parse(t.Context(), request(encode(sent))); !errors.Is(err, test.want) {
			t.Errorf("allowed %t, sign_type %q: %v, want %v", test.allow, test.signType, err, test.want)
		}
	}
}

func TestTwoKeysServeARotation(t *testing.T) {
	old, current := newKey(t), newKey(t)
	client := newClient(t, old, current)
	for name, key := range map[string]*rsa.PrivateKey{"old": old, "current": current} {
		if e := parse(t, client, send(t, key, paid())); e.Kind != channel.PaymentReceived {
			t.Errorf("%s key: %s", name, e.Kind)
		}
	}
}

// certificate is made by an issuer whose name is that of the certificate itself.
func certificate(t *testing.T, key *rsa.PrivateKey, serial int64) string {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Unix(2e9, 0), Subject: pkix.Name{
		CommonName: "Test Class 2 R1", OrganizationalUnit: []string{"CA"}, Organization: []string{"Ant"},
		Country: []string{"CN"}}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestACertificateIsNamedByItsIssuerAndSerial(t *testing.T) {
	key := newKey(t)
	serial, public, err := alipay.ParseCertificate(certificate(t, key, 0xABCDEF))
	if err != nil || !public.Equal(&key.PublicKey) {
		t.Fatalf("ParseCertificate: %v", err)
	}
	sum := md5.Sum([]byte("CN=Test Class 2 R1,OU=CA,O=Ant,C=CN" + "11259375"))
	if want := hex.EncodeToString(sum[:]); serial != want {
		t.Errorf("serial %s, want %s", serial, want)
	}
	for name, text := range map[string]string{"nothing": "", "no certificate": "MIIB"} {
		if _, _, err := alipay.ParseCertificate(text); !errors.Is(err, alipay.ErrConfig) {
			t.Errorf("%s: %v, want %v", name, err, alipay.ErrConfig)
		}
	}
}

func TestAPublicKeyIsReadAsTheConsoleShowsIt(t *testing.T) {
	key := newKey(t)
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"bare": base64.StdEncoding.EncodeToString(der),
		"PEM":  string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
	} {
		if public, err := alipay.ParsePublicKey(text); err != nil || !public.Equal(&key.PublicKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := alipay.ParsePublicKey("2088"); !errors.Is(err, alipay.ErrConfig) {
		t.Errorf("no key: %v, want %v", err, alipay.ErrConfig)
	}
}

func TestCertificateModeChoosesTheKeyByItsSerial(t *testing.T) {
	old, current := newKey(t), newKey(t)
	certificates := map[string]*rsa.PublicKey{"0a": &old.PublicKey, "0b": &current.PublicKey}
	config := alipay.Config{Account: account(), AppID: appID, SellerIDs: []string{seller}, Certificates: certificates}
	client, err := alipay.New(config)
	if err != nil {
		t.Fatal(err)
	}
	delete(certificates, "0b") // the caller's map is no longer the client's
	named := func(serial string) params { return paid().with(params{"alipay_cert_sn": serial}) }
	skipping := func(skip func(name, value string) bool) channel.Request {
		signature := sign(t, current, canonical(named("0b"), skip))
		return request(encode(named("0b").with(params{"sign": signature})))
	}
	serial := func(name, _ string) bool { return name == "alipay_cert_sn" }
	for name, test := range map[string]struct {
		request channel.Request
		want    error
	}{
		"the old one":             {send(t, old, named("0a")), nil},
		"the current one":         {send(t, current, named("0b")), nil},
		"the serial not signed":   {skipping(serial), nil},
		"nor the empty values":    {skipping(func(n, v string) bool { return v == "" || serial(n, v) }), nil},
		"only the empty not":      {skipping(func(_, v string) bool { return v == "" }), nil},
		"signed by another":       {send(t, old, named("0b")), channel.ErrForged},
		"an unknown one":          {send(t, current, named("0c")), channel.ErrForged},
		"the serial in capitals":  {send(t, current, named("0B")), channel.ErrForged},
		"none named":              {send(t, current, paid()), channel.ErrForged},
		"more left out than that": {skipping(func(n, _ string) bool { return n == "version" }), channel.ErrForged},
	} {
		if _, err := client.Parse(t.Context(), test.request); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}
