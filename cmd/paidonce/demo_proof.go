package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/paidonce/paidonce/sandbox"
)

// proof is what a demonstration shows. Every number is read from the database by plain SQL or from the sandbox's own
// record, never from a counter of the code that is shown.
type proof struct {
	Engine        string `json:"engine"`
	Seed          uint64 `json:"seed"`
	Orders        int64  `json:"orders"`
	Events        int    `json:"events"`         // payments and refunds that the channels executed
	Deliveries    int    `json:"deliveries"`     // genuine ones, answered or not
	Booked        int64  `json:"booked"`         // events with a booking
	Duplicates    int    `json:"duplicates"`     // acknowledged deliveries beyond the first of each event
	Redriven      int64  `json:"redriven"`       // booked by another holder than the first
	Parked        int64  `json:"parked"`         // held on purpose: their order never comes
	ForgedRefused int    `json:"forged_refused"` // forged deliveries that were answered with a refusal or not at all
	Doubled       int64  `json:"doubled"`
	Lost          int64  `json:"lost"`
	DebitMinor    int64  `json:"debit_minor"`
	CreditMinor   int64  `json:"credit_minor"`

	Kills          int   `json:"kills"`            // SIGKILLs of serve in mid-work
	WaitedForOrder int64 `json:"waited_for_order"` // callbacks before their order
	WaitedForPay   int64 `json:"waited_for_payment"`
	WrongAmounts   int64 `json:"wrong_amounts"` // wrong first, replaced by the true report
	FailedBookings int64 `json:"failed_bookings"`
	DroppedAnswers int   `json:"dropped_answers"`
	FoundByAsking  int64 `json:"found_by_asking"` // payments of which no callback ever told
	ForgedTaken    int   `json:"forged_acknowledged"`
	ExpectParked   int64 `json:"expected_parked"`
}

// failures lists everything that a demonstration must show and this one does not.
func (p proof) failures() []error {
	var failures []error
	must := func(ok bool, text string) {
		if !ok {
			failures = append(failures, errors.New(text))
		}
	}
	must(p.Doubled == 0, fmt.Sprintf("%d events are doubled", p.Doubled))
	must(p.Lost == 0, fmt.Sprintf("%d events are lost", p.Lost))
	must(p.DebitMinor == p.CreditMinor && p.DebitMinor > 0, "debits and credits differ")
	must(p.Parked == p.ExpectParked, fmt.Sprintf("%d events are unfinished instead of %d", p.Parked, p.ExpectParked))
	must(p.ForgedTaken == 0, fmt.Sprintf("%d forged deliveries were acknowledged", p.ForgedTaken))
	must(p.Deliveries >= 4*int(p.Orders), "fewer than four deliveries per order")
	must(p.Kills >= demoKills, fmt.Sprintf("serve was killed only %d times", p.Kills))
	for what, happened := range map[string]bool{"repeat": p.Duplicates > 0, "re-driven event": p.Redriven > 0,
		"forged delivery": p.ForgedRefused > 0, "callback before its order": p.WaitedForOrder > 0,
		"refund before its payment": p.WaitedForPay > 0, "wrong amount": p.WrongAmounts > 0,
		"failed booking": p.FailedBookings > 0, "dropped answer": p.DroppedAnswers > 0,
		"payment found by asking": p.FoundByAsking > 0} {
		must(happened, "the run shows nothing about a "+what+": none happened")
	}
	return failures
}

