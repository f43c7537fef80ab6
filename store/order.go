package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
)

const (
	sqlInsertOrder = `INSERT INTO channel_order (tenant_id, order_no, store, amount_minor, currency, channel, account,
 state, paid_by, created_us, paid_us, version) VALUES (?, ?, ?, ?, ?, ?, ?, 'open', '', $NOW, 0, 1)`
	sqlOrderColumns = `SELECT tenant_id, order_no, store, amount_minor, currency, channel, account, state, paid_by,
 created_us, paid_us, version FROM channel_order `
	sqlReadOrder   = sqlOrderColumns + `WHERE tenant_id = ? AND order_no = ?`
	sqlListOrders  = sqlOrderColumns + `WHERE tenant_id = ? AND order_no > ? ORDER BY order_no LIMIT ?`
	sqlUpdateOrder = `UPDATE channel_order SET state = ?, paid_by = ?,
 paid_us = CASE WHEN ? = 'paid' AND paid_us = 0 THEN $NOW ELSE paid_us END, version = version + 1
 WHERE tenant_id = ? AND order_no = ? AND version = ?`
	// Whatever its reason: a row that is being parked at this moment still has the reason of before.
	sqlWakeOrder   = `UPDATE claim_work SET due_us = $NOW WHERE tenant_id = ? AND order_no = ?`
	sqlWakeRefunds = sqlWakeOrder + ` AND idempotent_key LIKE '%:REFUND_SUCCEEDED'`

	sqlInsertPayment = `INSERT INTO payment (tenant_id, channel, trade_no, account, order_no, cause, currency,
 captured_minor, reserved_minor, refunded_minor, suspense, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, 1)`
	sqlPaymentColumns = `SELECT channel, trade_no, account, order_no, cause, currency, captured_minor, refunded_minor,
 suspense, version FROM payment `
	sqlReadPayment   = sqlPaymentColumns + `WHERE tenant_id = ? AND channel = ? AND trade_no = ?`
	sqlListPayments  = sqlPaymentColumns + `WHERE tenant_id = ? AND order_no = ? ORDER BY channel, trade_no`
	sqlRefundPayment = `UPDATE payment SET refunded_minor = refunded_minor + ?, version = version + 1
 WHERE tenant_id = ? AND channel = ? AND trade_no = ? AND version = ?`
)

// Payment is one success at a channel, whether it paid its order or lies in suspense.
type Payment struct {
	Tenant   int64        `json:"-"`
	Channel  string       `json:"channel"`
	TradeNo  string       `json:"trade_no"`
	Account  string       `json:"account"`
	OrderNo  string       `json:"order_no"`
	Cause    string       `json:"cause"` // key of its event
	Captured money.Amount `json:"captured"`
	Refunded money.Amount `json:"refunded"`
	Suspense string       `json:"suspense,omitempty"` // why it fits nowhere; empty for an order's payment
	Version  int64        `json:"-"`
}

// CreateOrder registers an order and, in the same transaction, wakes the events that waited for it and puts the order
// on the list of those that the channel is asked about. Registering the
// same order again returns it; another order under the same number is order.ErrExists.
func (s *Store) CreateOrder(ctx context.Context, o order.Order) (order.Order, error) {
	if err := o.Validate(); err != nil {
		return order.Order{}, err
	}
	var stored order.Order
	err := s.Do(ctx, func(ctx context.Context, tx *Tx) error {
		existing, found, err := tx.Order(ctx, o.Tenant, o.No)
		if err != nil {
			return err
		}
		if found && !existing.Same(o) {
			return fmt.Errorf("%w: %s", order.ErrExists, o.No)
		}
		if found {
			stored = existing
			return nil
		}
		if _, err := tx.exec(ctx, sqlInsertOrder, o.Tenant, o.No, o.Store, o.Amount.Minor, string(o.Amount.Currency),
			o.Channel, o.Account); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, sqlInsertQuery, o.Tenant, o.No, o.Channel, o.Account); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, sqlWakeOrder, o.Tenant, o.No); err != nil {
			return err
		}
		stored, _, err = tx.Order(ctx, o.Tenant, o.No)
		return err
	})
	return stored, err
}

// WakeRefunds makes unfinished refunds of an order due at once: a payment of it is being committed.
func (t *Tx) WakeRefunds(ctx context.Context, tenant int64, orderNo string) error {
	_, err := t.exec(ctx, sqlWakeRefunds, tenant, orderNo)
	return err
}

