package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/internal/testdb"
	"github.com/paidonce/paidonce/store"
	"github.com/paidonce/paidonce/store/sqlite"
)

const (
	wal  = "_pragma=journal_mode(WAL)"
	full = "_pragma=synchronous(FULL)"
	keys = "_pragma=foreign_keys(1)"
	lock = "_txlock=immediate"
	busy = "_pragma=busy_timeout(5000)"
)

// pool opens a pool as a host might, with options of its own.
func pool(t *testing.T, path string, options ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?"+strings.Join(options, "&"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func over(t *testing.T, main, gate, read *sql.DB) *store.Store {
	t.Helper()
	s, err := store.New(store.Options{Pools: store.Pools{Main: main, Gate: gate, Read: read}, Dialect: sqlite.Dialect(),
		Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantFinding checks that the refusal names the setting and says what to do.
func wantFinding(t *testing.T, err error, setting string) {
	t.Helper()
	var finding *store.Finding
	if !errors.As(err, &finding) || !errors.Is(err, store.ErrUnsafe) {
		t.Fatalf("Check = %v, want a finding about %s", err, setting)
	}
	if finding.Setting != setting || finding.Remedy == "" || !strings.Contains(err.Error(), finding.Remedy) {
		t.Errorf("Check = %v, want setting and remedy of %s", err, setting)
	}
}

func TestCheckPassesOnAFreshDatabase(t *testing.T) {
	s := open(t)
	for range 2 {
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	claim := gate.Claim{Tenant: 1, Key: "SQB:1:PAY", Digest: "v1:a", Event: []byte("{}")}
	if _, won, err := s.Insert(t.Context(), claim, gate.Seat{Owner: "me", Lease: time.Minute}); !won || err != nil {
		t.Errorf("a claim after the check: %v, %v", won, err)
	}
}

// Each pool that writes must be safe; the claims are made by the gate's.
func TestCheckRefusesUnsafePools(t *testing.T) {
	for name, test := range map[string]struct {
		options []string
		setting string
	}{
		"no write-ahead log":   {[]string{"_pragma=journal_mode(DELETE)", full, keys, lock, busy}, "PRAGMA journal_mode"},
		"normal synchronous":   {[]string{wal, "_pragma=synchronous(NORMAL)", keys, lock, busy}, "PRAGMA synchronous"},
		"synchronous off":      {[]string{wal, "_pragma=synchronous(OFF)", keys, lock, busy}, "PRAGMA synchronous"},
		"foreign keys ignored": {[]string{wal, full, lock, busy}, "PRAGMA foreign_keys"},
		"reading only":         {[]string{wal, full, keys, lock, busy, "_pragma=query_only(1)"}, "PRAGMA query_only"},
		"deferred":             {[]string{wal, full, keys, busy}, "_txlock"},
	} {
		t.Run(name, func(t *testing.T) {
			migrated := open(t)
			path := pathOf(t, migrated)
			if err := migrated.Close(); err != nil {
				t.Fatal(err)
			}
			bad := pool(t, path, test.options...)
			wantFinding(t, over(t, bad, bad, pool(t, path, busy)).Check(t.Context()), test.setting)
			if test.setting == "PRAGMA journal_mode" {
				return // the mode belongs to the file, not to a pool
			}
			good := pool(t, path, wal, full, keys, lock, busy)
			wantFinding(t, over(t, good, bad, pool(t, path, busy)).Check(t.Context()), test.setting)
		})
	}
}

func pathOf(t *testing.T, s *store.Store) string {
	t.Helper()
	var path string
	const query = "SELECT file FROM pragma_database_list WHERE name = 'main'"
	if err := s.Pools().Read.QueryRow(query).Scan(&path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckRefusesAClaimTableThatCannotJudge(t *testing.T) {
	columns := func(tenant, key, constraint string) string {
		return "CREATE TABLE channel_idempotent (tenant_id " + tenant + ", idempotent_key " + key + ", created_us INTEGER" +
			constraint + ")"
	}
	for name, table := range map[string]string{
		"no table":            "SELECT 1",
		"no unique index":     columns("INTEGER NOT NULL", "TEXT NOT NULL", ""),
		"key folds case":      columns("INTEGER", "TEXT COLLATE NOCASE", ", PRIMARY KEY (tenant_id, idempotent_key)"),
		"key loses spaces":    columns("INTEGER", "TEXT COLLATE RTRIM", ", PRIMARY KEY (tenant_id, idempotent_key)"),
		"no tenant in it":     columns("INTEGER", "TEXT", ", PRIMARY KEY (idempotent_key)"),
		"the month in it too": columns("INTEGER", "TEXT", ", PRIMARY KEY (tenant_id, idempotent_key, created_us)"),
		"another order":       columns("INTEGER", "TEXT", ", PRIMARY KEY (idempotent_key, tenant_id)"),
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			for _, statement := range []string{"DROP TABLE channel_idempotent", table} {
				if _, err := s.Pools().Main.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			wantFinding(t, s.Check(t.Context()), "unique index of channel_idempotent")
		})
	}
}

// A database in memory forgets every claim with the process, and three connections see three of them.
func TestMemoryIsRefused(t *testing.T) {
	for _, path := range []string{":memory:", "file::memory:?cache=shared", "x?mode=memory", ""} {
		if s, err := sqlite.Open(path, time.Now); s != nil || !errors.Is(err, store.ErrUnsafe) {
			t.Errorf("Open(%q): %v", path, err)
		}
	}
	memory := pool(t, ":memory:", full, keys, lock)
	var finding *store.Finding
	if err := over(t, memory, memory, memory).Check(t.Context()); !errors.As(err, &finding) {
		t.Errorf("Check = %v", err)
	}
}

func TestEveryConnectionHasTheSettings(t *testing.T) {
	s := open(t)
	for _, db := range []*sql.DB{s.Pools().Main, s.Pools().Gate, s.Pools().Read} {
		var mode, synchronous, timeout string
		for query, into := range map[string]*string{"PRAGMA journal_mode": &mode, "PRAGMA synchronous": &synchronous,
			"PRAGMA busy_timeout": &timeout} {
			if err := db.QueryRow(query).Scan(into); err != nil {
				t.Fatal(err)
			}
		}
		if mode != "wal" || synchronous != "2" || timeout == "0" {
			t.Errorf("journal_mode %s, synchronous %s, busy_timeout %s", mode, synchronous, timeout)
		}
	}
}

// The name of the file is a name, not a list of options.
func TestStrangeFileNames(t *testing.T) {
	for _, name := range []string{"a b.db", "a?mode=ro.db", "a#b.db", "a%20b.db", "账本.db"} {
		path := filepath.Join(t.TempDir(), name)
		s, err := sqlite.Open(path, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("%q: %v", name, err)
		} else if got := pathOf(t, s); filepath.Base(got) != name {
			t.Errorf("%q was opened as %q", name, got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestClassify(t *testing.T) {
	db := pool(t, testdb.SQLite(t), wal)
	rival := pool(t, pathOf(t, over(t, db, db, db)), wal)
	run := func(db *sql.DB, statement string) error {
		_, err := db.Exec(statement)
		return err
	}
	for _, statement := range []string{"CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL UNIQUE, CHECK (a > 0))",
		"CREATE TABLE u (a INTEGER, b INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID",
		"INSERT INTO t VALUES (1, 'x')", "INSERT INTO u VALUES (1, 1)", "BEGIN IMMEDIATE"} {
		if err := run(db, statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		err  error
		want store.Class
	}{
		{"primary key", run(db, "INSERT INTO t VALUES (1, 'y')"), store.Duplicate},
		{"primary key of two columns", run(db, "INSERT INTO u VALUES (1, 1)"), store.Duplicate},
		{"unique", run(db, "INSERT INTO t VALUES (2, 'x')"), store.Duplicate},
		{"not null", run(db, "INSERT INTO t VALUES (2, NULL)"), store.Other},
		{"check", run(db, "INSERT INTO t VALUES (-1, 'z')"), store.Other},
		{"no such table", run(db, "INSERT INTO nowhere VALUES (1)"), store.Other},
		{"another writer", run(rival, "INSERT INTO t VALUES (3, 'z')"), store.Retry},
		{"not of the engine", errors.New("UNIQUE constraint failed"), store.Other},
		{"no error", nil, store.Other},
	} {
		if test.name != "no error" && test.err == nil {
			t.Errorf("%s: no error to classify", test.name)
		}
		if got := sqlite.Classify(test.err); got != test.want {
			t.Errorf("%s: %v is class %d, want %d", test.name, test.err, got, test.want)
		}
		if got := sqlite.Classify(fmt.Errorf("store: %w", test.err)); got != test.want {
			t.Errorf("%s, wrapped: class %d, want %d", test.name, got, test.want)
		}
	}
}
