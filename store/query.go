package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/paidonce/paidonce/order"
)

const (
	sqlInsertQuery = `INSERT INTO order_query (tenant_id, order_no, channel, account, due_us, tries, asked_us, answer)
 VALUES (?, ?, ?, ?, $NOW, 0, 0, '')`
	sqlQueryScopes = `SELECT tenant_id, channel, account, MIN(due_us) AS first_us FROM order_query
 WHERE due_us >= ? AND due_us <= $NOW - ? GROUP BY tenant_id, channel, account ORDER BY first_us LIMIT 1024`
	sqlQueryColumns = `SELECT q.tenant_id, q.order_no, q.channel, q.account, q.due_us, q.tries, q.asked_us, q.answer,
 o.state, o.amount_minor, o.currency, o.created_us, $NOW - o.created_us FROM order_query q
 JOIN channel_order o ON o.tenant_id = q.tenant_id AND o.order_no = q.order_no `
	sqlDueQueries = sqlQueryColumns + `WHERE q.tenant_id = ? AND q.channel = ? AND q.account = ? AND q.due_us >= ?
 AND q.due_us <= $NOW - ? ORDER BY q.due_us LIMIT ?`
	sqlOpenQueries = sqlQueryColumns + `WHERE q.tenant_id = ? AND o.state = 'open' AND q.order_no > ?
 AND o.created_us <= $NOW - ? ORDER BY q.order_no LIMIT ?`
	sqlTakeQuery = `UPDATE order_query SET tries = tries + 1, due_us = $NOW + ?, asked_us = $NOW
 WHERE tenant_id = ? AND order_no = ? AND tries = ?`
	sqlNoteAnswer  = `UPDATE order_query SET answer = ? WHERE tenant_id = ? AND order_no = ?`
	sqlDeleteQuery = `DELETE FROM order_query WHERE tenant_id = ? AND order_no = ?`
)

// QueryScope is whom to ask: one account, or, where Channel or Account is empty, every account that fits.
type QueryScope struct {
	Tenant           int64
	Channel, Account string
	FirstUs          int64 // since when its longest waiting order is due; of a listed scope only
}

// Query is an order that is still to be asked about. Times are microseconds by the database's clock.
type Query struct {
	QueryScope
	OrderNo string
	Tries   int    // how often it was asked
	AskedUs int64  // when last; 0: never
	Answer  string // what came of it, for people
	DueUs   int64
	Order   order.Order // number, state, amount and creation only
	Age     time.Duration
}

// QueryScopes lists who has orders to be asked about, longest waiting first. An order is asked about when it has been
// due for the time after: a new order is due at once.
func (s *Store) QueryScopes(ctx context.Context, after time.Duration) ([]QueryScope, error) {
	var scopes []QueryScope
	err := s.queryMark.scan(ctx, s, func(from int64) (oldest int64, err error) {
		scopes = scopes[:0]
		from -= after.Microseconds()
		err = s.list(ctx, sqlQueryScopes, []any{from, after.Microseconds()}, func(rows *sql.Rows) error {
			scope := QueryScope{}
			err := rows.Scan(&scope.Tenant, &scope.Channel, &scope.Account, &scope.FirstUs)
			scopes = append(scopes, scope)
			return err
		})
		if len(scopes) > 0 {
			oldest = scopes[0].FirstUs + after.Microseconds()
		}
		return oldest, err
	})
	return scopes, err
}

// DueQueries lists at most limit orders of a scope whose next question is due, oldest first.
func (s *Store) DueQueries(ctx context.Context, scope QueryScope, after time.Duration, limit int) ([]Query, error) {
	return s.queries(ctx, sqlDueQueries, scope.Tenant, scope.Channel, scope.Account, scope.FirstUs,
		after.Microseconds(), limit)
}

// OpenQueries lists the open orders of a tenant that are older than age, by number, after the given one, with what
// asking brought.
func (s *Store) OpenQueries(ctx context.Context, tenant int64, age time.Duration, after string, limit int,
) ([]Query, error) {
	return s.queries(ctx, sqlOpenQueries, tenant, after, age.Microseconds(), limit)
}

func (s *Store) queries(ctx context.Context, statement string, args ...any) ([]Query, error) {
	var queries []Query
	err := s.list(ctx, statement, args, func(rows *sql.Rows) error {
		var q Query
		var ageUs int64
		err := rows.Scan(&q.Tenant, &q.OrderNo, &q.Channel, &q.Account, &q.DueUs, &q.Tries, &q.AskedUs, &q.Answer,
			&q.Order.State, &q.Order.Amount.Minor, &q.Order.Amount.Currency, &q.Order.CreatedUs, &ageUs)
		q.Age = time.Duration(ageUs) * time.Microsecond
		q.Order.Tenant, q.Order.No = q.Tenant, q.OrderNo
		queries = append(queries, q)
		return err
	})
	return queries, err
}

// TakeQuery reserves the next question about an order for the caller and puts the one after it off until next from
// now. It returns false if somebody else took it.
func (s *Store) TakeQuery(ctx context.Context, q Query, next time.Duration) (taken bool, err error) {
	err = s.Do(ctx, func(ctx context.Context, tx *Tx) error {
		rows, err := tx.exec(ctx, sqlTakeQuery, next.Microseconds(), q.Tenant, q.OrderNo, q.Tries)
		taken = rows == 1
		return err
	})
	return taken && err == nil, err
}

// NoteAnswer keeps what asking about an order brought, for people.
func (s *Store) NoteAnswer(ctx context.Context, q Query, answer string) error {
	return s.Do(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, sqlNoteAnswer, answer, q.Tenant, q.OrderNo)
		return err
	})
}

// EndQueries forgets the questions about orders that are no longer open. No order that ended ever opens again.
func (s *Store) EndQueries(ctx context.Context, ended []Query) error {
	return s.Do(ctx, func(ctx context.Context, tx *Tx) error {
		for _, q := range ended {
			if _, err := tx.exec(ctx, sqlDeleteQuery, q.Tenant, q.OrderNo); err != nil {
				return err
			}
		}
		return nil
	})
}
