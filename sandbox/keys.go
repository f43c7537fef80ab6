package sandbox

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Keys is the key material of one sandbox installation. Its JSON form holds PEM texts and is as secret as any key
// file, although it opens nothing but a sandbox.
type Keys struct {
	WeChatCertificate string `json:"wechat_certificate"`     // PEM, self-signed
	WeChatCertKey     string `json:"wechat_certificate_key"` // PEM, PKCS#8
	WeChatPublicKeyID string `json:"wechat_public_key_id"`   // PUB_KEY_ID_…
	WeChatPublicKey   string `json:"wechat_public_key"`      // PEM, PKIX
	WeChatKey         string `json:"wechat_key"`             // PEM, of the public key
	WeChatV3Key       string `json:"wechat_v3_key"`          // 32 characters
	WeChatV2Key       string `json:"wechat_v2_key"`          // 32 characters
	AlipayPublicKey   string `json:"alipay_public_key"`      // PEM, PKIX
	AlipayKey         string `json:"alipay_key"`             // PEM
	SQBPublicKey      string `json:"sqb_public_key"`         // PEM, PKIX
	SQBKey            string `json:"sqb_key"`                // PEM
	StrangerKey       string `json:"stranger_key"`           // PEM: signs what must be refused

	// What the merchant signs its questions with. The sandbox hands these out, as a channel's console does, and verifies
	// with the public halves; all accounts of an installation share them.
	WeChatMerchantKey    string `json:"wechat_merchant_key"`    // PEM: the private key of the API certificate
	WeChatMerchantSerial string `json:"wechat_merchant_serial"` // of the API certificate: 40 hex digits
	AlipayAppKey         string `json:"alipay_app_key"`         // PEM: the application's private key
	SQBTerminalKey       string `json:"sqb_terminal_key"`       // 32 hex digits: of every terminal until it checks in
}

// GenerateKeys makes fresh keys: RSA of 2048 bits, a platform certificate valid for five years from now.
func GenerateKeys(now time.Time) (*Keys, error) {
	keys := &Keys{}
	for _, target := range []struct{ private, public *string }{
		{&keys.WeChatCertKey, nil}, {&keys.WeChatKey, &keys.WeChatPublicKey}, {&keys.AlipayKey, &keys.AlipayPublicKey},
		{&keys.SQBKey, &keys.SQBPublicKey}, {&keys.StrangerKey, nil},
	} {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, fmt.Errorf("sandbox: generate key: %w", err)
		}
		if err := encodeKey(key, target.private, target.public); err != nil {
			return nil, err
		}
	}
	var random [40]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("sandbox: generate key: %w", err)
	}
	keys.WeChatV3Key = hex.EncodeToString(random[:16])
	keys.WeChatV2Key = hex.EncodeToString(random[16:32])
	keys.WeChatPublicKeyID = fmt.Sprintf("PUB_KEY_ID_0%028d", new(big.Int).SetBytes(random[32:]))
	if _, err := keys.CompleteMerchant(); err != nil {
		return nil, err
	}
	return keys, keys.selfSign(now)
}

func encodeKey(key *rsa.PrivateKey, private, public *string) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("sandbox: encode key: %w", err)
	}
	*private = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if public == nil {
		return nil
	}
	if der, err = x509.MarshalPKIXPublicKey(&key.PublicKey); err != nil {
		return fmt.Errorf("sandbox: encode key: %w", err)
	}
	*public = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return nil
}

func (k *Keys) selfSign(now time.Time) error {
	key, err := privateKey(k.WeChatCertKey)
	if err != nil {
		return err
	}
	var serial [20]byte
	if _, err := rand.Read(serial[:]); err != nil {
		return fmt.Errorf("sandbox: certificate: %w", err)
	}
	serial[0] = serial[0]&0x3f | 0x40 // positive, and always 40 hex digits as WeChat's are
	template := &x509.Certificate{SerialNumber: new(big.Int).SetBytes(serial[:]),
		Subject:   pkix.Name{CommonName: "Sandbox platform certificate", Organization: []string{"paidonce sandbox"}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(5, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return fmt.Errorf("sandbox: certificate: %w", err)
	}
	k.WeChatCertificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return nil
}

// ring is the parsed form of Keys.
type ring struct {
	certSerial                                     string
	certKey, wechatKey, alipayKey, sqbKey, strange *rsa.PrivateKey
	merchant                                       merchantRing
}

func (k *Keys) parse() (*ring, error) {
	r := &ring{}
	for _, target := range []struct {
		text string
		key  **rsa.PrivateKey
	}{{k.WeChatCertKey, &r.certKey}, {k.WeChatKey, &r.wechatKey}, {k.AlipayKey, &r.alipayKey}, {k.SQBKey, &r.sqbKey},
		{k.StrangerKey, &r.strange}} {
		key, err := privateKey(target.text)
		if err != nil {
			return nil, err
		}
		*target.key = key
	}
	block, _ := pem.Decode([]byte(k.WeChatCertificate))
	if block == nil {
		return nil, errors.New("sandbox: key file has no platform certificate")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("sandbox: platform certificate: %w", err)
	}
	r.certSerial = fmt.Sprintf("%X", cert.SerialNumber)
	if len(k.WeChatV3Key) != 32 || len(k.WeChatV2Key) != 32 {
		return nil, errors.New("sandbox: key file has no symmetric keys of 32 characters")
	}
	if r.merchant, err = k.parseMerchant(); err != nil {
		return nil, err
	}
	return r, k.refuseLive()
}

func privateKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("sandbox: a private key is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("sandbox: a private key cannot be read")
	}
	rsaKey, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("sandbox: a private key is not RSA")
	}
	return rsaKey, nil
}

// liveSQB is the SHA-256 of the public key that Shouqianba signs real callbacks with.
const liveSQB = "1ce8d5db646c7c0effc6d1dc9398b5f042b23cbb779c329e67eadd6e317fced6"

func (k *Keys) refuseLive() error {
	block, _ := pem.Decode([]byte(k.SQBPublicKey))
	if block == nil {
		return errors.New("sandbox: key file has no SQB public key")
	}
	if sum := sha256.Sum256(block.Bytes); hex.EncodeToString(sum[:]) == liveSQB {
		return fmt.Errorf("%w: the SQB key is the real one", ErrLive)
	}
	return nil
}

// bare is a PEM text without its frame, as Alipay's console shows keys.
func bare(text string) string {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(block.Bytes)
}

// AlipayBareKey is the Alipay public key as the merchant console shows it: base64 without a frame.
func (k *Keys) AlipayBareKey() string { return bare(k.AlipayPublicKey) }
