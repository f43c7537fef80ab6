// Package postgres is the store on PostgreSQL, through pgx and its database/sql adapter.
package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

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

// Open connects by a URL or key=value text. The gate has a pool of its own. No connection is made yet.
func Open(dsn string, clock func() time.Time) (*store.Store, error) {
	main, err := Pool(dsn, 16)
	if err != nil {
		return nil, err
	}
	gate, err := Pool(dsn, 8)
	if err != nil {
		return nil, errors.Join(err, main.Close())
	}
	return store.New(store.Options{Pools: store.Pools{Main: main, Gate: gate, Read: main}, Dialect: Dialect(),
		Clock: clock})
}

// Pool opens a pool with the session settings that paidonce needs: bounded waits, so that a stuck session of
// somebody else cannot hold a callback beyond the channel's patience.
func Pool(dsn string, size int) (*sql.DB, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("postgres: the database URL cannot be read") // the cause would print the password
	}
	set := func(name, value string) {
		if _, ok := config.RuntimeParams[name]; !ok {
			config.RuntimeParams[name] = value
		}
	}
	set("application_name", "paidonce")
	set("lock_timeout", "3000")
	set("statement_timeout", "30000")
	set("idle_in_transaction_session_timeout", "30000")
	set("client_min_messages", "warning")
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	pool.SetConnMaxLifetime(30 * time.Minute)
	return pool, nil
}

// Dialect is what PostgreSQL does in its own way.
func Dialect() store.Dialect {
	return store.Dialect{
		Name:      "postgres",
		Numbered:  true,
		Now:       "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
		Once:      "ON CONFLICT (tenant_id, idempotent_key) DO NOTHING",
		Isolation: sql.LevelReadCommitted,
		Classify:  Classify,
		Check:     check,
		Schema:    Schema(),
	}
}

// Classify reads SQLSTATEs and connection errors.
func Classify(err error) store.Class {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case "23505":
			return store.Duplicate
		case "40001", "40P01", "55P03": // serialization failure, deadlock, lock timeout
			return store.Retry
		}
		if strings.HasPrefix(e.Code, "08") || strings.HasPrefix(e.Code, "57P") {
			return store.Lost
		}
		return store.Other
	}
	var netErr net.Error
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.As(err, &netErr) && !errors.Is(err, context.DeadlineExceeded) {
		return store.Lost
	}
	return store.Other
}

const remedyServer = "Set it in postgresql.conf and reload, or acknowledged payments can be lost in a crash."

func check(ctx context.Context, p store.Pools) error {
	rules := []store.Rule{
		{Setting: "fsync", Query: "SHOW fsync", Allowed: []string{"on"}, Remedy: remedyServer},
		{Setting: "full_page_writes", Query: "SHOW full_page_writes", Allowed: []string{"on"}, Remedy: remedyServer},
		{Setting: "synchronous_commit", Query: "SHOW synchronous_commit", Allowed: []string{"on", "remote_apply"},
			Remedy: "Set it to on for this role and database: ALTER ROLE … SET synchronous_commit = on."},
		{Setting: "pg_is_in_recovery()", Query: "SELECT pg_is_in_recovery()::text", Allowed: []string{"false"},
			Remedy: "This server is a replica. Give the address of the primary."},
		{Setting: "default_transaction_read_only", Query: "SHOW default_transaction_read_only", Allowed: []string{"off"},
			Remedy: "Give a writable database and role."},
		{Setting: "unique index of channel_idempotent", Query: `SELECT COALESCE((SELECT string_agg(a.attname || ':' ||
 COALESCE(c.collname, '') || ':' || a.attnotnull, ',' ORDER BY k.n) FROM pg_index i
 CROSS JOIN LATERAL unnest(i.indkey::int[], i.indcollation::oid[]) WITH ORDINALITY AS k(att, coll, n)
 JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.att LEFT JOIN pg_collation c ON c.oid = k.coll
 WHERE i.indrelid = to_regclass('channel_idempotent') AND i.indisprimary AND i.indisunique AND i.indisvalid
 AND i.indisready AND i.indimmediate AND i.indpred IS NULL), 'missing')`,
			Allowed: []string{"tenant_id::true,idempotent_key:c:true"},
			Remedy:  `Run "paidonce migrate"; never change this index by hand. It must be immediate and COLLATE "C".`},
	}
	for name, pool := range map[string]*sql.DB{"main": p.Main, "gate": p.Gate} {
		if err := store.CheckRules(ctx, pool, rules); err != nil {
			return fmt.Errorf("%s pool: %w", name, err)
		}
	}
	return nil
}
