package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Tx is a business transaction. It satisfies the small ports of gate and ledger. After the first error it refuses
// every further statement: an engine may have rolled back already, and whatever came next would stand alone.
type Tx struct {
	tx     *sql.Tx
	s      *Store
	failed error
}

// exec runs a statement and returns how many rows it changed.
func (t *Tx) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	if t.failed != nil {
		return 0, fmt.Errorf("%w: %w", ErrPoisoned, t.failed)
	}
	result, err := t.tx.ExecContext(ctx, t.s.text(statement), args...)
	if err != nil {
		t.failed = err
		return 0, err
	}
	rows, err := result.RowsAffected()
	if err != nil {
		t.failed = err
	}
	return rows, err
}

// row reads one row into dest; false if there is none.
func (t *Tx) row(ctx context.Context, statement string, args []any, dest ...any) (bool, error) {
	if t.failed != nil {
		return false, fmt.Errorf("%w: %w", ErrPoisoned, t.failed)
	}
	err := t.tx.QueryRowContext(ctx, t.s.text(statement), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		t.failed = err
	}
	return err == nil, err
}

// rows calls scan for every row.
func (t *Tx) rows(ctx context.Context, statement string, args []any, scan func(*sql.Rows) error) error {
	if t.failed != nil {
		return fmt.Errorf("%w: %w", ErrPoisoned, t.failed)
	}
	if err := each(ctx, t.tx, t.s.text(statement), args, scan); err != nil {
		t.failed = err
		return err
	}
	return nil
}

// querier is what a pool and a transaction have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func each(ctx context.Context, q querier, text string, args []any, scan func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list reads rows outside of any transaction, from the primary.
func (s *Store) list(ctx context.Context, statement string, args []any, scan func(*sql.Rows) error) error {
	return each(ctx, s.opt.Pools.Read, s.text(statement), args, scan)
}

// must turns "no row changed" into ErrConflict: every decision in SQL is a conditional write whose count is read.
func must(rows int64, err error) error {
	if err == nil && rows != 1 {
		return fmt.Errorf("%w: %d rows instead of 1", ErrConflict, rows)
	}
	return err
}
