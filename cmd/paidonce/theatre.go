package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"

	"github.com/paidonce/paidonce/sandbox"
)

// theatre is the sandbox with the accounts and keys of a data folder.
type theatre struct {
	config   *config
	folder   folder
	box      *sandbox.Sandbox
	accounts []sandbox.Account
}

func (a *app) openTheatre(base string) (*theatre, error) {
	c, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	t := &theatre{config: c, folder: folder{c.Data}}
	if base, err = baseURL(base, c.Listen); err != nil {
		return nil, err
	}
	for _, account := range c.Accounts {
		if account.usesDataKeys() {
			t.accounts = append(t.accounts, account.inSandbox(base))
		}
	}
	if len(t.accounts) == 0 {
		return nil, usagef("no account is in mode sandbox with the keys of the data folder")
	}
	keys, err := t.folder.sandboxKeys()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("start paidonce serve first: %w", err)
	}
	if err != nil {
		return nil, err
	}
	t.box, err = sandbox.New(sandbox.Options{Keys: keys, Accounts: t.accounts, Clock: a.Clock,
		Seed: uint64(a.Clock().UnixNano())})
	return t, err
}

// inSandbox is the account as the sandbox knows it.
func (c accountConfig) inSandbox(base string) sandbox.Account {
	first := func(values []string) string { return append(values[:len(values):len(values)], "")[0] }
	return sandbox.Account{Channel: c.Channel, Name: c.Name, Tenant: c.Tenant, Mode: c.Mode, MchID: c.MchID,
		AppID: firstOf(c.AppID, first(c.AppIDs)), SellerID: first(c.SellerIDs), TerminalSN: first(c.TerminalSNs),
		NotifyURL: base + "/notify/" + c.Channel + "/" + c.Name}
}

// baseURL is where this machine reaches serve.
func baseURL(given, listen string) (string, error) {
	if given != "" {
		u, err := url.Parse(given)
		if err != nil || u.Host == "" || u.Path != "" && u.Path != "/" {
			return "", usagef("--url must be like http://127.0.0.1:8480")
		}
		return u.Scheme + "://" + u.Host, nil
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", usagef("the address %q is not HOST:PORT", listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

func (t *theatre) find(channel, name string) (sandbox.Account, error) {
	var found []sandbox.Account
	for _, account := range t.accounts {
		if account.Channel == channel && (name == "" || account.Name == name) {
			found = append(found, account)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return sandbox.Account{}, usagef("there is no such sandbox account; there are:%s", asFlags(t.accounts))
	}
	return sandbox.Account{}, usagef("channel %s has several sandbox accounts; give one with --account:%s", channel,
		asFlags(found))
}

// asFlags lists accounts as the flags that choose them.
func asFlags(accounts []sandbox.Account) string {
	var b strings.Builder
	for _, account := range accounts {
		fmt.Fprintf(&b, "\n  --channel %s --account %s", account.Channel, account.Name)
	}
	return b.String()
}

func (t *theatre) deliver(ctx context.Context, payment *sandbox.Payment, f *deliveryFlags,
) ([]sandbox.Delivered, error) {
	rounds, copies := f.deliver, 1
	if f.parallel {
		rounds, copies = 1, f.deliver
	}
	var all []sandbox.Delivered
	for range rounds {
		round, err := t.box.Deliver(ctx, payment, sandbox.Plan{Variant: f.variant(), Copies: copies,
			DropAnswer: f.dropAnswer})
		if err != nil {
			return all, err
		}
		all = append(all, round...)
	}
	return all, nil
}
