package channel

import (
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
)

// ErrPrivateKey: a text is no RSA private key that is fit to sign requests. The error never quotes the text.
var ErrPrivateKey = errors.New("channel: not a usable private key")

// ParsePrivateKey reads the RSA key that signs our requests, as the channels' tools write it: bare base64 of PKCS #8 or
// PKCS #1, or a PEM block "PRIVATE KEY" or "RSA PRIVATE KEY". A key with a passphrase is refused: decrypt it first.
func ParsePrivateKey(text string) (*rsa.PrivateKey, error) {
	der, kind, err := keyBytes(text)
	if err != nil {
		return nil, fmt.Errorf("%w: neither PEM nor base64", ErrPrivateKey)
	}
	var key *rsa.PrivateKey
	if kind == "" || kind == "PRIVATE KEY" {
		if parsed, err := x509.ParsePKCS8PrivateKey(der); err == nil {
			key, _ = parsed.(*rsa.PrivateKey)
		}
	}
	if key == nil && (kind == "" || kind == "RSA PRIVATE KEY") {
		if parsed, err := x509.ParsePKCS1PrivateKey(der); err == nil {
			key = parsed
		}
	}
	switch {
	case key == nil:
		return nil, fmt.Errorf("%w: not an RSA key in PKCS #8 or PKCS #1 without passphrase", ErrPrivateKey)
	case UsableKey(&key.PublicKey) != nil:
		return nil, fmt.Errorf("%w: it has fewer than 2048 bits", ErrPrivateKey)
	}
	return key, nil
}
