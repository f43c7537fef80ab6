package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/paidonce/paidonce/money"
)

const (
	sqlAtRisk = `SELECT tenant_id, channel, reason, currency, COUNT(*), SUM(amount_minor), MIN(since_us),
 $NOW - MIN(since_us) FROM claim_work WHERE ? = 0 OR tenant_id = ?
 GROUP BY tenant_id, channel, reason, currency ORDER BY tenant_id, channel, reason, currency`
	sqlOverdue = `SELECT o.tenant_id, o.channel, q.answer, o.currency, COUNT(*), SUM(o.amount_minor), MIN(o.created_us),
 $NOW - MIN(o.created_us) FROM (SELECT tenant_id, order_no, CASE WHEN tries = 0 THEN 'not asked' ELSE 'asked' END
 AS answer FROM order_query WHERE ? = 0 OR tenant_id = ?) q JOIN channel_order o ON o.tenant_id = q.tenant_id
 AND o.order_no = q.order_no WHERE o.state = 'open' AND o.created_us <= $NOW - ?
 GROUP BY o.tenant_id, o.channel, q.answer, o.currency ORDER BY o.tenant_id, o.channel, q.answer, o.currency`
	sqlInSuspense = `SELECT tenant_id, channel, reason, currency, COUNT(*), SUM(left_minor), MIN(since_us),
 $NOW - MIN(since_us) FROM suspense WHERE left_minor <> 0 AND (? = 0 OR tenant_id = ?)
 GROUP BY tenant_id, channel, reason, currency ORDER BY tenant_id, channel, reason, currency`
)

// Sum is an amount of money of one tenant and channel that is not where it belongs yet, with its count and the age of
// its oldest part. The amount leaves out events that do not say one.
type Sum struct {
	Tenant   int64          `json:"-"`
	Channel  string         `json:"channel"`
	Reason   string         `json:"reason"` // empty: being worked on
	Currency money.Currency `json:"currency"`
	Count    int64          `json:"count"`
	Minor    int64          `json:"minor"`
	OldestUs int64          `json:"oldest_us"`
	AgeUs    int64          `json:"age_us"`
}

// Risk is the money at risk: seen and not booked, asked for and not seen, booked and not at its place.
type Risk struct {
	Unbooked []Sum `json:"unbooked"` // events that are held, per reason
	Overdue  []Sum `json:"overdue"`  // orders that stay open past the age
	Suspense []Sum `json:"suspense"` // money that fits no order, per reason
}

// Risk adds up the money at risk of one tenant, or of all if tenant is 0. Its cost depends on what is unfinished.
func (s *Store) Risk(ctx context.Context, tenant int64, overdue time.Duration) (Risk, error) {
	var r Risk
	for _, part := range []struct {
		statement string
		args      []any
		sums      *[]Sum
	}{
		{sqlAtRisk, []any{tenant, tenant}, &r.Unbooked},
		{sqlOverdue, []any{tenant, tenant, overdue.Microseconds()}, &r.Overdue},
		{sqlInSuspense, []any{tenant, tenant}, &r.Suspense},
	} {
		*part.sums = []Sum{}
		err := s.list(ctx, part.statement, part.args, func(rows *sql.Rows) error {
			var sum Sum
			err := rows.Scan(&sum.Tenant, &sum.Channel, &sum.Reason, &sum.Currency, &sum.Count, &sum.Minor, &sum.OldestUs,
				&sum.AgeUs)
			*part.sums = append(*part.sums, sum)
			return err
		})
		if err != nil {
			return Risk{}, err
		}
	}
	return r, nil
}
