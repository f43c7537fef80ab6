package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/paidonce/paidonce/server"
)

// greet prints what a person needs to begin; the commands in it work as they are printed. With a new data folder and
// sandbox accounts only, it makes a first token and shows it, this once, if a person looks: what goes into a file or
// to a collector of logs would stay there. Where money is real, tokens are made by a person alone.
func (a *app) greet(ctx context.Context, s *service, address net.Addr) error {
	var b strings.Builder
	fmt.Fprintf(&b, "paidonce %s listens at http://%s\n", fullVersion(), address)
	fmt.Fprintf(&b, "  data      %s\n  database  %s\n", s.folder.path, describeDatabase(s.config.Database.URL))
	for _, e := range s.endpoints {
		fmt.Fprintf(&b, "  notify    http://%s%s  %s\n", address, notifyPath(e), s.mark(e))
	}
	if s.config.allSandbox() {
		b.WriteString("\nThese are SANDBOX accounts: payments are forged money, signed with keys of this data folder.\n")
		if pay, ok := a.payCommand(s.config, address); ok {
			fmt.Fprintf(&b, "Pay one:    %s\n", pay)
		}
	}
	tenant := s.config.Accounts[0].Tenant
	if s.fresh && s.config.allSandbox() && terminal(a.Out) {
		text, err := s.store.CreateToken(ctx, tenant, "first")
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "API token of tenant %d, shown this once:\n  %s\n", tenant, text)
	}
	fmt.Fprintf(&b, "New token:  %s token create --tenant %d\n\n", a.again(s.config), tenant)
	_, err := fmt.Fprint(a.Out, b.String())
	return err
}

// payCommand is a command that pays an order at the first account that the sandbox can play.
func (a *app) payCommand(c *config, address net.Addr) (string, bool) {
	for _, account := range c.Accounts {
		if !account.usesDataKeys() {
			continue
		}
		command := a.again(c) + " sandbox pay --channel " + account.Channel
		if slices.ContainsFunc(c.Accounts, func(other accountConfig) bool {
			return other.Channel == account.Channel && other.Name != account.Name
		}) {
			command += " --account " + account.Name
		}
		command += " --order A1 --amount 12.34"
		if base, err := baseURL("", address.String()); err == nil && c.givenBy["$.listen"] != "" {
			command += " --url " + base // the other process does not know what this one was told
		}
		return command, true
	}
	return "", false
}

func notifyPath(e server.Endpoint) string {
	return "/notify/" + e.Path + "/" + e.Channel.Account().Name
}

func (s *service) mark(e server.Endpoint) string {
	if s.config.allSandbox() {
		return fmt.Sprintf("(sandbox, tenant %d)", e.Channel.Account().Tenant)
	}
	return fmt.Sprintf("(LIVE, tenant %d)", e.Channel.Account().Tenant)
}
