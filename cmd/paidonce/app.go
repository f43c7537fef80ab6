package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2 // of a flag, an argument or the configuration
	exitFindings = 3 // the command worked, and what it looked at is not intact
)

// errUsage: the command line or the configuration is wrong. Nothing was done.
var errUsage = errors.New("usage")

// errFindings: the command did its work and found that something is not intact. What it is was printed already.
var errFindings = errors.New("not intact")

// usagef makes an error that ends the program with exitUsage.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// usageError is an errUsage whose text is only its cause's.
type usageError struct{ cause error }

func (e *usageError) Error() string        { return e.cause.Error() }
func (e *usageError) Unwrap() error        { return e.cause }
func (e *usageError) Is(target error) bool { return target == errUsage }

// app is one run of the program: everything of the outside world that a command may touch.
type app struct {
	Name     string // how the program was called
	In       io.Reader
	Out, Err io.Writer
	Lookup   func(name string) (string, bool) // reads the environment
	Clock    func() time.Time

	flags globalFlags
}

// globalFlags are understood by every command, the last two by serve alone.
type globalFlags struct {
	config   string
	data     string
	database string
	listen   string
	instance string
}

// Run executes one command line and returns the exit code.
func (a *app) Run(ctx context.Context, args []string) int {
	root, started := a.root()
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFindings):
		return exitFindings
	}
	_, _ = fmt.Fprintf(a.Err, "paidonce: %s\n", inWords(err))
	if errors.Is(err, errUsage) || !*started {
		return exitUsage
	}
	return exitFailed
}

const rootHelp = `paidonce books every payment event exactly once, whatever channels, networks and processes do.

Without any configuration, "paidonce serve" keeps its data in ./paidonce-data and receives notifications of sandbox
accounts that are signed with keys generated there.

Exit codes
  0  done
  1  failed
  2  the command line or the configuration is wrong; nothing was done
  3  the command worked, and what it looked at is not intact

Environment
  PAIDONCE_CONFIG        the configuration file, like --config
  PAIDONCE_DATA          the data folder, like --data
  PAIDONCE_DATABASE_URL  the database, like --database
  PAIDONCE_LISTEN        the address to listen at, like --listen of serve
  PAIDONCE_INSTANCE      the name of this process in timelines, like --instance of serve
  PAIDONCE_FAULTS        failures on demand, POINT:error:N or POINT:kill:N in thousandths; sandbox accounts only
  NO_COLOR               set to anything: no colours in the log

A flag wins over the environment, the environment over the file, the file over the default. Each variable may be given
as NAME_FILE instead, naming a file that holds the value. In the configuration file a secret is either a *_file, or
written as itself, as ${NAME}, which is the environment variable NAME, or as file:PATH. Secrets are never printed.`

// commands lists the constructors of the top-level commands, in the order of the help.
func commands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		serveCommand, demoCommand, migrateCommand, configCommand, tokenCommand, whyCommand, orphansCommand,
		suspenseCommand, ordersCommand, sandboxCommand, terminalCommand, ledgerCommand, adoptCommand, versionCommand,
	}
}

// root builds the command tree. started turns true when the command line is accepted and a command begins.
func (a *app) root() (root *cobra.Command, started *bool) {
	started = new(bool)
	root = &cobra.Command{
		Use: "paidonce", Short: "Books every payment event exactly once", Long: rootHelp,
		SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRun:  func(*cobra.Command, []string) { *started = true },
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(flagMistake)
	flags := root.PersistentFlags()
	flags.StringVar(&a.flags.config, "config", "", "configuration file (YAML)")
	flags.StringVar(&a.flags.data, "data", "", "data folder (default ./paidonce-data)")
	flags.StringVar(&a.flags.database, "database", "",
		"sqlite:PATH, mysql://USER:PASSWORD@HOST/NAME or postgres://… (default: SQLite in the data folder)")
	for _, construct := range commands() {
		root.AddCommand(construct(a))
	}
	return root, started
}

// group is a command that only holds others.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		return usagef("%q needs one of its commands; see paidonce %s --help", c.Name(), c.Name())
	}}
	c.AddCommand(children...)
	return c
}
