package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/paidonce/paidonce/migrate"
	"github.com/paidonce/paidonce/store"
)

func migrateCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "migrate", Short: "Bring the database to the schema of this version", Args: cobra.NoArgs,
		Long: "Applies the migrations that the database lacks. Any number of processes may do so at once; serve does it\n" +
			"by itself when it starts.",
		RunE: func(c *cobra.Command, _ []string) error { return a.migrate(c.Context()) }}
	status := &cobra.Command{Use: "status", Short: "List the migrations and whether the database has them",
		Args: cobra.NoArgs}
	output := outputFlag(status)
	status.RunE = func(c *cobra.Command, _ []string) error { return a.migrateStatus(c.Context(), *output) }
	c.AddCommand(status)
	return c
}

func (a *app) migrate(ctx context.Context) (err error) {
	s, err := a.openForMigration(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	applied, err := migrate.Up(ctx, s.Engine(), s.Pools().Main, s.Schema())
	for _, migration := range applied {
		if _, err := fmt.Fprintln(a.Out, "applied", migration.Name); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if len(applied) == 0 {
		_, err = fmt.Fprintln(a.Out, "nothing to do")
	}
	return err
}

// openForMigration opens the configured database, which may be new.
func (a *app) openForMigration(ctx context.Context) (*store.Store, error) {
	c, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	if _, _, err := openFolder(c.Data); err != nil {
		return nil, err
	}
	return a.openDatabase(ctx, c)
}

func (a *app) migrateStatus(ctx context.Context, output format) (err error) {
	s, err := a.openForMigration(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	states, err := migrate.List(ctx, s.Engine(), s.Pools().Main, s.Schema())
	if err != nil {
		return err
	}
	type migration struct {
		Name    string `json:"name"`
		Applied bool   `json:"applied"`
	}
	listed, rows := make([]migration, len(states)), make([]table.Row, len(states))
	for i, state := range states {
		listed[i], rows[i] = migration(state), table.Row{state.Name, state.Applied}
	}
	if output == formatJSON {
		return a.printJSON(listed)
	}
	return a.printTable(table.Row{"migration", "applied"}, rows)
}
