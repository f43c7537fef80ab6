package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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

// sandboxKeys reads the folder's sandbox keys.
func (f folder) sandboxKeys() (*sandbox.Keys, error) {
	text, err := os.ReadFile(f.file(keysFile))
	if err != nil {
		return nil, fmt.Errorf("sandbox keys: %w", err)
	}
	keys := &sandbox.Keys{}
	if err := json.Unmarshal(text, keys); err != nil {
		return nil, fmt.Errorf("sandbox keys: %s cannot be read; move it away to get new ones", f.file(keysFile))
	}
	return keys, nil
}

// ensureSandboxKeys reads the keys and makes them first if there are none. Of two processes that make them at the same
// time one wins, and both use its keys.
func (a *app) ensureSandboxKeys(f folder) (*sandbox.Keys, error) {
	keys, err := f.sandboxKeys()
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	if keys, err = sandbox.GenerateKeys(a.Clock()); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("sandbox keys: %w", err)
	}
	fresh, err := writeBeside(f.file(keysFile), append(text, '\n'))
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(fresh) }()
	if err := os.Link(fresh, f.file(keysFile)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("sandbox keys: %w", err)
	}
	return f.sandboxKeys()
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
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
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
