package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/paidonce/paidonce/gate"
)

var _ gate.Storage = (*Store)(nil)

// The claim's statements. Every condition that decides is in a WHERE clause, and its row count is read.
const (
	sqlInsertClaim = `INSERT INTO channel_idempotent (tenant_id, idempotent_key, event_type, digest, state, owner,
 fence, lease_until_us, instance, outcome, created_us, handled_us)
 VALUES (?, ?, ?, ?, ?, ?, 1, $NOW + ?, ?, '', $NOW, 0) $ONCE`

	sqlInsertWork = `INSERT INTO claim_work (tenant_id, idempotent_key, channel, order_no, amount_minor, currency, due_us,
 since_us, attempts, failures, reason, detail, event) VALUES (?, ?, ?, ?, ?, ?, $NOW + ?, $NOW, 1, 1, '', '', ?)`

	sqlInsertDelivery = `INSERT INTO channel_delivery (tenant_id, idempotent_key, delivery_id, received_us, source,
 verdict, digest, instance, header, body, event) VALUES (?, ?, ?, $NOW, ?, ?, ?, ?, ?, ?, ?)`

	// The lease is over when it has run out or when it ends further ahead than any lease may.
	sqlLeaseOver = `(c.lease_until_us <= $NOW OR c.lease_until_us > $NOW + 3600000000)`

	sqlClaimColumns = `SELECT c.tenant_id, c.idempotent_key, c.digest, c.state, c.owner, c.fence, c.created_us,
 c.handled_us, c.outcome, c.instance, CASE WHEN ` + sqlLeaseOver + ` THEN 1 ELSE 0 END, COALESCE(w.attempts, 0),
 COALESCE(w.failures, 0), COALESCE(w.reason, ''), COALESCE(w.detail, ''), COALESCE(w.due_us, 0),
 COALESCE($NOW - w.due_us, 0), COALESCE(w.order_no, ''), COALESCE(w.amount_minor, 0), COALESCE(w.currency, ''), w.event
 FROM `
	sqlClaimJoin = `channel_idempotent c
 LEFT JOIN claim_work w ON w.tenant_id = c.tenant_id AND w.idempotent_key = c.idempotent_key `

	sqlReadClaim = sqlClaimColumns + sqlClaimJoin + `WHERE c.tenant_id = ? AND c.idempotent_key = ?`

	sqlTakeLease = `UPDATE channel_idempotent SET owner = ?, instance = ?, fence = fence + 1, lease_until_us = $NOW + ?
 WHERE tenant_id = ? AND idempotent_key = ? AND state = 0 AND fence = ?
 AND (lease_until_us <= $NOW OR lease_until_us > $NOW + 3600000000)`
	sqlCountAttempt = `UPDATE claim_work SET attempts = attempts + 1, failures = failures + 1, due_us = $NOW + ?
 WHERE tenant_id = ? AND idempotent_key = ?`

	sqlReleaseLease = `UPDATE channel_idempotent SET fence = fence + 1, lease_until_us = 0
 WHERE tenant_id = ? AND idempotent_key = ? AND state = 0 AND owner = ? AND fence = ?`
	sqlParkWork = `UPDATE claim_work SET reason = ?, detail = ?, failures = ?, due_us = $NOW + ?
 WHERE tenant_id = ? AND idempotent_key = ?`
	sqlWakeClaim     = `UPDATE claim_work SET due_us = $NOW WHERE tenant_id = ? AND idempotent_key = ?`
	sqlInsertHistory = `INSERT INTO claim_history (tenant_id, idempotent_key, fence, what, at_us, instance, detail)
 VALUES (?, ?, ?, ?, $NOW, ?, ?)`

	sqlFinishClaim = `UPDATE channel_idempotent SET state = 1, handled_us = $NOW, outcome = ?, lease_until_us = 0
 WHERE tenant_id = ? AND idempotent_key = ? AND state = 0 AND owner = ? AND fence = ?`
	sqlDeleteWork = `DELETE FROM claim_work WHERE tenant_id = ? AND idempotent_key = ?`

	sqlReplaceDigest = `UPDATE channel_idempotent SET digest = ?
 WHERE tenant_id = ? AND idempotent_key = ? AND state = 0 AND owner = ? AND fence = ? AND digest <> ?`
	sqlReplaceEvent = `UPDATE claim_work SET event = ?, order_no = ?, amount_minor = ?, currency = ?
 WHERE tenant_id = ? AND idempotent_key = ?`

	sqlDueTenants = `SELECT tenant_id, MIN(due_us) AS first_us FROM claim_work WHERE due_us >= ? AND due_us <= $NOW
 GROUP BY tenant_id ORDER BY first_us LIMIT 256`
	sqlDueClaims = sqlClaimColumns + `claim_work w JOIN channel_idempotent c
 ON c.tenant_id = w.tenant_id AND c.idempotent_key = w.idempotent_key
 WHERE w.tenant_id = ? AND w.due_us >= ? AND w.due_us <= $NOW ORDER BY w.due_us LIMIT ?`

	sqlCountDeliveries = `SELECT COUNT(*) FROM channel_delivery WHERE tenant_id = ? AND idempotent_key = ?`
)