// prove waits until the house has finished by itself, then reads database and record.
func (d *demo) prove(ctx context.Context) (proof, error) {
	record := d.box.Record()
	p := proof{Engine: d.store.Engine(), Seed: d.seed, Events: len(record.Payments) + len(record.Refunds),
		Deliveries: record.Counts.Sent, Kills: d.child.kills(), DroppedAnswers: record.Counts.DroppedAnswers,
		ForgedRefused: record.Counts.ForgedSent - record.Counts.ForgedAcknowledged,
		ForgedTaken:   record.Counts.ForgedAcknowledged, ExpectParked: d.expectParked(record)}
	if err := d.settle(ctx, p.ExpectParked); err != nil {
		return proof{}, err
	}
	orders := map[string]bool{}
	for _, pay := range record.Payments {
		orders[pay.OrderNo] = true
	}
	p.Orders = int64(len(orders))
	for query, target := range map[string]*int64{
		"SELECT COUNT(*) FROM claim_work":                                                           &p.Parked,
		"SELECT COUNT(*) FROM channel_idempotent WHERE state = 1 AND fence > 1":                     &p.Redriven,
		"SELECT COALESCE(SUM(amount_minor), 0) FROM posting WHERE side = 'D'":                       &p.DebitMinor,
		"SELECT COALESCE(SUM(amount_minor), 0) FROM posting WHERE side = 'C'":                       &p.CreditMinor,
		"SELECT COUNT(*) FROM claim_history WHERE what = 'replaced'":                                &p.WrongAmounts,
		"SELECT COUNT(*) FROM channel_delivery WHERE source = 'query' AND verdict = 'first'":        &p.FoundByAsking,
		"SELECT COUNT(*) FROM claim_history WHERE what = 'parked' AND detail LIKE 'failed%'":        &p.FailedBookings,
		"SELECT COUNT(*) FROM claim_history WHERE what = 'parked' AND detail LIKE 'waiting_order%'": &p.WaitedForOrder,
		"SELECT COUNT(*) FROM claim_history WHERE what = 'parked' AND detail LIKE 'waiting_pay%'":   &p.WaitedForPay,
	} {
		n, err := d.number(ctx, query)
		if err != nil {
			return proof{}, err
		}
		*target = n
	}
	return p, d.judge(ctx, record, &p)
}

// judge compares every fact of the record with its bookings, and looks for bookings without a fact.
func (d *demo) judge(ctx context.Context, record sandbox.Record, p *proof) error {
	facts := map[string]int64{} // tenant and cause → amount
	for _, pay := range record.Payments {
		code := strings.ToUpper(strings.TrimSuffix(pay.Account.Channel, "-v2"))
		facts[fmt.Sprintf("%d %s:%s:PAYMENT_RECEIVED", pay.Account.Tenant, code, pay.TradeNo)] = pay.Amount.Minor
		p.Duplicates += max(pay.Tally.Acknowledged-1, 0)
		if d.never[pay.TradeNo] {
			facts[fmt.Sprintf("%d %s:%s:PAYMENT_RECEIVED", pay.Account.Tenant, code, pay.TradeNo)] = -1
		}
	}
	for _, r := range record.Refunds {
		minor := r.Amount.Minor
		if d.never[r.Payment.TradeNo] {
			minor = -1
		}
		facts[fmt.Sprintf("%d WECHAT:%s:REFUND_SUCCEEDED", r.Payment.Account.Tenant, r.RefundID)] = minor
		p.Duplicates += max(r.Tally.Acknowledged-1, 0)
	}
	booked, err := d.bookings(ctx)
	if err != nil {
		return err
	}
	for cause, minor := range facts {
		amounts := booked[cause]
		switch {
		case minor < 0 && len(amounts) == 0: // its order never came, so it is held and not booked
			held, err := d.held(ctx, cause)
			if err != nil {
				return err
			}
			p.Lost += 1 - held
		case minor < 0, len(amounts) > 1:
			p.Doubled++
		case len(amounts) == 0 || amounts[0] != minor:
			p.Lost++
		default:
			p.Booked++
		}
		delete(booked, cause)
	}
	p.Doubled += int64(len(booked)) // money that no channel knows of
	return nil
}

