package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/paidonce/paidonce/gate"
)

// ErrAdopt: the table cannot be taken over as it is.
var ErrAdopt = errors.New("store: cannot adopt the table")

const (
	sqlHasClaim    = `SELECT state FROM channel_idempotent WHERE tenant_id = ? AND idempotent_key = ?`
	sqlInsertAdopt = `INSERT INTO channel_idempotent (tenant_id, idempotent_key, event_type, digest, state, owner,
 fence, lease_until_us, instance, outcome, created_us, handled_us)
 VALUES (?, ?, ?, 'inherited', 3, 'adopted', 1, 0, ?, 'inherited', $NOW, ?)`
)

// Adoption says which table to take over and how to read it.
type Adoption struct {
	Table    string // name of the older placeholder table, in the same database
	Handled  string // its column with the handled date; empty: the first known name that is there
	Zone     *time.Location
	Instance string
}

// Refused is a row that was not taken over; it stays where it is.
type Refused struct {
	Tenant int64  `json:"tenant"`
	Key    string `json:"key"`
	Why    string `json:"why"`
}

// Adopted is the outcome of taking over a table.
type Adopted struct {
	Read    int64     `json:"read"`
	Taken   int64     `json:"taken"`
	Known   int64     `json:"known"`   // claims that were here already
	Refused []Refused `json:"refused"` // at most maxRefused are listed
	Invalid int64     `json:"invalid"` // how many were refused in all
}

const (
	adoptBatch = 200
	maxRefused = 100
)

// Adopt takes over the keys of an older placeholder table of the shape (tenant_id, idempotent_key, …, handled date).
// The table is only read. Inherited keys answer Done from now on, because the older system may have booked them; they
// stay listed by Inherited until an entry of ours or a bill proves them. Running it again takes over what is new.
func (s *Store) Adopt(ctx context.Context, a Adoption) (Adopted, error) {
	columns, err := s.adoptColumns(ctx, a)
	if err != nil {
		return Adopted{}, err
	}
	statement := "SELECT tenant_id, idempotent_key"
	if columns.handled != "" {
		statement += ", " + columns.handled
	} else {
		statement += ", NULL"
	}
	var result Adopted
	var batch []inheritedKey
	flush := func() error {
		taken, err := s.adoptBatch(ctx, a, batch)
		result.Taken += taken
		result.Known += int64(len(batch)) - taken
		batch = batch[:0]
		return err
	}
	err = s.list(ctx, statement+" FROM "+a.Table, nil, func(rows *sql.Rows) error {
		key, why, err := scanInherited(rows, a.Zone)
		if err != nil {
			return err
		}
		result.Read++
		if why != "" {
			result.Invalid++
			if len(result.Refused) < maxRefused {
				result.Refused = append(result.Refused, Refused{key.tenant, key.key, why})
			}
			return nil
		}
		if batch = append(batch, key); len(batch) == adoptBatch {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return result, err
}

type adoptColumns struct{ handled string }

// adoptColumns looks at the table's columns without reading a row.
func (s *Store) adoptColumns(ctx context.Context, a Adoption) (adoptColumns, error) {
	if !identifier(a.Table) || a.Handled != "" && !identifier(a.Handled) {
		return adoptColumns{}, fmt.Errorf("%w: table and column names may hold letters, digits and _ only", ErrAdopt)
	}
	if strings.EqualFold(a.Table, "channel_idempotent") {
		return adoptColumns{}, fmt.Errorf("%w: channel_idempotent is our own; rename the older table first", ErrAdopt)
	}
	rows, err := s.opt.Pools.Read.QueryContext(ctx, "SELECT * FROM "+a.Table+" WHERE 1 = 0")
	if err != nil {
		return adoptColumns{}, fmt.Errorf("%w: read %s: %w", ErrAdopt, a.Table, err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return adoptColumns{}, fmt.Errorf("%w: %w", ErrAdopt, err)
	}
	for i := range names {
		names[i] = strings.ToLower(names[i])
	}
	for _, needed := range []string{"tenant_id", "idempotent_key"} {
		if !slices.Contains(names, needed) {
			return adoptColumns{}, fmt.Errorf("%w: %s has no column %s", ErrAdopt, a.Table, needed)
		}
	}
	if a.Handled != "" && !slices.Contains(names, strings.ToLower(a.Handled)) {
		return adoptColumns{}, fmt.Errorf("%w: %s has no column %s", ErrAdopt, a.Table, a.Handled)
	}
	columns := adoptColumns{handled: a.Handled}
	for _, name := range []string{"handled_date", "handle_date", "handled_at", "handled_time", "handle_time",
		"create_time", "created_at", "gmt_create"} {
		if columns.handled == "" && slices.Contains(names, name) {
			columns.handled = name
		}
	}
	return columns, rows.Err()
}

func identifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

type inheritedKey struct {
	tenant    int64
	key       string
	handledUs int64
}

func scanInherited(rows *sql.Rows, zone *time.Location) (inheritedKey, string, error) {
	var tenant sql.NullInt64
	var key sql.NullString
	var handled any
	if err := rows.Scan(&tenant, &key, &handled); err != nil {
		return inheritedKey{}, "", err
	}
	found := inheritedKey{tenant.Int64, key.String, microseconds(handled, zone)}
	if tenant.Int64 <= 0 {
		return found, "the row has no tenant", nil
	}
	if _, err := gate.ParseKey(key.String); err != nil {
		return found, "the key is not CHANNEL:number:EVENT", nil
	}
	return found, "", nil
}

// microseconds reads a date as drivers return it; 0 if it cannot be read.
func microseconds(v any, zone *time.Location) int64 {
	var text string
	switch v := v.(type) {
	case time.Time:
		return v.UnixMicro()
	case []byte:
		text = string(v)
	case string:
		text = v
	default:
		return 0
	}
	if zone == nil {
		zone = time.UTC
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t.UnixMicro()
		}
	}
	return 0
}

func (s *Store) adoptBatch(ctx context.Context, a Adoption, batch []inheritedKey) (int64, error) {
	var taken int64
	err := s.Do(ctx, func(ctx context.Context, tx *Tx) error {
		taken = 0
		for _, k := range batch {
			var state int
			known, err := tx.row(ctx, sqlHasClaim, []any{k.tenant, k.key}, &state)
			if err != nil {
				return err
			}
			if known {
				continue
			}
			if _, err := tx.exec(ctx, sqlInsertAdopt, k.tenant, k.key, gate.Key(k.key).Event(), a.Instance,
				max(k.handledUs, 0)); err != nil {
				return err
			}
			taken++
		}
		return nil
	})
	return taken, err
}