// maxNotes bounds the evidence that repeats leave: an SQB callback has no time stamp and verifies for ever.
const maxNotes = 64

// Insert implements gate.Storage.
func (s *Store) Insert(ctx context.Context, c gate.Claim, seat gate.Seat) (gate.Row, bool, error) {
	err := s.insertClaim(ctx, c, seat)
	if err == nil {
		return gate.Row{Tenant: c.Tenant, Key: c.Key, Digest: c.Digest, State: gate.Open, Owner: seat.Owner, Fence: 1,
			Instance: seat.Instance, Attempts: 1, Failures: 1, Event: c.Event, OrderNo: c.OrderNo,
			Amount: c.Amount}, true, nil
	}
	if !errors.Is(err, errTaken) {
		return gate.Row{}, false, err
	}
	row, readErr := s.Lookup(ctx, c.Tenant, c.Key)
	switch {
	case errors.Is(readErr, gate.ErrNoClaim):
		return gate.Row{}, false, fmt.Errorf("%w: %w", ErrOtherIndex, err)
	case readErr != nil:
		return gate.Row{}, false, readErr
	}
	return row, row.Owner == seat.Owner, nil
}

// errTaken: the once-insert met a row. Which row, and whose, is read afterwards in a fresh transaction.
var errTaken = errors.New("store: claim's row is there")

// insertClaim is TX 1. Deadlocks and the like run the whole transaction again.
func (s *Store) insertClaim(ctx context.Context, c gate.Claim, seat gate.Seat) error {
	id, err := s.newID()
	if err != nil {
		return err
	}
	state := gate.Open
	if seat.Host {
		state = gate.Host
	}
	lease := seat.Lease.Microseconds()
	for try := range doTries {
		if try > 0 {
			pause(ctx, try)
		}
		err = s.once(ctx, s.opt.Pools.Gate, func(ctx context.Context, tx *Tx) error {
			rows, err := tx.exec(ctx, sqlInsertClaim, c.Tenant, string(c.Key), c.Key.Event(), string(c.Digest), int(state),
				seat.Owner, lease, seat.Instance)
			if err != nil {
				return err
			}
			if rows != 1 {
				return errTaken
			}
			if !seat.Host {
				if _, err := tx.exec(ctx, sqlInsertWork, c.Tenant, string(c.Key), c.Key.Channel(), c.OrderNo, c.Amount.Minor,
					string(c.Amount.Currency), lease, c.Event); err != nil {
					return err
				}
			}
			_, err = tx.exec(ctx, sqlInsertDelivery, c.Tenant, string(c.Key), id, c.Raw.Source, string(gate.First),
				string(c.Digest), seat.Instance, blob(c.Raw.Header), blob(c.Raw.Body), blob(nil))
			return err
		})
		if err == nil || s.opt.Dialect.Classify(err) != Retry || ctx.Err() != nil {
			break
		}
	}
	if err != nil && s.opt.Dialect.Classify(err) == Duplicate {
		return fmt.Errorf("%w: %w", errTaken, err)
	}
	return err
}

