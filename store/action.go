package store

import (
	"context"
	"database/sql"

	"github.com/paidonce/paidonce/gate"
)

const (
	sqlInsertAction = `INSERT INTO operator_action (tenant_id, action_id, idempotent_key, what, actor, why, detail, at_us)
 VALUES (?, ?, ?, ?, ?, ?, ?, $NOW)`
	sqlActions = `SELECT action_id, what, actor, why, detail, at_us FROM operator_action
 WHERE tenant_id = ? AND idempotent_key = ? ORDER BY at_us, action_id`
	sqlConfirmed = `SELECT COUNT(*) FROM channel_delivery WHERE tenant_id = ? AND idempotent_key = ? AND digest = ?
 AND source IN ('query', 'bill')`
)

// Action is what a person did to an event, and why.
type Action struct {
	ID     string `json:"action_id"`
	What   string `json:"what"` // "retry", "suspense", "reject", "link"
	Actor  string `json:"actor"`
	Why    string `json:"why"`
	Detail string `json:"detail,omitempty"`
	AtUs   int64  `json:"at_us"`
}

// InsertAction records the action in the transaction that carries it out.
func (t *Tx) InsertAction(ctx context.Context, tenant int64, key gate.Key, a Action) error {
	id, err := t.s.newID()
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, sqlInsertAction, tenant, id, string(key), a.What, a.Actor, a.Why, a.Detail)
	return err
}

// Actions lists what people did to one event.
func (s *Store) Actions(ctx context.Context, tenant int64, key gate.Key) ([]Action, error) {
	var actions []Action
	err := s.list(ctx, sqlActions, []any{tenant, string(key)}, func(rows *sql.Rows) error {
		var a Action
		err := rows.Scan(&a.ID, &a.What, &a.Actor, &a.Why, &a.Detail, &a.AtUs)
		actions = append(actions, a)
		return err
	})
	return actions, err
}

// Confirmed reports whether the channel said the same when it was asked, or in its bill: a second witness beside the
// notification.
func (t *Tx) Confirmed(ctx context.Context, tenant int64, key gate.Key, digest gate.Digest) (bool, error) {
	var count int
	_, err := t.row(ctx, sqlConfirmed, []any{tenant, string(key), string(digest)}, &count)
	return count > 0, err
}
