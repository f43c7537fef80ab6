package main

import (
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/store"
)

func adoptCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "adopt", Short: "Take over the keys of an older placeholder table",
		Args: cobra.NoArgs, Example: "  paidonce adopt --table ss_channel_idempotent",
		Long: `Reads a table with the columns tenant_id, idempotent_key and a handled date in the same database, and
claims its keys. Inherited keys answer "done", because the older system may have booked them. Nothing but an entry of
this journal or a bill of the channel proves that it did; bills are compared by hand today. --list shows the keys that
no entry here proves. The older table is only read. Running it again takes over what is new. Keys that are not
CHANNEL:number:EVENT are refused and stay where they are.`}
	flags := c.Flags()
	name := flags.String("table", "ss_channel_idempotent", "the older table")
	handled := flags.String("handled-column", "", "its column with the handled date (default: found by name)")
	zone := flags.String("zone", "Asia/Shanghai", "time zone of dates that name none")
	show := flags.Int64("list", 0, "list what tenant N inherited and nothing proves yet, instead of adopting")
	output := outputFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		location, err := time.LoadLocation(*zone)
		if err != nil {
			return usagef("--zone: %q is not a time zone", *zone)
		}
		configured, err := a.loadConfig()
		if err != nil {
			return err
		}
		return a.withStore(c.Context(), configured, func(s *store.Store) error {
			if *show > 0 {
				return a.printInherited(c, s, *show, *output)
			}
			result, err := s.Adopt(c.Context(), store.Adoption{Table: *name, Handled: *handled, Zone: location,
				Instance: configured.Instance})
			if err != nil {
				return err
			}
			return a.printAdopted(result, *output)
		})
	}
	return c
}

func (a *app) printAdopted(result store.Adopted, output format) error {
	if output == formatJSON {
		result.Refused = list(result.Refused)
		return a.printJSON(result)
	}
	if _, err := fmt.Fprintf(a.Out, "read %d, taken over %d, known before %d, refused %d\n", result.Read, result.Taken,
		result.Known, result.Invalid); err != nil || len(result.Refused) == 0 {
		return err
	}
	var rows []table.Row
	for _, refused := range result.Refused {
		rows = append(rows, table.Row{refused.Tenant, refused.Key, refused.Why})
	}
	return a.printTable(table.Row{"tenant", "key", "refused because"}, rows)
}

// maxInherited bounds one listing.
const maxInherited = 10_000

func (a *app) printInherited(c *cobra.Command, s *store.Store, tenant int64, output format) error {
	claims, err := s.Inherited(c.Context(), tenant, "", maxInherited)
	if err != nil {
		return err
	}
	keys := make([]gate.Key, len(claims))
	rows := make([]table.Row, len(claims))
	for i, claim := range claims {
		keys[i], rows[i] = claim.Key, table.Row{claim.Key, clockTime(claim.HandledUs)}
	}
	if output == formatJSON {
		return a.printJSON(list(keys))
	}
	return a.printTable(table.Row{"key", "handled"}, rows)
}
