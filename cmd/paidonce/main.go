// Command paidonce is the callback ledger as a program: it receives the notifications of payment channels, books every
// payment event exactly once, and answers questions about the books.
//
// This package is the only reader of configuration files, of the environment and of the clock.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	a := &app{Name: os.Args[0], In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Lookup: os.LookupEnv, Clock: time.Now}
	os.Exit(a.Run(ctx, os.Args[1:]))
}
