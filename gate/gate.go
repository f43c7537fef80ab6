package gate

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"
)

// Storage is what the gate needs of a database. Every method runs in a transaction of its own on the gate's own pool
// and reads on the primary. A nil error is a promise; any error means "unknown".
type Storage interface {
	// Insert commits claim, event and raw delivery in one transaction. It returns true if this call or an earlier one
	// of the same owner inserted it. Otherwise the row that is there was read in a fresh transaction; it returns false
	// only for a row of exactly this tenant and key. A duplicate on any other index is an error.
	Insert(ctx context.Context, c Claim, s Seat) (Row, bool, error)
	// Take moves the lease of an open claim to a new owner, if the fence is still the one seen and the lease is over.
	// It counts an attempt. Taking again with the same owner answers true again.
	Take(ctx context.Context, seen Row, s Seat) (Row, bool, error)
	// Note keeps a repeat's delivery as evidence. It decides nothing.
	Note(ctx context.Context, c Claim, v Verdict, instance string) error
	// Due lists unfinished claims whose next try has come, oldest first and at most perTenant of each tenant, so that
	// one tenant's backlog cannot hide another's.
	Due(ctx context.Context, perTenant int) ([]Row, error)
	// Lookup reads one claim; ErrNoClaim if there is none.
	Lookup(ctx context.Context, tenant int64, key Key) (Row, error)
}

// Tx is what the gate needs of the caller's business transaction.
type Tx interface {
	// FinishClaim flips the claim to finished and removes its work row, if owner and fence are still the ticket's.
	// It returns false if they are not.
	FinishClaim(ctx context.Context, t Ticket, outcome string) (bool, error)
	// ReplaceEvent puts another digest and event in the place of the stored ones, under the ticket's fence.
	ReplaceEvent(ctx context.Context, t Ticket, c Claim) (bool, error)
	// ParkClaim gives the lease back with a reason, if owner and fence are still the ticket's.
	ParkClaim(ctx context.Context, t Ticket, p Parking) (bool, error)
}

// Seat names who takes a claim and for how long.
type Seat struct {
	Owner    string
	Instance string
	Lease    time.Duration
	Host     bool // the claim is the host's own (TryAcquire): finished by the host, never re-driven
}

// Options of a gate. Every field is needed.
type Options struct {
	Storage  Storage
	Instance string        // name of this process in timelines
	Lease    time.Duration // how long a holder may work before another may take over
	Tries    int           // how often an unknown outcome is asked again, at least 1
	Random   io.Reader     // source of owner tokens; nil means crypto/rand
}

// Gate hands out the right to book an event. It is safe for concurrent use and keeps no state of its own.
type Gate struct{ opt Options }

// MaxLease is the longest lease that is believed: one that ends further ahead than this is treated as over, so that a
// clock that jumped cannot lock a claim away.
const MaxLease = time.Hour

// New checks the options and returns a gate.
func New(opt Options) (*Gate, error) {
	if opt.Random == nil {
		opt.Random = rand.Reader
	}
	switch {
	case opt.Storage == nil:
		return nil, errors.New("gate: no storage")
	case opt.Instance == "":
		return nil, errors.New("gate: no instance name")
	case opt.Lease <= 0 || opt.Lease > MaxLease:
		return nil, fmt.Errorf("gate: lease %s is not between 0 and %s", opt.Lease, MaxLease)
	case opt.Tries < 1:
		return nil, errors.New("gate: tries must be at least 1")
	}
	return &Gate{opt}, nil
}

// insideTx marks the context of a running business transaction.
type insideTx struct{}

// MarkTx returns a context in which Acquire and TryAcquire refuse to work. Whoever opens a business transaction hands
// this context to its body, because a claim that shares the fate of the business transaction is no claim.
func MarkTx(ctx context.Context) context.Context { return context.WithValue(ctx, insideTx{}, true) }

// InTx reports whether ctx was marked by MarkTx.
func InTx(ctx context.Context) bool { return ctx.Value(insideTx{}) != nil }

