package main

import (
	"fmt"
	"net"
	"os"

	"github.com/goccy/go-yaml"
)

// demoConfig is the configuration of the demonstration: all channels for two tenants, and a settlement chain.
func demoConfig(address, dir string) *config {
	c := &config{Listen: address, Data: dir}
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
