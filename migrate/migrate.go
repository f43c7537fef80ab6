// Package migrate brings a database to the schema of this version, with goose. Any number of instances may start at
// once: one applies, the others wait and find nothing left to do. It is apart from the library packages so that a host
// with migrations of its own need not link it.
package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Applied is one migration that this call applied.
type Applied struct {
	Name string
	Took time.Duration
}

// Status is one migration and whether the database has it.
type Status struct {
	Name    string
	Applied bool
}

// Up applies what is missing, in order, and returns what it applied, beside an error too. engine is "sqlite", "mysql"
// or "postgres".
func Up(ctx context.Context, engine string, db *sql.DB, schema fs.FS) ([]Applied, error) {
	var applied []Applied
	var err error
	for range tries(engine) {
		var provider *goose.Provider
		if provider, err = open(engine, db, schema); err != nil {
			return nil, err
		}
		var results []*goose.MigrationResult
		results, err = provider.Up(ctx)
		var partial *goose.PartialError
		if errors.As(err, &partial) {
			results = partial.Applied
		}
		for _, result := range results {
			applied = append(applied, Applied{result.Source.Path, result.Duration})
		}
		if err == nil || ctx.Err() != nil {
			break
		}
		select { // another process on the same file was faster; look again
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	if err != nil {
		return applied, fmt.Errorf("migrate: %w", err)
	}
	return applied, nil
}

// tries: SQLite has no lock table in goose. Each migration is one transaction there, so the slower of two processes
// fails without a trace and tries again.
func tries(engine string) int {
	if engine == "sqlite" {
		return 20
	}
	return 1
}

// List tells the state of every migration.
func List(ctx context.Context, engine string, db *sql.DB, schema fs.FS) ([]Status, error) {
	provider, err := open(engine, db, schema)
	if err != nil {
		return nil, err
	}
	states, err := provider.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	list := make([]Status, len(states))
	for i, state := range states {
		list[i] = Status{state.Source.Path, state.State == goose.StateApplied}
	}
	return list, nil
}

func open(engine string, db *sql.DB, schema fs.FS) (*goose.Provider, error) {
	dialect := goose.DialectSQLite3
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	var locker lock.Locker
	var err error
	// The lock is a row with a lease that is kept alive, not a session lock: it works behind poolers and on clusters,
	// and a process that dies holding it delays the next one by at most the lease.
	tuning := []lock.TableLockerOption{lock.WithTableLeaseDuration(20 * time.Second),
		lock.WithTableHeartbeatInterval(4 * time.Second), lock.WithTableLockTimeout(250*time.Millisecond, 240)}
	switch engine {
	case "sqlite":
	case "mysql":
		dialect = goose.DialectMySQL
		locker, err = lock.NewMySQLTableLocker(tuning...)
	case "postgres":
		dialect = goose.DialectPostgres
		locker, err = lock.NewPostgresTableLocker(tuning...)
	default:
		return nil, fmt.Errorf("migrate: unknown engine %q", engine)
	}
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	if locker != nil {
		options = append(options, goose.WithLocker(locker))
	}
	provider, err := goose.NewProvider(dialect, db, schema, options...)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return provider, nil
}
