package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/store"
)

func suspenseCommand(a *app) *cobra.Command {
	return group("suspense", "Real money that fits no order", suspenseList(a), suspenseMove(a))
}

func suspenseList(a *app) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List money in suspense, oldest first", Args: cobra.NoArgs}
	tenant, output := tenantFlag(c), outputFlag(c)
	settled := c.Flags().Bool("settled", false, "also what has left suspense entirely")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.ofTenant(c, *tenant, func(s *store.Store) error {
			items, err := s.SuspenseList(c.Context(), *tenant, *settled)
			if err != nil {
				return err
			}
			if *output == formatJSON {
				return a.printJSON(list(items))
			}
			if len(items) == 0 {
				_, err := fmt.Fprintf(a.Out, "Nothing lies in suspense for tenant %d.\n", *tenant)
				return err
			}
			rows := make([]table.Row, len(items))
			for i, item := range items {
				rows[i] = table.Row{item.Channel, item.TradeNo, item.OrderNo, item.Reason, item.Amount, item.Left,
					age(item.AgeUs / 1_000_000), item.MovedTo}
			}
			return a.printTable(table.Row{"channel", "payment", "order", "reason", "amount", "left", "age", "moved to"},
				rows)
		})
	}
	return c
}

func suspenseMove(a *app) *cobra.Command {
	c := &cobra.Command{Use: "move TRADE-NO", Short: "Move money out of suspense to the merchant of an order",
		Args: cobra.ExactArgs(1), Example: "  paidonce suspense move 4200000001 --tenant 1 --channel WECHAT --no m1 " +
			"--order A1 --amount 12.34 --why \"paid twice, second order delivered\"",
		Long: "Moves a part or all of what lies in suspense. --no is your own number of the move: the same number moves\n" +
			"once, however often the command is run. An order whose amount is moved exactly becomes paid by it."}
	tenant, output, act := tenantFlag(c), outputFlag(c), actFlags(c)
	code := c.Flags().String("channel", "", "WECHAT, ALIPAY or SQB (needed)")
	number := c.Flags().String("no", "", "your own number of this move (needed)")
	orderNo := c.Flags().String("order", "", "the order whose merchant gets the money (needed)")
	amount := c.Flags().String("amount", "", "decimal amount, 12.34 (needed)")
	currency := c.Flags().String("currency", string(money.CNY), "currency of the amount")
	c.RunE = func(c *cobra.Command, args []string) error {
		for flag, value := range map[string]string{"channel": *code, "no": *number, "order": *orderNo} {
			if value == "" {
				return usagef("--%s is needed; see paidonce suspense move --help", flag)
			}
		}
		sum, err := money.Parse(*amount, money.Currency(*currency))
		if err != nil {
			return usagef("--amount: %w", err)
		}
		return a.house(c, *tenant, func(h *paidonce.House) error {
			result, err := h.MoveFromSuspense(c.Context(), paidonce.Move{Tenant: *tenant, Channel: *code, TradeNo: args[0],
				No: *number, OrderNo: *orderNo, Amount: sum}, act())
			return a.printResult(result, err, *output)
		})
	}
	return c
}
