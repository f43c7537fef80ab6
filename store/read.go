package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
)

const (
	sqlDeliveries = `SELECT delivery_id, received_us, source, verdict, digest, instance, header, body, event
 FROM channel_delivery WHERE tenant_id = ? AND idempotent_key = ? ORDER BY received_us, delivery_id`
	sqlVariants = `SELECT event FROM channel_delivery WHERE tenant_id = ? AND idempotent_key = ? AND verdict = 'mismatch'
 ORDER BY received_us, delivery_id`
	sqlCountVariants = `SELECT COUNT(*) FROM channel_delivery
 WHERE tenant_id = ? AND idempotent_key = ? AND verdict = 'mismatch'`
	sqlHistory = `SELECT fence, what, at_us, instance, detail FROM claim_history
 WHERE tenant_id = ? AND idempotent_key = ? ORDER BY fence, at_us`
	sqlUnfinished = sqlClaimColumns + `claim_work w JOIN channel_idempotent c
 ON c.tenant_id = w.tenant_id AND c.idempotent_key = w.idempotent_key
 WHERE w.tenant_id = ? AND (? = '' OR w.reason = ?) AND w.idempotent_key > ? ORDER BY w.idempotent_key LIMIT ?`
	sqlInherited = sqlClaimColumns + sqlClaimJoin + `WHERE c.tenant_id = ? AND c.state = 3 AND c.idempotent_key > ?
 AND NOT EXISTS (SELECT 1 FROM booking b WHERE b.tenant_id = c.tenant_id AND b.cause = c.idempotent_key)
 ORDER BY c.idempotent_key LIMIT ?`
)

// Delivery is one raw report of an event, as kept.
type Delivery struct {
	ID         string          `json:"delivery_id"`
	ReceivedUs int64           `json:"received_us"`
	Source     string          `json:"source"`
	Verdict    string          `json:"verdict"`
	Digest     string          `json:"digest"`
	Instance   string          `json:"instance"`
	Header     json.RawMessage `json:"header,omitempty"`
	Body       []byte          `json:"-"` // may hold personal data: only for whoever asks for it by name
	Event      json.RawMessage `json:"event,omitempty"`
}

// Step is one act on an unfinished claim: taken, parked, replaced.
type Step struct {
	Fence    int64  `json:"fence"`
	What     string `json:"what"`
	AtUs     int64  `json:"at_us"`
	Instance string `json:"instance"`
	Detail   string `json:"detail,omitempty"`
}

// Timeline is everything that is known of one event.
type Timeline struct {
	Claim      gate.Row
	Deliveries []Delivery
	Steps      []Step
	Actions    []Action
	Bookings   []ledger.Recorded
}

// Timeline reads the life of one event; gate.ErrNoClaim if its key was never claimed.
func (s *Store) Timeline(ctx context.Context, tenant int64, key gate.Key) (Timeline, error) {
	claim, err := s.Lookup(ctx, tenant, key)
	if err != nil {
		return Timeline{}, err
	}
	line := Timeline{Claim: claim}
	err = s.list(ctx, sqlDeliveries, []any{tenant, string(key)}, func(rows *sql.Rows) error {
		var d Delivery
		var header, event []byte
		err := rows.Scan(&d.ID, &d.ReceivedUs, &d.Source, &d.Verdict, &d.Digest, &d.Instance, &header, &d.Body, &event)
		d.Header, d.Event = asJSON(header), asJSON(event)
		line.Deliveries = append(line.Deliveries, d)
		return err
	})
	if err != nil {
		return Timeline{}, err
	}
	err = s.list(ctx, sqlHistory, []any{tenant, string(key)}, func(rows *sql.Rows) error {
		var step Step
		err := rows.Scan(&step.Fence, &step.What, &step.AtUs, &step.Instance, &step.Detail)
		line.Steps = append(line.Steps, step)
		return err
	})
	if err != nil {
		return Timeline{}, err
	}
	if line.Actions, err = s.Actions(ctx, tenant, key); err != nil {
		return Timeline{}, err
	}
	line.Bookings, err = s.Journal(ctx, tenant, string(key))
	return line, err
}

// asJSON keeps what is not JSON out of JSON answers.
func asJSON(stored []byte) json.RawMessage {
	if !json.Valid(stored) {
		return nil
	}
	return stored
}

// Variants lists the events of authentic deliveries that deviate from the claimed one, oldest first.
func (s *Store) Variants(ctx context.Context, tenant int64, key gate.Key) ([][]byte, error) {
	var events [][]byte
	err := s.list(ctx, sqlVariants, []any{tenant, string(key)}, func(rows *sql.Rows) error {
		var event []byte
		err := rows.Scan(&event)
		events = append(events, event)
		return err
	})
	return events, err
}

// CountVariants counts what Variants lists.
func (t *Tx) CountVariants(ctx context.Context, tenant int64, key gate.Key) (count int, err error) {
	_, err = t.row(ctx, sqlCountVariants, []any{tenant, string(key)}, &count)
	return count, err
}

// Unfinished lists claims that are not finished, by key, after the given one; reason "" means any.
func (s *Store) Unfinished(ctx context.Context, tenant int64, reason, after string, limit int) ([]gate.Row, error) {
	return s.claims(ctx, sqlUnfinished, tenant, reason, reason, after, limit)
}

// Inherited lists adopted claims that no entry of ours proves yet, by key, after the given one.
func (s *Store) Inherited(ctx context.Context, tenant int64, after string, limit int) ([]gate.Row, error) {
	return s.claims(ctx, sqlInherited, tenant, after, limit)
}

func (s *Store) claims(ctx context.Context, statement string, args ...any) ([]gate.Row, error) {
	var list []gate.Row
	err := s.list(ctx, statement, args, func(rows *sql.Rows) error {
		row, err := scanClaim(rows)
		list = append(list, row)
		return err
	})
	return list, err
}
