package main

import (
	"crypto/rsa"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/alipay"
	"github.com/paidonce/paidonce/channel/sqb"
	"github.com/paidonce/paidonce/channel/wechat"
	"github.com/paidonce/paidonce/sandbox"
)

// askConfig says how an account's channel is asked about orders that nobody called back for. Without it the channel is
// not asked. The tag "of" is as in accountConfig.
type askConfig struct {
	URL string `yaml:"url,omitempty"` // where to ask, if not at the channel's own address

	SerialNo       string `yaml:"serial_no,omitempty" of:"wechat"`
	SubMchID       string `yaml:"sub_mch_id,omitempty" of:"wechat wechat-v2"`
	PrivateKeyFile string `yaml:"private_key_file,omitempty" of:"wechat alipay"`

	AuthToken        secret `yaml:"auth_token,omitempty" of:"alipay"`
	AppCertSN        string `yaml:"app_cert_sn,omitempty" of:"alipay"`
	AlipayRootCertSN string `yaml:"alipay_root_cert_sn,omitempty" of:"alipay"`

	TerminalKeysFile string `yaml:"terminal_keys_file,omitempty" of:"sqb"`
}

// askingConfig says when all channels are asked.
type askingConfig struct {
	After      string `yaml:"after,omitempty"`       // how long an order may stay open; 2m
	Rate       int    `yaml:"rate,omitempty"`        // questions per second to one account; 5
	CloseAfter string `yaml:"close_after,omitempty"` // when to ask for an unpaid order to be closed; left out: never
}

// durations reads the texts; zero means the default.
func (c askingConfig) durations() (after, closeAfter time.Duration, err error) {
	for _, one := range []struct {
		name, text string
		least      time.Duration
		target     *time.Duration
	}{{"after", c.After, time.Second, &after}, {"close_after", c.CloseAfter, 5 * time.Minute, &closeAfter}} {
		if one.text == "" {
			continue
		}
		if *one.target, err = time.ParseDuration(one.text); err != nil || *one.target < one.least {
			return 0, 0, problemf("$.ask."+one.name, "must be a duration such as 2m or 24h, at least %s", one.least)
		}
	}
	if c.Rate < 0 || c.Rate > 1000 {
		return 0, 0, problemf("$.ask.rate", "must be from 1 to 1000 questions per second")
	}
	return after, closeAfter, nil
}

// check refuses keys of other channels and what is missing.
func (a *askConfig) check(path, kind string) error {
	if a == nil {
		return nil
	}
	value, fields := reflect.ValueOf(*a), reflect.TypeFor[askConfig]()
	for i := range fields.NumField() {
		of := fields.Field(i).Tag.Get("of")
		if of != "" && !value.Field(i).IsZero() && !slices.Contains(strings.Fields(of), kind) {
			key, _, _ := strings.Cut(fields.Field(i).Tag.Get("yaml"), ",")
			return problemf(path+"."+key, "channel %s has no such key; it belongs to %s", kind,
				strings.Join(strings.Fields(of), " and "))
		}
	}
	for _, needed := range []struct{ of, key, value string }{
		{"wechat", "serial_no", a.SerialNo}, {"wechat", "private_key_file", a.PrivateKeyFile},
		{"alipay", "private_key_file", a.PrivateKeyFile}, {"sqb", "terminal_keys_file", a.TerminalKeysFile},
	} {
		if needed.of == kind && needed.value == "" {
			return problemf(path, "needs %s", needed.key)
		}
	}
	return nil
}

// resolve makes paths relative to the configuration's folder and reads the one secret that may stand in the file.
func (a *askConfig) resolve(app *app, folder, path string) error {
	if a == nil {
		return nil
	}
	a.PrivateKeyFile = within(folder, a.PrivateKeyFile)
	a.TerminalKeysFile = within(folder, a.TerminalKeysFile)
	return app.expand(folder, path+".auth_token", &a.AuthToken)
}

// payers builds whom to ask, one for every account that says how.
// keys are as in endpoints.
func (c *config) payers(keys *sandbox.Keys, clock func() time.Time) ([]channel.Payer, error) {
	var list []channel.Payer
	for i, account := range c.Accounts {
		if account.Ask == nil {
			continue
		}
		path := fmt.Sprintf("$.accounts[%d].ask", i)
		m, err := account.material(fmt.Sprintf("$.accounts[%d]", i), keys)
		if err != nil {
			return nil, &usageError{c.source.locate(err)}
		}
		payer, err := account.payer(m, clock)
		if err != nil {
			return nil, &usageError{c.source.locate(&problem{path, err})}
		}
		list = append(list, payer)
	}
	return list, nil
}

// payer builds whom to ask about one account's orders. A sandbox may be asked without TLS.
func (a accountConfig) payer(m material, clock func() time.Time) (channel.Payer, error) {
	owner := channel.Account{Tenant: a.Tenant, Channel: a.code(), Name: a.Name}
	plain := a.Mode == modeSandbox
	switch a.Channel {
	case "wechat":
		key, err := privateKey(a.Ask.PrivateKeyFile)
		if err != nil {
			return nil, err
		}
		return wechat.NewPayer(wechat.PayerConfig{Account: owner, MchID: a.MchID, AppIDs: a.AppIDs,
			PlatformKeys: m.platform, SubMchID: a.Ask.SubMchID, SerialNo: a.Ask.SerialNo, PrivateKey: key,
			BaseURL: a.Ask.URL, AllowHTTP: plain, Clock: clock})
	case "wechat-v2":
		return wechat.NewPayerV2(wechat.PayerV2Config{Account: owner, MchID: a.MchID, AppIDs: a.AppIDs,
			SubMchID: a.Ask.SubMchID, APIKeys: m.v2Keys, SignType: a.SignType, BaseURL: a.Ask.URL, AllowHTTP: plain})
	case "alipay":
		key, err := privateKey(a.Ask.PrivateKeyFile)
		if err != nil {
			return nil, err
		}
		return alipay.NewPayer(alipay.PayerConfig{Account: owner, AppID: a.AppID, SellerIDs: a.SellerIDs,
			PublicKeys: m.public, Certificates: m.certificates, AuthToken: a.Ask.AuthToken.reveal(), PrivateKey: key,
			AppCertSN: a.Ask.AppCertSN, AlipayRootCertSN: a.Ask.AlipayRootCertSN, Gateway: a.Ask.URL, AllowHTTP: plain,
			Clock: clock})
	case "sqb":
		keys, err := openTerminalKeys(a.Ask.TerminalKeysFile)
		if err != nil {
			return nil, err
		}
		return sqb.NewPayer(sqb.PayerConfig{Account: owner, TerminalSNs: a.TerminalSNs, Keys: keys, BaseURL: a.Ask.URL,
			AllowHTTP: plain})
	}
	return nil, fmt.Errorf("channel %s cannot be asked", a.Channel)
}

func privateKey(file string) (key *rsa.PrivateKey, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("private_key_file: %w", err)
	}
	if key, err = channel.ParsePrivateKey(string(text)); err != nil {
		return nil, fmt.Errorf("private_key_file: %w", err)
	}
	return key, nil
}
