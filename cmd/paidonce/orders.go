package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/paidonce/paidonce/ledger"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

func ordersCommand(a *app) *cobra.Command {
	return group("orders", "Register and look at orders", orderCreate(a), orderShow(a))
}

func orderCreate(a *app) *cobra.Command {
	c := &cobra.Command{Use: "create ORDER-NO", Short: "Register an order; the same again changes nothing",
		Args: cobra.ExactArgs(1)}
	tenant, output := tenantFlag(c), outputFlag(c)
	amount := c.Flags().String("amount", "", "decimal amount, 12.34 (needed)")
	currency := c.Flags().String("currency", string(money.CNY), "currency of the amount")
	seller := c.Flags().String("store", "shop-1", "whose sale it is")
	c.RunE = func(c *cobra.Command, args []string) error {
		sum, err := parseAmount(*amount, money.Currency(*currency))
		if err != nil {
			return err
		}
		wanted := order.Order{Tenant: *tenant, No: args[0], Store: *seller, Amount: sum}
		return a.ofTenant(c, *tenant, func(s *store.Store) error {
			stored, err := s.CreateOrder(c.Context(), wanted)
			if err != nil {
				return err
			}
			return a.printOrder(orderFile{Order: stored}, *output)
		})
	}
	return c
}

// parseAmount reads --amount.
func parseAmount(text string, currency money.Currency) (money.Amount, error) {
	if text == "" {
		return money.Amount{}, usagef("--amount is needed: a decimal amount, like --amount 12.34")
	}
	sum, err := money.Parse(text, currency)
	if err != nil {
		return money.Amount{}, usagef("--amount: %w; give it like --amount 12.34", err)
	}
	return sum, nil
}

func orderShow(a *app) *cobra.Command {
	c := &cobra.Command{Use: "show ORDER-NO", Short: "Show an order with its payments and bookings",
		Args: cobra.ExactArgs(1)}
	tenant, output := tenantFlag(c), outputFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.ofTenant(c, *tenant, func(s *store.Store) (err error) {
			var file orderFile
			if file.Order, err = s.Order(c.Context(), *tenant, args[0]); err != nil {
				return err
			}
			if file.Payments, err = s.Payments(c.Context(), *tenant, args[0]); err != nil {
				return err
			}
			if file.Bookings, err = s.JournalOfOrder(c.Context(), *tenant, args[0]); err != nil {
				return err
			}
			return a.printOrder(file, *output)
		})
	}
	return c
}

// orderFile is an order with everything that the channels and the journal say of it.
type orderFile struct {
	Order    order.Order       `json:"order"`
	Payments []store.Payment   `json:"payments"`
	Bookings []ledger.Recorded `json:"bookings"`
}

func (a *app) printOrder(file orderFile, output format) error {
	file.Payments, file.Bookings = list(file.Payments), list(file.Bookings)
	if output == formatJSON {
		return a.printJSON(file)
	}
	o := file.Order
	rows := []table.Row{{o.No, o.Store, o.Amount, o.State, clockTime(o.CreatedUs), clockTime(o.PaidUs)}}
	if err := a.printTable(table.Row{"order", "store", "amount", "state", "created", "paid"}, rows); err != nil {
		return err
	}
	if rows = nil; len(file.Payments) > 0 {
		for _, p := range file.Payments {
			rows = append(rows, table.Row{p.Cause, p.Account, p.Captured, p.Refunded, p.Suspense})
		}
		_, _ = fmt.Fprintln(a.Out)
		if err := a.printTable(table.Row{"payment", "account", "captured", "refunded", "suspense"}, rows); err != nil {
			return err
		}
	}
	if rows = nil; len(file.Bookings) > 0 {
		for _, b := range file.Bookings {
			for _, e := range b.Entries {
				for _, p := range e.Postings {
					rows = append(rows, table.Row{b.ID, e.Step, p.Side, p.Account, p.Amount})
				}
			}
		}
		_, _ = fmt.Fprintln(a.Out)
		return a.printTable(table.Row{"booking", "step", "side", "account", "amount"}, rows)
	}
	return nil
}
