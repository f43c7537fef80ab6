package store

import (
	"context"
	"database/sql"

	"github.com/paidonce/paidonce/ledger"
)

var _ ledger.Reader = (*Store)(nil)

const (
	sqlSealedRows = sqlBookingRows + `JOIN sealed_booking s ON s.tenant_id = b.tenant_id AND s.booking_id = b.booking_id
 WHERE s.tenant_id = ? AND s.seal_no = ? ORDER BY b.booking_id, e.entry_no, p.line_no`
	sqlUnsealedRows = sqlBookingRows + `WHERE b.tenant_id = ? AND NOT EXISTS (SELECT 1 FROM sealed_booking s
 WHERE s.tenant_id = b.tenant_id AND s.booking_id = b.booking_id) ORDER BY b.booking_id, e.entry_no, p.line_no`
	sqlSealedBalances = `SELECT account, currency, debit_minor, credit_minor FROM balance WHERE tenant_id = ?
 ORDER BY account, currency`

	// A booking that is neither sealed nor waiting for its seal was not written by the house.
	sqlStrayUnsealed = `SELECT b.cause FROM booking b WHERE b.tenant_id = ?
 AND NOT EXISTS (SELECT 1 FROM sealed_booking s WHERE s.tenant_id = b.tenant_id AND s.booking_id = b.booking_id)
 AND NOT EXISTS (SELECT 1 FROM booking_pending q WHERE q.tenant_id = b.tenant_id AND q.booking_id = b.booking_id)`
	sqlStrayUnclaimed = `SELECT b.cause FROM booking b WHERE b.tenant_id = ? AND NOT EXISTS (SELECT 1
 FROM channel_idempotent c WHERE c.tenant_id = b.tenant_id AND c.idempotent_key = b.cause AND c.state IN (1, 3))`
	sqlStrayEntry = `SELECT e.booking_id FROM journal_entry e WHERE e.tenant_id = ? AND NOT EXISTS (SELECT 1
 FROM booking b WHERE b.tenant_id = e.tenant_id AND b.booking_id = e.booking_id)`
	sqlStrayPosting = `SELECT p.booking_id FROM posting p WHERE p.tenant_id = ? AND NOT EXISTS (SELECT 1
 FROM journal_entry e WHERE e.tenant_id = p.tenant_id AND e.booking_id = p.booking_id AND e.entry_no = p.entry_no)`
	sqlStraySealed = `SELECT s.booking_id FROM sealed_booking s WHERE s.tenant_id = ? AND NOT EXISTS (SELECT 1
 FROM seal l WHERE l.tenant_id = s.tenant_id AND l.seal_no = s.seal_no)`
	sqlLostPending = `SELECT q.booking_id FROM booking_pending q WHERE q.tenant_id = ? AND NOT EXISTS (SELECT 1
 FROM booking b WHERE b.tenant_id = q.tenant_id AND b.booking_id = q.booking_id)`
	sqlLostBooking = `SELECT c.idempotent_key FROM channel_idempotent c WHERE c.tenant_id = ? AND c.state = 1
 AND c.outcome = 'booked' AND NOT EXISTS (SELECT 1 FROM booking b
 WHERE b.tenant_id = c.tenant_id AND b.cause = c.idempotent_key)`
)

// Seals implements ledger.Reader.
func (s *Store) Seals(ctx context.Context, tenant int64, fn func(ledger.Head) error) error {
	var heads []ledger.Head // read first: fn asks the same pool
	err := s.list(ctx, sqlSeals, []any{tenant}, func(rows *sql.Rows) error {
		head := ledger.Head{Tenant: tenant}
		err := rows.Scan(&head.Seal, &head.Bookings, &head.Digest)
		heads = append(heads, head)
		return err
	})
	for _, head := range heads {
		if err == nil {
			err = fn(head)
		}
	}
	return err
}

// SealedBookings implements ledger.Reader.
func (s *Store) SealedBookings(ctx context.Context, tenant, seal int64) ([]ledger.Sealed, error) {
	var sealed []ledger.Sealed
	err := s.list(ctx, sqlSealed, []any{tenant, seal}, func(rows *sql.Rows) error {
		var one ledger.Sealed
		err := rows.Scan(&one.ID, &one.Digest)
		sealed = append(sealed, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	var list bookingList
	if err := s.list(ctx, sqlSealedRows, []any{tenant, seal}, list.scan); err != nil {
		return nil, err
	}
	bookings := map[string]*ledger.Recorded{}
	for _, b := range list.take(tenant) {
		bookings[b.ID] = &b
	}
	for i := range sealed {
		sealed[i].Booking = bookings[sealed[i].ID]
	}
	return sealed, nil
}

// Unsealed implements ledger.Reader.
func (s *Store) Unsealed(ctx context.Context, tenant int64, fn func(ledger.Recorded) error) error {
	var list bookingList
	if err := s.list(ctx, sqlUnsealedRows, []any{tenant}, list.scan); err != nil {
		return err
	}
	for _, b := range list.take(tenant) {
		if err := fn(b); err != nil {
			return err
		}
	}
	return nil
}

// Strays implements ledger.Reader.
func (s *Store) Strays(ctx context.Context, tenant int64) ([]ledger.Stray, error) {
	var strays []ledger.Stray
	for _, look := range []struct {
		statement string
		fault     ledger.Fault
	}{
		{sqlStrayUnsealed, ledger.Inserted}, {sqlStrayUnclaimed, ledger.Inserted}, {sqlStrayEntry, ledger.Inserted},
		{sqlStrayPosting, ledger.Inserted}, {sqlStraySealed, ledger.Inserted}, {sqlLostPending, ledger.Deleted},
		{sqlLostBooking, ledger.Deleted},
	} {
		err := s.list(ctx, look.statement, []any{tenant}, func(rows *sql.Rows) error {
			stray := ledger.Stray{Kind: look.fault}
			err := rows.Scan(&stray.Where)
			strays = append(strays, stray)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return strays, nil
}

// SealedBalances implements ledger.Reader.
func (s *Store) SealedBalances(ctx context.Context, tenant int64) ([]ledger.Balance, error) {
	var balances []ledger.Balance
	err := s.list(ctx, sqlSealedBalances, []any{tenant}, func(rows *sql.Rows) error {
		var b ledger.Balance
		err := rows.Scan(&b.Account, &b.Currency, &b.Debit, &b.Credit)
		balances = append(balances, b)
		return err
	})
	return balances, err
}
