// Package gate is the correctness layer: it decides who may book an event. A claim under
// UNIQUE(tenant_id, idempotent_key) is committed in a transaction of its own before any business transaction begins,
// and nothing that happens later releases it. The gate keeps no state; the verdict belongs to storage.
package gate

import (
	"errors"
	"time"

	"github.com/paidonce/paidonce/money"
)

// Errors of the gate. Every error of Acquire and TryAcquire means "not decided": the caller must not acknowledge.
var (
	// ErrFenced: the ticket is no longer the right to this claim; somebody else took it, or it is finished.
	ErrFenced = errors.New("gate: ticket is fenced off")
	// ErrInsideTx: a claim was attempted inside a business transaction, where a rollback would release it.
	ErrInsideTx = errors.New("gate: claim attempted inside a business transaction")
	// ErrUndecided: storage could not tell within the bounded number of tries whether the claim is held.
	ErrUndecided = errors.New("gate: claim not decided")
	// ErrClaim: the claim lacks a tenant, key or digest.
	ErrClaim = errors.New("gate: not a valid claim")
	// ErrNoClaim: there is no claim of that key.
	ErrNoClaim = errors.New("gate: no such claim")
)

// Digest is a versioned hash, in hex, of what all sources of one event must agree on. The gate only compares it.
type Digest string

// Verdict is the gate's answer.
type Verdict string

// The five verdicts. Seen is not done: a repeat of an unfinished event is Resume or Busy, not Done.
const (
	First    Verdict = "first"    // the claim is new and ours
	Resume   Verdict = "resume"   // known, unfinished, nobody works on it: ours now
	Busy     Verdict = "busy"     // known, unfinished, somebody holds its lease
	Done     Verdict = "done"     // known and finished
	Mismatch Verdict = "mismatch" // known, but with another digest
)

// State of a claim row.
type State int

// The states. Open is the only one that can change.
const (
	Open      State = 0 // claimed, not booked
	Finished  State = 1 // booked or otherwise brought to its end
	Host      State = 2 // taken by TryAcquire; the host finishes it, we never do
	Inherited State = 3 // adopted from an older table, not yet proved by an entry or a bill
)

var stateNames = [...]string{"open", "finished", "host", "inherited"}

// String names the state.
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return "unknown"
	}
	return stateNames[s]
}

// Claim asks for the right to book an event.
type Claim struct {
	Tenant  int64
	Key     Key
	Digest  Digest
	Event   []byte       // the event as it will be booked, in the host's own encoding
	OrderNo string       // wakes this claim when the order appears; may be empty
	Amount  money.Amount // what is at stake while the claim is unfinished; zero where the report does not say
	Raw     Delivery
}

// Delivery is one raw report of an event, kept as evidence.
type Delivery struct {
	Source string // "notify", "query", "bill", "operator", "queue"
	Header []byte // selected headers, JSON; never an Authorization of ours
	Body   []byte // bytes as received
}

// Ticket is the right to finish a claim. It ends when its fence is no longer the claim's.
type Ticket struct {
	Tenant   int64
	Key      Key
	Verdict  Verdict
	Owner    string // token of this holder, random
	Fence    int64  // grows with every holder
	Attempts int    // how often a lease was taken, this one included
	Failures int    // the attempts in a row, this one included, that a parking did not excuse
	Event    []byte // the stored event: what must be booked, whatever the repeat said
	Row      Row    // the claim as it was seen
}

// Held reports whether the ticket gives the right to work on the claim.
func (t Ticket) Held() bool { return t.Verdict == First || t.Verdict == Resume }

// Row is a claim as storage holds it. Times are microseconds since 1970 by the database's clock; 0 means never.
type Row struct {
	Tenant    int64
	Key       Key
	Digest    Digest
	State     State
	Owner     string
	Fence     int64
	LeaseOver bool // by the database's clock, at the moment of reading
	CreatedUs int64
	HandledUs int64
	Outcome   string
	Instance  string // which instance decided last

	// Of unfinished claims only.
	Attempts int
	Failures int
	Reason   string
	Detail   string
	DueUs    int64
	LateUs   int64 // how long it had been due when it was read; negative if it is not due yet
	Event    []byte
	OrderNo  string
	Amount   money.Amount
}

// Parking says why an event cannot be booked now, and when it is worth another look.
type Parking struct {
	Reason string // a stable word: "waiting_order", "amount_mismatch", …
	Detail string // for people
	Delay  time.Duration
	// Failures is how many technical failures in a row the claim has now: zero for a reason that is none. Whoever takes
	// a lease counts one in advance, so that an event which kills its process is counted too.
	Failures int
}
