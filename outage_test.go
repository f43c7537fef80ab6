package paidonce_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	tcp "net"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/internal/testdb"
	"github.com/paidonce/paidonce/store"
)

// wire lies between a house and its database. It breaks, with every connection, when the house has said so many things.
type wire struct {
	to       string
	listener tcp.Listener

	mu    sync.Mutex
	left  int // what the house may say before the wire breaks; negative: any number
	broke bool
	conns map[tcp.Conn]bool
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	listener, err := tcp.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{to: to, listener: listener, left: -1, conns: map[tcp.Conn]bool{}}
	t.Cleanup(func() { _ = listener.Close(); w.breakNow() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go w.carry(near)
		}
	}()
	return w
}

func (w *wire) carry(near tcp.Conn) {
	far, err := tcp.Dial("tcp", w.to)
	if err != nil {
		_ = near.Close()
		return
	}
	w.mu.Lock()
	w.conns[near], w.conns[far] = true, true
	w.mu.Unlock()
	go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
	defer func() { _ = far.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := near.Read(buffer)
		if err != nil || w.counts() {
			_ = near.Close()
			return
		}
		if _, err := far.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// counts counts one thing that the house says, and reports whether the wire breaks before it arrives.
func (w *wire) counts() bool {
	w.mu.Lock()
	breaks := w.left == 0
	if w.left > 0 {
		w.left--
	}
	w.mu.Unlock()
	if breaks {
		w.breakNow()
	}
	return breaks
}

func (w *wire) breakNow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broke = true
	for conn := range w.conns {
		_ = conn.Close()
		delete(w.conns, conn)
	}
}

// breakAfter mends the wire and lets it break again after n things said; -1: never. It returns whether it had broken.
func (w *wire) breakAfter(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	broke := w.broke
	w.left, w.broke = n, false
	return broke
}

var address = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)

// Wherever the wire to the database breaks while an event is taken in, it is acknowledged only if it is held, the next
// delivery is taken in, and it is booked once. The outage is never the event's fault.
func TestTheWireToTheDatabaseMayBreakAtEveryPoint(t *testing.T) {
	eachEngineAt(t, func(t *testing.T, e testdb.Engine, direct *store.Store) {
		if e.Name == "sqlite" {
			return // there is no wire; see the test of a locked file
		}
		w := newWire(t, address.FindString(e.DSN))
		s, err := openEngine(e.Name, address.ReplaceAllString(e.DSN, w.listener.Addr().String()), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		h, calm := newHouse(t, s, quick), newHouse(t, s, patient)
		refused, said := 0, 0
		for broke := true; broke; said++ {
			no := fmt.Sprint(said)
			mustOrder(t, calm, "A"+no, 500)
			w.breakAfter(said)
			_, err := h.Accept(t.Context(), payment(no, "A"+no, 500), gate.Delivery{Source: "notify"})
			broke = w.breakAfter(-1)
			_, lookup := direct.Lookup(t.Context(), 1, gate.Key("WECHAT:"+no+":PAYMENT_RECEIVED"))
			if err == nil && lookup != nil {
				t.Fatalf("broken after %d: acknowledged and not held: %v", said, lookup)
			}
			if err != nil {
				refused++
				_, err = calm.Accept(t.Context(), payment(no, "A"+no, 500), gate.Delivery{Source: "notify"})
				if err != nil {
					t.Fatalf("broken after %d, mended: %v", said, err)
				}
			}
		}
		settled(t, direct, said)
		if said < 15 {
			t.Errorf("the conversation had only %d parts, %d times the delivery was refused", said, refused)
		}
		t.Logf("%d parts, %d refusals", said, refused)
	})
}

// While another process holds the file of a SQLite database, nothing is acknowledged, and nothing is lost.
func TestALockedFileIsAnOutage(t *testing.T) {
	eachEngineAt(t, func(t *testing.T, e testdb.Engine, s *store.Store) {
		if e.Name != "sqlite" {
			return // there is no file to lock; see the test of the wire
		}
		locker, err := sql.Open("sqlite", e.DSN)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = locker.Close() }()
		locker.SetMaxOpenConns(1)
		h := newHouse(t, s, quick)
		const events = 3
		for i := range events {
			no := fmt.Sprint(i)
			mustOrder(t, h, "A"+no, 500)
			if _, err := locker.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Accept(t.Context(), payment(no, "A"+no, 500), gate.Delivery{Source: "notify"}); err == nil {
				t.Fatal("acknowledged while nothing can be written")
			}
			if _, err := locker.ExecContext(t.Context(), "COMMIT"); err != nil {
				t.Fatal(err)
			}
			mustAccept(t, newHouse(t, s, patient), payment(no, "A"+no, 500), paidonce.Booked)
		}
		settled(t, s, events)
	})
}

// settled drives on what is left and checks that every one of n events of 5.00 is booked once, and none was shelved.
func settled(t *testing.T, s *store.Store, n int) {
	t.Helper()
	h := newHouse(t, s, patient)
	for end := time.Now().Add(60 * time.Second); unfinished(t, s, 1) > 0; time.Sleep(50 * time.Millisecond) {
		letLeasesRunOut(t, s)
		if _, err := h.Redrive(t.Context(), 100); err != nil || time.Now().After(end) {
			t.Fatalf("%d events are left, %v", unfinished(t, s, 1), err)
		}
	}
	for query, want := range map[string]int{
		"SELECT COUNT(*) FROM claim_history WHERE what = 'parked' AND detail LIKE 'shelved%'": 0,
		"SELECT COUNT(*) FROM booking": n,
	} {
		var got int
		if err := s.Pools().Read.QueryRowContext(context.Background(), query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", query, got, err, want)
		}
	}
	if got := net(t, s); got[clearing] != int64(n)*500 {
		t.Errorf("booked %v", got)
	}
}
