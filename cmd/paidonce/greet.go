package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/paidonce/paidonce/server"
)

// greet prints what a person needs to begin. With a new data folder and sandbox accounts only, it makes a first token
// and shows it, this once; where money is real, tokens are made by a person alone.
func (a *app) greet(ctx context.Context, s *service, address net.Addr) error {
	var b strings.Builder
	fmt.Fprintf(&b, "paidonce %s listens at http://%s\n", fullVersion(), address)
	fmt.Fprintf(&b, "  data      %s\n  database  %s\n", s.folder.path, describeDatabase(s.config.Database.URL))
	for _, e := range s.endpoints {
		fmt.Fprintf(&b, "  notify    http://%s%s  %s\n", address, notifyPath(e), s.mark(e))
	}
	if s.config.allSandbox() {
		b.WriteString("\nThese are SANDBOX accounts: payments are forged money, signed with keys of this data folder.\n" +
			"Pay one:    paidonce sandbox pay --channel wechat --order A1 --amount 12.34\n")
	}
	tenant := s.config.Accounts[0].Tenant
	if s.fresh && s.config.allSandbox() {
		text, err := s.store.CreateToken(ctx, tenant, "first")
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "API token of tenant %d, shown this once:\n  %s\n", tenant, text)
	}
	fmt.Fprintf(&b, "New token:  paidonce token create --tenant %d\n\n", tenant)
	_, err := fmt.Fprint(a.Out, b.String())
	return err
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
