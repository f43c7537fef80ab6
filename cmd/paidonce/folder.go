package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/paidonce/paidonce/sandbox"
)

// folder is the data folder. Everything in it belongs to the user that the program runs as, and to nobody else.
type folder struct{ path string }

// The files of a data folder, beside the database if that is SQLite's default.
const (
	keysFile     = "sandbox-keys.json"
	headsFile    = "ledger-heads.json"
	paymentsFile = "sandbox-payments.jsonl"
)

// openFolder makes the data folder if needed and tells whether it was empty.
func openFolder(path string) (f folder, fresh bool, err error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return folder{}, false, fmt.Errorf("data folder: %w", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return folder{}, false, fmt.Errorf("data folder: %w", err)
	}
	return folder{path}, len(entries) == 0, nil
}

func (f folder) file(name string) string { return filepath.Join(f.path, name) }

// errKeysTorn: the key file does not hold keys.
var errKeysTorn = errors.New("it cannot be read; move it away to get new keys")

// sandboxKeys reads the folder's sandbox keys.
func (f folder) sandboxKeys() (*sandbox.Keys, error) {
	text, err := os.ReadFile(f.file(keysFile))
	if err != nil {
		return nil, fmt.Errorf("sandbox keys: %w", err)
	}
	keys := &sandbox.Keys{}
	if err := json.Unmarshal(text, keys); err != nil {
		return nil, fmt.Errorf("sandbox keys: %s: %w", f.file(keysFile), errKeysTorn)
	}
	return keys, nil
}

// writtenWithin is how long another process may take to write the keys whose file it made.
const writtenWithin = 2 * time.Second

// ensureSandboxKeys reads the keys and makes them first if there are none. Of several processes that make them at the
// same time one makes the file, which works on every file system, and all use its keys. That is why a file that cannot
// be read is read again for a while: it may be in writing.
func (a *app) ensureSandboxKeys(f folder) (*sandbox.Keys, error) {
	for end := a.Clock().Add(writtenWithin); ; time.Sleep(10 * time.Millisecond) {
		keys, err := f.makeSandboxKeys(a.Clock())
		if !errors.Is(err, errKeysTorn) || a.Clock().After(end) {
			return keys, err
		}
	}
}

func (f folder) makeSandboxKeys(now time.Time) (*sandbox.Keys, error) {
	keys, err := f.sandboxKeys()
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	if keys, err = sandbox.GenerateKeys(now); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("sandbox keys: %w", err)
	}
	file, err := os.OpenFile(f.file(keysFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return f.sandboxKeys()
	}
	if err != nil {
		return nil, fmt.Errorf("sandbox keys: %w", err)
	}
	if err := writeAndClose(file, append(text, '\n')); err != nil {
		return nil, fmt.Errorf("sandbox keys: %w", err)
	}
	return keys, nil
}

// writeAndClose writes a new file and forces it to the disk; if that fails, the file is removed.
func writeAndClose(file *os.File, text []byte) error {
	_, err := file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// dataKeys returns the folder's sandbox keys if an account needs them, else nil.
func (a *app) dataKeys(c *config, f folder) (*sandbox.Keys, error) {
	if !slices.ContainsFunc(c.Accounts, accountConfig.usesDataKeys) {
		return nil, nil
	}
	return a.ensureSandboxKeys(f)
}

// writeBeside writes a new file, readable for its owner alone, into the folder of path and forces it to the disk. It
// returns the new file's name.
func writeBeside(path string, text []byte) (name string, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return "", err
	}
	return file.Name(), writeAndClose(file, text)
}

// replaceFile puts text in the place of a file, so that a reader, or a crash, finds the old text or the new one.
func replaceFile(path string, text []byte) error {
	fresh, err := writeBeside(path, text)
	if err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
