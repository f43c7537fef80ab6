// Package alipay is the adapter for Alipay (支付宝), receiving side: the asynchronous notifications of its open
// platform. Payments, refunds and closes arrive as the same kind of message at the same address; what happened is told
// by marks in the form, never by trade_status alone. A refund notification carries only the cumulative amount, so it
// becomes a question to Alipay and not an event.
package alipay

import (
	"crypto/md5"
	"crypto/rsa"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/paidonce/paidonce/channel"
)

// Code is the channel's canonical code in accounts and keys.
const Code = "ALIPAY"

// ErrConfig: an account's configuration lacks something, or a key is not fit for use.
var ErrConfig = errors.New("alipay: configuration")

// Config is one Alipay application of one seller, receiving side.
type Config struct {
	// Account has the channel "ALIPAY".
	Account channel.Account
	// AppID is our application; AuthAppIDs are merchants that authorised it (ISV mode), empty for our own shop.
	AppID      string
	AuthAppIDs []string
	// SellerIDs are the partner ids (2088…) whose money this account receives.
	SellerIDs []string
	// PublicKeys are Alipay's public keys (not the application's), of which any may have signed.
	PublicKeys []*rsa.PublicKey
	// Certificates are Alipay's public key certificates by their serial (see ParseCertificate), for certificate mode.
	Certificates map[string]*rsa.PublicKey
	// AllowRSA1 also takes messages that say sign_type RSA, which is SHA-1. It is for an application that Alipay has
	// not moved to RSA2 yet. The key must still have 2048 bits: the 1024-bit key of the oldest applications cannot
	// be allowed.
	AllowRSA1 bool
}

// Client receives for one account. It keeps no state and is safe for concurrent use.
type Client struct{ config Config }

var _ channel.Channel = (*Client)(nil)

// New checks the configuration; ErrConfig says what is missing.
func New(c Config) (*Client, error) {
	if c.Account.Channel != Code || c.Account.Tenant <= 0 || c.Account.Name == "" {
		return nil, fmt.Errorf("%w: the account needs a tenant, a name and the channel %s", ErrConfig, Code)
	}
	if c.AppID == "" || len(c.SellerIDs) == 0 || slices.Contains(c.SellerIDs, "") {
		return nil, fmt.Errorf("%w: app_id and at least one seller_id are needed", ErrConfig)
	}
	if len(c.PublicKeys) == 0 && len(c.Certificates) == 0 {
		return nil, fmt.Errorf("%w: neither a public key nor a certificate of Alipay", ErrConfig)
	}
	for _, key := range append(slices.Collect(maps.Values(c.Certificates)), c.PublicKeys...) {
		if err := channel.UsableKey(key); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}
	c.AuthAppIDs, c.SellerIDs = slices.Clone(c.AuthAppIDs), slices.Clone(c.SellerIDs)
	c.PublicKeys, c.Certificates = slices.Clone(c.PublicKeys), maps.Clone(c.Certificates)
	return &Client{c}, nil
}

// Account is the account that the client receives for.
func (c *Client) Account() channel.Account { return c.config.Account }

// Ack answers 200 with exactly the seven characters "success" for what is held; Alipay takes everything else as a
// failure and sends again, eight times within 25 hours (Alipay open platform, asynchronous notifications).
func (c *Client) Ack(held bool) channel.Reply {
	if held {
		return channel.Reply{Status: http.StatusOK, ContentType: "text/plain", Body: []byte("success")}
	}
	return channel.Reply{Status: http.StatusInternalServerError, ContentType: "text/plain", Body: []byte("fail")}
}

// ParsePublicKey reads Alipay's public key as the console shows it, bare base64, or as PEM; ErrConfig if it is none.
func ParsePublicKey(text string) (*rsa.PublicKey, error) {
	key, err := channel.ParsePublicKey(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return key, nil
}

// ParseCertificate reads a PEM certificate of Alipay and returns the serial by which notifications name it: the MD5,
// in hex, of the issuer's distinguished name followed by the decimal serial number.
func ParseCertificate(text string) (serial string, key *rsa.PublicKey, err error) {
	cert, key, err := channel.ParseCertificate(text)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	sum := md5.Sum([]byte(cert.Issuer.String() + cert.SerialNumber.String()))
	return hex.EncodeToString(sum[:]), key, nil
}
