package main

import (
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/store"
)

func orphansCommand(a *app) *cobra.Command {
	c := group("orphans", "Events that are held and not booked, and what a person can do about them",
		orphansList(a), orphansShow(a), orphansOpen(a))
	for _, action := range []struct {
		use, short, done string
		do               func(*paidonce.House, *cobra.Command, int64, gate.Key, paidonce.Act) (paidonce.Result, error)
	}{
		{"retry KEY", "Drive an event on at once, whatever its next try", "retry",
			func(h *paidonce.House, c *cobra.Command, tenant int64, key gate.Key, act paidonce.Act) (paidonce.Result, error) {
				return h.Retry(c.Context(), tenant, key, act)
			}},
		{"suspense KEY", "Book a held payment to suspense: real money that fits no order", "suspense",
			func(h *paidonce.House, c *cobra.Command, tenant int64, key gate.Key, act paidonce.Act) (paidonce.Result, error) {
				return h.PostToSuspense(c.Context(), tenant, key, act)
			}},
		{"reject KEY", "End an event without booking it", "reject",
			func(h *paidonce.House, c *cobra.Command, tenant int64, key gate.Key, act paidonce.Act) (paidonce.Result, error) {
				return h.Reject(c.Context(), tenant, key, act)
			}},
	} {
		c.AddCommand(orphansAction(a, action.use, action.short, action.do))
	}
	c.AddCommand(orphansLink(a))
	return c
}

// orphan is an event that is held, as it is printed for machines.
type orphan struct {
	Key       gate.Key     `json:"key"`
	OrderNo   string       `json:"order_no"`
	Amount    money.Amount `json:"amount"`
	Age       int64        `json:"age_seconds"`
	Reason    string       `json:"reason"`
	Detail    string       `json:"detail"`
	Attempts  int          `json:"attempts"`
	Failures  int          `json:"failures"`
	NextTryUs int64        `json:"next_try_us"`
	Needs     string       `json:"needs"` // what drives it on, or who must act
}

func (a *app) orphanOf(row gate.Row) orphan {
	return orphan{Key: row.Key, OrderNo: row.OrderNo, Amount: row.Amount,
		Age:    max((a.Clock().UnixMicro()-row.CreatedUs)/1_000_000, 0),
		Reason: row.Reason, Detail: row.Detail, Attempts: row.Attempts, Failures: row.Failures, NextTryUs: row.DueUs,
		Needs: paidonce.Needs(row.Reason)}
}

func orphansList(a *app) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List held events with amount, age, reason and next try", Args: cobra.NoArgs,
		Example: "  paidonce orphans list --tenant 1 --reason amount_mismatch"}
	tenant, output := tenantFlag(c), outputFlag(c)
	reason := c.Flags().String("reason", "", "only events held for this reason")
	after := c.Flags().String("after", "", "go on after this key")
	limit := c.Flags().Int("limit", 100, "how many at most, from 1 to 1000")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *limit < 1 || *limit > 1000 {
			return usagef("--limit must be from 1 to 1000")
		}
		return a.ofTenant(c, *tenant, func(s *store.Store) error {
			rows, err := s.Unfinished(c.Context(), *tenant, *reason, *after, *limit)
			if err != nil {
				return err
			}
			orphans := make([]orphan, len(rows))
			lines := make([]table.Row, len(rows))
			for i, row := range rows {
				o := a.orphanOf(row)
				orphans[i] = o
				lines[i] = table.Row{o.Key, o.OrderNo, shown(o.Amount), age(o.Age), o.Reason, o.Attempts, clockTime(o.NextTryUs),
					o.Needs}
			}
			if *output == formatJSON {
				return a.printJSON(orphans)
			}
			if len(rows) == 0 {
				_, err := fmt.Fprintf(a.Out, "Nothing is held for tenant %d.\n", *tenant)
				return err
			}
			return a.printTable(table.Row{"key", "order", "amount", "age", "reason", "attempts", "next try", "needs"}, lines)
		})
	}
	return c
}

// shown leaves out an amount that the report did not say.
func shown(amount money.Amount) string {
	if amount.IsZero() {
		return "-"
	}
	return amount.String()
}

// age writes seconds for people.
func age(seconds int64) string { return (time.Duration(seconds) * time.Second).String() }

// forecast is what driving an event on would do, as it is printed for machines.
type forecast struct {
	Booked  bool           `json:"would_be_booked"`
	Reason  string         `json:"reason,omitempty"`
	Detail  string         `json:"detail,omitempty"`
	Entries []ledger.Entry `json:"entries"`
}

func orphansShow(a *app) *cobra.Command {
	c := &cobra.Command{Use: "show KEY", Short: "Try an event without a trace, and say what driving it on would do",
		Args: cobra.ExactArgs(1)}
	tenant, output := tenantFlag(c), outputFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.withHouse(c, *tenant, args[0], func(h *paidonce.House, key gate.Key) error {
			f, err := h.Explain(c.Context(), *tenant, key)
			if err != nil {
				return err
			}
			if *output == formatJSON {
				return a.printJSON(forecast{f.Reason == "", f.Reason, f.Detail, list(f.Booking.Entries)})
			}
			if f.Reason != "" {
				_, err := fmt.Fprintf(a.Out, "It would be held for %s (%s).\nNeeds: %s.\n", f.Reason, f.Detail,
					paidonce.Needs(f.Reason))
				return err
			}
			var rows []table.Row
			for _, e := range f.Booking.Entries {
				for _, p := range e.Postings {
					rows = append(rows, table.Row{e.Step, p.Side, p.Account, p.Amount})
				}
			}
			_, err = fmt.Fprintln(a.Out, "It would be booked. Nothing was changed; paidonce orphans retry does it.")
			if err != nil {
				return err
			}
			return a.printTable(table.Row{"step", "side", "account", "amount"}, rows)
		})
	}
	return c
}

