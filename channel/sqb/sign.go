package sqb

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"

	"github.com/paidonce/paidonce/channel"
)

// minKeyBits is the shortest RSA modulus that is trusted. The key that Shouqianba uses in production has 2048 bits.
const minKeyBits = 2048

// ParsePublicKey reads an RSA public key as Shouqianba hands it out, bare base64 of a SubjectPublicKeyInfo with or
// without line breaks, or as a PEM block "PUBLIC KEY" or "RSA PUBLIC KEY". Anything else is ErrConfig, a private key
// included: it has no place in a receiver's configuration.
func ParsePublicKey(text string) (*rsa.PublicKey, error) {
	der, kind, err := keyBytes(text)
	if err != nil {
		return nil, err
	}
	if kind == "RSA PUBLIC KEY" {
		key, err := x509.ParsePKCS1PublicKey(der)
		if err != nil {
			return nil, fmt.Errorf("%w: not a PKCS #1 public key", ErrConfig)
		}
		return checked(key)
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fmt.Errorf("%w: not a SubjectPublicKeyInfo", ErrConfig)
	}
	key, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("%w: not an RSA key", ErrConfig)
	}
	return checked(key)
}

func checked(key *rsa.PublicKey) (*rsa.PublicKey, error) {
	if err := usable(key); err != nil {
		return nil, err
	}
	return key, nil
}

func keyBytes(text string) (der []byte, kind string, err error) {
	if strings.Contains(text, "-----BEGIN") {
		block, rest := pem.Decode([]byte(text))
		if block == nil || strings.TrimSpace(string(rest)) != "" {
			return nil, "", fmt.Errorf("%w: not one PEM block", ErrConfig)
		}
		if block.Type != "PUBLIC KEY" && block.Type != "RSA PUBLIC KEY" {
			return nil, "", fmt.Errorf("%w: the PEM block is no public key", ErrConfig)
		}
		return block.Bytes, block.Type, nil
	}
	der, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return nil, "", fmt.Errorf("%w: a public key is neither PEM nor base64", ErrConfig)
	}
	return der, "PUBLIC KEY", nil
}

func usable(key *rsa.PublicKey) error {
	if key == nil || key.N == nil || key.N.BitLen() < minKeyBits {
		return fmt.Errorf("%w: an RSA public key needs at least %d bits", ErrConfig, minKeyBits)
	}
	return nil
}

// verify checks RSASSA-PKCS1-v1_5 with SHA-256 over the body as received. Integrations put either the bare base64
// signature or "<terminal_sn> <signature>" into Authorization; the terminal named there is not signed and is ignored.
//
// Some texts show an MD5 over body and terminal key instead. It is never accepted: terminal keys live on devices in
// shops, and whoever reads one out could forge payments with it.
func (c *Client) verify(header http.Header, body []byte) error {
	values := header.Values("Authorization")
	if len(values) != 1 {
		return fmt.Errorf("%w: %d Authorization headers", channel.ErrForged, len(values))
	}
	text := values[0][strings.LastIndexByte(values[0], ' ')+1:]
	signature, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return fmt.Errorf("%w: the signature is not base64", channel.ErrForged)
	}
	digest := sha256.Sum256(body)
	for _, key := range c.keys {
		if rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature) == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: signed by none of %d keys", channel.ErrForged, len(c.keys))
}
