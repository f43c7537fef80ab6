package mysql_test

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

	driverpkg "github.com/go-sql-driver/mysql"

	"github.com/paidonce/paidonce/store"
	"github.com/paidonce/paidonce/store/mysql"
)

// Only what the engine surely rolled back may be run again, and only a duplicate can come to mean "taken". The texts
// are misleading on purpose: a message in any language decides nothing.
func TestClassify(t *testing.T) {
	server := func(number uint16) error {
		return &driverpkg.MySQLError{Number: number, Message: "Duplicate entry '1-SQB:1:PAY' for key 'PRIMARY'"}
	}
	for name, test := range map[string]struct {
		err  error
		want store.Class
	}{
		"duplicate":                 {server(1062), store.Duplicate},
		"duplicate, newer spelling": {&driverpkg.MySQLError{Number: 1062, Message: "x.PRIMARY"}, store.Duplicate},
		"deadlock":                  {server(1213), store.Retry},
		"lock wait timeout":         {server(1205), store.Retry},
		"no wait":                   {server(3572), store.Retry},
		"server shuts down":         {server(1053), store.Lost},
		"connection killed":         {server(1927), store.Lost},
		"value too long":            {server(1406), store.Other},
		"truncated":                 {server(1265), store.Other},
		"foreign key":               {server(1452), store.Other},
		"auto increment is full":    {server(167), store.Other},
		"read only":                 {server(1290), store.Other},
		"query interrupted":         {server(1317), store.Other},
		"connection gone":           {driverpkg.ErrInvalidConn, store.Lost},
		"connection of the pool":    {driver.ErrBadConn, store.Lost},
		"cut answer":                {io.ErrUnexpectedEOF, store.Lost},
		"no answer in time":         {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, store.Lost},
		"connection refused":        {&net.OpError{Op: "dial", Err: errors.New("refused")}, store.Lost},
		"the caller's deadline":     {context.DeadlineExceeded, store.Other},
		"the caller gave up":        {context.Canceled, store.Other},
		"a text":                    {errors.New("Error 1062: Duplicate entry"), store.Other},
		"no error":                  {nil, store.Other},
	} {
		if got := mysql.Classify(test.err); got != test.want {
			t.Errorf("%s: class %d, want %d", name, got, test.want)
		}
		if got := mysql.Classify(fmt.Errorf("store: begin: %w", test.err)); got != test.want {
			t.Errorf("%s, wrapped: class %d, want %d", name, got, test.want)
		}
	}
}

// Whatever is wrong with a DSN, its password is not told to the log.
func TestErrorsKeepThePassword(t *testing.T) {
	const password = "hunter2"
	for name, dsn := range map[string]string{
		"no database":      "root:" + password + "@tcp(127.0.0.1:1)",
		"cut":              "root:" + password + "@tcp(127.0.0.1",
		"unknown network":  "root:" + password + "@carrier(127.0.0.1:1)/x",
		"unknown TLS":      "root:" + password + "@tcp(127.0.0.1:1)/x?tls=nowhere",
		"bad option":       "root:" + password + "@tcp(127.0.0.1:1)/x?timeout=soon",
		"nobody listens":   "root:" + password + "@tcp(127.0.0.1:1)/x",
		"bad percent code": "root:" + password + "@tcp(127.0.0.1:1)/x?loc=%ZZ",
	} {
		s, err := mysql.Open(dsn, time.Now)
		if err == nil {
			err = errors.Join(s.Check(t.Context()), s.Close())
		}
		if err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