// actFlags say who acts and why.
func actFlags(c *cobra.Command) func() paidonce.Act {
	actor := c.Flags().String("actor", "", "who acts (default: the user of the operating system)")
	why := c.Flags().String("why", "", "the reason, kept for ever beside the event (needed)")
	return func() paidonce.Act {
		if *actor == "" {
			if u, err := user.Current(); err == nil {
				*actor = "cli:" + u.Username
			}
		}
		return paidonce.Act{Actor: *actor, Why: *why}
	}
}

func orphansAction(a *app, use, short string,
	do func(*paidonce.House, *cobra.Command, int64, gate.Key, paidonce.Act) (paidonce.Result, error)) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1)}
	tenant, output, act := tenantFlag(c), outputFlag(c), actFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.withHouse(c, *tenant, args[0], func(h *paidonce.House, key gate.Key) error {
			result, err := do(h, c, *tenant, key, act())
			return a.printResult(result, err, *output)
		})
	}
	return c
}

func orphansLink(a *app) *cobra.Command {
	c := &cobra.Command{Use: "link KEY", Short: "Book a held payment as a payment of another order",
		Args: cobra.ExactArgs(1), Example: "  paidonce orphans link SQB:7:PAYMENT_RECEIVED --tenant 1 --order A1 --why typo"}
	tenant, output, act := tenantFlag(c), outputFlag(c), actFlags(c)
	orderNo := c.Flags().String("order", "", "the order that was paid (needed)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *orderNo == "" {
			return usagef("--order is needed: the order that was paid")
		}
		return a.withHouse(c, *tenant, args[0], func(h *paidonce.House, key gate.Key) error {
			result, err := h.LinkToOrder(c.Context(), *tenant, key, *orderNo, act())
			return a.printResult(result, err, *output)
		})
	}
	return c
}

// acted is what an action led to, as it is printed for machines.
type acted struct {
	Key    gate.Key        `json:"key"`
	Status paidonce.Status `json:"status"`
	Reason string          `json:"reason,omitempty"`
	Detail string          `json:"detail,omitempty"`
}

func (a *app) printResult(r paidonce.Result, err error, output format) error {
	if errors.Is(err, paidonce.ErrNoReason) {
		return usagef("--why is needed: the reason, in up to 500 bytes without line breaks")
	}
	if errors.Is(err, channel.ErrEvent) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	if output == formatJSON {
		return a.printJSON(acted{r.Key, r.Status, r.Reason, r.Detail})
	}
	text := fmt.Sprintf("%s: %s", r.Key, r.Status)
	switch r.Status {
	case paidonce.Repeat:
		text += " (it was finished before; nothing was left to do)"
	case paidonce.Parked, paidonce.Pending:
		text += fmt.Sprintf(" for %s (%s)", r.Reason, r.Detail)
	}
	_, err = fmt.Fprintln(a.Out, text)
	return err
}

// withHouse runs fn with a house over the configured database, for one event of a tenant. It starts no background work.
func (a *app) withHouse(c *cobra.Command, tenant int64, key string, fn func(*paidonce.House, gate.Key) error) error {
	parsed, err := gate.ParseKey(key)
	if err != nil {
		return &usageError{err}
	}
	return a.house(c, tenant, func(h *paidonce.House) error {
		err := fn(h, parsed)
		if errors.Is(err, gate.ErrNoClaim) {
			return fmt.Errorf("tenant %d never claimed %s: %w", tenant, parsed, err)
		}
		return err
	})
}

func (a *app) house(c *cobra.Command, tenant int64, fn func(*paidonce.House) error) error {
	if err := needTenant(tenant); err != nil {
		return err
	}
	configured, err := a.loadConfig()
	if err != nil {
		return err
	}
	rules, err := configured.rules()
	if err != nil {
		return err
	}
	return a.withStore(c.Context(), configured, func(s *store.Store) error {
		h, err := paidonce.New(paidonce.Options{Store: s, Rules: rules, Instance: configured.Instance})
		if err != nil {
			return err
		}
		return fn(h)
	})
}

func orphansOpen(a *app) *cobra.Command {
	c := &cobra.Command{Use: "open-orders", Short: "List orders that nobody called back for, and what asking brought",
		Args: cobra.NoArgs}
	tenant, output := tenantFlag(c), outputFlag(c)
	older := c.Flags().Duration("older", 10*time.Minute, "only orders open for longer than this")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.ofTenant(c, *tenant, func(s *store.Store) error {
			open, err := s.OpenQueries(c.Context(), *tenant, *older, "", 1000)
			if err != nil {
				return err
			}
			if *output == formatJSON {
				return a.printJSON(list(open))
			}
			rows := make([]table.Row, len(open))
			for i, q := range open {
				rows[i] = table.Row{q.OrderNo, q.Order.Amount, q.Age.Round(time.Second), q.Tries, clockTime(q.AskedUs), q.Answer}
			}
			return a.printTable(table.Row{"order", "amount", "age", "asked", "last asked", "answer"}, rows)
		})
	}
	return c
}
