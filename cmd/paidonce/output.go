package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
)

// format is the value of -o.
type format string

const (
	formatTable format = "table"
	formatJSON  format = "json"
)

// String implements pflag.Value.
func (f *format) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *format) Type() string { return "table|json" }

// Set implements pflag.Value.
func (f *format) Set(value string) error {
	if value != string(formatTable) && value != string(formatJSON) {
		return fmt.Errorf("must be %s or %s", formatTable, formatJSON)
	}
	*f = format(value)
	return nil
}

// outputFlag adds -o to a command that lists something, and --json, which is the same as -o json.
func outputFlag(c *cobra.Command) *format {
	f := formatTable
	c.Flags().VarP(&f, "output", "o", "how to print")
	c.Flags().VarPF(jsonSwitch{&f}, "json", "", "the same as -o json").NoOptDefVal = "true"
	return &f
}

// jsonSwitch is the value of --json.
type jsonSwitch struct{ f *format }

// String implements pflag.Value.
func (s jsonSwitch) String() string { return strconv.FormatBool(s.f != nil && *s.f == formatJSON) }

// Type implements pflag.Value.
func (jsonSwitch) Type() string { return "bool" }

// Set implements pflag.Value.
func (s jsonSwitch) Set(value string) error {
	yes, err := strconv.ParseBool(value)
	if err != nil {
		return err
	}
	if *s.f = formatTable; yes {
		*s.f = formatJSON
	}
	return nil
}

// tenantFlag adds --tenant, which has no default: books are never guessed.
func tenantFlag(c *cobra.Command) *int64 {
	return c.Flags().Int64("tenant", 0, "whose books (needed)")
}

func needTenant(tenant int64) error {
	if tenant <= 0 {
		return usagef("--tenant is needed: whose books, a whole number from 1, like --tenant 1")
	}
	return nil
}

// printJSON writes a value for machines.
func (a *app) printJSON(value any) error {
	encoder := json.NewEncoder(a.Out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// printTable writes rows for people, without colours, so that it looks the same in a pipe.
func (a *app) printTable(header table.Row, rows []table.Row) error {
	writer := table.NewWriter()
	style := table.StyleDefault
	style.Format.Header = text.FormatDefault
	style.Options = table.OptionsNoBordersAndSeparators
	writer.SetStyle(style)
	writer.AppendHeader(header)
	writer.AppendRows(rows)
	writer.SuppressTrailingSpaces()
	_, err := fmt.Fprintln(a.Out, writer.Render())
	return err
}

// clockTime writes a time of the database's clock, to the second; 0 means never.
func clockTime(us int64) string {
	if us == 0 {
		return "-"
	}
	return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05Z")
}

// list makes an empty list print as [] and not as null.
func list[T any](values []T) []T {
	if values == nil {
		return []T{}
	}
	return values
}
