package server_test

import (
	"strings"
	"testing"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/server"
	"github.com/paidonce/paidonce/store"
)

// The clock of these lives starts at 2026-12-01 08:00:00 UTC.
const eight = 1_796_112_000_000_000

func delivery(second int64, instance string, verdict gate.Verdict) store.Delivery {
	return store.Delivery{ReceivedUs: eight + second*1_000_000, Source: "notify", Instance: instance,
		Verdict: string(verdict), Digest: "01aaaaaaaaaaaaaaaa"}
}

func booking(id string) ledger.Recorded {
	return ledger.Recorded{ID: id, BookedUs: eight + 3_000_000,
		Booking: ledger.Booking{Tenant: 1, Chain: "v1", Entries: []ledger.Entry{{Step: "capture"}}}}
}

// An instance died after the claim; a repeat came while its lease ran; another instance took over and booked; later
// repeats were repeats.
func TestTheLifeOfAnEventThatTwoInstancesWorkedOn(t *testing.T) {
	got := server.Explain(store.Timeline{
		Claim: gate.Row{Tenant: 1, Key: "WECHAT:42:PAYMENT_RECEIVED", Digest: "01aaaaaaaaaaaaaaaa", State: gate.Finished,
			Fence: 2, Instance: "till-b", Outcome: "booked", CreatedUs: eight, HandledUs: eight + 3_000_000},
		Deliveries: []store.Delivery{delivery(0, "till-a", gate.First), delivery(1, "till-c", gate.Busy),
			delivery(2, "till-b", gate.Resume), delivery(9, "till-a", gate.Done)},
		Steps:    []store.Step{{Fence: 2, What: "taken", AtUs: eight + 2_000_000, Instance: "till-b"}},
		Bookings: []ledger.Recorded{booking("01k")},
	})
	want := `The claim row (tenant 1, WECHAT:42:PAYMENT_RECEIVED) decides: it is unique, and it was finished (booked) ` +
		`at 2026-12-01 08:00:03.000000 UTC in attempt 2 by instance till-b under fence 2.
2026-12-01 08:00:00.000000 UTC: a delivery by notify reached instance till-a. It was the first: it inserted the row, ` +
		`and the row keeps its event.
2026-12-01 08:00:01.000000 UTC: a delivery by notify reached instance till-c. It was a repeat: the row was there and ` +
		`another holder's lease on it was running, so it was acknowledged and left to that holder.
2026-12-01 08:00:02.000000 UTC: a delivery by notify reached instance till-b. It was a repeat: the row was there, ` +
		`unfinished and held by nobody, so it drove the stored event on.
2026-12-01 08:00:09.000000 UTC: a delivery by notify reached instance till-a. It was a repeat: the row was there and ` +
		`finished, so it was acknowledged and booked nothing.
2026-12-01 08:00:02.000000 UTC: instance till-b took the unfinished claim under fence 2.
The journal has one booking of it, 01k, written at 2026-12-01 08:00:03.000000 UTC with 1 entry by chain v1; the ` +
		`journal's own row is unique for this event, so there cannot be a second one.`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatElseAnExplanationSays(t *testing.T) {
	claim := gate.Row{Tenant: 1, Key: "SQB:1:PAYMENT_RECEIVED", Digest: "01aaaaaaaaaaaaaaaa", Instance: "till-a",
		CreatedUs: eight, DueUs: eight + 5_000_000, Fence: 1}
	with := func(change func(*store.Timeline)) store.Timeline {
		line := store.Timeline{Claim: claim}
		change(&line)
		return line
	}
	other := delivery(4, "till-b", gate.Mismatch)
	other.Digest = "01bbbbbbbbbbbbbbbb"
	for name, test := range map[string]struct {
		line store.Timeline
		want string
	}{
		"parked": {with(func(l *store.Timeline) {
			l.Claim.Reason, l.Claim.Detail = "waiting_order", "no order 7 yet"
		}), "after attempt 1 on instance till-a it is held for waiting_order (no order 7 yet). Its next try is due at " +
			"2026-12-01 08:00:05.000000 UTC."},
		"in work": {with(func(*store.Timeline) {}), "attempt 1, taken last by instance till-a under fence 1, did not report"},
		"host":    {with(func(l *store.Timeline) { l.Claim.State = gate.Host }), "by a host's own service"},
		"inherited": {with(func(l *store.Timeline) { l.Claim.State = gate.Inherited }),
			"adopted from an older table"},
		"no booking": {with(func(*store.Timeline) {}), "The journal has no booking of it."},
		"two bookings": {with(func(l *store.Timeline) {
			l.Bookings = []ledger.Recorded{booking("a"), booking("b")}
		}), "2 bookings of it, which must never be"},
		"mismatch": {with(func(l *store.Timeline) { l.Deliveries = []store.Delivery{other} }),
			"something else under the same key (digest 01bbbbbbbbbb, the claim's is 01aaaaaaaaaa)"},
		"mismatch that was right": {with(func(l *store.Timeline) {
			l.Deliveries = []store.Delivery{delivery(4, "till-b", gate.Mismatch)}
		}), "and has taken its place since"},
		"parking": {with(func(l *store.Timeline) {
			l.Steps = []store.Step{{Fence: 1, What: "parked", Instance: "till-a", Detail: "failed: no disk"}}
		}), "instance till-a could not book it under fence 1 and parked it: failed: no disk."},
		"replaced": {with(func(l *store.Timeline) { l.Steps = []store.Step{{What: "replaced"}} }),
			"put a later authentic report in the place of the first"},
		"many deliveries": {with(func(l *store.Timeline) { l.Deliveries = make([]store.Delivery, 25) }),
			"5 more deliveries are kept."},
	} {
		if got := server.Explain(test.line); !strings.Contains(got, test.want) {
			t.Errorf("%s: the explanation lacks %q:\n%s", name, test.want, got)
		}
	}
}
