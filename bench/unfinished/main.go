// Command unfinished measures what it costs to find unfinished work after a long history: many claims that went through
// claim and finish while an old snapshot kept their dead rows, and a few that are unfinished. It prints the time of a
// scan from the beginning and of scans from the mark, and the engine's plan.
//
//	go run ./bench/unfinished -engine postgres -dsn 'postgres://…' -claims 5000000
//
// The database must be empty and is filled. A history of 5 million claims takes some minutes.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"log"
	"slices"
	"strings"
	"time"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/migrate"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/store"
	"github.com/paidonce/paidonce/store/mysql"
	"github.com/paidonce/paidonce/store/postgres"
	"github.com/paidonce/paidonce/store/sqlite"
)

const batch = 1000

func main() {
	engine := flag.String("engine", "sqlite", "sqlite, mysql or postgres")
	dsn := flag.String("dsn", "unfinished.db", "where the empty database is, as the driver wants it")
	claims := flag.Int("claims", 100_000, "claims that went through claim and finish")
	rate := flag.Int("rate", 1000, "claims per second that the history stands for: it spreads their due times")
	left := flag.Int("unfinished", 100, "claims that did not")
	snapshot := flag.Bool("snapshot", true, "hold a snapshot open that is older than the history")
	flag.Parse()
	if err := run(context.Background(), *engine, *dsn, *claims, *left, *rate, *snapshot); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, engine, dsn string, claims, left, rate int, snapshot bool) error {
	open := map[string]func(string, func() time.Time) (*store.Store, error){"sqlite": sqlite.Open, "mysql": mysql.Open,
		"postgres": postgres.Open}[engine]
	if open == nil {
		return fmt.Errorf("unknown engine %q", engine)
	}
	s, err := open(dsn, time.Now)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if _, err := migrate.Up(ctx, s.Engine(), s.Pools().Main, s.Schema()); err != nil {
		return err
	}
	if snapshot {
		release, err := holdSnapshot(ctx, s)
		if err != nil {
			return err
		}
		defer release()
	}
	began := time.Now()
	for from := 0; from < claims; from += batch {
		if err := history(ctx, s.Pools().Main, engine, from, (from-claims)*(1_000_000/rate)); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %d claims went through claim and finish in %s\n", engine, claims, time.Since(began).Round(time.Second))
	if err := unfinished(ctx, s, left); err != nil {
		return err
	}
	return measure(ctx, s, engine, left)
}

// holdSnapshot begins a transaction that sees the empty tables and keeps the engine from cleaning up behind it.
func holdSnapshot(ctx context.Context, s *store.Store) (release func(), err error) {
	tx, err := s.Pools().Read.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if s.Engine() == "sqlite" {
		tx, err = s.Pools().Read.BeginTx(ctx, nil)
	}
	if err != nil {
		return nil, err
	}
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM claim_work").Scan(&n); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	stopped := make(chan struct{})
	go func() { // a connection that says nothing is ended by the server before long
		defer close(stopped)
		for {
			select {
			case <-ended:
				return
			case <-time.After(5 * time.Second):
			}
			if err := tx.QueryRowContext(ctx, "SELECT 1").Scan(&n); err != nil {
				log.Fatalf("the snapshot did not hold: %v", err)
			}
		}
	}()
	return func() { close(ended); <-stopped; _ = tx.Rollback() }, nil
}

// history puts one batch of claims through claim and finish: the same rows, written and deleted in the same way, only
// many in one transaction. They lie as long ago as agoUs says.
func history(ctx context.Context, db *sql.DB, engine string, from, agoUs int) error {
	text := map[string]string{"sqlite": "x'7b7d'", "mysql": "x'7b7d'", "postgres": `'\x7b7d'`}[engine]
	var claims, work []string
	now := time.Now().UnixMicro() + int64(agoUs)
	key := func(i int) string { return fmt.Sprintf("'WECHAT:%010d:PAYMENT_RECEIVED'", i) }
	for i := from; i < from+batch; i++ {
		claims = append(claims, fmt.Sprintf("(1, %s, 'PAYMENT_RECEIVED', '01%062x', 0, '%032x', 1, %d, 'bench', '', %d, 0)",
			key(i), i, i, now, now))
		work = append(work, fmt.Sprintf("(1, %s, 'WECHAT', 'A%d', 500, 'CNY', %d, %d, 1, 1, '', '', %s)", key(i), i, now,
			now, text))
	}
	between := fmt.Sprintf("tenant_id = 1 AND idempotent_key BETWEEN %s AND %s", key(from), key(from+batch-1))
	for _, transaction := range [][]string{{
		`INSERT INTO channel_idempotent (tenant_id, idempotent_key, event_type, digest, state, owner, fence, lease_until_us,
 instance, outcome, created_us, handled_us) VALUES ` + strings.Join(claims, ", "),
		`INSERT INTO claim_work (tenant_id, idempotent_key, channel, order_no, amount_minor, currency, due_us, since_us,
 attempts, failures, reason, detail, event) VALUES ` + strings.Join(work, ", "),
	}, {
		`UPDATE channel_idempotent SET state = 1, outcome = 'booked', lease_until_us = 0 WHERE ` + between,
		`DELETE FROM claim_work WHERE ` + between,
	}} {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		for _, statement := range transaction {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				_ = tx.Rollback()
				return err
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// unfinished parks events that are due at once.
func unfinished(ctx context.Context, s *store.Store, count int) error {
	g, err := gate.New(gate.Options{Storage: s, Instance: "bench", Lease: time.Minute, Tries: 1})
	if err != nil {
		return err
	}
	for i := range count {
		t, err := g.Acquire(ctx, gate.Claim{Tenant: 1, Key: gate.Key(fmt.Sprintf("SQB:%d:PAYMENT_RECEIVED", i)), Digest: "d",
			Event: []byte("{}"), Amount: money.New(500, money.CNY), Raw: gate.Delivery{Source: "bench"}})
		if err != nil {
			return err
		}
		err = s.Do(ctx, func(ctx context.Context, tx *store.Tx) error {
			return g.Park(ctx, tx, t, gate.Parking{Reason: "failed"})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func measure(ctx context.Context, s *store.Store, engine string, left int) error {
	var times []time.Duration
	for range 30 {
		began := time.Now()
		due, err := s.Due(ctx, 64)
		if err != nil {
			return err
		}
		times = append(times, time.Since(began))
		if want := min(left, 64); len(due) != want {
			return fmt.Errorf("%d of %d are found", len(due), want)
		}
	}
	first, rest := times[0], times[1:]
	slices.Sort(rest)
	fmt.Printf("%s: scan from the beginning %s; from the mark, median of %d: %s, longest %s\n", engine, first, len(rest),
		rest[len(rest)/2], rest[len(rest)-1])
	explain := map[string]string{"sqlite": "EXPLAIN QUERY PLAN ", "mysql": "EXPLAIN ",
		"postgres": "EXPLAIN (ANALYZE, BUFFERS) "}
	from := time.Now().Add(-time.Minute).UnixMicro()
	statement := fmt.Sprintf("SELECT tenant_id, MIN(due_us) FROM claim_work WHERE due_us >= %d AND due_us <= %d "+
		"GROUP BY tenant_id ORDER BY 2 LIMIT 256", from, time.Now().UnixMicro())
	rows, err := s.Pools().Main.QueryContext(ctx, explain[engine]+statement)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	return printRows(rows)
}

func printRows(rows *sql.Rows) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		targets := make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		line := make([]string, len(values))
		for i, value := range values {
			line[i] = value.String
		}
		fmt.Println("  " + strings.Join(line, "  "))
	}
	return rows.Err()
}
