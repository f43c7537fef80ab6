// Package store keeps claims, orders and the journal in a relational database. There is one text per statement; what
// the engines do differently is one small Dialect. The contract that every engine passes, without opt-outs, is the
// suite in storetest.
package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paidonce/paidonce/gate"
)

// Errors of the store.
var (
	// ErrPoisoned: the transaction saw an error before; it can only be rolled back.
	ErrPoisoned = errors.New("store: transaction saw an error and cannot go on")
	// ErrCommitUnknown: the answer to COMMIT was lost; the transaction is committed or not.
	ErrCommitUnknown = errors.New("store: outcome of commit unknown")
	// ErrConflict: a conditional write met a row that had changed; Do runs the whole unit again.
	ErrConflict = errors.New("store: row changed meanwhile")
	// ErrOtherIndex: a once-insert reported a duplicate, but the key is not there: another index collided.
	ErrOtherIndex = errors.New("store: duplicate on an index that is not the claim's")
	// ErrUnsafe: the database is set up in a way that would lose or double money.
	ErrUnsafe = errors.New("store: unsafe database setting")
)

// Class is what an engine's error means.
type Class int

// The classes. Only Duplicate on exactly the claim's index can come to mean "already taken", and only after the row
// has been read. Lost leaves the outcome open.
const (
	Other     Class = iota // the statement failed; nothing is known to be retryable
	Duplicate              // some unique index refused the row
	Retry                  // rolled back by the engine to let others pass: run the whole unit again
	Lost                   // the connection is gone
)

// Dialect is all that differs between engines.
type Dialect struct {
	Name      string
	Numbered  bool               // placeholders are $1, $2 … instead of ?
	Now       string             // SQL: microseconds since 1970, by the database's clock
	Once      string             // appended to the claim's INSERT; empty where the duplicate error is the signal
	Isolation sql.IsolationLevel // READ COMMITTED, where the engine has levels
	Classify  func(error) Class
	// Check refuses settings under which a commit may be lost or the claim's index cannot judge: ErrUnsafe with the
	// setting, what was found and the remedy.
	Check  func(ctx context.Context, p Pools) error
	Schema fs.FS // numbered migrations
}

// Pools are the connections. Gate is apart from Main, so that claims never wait for connections that business
// transactions hold while those wait for claims. Read serves lists and reports; it must reach the primary too.
type Pools struct{ Main, Gate, Read *sql.DB }

// Options of a store.
type Options struct {
	Pools   Pools
	Dialect Dialect
	Clock   func() time.Time // only makes ids sort by time; no decision rests on it
}

// Store is one database. It is safe for concurrent use.
type Store struct {
	opt   Options
	texts sync.Map // statement text → text in the engine's form

	unknownCommits atomic.Int64

	claimMark, queryMark mark
}

// UnknownCommits counts the commits whose answer was lost since the store was opened.
func (s *Store) UnknownCommits() int64 { return s.unknownCommits.Load() }

// New returns a store over open pools. It does not touch the database; Check does.
func New(opt Options) (*Store, error) {
	switch {
	case opt.Pools.Main == nil || opt.Pools.Gate == nil || opt.Pools.Read == nil:
		return nil, errors.New("store: a pool is missing")
	case opt.Dialect.Classify == nil || opt.Dialect.Now == "" || opt.Dialect.Check == nil:
		return nil, errors.New("store: incomplete dialect")
	case opt.Clock == nil:
		return nil, errors.New("store: no clock")
	}
	return &Store{opt: opt}, nil
}

// Check asks the database whether it can keep the promise, and refuses with reason and remedy if it cannot.
func (s *Store) Check(ctx context.Context) error { return s.opt.Dialect.Check(ctx, s.opt.Pools) }

// Pools are the connections that the store was given, for migrations and for reports of the host's own.
func (s *Store) Pools() Pools { return s.opt.Pools }

// Schema holds the engine's numbered migrations.
func (s *Store) Schema() fs.FS { return s.opt.Dialect.Schema }

// Engine is the dialect's name.
func (s *Store) Engine() string { return s.opt.Dialect.Name }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.opt.Pools.Main.PingContext(ctx) }

// Close closes the pools.
func (s *Store) Close() error {
	return errors.Join(s.opt.Pools.Gate.Close(), s.opt.Pools.Main.Close(), s.opt.Pools.Read.Close())
}

