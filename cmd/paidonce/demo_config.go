package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/paidonce/paidonce/sandbox"
)

// demoConfig is the configuration of the demonstration: all channels for two tenants, and a settlement chain.
func demoConfig(address, dir string) *config {
	c := &config{Listen: address, Data: dir, Ask: askingConfig{After: "3s", Rate: 50}}
	c.withDefaults()
	c.Log.Format = "json"
	for tenant := range int64(2) {
		for i, kind := range kinds() {
			account := accountConfig{Channel: kind.path, Tenant: tenant + 1, Mode: modeSandbox}
			kind.identify(&account)
			account.Name = fmt.Sprintf("%s-%d", kind.path, tenant+1)
			if len(account.TerminalSNs) > 0 {
				account.TerminalSNs = []string{fmt.Sprintf("10000640000000%d", tenant+1)}
			}
			if account.MchID != "" {
				account.MchID = fmt.Sprintf("12300001%d%d", i, tenant+1)
			}
			c.Accounts = append(c.Accounts, account)
		}
	}
	c.Settlement = []ruleConfig{{Version: "demo-1", Steps: []stepConfig{
		{Fee: &feeConfig{Rate: "0.6%", Rounding: "half_up", Bearer: "platform"}},
		{Commission: &commissionConfig{Rate: "1%", Rounding: "half_up"}},
		{Split: &splitConfig{Remainder: "store", Receivers: []receiverConfig{{Name: "brand", Rate: "5%"},
			{Name: "agent", Rate: "2.5%"}}}},
	}}}
	return c
}

// askSandbox lets every account ask the sandbox at base about its open orders, with the keys that the sandbox gives its
// merchants. Their files are written into the folder of the demonstration.
func (c *config) askSandbox(keys *sandbox.Keys, box *sandbox.Sandbox, base string) error {
	file := func(name, text string) (string, error) {
		path := filepath.Join(c.Data, name)
		return path, os.WriteFile(path, []byte(text), 0o600)
	}
	for i := range c.Accounts {
		account := &c.Accounts[i]
		ask, err := &askConfig{URL: base}, error(nil)
		switch account.Channel {
		case sandbox.WeChat:
			ask.SerialNo = keys.WeChatMerchantSerial
			ask.PrivateKeyFile, err = file("wechat-merchant-key.pem", keys.WeChatMerchantKey)
		case sandbox.Alipay:
			ask.URL += "/gateway.do"
			ask.PrivateKeyFile, err = file("alipay-app-key.pem", keys.AlipayAppKey)
		case sandbox.SQB:
			key, keyErr := box.TerminalKey(account.Name)
			if keyErr != nil {
				return keyErr
			}
			ask.TerminalKeysFile, err = file(account.Name+"-terminal-keys", account.TerminalSNs[0]+" "+key+"\n")
		}
		if err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		account.Ask = ask
	}
	return nil
}

func writeDemoConfig(path string, c *config) error {
	text, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return nil
}

// freeAddress is a loopback address that nobody listens at.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("demo: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
