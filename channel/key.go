package channel

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// ErrPublicKey: a text is no RSA public key that may be trusted.
var ErrPublicKey = errors.New("channel: not a usable public key")

// minKeyBits is the shortest RSA modulus that is trusted. All three channels use 2048 bits.
const minKeyBits = 2048

// ParsePublicKey reads an RSA public key as the channels hand them out: bare base64 of a SubjectPublicKeyInfo with or
// without line breaks, or a PEM block "PUBLIC KEY", "RSA PUBLIC KEY". Anything else is ErrPublicKey, a private key
// included: it has no place in a receiver's configuration.
func ParsePublicKey(text string) (*rsa.PublicKey, error) {
	der, kind, err := keyBytes(text)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "", "PUBLIC KEY":
	case "RSA PUBLIC KEY":
		key, err := x509.ParsePKCS1PublicKey(der)
		if err != nil {
			return nil, fmt.Errorf("%w: not a PKCS #1 public key", ErrPublicKey)
		}
		return key, UsableKey(key)
	default:
		return nil, fmt.Errorf("%w: the PEM block is no public key", ErrPublicKey)
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fmt.Errorf("%w: not a SubjectPublicKeyInfo", ErrPublicKey)
	}
	key, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("%w: not an RSA key", ErrPublicKey)
	}
	return key, UsableKey(key)
}

// ParseCertificate reads one PEM certificate with an RSA key, for channels that sign with certificates.
func ParseCertificate(text string) (*x509.Certificate, *rsa.PublicKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, nil, fmt.Errorf("%w: not a PEM certificate", ErrPublicKey)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: the certificate cannot be read", ErrPublicKey)
	}
	key, ok := cert.PublicKey.(*rsa.PublicKey)
	if !ok {
		return nil, nil, fmt.Errorf("%w: the certificate has no RSA key", ErrPublicKey)
	}
	return cert, key, UsableKey(key)
}

// keyBytes reads one PEM block of whatever kind, or bare base64, which has no kind.
func keyBytes(text string) (der []byte, kind string, err error) {
	if strings.Contains(text, "-----BEGIN") {
		block, rest := pem.Decode([]byte(text))
		if block == nil || strings.TrimSpace(string(rest)) != "" {
			return nil, "", fmt.Errorf("%w: not one PEM block", ErrPublicKey)
		}
		return block.Bytes, block.Type, nil
	}
	der, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return nil, "", fmt.Errorf("%w: neither PEM nor base64", ErrPublicKey)
	}
	return der, "", nil
}

// UsableKey reports whether a key is there and long enough to be trusted.
func UsableKey(key *rsa.PublicKey) error {
	if key == nil || key.N == nil || key.N.BitLen() < minKeyBits {
		return fmt.Errorf("%w: an RSA public key needs at least %d bits", ErrPublicKey, minKeyBits)
	}
	return nil
}

// VerifyRSA checks a base64 signature, RSASSA-PKCS1-v1_5 with SHA-256, against every key; ErrForged if none fits. A
// signature has one base64 form: stray bits and line breaks are refused.
func VerifyRSA(keys []*rsa.PublicKey, text []byte, signature string) error {
	raw, err := base64.StdEncoding.Strict().DecodeString(signature)
	if err != nil || strings.ContainsAny(signature, "\r\n") {
		return fmt.Errorf("%w: the signature is not base64", ErrForged)
	}
	digest := sha256.Sum256(text)
	for _, key := range keys {
		if rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], raw) == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: signed by none of %d keys", ErrForged, len(keys))
}
