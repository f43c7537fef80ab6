package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// packagePrefix is how the errors of our packages begin. Programs find their way by it; people need not know what the
// packages are called.
var packagePrefix = regexp.MustCompile(`(^|: |; |\n)(?:(?:paidonce|gate|store|migrate|money|order|channel|ledger|` +
	`settle|server|sandbox|sqlite|mysql|postgres|wechat|alipay|sqb): )+`)

// inWords is an error's text for people.
func inWords(err error) string { return packagePrefix.ReplaceAllString(err.Error(), "$1") }

// flagMistake says what a flag takes, in place of what the parser's parser says.
func flagMistake(_ *cobra.Command, err error) error {
	said, cause, _ := strings.Cut(err.Error(), " flag: ") // as in: invalid argument "x" for "--tenant" flag: CAUSE
	var number *strconv.NumError
	switch {
	case !strings.HasPrefix(said, "invalid argument "):
		return &usageError{err}
	case strings.HasPrefix(cause, "time: "):
		return usagef("%s: it takes a duration like 10s or 2m", said)
	case !errors.As(err, &number):
		return usagef("%s: it %s", said, cause)
	case number.Func == "ParseBool":
		return usagef("%s: it is true or false", said)
	}
	return usagef("%s: it takes a whole number", said)
}

// checkAddress finds addresses that nobody can listen at.
func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("must be HOST:PORT, like 127.0.0.1:8480")
	}
	if number, err := strconv.Atoi(port); err != nil || number < 0 || number > 65535 {
		return fmt.Errorf("must be HOST:PORT with a port from 0 to 65535, like 127.0.0.1:8480; %q is none", port)
	}
	return nil
}

// listenFailure explains why an address cannot be listened at. setting is the flag or key that gives another one.
func listenFailure(address, setting string, err error) error {
	var system *os.SyscallError
	if errors.As(err, &system) {
		err = system.Err
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: %w by another program, perhaps by another paidonce serve; end it, or give another "+
			"address with %s", address, err, setting)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: %w; ports below 1024 are the system's: give another address with %s", address, err, setting)
	}
	return fmt.Errorf("nothing can listen at %s, give another address with %s: %w", address, setting, err)
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// quoted is a word as a shell takes it.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// again is how this program is called to look at the same data: as it was called itself, with the flags that stand for
// whatever flags and variables said. A database URL may hold a password and is left to its variable.
func (a *app) again(c *config) string {
	words := []string{quoted(firstOf(a.Name, "paidonce"))}
	if c.source != nil {
		words = append(words, "--config", quoted(c.source.path))
	}
	if c.givenBy["$.data"] != "" {
		words = append(words, "--data", quoted(c.Data))
	}
	if c.givenBy["$.database.url"] != "" {
		if file, ok := sqliteFile(c.Database.URL); ok {
			words = append(words, "--database", quoted("sqlite:"+file))
		} else {
			words = append(words, `--database "$PAIDONCE_DATABASE_URL"`)
		}
	}
	return strings.Join(words, " ")
}
