package main

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/alipay"
	"github.com/paidonce/paidonce/channel/sqb"
	"github.com/paidonce/paidonce/channel/wechat"
	"github.com/paidonce/paidonce/sandbox"
	"github.com/paidonce/paidonce/server"
)

// The modes of an account.
const (
	modeLive    = "live"
	modeSandbox = "sandbox"
)

// accountConfig is one merchant account. The tag "of" names the channels that a key belongs to; keys without it
// belong to every channel.
type accountConfig struct {
	Name    string `yaml:"name"`
	Channel string `yaml:"channel"` // wechat, wechat-v2, alipay, sqb
	Tenant  int64  `yaml:"tenant"`
	Mode    string `yaml:"mode"` // live or sandbox

	MchID                string   `yaml:"mch_id,omitempty" of:"wechat wechat-v2"`
	AppIDs               []string `yaml:"app_ids,omitempty" of:"wechat wechat-v2"`
	APIv3Keys            []secret `yaml:"api_v3_keys,omitempty" of:"wechat"`
	APIv3KeysFile        string   `yaml:"api_v3_keys_file,omitempty" of:"wechat"`
	PlatformCertificates []string `yaml:"platform_certificates,omitempty" of:"wechat"`

	APIKeys     []secret `yaml:"api_keys,omitempty" of:"wechat-v2"`
	APIKeysFile string   `yaml:"api_keys_file,omitempty" of:"wechat-v2"`
	SignType    string   `yaml:"sign_type,omitempty" of:"wechat-v2"`

	AppID        string   `yaml:"app_id,omitempty" of:"alipay"`
	AuthAppIDs   []string `yaml:"auth_app_ids,omitempty" of:"alipay"`
	SellerIDs    []string `yaml:"seller_ids,omitempty" of:"alipay"`
	Certificates []string `yaml:"certificates,omitempty" of:"alipay"`

	TerminalSNs []string `yaml:"terminal_sns,omitempty" of:"sqb"`

	PublicKeys []publicKeyConfig `yaml:"public_keys,omitempty" of:"wechat alipay sqb"`

	Ask *askConfig `yaml:"ask,omitempty"` // how to ask about orders that nobody called back for
}

// publicKeyConfig is a file with a public key of the channel. Only WeChat Pay gives its keys ids.
type publicKeyConfig struct {
	ID   string `yaml:"id,omitempty"`
	File string `yaml:"file"`
}

// kind is what the program knows of one sort of account.
type kind struct {
	path string // in notify URLs and as the value of "channel"
	code string // in keys and journals
	// build makes the receiver from the account and its key material.
	build func(channel.Account, accountConfig, material) (channel.Channel, error)
	// identify gives a sandbox account the numbers that a channel would have given it.
	identify func(*accountConfig)
}

// kinds lists every sort of account that can be configured.
func kinds() []kind {
	return []kind{
		{sandbox.WeChat, wechat.Code, buildWeChat, func(a *accountConfig) {
			a.MchID, a.AppIDs = "1230000109", []string{"wxd678efh567hg6787"}
		}},
		{sandbox.WeChatV2, wechat.Code, buildWeChatV2, func(a *accountConfig) {
			a.MchID, a.AppIDs = "1230000110", []string{"wxd678efh567hg6787"}
			a.Name = "sandbox-v2" // both versions share the channel code WECHAT, and names are unique under it
		}},
		{sandbox.Alipay, alipay.Code, buildAlipay, func(a *accountConfig) {
			a.AppID, a.SellerIDs = "2021000000000001", []string{"2088101122136241"}
		}},
		{sandbox.SQB, sqb.Code, buildSQB, func(a *accountConfig) { a.TerminalSNs = []string{"100006400000001"} }},
	}
}

func kindOf(path string) (kind, bool) {
	list := kinds()
	i := slices.IndexFunc(list, func(k kind) bool { return k.path == path })
	if i < 0 {
		return kind{}, false
	}
	return list[i], true
}

func kindNames() string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.path)
	}
	return strings.Join(names, ", ")
}

