// Command drain measures how a backlog of unfinished events is booked while live callbacks go on coming: the rate of
// the drain, the live callbacks' latency, and the memory of the process.
//
//	go run ./bench/drain -engine postgres -dsn 'postgres://…' -backlog 200000 -live 50
//
// The database must be empty and is filled.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"log"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/migrate"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
	"github.com/paidonce/paidonce/store/mysql"
	"github.com/paidonce/paidonce/store/postgres"
	"github.com/paidonce/paidonce/store/sqlite"
)

const batch = 500

func main() {
	engine := flag.String("engine", "sqlite", "sqlite, mysql or postgres")
	dsn := flag.String("dsn", "drain.db", "where the empty database is, as the driver wants it")
	backlog := flag.Int("backlog", 10_000, "events that were claimed and not booked")
	live := flag.Int("live", 50, "new callbacks per second meanwhile")
	workers := flag.Int("workers", 8, "claims that are driven on at the same time")
	limit := flag.Duration("for", 0, "report after this time, drained or not; 0: when it is drained")
	flag.Parse()
	if err := run(context.Background(), *engine, *dsn, *backlog, *live, *workers, *limit); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, engine, dsn string, backlog, live, workers int, limit time.Duration) error {
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
	for from := 0; from < backlog; from += batch {
		if err := fill(ctx, s.Pools().Main, engine, from); err != nil {
			return err
		}
	}
	h, err := paidonce.New(paidonce.Options{Store: s, Instance: "bench", Workers: workers})
	if err != nil {
		return err
	}
	before, err := unfinished(ctx, s)
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	background.Go(func() { h.Run(working) })
	began := time.Now()
	latencies, err := watch(ctx, h, s, live, limit)
	took := time.Since(began)
	stop()
	background.Wait()
	if err != nil {
		return err
	}
	after, err := unfinished(ctx, s)
	if err != nil {
		return err
	}
	report(engine, before, before-after, took, latencies)
	return nil
}

// payment is the event of number i.
func payment(i int) channel.Event {
	no := fmt.Sprintf("%010d", i)
	return channel.Event{Tenant: 1, Channel: "WECHAT", Account: "main", Kind: channel.PaymentReceived, BizNo: []string{no},
		OrderNo: "A" + no, TradeNo: no, Amount: money.New(500, money.CNY)}
}

// fill writes one batch of orders and of claims whose process died before the booking.
func fill(ctx context.Context, db *sql.DB, engine string, from int) error {
	blob := map[string]string{"sqlite": "x'%x'", "mysql": "x'%x'", "postgres": `'\x%x'`}[engine]
	var orders, claims, work []string
	now := time.Now().UnixMicro()
	for i := from; i < from+batch; i++ {
		e := payment(i)
		key, err := e.Key()
		if err != nil {
			return err
		}
		text, err := e.Encode()
		if err != nil {
			return err
		}
		orders = append(orders, fmt.Sprintf("(1, '%s', 's1', 500, 'CNY', '', '', 'open', '', %d, 0, 1)", e.OrderNo, now))
		claims = append(claims, fmt.Sprintf("(1, '%s', 'PAYMENT_RECEIVED', '%s', 0, 'dead', 1, 0, 'dead', '', %d, 0)", key,
			e.Digest(), now))
		work = append(work, fmt.Sprintf("(1, '%s', 'WECHAT', '%s', 500, 'CNY', %d, %d, 1, 1, '', '', "+blob+")", key,
			e.OrderNo, now, now, text))
	}
	for _, statement := range []string{
		`INSERT INTO channel_order (tenant_id, order_no, store, amount_minor, currency, channel, account, state, paid_by,
 created_us, paid_us, version) VALUES ` + strings.Join(orders, ", "),
		`INSERT INTO channel_idempotent (tenant_id, idempotent_key, event_type, digest, state, owner, fence, lease_until_us,
 instance, outcome, created_us, handled_us) VALUES ` + strings.Join(claims, ", "),
		`INSERT INTO claim_work (tenant_id, idempotent_key, channel, order_no, amount_minor, currency, due_us, since_us,
 attempts, failures, reason, detail, event) VALUES ` + strings.Join(work, ", "),
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// watch sends live callbacks until the backlog is drained, and returns how long each took.
func watch(ctx context.Context, h *paidonce.House, s *store.Store, live int, limit time.Duration,
) ([]time.Duration, error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	var latencies []time.Duration
	var failed error
	ticker := time.NewTicker(time.Second / time.Duration(live))
	defer ticker.Stop()
	began := time.Now()
	first := int(began.Unix()) * 1_000_000 // no number of an earlier run, or of the backlog
	for i := 0; ; i++ {
		<-ticker.C
		if i%(5*live) == 0 {
			left, err := unfinished(ctx, s)
			if err != nil || left < live || limit > 0 && time.Since(began) > limit {
				group.Wait()
				return latencies, err
			}
		}
		group.Go(func() {
			took, err := callback(ctx, h, first+i)
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, took)
			if err != nil {
				failed = err
			}
		})
		mu.Lock()
		err := failed
		mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

func unfinished(ctx context.Context, s *store.Store) (left int, err error) {
	err = s.Pools().Read.QueryRowContext(ctx, "SELECT COUNT(*) FROM claim_work").Scan(&left)
	return left, err
}

func callback(ctx context.Context, h *paidonce.House, i int) (time.Duration, error) {
	e := payment(i)
	_, err := h.CreateOrder(ctx, order.Order{Tenant: 1, No: e.OrderNo, Store: "s1", Amount: e.Amount})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	r, err := h.Accept(ctx, e, gate.Delivery{Source: "notify", Body: []byte("{}")})
	if err == nil && r.Status != paidonce.Booked {
		err = fmt.Errorf("a live callback ended as %s (%s)", r.Status, r.Detail)
	}
	return time.Since(began), err
}

func report(engine string, backlog, drained int, took time.Duration, latencies []time.Duration) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	slices.Sort(latencies)
	at := func(permille int) time.Duration {
		return latencies[min(len(latencies)*permille/1000, len(latencies)-1)]
	}
	fmt.Printf("%s: of %d unfinished %d drained in %s (%d/s); %d live callbacks: p50 %s, p99 %s, longest %s; %d MiB\n",
		engine, backlog, drained, took.Round(time.Second), int64(drained)*int64(time.Second)/int64(took), len(latencies),
		at(500), at(990), at(1000), memory.Sys>>20)
}
