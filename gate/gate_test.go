package gate_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/paidonce/paidonce/gate"
)

// liar is a storage in memory whose answers a test may spoil: the database did what it did, and the caller hears
// something else.
type liar struct {
	rows   map[gate.Key]gate.Row
	before []error // refusals before the next inserts and takes; nil lets one pass
	after  []error // lost answers after the next inserts and takes
	note   error
	asked  int
	owners map[string]bool
}

func newLiar() *liar {
	return &liar{rows: map[gate.Key]gate.Row{}, owners: map[string]bool{}}
}

func next(list *[]error) (err error) {
	if len(*list) > 0 {
		err, *list = (*list)[0], (*list)[1:]
	}
	return err
}

func (l *liar) Insert(_ context.Context, c gate.Claim, s gate.Seat) (gate.Row, bool, error) {
	l.asked++
	l.owners[s.Owner] = true
	if err := next(&l.before); err != nil {
		return gate.Row{}, false, err
	}
	row, known := l.rows[c.Key]
	if !known {
		row = gate.Row{Tenant: c.Tenant, Key: c.Key, Digest: c.Digest, Owner: s.Owner, Fence: 1, Attempts: 1,
			Event: c.Event}
		if s.Host {
			row.State = gate.Host
		}
		l.rows[c.Key] = row
	}
	if err := next(&l.after); err != nil {
		return gate.Row{}, false, err
	}
	return row, row.Owner == s.Owner, nil
}

func (l *liar) Take(_ context.Context, seen gate.Row, s gate.Seat) (gate.Row, bool, error) {
	l.asked++
	l.owners[s.Owner] = true
	if err := next(&l.before); err != nil {
		return gate.Row{}, false, err
	}
	row := l.rows[seen.Key]
	if row.State == gate.Open && row.LeaseOver && row.Fence == seen.Fence {
		row.Owner, row.LeaseOver = s.Owner, false
		row.Fence++
		row.Attempts++
		l.rows[seen.Key] = row
	}
	if err := next(&l.after); err != nil {
		return gate.Row{}, false, err
	}
	return row, row.State == gate.Open && row.Owner == s.Owner, nil
}

func (l *liar) Note(context.Context, gate.Claim, gate.Verdict, string) error { return l.note }

func (l *liar) Due(context.Context, int) ([]gate.Row, error) { return nil, next(&l.before) }

func (l *liar) Lookup(_ context.Context, _ int64, key gate.Key) (gate.Row, error) {
	row, known := l.rows[key]
	if !known {
		return row, gate.ErrNoClaim
	}
	return row, nil
}

const tries = 3

func newGate(t *testing.T, l *liar) *gate.Gate {
	t.Helper()
	g, err := gate.New(gate.Options{Storage: l, Instance: "till-a", Lease: time.Minute, Tries: tries})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func claimOf(key gate.Key) gate.Claim {
	return gate.Claim{Tenant: 7, Key: key, Digest: "v1:a", Event: []byte("event"), Raw: gate.Delivery{Source: "notify"}}
}

var errLost = errors.New("connection lost")

// What the database did and what the caller hears are two things. No spoiled answer may come out as "taken": that
// would acknowledge an event which nobody books.
func TestASpoiledAnswerIsNeverTaken(t *testing.T) {
	for name, test := range map[string]struct {
		before, after []error
		decided       bool // within the tries of one call
		stored        bool
	}{
		"all is well":                       {nil, nil, true, true},
		"refused once":                      {[]error{errLost}, nil, true, true},
		"refused until the last try":        {[]error{errLost, errLost}, nil, true, true},
		"refused every time":                {[]error{errLost, errLost, errLost}, nil, false, false},
		"stored, answer lost":               {nil, []error{errLost}, true, true},
		"stored, answer lost, then refused": {[]error{nil, errLost}, []error{errLost}, true, true},
		"stored, every answer lost":         {nil, []error{errLost, errLost, errLost}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			for form, ask := range map[string]func(*gate.Gate, gate.Key) (bool, error){
				"TryAcquire": func(g *gate.Gate, key gate.Key) (bool, error) { return g.TryAcquire(t.Context(), 7, key) },
				"Acquire": func(g *gate.Gate, key gate.Key) (bool, error) {
					ticket, err := g.Acquire(t.Context(), claimOf(key))
					return ticket.Verdict == gate.First, err
				},
			} {
				l := newLiar()
				l.before, l.after = test.before, test.after
				key := newKey(t, "1")
				mine, err := ask(newGate(t, l), key)
				if test.decided && (!mine || err != nil) {
					t.Errorf("%s of a new key: %v, %v", form, mine, err)
				}
				if !test.decided && (mine || !errors.Is(err, gate.ErrUndecided) || !errors.Is(err, errLost)) {
					t.Errorf("%s that never heard an answer: %v, %v", form, mine, err)
				}
				if _, stored := l.rows[key]; stored != test.stored {
					t.Errorf("%s: stored %v, want %v", form, stored, test.stored)
				}
				if len(l.owners) != 1 || l.asked > tries {
					t.Errorf("%s asked %d times with %d owner tokens", form, l.asked, len(l.owners))
				}
			}
		})
	}
}