// text puts a statement into the engine's form: placeholders, and $NOW for the database's clock.
func (s *Store) text(statement string) string {
	if known, ok := s.texts.Load(statement); ok {
		if text, ok := known.(string); ok {
			return text
		}
	}
	text := strings.ReplaceAll(statement, "$NOW", s.opt.Dialect.Now)
	text = strings.ReplaceAll(text, "$ONCE", s.opt.Dialect.Once)
	if s.opt.Dialect.Numbered {
		var b strings.Builder
		number := 0
		for _, r := range text {
			if r != '?' {
				b.WriteRune(r)
				continue
			}
			number++
			b.WriteString("$" + strconv.Itoa(number))
		}
		text = b.String()
	}
	s.texts.Store(statement, text)
	return text
}

// newID makes a UUIDv7 in 26 characters of base32: ids sort by time, and no sequence is needed.
func (s *Store) newID() (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", fmt.Errorf("store: id: %w", err)
	}
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(s.opt.Clock().UnixMilli()))
	copy(id[:6], ms[2:])
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return base32ID(id), nil
}

const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

func base32ID(id [16]byte) string {
	high, low := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	var text [26]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = idAlphabet[low&31]
		low = low>>5 | high<<59
		high >>= 5
	}
	return string(text[:])
}

// Do runs fn in one business transaction and commits it. Conflicts and the engine's "rolled back, try again" repeat
// the whole unit, at most doTries times; fn must therefore change nothing outside the transaction. The context that
// fn gets is marked, so that a claim inside it is refused. ErrCommitUnknown means just that.
func (s *Store) Do(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	return s.unit(ctx, s.opt.Pools.Main, fn)
}

const doTries = 12

func (s *Store) unit(ctx context.Context, pool *sql.DB, fn func(ctx context.Context, tx *Tx) error) error {
	var err error
	for try := range doTries {
		if try > 0 {
			pause(ctx, try)
		}
		if err = s.once(ctx, pool, fn); err == nil || !s.again(err) || ctx.Err() != nil {
			break
		}
	}
	return err
}

// again reports whether the failed unit is known not to have been committed and may succeed when it is run again.
func (s *Store) again(err error) bool {
	if errors.Is(err, ErrCommitUnknown) {
		return false
	}
	if errors.Is(err, ErrConflict) {
		return true
	}
	class := s.opt.Dialect.Classify(err)
	return class == Retry || class == Duplicate || class == Lost
}

// OutOfReach reports whether the error only says that the database could not be reached or did not answer. It says
// nothing about what was being done.
func (s *Store) OutOfReach(err error) bool {
	return errors.Is(err, ErrCommitUnknown) || errors.Is(err, errNoBegin) || s.opt.Dialect.Classify(err) == Lost
}

// errNoBegin: no transaction could be opened.
var errNoBegin = errors.New("store: begin")

// once runs the unit a single time. No transaction that saw an error is ever committed.
func (s *Store) once(ctx context.Context, pool *sql.DB, fn func(ctx context.Context, tx *Tx) error) error {
	raw, err := pool.BeginTx(ctx, &sql.TxOptions{Isolation: s.opt.Dialect.Isolation})
	if err != nil {
		return fmt.Errorf("%w: %w", errNoBegin, err)
	}
	tx := &Tx{tx: raw, s: s}
	defer func() { _ = raw.Rollback() }() // after a commit this does nothing
	if err := fn(gate.MarkTx(ctx), tx); err != nil {
		return err
	}
	if tx.failed != nil {
		return fmt.Errorf("%w: %w", ErrPoisoned, tx.failed)
	}
	if err := raw.Commit(); err != nil {
		if class := s.opt.Dialect.Classify(err); class == Retry || class == Duplicate {
			return fmt.Errorf("store: commit: %w", err)
		}
		s.unknownCommits.Add(1)
		return fmt.Errorf("%w: %w", ErrCommitUnknown, err)
	}
	return nil
}

// pause waits a little longer with every try, with jitter so that rivals do not meet again.
func pause(ctx context.Context, try int) {
	var noise [1]byte
	_, _ = rand.Read(noise[:])
	wait := time.Duration(1<<min(try, 7)) * time.Millisecond
	timer := time.NewTimer(wait/2 + wait*time.Duration(noise[0])/255)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
