package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/paidonce/paidonce/store"
)

func tokenCommand(a *app) *cobra.Command {
	return group("token", "Bearer tokens of the JSON API", tokenCreate(a), tokenList(a), tokenRevoke(a))
}

func tokenCreate(a *app) *cobra.Command {
	c := &cobra.Command{Use: "create", Short: "Make a token and print it, this once", Args: cobra.NoArgs,
		Long: "Makes a bearer token for one tenant. Its text is printed alone on the standard output and cannot be shown\n" +
			"again: the database holds a digest of it."}
	tenant, name := tenantFlag(c), c.Flags().String("name", "", "what the token is for, shown in lists")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if len(*name) > 64 {
			return usagef("--name must have at most 64 bytes")
		}
		return a.ofTenant(c, *tenant, func(s *store.Store) error {
			text, err := s.CreateToken(c.Context(), *tenant, *name)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Out, text)
			return err
		})
	}
	return c
}

func tokenList(a *app) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List a tenant's tokens, without their secrets", Args: cobra.NoArgs}
	tenant, output := tenantFlag(c), outputFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.ofTenant(c, *tenant, func(s *store.Store) error {
			tokens, err := s.Tokens(c.Context(), *tenant)
			if err != nil {
				return err
			}
			if *output == formatJSON {
				return a.printJSON(list(tokens))
			}
			var rows []table.Row
			for _, t := range tokens {
				rows = append(rows, table.Row{t.ID, t.Name, clockTime(t.CreatedUs), clockTime(t.RevokedUs)})
			}
			return a.printTable(table.Row{"token", "name", "created", "revoked"}, rows)
		})
	}
	return c
}

func tokenRevoke(a *app) *cobra.Command {
	c := &cobra.Command{Use: "revoke TOKEN-ID", Short: "End a token", Args: cobra.ExactArgs(1)}
	tenant := tenantFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.ofTenant(c, *tenant, func(s *store.Store) error {
			if err := s.RevokeToken(c.Context(), *tenant, args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintln(a.Out, "revoked", args[0])
			return err
		})
	}
	return c
}

// ofTenant loads the configuration and runs fn on the store, for a command that needs --tenant.
func (a *app) ofTenant(c *cobra.Command, tenant int64, fn func(*store.Store) error) error {
	if err := needTenant(tenant); err != nil {
		return err
	}
	configured, err := a.loadConfig()
	if err != nil {
		return err
	}
	return a.withStore(c.Context(), configured, fn)
}
