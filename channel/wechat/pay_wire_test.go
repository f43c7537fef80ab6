package wechat_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/wechat"
)

// What is signed, written out to the byte: method, path and query as they are on the wire, the seconds of the clock,
// the nonce and the body, each with a line feed (WeChat Pay v3 docs, signing of requests). The header has exactly this
// time and this nonce, and no time of the machine.
func TestTheSignedTextToTheByte(t *testing.T) {
	const nonce = "6162636465666768696a6b6c6d6e6f70"
	h := newHost(t)
	h.say(http.MethodGet, http.StatusInternalServerError, refusal("SYSTEM_ERROR"))
	h.say(http.MethodPost, http.StatusInternalServerError, refusal("SYSTEM_ERROR"))
	for name, test := range map[string]struct {
		ask  func(*wechat.Payer) error
		text string
	}{
		"query": {func(p *wechat.Payer) error {
			_, err := p.Query(t.Context(), channel.Question{OrderNo: "A|1*2"})
			return err
		}, "GET\n/v3/pay/transactions/out-trade-no/A%7C1%2A2?mchid=1900000109\n1414587457\n" + nonce + "\n\n"},
		"close": {func(p *wechat.Payer) error {
			_, err := p.Close(t.Context(), question())
			return err
		}, "POST\n/v3/pay/transactions/out-trade-no/ORDER-1/close\n1414587457\n" + nonce +
			"\n{\"mchid\":\"1900000109\"}\n"},
		"reverse": {func(p *wechat.Payer) error {
			_, err := p.Reverse(t.Context(), question())
			return err
		}, "POST\n/v3/pay/transactions/out-trade-no/ORDER-1/reverse\n1414587457\n" + nonce +
			"\n{\"appid\":\"wx0000000000000001\",\"mchid\":\"1900000109\"}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			payer := h.payer(t, func(c *wechat.PayerConfig) {
				c.Clock = func() time.Time { return time.Unix(1414587457, 999_999_999) }
				c.Random = strings.NewReader("abcdefghijklmnop")
			})
			checkOutcome(t, channel.Answer{}, test.ask(payer), "", "", channel.ErrUnanswered)
			asked := h.take()
			if len(asked) != 1 {
				t.Fatalf("asked %d questions, want 1", len(asked))
			}
			got := asked[0].header.Get("Authorization")
			head, rest, _ := strings.Cut(got, `signature="`)
			encoded, tail, _ := strings.Cut(rest, `"`)
			if head != `WECHATPAY2-SHA256-RSA2048 mchid="1900000109",nonce_str="`+nonce+`",` ||
				tail != `,timestamp="1414587457",serial_no="`+merchantSerial+`"` {
				t.Fatalf("authorization %q", got)
			}
			signature, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				t.Fatal(err)
			}
			digest := sha256.Sum256([]byte(test.text))
			if err := rsa.VerifyPKCS1v15(&h.merchant.PublicKey, crypto.SHA256, digest[:], signature); err != nil {
				t.Fatalf("it does not sign %q: %v", test.text, err)
			}
		})
	}
}
