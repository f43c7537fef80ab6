// Package mysql is the store on MariaDB and MySQL, through go-sql-driver/mysql.
package mysql

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
	"time"

	driverpkg "github.com/go-sql-driver/mysql"

	"github.com/paidonce/paidonce/store"
)

//go:embed schema/*.sql
var schema embed.FS

// Schema holds the numbered migrations: one statement each, because these engines commit DDL by themselves.
func Schema() fs.FS {
	sub, err := fs.Sub(schema, "schema")
	if err != nil {
		return schema
	}
	return sub
}

// Open connects by a DSN in the driver's form, user:password@tcp(host:3306)/database. The gate has a pool of its own.
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

// Pool opens a pool with the session settings that paidonce needs. Found-rows mode is switched off: with it, a row
// that was not changed counts like one that was.
func Pool(dsn string, size int) (*sql.DB, error) {
	config, err := driverpkg.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New("mysql: the database DSN cannot be read") // the cause would print the password
	}
	config.ClientFoundRows = false
	config.ParseTime, config.Loc = true, time.UTC
	config.InterpolateParams = true
	config.MultiStatements = false
	config.RejectReadOnly = true
	config.Logger = driverpkg.Logger(silent{}) // the driver's errors reach us as errors
	if config.Timeout == 0 {
		config.Timeout = 5 * time.Second
	}
	if config.ReadTimeout == 0 {
		config.ReadTimeout = 30 * time.Second
	}
	if config.WriteTimeout == 0 {
		config.WriteTimeout = 30 * time.Second
	}
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	config.Params["sql_mode"] = "'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'"
	config.Params["innodb_lock_wait_timeout"] = "3"
	// A process that stands still in a transaction keeps its row locks: the server ends it after two minutes.
	config.Params["wait_timeout"] = "120"
	config.Params["time_zone"] = "'+00:00'"
	connector, err := driverpkg.NewConnector(config)
	if err != nil {
		return nil, errors.New("mysql: the database DSN cannot be used")
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	pool.SetConnMaxLifetime(30 * time.Minute)
	pool.SetConnMaxIdleTime(time.Minute) // before the server does
	return pool, nil
}

type silent struct{}

func (silent) Print(...any) {}

// Dialect is what the MySQL family does in its own way. A plain INSERT and its duplicate error are the signal; row
// counts of IGNORE or ON DUPLICATE KEY forms would lie.
func Dialect() store.Dialect {
	return store.Dialect{
		Name:      "mysql",
		Now:       "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))",
		Isolation: sql.LevelReadCommitted,
		Classify:  Classify,
		Check:     check,
		Schema:    Schema(),
	}
}

// Classify reads the server's error numbers and connection errors.
func Classify(err error) store.Class {
	var e *driverpkg.MySQLError
	if errors.As(err, &e) {
		switch e.Number {
		case 1062:
			return store.Duplicate
		case 1213, 1205, 3572: // deadlock, lock wait timeout, NOWAIT
			return store.Retry
		case 1053, 1927: // server shutdown, connection killed
			return store.Lost
		}
		return store.Other
	}
	var netErr net.Error
	if errors.Is(err, driverpkg.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.As(err, &netErr) && !errors.Is(err, context.DeadlineExceeded) {
		return store.Lost
	}
	return store.Other
}

const remedyServer = "Set it in my.cnf, or acknowledged payments can be lost in a crash."

func check(ctx context.Context, p store.Pools) error {
	rules := []store.Rule{
		{Setting: "innodb_flush_log_at_trx_commit", Query: "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit",
			Allowed: []string{"1"}, Remedy: remedyServer},
		{Setting: "sync_binlog (with the binary log on)",
			Query:   "SELECT CASE WHEN @@GLOBAL.log_bin = 0 THEN 1 ELSE @@GLOBAL.sync_binlog END",
			Allowed: []string{"1"}, Remedy: remedyServer},
		{Setting: "read_only", Query: "SELECT @@GLOBAL.read_only", Allowed: []string{"0"},
			Remedy: "This server is read-only, usually a replica. Give the address of the primary."},
		{Setting: "sql_mode", Query: "SELECT CASE WHEN @@SESSION.sql_mode LIKE '%STRICT_TRANS_TABLES%' " +
			"OR @@SESSION.sql_mode LIKE '%STRICT_ALL_TABLES%' THEN 'strict' ELSE @@SESSION.sql_mode END",
			Allowed: []string{"strict"}, Remedy: "Set sql_mode to a strict mode, or long numbers are cut silently."},
		{Setting: "unique index of channel_idempotent", Query: `SELECT COALESCE((SELECT GROUP_CONCAT(CONCAT(s.COLUMN_NAME,
 ':', c.COLUMN_TYPE, ':', c.IS_NULLABLE, ':', COALESCE(s.SUB_PART, 'full')) ORDER BY s.SEQ_IN_INDEX)
 FROM information_schema.STATISTICS s JOIN information_schema.COLUMNS c ON c.TABLE_SCHEMA = s.TABLE_SCHEMA
 AND c.TABLE_NAME = s.TABLE_NAME AND c.COLUMN_NAME = s.COLUMN_NAME WHERE s.TABLE_SCHEMA = DATABASE()
 AND s.TABLE_NAME = 'channel_idempotent' AND s.INDEX_NAME = 'PRIMARY' AND s.NON_UNIQUE = 0), 'missing')`,
			Allowed: []string{"tenant_id:bigint(20):no:full,idempotent_key:varbinary(191):no:full",
				"tenant_id:bigint:no:full,idempotent_key:varbinary(191):no:full"},
			Remedy: "Run `paidonce migrate`; never change this index by hand. The key must be VARBINARY(191)."},
		{Setting: "engine of channel_idempotent", Query: "SELECT ENGINE FROM information_schema.TABLES WHERE " +
			"TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'channel_idempotent'", Allowed: []string{"innodb"},
			Remedy: "ALTER TABLE … ENGINE=InnoDB: other engines have no transactions."},
	}
	for name, pool := range map[string]*sql.DB{"main": p.Main, "gate": p.Gate} {
		if err := store.CheckRules(ctx, pool, rules); err != nil {
			return fmt.Errorf("%s pool: %w", name, err)
		}
		if err := checkFoundRows(ctx, pool); err != nil {
			return fmt.Errorf("%s pool: %w", name, err)
		}
	}
	return nil
}

// checkFoundRows probes the pool's mode with a statement that matches a row and changes nothing. A host's own pool may
// have it on, and then row counts cannot be believed.
func checkFoundRows(ctx context.Context, pool *sql.DB) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("mysql: %w", err)
	}
	defer func() { _ = conn.Close() }()
	for _, statement := range []string{"CREATE TEMPORARY TABLE IF NOT EXISTS paidonce_probe (n INT PRIMARY KEY)",
		"DELETE FROM paidonce_probe", "INSERT INTO paidonce_probe VALUES (1)"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("mysql: probe: %w", err)
		}
	}
	result, err := conn.ExecContext(ctx, "UPDATE paidonce_probe SET n = 1 WHERE n = 1")
	if err != nil {
		return fmt.Errorf("mysql: probe: %w", err)
	}
	rows, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("mysql: probe: %w", err)
	}
	if _, err := conn.ExecContext(ctx, "DROP TEMPORARY TABLE paidonce_probe"); err != nil {
		return fmt.Errorf("mysql: probe: %w", err)
	}
	if rows != 0 {
		return &store.Finding{Setting: "clientFoundRows", Found: "on", Want: "off",
			Remedy: "Open the pool without clientFoundRows=true."}
	}
	return nil
}