// Order reads an order inside the transaction.
func (t *Tx) Order(ctx context.Context, tenant int64, no string) (o order.Order, found bool, err error) {
	err = t.rows(ctx, sqlReadOrder, []any{tenant, no}, func(rows *sql.Rows) (err error) {
		found = true
		o, err = scanOrder(rows)
		return err
	})
	return o, found, err
}

// UpdateOrder writes the order's state if its version is still the one that was read; ErrConflict if not.
func (t *Tx) UpdateOrder(ctx context.Context, o order.Order) error {
	return must(t.exec(ctx, sqlUpdateOrder, string(o.State), o.PaidBy, string(o.State), o.Tenant, o.No, o.Version))
}

// Order reads one order; order.ErrUnknown if there is none.
func (s *Store) Order(ctx context.Context, tenant int64, no string) (order.Order, error) {
	orders, err := s.orders(ctx, sqlReadOrder, tenant, no)
	if err == nil && len(orders) == 0 {
		return order.Order{}, fmt.Errorf("%w: %s", order.ErrUnknown, no)
	}
	if err != nil {
		return order.Order{}, err
	}
	return orders[0], nil
}

// Orders lists orders by number, after the given one.
func (s *Store) Orders(ctx context.Context, tenant int64, after string, limit int) ([]order.Order, error) {
	return s.orders(ctx, sqlListOrders, tenant, after, limit)
}

func (s *Store) orders(ctx context.Context, statement string, args ...any) ([]order.Order, error) {
	var orders []order.Order
	err := s.list(ctx, statement, args, func(rows *sql.Rows) error {
		o, err := scanOrder(rows)
		orders = append(orders, o)
		return err
	})
	return orders, err
}

func scanOrder(rows *sql.Rows) (o order.Order, err error) {
	err = rows.Scan(&o.Tenant, &o.No, &o.Store, &o.Amount.Minor, &o.Amount.Currency, &o.Channel, &o.Account, &o.State,
		&o.PaidBy, &o.CreatedUs, &o.PaidUs, &o.Version)
	return o, err
}

// InsertPayment records a channel payment. Its number is unique per tenant and channel.
func (t *Tx) InsertPayment(ctx context.Context, p Payment) error {
	_, err := t.exec(ctx, sqlInsertPayment, p.Tenant, p.Channel, p.TradeNo, p.Account, p.OrderNo, p.Cause,
		string(p.Captured.Currency), p.Captured.Minor, p.Suspense)
	return err
}

// Payment reads a channel payment inside the transaction.
func (t *Tx) Payment(ctx context.Context, tenant int64, channel, tradeNo string) (p Payment, found bool, err error) {
	err = t.rows(ctx, sqlReadPayment, []any{tenant, channel, tradeNo}, func(rows *sql.Rows) (err error) {
		found = true
		p, err = scanPayment(rows, tenant)
		return err
	})
	return p, found, err
}

// AddRefund adds a refund that the channel executed, if the payment is still the one that was read.
func (t *Tx) AddRefund(ctx context.Context, p Payment, amount money.Amount) error {
	if amount.Currency != p.Captured.Currency {
		return errors.New("store: refund in another currency than its payment")
	}
	return must(t.exec(ctx, sqlRefundPayment, amount.Minor, p.Tenant, p.Channel, p.TradeNo, p.Version))
}

// Payments lists the channel payments of one order.
func (s *Store) Payments(ctx context.Context, tenant int64, orderNo string) ([]Payment, error) {
	var payments []Payment
	err := s.list(ctx, sqlListPayments, []any{tenant, orderNo}, func(rows *sql.Rows) error {
		p, err := scanPayment(rows, tenant)
		payments = append(payments, p)
		return err
	})
	return payments, err
}

func scanPayment(rows *sql.Rows, tenant int64) (Payment, error) {
	p := Payment{Tenant: tenant}
	err := rows.Scan(&p.Channel, &p.TradeNo, &p.Account, &p.OrderNo, &p.Cause, &p.Captured.Currency, &p.Captured.Minor,
		&p.Refunded.Minor, &p.Suspense, &p.Version)
	p.Refunded.Currency = p.Captured.Currency
	return p, err
}