var accountName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// checkAccounts finds what is wrong with the accounts before any key file is read.
func (c *config) checkAccounts() error {
	if len(c.Accounts) == 0 {
		return problemf("$.accounts", "no account is configured")
	}
	for i, account := range c.Accounts {
		path := fmt.Sprintf("$.accounts[%d]", i)
		if err := account.check(path); err != nil {
			return err
		}
		for _, other := range c.Accounts[:i] {
			if other.Mode != account.Mode {
				return problemf(path+".mode", "sandbox and live accounts never run in one process: "+
					"sandbox payments are forged money")
			}
			if account.code() == other.code() && account.Name == other.Name {
				return problemf(path+".name", "the name %q is taken by another account of channel %s", account.Name,
					account.code())
			}
		}
	}
	return nil
}

func (a accountConfig) code() string {
	k, _ := kindOf(a.Channel)
	return k.code
}

func (a accountConfig) check(path string) error {
	switch _, known := kindOf(a.Channel); {
	case !known:
		return problemf(path+".channel", "%q is none of %s", a.Channel, kindNames())
	case !accountName.MatchString(a.Name):
		return problemf(path+".name", "must be 1 to 64 small letters, digits and '-'")
	case a.Tenant <= 0:
		return &problem{path + ".tenant", errTenant}
	case a.Mode != modeLive && a.Mode != modeSandbox:
		return problemf(path+".mode", "must be %s or %s", modeLive, modeSandbox)
	}
	value, kind := reflect.ValueOf(a), reflect.TypeFor[accountConfig]()
	for i := range kind.NumField() {
		of := kind.Field(i).Tag.Get("of")
		if of != "" && !value.Field(i).IsZero() && !slices.Contains(strings.Fields(of), a.Channel) {
			key, _, _ := strings.Cut(kind.Field(i).Tag.Get("yaml"), ",")
			return problemf(path+"."+key, "channel %s has no such key; it belongs to %s", a.Channel,
				strings.Join(strings.Fields(of), " and "))
		}
	}
	if err := a.Ask.check(path+".ask", a.Channel); err != nil {
		return err
	}
	for i, key := range a.PublicKeys {
		if key.File == "" {
			return problemf(fmt.Sprintf("%s.public_keys[%d]", path, i), "needs a file")
		}
		if (key.ID != "") != (a.Channel == sandbox.WeChat) {
			return problemf(fmt.Sprintf("%s.public_keys[%d]", path, i), "an id is needed for %s and for nothing else",
				sandbox.WeChat)
		}
	}
	return nil
}

// endpoints builds the receivers of all accounts. keys are those of the data folder; they serve sandbox accounts that
// configure none, and may be nil if there is no such account.
func (c *config) endpoints(keys *sandbox.Keys) ([]server.Endpoint, error) {
	var list []server.Endpoint
	for i, account := range c.Accounts {
		path := fmt.Sprintf("$.accounts[%d]", i)
		m, err := account.material(path, keys)
		if err != nil {
			return nil, &usageError{c.source.locate(err)}
		}
		k, _ := kindOf(account.Channel)
		receiver, err := k.build(channel.Account{Tenant: account.Tenant, Channel: k.code, Name: account.Name}, account, m)
		if err != nil {
			return nil, &usageError{c.source.locate(&problem{path, err})}
		}
		list = append(list, server.Endpoint{Path: account.Channel, Channel: receiver})
	}
	return list, nil
}

func buildWeChat(owner channel.Account, a accountConfig, m material) (channel.Channel, error) {
	return wechat.New(wechat.Config{Account: owner, MchID: a.MchID, AppIDs: a.AppIDs, APIv3Keys: m.v3Keys,
		PlatformKeys: m.platform})
}

func buildWeChatV2(owner channel.Account, a accountConfig, m material) (channel.Channel, error) {
	return wechat.NewV2(wechat.ConfigV2{Account: owner, MchID: a.MchID, AppIDs: a.AppIDs, APIKeys: m.v2Keys,
		SignType: a.SignType})
}

func buildSQB(owner channel.Account, a accountConfig, m material) (channel.Channel, error) {
	return sqb.New(sqb.Config{Account: owner, PublicKeys: m.public, TerminalSNs: a.TerminalSNs})
}

func buildAlipay(owner channel.Account, a accountConfig, m material) (channel.Channel, error) {
	return alipay.New(alipay.Config{Account: owner, AppID: a.AppID, AuthAppIDs: a.AuthAppIDs, SellerIDs: a.SellerIDs,
		PublicKeys: m.public, Certificates: m.certificates})
}