// TryAcquire is the simple form, for a host with books of its own. True: the key is yours, book it. False: it was
// taken before, by anybody. An error: not decided, so do not acknowledge. Such claims are the host's to finish; the
// house never drives them on. It runs in a transaction of its own and is refused inside a business transaction.
func (g *Gate) TryAcquire(ctx context.Context, tenant int64, key Key) (bool, error) {
	claim := Claim{Tenant: tenant, Key: key, Digest: "host", Raw: Delivery{Source: "host"}}
	seat, err := g.seat(ctx, claim)
	if err != nil {
		return false, err
	}
	seat.Host = true
	_, won, err := g.insert(ctx, claim, seat)
	return won, err
}

// Acquire is the full form: it commits the claim together with its event and raw delivery and says what the caller
// may do. A nil error means that the event is durable, whatever the verdict. It runs in transactions of its own and
// is refused inside a business transaction.
func (g *Gate) Acquire(ctx context.Context, c Claim) (Ticket, error) {
	if c.Digest == "" || len(c.Event) == 0 {
		return Ticket{}, fmt.Errorf("%w: no digest or no event", ErrClaim)
	}
	seat, err := g.seat(ctx, c)
	if err != nil {
		return Ticket{}, err
	}
	row, won, err := g.insert(ctx, c, seat)
	if err != nil {
		return Ticket{}, err
	}
	if won {
		return ticket(First, row), nil
	}
	t, err := g.repeat(ctx, c, row, seat)
	if err != nil {
		return Ticket{}, err
	}
	if err := g.opt.Storage.Note(ctx, c, t.Verdict, g.opt.Instance); err != nil && t.Verdict == Mismatch {
		// The stored event is not what this delivery says, so only the noted delivery keeps it.
		return Ticket{}, fmt.Errorf("gate: keep the deviating delivery: %w", err)
	}
	return t, nil
}

// repeat judges a delivery whose key is already claimed.
func (g *Gate) repeat(ctx context.Context, c Claim, row Row, seat Seat) (Ticket, error) {
	switch {
	case row.State == Host || row.State == Inherited:
		return ticket(Done, row), nil // nothing to compare with: the digest was never known
	case row.Digest != c.Digest:
		return ticket(Mismatch, row), nil
	case row.State == Finished:
		return ticket(Done, row), nil
	case !row.LeaseOver:
		return ticket(Busy, row), nil
	}
	return g.take(ctx, row, seat)
}

// Resume takes an unfinished claim that nobody works on: the re-drive's way in. The verdict is Resume, Busy or Done.
func (g *Gate) Resume(ctx context.Context, row Row) (Ticket, error) {
	seat, err := g.seat(ctx, Claim{Tenant: row.Tenant, Key: row.Key})
	if err != nil {
		return Ticket{}, err
	}
	return g.take(ctx, row, seat)
}

func (g *Gate) take(ctx context.Context, row Row, seat Seat) (Ticket, error) {
	taken, ok, err := retry(ctx, g.opt.Tries, func() (Row, bool, error) { return g.opt.Storage.Take(ctx, row, seat) })
	switch {
	case err != nil:
		return Ticket{}, fmt.Errorf("%w: take the lease: %w", ErrUndecided, err)
	case ok:
		return ticket(Resume, taken), nil
	case taken.State != Open:
		return ticket(Done, taken), nil
	}
	return ticket(Busy, taken), nil
}

// insert asks storage until it knows. The owner token stays the same over the tries: a row with our own token is
// ours, so a lost answer to COMMIT cannot turn into "taken by somebody else".
func (g *Gate) insert(ctx context.Context, c Claim, seat Seat) (Row, bool, error) {
	row, won, err := retry(ctx, g.opt.Tries, func() (Row, bool, error) { return g.opt.Storage.Insert(ctx, c, seat) })
	if err != nil {
		return Row{}, false, fmt.Errorf("%w: %w", ErrUndecided, err)
	}
	return row, won, nil
}

