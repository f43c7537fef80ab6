// Package server puts the house behind HTTP: the notification endpoints of the channels, a JSON API for the books, and
// health. It holds no state of the books; whatever a channel sends enters through House.Accept, and a channel is told
// "we hold it" if and only if Accept returned no error for everything that the notification says.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

// ErrOptions: the options of a server do not fit together.
var ErrOptions = errors.New("server: not valid options")

// Access knows bearer tokens and whether the database answers.
type Access interface {
	// TokenTenant is the tenant of a bearer token; store.ErrToken if it is not valid, any other error if that cannot
	// be told at the moment.
	TokenTenant(ctx context.Context, token string) (int64, error)
	// Ping reports whether the database answers.
	Ping(ctx context.Context) error
}

// Orders reads orders and their payments. Lists are by order number.
type Orders interface {
	// Order reads one order; order.ErrUnknown if there is none.
	Order(ctx context.Context, tenant int64, no string) (order.Order, error)
	// Orders lists at most limit orders after the given number.
	Orders(ctx context.Context, tenant int64, after string, limit int) ([]order.Order, error)
	// Payments lists the channel payments of one order.
	Payments(ctx context.Context, tenant int64, orderNo string) ([]store.Payment, error)
}

// Books reads the journal.
type Books interface {
	// Journal reads the booking of one event, if there is one.
	Journal(ctx context.Context, tenant int64, cause string) ([]ledger.Recorded, error)
	// JournalOfOrder reads the bookings of one order.
	JournalOfOrder(ctx context.Context, tenant int64, orderNo string) ([]ledger.Recorded, error)
	// TrialBalance lists every account with the sums of both sides.
	TrialBalance(ctx context.Context, tenant int64) ([]ledger.Balance, error)
}

// Claims reads claims and their lives. Lists are by key.
type Claims interface {
	// Timeline reads the life of one event; gate.ErrNoClaim if its key was never claimed.
	Timeline(ctx context.Context, tenant int64, key gate.Key) (store.Timeline, error)
	// Unfinished lists at most limit claims that are not finished after the given key; reason "" means any.
	Unfinished(ctx context.Context, tenant int64, reason, after string, limit int) ([]gate.Row, error)
	// Inherited lists at most limit adopted claims that no booking proves yet, after the given key.
	Inherited(ctx context.Context, tenant int64, after string, limit int) ([]gate.Row, error)
}

// Store is what the API reads. It writes only through the house.
type Store interface {
	Access
	Orders
	Books
	Claims
	Operations
}

var _ Store = (*store.Store)(nil)

// Endpoint is one merchant account whose notifications are received at /notify/{Path}/{account name}.
type Endpoint struct {
	Path    string // "wechat", "wechat-v2", "alipay", "sqb": [a-z0-9-]+
	Channel channel.Channel
}

// Options of a server. House, Store and Clock are needed.
type Options struct {
	House    *paidonce.House
	Store    Store
	Channels []Endpoint
	Logger   *slog.Logger // nil: no log
	Clock    func() time.Time
	Version  string // of the program, for the API's description
	// Overdue is the age at which an open order counts as money at risk; 10 min.
	Overdue time.Duration
}

// Server answers HTTP. It is safe for concurrent use.
type Server struct {
	opt      Options
	channels map[string]channel.Channel // path and account name, as in the URL
	handler  http.Handler
	draining atomic.Bool
}

var _ http.Handler = (*Server)(nil)

// New checks the options; ErrOptions says what is wrong. It starts nothing.
func New(opt Options) (*Server, error) {
	if opt.House == nil || opt.Store == nil || opt.Clock == nil {
		return nil, fmt.Errorf("%w: house, store and clock are needed", ErrOptions)
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.Overdue <= 0 {
		opt.Overdue = 10 * time.Minute
	}
	channels, err := byAddress(opt.Channels)
	if err != nil {
		return nil, err
	}
	s := &Server{opt: opt, channels: channels}
	mux := http.NewServeMux()
	mux.HandleFunc("/notify/{channel}/{account}", s.notify)
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /{$}", s.root)
	s.routeAPI(mux)
	s.handler = s.guard(s.strays(mux))
	return s, nil
}

// byAddress maps "path/account" to channels. Two accounts under one address would verify each other's notifications
// and put them into one tenant's books, so that is refused.
func byAddress(endpoints []Endpoint) (map[string]channel.Channel, error) {
	word := regexp.MustCompile(`^[a-z0-9-]+$`)
	channels := make(map[string]channel.Channel, len(endpoints))
	for _, e := range endpoints {
		if e.Channel == nil {
			return nil, fmt.Errorf("%w: endpoint %q has no channel", ErrOptions, e.Path)
		}
		account := e.Channel.Account()
		if !word.MatchString(e.Path) || !word.MatchString(account.Name) || account.Tenant <= 0 {
			return nil, fmt.Errorf("%w: endpoint %q, account %q: want small letters, digits and '-', and a tenant",
				ErrOptions, e.Path, account.Name)
		}
		address := e.Path + "/" + account.Name
		if channels[address] != nil {
			return nil, fmt.Errorf("%w: two accounts at /notify/%s", ErrOptions, address)
		}
		channels[address] = e.Channel
	}
	return channels, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Drain makes /readyz say no, so that a load balancer sends nothing more. Everything else goes on answering.
func (s *Server) Drain() { s.draining.Store(true) }
