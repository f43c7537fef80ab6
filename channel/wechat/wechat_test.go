package wechat_test

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
	"github.com/paidonce/paidonce/channel/wechat"
)

const (
	mchID       = "1900000109"
	appID       = "wxd678efh567hg6787"
	apiV3Key    = "0123456789abcdefghijklmnopqrstuv"
	oldAPIv3Key = "vutsrqponmlkjihgfedcba9876543210"
	certSerial  = "5157F09EFDC096DE15EBE81A47057A7232F1B8E1"
	publicKeyID = "PUB_KEY_ID_0114232134912410000000000000"
	paidAt      = "2026-12-01T10:00:00+08:00"
	signedAt    = 1796090405 // five seconds after paidAt
)

func account() channel.Account {
	return channel.Account{Tenant: 7, Channel: wechat.Code, Name: "shop-1"}
}

func received() time.Time { return time.Unix(signedAt+2, 0) }

// doc is a JSON object under construction.
type doc map[string]any

// with returns a copy with some fields replaced; a nil value removes the field.
func (d doc) with(changes doc) doc {
	changed := maps.Clone(d)
	for name, value := range changes {
		if changed[name] = value; value == nil {
			delete(changed, name)
		}
	}
	return changed
}

func (d doc) encode(tb testing.TB) []byte {
	tb.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func transaction() doc {
	return doc{"appid": appID, "mchid": mchID, "out_trade_no": "ORDER-1", "transaction_id": channeltest.PaymentNumber,
		"trade_type": "NATIVE", "trade_state": "SUCCESS", "trade_state_desc": "支付成功", "bank_type": "CMC",
		"attach": "", "success_time": paidAt, "payer": doc{"openid": "oUpF8uMuAJO"},
		"amount": doc{"total": 1999, "payer_total": 1899, "currency": "CNY", "payer_currency": "CNY"}}
}

func refund() doc {
	return doc{"mchid": mchID, "out_trade_no": "ORDER-1", "transaction_id": channeltest.PaymentNumber,
		"refund_id": "50000000382019052709732678859", "out_refund_no": "REFUND-1", "refund_status": "SUCCESS",
		"success_time": paidAt, "user_received_account": "招商银行信用卡0403",
		"amount": doc{"total": 1999, "refund": 500, "payer_total": 1999, "payer_refund": 500}}
}

// seal encrypts a resource under an APIv3 key; empty associated data is left out of the resource altogether.
func seal(tb testing.TB, key, associated string, plain []byte) doc {
	tb.Helper()
	const nonce = "fdasflkja484"
	block, err := aes.NewCipher([]byte(key))
	if err != nil {
		tb.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		tb.Fatal(err)
	}
	sealed := aead.Seal(nil, []byte(nonce), plain, []byte(associated))
	resource := doc{"algorithm": "AEAD_AES_256_GCM", "nonce": nonce,
		"ciphertext": base64.StdEncoding.EncodeToString(sealed)}
	if associated != "" {
		resource["associated_data"] = associated
	}
	return resource
}

// envelope is the outer document around an encrypted message.
func envelope(tb testing.TB, eventType string, plain []byte) doc {
	tb.Helper()
	original := "transaction"
	if eventType != "TRANSACTION.SUCCESS" {
		original = "refund"
	}
	resource := seal(tb, apiV3Key, original, plain)
	resource["original_type"] = original
	return doc{"id": "EV-2018022511223320873", "create_time": paidAt, "resource_type": "encrypt-resource",
		"event_type": eventType, "summary": "支付成功", "resource": resource}
}

// platform is WeChat Pay's side: a certificate's key, a public key with an id, and a key that is nobody's.
type platform struct{ certificate, public, stranger *rsa.PrivateKey }

func newPlatform(tb testing.TB) platform {
	tb.Helper()
	return platform{newKey(tb), newKey(tb), newKey(tb)}
}

func newKey(tb testing.TB) *rsa.PrivateKey {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func (p platform) config() wechat.Config {
	return wechat.Config{Account: account(), MchID: mchID, AppIDs: []string{"wx0000000000000001", appID},
		APIv3Keys:    [][]byte{[]byte(oldAPIv3Key), []byte(apiV3Key)},
		PlatformKeys: map[string]*rsa.PublicKey{certSerial: &p.certificate.PublicKey, publicKeyID: &p.public.PublicKey}}
}

func (p platform) client(tb testing.TB) *wechat.Client {
	tb.Helper()
	client, err := wechat.New(p.config())
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

// signed delivers a body that is signed at a time, with a nonce, by a key of some name.
func signed(tb testing.TB, key *rsa.PrivateKey, serial, stamp, nonce string, body []byte) channel.Request {
	tb.Helper()
	digest := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n", stamp, nonce, body))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	if err != nil {
		tb.Fatal(err)
	}
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Wechatpay-Serial", serial)
	header.Set("Wechatpay-Timestamp", stamp)
	header.Set("Wechatpay-Nonce", nonce)
	header.Set("Wechatpay-Signature", base64.StdEncoding.EncodeToString(signature))
	return channel.Request{Header: header, Body: body, Received: received()}
}

// raw delivers any body, signed with the certificate's key.
func (p platform) raw(tb testing.TB, body []byte) channel.Request {
	tb.Helper()
	return signed(tb, p.certificate, certSerial, strconv.Itoa(signedAt), "EcZ9Cmy4Xyx1i6RlJQzLcCyEqDa26NBz", body)
}

func (p platform) send(tb testing.TB, eventType string, message doc) channel.Request {
	tb.Helper()
	return p.raw(tb, envelope(tb, eventType, message.encode(tb)).encode(tb))
}

func (p platform) pay(tb testing.TB, changes doc) channel.Request {
	tb.Helper()
	return p.send(tb, "TRANSACTION.SUCCESS", transaction().with(changes))
}

// vary sends the same message as another notification: id, nonce, time stamp and the key that signs.
func (p platform) vary(tb testing.TB, outer doc, variant int) channel.Request {
	tb.Helper()
	body := outer.with(doc{"id": fmt.Sprintf("EV-%d", variant)}).encode(tb)
	stamp, nonce := strconv.Itoa(signedAt+variant), fmt.Sprintf("nonce%d", variant)
	if variant%2 == 1 {
		r := signed(tb, p.public, publicKeyID, stamp, nonce, body)
		r.Header.Set("Wechatpay-Signature-Type", "WECHATPAY2-SHA256-RSA2048")
		return r
	}
	return signed(tb, p.certificate, certSerial, stamp, nonce, body)
}

// single parses an authentic delivery that yields one event or hint.
func single(tb testing.TB, client channel.Channel, r channel.Request) channel.Event {
	tb.Helper()
	parsed, err := client.Parse(tb.Context(), r)
	if err != nil {
		tb.Fatal(err)
	}
	for _, hint := range parsed.Hints {
		parsed.Events = append(parsed.Events, hint.Event)
	}
	if len(parsed.Events) != 1 {
		tb.Fatalf("want one event or hint, got %+v", parsed)
	}
	return parsed.Events[0]
}
