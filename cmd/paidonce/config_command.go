package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

func configCommand(a *app) *cobra.Command {
	printing := &cobra.Command{Use: "print", Short: "Print the configuration in force, secrets masked",
		Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return a.printConfig() }}
	check := &cobra.Command{Use: "check", Short: "Build every account and chain, and say what each is",
		Long: "Reads the configuration and every key file and builds what serve would build. It does not open the\n" +
			"database and makes no files.", Args: cobra.NoArgs}
	output := outputFlag(check)
	check.RunE = func(*cobra.Command, []string) error { return a.checkConfig(*output) }
	return group("config", "Look at the configuration", printing, check)
}

// MarshalYAML prints the database without its password.
func (d databaseConfig) MarshalYAML() (any, error) {
	return map[string]string{"url": describeDatabase(d.URL)}, nil
}

func (a *app) printConfig() error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	text, err := yaml.MarshalWithOptions(c, yaml.IndentSequence(true))
	if err != nil {
		return fmt.Errorf("config print: %w", err)
	}
	_, err = a.Out.Write(text)
	return err
}

// checked is what config check says of one account.
type checked struct {
	Account string `json:"account"`
	Channel string `json:"channel"`
	Tenant  int64  `json:"tenant"`
	Mode    string `json:"mode"`
	Notify  string `json:"notify"`
	Keys    string `json:"keys"`
	Asked   bool   `json:"asked"`            // whether its channel is asked about open orders
	Chains  int    `json:"settlement_rules"` // that can apply to it
}

func (a *app) checkConfig(output format) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	built := *c
	keys, err := folder{c.Data}.sandboxKeys()
	if errors.Is(err, fs.ErrNotExist) { // serve would make them; a check makes nothing
		built.Accounts = slices.DeleteFunc(slices.Clone(c.Accounts), accountConfig.usesDataKeys)
	} else if err != nil {
		return err
	}
	if _, err := built.endpoints(keys); err != nil {
		return err
	}
	if _, err := built.payers(keys, a.Clock); err != nil {
		return err
	}
	accounts, rows := make([]checked, len(c.Accounts)), make([]table.Row, len(c.Accounts))
	for i, account := range c.Accounts {
		said := c.describe(account)
		accounts[i] = said
		rows[i] = table.Row{said.Account, said.Channel, said.Tenant, said.Mode, said.Notify, said.Keys, said.Asked,
			said.Chains}
	}
	if output == formatJSON {
		return a.printJSON(accounts)
	}
	header := table.Row{"account", "channel", "tenant", "mode", "notify", "keys", "asked", "settlement rules"}
	if err := a.printTable(header, rows); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Out, "ok")
	return err
}

func (c *config) describe(account accountConfig) checked {
	said := checked{Account: account.Name, Channel: account.Channel, Tenant: account.Tenant, Mode: account.Mode,
		Notify: "/notify/" + account.Channel + "/" + account.Name, Asked: account.Ask != nil}
	verify := len(account.PlatformCertificates) + len(account.Certificates) + len(account.PublicKeys)
	said.Keys = fmt.Sprintf("%d public, %d secret", verify, len(account.APIv3Keys)+len(account.APIKeys))
	if account.usesDataKeys() {
		said.Keys = "of the data folder"
	}
	only := config{Accounts: []accountConfig{account}}
	for _, rule := range c.Settlement {
		if only.covers(rule) {
			said.Chains++
		}
	}
	return said
}
