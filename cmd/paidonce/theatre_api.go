package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/paidonce/paidonce/sandbox"
)

// playTheChannels lets the sandbox accounts of a serve without a configuration ask about open orders: this process
// plays the channels on a loopback port, and what was paid there is what "sandbox pay" has remembered in the data
// folder. An account of a configuration file says itself whom it asks.
func (a *app) playTheChannels(ctx context.Context, s *service) error {
	if s.config.source != nil || s.keys == nil {
		return nil
	}
	if err := completeKeys(s.folder, s.keys); err != nil {
		return err
	}
	var accounts []sandbox.Account
	for _, account := range s.config.Accounts {
		accounts = append(accounts, account.inSandbox("http://127.0.0.1"))
	}
	box, err := sandbox.New(sandbox.Options{Keys: s.keys, Accounts: accounts, Clock: a.Clock})
	if err != nil {
		return err
	}
	api, err := box.API()
	if err != nil {
		return err
	}
	base, err := serveSandbox(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := restorePayments(s.folder, box); err != nil {
			s.log.Warn("the sandbox does not know all payments", "err", err)
		}
		api.ServeHTTP(w, r)
	}))
	if err != nil {
		return err
	}
	return s.config.askSandbox(s.keys, box, base)
}

// completeKeys adds what a key file from before the channels could be asked does not have.
func completeKeys(f folder, keys *sandbox.Keys) error {
	added, err := keys.CompleteMerchant()
	if err != nil || !added {
		return err
	}
	text, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return fmt.Errorf("sandbox keys: %w", err)
	}
	return replaceFile(f.file(keysFile), append(text, '\n'))
}

func restorePayments(f folder, box *sandbox.Sandbox) error {
	payments, err := f.payments()
	if err != nil {
		return err
	}
	for _, p := range payments {
		if _, err := box.Restore(*p); err != nil {
			return err
		}
	}
	return nil
}

// serveSandbox answers questions on a loopback port of its own until ctx ends, and returns where.
func serveSandbox(ctx context.Context, handler http.Handler) (base string, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("sandbox: %w", err)
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	context.AfterFunc(ctx, func() { _ = web.Close() })
	go func() { _ = web.Serve(listener) }() // it ends when it is closed, and the process's end closes it too
	return "http://" + listener.Addr().String(), nil
}
