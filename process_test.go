package paidonce_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/internal/testdb"
	"github.com/paidonce/paidonce/store"
	"github.com/paidonce/paidonce/store/mysql"
	"github.com/paidonce/paidonce/store/postgres"
	"github.com/paidonce/paidonce/store/sqlite"
)

// These tests need houses in operating-system processes of their own: this test binary, which becomes one when the
// variable below is set. It takes one event in and ends, unless it dies or is stopped at the point that it is told.
const beAHouse = "PAIDONCE_TEST_BE_A_HOUSE"

func TestMain(m *testing.M) {
	if os.Getenv(beAHouse) != "" {
		if err := aHouse(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func openEngine(name, dsn string, clock func() time.Time) (*store.Store, error) {
	return map[string]func(string, func() time.Time) (*store.Store, error){
		"sqlite": sqlite.Open, "mariadb": mysql.Open, "postgres": postgres.Open}[name](dsn, clock)
}

// quick are options with which calls give up early.
func quick(o *paidonce.Options) {
	o.Budget, o.Lease, o.Poll = 400*time.Millisecond, 800*time.Millisecond, 20*time.Millisecond
}

// patient are options with which nothing is given up because the machine is busy.
func patient(o *paidonce.Options) { o.Budget, o.Lease = 30*time.Second, time.Minute }

// letLeasesRunOut is the minute that a dead or stalled holder's lease would take.
func letLeasesRunOut(t *testing.T, s *store.Store) {
	t.Helper()
	for _, statement := range []string{"UPDATE channel_idempotent SET lease_until_us = 0 WHERE state = 0",
		"UPDATE claim_work SET due_us = since_us"} {
		if _, err := s.Pools().Main.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// aHouse is what the other process does: "engine|dsn|act|point|trade number|clock offset".
func aHouse() error {
	order := strings.Split(os.Getenv(beAHouse), "|")
	offset, err := time.ParseDuration(order[5])
	if err != nil {
		return err
	}
	s, err := openEngine(order[0], order[1], func() time.Time { return time.Now().Add(offset) })
	if err != nil {
		return err
	}
	signal := map[string]syscall.Signal{"kill": syscall.SIGKILL, "stop": syscall.SIGSTOP}[order[2]]
	opt := paidonce.Options{Store: s, Instance: "other", Hook: func(point string) error {
		if point != order[3] || signal == 0 {
			return nil
		}
		err := syscall.Kill(os.Getpid(), signal)
		time.Sleep(200 * time.Millisecond) // a signal to oneself may come after the call returns
		return err
	}}
	patient(&opt)
	h, err := paidonce.New(opt)
	if err != nil {
		return err
	}
	result, err := h.Accept(context.Background(), payment(order[4], "A"+order[4], 500), gate.Delivery{Source: "notify"})
	fmt.Println(result.Status, err)
	return s.Close()
}

func startHouse(t *testing.T, e testdb.Engine, act, point, tradeNo string, offset time.Duration) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%s|%s|%s|%s", beAHouse, e.Name, e.DSN, act, point, tradeNo, offset))
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	return c
}

var points = []string{paidonce.PointBeforeClaim, paidonce.PointClaimed, paidonce.PointInBooking, paidonce.PointBooked,
	paidonce.PointBeforePark, paidonce.PointParked}

// waitsForOrder tells whether an event can only pass the point if it cannot be booked at once.
func waitsForOrder(point string) bool {
	return point == paidonce.PointBeforePark || point == paidonce.PointParked
}

// onceBooked drives on until the payment is booked, and checks that it is booked once.
func onceBooked(t *testing.T, s *store.Store, h *paidonce.House, tradeNo string, want map[string]int64) {
	t.Helper()
	key := gate.Key("WECHAT:" + tradeNo + ":PAYMENT_RECEIVED")
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		letLeasesRunOut(t, s)
		if _, err := h.Redrive(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if r, err := s.Lookup(t.Context(), 1, key); err == nil && r.State == gate.Finished {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s is not finished: %+v", key, row(t, s, tradeNo))
		}
	}
	line, err := s.Timeline(t.Context(), 1, key)
	if err != nil || len(line.Bookings) != 1 {
		t.Fatalf("%s has %d bookings, %v", key, len(line.Bookings), err)
	}
	if got := net(t, s); got[clearing] != want[clearing] || got[merchant] != want[merchant] {
		t.Fatalf("after %s: %v", tradeNo, got)
	}
}

// A process that is killed at any point between the claim and its answer leaves an event that others book, once, with
// no further word from the channel.
func TestAKilledProcessLeavesNothingUndone(t *testing.T) {
	eachEngineAt(t, func(t *testing.T, e testdb.Engine, s *store.Store) {
		h := newHouse(t, s, patient)
		var total int64
		for i, point := range points {
			no := fmt.Sprint("k", i)
			if !waitsForOrder(point) {
				mustOrder(t, h, "A"+no, 500)
			}
			c := startHouse(t, e, "kill", point, no, 0)
			if err := c.Wait(); err == nil || c.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("at %s the process was not killed: %v", point, err)
			}
			mustOrder(t, h, "A"+no, 500)
			if point == paidonce.PointBeforeClaim { // never acknowledged, so the channel sends again
				mustAccept(t, h, payment(no, "A"+no, 500), paidonce.Booked)
			}
			total += 500
			onceBooked(t, s, h, no, map[string]int64{clearing: total, merchant: -total})
			mustAccept(t, h, payment(no, "A"+no, 500), paidonce.Repeat)
		}
	})
}

// A process that stands still while another takes over finds its fence old when it goes on, wherever it stood.
func TestAStoppedProcessThatGoesOnBooksNothingTwice(t *testing.T) {
	eachEngineAt(t, func(t *testing.T, e testdb.Engine, s *store.Store) {
		h := newHouse(t, s, patient)
		var total int64
		for i, point := range points {
			no := fmt.Sprint("s", i)
			if !waitsForOrder(point) {
				mustOrder(t, h, "A"+no, 500)
			}
			c := startHouse(t, e, "stop", point, no, 0)
			stopped(t, c)
			total += 500
			if point != paidonce.PointInBooking { // there it stands still with its locks, and nobody can take over
				mustOrder(t, h, "A"+no, 500)
				if point == paidonce.PointBeforeClaim {
					mustAccept(t, h, payment(no, "A"+no, 500), paidonce.Booked)
				}
				onceBooked(t, s, h, no, map[string]int64{clearing: total, merchant: -total})
			}
			if err := c.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if err := c.Wait(); err != nil {
				t.Fatalf("stopped at %s: %v", point, err)
			}
			onceBooked(t, s, h, no, map[string]int64{clearing: total, merchant: -total})
		}
	})
}

// stopped waits until the operating system says that the process stands still.
func stopped(t *testing.T, c *exec.Cmd) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		if err == nil && strings.Contains(string(status), ") T ") {
			return
		}
	}
	t.Fatal("the process did not stop")
}

// Three hours of difference between two instances change nothing: leases and due times are the database's.
func TestClocksOfInstancesDecideNothing(t *testing.T) {
	eachEngineAt(t, func(t *testing.T, e testdb.Engine, s *store.Store) {
		if e.Name == "sqlite" {
			return // one file, one host, one clock
		}
		h := newHouse(t, s, patient)
		var total int64
		for i, offset := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
			for j, point := range []string{paidonce.PointClaimed, paidonce.PointBooked, paidonce.PointParked} {
				no := fmt.Sprintf("c%d-%d", i, j)
				if !waitsForOrder(point) {
					mustOrder(t, h, "A"+no, 500)
				}
				if err := startHouse(t, e, "kill", point, no, offset).Wait(); err == nil {
					t.Fatal("not killed")
				}
				mustOrder(t, h, "A"+no, 500)
				total += 500
				onceBooked(t, s, h, no, map[string]int64{clearing: total, merchant: -total})
			}
		}
	})
}
