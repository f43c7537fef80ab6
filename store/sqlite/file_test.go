package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/paidonce/paidonce/migrate"
	"github.com/paidonce/paidonce/store/sqlite"
)

// The files hold notifications and digests of tokens: in a folder that everybody may read, too, they are their
// owner's alone.
func TestNewFilesAreTheirOwnersAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "books.db")
	s, err := sqlite.Open(path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there before the first use: %v", err)
	}
	if _, err := migrate.Up(t.Context(), s.Engine(), s.Pools().Main, s.Schema()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o", filepath.Base(name), mode)
		}
	}
	if exposed, err := sqlite.Exposed(path); err != nil || len(exposed) != 0 {
		t.Errorf("exposed are %q, %v", exposed, err)
	}
}

// An existing file keeps its mode, which may be somebody's decision, and is listed.
func TestFilesOfOthersToReadAreListed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "books.db")
	for mode, want := range map[fs.FileMode][]string{0o600: nil, 0o640: {path}, 0o604: {path}, 0o660: {path}} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		s, err := sqlite.Open(path, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Ping(t.Context()), s.Close()); err != nil {
			t.Fatal(err)
		}
		if exposed, err := sqlite.Exposed(path); err != nil || !slices.Equal(exposed, want) {
			t.Errorf("mode %o: exposed are %q, %v, want %q", mode, exposed, err, want)
		}
	}
}

func TestAFolderThatIsNotThereIsNamed(t *testing.T) {
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "none", "books.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Ping(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Ping = %v", err)
	}
}
