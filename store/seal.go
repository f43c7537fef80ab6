package store

import (
	"context"
	"database/sql"

	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
)

const (
	sqlPendingTenants = `SELECT DISTINCT tenant_id FROM booking_pending ORDER BY tenant_id`
	sqlPending        = `SELECT booking_id FROM booking_pending WHERE tenant_id = ? ORDER BY booking_id LIMIT ?`
	sqlDeletePending  = `DELETE FROM booking_pending WHERE tenant_id = ? AND booking_id = ?`
	sqlLastSeal       = `SELECT seal_no, bookings, digest FROM seal WHERE tenant_id = ? ORDER BY seal_no DESC LIMIT 1`
	sqlSealAt         = `SELECT bookings, digest FROM seal WHERE tenant_id = ? AND seal_no = ?`
	sqlInsertSeal     = `INSERT INTO seal (tenant_id, seal_no, bookings, digest, sealed_us) VALUES (?, ?, ?, ?, $NOW)`
	sqlInsertSealed   = `INSERT INTO sealed_booking (tenant_id, booking_id, seal_no, digest) VALUES (?, ?, ?, ?)`
	sqlAddBalance     = `UPDATE balance SET debit_minor = debit_minor + ?, credit_minor = credit_minor + ?
 WHERE tenant_id = ? AND account = ? AND currency = ?`
	sqlInsertBalance = `INSERT INTO balance (tenant_id, account, currency, debit_minor, credit_minor)
 VALUES (?, ?, ?, ?, ?)`
	sqlSeals  = `SELECT seal_no, bookings, digest FROM seal WHERE tenant_id = ? ORDER BY seal_no`
	sqlSealed = `SELECT booking_id, digest FROM sealed_booking WHERE tenant_id = ? AND seal_no = ?
 ORDER BY booking_id`
	sqlLedgerTenants = `SELECT tenant_id FROM booking UNION SELECT tenant_id FROM seal
 UNION SELECT tenant_id FROM channel_idempotent UNION SELECT tenant_id FROM posting ORDER BY 1`
)

func currencyOf(s string) money.Currency { return money.Currency(s) }

// Seal closes one batch of at most limit bookings of a tenant: it adds their postings to the balances and chains their
// digests to the last seal. Several instances may call it at once; each booking is sealed once. It returns the head of
// the chain, and false if there was nothing to seal.
//
// The work list is a table that the booking transaction itself writes, not a cursor over ids or times: a booking that
// commits late cannot be passed over.
func (s *Store) Seal(ctx context.Context, tenant int64, limit int) (ledger.Head, bool, error) {
	var head ledger.Head
	sealed := false
	err := s.Do(ctx, func(ctx context.Context, tx *Tx) error {
		sealed = false
		var ids []string
		if err := tx.rows(ctx, sqlPending, []any{tenant, limit}, func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		}); err != nil || len(ids) == 0 {
			return err
		}
		last, err := tx.lastSeal(ctx, tenant)
		if err != nil {
			return err
		}
		head, err = tx.sealBatch(ctx, last, ids)
		sealed = err == nil
		return err
	})
	return head, sealed, err
}

func (t *Tx) lastSeal(ctx context.Context, tenant int64) (ledger.Head, error) {
	head := ledger.Head{Tenant: tenant}
	_, err := t.row(ctx, sqlLastSeal, []any{tenant}, &head.Seal, &head.Bookings, &head.Digest)
	return head, err
}

func (t *Tx) sealBatch(ctx context.Context, last ledger.Head, ids []string) (ledger.Head, error) {
	var list bookingList
	for _, id := range ids {
		// Deleting first makes a rival that read the same list wait, find nothing and start over.
		if err := must(t.exec(ctx, sqlDeletePending, last.Tenant, id)); err != nil {
			return ledger.Head{}, err
		}
		if err := t.rows(ctx, sqlBookingByID, []any{last.Tenant, id}, list.scan); err != nil {
			return ledger.Head{}, err
		}
	}
	bookings := list.take(last.Tenant)
	digests := make([]string, len(bookings))
	for i, b := range bookings {
		digests[i] = b.Digest()
		if _, err := t.exec(ctx, sqlInsertSealed, last.Tenant, b.ID, last.Seal+1, digests[i]); err != nil {
			return ledger.Head{}, err
		}
	}
	for _, sum := range ledger.Sums(bookings) {
		rows, err := t.exec(ctx, sqlAddBalance, sum.Debit, sum.Credit, last.Tenant, string(sum.Account), string(sum.Currency))
		if err == nil && rows == 0 {
			_, err = t.exec(ctx, sqlInsertBalance, last.Tenant, string(sum.Account), string(sum.Currency), sum.Debit, sum.Credit)
		}
		if err != nil {
			return ledger.Head{}, err
		}
	}
	head := last.Next(digests)
	_, err := t.exec(ctx, sqlInsertSeal, head.Tenant, head.Seal, head.Bookings, head.Digest)
	return head, err
}

// SealAt reads one seal of a tenant's chain; false if the chain does not have it.
func (s *Store) SealAt(ctx context.Context, tenant, number int64) (head ledger.Head, found bool, err error) {
	head = ledger.Head{Tenant: tenant, Seal: number}
	err = s.list(ctx, sqlSealAt, []any{tenant, number}, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&head.Bookings, &head.Digest)
	})
	return head, found, err
}

// PendingTenants lists tenants that have bookings to seal.
func (s *Store) PendingTenants(ctx context.Context) ([]int64, error) {
	return s.tenants(ctx, sqlPendingTenants)
}

// LedgerTenants lists every tenant that has left a trace in the books.
func (s *Store) LedgerTenants(ctx context.Context) ([]int64, error) {
	return s.tenants(ctx, sqlLedgerTenants)
}

func (s *Store) tenants(ctx context.Context, statement string) ([]int64, error) {
	var tenants []int64
	err := s.list(ctx, statement, nil, func(rows *sql.Rows) error {
		var tenant int64
		err := rows.Scan(&tenant)
		tenants = append(tenants, tenant)
		return err
	})
	return tenants, err
}