// A repeat is answered by what the row says, and by nothing else.
func TestTheFiveVerdicts(t *testing.T) {
	key := newKey(t, "1")
	for name, test := range map[string]struct {
		row    gate.Row
		digest gate.Digest
		want   gate.Verdict
	}{
		"open, leased":                 {gate.Row{State: gate.Open}, "v1:a", gate.Busy},
		"open, lease over":             {gate.Row{State: gate.Open, LeaseOver: true}, "v1:a", gate.Resume},
		"finished":                     {gate.Row{State: gate.Finished, LeaseOver: true}, "v1:a", gate.Done},
		"open, other digest":           {gate.Row{State: gate.Open, LeaseOver: true}, "v1:b", gate.Mismatch},
		"finished, other digest":       {gate.Row{State: gate.Finished}, "v1:b", gate.Mismatch},
		"of the host, any digest":      {gate.Row{State: gate.Host, LeaseOver: true}, "v1:b", gate.Done},
		"inherited, any digest":        {gate.Row{State: gate.Inherited, LeaseOver: true}, "v1:b", gate.Done},
		"inherited, the very digest":   {gate.Row{State: gate.Inherited}, "v1:a", gate.Done},
		"nobody's":                     {gate.Row{}, "v1:a", gate.First},
		"of a state from the future":   {gate.Row{State: 9}, "v1:a", gate.Busy},
		"of the future, other digest":  {gate.Row{State: 9}, "v1:b", gate.Mismatch},
		"of the future and not leased": {gate.Row{State: 9, LeaseOver: true}, "v1:a", gate.Done},
	} {
		l := newLiar()
		if test.want != gate.First {
			test.row.Tenant, test.row.Key, test.row.Digest, test.row.Owner, test.row.Fence = 7, key, "v1:a", "other", 4
			l.rows[key] = test.row
		}
		c := claimOf(key)
		c.Digest = test.digest
		ticket, err := newGate(t, l).Acquire(t.Context(), c)
		if err != nil || ticket.Verdict != test.want {
			t.Errorf("%s: %q, %v; want %s", name, ticket.Verdict, err, test.want)
		}
		if held := test.want == gate.First || test.want == gate.Resume; ticket.Held() != held {
			t.Errorf("%s: held %v", name, ticket.Held())
		}
	}
}

// A takeover whose answer was lost is ours if the row says so; an unheard one decides nothing.
func TestATakeoverWithLostAnswers(t *testing.T) {
	key := newKey(t, "1")
	parked := gate.Row{Tenant: 7, Key: key, Digest: "v1:a", Owner: "other", Fence: 4, LeaseOver: true}
	for name, test := range map[string]struct {
		before, after []error
		want          gate.Verdict
	}{
		"answer lost once":    {nil, []error{errLost}, gate.Resume},
		"refused once":        {[]error{errLost}, nil, gate.Resume},
		"every answer lost":   {nil, []error{errLost, errLost, errLost}, ""},
		"refused all the way": {[]error{errLost, errLost, errLost}, nil, ""},
	} {
		l := newLiar()
		l.rows[key] = parked
		l.before, l.after = test.before, test.after
		ticket, err := newGate(t, l).Resume(t.Context(), parked)
		if ticket.Verdict != test.want || (test.want == "") != errors.Is(err, gate.ErrUndecided) {
			t.Errorf("%s: %q, %v", name, ticket.Verdict, err)
		}
		if l.rows[key].Attempts > 1 {
			t.Errorf("%s: counted as %d attempts", name, l.rows[key].Attempts)
		}
	}
}

