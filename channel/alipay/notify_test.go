package alipay_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/alipay"
	"github.com/paidonce/paidonce/channel/channeltest"
	"github.com/paidonce/paidonce/money"
)

func parse(t *testing.T, c *alipay.Client, r channel.Request) channel.Event {
	t.Helper()
	parsed, err := c.Parse(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(parsed.Events) == 1 && len(parsed.Hints) == 0 {
		return parsed.Events[0]
	}
	if len(parsed.Hints) == 1 && len(parsed.Events) == 0 {
		return parsed.Hints[0].Event
	}
	t.Fatalf("%+v", parsed)
	return channel.Event{}
}

func mustKey(t *testing.T, e channel.Event) string {
	t.Helper()
	key, err := e.Key()
	if err != nil {
		t.Fatal(err)
	}
	return string(key)
}

func TestWhatHappenedIsToldByMarksNotByTheStatusAlone(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	const number = channeltest.PaymentNumber
	const payment = "ALIPAY:" + number + ":PAYMENT_RECEIVED"
	closed := params{"trade_status": "TRADE_CLOSED", "gmt_payment": "-", "refund_fee": "-"}
	waiting := params{"trade_status": "WAIT_BUYER_PAY", "gmt_payment": "-"}
	over := params{"trade_status": "TRADE_FINISHED"}
	for name, test := range map[string]struct {
		sent   params
		key    string
		amount int64
	}{
		"paid":                       {paid(), payment, 1999},
		"paid, no refund_fee":        {paid().with(params{"refund_fee": "-"}), payment, 1999},
		"paid, empty refund_fee":     {paid().with(params{"refund_fee": ""}), payment, 1999},
		"time for refunds over":      {paid().with(over), payment, 1999},
		"over, with an older refund": {refunded("2.00", "R1").with(over), payment, 1999},
		"first partial refund":       {refunded("2.00", "R1"), "ALIPAY:" + number + "/R1/2.00:QUERY_DUE", 200},
		"second partial refund":      {refunded("5.00", "R2"), "ALIPAY:" + number + "/R2/5.00:QUERY_DUE", 500},
		"full refund": {refunded("19.99", "R3").with(params{"trade_status": "TRADE_CLOSED"}),
			"ALIPAY:" + number + "/R3/19.99:QUERY_DUE", 1999},
		"refund without a number": {refunded("1.00", "-"),
			"ALIPAY:" + number + "/2026-12-01%2011%3A00%3A00.123/1.00:QUERY_DUE", 100},
		"closed unpaid":               {paid().with(closed), "ALIPAY:" + number + ":PAYMENT_CLOSED", 0},
		"the buyer still has to pay":  {paid().with(waiting), "ALIPAY:" + number + "/WAIT_BUYER_PAY:QUERY_DUE", 0},
		"a field that nobody defined": {paid().with(params{"since_tomorrow": "1"}), payment, 1999},
	} {
		t.Run(name, func(t *testing.T) {
			e := parse(t, client, send(t, key, test.sent))
			if got := mustKey(t, e); got != test.key || e.Amount.Minor != test.amount || e.OrderNo != "ORDER-1" {
				t.Fatalf("%s of %s for %s", got, e.Amount, e.OrderNo)
			}
		})
	}
}

func TestSuccessAndFinishedAreOnePayment(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	success := parse(t, client, send(t, key, paid()))
	finished := parse(t, client, send(t, key, paid().with(params{"trade_status": "TRADE_FINISHED"})))
	if mustKey(t, success) != mustKey(t, finished) || success.Digest() != finished.Digest() {
		t.Fatal("two payments")
	}
	if want := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC); !success.HappenedAt.Equal(want) {
		t.Fatal(success.HappenedAt)
	}
	if success.Amount != money.New(1999, money.CNY) {
		t.Fatal(success.Amount)
	}
}

func TestValuesInGBKAreVerifiedAsSentAndReadAsText(t *testing.T) {
	key := newKey(t)
	sent := paid().with(params{"charset": "gbk", "out_trade_no": "订单-1"})
	for name, value := range sent {
		encoded, err := simplifiedchinese.GBK.NewEncoder().String(value)
		if err != nil {
			t.Fatal(err)
		}
		sent[name] = encoded
	}
	if e := parse(t, newClient(t, key), send(t, key, sent)); e.OrderNo != "订单-1" {
		t.Fatal(e.OrderNo)
	}
}

