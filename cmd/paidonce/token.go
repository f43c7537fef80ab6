package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

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
	c := &cobra.Command{Use: "revoke TOKEN", Short: "End a token, given by its id or as a whole", Args: cobra.ExactArgs(1),
		Example: "  paidonce token revoke 01m8req1m6e918125ht2efxrjb --tenant 1",
		Long: "Ends a token at once. It is given by the id that token list shows, or as the whole text that token create\n" +
			"printed; that names its tenant by itself."}
	tenant := tenantFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		owner, id, err := tokenNamed(args[0], *tenant)
		if err != nil {
			return err
		}
		return a.ofTenant(c, owner, func(s *store.Store) error {
			err := s.RevokeToken(c.Context(), owner, id)
			if errors.Is(err, store.ErrToken) {
				return whyNotRevoked(c.Context(), s, owner, id)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Out, "revoked", id)
			return err
		})
	}
	return c
}

var (
	wholeToken = regexp.MustCompile(`^pdo_([1-9][0-9]{0,17})_([0-9a-z]{26})_[0-9a-f]{64}$`)
	tokenID    = regexp.MustCompile(`^[0-9a-z]{26}$`)
)

// tokenNamed reads a token's id and tenant from what a person gave. No message repeats a text that may be a secret.
func tokenNamed(text string, tenant int64) (owner int64, id string, err error) {
	parts := wholeToken.FindStringSubmatch(text)
	switch {
	case parts != nil:
		if owner, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
			return 0, "", usagef("this is no token")
		}
		if tenant != 0 && tenant != owner {
			return 0, "", usagef("this token is of tenant %d, and --tenant says %d", owner, tenant)
		}
		return owner, parts[2], nil
	case !tokenID.MatchString(text):
		return 0, "", usagef("this is neither a token nor the id of one; paidonce token list shows the ids")
	}
	return tenant, text, needTenant(tenant)
}

// whyNotRevoked tells a token that nobody made from one that was revoked before.
func whyNotRevoked(ctx context.Context, s *store.Store, tenant int64, id string) error {
	tokens, err := s.Tokens(ctx, tenant)
	if err != nil {
		return err
	}
	for _, token := range tokens {
		if token.ID == id && token.RevokedUs != 0 {
			return fmt.Errorf("token %s was revoked before, at %s", id, clockTime(token.RevokedUs))
		}
	}
	return fmt.Errorf("tenant %d has no token %s; paidonce token list shows what it has", tenant, id)
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
