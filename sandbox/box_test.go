package sandbox_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"testing"
	"time"

	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/sandbox"
)

func channels() []string {
	return []string{sandbox.WeChat, sandbox.WeChatV2, sandbox.Alipay, sandbox.SQB}
}

func now() time.Time { return time.Date(2026, 12, 1, 2, 30, 0, 0, time.UTC) }

func yuan(minor int64) money.Amount { return money.New(minor, money.CNY) }

func newKeys(t *testing.T) *sandbox.Keys {
	t.Helper()
	keys, err := sandbox.GenerateKeys(now())
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// accounts are one account at each channel, all notified at one URL.
func accounts(notifyURL string) []sandbox.Account {
	var list []sandbox.Account
	for _, channel := range channels() {
		list = append(list, sandbox.Account{Channel: channel, Name: "shop", Tenant: 1, Mode: "sandbox", MchID: "1900000109",
			AppID: "wx8888888888888888", SellerID: "2088102146225135", TerminalSN: "100000330000001",
			NotifyURL: notifyURL})
	}
	return list
}

func newBox(t *testing.T, keys *sandbox.Keys, seed uint64, notifyURL string) *sandbox.Sandbox {
	t.Helper()
	box, err := sandbox.New(sandbox.Options{Keys: keys, Accounts: accounts(notifyURL), Clock: now, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// nowhere is a notify URL for boxes that deliver nothing.
const nowhere = "http://127.0.0.1:1/"

func pay(t *testing.T, box *sandbox.Sandbox, channel, orderNo string, minor int64) *sandbox.Payment {
	t.Helper()
	payment, err := box.Pay(channel, "shop", orderNo, yuan(minor))
	if err != nil {
		t.Fatal(err)
	}
	return payment
}

// facts let happen at one channel all that it notifies: a payment of 19.99 yuan, a refund of 5.00 and one of the rest,
// and an order that expires.
func facts(t *testing.T, box *sandbox.Sandbox, channel string) []sandbox.Fact {
	t.Helper()
	payment := pay(t, box, channel, "ORDER-1", 1999)
	list := []sandbox.Fact{payment}
	for i, minor := range []int64{500, 1499} {
		refund, err := box.Refund(payment, fmt.Sprint("REFUND-", i+1), yuan(minor))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, refund)
	}
	if channel == sandbox.Alipay || channel == sandbox.SQB {
		expired, err := box.CloseUnpaid(channel, "shop", "ORDER-2", yuan(1))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, expired)
	}
	return list
}

func notification(t *testing.T, box *sandbox.Sandbox, fact sandbox.Fact, v sandbox.Variant) sandbox.Message {
	t.Helper()
	message, err := box.Notification(fact, v)
	if err != nil {
		t.Fatal(err)
	}
	return message
}

// public reads a public key or certificate in PEM.
func public(t *testing.T, text string) *rsa.PublicKey {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		t.Fatal("not PEM")
	}
	if block.Type == "CERTIFICATE" {
		return certificate(t, text).PublicKey.(*rsa.PublicKey)
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key.(*rsa.PublicKey)
}

func certificate(t *testing.T, text string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		t.Fatal("not PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// signed tells whether the base64 text is an RSASSA-PKCS1-v1_5 signature with SHA-256, as all channels make it.
func signed(key *rsa.PublicKey, text, signature string) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	sum := sha256.Sum256([]byte(text))
	return err == nil && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], raw) == nil
}
