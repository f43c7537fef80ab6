// Command testdb starts and ends one MariaDB and one PostgreSQL for a whole test run.
//
//	eval "$(testdb up DIR)"   starts both in DIR and prints the variables that lead the tests to them
//	testdb down DIR           ends both and deletes DIR
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/paidonce/paidonce/internal/testdb"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "testdb:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: testdb up|down DIR")
	}
	switch command, dir := args[0], args[1]; command {
	case "up":
		environment, err := testdb.Up(dir)
		for _, variable := range environment {
			name, value, _ := strings.Cut(variable, "=")
			fmt.Printf("export %s='%s'\n", name, value)
		}
		return err
	case "down":
		return testdb.Down(dir)
	default:
		return fmt.Errorf("%q is neither up nor down", command)
	}
}
