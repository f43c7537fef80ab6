package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/paidonce/paidonce/channel/sqb"
)

func terminalCommand(a *app) *cobra.Command {
	return group("terminal", "Keys of Shouqianba's terminals", terminalCheckIn(a))
}

func terminalCheckIn(a *app) *cobra.Command {
	c := &cobra.Command{Use: "checkin TERMINAL-SN", Short: "Check a terminal in and put its new key in force",
		Args: cobra.ExactArgs(1), Example: "  paidonce terminal checkin 100006400000001 --device-id till-1",
		Long: "Shouqianba gives a terminal a new key at each check-in and advises one a day, before the first question.\n" +
			"The new key is on the disk, in the account's terminal_keys_file, before it is used; the one before is kept\n" +
			"beside it. If the answer is lost, run the command again: the old key is good for one more check-in.\n\n" +
			"A running serve takes the new key at its next question. Let one host check in; give the others the file."}
	device := c.Flags().String("device-id", "", "device_id that the terminal was activated with (needed)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *device == "" {
			return usagef("--device-id is needed: the one that the terminal was activated with")
		}
		configured, err := a.loadConfig()
		if err != nil {
			return err
		}
		account, err := configured.ofTerminal(args[0])
		if err != nil {
			return err
		}
		keys, err := openTerminalKeys(account.Ask.TerminalKeysFile)
		if err != nil {
			return &usageError{err}
		}
		held, err := keys.lock()
		if err != nil {
			return err
		}
		defer func() { _ = held.Close() }()
		terminal, err := sqb.NewTerminal(sqb.TerminalConfig{SN: args[0], DeviceID: *device, Keys: keys,
			BaseURL: account.Ask.URL, AllowHTTP: account.Mode == modeSandbox})
		if err != nil {
			return err
		}
		if err := terminal.CheckIn(c.Context()); err != nil {
			return fmt.Errorf("terminal %s is not checked in; run the same command again: %w", args[0], err)
		}
		_, err = fmt.Fprintf(a.Out, "Terminal %s is checked in. Its new key is in %s.\n", args[0],
			account.Ask.TerminalKeysFile)
		return err
	}
	return c
}

// ofTerminal finds the account that a terminal belongs to.
func (c *config) ofTerminal(sn string) (accountConfig, error) {
	for _, account := range c.Accounts {
		for _, own := range account.TerminalSNs {
			if own != sn {
				continue
			}
			if account.Ask == nil {
				return account, usagef("account %q, which has terminal %s, has no ask section with a terminal_keys_file",
					account.Name, sn)
			}
			return account, nil
		}
	}
	return accountConfig{}, usagef("no account of channel sqb has the terminal %s in terminal_sns", sn)
}
