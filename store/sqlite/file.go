package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"modernc.org/sqlite"
)

// privateFile makes the database's file, for its owner alone, before the driver would make it for everybody. SQLite
// gives -wal and -shm the mode of the file beside which they lie.
type privateFile struct {
	path string
	mu   sync.Mutex
}

// ensure makes the file if there is none. One that is there is never opened: closing any descriptor of a file drops
// all locks that the process holds on it, SQLite's too. That is also why nobody may connect meanwhile.
func (p *privateFile) ensure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	file, err := os.OpenFile(p.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	return file.Close()
}

// connector is the driver's own, after a look at the file.
type connector struct {
	driver.Connector
	file *privateFile
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := c.file.ensure(); err != nil {
		return nil, err
	}
	return c.Connector.Connect(ctx)
}

func (p *privateFile) connector(dsn string) (driver.Connector, error) {
	inner, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	return connector{inner, p}, nil
}

// Exposed lists those of the database's files (path itself, its -wal and its -shm) that users other than the owner may
// read or write. Notifications and digests of tokens are in them. Files that are not there are none.
func Exposed(path string) ([]string, error) {
	var exposed []string
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return exposed, fmt.Errorf("sqlite: %w", err)
		case info.Mode().Perm()&0o077 != 0:
			exposed = append(exposed, name)
		}
	}
	return exposed, nil
}