// Only the noted delivery keeps what a deviating report said; a repeat of the known one is held already.
func TestADeviatingReportIsHeldOnlyWhenItIsKept(t *testing.T) {
	l := newLiar()
	g, c := newGate(t, l), claimOf(newKey(t, "1"))
	if _, err := g.Acquire(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	l.note = errLost
	if ticket, err := g.Acquire(t.Context(), c); err != nil || ticket.Verdict != gate.Busy {
		t.Errorf("repeat: %q, %v", ticket.Verdict, err)
	}
	c.Digest = "v1:b"
	if ticket, err := g.Acquire(t.Context(), c); !errors.Is(err, errLost) || ticket.Verdict != "" {
		t.Errorf("deviating report that could not be kept: %q, %v", ticket.Verdict, err)
	}
}

func TestWhatIsNotAClaimNeverReachesStorage(t *testing.T) {
	key := newKey(t, "1")
	for name, c := range map[string]gate.Claim{
		"no tenant":       {Key: key, Digest: "d", Event: []byte("e")},
		"negative tenant": {Tenant: -1, Key: key, Digest: "d", Event: []byte("e")},
		"no key":          {Tenant: 7, Digest: "d", Event: []byte("e")},
		"key of no form":  {Tenant: 7, Key: "SQB:1", Digest: "d", Event: []byte("e")},
		"no digest":       {Tenant: 7, Key: key, Event: []byte("e")},
		"no event":        {Tenant: 7, Key: key, Digest: "d"},
	} {
		l := newLiar()
		_, err := newGate(t, l).Acquire(t.Context(), c)
		if !errors.Is(err, gate.ErrClaim) && !errors.Is(err, gate.ErrKey) || l.asked != 0 {
			t.Errorf("%s: %v, storage was asked %d times", name, err, l.asked)
		}
	}
}

func TestAClaimInsideABusinessTransactionIsRefused(t *testing.T) {
	l := newLiar()
	g, key := newGate(t, l), newKey(t, "1")
	ctx := gate.MarkTx(t.Context())
	_, acquire := g.Acquire(ctx, claimOf(key))
	_, try := g.TryAcquire(ctx, 7, key)
	_, resume := g.Resume(ctx, gate.Row{Tenant: 7, Key: key})
	for _, err := range []error{acquire, try, resume} {
		if !errors.Is(err, gate.ErrInsideTx) {
			t.Errorf("%v, want %v", err, gate.ErrInsideTx)
		}
	}
	if l.asked != 0 || !gate.InTx(ctx) || gate.InTx(t.Context()) {
		t.Errorf("storage was asked %d times", l.asked)
	}
}

// fence is a business transaction that knows whether the ticket still counts.
type fence struct {
	ok  bool
	err error
}

func (f fence) FinishClaim(context.Context, gate.Ticket, string) (bool, error) { return f.ok, f.err }
func (f fence) ReplaceEvent(context.Context, gate.Ticket, gate.Claim) (bool, error) {
	return f.ok, f.err
}
func (f fence) ParkClaim(context.Context, gate.Ticket, gate.Parking) (bool, error) {
	return f.ok, f.err
}

func TestOnlyAHeldTicketOfTheLastFenceFinishes(t *testing.T) {
	l := newLiar()
	g := newGate(t, l)
	for _, test := range []struct {
		verdict gate.Verdict
		tx      fence
		want    error
	}{
		{gate.First, fence{true, nil}, nil}, {gate.Resume, fence{true, nil}, nil},
		{gate.First, fence{false, nil}, gate.ErrFenced}, {gate.First, fence{false, errLost}, errLost},
		{gate.Busy, fence{true, nil}, gate.ErrFenced}, {gate.Done, fence{true, nil}, gate.ErrFenced},
		{gate.Mismatch, fence{true, nil}, gate.ErrFenced}, {"", fence{true, nil}, gate.ErrFenced},
	} {
		ticket := gate.Ticket{Tenant: 7, Key: newKey(t, "1"), Verdict: test.verdict}
		if err := g.Finish(t.Context(), test.tx, ticket, "booked"); !errors.Is(err, test.want) {
			t.Errorf("Finish with %q: %v, want %v", test.verdict, err, test.want)
		}
		if err := g.Replace(t.Context(), test.tx, ticket, gate.Claim{}); !errors.Is(err, test.want) {
			t.Errorf("Replace with %q: %v, want %v", test.verdict, err, test.want)
		}
		if err := g.Park(t.Context(), test.tx, ticket, gate.Parking{}); !errors.Is(err, test.want) {
			t.Errorf("Park with %q: %v", test.verdict, err)
		}
	}
}

// A caller that has given up is not made to wait for further tries.
func TestAnEndedContextEndsTheTries(t *testing.T) {
	l := newLiar()
	l.before = []error{errLost, errLost, errLost}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newGate(t, l).TryAcquire(ctx, 7, newKey(t, "1")); !errors.Is(err, gate.ErrUndecided) || l.asked != 1 {
		t.Errorf("%v after %d tries", err, l.asked)
	}
}

func TestOptionsOfAGate(t *testing.T) {
	good := gate.Options{Storage: newLiar(), Instance: "till-a", Lease: time.Minute, Tries: 1}
	if _, err := gate.New(good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*gate.Options){
		"no storage":     func(o *gate.Options) { o.Storage = nil },
		"no instance":    func(o *gate.Options) { o.Instance = "" },
		"no lease":       func(o *gate.Options) { o.Lease = 0 },
		"endless lease":  func(o *gate.Options) { o.Lease = gate.MaxLease + 1 },
		"not even a try": func(o *gate.Options) { o.Tries = 0 },
	} {
		bad := good
		spoil(&bad)
		if _, err := gate.New(bad); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	for name, random := range map[string]io.Reader{
		"a source that fails": iotest.ErrReader(errLost), "a source that ends": strings.NewReader("short"),
	} {
		l := newLiar()
		weak := good
		weak.Storage, weak.Random = l, random
		g, err := gate.New(weak)
		if err != nil {
			t.Fatal(err)
		}
		if mine, err := g.TryAcquire(t.Context(), 7, newKey(t, "1")); mine || err == nil || l.asked != 0 {
			t.Errorf("%s: %v, %v", name, mine, err)
		}
	}
}
