// Package testdb gives a test a database of its own on every engine that the house supports, and takes it away again.
//
// MariaDB and PostgreSQL come from servers that listen on the loopback only, run as an unprivileged user, keep their
// data in a temporary folder and are as durable as in production: the house refuses to start on less. Servers that
// are already there are used if the variables below name them; cmd/testdb starts such a pair for a whole test run.
// Otherwise the first test that needs an engine starts it, and it ends with the test process, however that ends.
//
//	PAIDONCE_TEST_MARIADB    administrator's DSN, as go-sql-driver/mysql reads it
//	PAIDONCE_TEST_POSTGRES   administrator's DSN, as a URL
//	PAIDONCE_REQUIRE_ENGINES 1: what is not installed fails the test instead of skipping it
//	PAIDONCE_LONG            1: tests may take their time
package testdb

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Engine is one fresh, empty database.
type Engine struct {
	Name   string // "sqlite", "mariadb" or "postgres"
	Driver string // name of its database/sql driver
	DSN    string // as that driver reads it, with no options of the house's in it
}

// OpenRaw opens the database with the driver's own settings and closes it when the test ends. Tests use it to look
// behind the back of the code under test, or to disturb it.
func (e Engine) OpenRaw(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open(e.Driver, e.DSN)
	if err != nil {
		t.Fatalf("testdb: open %s: %v", e.Name, err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("testdb: close %s: %v", e.Name, err)
		}
	})
	return db
}

// Each runs the test once per engine, as sub-tests "sqlite", "mariadb" and "postgres", each on a database of its own.
func Each(t *testing.T, test func(t *testing.T, e Engine)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, Engine{"sqlite", "sqlite", SQLite(t)}) })
	for _, s := range []software{mariadb(), postgres()} {
		t.Run(s.name, func(t *testing.T) { test(t, Engine{s.name, s.driver, fresh(t, s)}) })
	}
}

// SQLite returns the path of a database file that does not exist yet.
func SQLite(t testing.TB) string { return filepath.Join(t.TempDir(), "paidonce.db") }

// MariaDB returns the DSN of a new database, in the form of go-sql-driver/mysql.
func MariaDB(t testing.TB) string { t.Helper(); return fresh(t, mariadb()) }

// Postgres returns the DSN of a new database, as a URL.
func Postgres(t testing.TB) string { t.Helper(); return fresh(t, postgres()) }

// Long reports whether this run was asked to be thorough rather than quick.
func Long() bool { return os.Getenv("PAIDONCE_LONG") == "1" }

// Missing ends a test that needs something that this machine does not have: it fails where everything is required,
// as in make test, and is skipped on a developer's bare machine.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("PAIDONCE_REQUIRE_ENGINES") == "1" {
		t.Fatalf("testdb: %s, and PAIDONCE_REQUIRE_ENGINES=1", reason)
	}
	t.Skipf("testdb: %s", reason)
}

// fresh makes a database on the shared server of that software.
func fresh(t testing.TB, s software) string {
	t.Helper()
	admin, err := sharedServer(s)
	return database(t, s, admin, err)
}

// database makes a database on the server that admin leads to, and drops it when the test ends.
func database(t testing.TB, s software, admin string, err error) string {
	t.Helper()
	if errors.Is(err, errNotInstalled) {
		Missing(t, err.Error())
	}
	if err != nil {
		t.Fatalf("testdb: %s: %v", s.name, err)
	}
	name := "t_" + strings.ToLower(rand.Text())
	if err := execute(s, admin, "CREATE DATABASE "+name); err != nil {
		t.Fatalf("testdb: %s: %v", s.name, err)
	}
	t.Cleanup(func() {
		if err := execute(s, admin, s.drop(name)...); err != nil {
			t.Logf("testdb: %s: %s stays behind: %v", s.name, name, err)
		}
	})
	dsn, err := s.within(admin, name)
	if err != nil {
		t.Fatalf("testdb: %s: %v", s.name, err)
	}
	return dsn
}

// execute runs statements on one connection of its own.
func execute(s software, dsn string, statements ...string) (err error) {
	db, err := sql.Open(s.driver, dsn)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
