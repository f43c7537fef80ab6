package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/paidonce/paidonce/migrate"
	"github.com/paidonce/paidonce/store"
	"github.com/paidonce/paidonce/store/mysql"
	"github.com/paidonce/paidonce/store/postgres"
	"github.com/paidonce/paidonce/store/sqlite"
)

// errDatabaseURL never quotes the URL, because it may hold a password.
var errDatabaseURL = errors.New("must be sqlite:PATH, mysql://USER:PASSWORD@HOST/NAME or postgres://…")

// openStore opens the database that a URL names. No connection is made yet, and nothing is created but a SQLite file.
func openStore(location secret, clock func() time.Time) (*store.Store, error) {
	scheme, rest, ok := strings.Cut(location.reveal(), ":")
	switch {
	case ok && scheme == "sqlite" && strings.TrimPrefix(rest, "//") != "":
		return sqlite.Open(strings.TrimPrefix(rest, "//"), clock)
	case ok && (scheme == "mysql" || scheme == "mariadb"):
		dsn, err := mysqlDSN(location.reveal())
		if err != nil {
			return nil, err
		}
		return mysql.Open(dsn, clock)
	case ok && (scheme == "postgres" || scheme == "postgresql"):
		return postgres.Open(location.reveal(), clock)
	}
	return nil, errDatabaseURL
}

// mysqlDSN turns a URL into the driver's own form. The parameter socket names a Unix socket; all others are the
// driver's.
func mysqlDSN(location string) (string, error) {
	u, err := url.Parse(location)
	if err != nil || u.User == nil || strings.Trim(u.Path, "/") == "" {
		return "", errDatabaseURL
	}
	query := u.Query()
	dsn := driver.NewConfig()
	dsn.User, dsn.DBName = u.User.Username(), strings.Trim(u.Path, "/")
	dsn.Passwd, _ = u.User.Password()
	dsn.Net, dsn.Addr = "tcp", u.Host
	if u.Port() == "" {
		dsn.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	if socket := query.Get("socket"); socket != "" {
		query.Del("socket")
		dsn.Net, dsn.Addr = "unix", socket
	} else if u.Hostname() == "" {
		return "", errDatabaseURL
	}
	text := dsn.FormatDSN()
	if len(query) == 0 {
		return text, nil
	}
	separator := "?"
	if strings.Contains(text, "?") {
		separator = "&"
	}
	return text + separator + query.Encode(), nil
}

// describeDatabase names the database without its password.
func describeDatabase(location secret) string {
	u, err := url.Parse(location.reveal())
	if err != nil {
		return masked
	}
	switch u.Scheme {
	case "sqlite":
		return location.reveal()
	case "mysql", "mariadb", "postgres", "postgresql":
	default:
		return masked
	}
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.User != nil {
		clean.User = url.User(u.User.Username())
	}
	return clean.String()
}

// sqliteFile is the file of a SQLite database.
func sqliteFile(location secret) (string, bool) {
	file, ok := strings.CutPrefix(location.reveal(), "sqlite:")
	return strings.TrimPrefix(file, "//"), ok
}

// exposedFiles lists the files of a SQLite database that others than their owner may read.
func exposedFiles(location secret) ([]string, error) {
	file, ok := sqliteFile(location)
	if !ok {
		return nil, nil
	}
	return sqlite.Exposed(file)
}

// answerWithin is how long a database may take to answer for the first time.
const answerWithin = 15 * time.Second

// openDatabase opens the database that is configured and makes sure that it answers.
func (a *app) openDatabase(ctx context.Context, c *config) (*store.Store, error) {
	s, err := openStore(c.Database.URL, a.Clock)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := s.Pools().Main.PingContext(limited); err != nil {
		return nil, errors.Join(c.explainSilence(err), s.Close())
	}
	return s, nil
}

// explainSilence says which database does not answer, why, and what to look at. A driver's own text repeats its
// attempts; here it is the cause alone.
func (c *config) explainSilence(err error) error {
	name := describeDatabase(c.Database.URL)
	setting := c.givenBy["$.database.url"]
	if setting == "" && c.source != nil {
		setting = "database of " + c.source.path
	}
	if _, ok := sqliteFile(c.Database.URL); ok {
		return fmt.Errorf("the database %s cannot be opened: %w", name, err)
	}
	var refusal *pgconn.PgError
	var network *net.OpError
	var lookup *net.DNSError
	switch {
	case errors.As(err, &lookup):
		err = errors.New(lookup.Err)
	case errors.As(err, &network):
		if network.Addr != nil && !strings.Contains(name, network.Addr.String()) {
			name += " (" + network.Addr.String() + ")"
		}
		var system *os.SyscallError
		if err = network.Err; errors.As(err, &system) {
			err = system.Err
		}
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %s", answerWithin)
	default:
		if errors.As(err, &refusal) { // without the attempts before
			err = fmt.Errorf("%s (SQLSTATE %s)", refusal.Message, refusal.Code)
		}
		return fmt.Errorf("the database %s refuses the connection; check user, password and name in %s: %w", name, setting,
			err)
	}
	return fmt.Errorf("the database %s could not be reached: %w. Check that it runs, and host and port in %s", name, err,
		setting)
}

// withStore runs fn with the store that is configured, after a look at whether its schema is there.
func (a *app) withStore(ctx context.Context, c *config, fn func(*store.Store) error) (err error) {
	if file, ok := sqliteFile(c.Database.URL); ok {
		_, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no database yet, paidonce serve or migrate makes one: %w", err)
		}
		if err != nil {
			return fmt.Errorf("database: %w", err)
		}
	}
	s, err := a.openDatabase(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	missing, err := missingMigrations(ctx, s)
	if err != nil {
		return err
	}
	if missing > 0 {
		return fmt.Errorf("the database lacks %d migrations; run paidonce migrate, or paidonce serve", missing)
	}
	return fn(s)
}

func missingMigrations(ctx context.Context, s *store.Store) (int, error) {
	states, err := migrate.List(ctx, s.Engine(), s.Pools().Main, s.Schema())
	missing := 0
	for _, state := range states {
		if !state.Applied {
			missing++
		}
	}
	return missing, err
}
