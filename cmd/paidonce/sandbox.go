package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/sandbox"
	"github.com/paidonce/paidonce/store"
)

func sandboxCommand(a *app) *cobra.Command {
	return group("sandbox", "Play the channels: pay orders of sandbox accounts and deliver the notifications",
		sandboxPay(a), sandboxNotify(a))
}

// deliveryFlags say how a payment is notified.
type deliveryFlags struct {
	channel, account, order, base                         string
	deliver                                               int
	curl, parallel, badSignature, wrongAmount, dropAnswer bool
	output                                                *format
}

func (f *deliveryFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.channel, "channel", "", "wechat, wechat-v2, alipay or sqb")
	flags.StringVar(&f.account, "account", "", "account name, if the channel has several")
	flags.StringVar(&f.order, "order", "", "order number (needed)")
	flags.StringVar(&f.base, "url", "", "where serve listens, if not where the configuration says: http://127.0.0.1:8480")
	flags.IntVar(&f.deliver, "deliver", 1, "how many deliveries")
	flags.BoolVar(&f.parallel, "parallel", false, "all deliveries at the same time")
	flags.BoolVar(&f.curl, "curl", false, "print a curl command with a real signature instead of delivering")
	flags.BoolVar(&f.badSignature, "bad-signature", false, "change the body after signing; it must be refused")
	flags.BoolVar(&f.wrongAmount, "wrong-amount", false, "notify one minor unit too much, signed all the same")
	flags.BoolVar(&f.dropAnswer, "drop-answer", false, "hang up without waiting for the answer")
	f.output = outputFlag(c)
}

func (f *deliveryFlags) variant() sandbox.Variant {
	v := sandbox.Variant{BadSignature: f.badSignature}
	if f.wrongAmount {
		v.WrongBy = 1
	}
	return v
}

func (f *deliveryFlags) check() error {
	if f.order == "" {
		return usagef("--order is needed: the order's number, like --order A1")
	}
	if f.deliver < 1 || f.deliver > 1000 {
		return usagef("--deliver must be from 1 to 1000")
	}
	return nil
}

func sandboxPay(a *app) *cobra.Command {
	c := &cobra.Command{Use: "pay", Short: "Pay an order at a sandbox account and deliver the notification",
		Args: cobra.NoArgs, Example: "  paidonce sandbox pay --channel wechat --order A1 --amount 12.34 --deliver 3",
		Long: "Registers the order if it is not there, lets a customer pay it, and delivers the notification to a running\n" +
			"paidonce serve. Each call is a payment of its own; sandbox notify delivers an earlier one again."}
	f := &deliveryFlags{}
	f.add(c)
	amount := c.Flags().String("amount", "", "decimal amount in CNY, 12.34 (needed)")
	silent := c.Flags().Bool("silent", false, "deliver no callback: serve has to find the payment by asking")
	noOrder := c.Flags().Bool("no-order", false, "do not register the order: the payment waits for it")
	seller := c.Flags().String("store", "shop-1", "whose sale a new order is")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := f.check(); err != nil {
			return err
		}
		if f.channel == "" {
			return usagef("--channel is needed: where the customer pays, one of %s, like --channel wechat", kindNames())
		}
		sum, err := parseAmount(*amount, money.CNY)
		if err != nil {
			return err
		}
		t, err := a.openTheatre(f.base)
		if err != nil {
			return err
		}
		account, err := t.find(f.channel, f.account)
		if err != nil {
			return err
		}
		if !*noOrder {
			wanted := order.Order{Tenant: account.Tenant, No: f.order, Store: *seller, Amount: sum}
			if err := a.registerOrder(c.Context(), t.config, wanted); err != nil {
				return err
			}
		}
		payment, err := t.box.Pay(account.Channel, account.Name, f.order, sum)
		if err != nil {
			return &usageError{err}
		}
		if err := t.folder.rememberPayment(payment); err != nil {
			return err
		}
		if *silent {
			return a.paidSilently(payment, *f.output)
		}
		return a.perform(c.Context(), t, payment, f)
	}
	return c
}

// paidSilently prints a payment of which no callback tells.
func (a *app) paidSilently(p *sandbox.Payment, output format) error {
	if output == formatJSON {
		return a.printJSON(p)
	}
	_, err := fmt.Fprintf(a.Out, "Order %s is paid (%s), and no callback is delivered. serve finds it by asking.\n",
		p.OrderNo, p.TradeNo)
	return err
}

