// Package wechat is the adapter for WeChat Pay, receiving side. Client reads the notifications of API v3, ClientV2
// those of the older v2, which point-of-sale systems still use. Both make the same event of the same payment, so an
// account may move from one to the other while notifications of both arrive.
//
// A v3 notification is signed by WeChat Pay over time stamp, nonce and raw body, and its content is encrypted under
// the merchant's APIv3 key. Encryption under a shared key is not what proves the sender: the signature is verified
// first, and nothing is decoded before.
package wechat

import (
	"crypto/cipher"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/paidonce/paidonce/channel"
)

// Code is the channel's canonical code in accounts and keys, for v3 and v2 alike.
const Code = "WECHAT"

// DefaultWindow is how far a notification's time stamp may lie from its arrival, as WeChat Pay's own libraries have
// it. Each retry is signed with a new time stamp.
const DefaultWindow = 300 * time.Second

// ErrConfig: an account's configuration lacks something, or a key is not fit for use.
var ErrConfig = errors.New("wechat: invalid configuration")

// Config is one merchant account at WeChat Pay, for API v3.
type Config struct {
	Account channel.Account // Channel is Code
	// MchID is the account's own number: mchid of a direct merchant, sp_mchid of a service provider.
	MchID string
	// AppIDs are the applications whose payments belong to the account (appid or sp_appid).
	AppIDs []string
	// APIv3Keys decrypt. Each has exactly 32 bytes; two or more while the key is being changed.
	APIv3Keys [][]byte
	// PlatformKeys are WeChat Pay's keys by what Wechatpay-Serial calls them: the serial number of a platform
	// certificate in hexadecimal, in either case, or the id of a public key, which begins PUB_KEY_ID_. During
	// WeChat Pay's migration from one to the other notifications of both kinds arrive mixed, so both belong here.
	PlatformKeys map[string]*rsa.PublicKey
	// Window bounds the distance between time stamp and arrival; it is excluded itself. Zero means DefaultWindow.
	Window time.Duration
}

// Client receives v3 notifications for one account. It keeps no state and is safe for concurrent use.
type Client struct {
	identity
	aeads  []cipher.AEAD
	keys   map[string]*rsa.PublicKey // by canonicalSerial
	window time.Duration
}

var _ channel.Channel = (*Client)(nil)

// New checks the configuration; ErrConfig says what is missing.
func New(c Config) (*Client, error) {
	id, err := newIdentity(c.Account, c.MchID, c.AppIDs)
	if err != nil {
		return nil, err
	}
	keys, err := platformKeys(c.PlatformKeys)
	if err != nil {
		return nil, err
	}
	aeads, err := newAEADs(c.APIv3Keys)
	if err != nil {
		return nil, err
	}
	if c.Window < 0 {
		return nil, fmt.Errorf("%w: the window is negative", ErrConfig)
	}
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	return &Client{identity: id, aeads: aeads, keys: keys, window: c.Window}, nil
}

// Ack answers 200 for what is held. The status alone decides (WeChat Pay v3 docs, payment notification); the body is
// what older pages of the same documents ask for. A refusal is a refusal in both, because a 200 is never sent again.
func (c *Client) Ack(held bool) channel.Reply {
	if held {
		return channel.Reply{Status: http.StatusOK, ContentType: "application/json",
			Body: []byte(`{"code":"SUCCESS","message":"OK"}`)}
	}
	return channel.Reply{Status: http.StatusInternalServerError, ContentType: "application/json",
		Body: []byte(`{"code":"FAIL","message":"not held, send it again"}`)}
}

// identity is whom messages must be meant for.
type identity struct {
	account channel.Account
	mchID   string
	appIDs  []string
}

func newIdentity(a channel.Account, mchID string, appIDs []string) (identity, error) {
	if a.Channel != Code || a.Tenant <= 0 || a.Name == "" {
		return identity{}, fmt.Errorf("%w: the account needs a tenant, a name and the channel %s", ErrConfig, Code)
	}
	if !channel.ValidNumber(mchID) {
		return identity{}, fmt.Errorf("%w: no merchant number", ErrConfig)
	}
	if len(appIDs) == 0 || slices.Contains(appIDs, "") {
		return identity{}, fmt.Errorf("%w: no application, or an empty one", ErrConfig)
	}
	return identity{account: a, mchID: mchID, appIDs: slices.Clone(appIDs)}, nil
}

// Account is the account that the client receives for.
func (id identity) Account() channel.Account { return id.account }

// check compares a message's merchant and application with the account's. Each list holds the values of the names
// under which the message may carry them; at least one is needed, and none may be a stranger's.
func (id identity) check(merchants, apps []string) error {
	given := func(s string) bool { return s != "" }
	if !slices.ContainsFunc(merchants, given) {
		return errIncomplete
	}
	for _, m := range merchants {
		if m != "" && m != id.mchID {
			return fmt.Errorf("%w: another merchant", channel.ErrIdentity)
		}
	}
	for _, app := range apps {
		if app != "" && !slices.Contains(id.appIDs, app) {
			return fmt.Errorf("%w: another application", channel.ErrIdentity)
		}
	}
	return nil
}

func (id identity) quarantine(signed []byte, why error) channel.Parsed {
	return channel.Parsed{Hints: []channel.Hint{channel.Quarantine(id.account, signed, why.Error())}}
}

// tooBig refuses what cannot be a notification by its size alone.
func tooBig(body []byte) error {
	if len(body) == 0 || len(body) > channel.MaxBodyBytes {
		return fmt.Errorf("%w: a body of this size is no notification", channel.ErrMalformed)
	}
	return nil
}
