package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/internal/testdb"
	"github.com/paidonce/paidonce/migrate"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

// databaseURL is an engine's fresh database in the form that --database takes.
func databaseURL(t *testing.T, e testdb.Engine) string {
	t.Helper()
	switch e.Name {
	case "sqlite":
		return "sqlite:" + e.DSN
	case "postgres":
		return e.DSN
	}
	config, err := mysql.ParseDSN(e.DSN)
	if err != nil {
		t.Fatal(err)
	}
	user := config.User
	if config.Passwd != "" {
		user += ":" + config.Passwd
	}
	if config.Net == "unix" {
		return "mysql://" + user + "@localhost/" + config.DBName + "?socket=" + config.Addr
	}
	return "mysql://" + user + "@" + config.Addr + "/" + config.DBName
}

// The demonstration judges itself: it ends with 0 only if nothing is lost or doubled and every fault happened.
func TestDemoProvesItselfOnEveryEngine(t *testing.T) {
	// The program as users have it: under the race detector its child would be down more often than up.
	program := filepath.Join(t.TempDir(), "paidonce")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		location := databaseURL(t, e)
		var complaints bytes.Buffer
		run := exec.Command(program, "demo", "--once", "--json", "--database", location)
		run.Dir, run.Stderr = t.TempDir(), &complaints
		out, err := run.Output()
		if err != nil {
			t.Fatalf("%v\n%s%s", err, out, complaints.String())
		}
		var shown proof
		if err := json.Unmarshal(out, &shown); err != nil {
			t.Fatal(err)
		}
		if shown.Orders < 300 || shown.Booked+shown.Parked != int64(shown.Events) || shown.Doubled+shown.Lost != 0 {
			t.Fatalf("%+v", shown)
		}
		if f := newPlace(t).run(t, "demo", "--once", "--json", "--database", location); f.code != exitUsage {
			t.Fatalf("a database that holds claims is no place for forged money, but: %d %s", f.code, f.errors)
		}
	})
}

// A proof that cannot fail proves nothing: each number that is off must be named.
func TestAProofThatShowsLessFails(t *testing.T) {
	good := proof{Orders: 320, Events: 330, Deliveries: 2000, Booked: 320, Duplicates: 9, Redriven: 9, Parked: 10,
		ForgedRefused: 9, DebitMinor: 5, CreditMinor: 5, Kills: demoKills, WaitedForOrder: 1, WaitedForPay: 1,
		WrongAmounts: 1, FailedBookings: 1, DroppedAnswers: 1, FoundByAsking: 1, ExpectParked: 10}
	if failures := good.failures(); len(failures) != 0 {
		t.Fatal(failures)
	}
	for name, spoil := range map[string]func(*proof){
		"doubled":             func(p *proof) { p.Doubled = 1 },
		"lost":                func(p *proof) { p.Lost = 1 },
		"unbalanced":          func(p *proof) { p.DebitMinor++ },
		"unfinished":          func(p *proof) { p.Parked++ },
		"forged":              func(p *proof) { p.ForgedTaken = 1 },
		"few deliveries":      func(p *proof) { p.Deliveries = 1279 },
		"few kills":           func(p *proof) { p.Kills-- },
		"no repeat":           func(p *proof) { p.Duplicates = 0 },
		"no re-drive":         func(p *proof) { p.Redriven = 0 },
		"no forgery":          func(p *proof) { p.ForgedRefused = 0 },
		"no early callback":   func(p *proof) { p.WaitedForOrder = 0 },
		"no early refund":     func(p *proof) { p.WaitedForPay = 0 },
		"no wrong amount":     func(p *proof) { p.WrongAmounts = 0 },
		"no failed booking":   func(p *proof) { p.FailedBookings = 0 },
		"no dropped answer":   func(p *proof) { p.DroppedAnswers = 0 },
		"nothing found":       func(p *proof) { p.FoundByAsking = 0 },
		"nothing booked ever": func(p *proof) { p.DebitMinor, p.CreditMinor = 0, 0 },
	} {
		spoiled := good
		spoil(&spoiled)
		if len(spoiled.failures()) != 1 {
			t.Errorf("%s: %v", name, spoiled.failures())
		}
	}
}

// A proof that fails says what the database still holds of an order that is there; what waits for an order that never
// comes is no part of the failure.
func TestAFailedProofNamesWhatIsUnfinished(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		s, err := openStore(secret(databaseURL(t, e)), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if _, err := migrate.Up(t.Context(), s.Engine(), s.Pools().Main, s.Schema()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CreateOrder(t.Context(), order.Order{Tenant: 1, No: "A1", Store: "shop",
			Amount: money.New(1, money.CNY)}); err != nil {
			t.Fatal(err)
		}
		g, err := gate.New(gate.Options{Storage: s, Instance: "test", Lease: time.Minute, Tries: 1})
		if err != nil {
			t.Fatal(err)
		}
		for number, orderNo := range map[string]string{"1": "A1", "2": "never"} {
			key, err := gate.NewKey("SQB", "PAYMENT_RECEIVED", number)
			if err != nil {
				t.Fatal(err)
			}
			ticket, err := g.Acquire(t.Context(), gate.Claim{Tenant: 1, Key: key, Digest: "d", Event: []byte("e"),
				OrderNo: orderNo, Raw: gate.Delivery{Source: "notify"}})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Do(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				return g.Park(ctx, tx, ticket, gate.Parking{Reason: "failed", Detail: "why"})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		named := (&demo{app: &app{Clock: time.Now}, store: s}).unfinished(t.Context())
		const want = `open: tenant 1 SQB:1:PAYMENT_RECEIVED "failed" "why", attempt 1, next try 2`
		if len(named) != 2 || !strings.HasPrefix(named[0].Error(), want) || !strings.HasPrefix(named[1].Error(), "now 2") {
			t.Errorf("%v", named)
		}
	})
}
