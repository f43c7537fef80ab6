package sqb

import (
	"crypto/rsa"
	"fmt"
	"net/http"
	"strings"

	"github.com/paidonce/paidonce/channel"
)

// ParsePublicKey reads an RSA public key as Shouqianba hands it out, bare base64 of a SubjectPublicKeyInfo, or as PEM.
// Anything else is ErrConfig.
func ParsePublicKey(text string) (*rsa.PublicKey, error) {
	key, err := channel.ParsePublicKey(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return key, nil
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
	return channel.VerifyRSA(c.keys, body, text)
}
