package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/migrate"
	"github.com/paidonce/paidonce/sandbox"
	"github.com/paidonce/paidonce/server"
	"github.com/paidonce/paidonce/store"
)

// finishWithin is how long requests that were begun may take after the program was told to end.
const finishWithin = 10 * time.Second

func serveCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "serve", Short: "Receive notifications and book them", Args: cobra.NoArgs,
		Long: "Migrates and checks the database, then receives notifications at /notify/CHANNEL/ACCOUNT and answers the\n" +
			"JSON API. Without a configuration it receives for sandbox accounts.\n\n" +
			"At SIGINT or SIGTERM /readyz answers 503, nothing more is accepted, what was begun is finished within 10 s,\n" +
			"and the program ends with 0. Whatever a kill interrupts is finished by the next start."}
	c.Flags().StringVar(&a.flags.listen, "listen", "", "address to listen at (default 127.0.0.1:8480)")
	c.Flags().StringVar(&a.flags.instance, "instance", "",
		"name of this process in timelines (default: host name and process id)")
	pause := c.Flags().Duration("drain", 0, "how long to go on accepting after /readyz says 503, for load balancers")
	leash := c.Flags().Bool("leash", false, "end when the standard input closes, as it does when the parent dies")
	c.RunE = func(c *cobra.Command, _ []string) error {
		configured, err := a.loadConfig()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(c.Context())
		defer cancel()
		if *leash {
			go func() { _, _ = io.Copy(io.Discard, a.In); cancel() }()
		}
		return a.serve(ctx, configured, *pause)
	}
	return c
}

// service is everything that serve keeps running.
type service struct {
	config    *config
	log       *slog.Logger
	folder    folder
	fresh     bool // the data folder was empty
	keys      *sandbox.Keys
	store     *store.Store
	house     *paidonce.House
	endpoints []server.Endpoint
	payers    []channel.Payer
	handler   *server.Server
}

// serve runs until ctx ends. A nil error means that everything which was begun is finished.
func (a *app) serve(ctx context.Context, c *config, pause time.Duration) (err error) {
	s := &service{config: c}
	if s.log, err = a.logger(c.Log); err != nil {
		return err
	}
	hook, err := a.faultHook(c)
	if err != nil {
		return err
	}
	if s.folder, s.fresh, err = openFolder(c.Data); err != nil {
		return err
	}
	if s.keys, err = a.dataKeys(c, s.folder); err != nil {
		return err
	}
	if err = a.playTheChannels(ctx, s); err != nil {
		return err
	}
	if s.endpoints, err = c.endpoints(s.keys); err != nil {
		return err
	}
	if s.payers, err = c.payers(s.keys, a.Clock); err != nil {
		return err
	}
	if s.store, err = a.openDatabase(ctx, c); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.Close()) }()
	if err := s.prepareDatabase(ctx); err != nil {
		return err
	}
	if err := s.build(ctx, a.Clock, hook); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return listenFailure(c.Listen, "--listen", err)
	}
	if err := a.greet(ctx, s, listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	return s.run(ctx, listener, pause)
}

// prepareDatabase brings the schema up and asks the database whether it can keep the promise.
func (s *service) prepareDatabase(ctx context.Context) error {
	applied, err := migrate.Up(ctx, s.store.Engine(), s.store.Pools().Main, s.store.Schema())
	for _, migration := range applied {
		s.log.InfoContext(ctx, "migration applied", "name", migration.Name, "took", migration.Took.String())
	}
	if err != nil {
		return err
	}
	exposed, err := exposedFiles(s.config.Database.URL)
	if err != nil {
		return err
	}
	for _, name := range exposed {
		s.log.WarnContext(ctx, "users other than the owner may read the database", "file", name, "remedy", "chmod 600")
	}
	return s.store.Check(ctx)
}

func (s *service) build(ctx context.Context, clock func() time.Time, hook func(string) error) error {
	rules, err := s.config.rules()
	if err != nil {
		return err
	}
	ends, err := openHeads(s.folder.file(headsFile), s.store.SealAt)
	if err != nil {
		return err
	}
	after, closeAfter, err := s.config.Ask.durations()
	if err != nil {
		return err
	}
	s.house, err = paidonce.New(paidonce.Options{Store: s.store, Rules: rules, Instance: s.config.Instance,
		Logger: s.log, Hook: hook, Payers: s.payers, AskAfter: after, AskRate: s.config.Ask.Rate, CloseAfter: closeAfter,
		OnHead: func(head paidonce.LedgerHead) {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := ends.keep(limited, head); err != nil {
				s.log.Error("the copy of the ledger's head outside of the database is behind", "err", err)
			}
		}})
	if err != nil {
		return err
	}
	s.handler, err = server.New(server.Options{House: s.house, Store: s.store, Channels: s.endpoints, Logger: s.log,
		Clock: clock, Version: fullVersion()})
	return err
}

// serveMetrics answers scrapes at an address of their own, if one is configured, until the returned function is called.
func (s *service) serveMetrics(ctx context.Context, broken chan<- error) (stop func(), err error) {
	if s.config.Metrics == "" {
		return func() {}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.config.Metrics)
	if err != nil {
		return nil, listenFailure(s.config.Metrics, "metrics in the file", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.handler.Metrics())
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: 30 * time.Second, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	go func() {
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			broken <- fmt.Errorf("metrics: %w", err)
		}
	}()
	return func() { _ = web.Close() }, nil
}

// run serves until ctx ends, then ends in order: say no to the load balancer, accept nothing more, finish what was
// begun, stop the background work.
func (s *service) run(ctx context.Context, listener net.Listener, pause time.Duration) error {
	detached := context.WithoutCancel(ctx)
	background, stopBackground := context.WithCancel(detached)
	defer stopBackground()
	quiet := make(chan struct{})
	go func() { s.house.Run(background); close(quiet) }()
	web := &http.Server{Handler: s.handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: 60 * time.Second, IdleTimeout: 90 * time.Second, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	broken := make(chan error, 2)
	go func() { broken <- web.Serve(listener) }()
	stopMetrics, err := s.serveMetrics(ctx, broken)
	if err != nil {
		return errors.Join(err, web.Close())
	}
	defer stopMetrics()

	select {
	case err = <-broken:
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		s.log.Info("ending", "finish_within", finishWithin.String())
		s.handler.Drain()
		time.Sleep(pause)
		limit, cancel := context.WithTimeout(detached, finishWithin)
		defer cancel()
		if err = web.Shutdown(limit); err != nil {
			err = errors.Join(fmt.Errorf("requests were cut off: %w", err), web.Close())
		}
	}
	stopBackground()
	<-quiet
	s.log.Info("ended")
	return err
}
