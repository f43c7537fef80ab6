package store

import (
	"context"
	"database/sql"

	"github.com/paidonce/paidonce/ledger"
)

var _ ledger.Tx = (*Tx)(nil)

const (
	sqlBooked        = `SELECT booking_id FROM booking WHERE tenant_id = ? AND cause = ?`
	sqlInsertBooking = `INSERT INTO booking (tenant_id, cause, booking_id, chain, order_no, booked_us)
 VALUES (?, ?, ?, ?, ?, $NOW)`
	sqlInsertEntry = `INSERT INTO journal_entry (tenant_id, booking_id, entry_no, step)
 VALUES (?, ?, ?, ?)`
	sqlInsertPosting = `INSERT INTO posting (tenant_id, booking_id, entry_no, line_no, account, side, amount_minor,
 currency) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	sqlInsertPending = `INSERT INTO booking_pending (tenant_id, booking_id) VALUES (?, ?)`

	sqlBookingRows = `SELECT b.booking_id, b.cause, b.chain, b.order_no, b.booked_us, e.entry_no, e.step, p.line_no,
 p.account, p.side, p.amount_minor, p.currency FROM booking b
 LEFT JOIN journal_entry e ON e.tenant_id = b.tenant_id AND e.booking_id = b.booking_id
 LEFT JOIN posting p ON p.tenant_id = e.tenant_id AND p.booking_id = e.booking_id AND p.entry_no = e.entry_no `
	sqlBookingByCause = sqlBookingRows + `WHERE b.tenant_id = ? AND b.cause = ?
 ORDER BY b.booking_id, e.entry_no, p.line_no`
	sqlBookingByOrder = sqlBookingRows + `WHERE b.tenant_id = ? AND b.order_no = ?
 ORDER BY b.booking_id, e.entry_no, p.line_no`
	sqlBookingByID = sqlBookingRows + `WHERE b.tenant_id = ? AND b.booking_id = ?
 ORDER BY b.booking_id, e.entry_no, p.line_no`

	// One statement, so one snapshot: what is rolled up and what is not yet are never counted twice or missed.
	sqlTrialBalance = `SELECT account, currency, SUM(debit_minor), SUM(credit_minor) FROM (
 SELECT account, currency, debit_minor, credit_minor FROM balance WHERE tenant_id = ?
 UNION ALL SELECT p.account, p.currency, CASE WHEN p.side = 'D' THEN p.amount_minor ELSE 0 END,
 CASE WHEN p.side = 'C' THEN p.amount_minor ELSE 0 END FROM booking_pending q
 JOIN posting p ON p.tenant_id = q.tenant_id AND p.booking_id = q.booking_id WHERE q.tenant_id = ?) t
 GROUP BY account, currency ORDER BY account, currency`
)

// Booked implements ledger.Tx.
func (t *Tx) Booked(ctx context.Context, tenant int64, cause string) (bool, error) {
	var id string
	return t.row(ctx, sqlBooked, []any{tenant, cause}, &id)
}

// InsertBooking implements ledger.Tx. The booking's unique key is (tenant, cause).
func (t *Tx) InsertBooking(ctx context.Context, b ledger.Booking) error {
	id, err := t.s.newID()
	if err != nil {
		return err
	}
	if _, err := t.exec(ctx, sqlInsertBooking, b.Tenant, b.Cause, id, b.Chain, b.OrderNo); err != nil {
		return err
	}
	for i, entry := range b.Entries {
		if _, err := t.exec(ctx, sqlInsertEntry, b.Tenant, id, i+1, entry.Step); err != nil {
			return err
		}
		for j, p := range entry.Postings {
			if _, err := t.exec(ctx, sqlInsertPosting, b.Tenant, id, i+1, j+1, string(p.Account), string(p.Side),
				p.Amount.Minor, string(p.Amount.Currency)); err != nil {
				return err
			}
		}
	}
	_, err = t.exec(ctx, sqlInsertPending, b.Tenant, id)
	return err
}

// Entries reads the stored entries of one cause inside the transaction.
func (t *Tx) Entries(ctx context.Context, tenant int64, cause string) ([]ledger.Entry, error) {
	var list bookingList
	if err := t.rows(ctx, sqlBookingByCause, []any{tenant, cause}, list.scan); err != nil {
		return nil, err
	}
	if len(list.bookings) == 0 {
		return nil, nil
	}
	return list.bookings[0].Entries, nil
}

// Journal reads the booking of one cause, if there is one, with its entries and postings.
func (s *Store) Journal(ctx context.Context, tenant int64, cause string) ([]ledger.Recorded, error) {
	var list bookingList
	err := s.list(ctx, sqlBookingByCause, []any{tenant, cause}, list.scan)
	return list.take(tenant), err
}

// JournalOfOrder reads all bookings of one order.
func (s *Store) JournalOfOrder(ctx context.Context, tenant int64, orderNo string) ([]ledger.Recorded, error) {
	var list bookingList
	err := s.list(ctx, sqlBookingByOrder, []any{tenant, orderNo}, list.scan)
	return list.take(tenant), err
}

// bookingList folds joined rows back into bookings.
type bookingList struct {
	bookings []ledger.Recorded
	entryNo  int64
}

func (l *bookingList) take(tenant int64) []ledger.Recorded {
	for i := range l.bookings {
		l.bookings[i].Tenant = tenant
	}
	return l.bookings
}

func (l *bookingList) scan(rows *sql.Rows) error {
	var b ledger.Recorded
	var p ledger.Posting
	var entryNo, line, minor sql.NullInt64
	var step, account, side, currency sql.NullString
	if err := rows.Scan(&b.ID, &b.Cause, &b.Chain, &b.OrderNo, &b.BookedUs, &entryNo, &step, &line, &account, &side,
		&minor, &currency); err != nil {
		return err
	}
	if n := len(l.bookings); n == 0 || l.bookings[n-1].ID != b.ID {
		l.bookings = append(l.bookings, b)
		l.entryNo = 0
	}
	last := &l.bookings[len(l.bookings)-1]
	if !entryNo.Valid {
		return nil // an event that moved no money
	}
	if entryNo.Int64 != l.entryNo {
		l.entryNo = entryNo.Int64
		last.Entries = append(last.Entries, ledger.Entry{Step: step.String})
	}
	if !line.Valid {
		return nil // an entry that lost its postings: the verifier says so
	}
	p.Account, p.Side = ledger.Account(account.String), ledger.Side(side.String)
	p.Amount.Minor, p.Amount.Currency = minor.Int64, currencyOf(currency.String)
	entry := &last.Entries[len(last.Entries)-1]
	entry.Postings = append(entry.Postings, p)
	return nil
}

// TrialBalance lists every account of a tenant with the sums of both sides.
func (s *Store) TrialBalance(ctx context.Context, tenant int64) ([]ledger.Balance, error) {
	var balances []ledger.Balance
	err := s.list(ctx, sqlTrialBalance, []any{tenant, tenant}, func(rows *sql.Rows) error {
		var b ledger.Balance
		err := rows.Scan(&b.Account, &b.Currency, &b.Debit, &b.Credit)
		balances = append(balances, b)
		return err
	})
	return balances, err
}
