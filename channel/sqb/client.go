// Package sqb is the adapter for Shouqianba (收钱吧), the "upay v2" Web API.
//
// Shouqianba documents the callback's fields, its acknowledgement and its retries (1 s, 5 s, 30 s and 600 s after the
// first, then never), but not its signature; that part follows the integrations in production, which agree with each
// other: RSA-SHA256 over the raw body. The signature covers no time and no nonce, so a callback verifies for ever. The
// claim under its key is the only defence against replay, and it is enough.
//
// A callback carries no refund number. It can therefore say that a payment was received or that an order ended unpaid;
// everything about refunds becomes a hint to ask Shouqianba.
package sqb

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/paidonce/paidonce/channel"
)

// Code is the channel's canonical code in accounts and keys.
const Code = "SQB"

// ErrConfig: an account's configuration lacks something, or a key is not fit for use.
var ErrConfig = errors.New("sqb: configuration")

// Config is one Shouqianba merchant account, receiving side.
type Config struct {
	// Account has the channel "SQB".
	Account channel.Account
	// PublicKeys are Shouqianba's own keys, of which any may have signed: two or more during a rotation. The operator
	// has them confirmed by Shouqianba, because no document publishes them.
	PublicKeys []*rsa.PublicKey
	// TerminalSNs are the terminals whose orders belong to the account. Shouqianba signs for all its merchants with
	// the same key, so the terminal in the signed body is what tells our payments from a stranger's.
	TerminalSNs []string
}

// Client receives for one account. It keeps no state and is safe for concurrent use.
type Client struct {
	account   channel.Account
	keys      []*rsa.PublicKey
	terminals map[string]bool
}

var _ channel.Channel = (*Client)(nil)

// New checks the configuration; ErrConfig says what is missing.
func New(c Config) (*Client, error) {
	if c.Account.Channel != Code || c.Account.Tenant <= 0 || c.Account.Name == "" {
		return nil, fmt.Errorf("%w: the account needs a tenant, a name and the channel %s", ErrConfig, Code)
	}
	if len(c.PublicKeys) == 0 {
		return nil, fmt.Errorf("%w: no public key", ErrConfig)
	}
	for i, key := range c.PublicKeys {
		if err := channel.UsableKey(key); err != nil {
			return nil, fmt.Errorf("%w: public key %d: %w", ErrConfig, i+1, err)
		}
	}
	if len(c.TerminalSNs) == 0 {
		return nil, fmt.Errorf("%w: no terminal", ErrConfig)
	}
	terminals := make(map[string]bool, len(c.TerminalSNs))
	for i, sn := range c.TerminalSNs {
		if !channel.ValidNumber(sn) {
			return nil, fmt.Errorf("%w: terminal %d is not a terminal_sn", ErrConfig, i+1)
		}
		terminals[sn] = true
	}
	return &Client{account: c.Account, keys: slices.Clone(c.PublicKeys), terminals: terminals}, nil
}

// Account is the account that the client receives for.
func (c *Client) Account() channel.Account { return c.account }

// Ack answers 200 with exactly "success" for what is held (Shouqianba upay docs, notify_url of pay and precreate).
// Whether Shouqianba reads the status or the body is not documented, so a refusal is one in both.
func (c *Client) Ack(held bool) channel.Reply {
	if held {
		return channel.Reply{Status: http.StatusOK, ContentType: "text/plain", Body: []byte("success")}
	}
	return channel.Reply{Status: http.StatusInternalServerError, ContentType: "text/plain", Body: []byte("fail")}
}
