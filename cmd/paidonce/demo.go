package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/paidonce/paidonce/sandbox"
	"github.com/paidonce/paidonce/store"
)

// The least that a demonstration does.
const (
	demoOrders = 320
	demoKills  = 20
)

func demoCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "demo", Short: "Watch payments be booked exactly once while everything goes wrong",
		Args: cobra.NoArgs, Example: "  paidonce demo\n  paidonce demo --once --json",
		Long: `Starts paidonce serve as a child process with sandbox accounts of two tenants, lets customers pay orders at
WeChat Pay, Alipay and SQB, delivers their signed notifications several times, at once, out of order, forged and with
wrong amounts, creates orders after their callbacks, lets bookings fail after the claim, and kills the child with
SIGKILL again and again. Then it compares the database, read by plain SQL, with the sandbox's own record, and leaves
the server running.

Exit code 0 means: nothing lost, nothing doubled, debits equal credits, and every fault really happened.`}
	flags := c.Flags()
	once := flags.Bool("once", false, "end after the proof instead of leaving the server running")
	output := outputFlag(c) // with json, the proof is printed as one object and nothing else
	orders := flags.Int("orders", demoOrders, fmt.Sprintf("how many orders, at least %d", demoOrders))
	seed := flags.Uint64("seed", 0, "repeat the choices of an earlier run (default: drawn)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *orders < demoOrders || *orders > 100_000 {
			return usagef("--orders must be from %d to 100000", demoOrders)
		}
		if *seed == 0 {
			*seed = rand.Uint64()
		}
		d := &demo{app: a, seed: *seed, orders: *orders, json: *output == formatJSON}
		return d.run(c.Context(), *once)
	}
	return c
}

// demo is one demonstration.
type demo struct {
	app    *app
	seed   uint64
	orders int
	json   bool

	dir      string // everything that it writes, but for a database that was given
	location secret // of the database
	base     string // where the child listens
	tokens   map[int64]string
	child    *child
	store    *store.Store
	box      *sandbox.Sandbox
	accounts []sandbox.Account

	mu    sync.Mutex
	never map[string]bool // orders that are never created
}

func (d *demo) run(ctx context.Context, once bool) (err error) {
	if d.dir, err = os.MkdirTemp("", "paidonce-demo-"); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	if err := d.setUp(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.store.Close()) }()
	defer func() { d.child.kill() }()
	d.say("seed %d, %s, %d orders over three channels and two tenants\n", d.seed, d.store.Engine(), d.orders)
	if err := d.playAll(ctx); err != nil {
		return err
	}
	proof, err := d.prove(ctx)
	if err != nil {
		return err
	}
	if err := d.print(proof); err != nil {
		return err
	}
	if failures := proof.failures(); len(failures) > 0 {
		failures = append(failures, d.unfinished(ctx)...)
		return fmt.Errorf("demo: the proof failed: %w", errors.Join(failures...))
	}
	if once {
		return nil
	}
	return d.stay(ctx)
}

// say tells a person what goes on. With -o json only the proof is printed, so that a program can read it.
func (d *demo) say(format string, args ...any) {
	if !d.json {
		_, _ = fmt.Fprintf(d.app.Out, format, args...)
	}
}

// setUp writes the configuration, makes the keys, starts the child without faults once so that it migrates, and makes
// the tokens.
func (d *demo) setUp(ctx context.Context) error {
	d.location = secret("sqlite:" + filepath.Join(d.dir, "paidonce.db"))
	given, err := d.app.env("PAIDONCE_DATABASE_URL")
	if err != nil {
		return err
	}
	if given = firstOf(d.app.flags.database, given); given != "" {
		d.location = secret(given)
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	d.base = "http://" + address
	c := demoConfig(address, d.dir)
	keys, err := d.app.ensureSandboxKeys(folder{d.dir})
	if err != nil {
		return err
	}
	for _, account := range c.Accounts {
		d.accounts = append(d.accounts, account.inSandbox(d.base))
	}
	if d.box, err = sandbox.New(sandbox.Options{Keys: keys, Accounts: d.accounts, Clock: d.app.Clock,
		Seed: d.seed}); err != nil {
		return err
	}
	if err := d.answerQuestions(ctx, c, keys); err != nil {
		return err
	}
	if err := writeDemoConfig(filepath.Join(d.dir, "paidonce.yaml"), c); err != nil {
		return err
	}
	d.child = &child{config: filepath.Join(d.dir, "paidonce.yaml"), database: d.location, base: d.base,
		log: filepath.Join(d.dir, "serve.log")}
	if err := d.child.start(ctx, ""); err != nil {
		return err
	}
	if d.store, err = openStore(d.location, d.app.Clock); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if err := d.mustBeEmpty(ctx); err != nil {
		return errors.Join(err, d.store.Close())
	}
	d.tokens = map[int64]string{}
	for _, tenant := range []int64{1, 2} {
		if d.tokens[tenant], err = d.store.CreateToken(ctx, tenant, "demo"); err != nil {
			return errors.Join(err, d.store.Close())
		}
	}
	return nil
}

// answerQuestions lets the sandbox's channels be asked on a port of their own, until ctx ends.
func (d *demo) answerQuestions(ctx context.Context, c *config, keys *sandbox.Keys) error {
	api, err := d.box.API()
	if err != nil {
		return err
	}
	base, err := serveSandbox(ctx, api)
	if err != nil {
		return err
	}
	return c.askSandbox(keys, d.box, base)
}

// mustBeEmpty keeps forged money out of a database that holds anything else.
func (d *demo) mustBeEmpty(ctx context.Context) error {
	var claims int64
	err := d.store.Pools().Read.QueryRowContext(ctx, "SELECT COUNT(*) FROM channel_idempotent").Scan(&claims)
	if err == nil && claims > 0 {
		return usagef("the database holds %d claims already; the demo books forged money and needs an empty one", claims)
	}
	return err
}

// stay leaves the server running, without faults, until it is told to end.
func (d *demo) stay(ctx context.Context) error {
	d.child.kill()
	if err := d.child.start(ctx, ""); err != nil {
		return err
	}
	token := d.tokens[1]
	d.say("\nThe server goes on at %s. Look around, end with Ctrl-C:\n\n"+
		"  curl -s -H 'Authorization: Bearer %s' %s/v1/trial-balance\n\n"+
		"The token was made for this demonstration and ends with its data in %s.\n", d.base, token, d.base, d.dir)
	<-ctx.Done()
	d.child.end(15 * time.Second)
	return nil
}
