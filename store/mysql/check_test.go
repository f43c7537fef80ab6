package mysql_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/internal/testdb"
	"github.com/paidonce/paidonce/store"
	"github.com/paidonce/paidonce/store/mysql"
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
	const index, change = "unique index of channel_idempotent", "ALTER TABLE channel_idempotent "
	s := open(t)
	raw := s.Pools().Main
	for name, test := range map[string]struct{ change, setting, back string }{
		"index dropped": {"DROP PRIMARY KEY", index, "ADD PRIMARY KEY (tenant_id, idempotent_key)"},
		"another index in its place": {"DROP PRIMARY KEY, ADD UNIQUE KEY uk (tenant_id, idempotent_key)", index,
			"DROP KEY uk, ADD PRIMARY KEY (tenant_id, idempotent_key)"},
		"index of a prefix": {"DROP PRIMARY KEY, ADD PRIMARY KEY (tenant_id, idempotent_key(50))", index,
			"DROP PRIMARY KEY, ADD PRIMARY KEY (tenant_id, idempotent_key)"},
		"the month in it too": {"DROP PRIMARY KEY, ADD PRIMARY KEY (tenant_id, idempotent_key, created_us)", index,
			"DROP PRIMARY KEY, ADD PRIMARY KEY (tenant_id, idempotent_key)"},
		"no tenant in it": {"DROP PRIMARY KEY, ADD PRIMARY KEY (idempotent_key)", index,
			"DROP PRIMARY KEY, ADD PRIMARY KEY (tenant_id, idempotent_key)"},
		"key folds case": {"MODIFY idempotent_key VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL",
			index, "MODIFY idempotent_key VARBINARY(191) NOT NULL"},
		"key loses spaces": {"MODIFY idempotent_key VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL", index,
			"MODIFY idempotent_key VARBINARY(191) NOT NULL"},
		"tenants are clamped": {"MODIFY tenant_id INT NOT NULL", index, "MODIFY tenant_id BIGINT NOT NULL"},
		"no transactions":     {"ENGINE=MyISAM", "engine of channel_idempotent", "ENGINE=InnoDB"},
	} {
		run(t, raw, change+test.change)
		t.Run(name, func(t *testing.T) { wantFinding(t, s.Check(t.Context()), test.setting) })
		run(t, raw, change+test.back)
		if err := s.Check(t.Context()); err != nil {
			t.Fatalf("after %s was undone: %v", name, err)
		}
	}
	run(t, raw, "DROP TABLE channel_idempotent")
	wantFinding(t, s.Check(t.Context()), index)
}

// A server that may lose commits, or that is not the primary, is refused; the operator hears which setting it is.
func TestCheckRefusesUnsafeServers(t *testing.T) {
	server := testdb.PrivateMariaDB(t)
	engine := server.Database(t)
	raw, s := engine.OpenRaw(t), openAt(t, engine.DSN)
	for _, test := range []struct{ setting, unsafe, safe string }{
		{"innodb_flush_log_at_trx_commit", "2", "1"}, {"innodb_flush_log_at_trx_commit", "0", "1"},
		{"read_only", "1", "0"},
	} {
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		run(t, raw, "SET GLOBAL "+test.setting+" = "+test.unsafe)
		wantFinding(t, s.Check(t.Context()), test.setting)
		run(t, raw, "SET GLOBAL "+test.setting+" = "+test.safe)
	}
}

// A host's own pool may have options that make row counts or long values lie. Both pools that write are looked at.
func TestCheckRefusesUnsafePools(t *testing.T) {
	dsn := testdb.MariaDB(t)
	good := openAt(t, dsn).Pools().Main
	for name, test := range map[string]struct{ options, setting string }{
		"found rows":          {"?clientFoundRows=true", "clientFoundRows"},
		"long values are cut": {"?sql_mode=%27%27", "sql_mode"},
	} {
		bad, err := sql.Open("mysql", dsn+test.options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = bad.Close() })
		for place, pools := range map[string]store.Pools{
			"main": {Main: bad, Gate: good, Read: good}, "gate": {Main: good, Gate: bad, Read: good},
		} {
			t.Run(name+" in the "+place+" pool", func(t *testing.T) {
				s, err := store.New(store.Options{Pools: pools, Dialect: mysql.Dialect(), Clock: time.Now})
				if err != nil {
					t.Fatal(err)
				}
				err = s.Check(t.Context())
				wantFinding(t, err, test.setting)
				if !strings.Contains(err.Error(), place+" pool") {
					t.Errorf("%v does not say that it is the %s pool", err, place)
				}
			})
		}
	}
}

// Open puts right what a careless DSN asks for, instead of refusing it.
func TestOpenOverridesACarelessDSN(t *testing.T) {
	s := openAt(t, testdb.MariaDB(t)+"?clientFoundRows=true&multiStatements=true&sql_mode=%27%27")
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Pools().Main.Exec("SELECT 1; SELECT 2"); err == nil {
		t.Error("two statements in one text were accepted")
	}
}

// A session of somebody else that sits on a claim's row holds a callback up for seconds, not for the server's own
// fifty.
func TestWaitsForLocksAreBounded(t *testing.T) {
	var seconds int
	row := open(t).Pools().Gate.QueryRow("SELECT @@innodb_lock_wait_timeout")
	if err := row.Scan(&seconds); err != nil || seconds > 5 {
		t.Errorf("waits %d s for a lock, %v", seconds, err)
	}
}