// bookings lists, per tenant and cause, the captured or refunded amount of each booking: its first entry's debits and
// whatever else moved the clearing account for the same reason.
func (d *demo) bookings(ctx context.Context) (map[string][]int64, error) {
	rows, err := d.store.Pools().Read.QueryContext(ctx, `SELECT b.tenant_id, b.cause, COALESCE((SELECT SUM(p.amount_minor)
 FROM posting p JOIN journal_entry e ON e.tenant_id = p.tenant_id AND e.booking_id = p.booking_id
 AND e.entry_no = p.entry_no WHERE p.tenant_id = b.tenant_id AND p.booking_id = b.booking_id AND p.side = 'D'
 AND e.step IN ('capture', 'refund_capture')), 0) FROM booking b`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	list := map[string][]int64{}
	for rows.Next() {
		var tenant, minor int64
		var cause string
		if err := rows.Scan(&tenant, &cause, &minor); err != nil {
			return nil, err
		}
		key := fmt.Sprintf("%d %s", tenant, cause)
		list[key] = append(list[key], minor)
	}
	return list, rows.Err()
}

// held reports 1 if the claim of a cause is there and unfinished.
func (d *demo) held(ctx context.Context, cause string) (int64, error) {
	tenant, key, _ := strings.Cut(cause, " ")
	return d.number(ctx, "SELECT COUNT(*) FROM channel_idempotent c JOIN claim_work w ON w.tenant_id = c.tenant_id "+
		"AND w.idempotent_key = c.idempotent_key WHERE c.state = 0 AND c.tenant_id = "+tenant+
		" AND c.idempotent_key = '"+key+"'") // keys have no quotes: gate.NewKey escapes them
}

func (d *demo) expectParked(record sandbox.Record) int64 {
	var parked int64
	for _, p := range record.Payments {
		if d.never[p.TradeNo] {
			parked++
		}
	}
	for _, r := range record.Refunds {
		if d.never[r.Payment.TradeNo] {
			parked++
		}
	}
	return parked
}

// settle waits until nothing is unfinished but what waits for an order that never comes, and every order is paid: those
// of which no callback told are found by asking.
func (d *demo) settle(ctx context.Context, parked int64) error {
	d.say("the channels have nothing more to send; waiting until the house has finished by itself\n")
	for range 900 {
		held, err := d.number(ctx, "SELECT COUNT(*) FROM claim_work")
		if err != nil {
			return err
		}
		open, err := d.number(ctx, "SELECT COUNT(*) FROM channel_order WHERE state = 'open'")
		if err != nil {
			return err
		}
		if held <= parked && open == 0 {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil // the proof will say what is left
}

func (d *demo) number(ctx context.Context, query string) (int64, error) {
	var n int64
	err := d.store.Pools().Read.QueryRowContext(ctx, query).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("demo: read the database: %w", err)
	}
	return n, nil
}

func (d *demo) print(p proof) error {
	if d.json {
		return d.app.printJSON(p)
	}
	d.say("\n%d payments and refunds happened at the channels, told in %d deliveries, %d of them repeats.\n"+
		"%d forged deliveries were refused, %d acknowledged.\n"+
		"serve was killed %d times; %d bookings failed after their claim; %d answers were dropped.\n"+
		"%d callbacks came before their order, %d refunds before their payment, %d wrong amounts before the true one.\n"+
		"%d payments were never told, and found by asking.\n\n"+
		"booked exactly once  %d (%d of them driven on after a failure)\n"+
		"held on purpose      %d (their order never comes)\n"+
		"lost                 %d\n"+
		"doubled              %d\n"+
		"debits = credits     %d = %d fen\n",
		p.Events, p.Deliveries, p.Duplicates, p.ForgedRefused, p.ForgedTaken, p.Kills, p.FailedBookings, p.DroppedAnswers,
		p.WaitedForOrder, p.WaitedForPay, p.WrongAmounts, p.FoundByAsking, p.Booked, p.Redriven, p.Parked, p.Lost, p.Doubled,
		p.DebitMinor, p.CreditMinor)
	return nil
}
