package store

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// mark remembers below which due time a work table held nothing when it was last read. Finished work leaves dead rows
// in an index until the engine may clean up, and an old snapshot (a backup, a forgotten transaction) keeps it from
// doing so for hours. A scan that began at the beginning of time would then pass over every event of those hours; one
// that begins at the mark passes over those of the last minute.
//
// The mark only saves work. Due times are written by the database's clock and never lie further back than the
// transaction that writes them is long, so a minute of margin is ample; and every markRounds-th scan begins at the
// beginning all the same.
type mark struct {
	mu    sync.Mutex
	low   int64
	round int
}

const (
	markMargin = time.Minute
	markRounds = 600
)

// scan calls look with the due time to begin at. look returns the earliest due time that it found, 0 if none.
func (m *mark) scan(ctx context.Context, s *Store, look func(from int64) (first int64, err error)) error {
	var now int64
	err := s.list(ctx, `SELECT $NOW`, nil, func(rows *sql.Rows) error { return rows.Scan(&now) })
	if err != nil {
		return err
	}
	first, err := look(m.from())
	if err != nil {
		return err
	}
	if first == 0 || first > now {
		first = now
	}
	m.mu.Lock()
	m.low = first - markMargin.Microseconds()
	m.mu.Unlock()
	return nil
}

func (m *mark) from() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.round++
	if m.round%markRounds == 1 {
		return 0
	}
	return m.low
}
