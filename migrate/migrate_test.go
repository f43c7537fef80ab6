package migrate_test

import (
	"context"
	"database/sql"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/paidonce/paidonce/internal/testdb"
	"github.com/paidonce/paidonce/migrate"
	"github.com/paidonce/paidonce/store"
	"github.com/paidonce/paidonce/store/mysql"
	"github.com/paidonce/paidonce/store/postgres"
	"github.com/paidonce/paidonce/store/sqlite"
)

// open opens the database once more, as another instance of the house does.
func open(t *testing.T, e testdb.Engine) *store.Store {
	t.Helper()
	opener := map[string]func(string, func() time.Time) (*store.Store, error){
		"sqlite": sqlite.Open, "mariadb": mysql.Open, "postgres": postgres.Open,
	}[e.Name]
	s, err := opener(e.DSN, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func up(ctx context.Context, s *store.Store) ([]migrate.Applied, error) {
	return migrate.Up(ctx, s.Engine(), s.Pools().Main, s.Schema())
}

// names lists a schema's migrations in order.
func names(t *testing.T, schema fs.FS) []string {
	t.Helper()
	files, err := fs.Glob(schema, "*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d migrations, %v", len(files), err)
	}
	return files
}

// Several instances start at once on an empty database: each migration is applied by exactly one of them, and all of
// them find a database that they can work with.
func TestInstancesThatStartAtOnce(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		const instances = 4
		var stores []*store.Store
		for range instances {
			stores = append(stores, open(t, e))
		}
		applied := make([][]migrate.Applied, instances)
		var group sync.WaitGroup
		for i, s := range stores {
			group.Go(func() {
				var err error
				if applied[i], err = up(t.Context(), s); err != nil {
					t.Errorf("instance %d: %v", i, err)
				}
			})
		}
		group.Wait()
		var all []string
		for _, list := range applied {
			for _, one := range list {
				all = append(all, one.Name)
			}
		}
		slices.Sort(all)
		if want := names(t, stores[0].Schema()); !slices.Equal(all, want) {
			t.Errorf("applied %q, want each once of %q", all, want)
		}
		for i, s := range stores {
			if err := s.Check(t.Context()); err != nil {
				t.Errorf("instance %d: %v", i, err)
			}
		}
	})
}

func TestUpTwiceIsNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		s := open(t, e)
		want := names(t, s.Schema())
		wantApplied(t, s, want, false)
		first, err := up(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for i, one := range first {
			if one.Name != want[i] {
				t.Errorf("migration %d is %s, want %s", i+1, one.Name, want[i])
			}
		}
		if again, err := up(t.Context(), s); len(again) != 0 || err != nil || len(first) != len(want) {
			t.Errorf("applied %d, then %d of %d, %v", len(first), len(again), len(want), err)
		}
		wantApplied(t, s, want, true)
	})
}

func wantApplied(t *testing.T, s *store.Store, want []string, applied bool) {
	t.Helper()
	list, err := migrate.List(t.Context(), s.Engine(), s.Pools().Main, s.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, status := range list {
		got = append(got, status.Name)
		if status.Applied != applied {
			t.Errorf("%s: applied %v, want %v", status.Name, status.Applied, applied)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
}

// A migration that fails is not counted, what was applied before it is reported, and nothing after it runs. When it
// has been put right, the next call goes on from there.
func TestAFailedMigrationIsResumed(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		s := open(t, e)
		schema := fstest.MapFS{
			"0001_first.sql":  {Data: []byte("-- +goose Up\nCREATE TABLE first_one (n BIGINT);\n")},
			"0002_second.sql": {Data: []byte("-- +goose Up\nCREATE TABEL second_one (n BIGINT);\n")},
			"0003_third.sql":  {Data: []byte("-- +goose Up\nCREATE TABLE third_one (n BIGINT);\n")},
		}
		run := func() ([]migrate.Applied, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			return migrate.Up(ctx, s.Engine(), s.Pools().Main, schema)
		}
		applied, err := run()
		if err == nil || len(applied) != 1 || applied[0].Name != "0001_first.sql" {
			t.Errorf("applied %v, %v", applied, err)
		}
		schema["0002_second.sql"].Data = []byte("-- +goose Up\nCREATE TABLE second_one (n BIGINT);\n")
		applied, err = run()
		if err != nil || len(applied) != 2 || applied[0].Name != "0002_second.sql" {
			t.Errorf("then applied %v, %v", applied, err)
		}
	})
}

// The engines differ in words only: the same migrations under the same numbers, one table each, of the same columns.
func TestTheSchemasAreOne(t *testing.T) {
	want := names(t, sqlite.Schema())
	for number, name := range want {
		if !strings.HasPrefix(name, "00") || !strings.HasSuffix(name, ".sql") || len(name) < len("0001_a.sql") {
			t.Errorf("migration %d is called %s", number+1, name)
		}
	}
	for engine, schema := range map[string]fs.FS{"mysql": mysql.Schema(), "postgres": postgres.Schema()} {
		if got := names(t, schema); !slices.Equal(got, want) {
			t.Errorf("%s has %q, sqlite has %q", engine, got, want)
		}
	}
	tables := map[string][]string{}
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		s := open(t, e)
		if _, err := up(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for _, name := range want {
			table := strings.TrimSuffix(name[len("0001_"):], ".sql")
			columns := columnsOf(t, s.Pools().Main, table)
			if tables[table] == nil {
				tables[table] = columns
			}
			if !slices.Equal(columns, tables[table]) {
				t.Errorf("%s has the columns %q, elsewhere %q", table, columns, tables[table])
			}
		}
	})
}

func columnsOf(t *testing.T, db *sql.DB, table string) []string {
	t.Helper()
	rows, err := db.Query("SELECT * FROM " + table + " WHERE 1 = 0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil || rows.Err() != nil {
		t.Fatal(err, rows.Err())
	}
	return columns
}

func TestAnUnknownEngineIsRefused(t *testing.T) {
	s := open(t, testdb.Engine{Name: "sqlite", Driver: "sqlite", DSN: testdb.SQLite(t)})
	if _, err := migrate.Up(t.Context(), "oracle", s.Pools().Main, s.Schema()); err == nil {
		t.Error("Up went ahead")
	}
	if _, err := migrate.List(t.Context(), "oracle", s.Pools().Main, s.Schema()); err == nil {
		t.Error("List went ahead")
	}
}
