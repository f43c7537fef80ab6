package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/paidonce/paidonce/money"
)

const (
	sqlInsertSuspense = `INSERT INTO suspense (tenant_id, channel, trade_no, account, order_no, cause, reason, currency,
 amount_minor, left_minor, moved_account, moved_minor, since_us, version)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0, $NOW, 1)`
	sqlSuspenseColumns = `SELECT channel, trade_no, account, order_no, cause, reason, currency, amount_minor, left_minor,
 moved_account, moved_minor, since_us, $NOW - since_us, version FROM suspense `
	sqlReadSuspense = sqlSuspenseColumns + `WHERE tenant_id = ? AND channel = ? AND trade_no = ?`
	sqlListSuspense = sqlSuspenseColumns + `WHERE tenant_id = ? AND (left_minor <> 0 OR ? = 1)
 ORDER BY since_us, trade_no`
	sqlUpdateSuspense = `UPDATE suspense SET left_minor = ?, moved_account = ?, moved_minor = ?, version = version + 1
 WHERE tenant_id = ? AND channel = ? AND trade_no = ? AND version = ?`
)

// Suspense is real money that fits no order: one payment, and what of it still lies in suspense.
type Suspense struct {
	Tenant  int64        `json:"-"`
	Channel string       `json:"channel"`
	TradeNo string       `json:"trade_no"`
	Account string       `json:"account"`
	OrderNo string       `json:"order_no"`
	Cause   string       `json:"cause"`              // key of the payment's event
	Reason  string       `json:"reason"`             // why it fits nowhere
	Amount  money.Amount `json:"amount"`             // what the payment brought in
	Left    money.Amount `json:"left"`               // what still lies in suspense, after fees, refunds and moves
	MovedTo string       `json:"moved_to,omitempty"` // the account that a person moved some of it to
	Moved   money.Amount `json:"moved"`
	SinceUs int64        `json:"since_us"`
	AgeUs   int64        `json:"age_us"`
	Version int64        `json:"-"`
}

// InsertSuspense opens the record of a payment that is booked to suspense in this transaction.
func (t *Tx) InsertSuspense(ctx context.Context, s Suspense) error {
	_, err := t.exec(ctx, sqlInsertSuspense, s.Tenant, s.Channel, s.TradeNo, s.Account, s.OrderNo, s.Cause, s.Reason,
		string(s.Amount.Currency), s.Amount.Minor, s.Left.Minor)
	return err
}

// Suspense reads one record inside the transaction.
func (t *Tx) Suspense(ctx context.Context, tenant int64, channel, tradeNo string) (s Suspense, found bool, err error) {
	err = t.rows(ctx, sqlReadSuspense, []any{tenant, channel, tradeNo}, func(rows *sql.Rows) (err error) {
		found = true
		s, err = scanSuspense(rows, tenant)
		return err
	})
	return s, found, err
}

// UpdateSuspense writes what is left and moved, if the record is still the one that was read; ErrConflict if not.
func (t *Tx) UpdateSuspense(ctx context.Context, s Suspense) error {
	return must(t.exec(ctx, sqlUpdateSuspense, s.Left.Minor, s.MovedTo, s.Moved.Minor, s.Tenant, s.Channel, s.TradeNo,
		s.Version))
}

// SuspenseList lists a tenant's money in suspense, oldest first; with settled also what has left it entirely.
func (s *Store) SuspenseList(ctx context.Context, tenant int64, settled bool) ([]Suspense, error) {
	all := 0
	if settled {
		all = 1
	}
	var list []Suspense
	err := s.list(ctx, sqlListSuspense, []any{tenant, all}, func(rows *sql.Rows) error {
		item, err := scanSuspense(rows, tenant)
		list = append(list, item)
		return err
	})
	return list, err
}

func scanSuspense(rows *sql.Rows, tenant int64) (Suspense, error) {
	s := Suspense{Tenant: tenant}
	err := rows.Scan(&s.Channel, &s.TradeNo, &s.Account, &s.OrderNo, &s.Cause, &s.Reason, &s.Amount.Currency,
		&s.Amount.Minor, &s.Left.Minor, &s.MovedTo, &s.Moved.Minor, &s.SinceUs, &s.AgeUs, &s.Version)
	s.Left.Currency, s.Moved.Currency = s.Amount.Currency, s.Amount.Currency
	if err != nil {
		return s, fmt.Errorf("store: read suspense: %w", err)
	}
	return s, nil
}