func sandboxNotify(a *app) *cobra.Command {
	c := &cobra.Command{Use: "notify", Short: "Deliver the notification of an earlier sandbox payment again",
		Args: cobra.NoArgs, Example: "  paidonce sandbox notify --order A1 --deliver 5 --parallel"}
	f := &deliveryFlags{}
	f.add(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := f.check(); err != nil {
			return err
		}
		t, err := a.openTheatre(f.base)
		if err != nil {
			return err
		}
		payment, err := t.folder.recallPayment(f.channel, f.account, f.order)
		if err != nil {
			return err
		}
		if payment.Account, err = t.find(payment.Account.Channel, payment.Account.Name); err != nil {
			return err
		}
		return a.perform(c.Context(), t, payment, f)
	}
	return c
}

func (a *app) registerOrder(ctx context.Context, c *config, o order.Order) error {
	return a.withStore(ctx, c, func(s *store.Store) error {
		_, err := s.CreateOrder(ctx, o)
		if errors.Is(err, order.ErrOrder) {
			return &usageError{err}
		}
		return err
	})
}

// performance is what one call of the sandbox commands did.
type performance struct {
	Key        gate.Key        `json:"key"`
	Tenant     int64           `json:"tenant"`
	Payment    sandbox.Payment `json:"payment"`
	Deliveries []delivered     `json:"deliveries"`
}

type delivered struct {
	Status       int    `json:"status,omitempty"`
	Answer       string `json:"answer"` // held, refused, dropped, none
	Microseconds int64  `json:"took_us"`
}

// perform delivers a payment's notification as the flags say, prints what came of it, and fails if an honest delivery
// was not acknowledged or a forged one was.
func (a *app) perform(ctx context.Context, t *theatre, payment *sandbox.Payment, f *deliveryFlags) error {
	if f.curl {
		message, err := t.box.Notification(payment, f.variant())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.Out, message.Curl(payment.Account.NotifyURL))
		return err
	}
	key, err := gate.NewKey(accountConfig{Channel: payment.Account.Channel}.code(), string(channel.PaymentReceived),
		payment.TradeNo)
	if err != nil {
		return err
	}
	show := performance{Key: key, Tenant: payment.Account.Tenant}
	all, err := t.deliver(ctx, payment, f)
	if err != nil {
		return err
	}
	for _, d := range all {
		show.Deliveries = append(show.Deliveries, delivered{d.Status, answerOf(d), d.Took.Microseconds()})
	}
	show.Payment = *payment
	if err := a.printPerformance(show, *f.output); err != nil {
		return err
	}
	if *f.output == formatTable {
		if err := a.suggest(t, show, f); err != nil {
			return err
		}
	}
	return verdictOn(all, f)
}

// suggest prints the command that is worth running next: why, if the event may have been claimed, and the delivery
// again if nobody answered, because then it may not have been. Of a refused one there is nothing to ask.
func (a *app) suggest(t *theatre, show performance, f *deliveryFlags) error {
	word := func(answer string) bool {
		return slices.ContainsFunc(show.Deliveries, func(d delivered) bool { return d.Answer == answer })
	}
	var err error
	switch {
	case word("held"), word("dropped") && !f.badSignature:
		_, err = fmt.Fprintf(a.Out, "\n%s why %s --tenant %d\n", a.again(t.config), show.Key, show.Tenant)
	case word("none"):
		command := a.again(t.config) + " sandbox notify --order " + quoted(f.order)
		if f.base != "" {
			command += " --url " + quoted(f.base)
		}
		_, err = fmt.Fprintf(a.Out, "\nNobody answered. When paidonce serve runs, deliver it again:\n%s\n", command)
	}
	return err
}

func answerOf(d sandbox.Delivered) string {
	switch {
	case d.Acknowledged:
		return "held"
	case d.Answered:
		return "refused"
	case d.Dropped:
		return "dropped"
	}
	return "none"
}

func verdictOn(all []sandbox.Delivered, f *deliveryFlags) error {
	for _, d := range all {
		switch {
		case f.badSignature && d.Acknowledged:
			return errors.New("a forged notification was acknowledged")
		case f.dropAnswer, f.badSignature && d.Answered, d.Acknowledged:
		case d.Err != nil:
			return fmt.Errorf("a delivery got no answer; is paidonce serve running? %w", d.Err)
		default:
			return fmt.Errorf("a delivery was refused with status %d", d.Status)
		}
	}
	return nil
}

func (a *app) printPerformance(show performance, output format) error {
	if output == formatJSON {
		return a.printJSON(show)
	}
	var rows []table.Row
	for i, d := range show.Deliveries {
		rows = append(rows, table.Row{i + 1, d.Answer, d.Status, fmt.Sprintf("%d us", d.Microseconds)})
	}
	return a.printTable(table.Row{"delivery", "answer", "status", "took"}, rows)
}
