package mysql_test

import (
	"testing"
	"time"

	"github.com/paidonce/paidonce/internal/testdb"
	"github.com/paidonce/paidonce/migrate"
	"github.com/paidonce/paidonce/store"
	"github.com/paidonce/paidonce/store/mysql"
	"github.com/paidonce/paidonce/store/storetest"
)

func TestContract(t *testing.T) { storetest.Run(t, open) }

// open gives a fresh, migrated database.
func open(t *testing.T) *store.Store { t.Helper(); return openAt(t, testdb.MariaDB(t)) }

// openAt migrates a database and opens it as the house does.
func openAt(t *testing.T, dsn string) *store.Store {
	t.Helper()
	s, err := mysql.Open(dsn, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := migrate.Up(t.Context(), s.Engine(), s.Pools().Main, s.Schema()); err != nil {
		t.Fatal(err)
	}
	return s
}
