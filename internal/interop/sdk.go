// Package interop lets the sandbox and the channel adapters meet software that neither of them shares a line with: the
// channels' SDKs for Node. What the sandbox signs must verify there, and what those sign must verify in the adapters.
// A mistake about the protocol that sandbox and adapter have in common is found here.
package interop

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/paidonce/paidonce/internal/testdb"
)

//go:embed node
var scripts embed.FS

// SDK runs the scripts of the folder node beside the SDKs that package.json pins.
type SDK struct{ dir string }

// Open makes the SDKs ready. They are installed once for this version of package.json, outside of the repository.
// Without node and npm the test is skipped, or fails where everything is required.
func Open(t testing.TB) *SDK {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			testdb.Missing(t, program+" is not installed")
		}
	}
	packages, err := install()
	if err != nil {
		t.Fatalf("interop: %v", err)
	}
	dir := t.TempDir()
	if err := copyScripts(dir); err != nil {
		t.Fatalf("interop: %v", err)
	}
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatalf("interop: %v", err)
	}
	return &SDK{dir}
}

// Ask runs the script on one request and reads its answer. Both are structures with the JSON names of the script.
func (s *SDK) Ask(t testing.TB, script string, request, answer any) {
	t.Helper()
	s.AskAll(t, script, []any{request}, &[]any{answer})
}

// AskAll runs the script once on a slice of requests and reads as many answers, in the same order, into the slice that
// answers points to.
func (s *SDK) AskAll(t testing.TB, script string, requests, answers any) {
	t.Helper()
	input, err := json.Marshal(requests)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command("node", script)
	run.Dir, run.Stdin = s.dir, bytes.NewReader(input)
	var complaint bytes.Buffer
	run.Stderr = &complaint
	output, err := run.Output()
	if err != nil {
		t.Fatalf("interop: %s: %v\n%s", script, err, complaint.Bytes())
	}
	if err := json.Unmarshal(output, answers); err != nil {
		t.Fatalf("interop: %s answers %.200q: %v", script, output, err)
	}
}

// install returns a folder node_modules with the packages in it. A finished one is put into place by renaming, so
// that neither a test process that dies nor two at a time can leave half of one behind.
func install() (string, error) {
	manifest, err := scripts.ReadFile("node/package.json")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(manifest)
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "paidonce-interop")
	ready := filepath.Join(cache, hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(ready); err == nil {
		return filepath.Join(ready, "node_modules"), nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(cache, "installing-")
	if err != nil {
		return "", err
	}
	if err := npm(fresh, manifest); err != nil {
		return "", errors.Join(err, os.RemoveAll(fresh))
	}
	if err := os.Rename(fresh, ready); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", errors.Join(err, os.RemoveAll(fresh))
	}
	return filepath.Join(ready, "node_modules"), os.RemoveAll(fresh)
}

func npm(dir string, manifest []byte) error {
	if err := os.WriteFile(filepath.Join(dir, "package.json"), manifest, 0o644); err != nil {
		return err
	}
	run := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock",
		"--no-update-notifier")
	run.Dir = dir
	if output, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install: %w\n%s", err, output)
	}
	return nil
}

func copyScripts(dir string) error {
	return fs.WalkDir(scripts, "node", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := scripts.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, entry.Name()), text, 0o644)
	})
}
