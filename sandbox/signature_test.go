package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/paidonce/paidonce/sandbox"
)

func variants(channel string) map[string]sandbox.Variant {
	all := map[string]sandbox.Variant{"honest": {}, "changed": {BadSignature: true}, "stranger": {Stranger: true},
		"other merchant": {OtherMerchant: true}, "too much": {WrongBy: 1}, "too little": {WrongBy: -1},
		"too much and changed": {WrongBy: 1, BadSignature: true}, "finished": {Finished: true}, "GBK": {GBK: true},
		"certificate": {Certificate: true}}
	if channel == sandbox.WeChat {
		all["probe"] = sandbox.Variant{Probe: true}
	}
	return all
}

// The other merchant's message is signed as well as ours; only its content tells.
func TestEveryMessageIsSignedByTheDocumentedRuleUnlessItIsForged(t *testing.T) {
	keys := newKeys(t)
	for _, channel := range channels() {
		t.Run(channel, func(t *testing.T) {
			for seed := range uint64(6) {
				box := newBox(t, keys, seed, nowhere)
				for _, fact := range facts(t, box, channel) {
					for name, v := range variants(channel) {
						got := read(t, channel, keys, notification(t, box, fact, v))
						if want := !v.BadSignature && !v.Stranger && !v.Probe; got.genuine != want {
							t.Errorf("%s, %T, seed %d: genuine %t, want %t", name, fact, seed, got.genuine, want)
						}
					}
				}
			}
		})
	}
}

// A merchant must refuse what is not signed and what is not meant for it, and nothing else.
func TestForged(t *testing.T) {
	for name, want := range map[string]bool{"honest": false, "changed": true, "stranger": true, "other merchant": true,
		"too much": false, "too little": false, "finished": false, "GBK": false, "certificate": false, "probe": true} {
		if got := variants(sandbox.WeChat)[name].Forged(); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}

func TestThePlatformKeyOfV3IsChosenByChanceOrByWish(t *testing.T) {
	keys := newKeys(t)
	kinds := map[string]int{}
	for seed := range uint64(20) {
		box := newBox(t, keys, seed, nowhere)
		payment := pay(t, box, sandbox.WeChat, "ORDER-1", 1)
		wished := notification(t, box, payment, sandbox.Variant{Certificate: true})
		if serial := wished.Header.Get("Wechatpay-Serial"); len(serial) != 40 || serial == keys.WeChatPublicKeyID {
			t.Errorf("seed %d: asked for the certificate, got %q", seed, serial)
		}
		left := notification(t, box, payment, sandbox.Variant{}).Header.Get("Wechatpay-Serial")
		kinds[strings.TrimRight(left, "0123456789ABCDEF")]++
	}
	if len(kinds) != 2 {
		t.Errorf("left to chance: %v, want both kinds", kinds)
	}
}

func TestAProbeIsTheDocumentedOneAndWeChatsAlone(t *testing.T) {
	keys := newKeys(t)
	box := newBox(t, keys, 1, nowhere)
	for _, channel := range channels() {
		m, err := box.Notification(pay(t, box, channel, "ORDER-1", 1), sandbox.Variant{Probe: true})
		if channel == sandbox.WeChat {
			if !strings.HasPrefix(m.Header.Get("Wechatpay-Signature"), "WECHATPAY/SIGNTEST/") || err != nil {
				t.Errorf("signature %q, %v", m.Header.Get("Wechatpay-Signature"), err)
			}
		} else if !errors.Is(err, sandbox.ErrRequest) {
			t.Errorf("%s: %v, want %v", channel, err, sandbox.ErrRequest)
		}
	}
}

func TestAlipayInGBK(t *testing.T) {
	keys := newKeys(t)
	box := newBox(t, keys, 1, nowhere)
	m := notification(t, box, pay(t, box, sandbox.Alipay, "ORDER-1", 1), sandbox.Variant{GBK: true})
	form, err := url.ParseQuery(string(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := simplifiedchinese.GBK.NewDecoder().String(form.Get("subject"))
	if subject != "咖啡 + 蛋糕" || err != nil || form.Get("charset") != "gbk" {
		t.Errorf("charset %q, subject %q, %v", form.Get("charset"), subject, err)
	}
	if kind := m.Header.Get("Content-Type"); !strings.HasSuffix(kind, "charset=GBK") {
		t.Errorf("Content-Type %q", kind)
	}
}

// Shouqianba writes every value as a string; net_amount is what is left after refunds.
func TestWhatSQBSays(t *testing.T) {
	box := newBox(t, newKeys(t), 1, nowhere)
	list := facts(t, box, sandbox.SQB)
	for i, want := range []string{"SUCCESS PAID 1999 1999", "SUCCESS PARTIAL_REFUNDED 1999 1499",
		"SUCCESS REFUNDED 1999 0", "FAIL_CANCELED PAY_CANCELED 1 1"} {
		var said struct {
			Status string `json:"status"`
			Order  string `json:"order_status"`
			Total  string `json:"total_amount"`
			Net    string `json:"net_amount"`
		}
		if err := json.Unmarshal(notification(t, box, list[i], sandbox.Variant{}).Body, &said); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(said.Status, " ", said.Order, " ", said.Total, " ", said.Net); got != want {
			t.Errorf("says %q, want %q", got, want)
		}
	}
}
