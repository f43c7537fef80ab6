// Package sqlite is the store on SQLite, through the pure Go driver modernc.org/sqlite: one file beside the program.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/paidonce/paidonce/store"
)

//go:embed schema/*.sql
var schema embed.FS

// Schema holds the numbered migrations.
func Schema() fs.FS {
	sub, err := fs.Sub(schema, "schema")
	if err != nil {
		return schema
	}
	return sub
}

// pragmas set in the DSN, so that every connection of a pool has them.
const pragmas = "_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)" +
	"&_pragma=foreign_keys(1)"

// DSN is the driver's name for the database file at path, with the pragmas that paidonce needs. Transactions of a
// writing pool begin IMMEDIATE: a transaction that reads first and writes later would fail at once under load.
func DSN(path string, writing bool) (string, error) {
	if path == "" || strings.Contains(path, ":memory:") || strings.Contains(path, "mode=memory") {
		return "", fmt.Errorf("%w: an in-memory database forgets its claims; give a file", store.ErrUnsafe)
	}
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + pragmas
	if writing {
		dsn += "&_txlock=immediate"
	}
	return dsn, nil
}

// Open opens the file at the first use, creating it for its owner alone (mode 0600) if needed; an existing file keeps
// its mode, see Exposed. There is one writing connection: SQLite has one writer anyway, and a queue in the pool is
// fairer than polling for the file's lock.
func Open(path string, clock func() time.Time) (*store.Store, error) {
	writing, err := DSN(path, true)
	if err != nil {
		return nil, err
	}
	reading, err := DSN(path, false)
	if err != nil {
		return nil, err
	}
	file := &privateFile{path: path}
	toWrite, err := file.connector(writing)
	if err != nil {
		return nil, err
	}
	toRead, err := file.connector(reading)
	if err != nil {
		return nil, err
	}
	writer, reader := sql.OpenDB(toWrite), sql.OpenDB(toRead)
	writer.SetMaxOpenConns(1)
	reader.SetMaxOpenConns(8)
	return store.New(store.Options{Pools: store.Pools{Main: writer, Gate: writer, Read: reader}, Dialect: Dialect(),
		Clock: clock})
}

// Dialect is what SQLite does in its own way. The host's clock is the database's.
func Dialect() store.Dialect {
	return store.Dialect{
		Name:     "sqlite",
		Now:      "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
		Once:     "ON CONFLICT (tenant_id, idempotent_key) DO NOTHING",
		Classify: Classify,
		Check:    check,
		Schema:   Schema(),
	}
}

// Classify reads SQLite's extended result codes.
func Classify(err error) store.Class {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return store.Other
	}
	switch e.Code() {
	case 1555, 2067: // SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE
		return store.Duplicate
	}
	switch e.Code() & 0xff {
	case 5, 6: // SQLITE_BUSY and its kin, SQLITE_LOCKED
		return store.Retry
	}
	return store.Other
}

// check refuses what would lose a commit or judge keys wrongly, in every pool that writes.
func check(ctx context.Context, p store.Pools) error {
	for name, pool := range map[string]*sql.DB{"main": p.Main, "gate": p.Gate} {
		if err := store.CheckRules(ctx, pool, rules()); err != nil {
			return fmt.Errorf("%s pool: %w", name, err)
		}
		if err := checkImmediate(ctx, pool, p.Read); err != nil {
			return fmt.Errorf("%s pool: %w", name, err)
		}
	}
	return nil
}

func rules() []store.Rule {
	return []store.Rule{
		{Setting: "PRAGMA journal_mode", Query: "PRAGMA journal_mode", Allowed: []string{"wal"},
			Remedy: "Open the file with _pragma=journal_mode(WAL); network file systems cannot do that."},
		{Setting: "PRAGMA synchronous", Query: "PRAGMA synchronous", Allowed: []string{"2", "3"},
			Remedy: "Open the file with _pragma=synchronous(FULL), or a power cut loses acknowledged payments."},
		{Setting: "PRAGMA foreign_keys", Query: "PRAGMA foreign_keys", Allowed: []string{"1"},
			Remedy: "Open the file with _pragma=foreign_keys(1)."},
		{Setting: "PRAGMA query_only", Query: "PRAGMA query_only", Allowed: []string{"0"},
			Remedy: "Open the file for writing."},
		{Setting: "unique index of channel_idempotent",
			Query: `SELECT COALESCE((SELECT group_concat(x.name || ':' || x.coll, ',')
 FROM pragma_index_list('channel_idempotent') l, pragma_index_xinfo(l.name) x
 WHERE l."unique" = 1 AND l.partial = 0 AND l.origin = 'pk' AND x.key = 1), 'missing')`,
			Allowed: []string{"tenant_id:binary,idempotent_key:binary"},
			Remedy:  "Run `paidonce migrate`; never change this index by hand."},
		{Setting: "file of the database", Query: "SELECT CASE WHEN file = '' THEN 'memory' ELSE 'file' END FROM " +
			"pragma_database_list WHERE name = 'main'", Allowed: []string{"file"}, Remedy: "Give a file, not memory."},
	}
}

// checkImmediate proves that a transaction of the writing pool takes the write lock when it begins: while it is open,
// another connection cannot begin to write.
func checkImmediate(ctx context.Context, writer, other *sql.DB) error {
	tx, err := writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("sqlite: begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	conn, err := other.Conn(ctx)
	if err != nil {
		return fmt.Errorf("sqlite: second connection: %w", err)
	}
	defer func() { _ = conn.Close() }()
	for _, statement := range []string{"PRAGMA busy_timeout = 0", "BEGIN IMMEDIATE"} {
		if _, err = conn.ExecContext(ctx, statement); err != nil {
			break
		}
	}
	immediate := Classify(err) == store.Retry
	if err == nil {
		_, err = conn.ExecContext(ctx, "ROLLBACK")
	}
	if _, restore := conn.ExecContext(ctx, "PRAGMA busy_timeout = 10000"); restore != nil {
		return fmt.Errorf("sqlite: restore busy_timeout: %w", restore)
	}
	if !immediate {
		return errors.Join(&store.Finding{Setting: "_txlock", Found: "deferred", Want: "immediate",
			Remedy: "Open the writing pool with _txlock=immediate."}, err)
	}
	return nil
}
