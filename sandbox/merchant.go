package sandbox

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// CompleteMerchant makes the merchant's keys that are missing, as in a key file from before the channels could be
// asked, and reports whether there were any.
func (k *Keys) CompleteMerchant() (added bool, err error) {
	for _, target := range []*string{&k.WeChatMerchantKey, &k.AlipayAppKey} {
		if *target != "" {
			continue
		}
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return added, fmt.Errorf("sandbox: generate key: %w", err)
		}
		if err := encodeKey(key, target, nil); err != nil {
			return added, err
		}
		added = true
	}
	for _, target := range []struct {
		text  *string
		bytes int
	}{{&k.WeChatMerchantSerial, 20}, {&k.SQBTerminalKey, 16}} {
		if *target.text != "" {
			continue
		}
		random := make([]byte, target.bytes)
		if _, err := rand.Read(random); err != nil {
			return added, fmt.Errorf("sandbox: generate key: %w", err)
		}
		*target.text, added = hex.EncodeToString(random), true
	}
	k.WeChatMerchantSerial = strings.ToUpper(k.WeChatMerchantSerial)
	return added, nil
}

func (k *Keys) completeMerchant() bool {
	return k.WeChatMerchantKey != "" && k.WeChatMerchantSerial != "" && k.AlipayAppKey != "" && k.SQBTerminalKey != ""
}

// merchantRing is what requests are verified with. A key that is missing is nil.
type merchantRing struct{ wechat, alipay *rsa.PublicKey }

func (k *Keys) parseMerchant() (merchantRing, error) {
	var r merchantRing
	for _, target := range []struct {
		text string
		key  **rsa.PublicKey
	}{{k.WeChatMerchantKey, &r.wechat}, {k.AlipayAppKey, &r.alipay}} {
		if target.text == "" {
			continue
		}
		key, err := privateKey(target.text)
		if err != nil {
			return r, err
		}
		*target.key = &key.PublicKey
	}
	if k.SQBTerminalKey != "" && len(k.SQBTerminalKey) != 32 {
		return r, errors.New("sandbox: the terminal key does not have 32 characters")
	}
	return r, nil
}
