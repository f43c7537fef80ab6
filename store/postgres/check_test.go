package postgres_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/internal/testdb"
	"github.com/paidonce/paidonce/store"
	"github.com/paidonce/paidonce/store/postgres"
)

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

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestCheckPassesOnAFreshDatabase(t *testing.T) {
	s := open(t)
	for range 2 {
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckRefusesAClaimTableThatCannotJudge(t *testing.T) {
	const change, drop = "ALTER TABLE channel_idempotent ", "DROP CONSTRAINT channel_idempotent_pkey"
	const right = "ADD PRIMARY KEY (tenant_id, idempotent_key)"
	s := open(t)
	raw := s.Pools().Main
	for name, test := range map[string]struct{ change, back string }{
		"index dropped": {drop, right},
		"another index in its place": {drop + ", ADD CONSTRAINT uk UNIQUE (tenant_id, idempotent_key)",
			"DROP CONSTRAINT uk, " + right},
		"judged at commit only": {drop + ", " + right + " DEFERRABLE INITIALLY DEFERRED", drop + ", " + right},
		"the month in it too":   {drop + ", ADD PRIMARY KEY (tenant_id, idempotent_key, created_us)", drop + ", " + right},
		"no tenant in it":       {drop + ", ADD PRIMARY KEY (idempotent_key)", drop + ", " + right},
		"collation of the system": {`ALTER COLUMN idempotent_key TYPE text COLLATE "default"`,
			`ALTER COLUMN idempotent_key TYPE text COLLATE "C"`},
	} {
		run(t, raw, change+test.change)
		t.Run(name, func(t *testing.T) { wantFinding(t, s.Check(t.Context()), "unique index of channel_idempotent") })
		run(t, raw, change+test.back)
		if err := s.Check(t.Context()); err != nil {
			t.Fatalf("after %s was undone: %v", name, err)
		}
	}
	run(t, raw, "ALTER INDEX channel_idempotent_pkey RENAME TO another_name")
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("the right index under another name: %v", err)
	}
	run(t, raw, "DROP TABLE channel_idempotent")
	wantFinding(t, s.Check(t.Context()), "unique index of channel_idempotent")
}

// A database that may lose commits, or that cannot be written, is refused. Such settings hide in a role or a database
// and are not seen in the server's file.
func TestCheckRefusesUnsafeDatabases(t *testing.T) {
	for _, test := range []struct{ setting, value string }{
		{"synchronous_commit", "off"}, {"synchronous_commit", "local"}, {"synchronous_commit", "remote_write"},
		{"default_transaction_read_only", "on"},
	} {
		t.Run(test.setting+" "+test.value, func(t *testing.T) {
			dsn := testdb.Postgres(t)
			migrated := openAt(t, dsn)
			run(t, migrated.Pools().Main, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "+test.setting+" = "+
				test.value+"', current_database()); END $$")
			good := migrated.Pools().Main // its connection is older than the setting
			bad, err := postgres.Pool(dsn, 2)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = bad.Close() })
			for place, pools := range map[string]store.Pools{
				"main": {Main: bad, Gate: bad, Read: good}, "gate": {Main: good, Gate: bad, Read: good},
			} {
				s, err := store.New(store.Options{Pools: pools, Dialect: postgres.Dialect(), Clock: time.Now})
				if err != nil {
					t.Fatal(err)
				}
				t.Run(place, func(t *testing.T) { wantFinding(t, s.Check(t.Context()), test.setting) })
			}
		})
	}
}

// A wait for somebody else's lock, a statement and a forgotten transaction all end by themselves.
func TestWaitsAreBounded(t *testing.T) {
	s := open(t)
	for _, setting := range []string{"lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"} {
		var value string
		if err := s.Pools().Gate.QueryRow("SHOW " + setting).Scan(&value); err != nil || value == "0" {
			t.Errorf("%s = %s, %v", setting, value, err)
		}
	}
}

// A host's own choice in the URL stands.
func TestTheURLKeepsItsOwnSettings(t *testing.T) {
	pool, err := postgres.Pool(testdb.Postgres(t)+"&application_name=till&lock_timeout=1234", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	for setting, want := range map[string]string{"application_name": "till", "lock_timeout": "1234ms"} {
		var got string
		if err := pool.QueryRow("SHOW " + setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %s, %v; want %s", setting, got, err, want)
		}
	}
}
