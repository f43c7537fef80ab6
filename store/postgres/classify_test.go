package postgres_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/paidonce/paidonce/store"
	"github.com/paidonce/paidonce/store/postgres"
)

// Only what the engine surely rolled back may be run again, and only a duplicate can come to mean "taken". The texts
// are misleading on purpose: the server speaks the language of its locale.
func TestClassify(t *testing.T) {
	server := func(code string) error {
		return &pgconn.PgError{Code: code, Message: "doppelter Schlüsselwert", ConstraintName: "channel_idempotent_pkey"}
	}
	for name, test := range map[string]struct {
		err  error
		want store.Class
	}{
		"unique violation":         {server("23505"), store.Duplicate},
		"serialization failure":    {server("40001"), store.Retry},
		"deadlock":                 {server("40P01"), store.Retry},
		"lock timeout":             {server("55P03"), store.Retry},
		"connection failure":       {server("08006"), store.Lost},
		"administrator shut down":  {server("57P01"), store.Lost},
		"crash shut down":          {server("57P02"), store.Lost},
		"server is starting":       {server("57P03"), store.Lost},
		"statement timeout":        {server("57014"), store.Other},
		"exclusion violation":      {server("23P01"), store.Other},
		"foreign key":              {server("23503"), store.Other},
		"check":                    {server("23514"), store.Other},
		"not null":                 {server("23502"), store.Other},
		"value too long":           {server("22001"), store.Other},
		"no UTF-8":                 {server("22021"), store.Other},
		"transaction is aborted":   {server("25P02"), store.Other},
		"read only":                {server("25006"), store.Other},
		"connection of the pool":   {driver.ErrBadConn, store.Lost},
		"cut answer":               {io.ErrUnexpectedEOF, store.Lost},
		"no answer in time":        {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, store.Lost},
		"connection refused":       {&net.OpError{Op: "dial", Err: errors.New("refused")}, store.Lost},
		"the caller's deadline":    {context.DeadlineExceeded, store.Other},
		"the caller gave up":       {context.Canceled, store.Other},
		"a text":                   {errors.New("duplicate key value (SQLSTATE 23505)"), store.Other},
		"no error":                 {nil, store.Other},
		"a code of nobody's class": {server(""), store.Other},
	} {
		if got := postgres.Classify(test.err); got != test.want {
			t.Errorf("%s: class %d, want %d", name, got, test.want)
		}
		if got := postgres.Classify(fmt.Errorf("store: begin: %w", test.err)); got != test.want {
			t.Errorf("%s, wrapped: class %d, want %d", name, got, test.want)
		}
	}
}

// Whatever is wrong with a URL, its password is not told to the log.
func TestErrorsKeepThePassword(t *testing.T) {
	const password = "hunter2"
	for name, dsn := range map[string]string{
		"bad port":       "postgres://u:" + password + "@127.0.0.1:port/x",
		"bad escape":     "postgres://u:" + password + "%@127.0.0.1:1/x",
		"bad TLS mode":   "postgres://u:" + password + "@127.0.0.1:1/x?sslmode=perhaps",
		"key and value":  "host=127.0.0.1 port=none password=" + password,
		"cut quote":      "host=127.0.0.1 password='" + password,
		"nobody listens": "postgres://u:" + password + "@127.0.0.1:1/x?sslmode=disable",
	} {
		s, err := postgres.Open(dsn, time.Now)
		if err == nil {
			err = errors.Join(s.Check(t.Context()), s.Close())
		}
		if err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
