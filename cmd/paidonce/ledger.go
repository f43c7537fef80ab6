package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/store"
)

func ledgerCommand(a *app) *cobra.Command {
	return group("ledger", "Look at the journal as a whole", ledgerVerify(a))
}

func ledgerVerify(a *app) *cobra.Command {
	c := &cobra.Command{Use: "verify", Short: "Recompute the books and find what was changed behind their back",
		Args: cobra.NoArgs, Example: "  paidonce ledger verify --heads /safe/ledger-heads.json",
		Long: "Recomputes digests, the chain of seals and the balances from the postings up, and compares the end of each\n" +
			"tenant's chain with the copy that serve keeps outside of the database (ledger-heads.json in the data folder).\n" +
			"It finds an edited booking, a deleted one (the last sealed one too, by that copy), and an inserted one, with\n" +
			"recomputed digests too. A booking is sealed within about a second; what a seal does not cover yet is compared\n" +
			"with its claim. Keep a copy of the heads where whoever can write the database cannot write.\n\n" +
			"Exit code 3 means that something was found."}
	tenant := c.Flags().Int64("tenant", 0, "only this tenant (default: all)")
	headsPath := c.Flags().String("heads", "", "the copy of the heads (default: ledger-heads.json in the data folder)")
	output := outputFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		configured, err := a.loadConfig()
		if err != nil {
			return err
		}
		kept, err := readHeads(firstOf(*headsPath, folder{configured.Data}.file(headsFile)))
		if err != nil {
			return err
		}
		return a.withStore(c.Context(), configured, func(s *store.Store) error {
			tenants := []int64{*tenant}
			if *tenant == 0 {
				if tenants, err = s.LedgerTenants(c.Context()); err != nil {
					return err
				}
				tenants = withHeads(tenants, kept)
			}
			var reports []ledger.Report
			for _, id := range tenants {
				report, err := ledger.Verify(c.Context(), s, id, headOf(kept, id))
				if err != nil {
					return err
				}
				reports = append(reports, report)
			}
			return a.printReports(reports, kept, *output)
		})
	}
	return c
}

// withHeads adds tenants of which only the kept head is left: somebody deleted everything else.
func withHeads(tenants []int64, kept []ledger.Head) []int64 {
	for _, head := range kept {
		found := false
		for _, tenant := range tenants {
			found = found || tenant == head.Tenant
		}
		if !found {
			tenants = append(tenants, head.Tenant)
		}
	}
	return tenants
}

func headOf(kept []ledger.Head, tenant int64) *ledger.Head {
	for i := range kept {
		if kept[i].Tenant == tenant {
			return &kept[i]
		}
	}
	return nil
}

func (a *app) printReports(reports []ledger.Report, kept []ledger.Head, output format) error {
	found := 0
	for _, report := range reports {
		found += len(report.Findings)
	}
	var err error
	if output == formatJSON {
		err = a.printJSON(list(reports))
	} else {
		err = a.printReportTables(reports, kept)
	}
	if err == nil && found > 0 {
		return errFindings
	}
	return err
}

func (a *app) printReportTables(reports []ledger.Report, kept []ledger.Head) error {
	var rows, findings []table.Row
	for _, r := range reports {
		against := "no copy of the head was found: a chain that was recomputed or cut off would look whole"
		if head := headOf(kept, r.Head.Tenant); head != nil {
			against = fmt.Sprintf("kept head: seal %d", head.Seal)
		}
		rows = append(rows, table.Row{r.Head.Tenant, r.Bookings, r.Unsealed, r.Head.Seal, len(r.Findings), against})
		for _, f := range r.Findings {
			findings = append(findings, table.Row{f.Tenant, f.Fault, f.Where, f.Detail})
		}
	}
	header := table.Row{"tenant", "sealed", "unsealed", "seals", "findings", "compared with"}
	if err := a.printTable(header, rows); err != nil || len(findings) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(a.Out); err != nil {
		return err
	}
	return a.printTable(table.Row{"tenant", "fault", "where", "detail"}, findings)
}
