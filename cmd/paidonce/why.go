package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/server"
	"github.com/paidonce/paidonce/store"
)

func whyCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "why KEY", Short: "Tell the life of one event: who booked it, and why a repeat was one",
		Args: cobra.ExactArgs(1), Example: "  paidonce why SQB:7894259244067349:PAYMENT_RECEIVED --tenant 1"}
	tenant, output := tenantFlag(c), outputFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		key, err := gate.ParseKey(args[0])
		if err != nil {
			return &usageError{err}
		}
		return a.ofTenant(c, *tenant, func(s *store.Store) error {
			line, err := s.Timeline(c.Context(), *tenant, key)
			if errors.Is(err, gate.ErrNoClaim) {
				return fmt.Errorf("tenant %d never claimed %s: %w", *tenant, key, err)
			}
			if err != nil {
				return err
			}
			if *output == formatJSON {
				return a.printJSON(lifeOf(line))
			}
			return a.printLife(line)
		})
	}
	return c
}

// life is a timeline as it is printed for machines.
type life struct {
	Key         gate.Key          `json:"key"`
	State       string            `json:"state"`
	Outcome     string            `json:"outcome,omitempty"`
	Reason      string            `json:"reason,omitempty"`
	Instance    string            `json:"instance"`
	Fence       int64             `json:"fence"`
	CreatedUs   int64             `json:"created_us"`
	HandledUs   int64             `json:"handled_us,omitempty"`
	Deliveries  []store.Delivery  `json:"deliveries"`
	Steps       []store.Step      `json:"steps"`
	Actions     []store.Action    `json:"actions"`
	Bookings    []ledger.Recorded `json:"bookings"`
	Explanation string            `json:"explanation"`
}

func lifeOf(line store.Timeline) life {
	c := line.Claim
	return life{Key: c.Key, State: c.State.String(), Outcome: c.Outcome, Reason: c.Reason, Instance: c.Instance,
		Fence: c.Fence, CreatedUs: c.CreatedUs, HandledUs: c.HandledUs, Deliveries: list(line.Deliveries),
		Steps: list(line.Steps), Actions: list(line.Actions), Bookings: list(line.Bookings),
		Explanation: server.Explain(line)}
}

// moment is one line of a timeline.
type moment struct {
	us                     int64
	what, instance, detail string
}

func (a *app) printLife(line store.Timeline) error {
	var moments []moment
	for _, d := range line.Deliveries {
		moments = append(moments, moment{d.ReceivedUs, "delivery by " + d.Source + ": " + d.Verdict, d.Instance, ""})
	}
	for _, s := range line.Steps {
		moments = append(moments, moment{s.AtUs, s.What, s.Instance, s.Detail})
	}
	for _, act := range line.Actions {
		moments = append(moments, moment{act.AtUs, act.What + " by " + act.Actor, "", act.Why})
	}
	for _, b := range line.Bookings {
		moments = append(moments, moment{b.BookedUs, "booking", "", fmt.Sprintf("%s, chain %s, %d entries", b.ID, b.Chain,
			len(b.Entries))})
	}
	if c := line.Claim; c.HandledUs != 0 {
		moments = append(moments, moment{c.HandledUs, "finished: " + c.Outcome, c.Instance,
			fmt.Sprintf("fence %d", c.Fence)})
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.us, b.us) })
	rows := make([]table.Row, len(moments))
	for i, m := range moments {
		rows[i] = table.Row{time.UnixMicro(m.us).UTC().Format("2006-01-02 15:04:05.000000Z"), m.what, m.instance, m.detail}
	}
	if err := a.printTable(table.Row{"time", "what", "instance", "detail"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "\n%s\n", server.Explain(line))
	return err
}
