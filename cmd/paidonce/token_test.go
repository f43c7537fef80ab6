package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A token is revoked by its id or by its whole text, and whoever cannot revoke one reads why. No message shows a
// secret.
func TestATokenIsRevokedByWhatOneHas(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must(t, "migrate")
	token := func() string { return strings.TrimSpace(p.must(t, "token", "create", "--tenant", "7")) }
	whole, byID := token(), token()
	idOf := func(token string) string { return strings.Split(token, "_")[2] }
	for _, step := range []struct {
		args string
		code int
		said string
	}{
		{whole + " --tenant 8", exitUsage, "this token is of tenant 7, and --tenant says 8"},
		{whole[:len(whole)-1] + " --tenant 7", exitUsage, "neither a token nor the id of one"},
		{strings.Split(whole, "_")[3] + " --tenant 7", exitUsage, "neither a token nor the id of one"},
		{idOf(byID), exitUsage, "--tenant is needed"},
		{idOf(byID) + " --tenant 8", exitFailed, "tenant 8 has no token " + idOf(byID)},
		{whole, exitOK, "revoked " + idOf(whole)},
		{whole, exitFailed, "token " + idOf(whole) + " was revoked before, at 20"},
		{idOf(byID) + " --tenant 7", exitOK, "revoked " + idOf(byID)},
		{byID + " --tenant 7", exitFailed, "was revoked before"},
	} {
		f := p.run(t, append([]string{"token", "revoke"}, strings.Fields(step.args)...)...)
		if f.code != step.code || !strings.Contains(f.out+f.errors, step.said) {
			t.Errorf("token revoke %s ends with %d: %s%s", step.args, f.code, f.out, f.errors)
		}
		if strings.Contains(f.out+f.errors, strings.Split(whole, "_")[3][:20]) {
			t.Errorf("token revoke %s shows the secret", step.args)
		}
	}
}

// However many make the keys at the same time, one makes them and all use them.
func TestKeysAreMadeOnce(t *testing.T) {
	t.Parallel()
	a, f := &app{Clock: time.Now}, folder{t.TempDir()}
	made := make([]string, 4)
	var group sync.WaitGroup
	for i := range made {
		group.Go(func() {
			keys, err := a.ensureSandboxKeys(f)
			if err != nil {
				t.Error(err)
				return
			}
			made[i] = keys.WeChatV3Key
		})
	}
	group.Wait()
	kept, err := f.sandboxKeys()
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range made {
		if key != kept.WeChatV3Key {
			t.Errorf("user %d of the keys has others than the file", i+1)
		}
	}
	if names, err := os.ReadDir(f.path); err != nil || len(names) != 1 {
		t.Errorf("beside the file: %v, %v", names, err)
	}
}

// A file that another process has made and not written yet is waited for; one that stays torn is an error that says
// what to do.
func TestKeysInWritingAreWaitedFor(t *testing.T) {
	t.Parallel()
	a, whole, torn := &app{Clock: time.Now}, folder{t.TempDir()}, folder{t.TempDir()}
	want, err := a.ensureSandboxKeys(whole)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(whole.file(keysFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(torn.file(keysFile), text[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ensureSandboxKeys(torn); err == nil || !strings.Contains(err.Error(), filepath.Base(keysFile)) ||
		!strings.Contains(err.Error(), "move it away") {
		t.Errorf("torn keys: %v", err)
	}
	written := make(chan error, 1)
	go func() {
		time.Sleep(200 * time.Millisecond)
		written <- os.WriteFile(torn.file(keysFile), text, 0o600)
	}()
	got, err := a.ensureSandboxKeys(torn)
	if err != nil || got.WeChatV3Key != want.WeChatV3Key {
		t.Errorf("keys in writing: %v", err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
}
