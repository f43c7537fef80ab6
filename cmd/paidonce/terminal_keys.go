package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/paidonce/paidonce/channel/sqb"
)

// terminalKeys is a file of Shouqianba's terminal keys: one line a terminal, "TERMINAL-SN KEY", and after a rotation
// "TERMINAL-SN KEY PREVIOUS-KEY". It is read anew for every question, so a rotation by another process counts at once.
type terminalKeys struct{ path string }

var _ sqb.KeyStore = terminalKeys{}

// errKeyFile never quotes the file: what is wrong in it may be a key.
var errKeyFile = errors.New(`must hold lines of "TERMINAL-SN KEY" or "TERMINAL-SN KEY PREVIOUS-KEY"`)

// openTerminalKeys reads the file once, so that a mistake is found at the start.
func openTerminalKeys(path string) (terminalKeys, error) {
	k := terminalKeys{path}
	keys, err := k.read()
	if err == nil && len(keys) == 0 {
		err = errKeyFile
	}
	if err != nil {
		return k, fmt.Errorf("terminal_keys_file %s: %w", path, err)
	}
	return k, nil
}

// keyPair is the key in force and the one before.
type keyPair struct{ now, before string }

func (k terminalKeys) read() (map[string]keyPair, error) {
	text, err := os.ReadFile(k.path)
	if err != nil {
		return nil, err
	}
	keys := map[string]keyPair{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if _, twice := keys[words[0]]; twice || len(words) < 2 || len(words) > 3 {
			return nil, errKeyFile
		}
		keys[words[0]] = keyPair{words[1], append(words, "")[2]}
	}
	return keys, nil
}

// Key implements sqb.Keys.
func (k terminalKeys) Key(_ context.Context, terminalSN string) (string, error) {
	keys, err := k.read()
	return keys[terminalSN].now, err
}

// Previous implements sqb.KeyStore.
func (k terminalKeys) Previous(_ context.Context, terminalSN string) (string, error) {
	keys, err := k.read()
	return keys[terminalSN].before, err
}

// Save implements sqb.KeyStore. The file is replaced as a whole, and it is on the disk when Save returns nil.
func (k terminalKeys) Save(_ context.Context, terminalSN, key string) error {
	keys, err := k.read()
	if err != nil {
		return err
	}
	pair := keys[terminalSN]
	if pair.now == key {
		return nil
	}
	keys[terminalSN] = keyPair{key, pair.now}
	var text strings.Builder
	for _, sn := range slices.Sorted(maps.Keys(keys)) {
		_, _ = fmt.Fprintln(&text, strings.TrimSpace(sn+" "+keys[sn].now+" "+keys[sn].before))
	}
	return replaceFile(k.path, []byte(text.String()))
}

// lock keeps other processes of this host from rotating keys in the same file until the result is closed.
func (k terminalKeys) lock() (io.Closer, error) {
	file, err := os.OpenFile(k.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(errors.New("another process is rotating keys in this file; try again"), file.Close())
	}
	return file, nil
}
