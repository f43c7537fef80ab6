package alipay

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/paidonce/paidonce/channel"
)

// verify checks the signature over all received parameters but sign and sign_type, sorted by name and joined as
// name=value with & (Alipay open platform, verification of asynchronous notifications). sign_type is not signed, so
// the message cannot choose: RSA2 is RSA with SHA-256, and RSA, which is SHA-1, is taken only if the account allows it.
//
// What is signed is not escaped, so it may be cut into parameters in more than one way. The form's reader, hides and
// swallows refuse what makes use of that.
//
// Alipay's own libraries differ in two points, so each is tried in turn: whether parameters without a value are signed,
// and, in certificate mode, whether alipay_cert_sn is. The text that verified is returned.
func (c *Client) verify(f form) (signed []byte, err error) {
	check := channel.VerifyRSA
	switch {
	case f["sign_type"] == "RSA2":
	case f["sign_type"] == "RSA" && c.config.AllowRSA1:
		check = verifySHA1
	default:
		return nil, fmt.Errorf("%w: sign_type is not allowed", channel.ErrForged)
	}
	keys, err := c.keys(f["alipay_cert_sn"])
	if err != nil {
		return nil, err
	}
	for _, text := range signedTexts(f) {
		if err = check(keys, []byte(text), f["sign"]); err == nil {
			return []byte(text), nil
		}
	}
	return nil, err
}

// keys are those that may have signed: the named certificate's, or else the public keys of key mode.
func (c *Client) keys(serial string) ([]*rsa.PublicKey, error) {
	if key := c.config.Certificates[serial]; key != nil {
		return []*rsa.PublicKey{key}, nil
	}
	if len(c.config.PublicKeys) == 0 {
		return nil, fmt.Errorf("%w: it names no certificate that is known", channel.ErrForged)
	}
	return c.config.PublicKeys, nil
}

// signedTexts are the texts that Alipay may have signed, the usual one first, none twice.
func signedTexts(f form) []string {
	var texts []string
	for _, serial := range []bool{true, false} {
		for _, empties := range []bool{true, false} {
			if text := canonical(f, empties, serial); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

func canonical(f form, empties, serial bool) string {
	names := make([]string, 0, len(f))
	for name, value := range f {
		if name == "sign" || name == "sign_type" || !empties && value == "" || !serial && name == "alipay_cert_sn" {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = name + "=" + f[name]
	}
	return strings.Join(names, "&")
}

// verifySHA1 is channel.VerifyRSA for the older sign_type RSA.
func verifySHA1(keys []*rsa.PublicKey, text []byte, signature string) error {
	raw, err := base64.StdEncoding.Strict().DecodeString(signature)
	if err != nil || strings.ContainsAny(signature, "\r\n") {
		return fmt.Errorf("%w: the signature is not base64", channel.ErrForged)
	}
	digest := sha1.Sum(text)
	for _, key := range keys {
		if rsa.VerifyPKCS1v15(key, crypto.SHA1, digest[:], raw) == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: signed by none of %d keys", channel.ErrForged, len(keys))
}