func TestEmptyValuesMayBeSignedOrNot(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	sent := paid()
	without := canonical(sent, func(_, value string) bool { return value == "" })
	parse(t, client, send(t, key, sent))
	parse(t, client, request(encode(sent.with(params{"sign": sign(t, key, without)}))))
}

func TestABareSemicolonBelongsToItsValue(t *testing.T) {
	key := newKey(t)
	r := send(t, key, paid())
	r.Body = []byte(strings.Replace(string(r.Body), "%3B", ";", 1))
	parse(t, newClient(t, key), r)
}

func certificate(t *testing.T, key *rsa.PrivateKey, serial int64) string {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Unix(2e9, 0),
		Subject: pkix.Name{CommonName: "Ant Financial test", Organization: []string{"Ant"}, Country: []string{"CN"}}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestCertificateModeChoosesTheKeyByItsSerial(t *testing.T) {
	old, current, stranger := newKey(t), newKey(t), newKey(t)
	certificates := map[string]*rsa.PublicKey{}
	var serials []string
	for i, key := range []*rsa.PrivateKey{old, current} {
		serial, public, err := alipay.ParseCertificate(certificate(t, key, int64(1000+i)))
		if err != nil || len(serial) != 32 {
			t.Fatal(serial, err)
		}
		certificates[serial] = public
		serials = append(serials, serial)
	}
	client, err := alipay.New(alipay.Config{Account: account(), AppID: appID, SellerIDs: []string{seller},
		Certificates: certificates})
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range []*rsa.PrivateKey{old, current} {
		named := paid().with(params{"alipay_cert_sn": serials[i]})
		parse(t, client, send(t, key, named))
		unsigned := canonical(named, func(name, _ string) bool { return name == "alipay_cert_sn" })
		parse(t, client, request(encode(named.with(params{"sign": sign(t, key, unsigned)}))))
	}
	for name, r := range map[string]channel.Request{
		"the other certificate": send(t, old, paid().with(params{"alipay_cert_sn": serials[1]})),
		"an unknown one":        send(t, stranger, paid().with(params{"alipay_cert_sn": "00"})),
		"none named":            send(t, current, paid()),
	} {
		if _, err := client.Parse(t.Context(), r); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestTwoKeysServeARotation(t *testing.T) {
	old, current := newKey(t), newKey(t)
	client := newClient(t, old, current)
	parse(t, client, send(t, old, paid()))
	parse(t, client, send(t, current, paid()))
}

// The signed text is not escaped, so it can be cut elsewhere and still verify. Wherever it is cut, the message must not
// become another payment, nor the same one for another order or amount.
func TestACutElsewhereMakesNoOtherPayment(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	sent := paid().with(params{"fund_bill_list": "-"})
	want := parse(t, client, send(t, key, sent)).Digest()
	pairs := strings.Split(canonical(sent, nil), "&")
	signature := sign(t, key, strings.Join(pairs, "&"))
	verified := 0
	for i := 1; i < len(pairs); i++ {
		cut := params{"sign": signature, "sign_type": "RSA2"}
		for j, pair := range pairs {
			name, value, _ := strings.Cut(pair, "=")
			if j == i {
				continue
			}
			if j == i-1 {
				value += "&" + pairs[i]
			}
			cut[name] = value
		}
		parsed, err := client.Parse(t.Context(), request(encode(cut)))
		if err != nil {
			continue
		}
		verified++
		for _, e := range parsed.Events {
			if e.Digest() != want {
				t.Errorf("hiding %q made another event: %+v", pairs[i], e)
			}
		}
	}
	if verified == 0 {
		t.Fatal("no cut verified: the test shows nothing")
	}
}

func TestIncompleteConfigurationIsRefused(t *testing.T) {
	key := newKey(t)
	good := alipay.Config{Account: account(), AppID: appID, SellerIDs: []string{seller},
		PublicKeys: []*rsa.PublicKey{&key.PublicKey}}
	for name, change := range map[string]func(*alipay.Config){
		"no app":        func(c *alipay.Config) { c.AppID = "" },
		"no seller":     func(c *alipay.Config) { c.SellerIDs = nil },
		"empty seller":  func(c *alipay.Config) { c.SellerIDs = []string{""} },
		"no key":        func(c *alipay.Config) { c.PublicKeys = nil },
		"nil key":       func(c *alipay.Config) { c.PublicKeys = []*rsa.PublicKey{nil} },
		"other channel": func(c *alipay.Config) { c.Account.Channel = "WECHAT" },
		"no tenant":     func(c *alipay.Config) { c.Account.Tenant = 0 },
	} {
		changed := good
		change(&changed)
		if _, err := alipay.New(changed); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