// blob keeps nil out of NOT NULL columns.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// Lookup implements gate.Storage. It reads in a read-write transaction on the primary, so that a cluster node that
// lags behind cannot answer.
func (s *Store) Lookup(ctx context.Context, tenant int64, key gate.Key) (gate.Row, error) {
	var row gate.Row
	found := false
	err := s.unit(ctx, s.opt.Pools.Gate, func(ctx context.Context, tx *Tx) error {
		return tx.rows(ctx, sqlReadClaim, []any{tenant, string(key)}, func(rows *sql.Rows) (err error) {
			found = true
			row, err = scanClaim(rows)
			return err
		})
	})
	if err == nil && !found {
		err = gate.ErrNoClaim
	}
	return row, err
}

func scanClaim(rows *sql.Rows) (gate.Row, error) {
	var r gate.Row
	var leaseOver int
	err := rows.Scan(&r.Tenant, &r.Key, &r.Digest, &r.State, &r.Owner, &r.Fence, &r.CreatedUs, &r.HandledUs, &r.Outcome,
		&r.Instance, &leaseOver, &r.Attempts, &r.Failures, &r.Reason, &r.Detail, &r.DueUs, &r.LateUs, &r.OrderNo,
		&r.Amount.Minor, &r.Amount.Currency, &r.Event)
	r.LeaseOver = leaseOver == 1
	return r, err
}

// Take implements gate.Storage.
func (s *Store) Take(ctx context.Context, seen gate.Row, seat gate.Seat) (gate.Row, bool, error) {
	lease := seat.Lease.Microseconds()
	err := s.unit(ctx, s.opt.Pools.Gate, func(ctx context.Context, tx *Tx) error {
		rows, err := tx.exec(ctx, sqlTakeLease, seat.Owner, seat.Instance, lease, seen.Tenant, string(seen.Key), seen.Fence)
		if err != nil {
			return err
		}
		if rows != 1 {
			return errTaken
		}
		if err := must(tx.exec(ctx, sqlCountAttempt, lease, seen.Tenant, string(seen.Key))); err != nil {
			return err
		}
		if seen.Attempts >= toldAttempts {
			return nil
		}
		_, err = tx.exec(ctx, sqlInsertHistory, seen.Tenant, string(seen.Key), seen.Fence+1, "taken", seat.Instance, "")
		return err
	})
	if err != nil && !errors.Is(err, errTaken) {
		return gate.Row{}, false, err
	}
	row, err := s.Lookup(ctx, seen.Tenant, seen.Key)
	return row, err == nil && row.State == gate.Open && row.Owner == seat.Owner, err
}

// toldAttempts bounds the history of an event that nothing happens to: whatever waits for months is retried for
// months, and after so many attempts only a change of its reason is worth a row. The count of attempts goes on.
const toldAttempts = 32

// ParkClaim implements gate.Tx.
func (t *Tx) ParkClaim(ctx context.Context, k gate.Ticket, p gate.Parking) (bool, error) {
	rows, err := t.exec(ctx, sqlReleaseLease, k.Tenant, string(k.Key), k.Owner, k.Fence)
	if err != nil || rows != 1 {
		return false, err
	}
	if err := must(t.exec(ctx, sqlParkWork, p.Reason, p.Detail, p.Failures, p.Delay.Microseconds(), k.Tenant,
		string(k.Key))); err != nil {
		return false, err
	}
	if p.Reason == k.Row.Reason && k.Attempts > toldAttempts {
		return true, nil
	}
	_, err = t.exec(ctx, sqlInsertHistory, k.Tenant, string(k.Key), k.Fence, "parked", k.Row.Instance,
		p.Reason+": "+p.Detail)
	return err == nil, err
}

