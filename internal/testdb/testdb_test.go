package testdb_test

import (
	"database/sql"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/internal/testdb"
)

// Whatever a test does to its database, the next one starts from nothing.
func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	var names []string
	for range 2 {
		testdb.Each(t, func(t *testing.T, e testdb.Engine) {
			names = append(names, e.Name)
			db := e.OpenRaw(t)
			if _, err := db.Exec("CREATE TABLE only_mine (n BIGINT)"); err != nil {
				t.Error(err)
			}
			if got := number(t, db, "SELECT count(*) FROM only_mine"); got != 0 {
				t.Errorf("%d rows in a new table", got)
			}
		})
	}
	if got := strings.Join(names, " "); got != "sqlite mariadb postgres sqlite mariadb postgres" {
		t.Errorf("ran %s", got)
	}
}

// The house refuses to start on settings that lose commits, so the servers of its tests must not have them.
func TestServersAreAsDurableAsInProduction(t *testing.T) {
	postgres := open(t, "pgx", testdb.Postgres(t))
	for _, setting := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		if got := text(t, postgres, "SHOW "+setting); got != "on" {
			t.Errorf("postgres: %s = %s", setting, got)
		}
	}
	mariadb := open(t, "mysql", testdb.MariaDB(t))
	for setting, want := range map[string]string{
		"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "1", "log_bin": "0",
		"transaction_isolation": "REPEATABLE-READ",
	} {
		if got := text(t, mariadb, "SELECT @@"+alias(setting)); got != want {
			t.Errorf("mariadb: %s = %s, want %s", setting, got, want)
		}
	}
	if mode := text(t, mariadb, "SELECT @@sql_mode"); !strings.Contains(mode, "STRICT_TRANS_TABLES") {
		t.Errorf("mariadb: sql_mode %s is not strict", mode)
	}
}

// alias is the setting's name before MariaDB 11.
func alias(setting string) string {
	if setting == "transaction_isolation" {
		return "tx_isolation"
	}
	return setting
}

func privateServers() map[string]func(testing.TB) *testdb.Server {
	return map[string]func(testing.TB) *testdb.Server{
		"mariadb": testdb.PrivateMariaDB, "postgres": testdb.PrivatePostgres,
	}
}

// A private server can be stopped and killed. What was committed is there when it comes back, at the same address.
func TestAPrivateServerComesBackWithWhatWasCommitted(t *testing.T) {
	for name, start := range privateServers() {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			db := server.Database(t).OpenRaw(t)
			if _, err := db.Exec("CREATE TABLE kept (n BIGINT)"); err != nil {
				t.Fatal(err)
			}
			address := server.Address()
			for round, end := range []func() error{server.Stop, server.Kill, server.Kill} {
				if _, err := db.Exec("INSERT INTO kept VALUES (1)"); err != nil {
					t.Fatal(err)
				}
				if err := end(); err != nil {
					t.Fatal(err)
				}
				if err := db.Ping(); err == nil {
					t.Fatal("the server answers after its end")
				}
				if err := server.Restart(); err != nil {
					t.Fatal(err)
				}
				if got := number(t, db, "SELECT count(*) FROM kept"); got != int64(round+1) {
					t.Fatalf("round %d: %d rows survive", round, got)
				}
			}
			if server.Address() != address {
				t.Errorf("was at %s, is at %s", address, server.Address())
			}
			connection, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			if err := connection.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAServerIsStoppedAndStartedOnlyOnce(t *testing.T) {
	server := testdb.PrivatePostgres(t)
	if server.Restart() == nil {
		t.Error("a running server was started once more")
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if server.Stop() == nil || server.Kill() == nil {
		t.Error("a server that does not run was stopped")
	}
}

// Up serves a whole run: asking twice gives the same servers, and after Down there are none.
func TestUpAndDown(t *testing.T) {
	dir, err := os.MkdirTemp("", "up-") // not below t.TempDir, which the servers' users may not enter
	if err != nil {
		t.Fatal(err)
	}
	first, err := testdb.Up(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := testdb.Up(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != 2 || strings.Join(first, " ") != strings.Join(second, " ") {
		t.Fatalf("up gave %v, then %v", first, second)
	}
	drivers := map[string]string{"PAIDONCE_TEST_MARIADB": "mysql", "PAIDONCE_TEST_POSTGRES": "pgx"}
	for _, variable := range first {
		name, dsn, _ := strings.Cut(variable, "=")
		db := open(t, drivers[name], dsn)
		if got := number(t, db, "SELECT 41 + 1"); got != 42 {
			t.Errorf("%s answers %d", name, got)
		}
		t.Setenv(name, dsn)
	}
	testdb.Each(t, func(t *testing.T, e testdb.Engine) { number(t, e.OpenRaw(t), "SELECT 1") })
	if err := testdb.Down(dir); err != nil {
		t.Fatal(err)
	}
	for _, variable := range first {
		name, dsn, _ := strings.Cut(variable, "=")
		if err := open(t, drivers[name], dsn).Ping(); err == nil {
			t.Errorf("%s is still served", name)
		}
	}
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	return testdb.Engine{Name: driver, Driver: driver, DSN: dsn}.OpenRaw(t)
}

// number asks twice, because a pool only finds out by using it that a connection died with the server.
func number(t *testing.T, db *sql.DB, query string) int64 {
	t.Helper()
	var n int64
	if err := db.QueryRow(query).Scan(&n); err != nil {
		if err := db.QueryRow(query).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func text(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	var s string
	if err := db.QueryRow(query).Scan(&s); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return s
}