// Finish marks the claim finished inside the business transaction tx, as its first statement. ErrFenced means that
// the ticket has lost its right; the transaction must be rolled back.
func (g *Gate) Finish(ctx context.Context, tx Tx, t Ticket, outcome string) error {
	if !t.Held() {
		return fmt.Errorf("%w: verdict %s gives no right to finish", ErrFenced, t.Verdict)
	}
	ok, err := tx.FinishClaim(ctx, t, outcome)
	if err != nil {
		return fmt.Errorf("gate: finish: %w", err)
	}
	if !ok {
		return ErrFenced
	}
	return nil
}

// Replace makes another authentic report the claim's event, under the ticket's fence and inside tx. The caller has
// found out which of the two is true; the gate only guards that it is replaced while unbooked and by one holder.
func (g *Gate) Replace(ctx context.Context, tx Tx, t Ticket, c Claim) error {
	if !t.Held() { // such a ticket shows the holder's owner and fence, so the database would not refuse it
		return fmt.Errorf("%w: verdict %s gives no right to replace", ErrFenced, t.Verdict)
	}
	ok, err := tx.ReplaceEvent(ctx, t, c)
	if err != nil {
		return fmt.Errorf("gate: replace event: %w", err)
	}
	if !ok {
		return ErrFenced
	}
	return nil
}

// Park gives an event back that cannot be booked now, with the reason and the time of its next try. It needs the fence
// like Finish does. The caller's transaction is never the one that failed to book; in it the caller looks, after
// parking, whether what the event waits for has come meanwhile, because whoever brought it found nobody waiting.
func (g *Gate) Park(ctx context.Context, tx Tx, t Ticket, p Parking) error {
	if !t.Held() {
		return fmt.Errorf("%w: verdict %s gives no right to park", ErrFenced, t.Verdict)
	}
	ok, err := tx.ParkClaim(ctx, t, p)
	if err != nil {
		return fmt.Errorf("gate: park: %w", err)
	}
	if !ok {
		return ErrFenced
	}
	return nil
}

// Due lists unfinished claims whose next try has come, at most perTenant of each tenant.
func (g *Gate) Due(ctx context.Context, perTenant int) ([]Row, error) {
	return g.opt.Storage.Due(ctx, perTenant)
}

// Lookup reads one claim in a transaction of its own; ErrNoClaim if there is none, ErrInsideTx within another one.
func (g *Gate) Lookup(ctx context.Context, tenant int64, key Key) (Row, error) {
	if InTx(ctx) {
		return Row{}, ErrInsideTx
	}
	return g.opt.Storage.Lookup(ctx, tenant, key)
}

func (g *Gate) seat(ctx context.Context, c Claim) (Seat, error) {
	if InTx(ctx) {
		return Seat{}, ErrInsideTx
	}
	if c.Tenant <= 0 {
		return Seat{}, fmt.Errorf("%w: tenant %d", ErrClaim, c.Tenant)
	}
	if _, err := ParseKey(string(c.Key)); err != nil {
		return Seat{}, fmt.Errorf("%w: %w", ErrClaim, err)
	}
	var token [16]byte
	if _, err := io.ReadFull(g.opt.Random, token[:]); err != nil {
		return Seat{}, fmt.Errorf("gate: owner token: %w", err)
	}
	return Seat{Owner: hex.EncodeToString(token[:]), Instance: g.opt.Instance, Lease: g.opt.Lease}, nil
}

// retry calls ask until it answers without an error, at most tries times and only while ctx lives.
func retry(ctx context.Context, tries int, ask func() (Row, bool, error)) (row Row, ok bool, err error) {
	for range tries {
		if row, ok, err = ask(); err == nil || errors.Is(err, ErrClaim) || ctx.Err() != nil {
			break
		}
	}
	return row, ok, err
}

func ticket(v Verdict, row Row) Ticket {
	return Ticket{Tenant: row.Tenant, Key: row.Key, Verdict: v, Owner: row.Owner, Fence: row.Fence,
		Attempts: row.Attempts, Failures: row.Failures, Event: row.Event, Row: row}
}