// WakeClaim makes one unfinished event due at once.
func (t *Tx) WakeClaim(ctx context.Context, tenant int64, key gate.Key) error {
	_, err := t.exec(ctx, sqlWakeClaim, tenant, string(key))
	return err
}

// Note implements gate.Storage. Of plain repeats only the first maxNotes are kept.
func (s *Store) Note(ctx context.Context, c gate.Claim, v gate.Verdict, instance string) error {
	id, err := s.newID()
	if err != nil {
		return err
	}
	body, event := blob(nil), blob(nil) // a repeat says nothing new; its headers show when it came and from whom
	if v == gate.Mismatch {
		body, event = blob(c.Raw.Body), blob(c.Event)
	}
	return s.unit(ctx, s.opt.Pools.Gate, func(ctx context.Context, tx *Tx) error {
		var count int
		if _, err := tx.row(ctx, sqlCountDeliveries, []any{c.Tenant, string(c.Key)}, &count); err != nil {
			return err
		}
		telling := v == gate.Mismatch || c.Raw.Source != "notify" // a second witness counts, see Confirmed
		if count >= maxNotes && (!telling || count >= 4*maxNotes) {
			return nil
		}
		_, err := tx.exec(ctx, sqlInsertDelivery, c.Tenant, string(c.Key), id, c.Raw.Source, string(v), string(c.Digest),
			instance, blob(c.Raw.Header), body, event)
		return err
	})
}

// Due implements gate.Storage.
func (s *Store) Due(ctx context.Context, perTenant int) ([]gate.Row, error) {
	type backlog struct{ tenant, first int64 }
	var tenants []backlog
	err := s.claimMark.scan(ctx, s, func(from int64) (first int64, err error) {
		tenants = tenants[:0]
		err = s.list(ctx, sqlDueTenants, []any{from}, func(rows *sql.Rows) error {
			var b backlog
			err := rows.Scan(&b.tenant, &b.first)
			tenants = append(tenants, b)
			return err
		})
		if len(tenants) > 0 {
			first = tenants[0].first
		}
		return first, err
	})
	if err != nil {
		return nil, err
	}
	var due []gate.Row
	for _, b := range tenants {
		err := s.list(ctx, sqlDueClaims, []any{b.tenant, b.first, perTenant}, func(rows *sql.Rows) error {
			row, err := scanClaim(rows)
			due = append(due, row)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return due, nil
}

// FinishClaim implements gate.Tx.
func (t *Tx) FinishClaim(ctx context.Context, k gate.Ticket, outcome string) (bool, error) {
	rows, err := t.exec(ctx, sqlFinishClaim, outcome, k.Tenant, string(k.Key), k.Owner, k.Fence)
	if err != nil || rows != 1 {
		return false, err
	}
	return true, must(t.exec(ctx, sqlDeleteWork, k.Tenant, string(k.Key)))
}

// ReplaceEvent implements gate.Tx.
func (t *Tx) ReplaceEvent(ctx context.Context, k gate.Ticket, c gate.Claim) (bool, error) {
	digest := string(c.Digest)
	rows, err := t.exec(ctx, sqlReplaceDigest, digest, k.Tenant, string(k.Key), k.Owner, k.Fence, digest)
	if err != nil || rows != 1 {
		return false, err
	}
	if err := must(t.exec(ctx, sqlReplaceEvent, c.Event, c.OrderNo, c.Amount.Minor,
		string(c.Amount.Currency), k.Tenant, string(k.Key))); err != nil {
		return false, err
	}
	_, err = t.exec(ctx, sqlInsertHistory, k.Tenant, string(k.Key), k.Fence, "replaced", k.Row.Instance, "")
	return err == nil, err
}
