package wechat

import (
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paidonce/paidonce/channel"
)

const (
	publicKeyPrefix = "PUB_KEY_ID_"
	signatureType   = "WECHATPAY2-SHA256-RSA2048"
	probePrefix     = "WECHATPAY/SIGNTEST/"
)

// ParseCertificate reads a platform certificate in PEM and returns its serial number as Wechatpay-Serial gives it, in
// capital hexadecimal, with its RSA public key. Anything else is ErrConfig, also a chain: which of several serial
// numbers was meant is nothing to guess. It checks neither the validity period nor the issuer: which certificates to
// trust, and for how long, is the operator's choice.
func ParseCertificate(text string) (serial string, key *rsa.PublicKey, err error) {
	if _, rest := pem.Decode([]byte(text)); strings.TrimSpace(string(rest)) != "" {
		return "", nil, fmt.Errorf("%w: not one certificate in PEM", ErrConfig)
	}
	certificate, key, err := channel.ParseCertificate(text)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return fmt.Sprintf("%X", certificate.SerialNumber.Bytes()), key, nil
}

// ParsePublicKey reads the WeChat Pay public key as the merchant platform hands it out, in PEM, or the base64 inside
// it, with or without line breaks. Anything else is ErrConfig, a private key included.
func ParsePublicKey(text string) (*rsa.PublicKey, error) {
	key, err := channel.ParsePublicKey(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return key, nil
}

// canonicalSerial makes the writings of one certificate's serial number equal: some tools print hexadecimal in small
// letters, some drop the leading zero. What is not hexadecimal, the id of a public key, is compared as it is.
func canonicalSerial(serial string) string {
	folded := strings.TrimLeft(strings.ToUpper(serial), "0")
	if strings.Trim(folded, "0123456789ABCDEF") != "" {
		return serial
	}
	return folded
}

func platformKeys(configured map[string]*rsa.PublicKey) (map[string]*rsa.PublicKey, error) {
	if len(configured) == 0 {
		return nil, fmt.Errorf("%w: no platform key", ErrConfig)
	}
	keys := make(map[string]*rsa.PublicKey, len(configured))
	for serial, key := range configured {
		canonical := canonicalSerial(serial)
		isID := strings.HasPrefix(serial, publicKeyPrefix) && len(serial) > len(publicKeyPrefix)
		if !isID && (canonical == "" || strings.Trim(canonical, "0123456789ABCDEF") != "") {
			return nil, fmt.Errorf("%w: %q is neither a serial number in hexadecimal nor a %s… id", ErrConfig, serial,
				publicKeyPrefix)
		}
		if err := channel.UsableKey(key); err != nil {
			return nil, fmt.Errorf("%w: platform key %q: %w", ErrConfig, serial, err)
		}
		if keys[canonical] != nil {
			return nil, fmt.Errorf("%w: platform key %q is there twice", ErrConfig, serial)
		}
		keys[canonical] = key
	}
	return keys, nil
}

// verify checks the signature and then the time stamp (WeChat Pay v3 docs, callback verification): RSASSA-PKCS1-v1_5
// with SHA-256 over the time stamp, the nonce and the body as received, each followed by a line feed, under the key
// that Wechatpay-Serial names. What is not signed in just this way is ErrForged.
//
// A small share of WeChat Pay's traffic carries a deliberately wrong signature, to see that it is refused. Such a
// probe goes through the same verification and is refused like a forgery; only its reason has another name.
func (c *Client) verify(r channel.Request) error {
	var values [4]string
	for i, name := range []string{"Wechatpay-Timestamp", "Wechatpay-Nonce", "Wechatpay-Serial", "Wechatpay-Signature"} {
		given := r.Header.Values(name)
		if len(given) != 1 || given[0] == "" {
			return fmt.Errorf("%w: %s is not there exactly once", channel.ErrForged, name)
		}
		values[i] = given[0]
	}
	stamp, nonce, serial, signature := values[0], values[1], values[2], values[3]
	if err := supported(r.Header); err != nil {
		return err
	}
	sent, err := seconds(stamp)
	if err != nil {
		return err
	}
	// A line feed in the nonce would move the border between nonce and body without changing the signed bytes.
	if strings.ContainsFunc(nonce, func(char rune) bool { return char < 0x20 }) {
		return fmt.Errorf("%w: the nonce has control characters", channel.ErrForged)
	}
	if err := c.verifySignature(serial, signature, stamp+"\n"+nonce+"\n", r.Body); err != nil {
		if strings.HasPrefix(signature, probePrefix) {
			return fmt.Errorf("%w: a deliberately wrong signature", channel.ErrProbe)
		}
		return err
	}
	if distance := r.Received.Sub(sent).Abs(); distance >= c.window {
		return fmt.Errorf("%w of %s", channel.ErrStale, c.window)
	}
	return nil
}

// supported refuses other signature types, such as the SM2 one. A missing header means the usual type.
func supported(header http.Header) error {
	for _, given := range header.Values("Wechatpay-Signature-Type") {
		if given != signatureType {
			return fmt.Errorf("%w: a signature type that is not verified here", channel.ErrForged)
		}
	}
	return nil
}

// seconds reads a time stamp. It is read strictly and before the signature is verified, so that the signed bytes have
// only one reading.
func seconds(stamp string) (time.Time, error) {
	n, err := strconv.ParseUint(stamp, 10, 64)
	if err != nil || len(stamp) > 11 {
		return time.Time{}, fmt.Errorf("%w: the time stamp is not a number of seconds", channel.ErrForged)
	}
	return time.Unix(int64(n), 0), nil
}

func (c *Client) verifySignature(serial, signature, head string, body []byte) error {
	key := c.keys[canonicalSerial(serial)]
	if key == nil {
		return fmt.Errorf("%w: Wechatpay-Serial names none of %d platform keys", channel.ErrForged, len(c.keys))
	}
	text := slices.Concat([]byte(head), body, []byte("\n"))
	return channel.VerifyRSA([]*rsa.PublicKey{key}, text, signature)
}
