package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var tokenText = regexp.MustCompile(`pdo_\d+_\w{26}_[0-9a-f]{64}`)

// The first start needs nothing: no file, no flag but the port, no database.
func TestTheFirstStartNeedsNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve(t)
	for path, want := range map[string]string{"/healthz": "alive\n", "/readyz": "ready\n"} {
		if status, body := s.get(t, path, ""); status != http.StatusOK || body != want {
			t.Errorf("%s answers %d %q", path, status, body)
		}
	}
	for _, word := range []string{"SANDBOX", "/notify/wechat/sandbox ", "/notify/wechat-v2/sandbox-v2 ",
		"/notify/alipay/sandbox ", "/notify/sqb/sandbox ", "paidonce-data"} {
		if !strings.Contains(s.banner, word) {
			t.Errorf("the banner does not say %q:\n%s", word, s.banner)
		}
	}
	if tokenText.MatchString(s.banner) {
		t.Error("a token is written to where no person looks")
	}
	token := strings.TrimSpace(p.must(t, "token", "create", "--tenant", "1"))
	if status, body := s.get(t, "/v1/orders", token); status != http.StatusOK {
		t.Errorf("the first token is answered %d %s", status, body)
	}
	if status, _ := s.get(t, "/v1/orders", strings.Replace(token, "pdo_1_", "pdo_2_", 1)); status != 401 {
		t.Errorf("a changed token is answered %d", status)
	}
	if code := s.end(t); code != exitOK {
		t.Errorf("the server ends with %d", code)
	}
	if strings.Contains(s.log.String(), token) {
		t.Error("the log holds the token")
	}
}

func TestALaterStartKeepsKeys(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	keys := filepath.Join(p.dir, "paidonce-data", keysFile)
	var first []byte
	for start := range 2 {
		s := p.serve(t)
		if code := s.end(t); code != exitOK {
			t.Errorf("start %d ends with %d", start+1, code)
		}
		text, err := os.ReadFile(keys)
		if err != nil {
			t.Fatal(err)
		}
		if start == 1 && !bytes.Equal(text, first) {
			t.Error("the keys changed")
		}
		first = text
	}
	info, err := os.Stat(keys)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v", info.Mode(), err)
	}
}

// While it drains, the server says so to load balancers and still answers; a request that was begun before the end is
// answered, although its last bytes come after the signal.
func TestTheEndWaitsForWhatWasBegun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve(t, "--drain", "1s")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "POST /notify/sqb/sandbox HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nhalf")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server sees the request", func() bool {
		status, _ := s.get(t, "/readyz", "") // a later request that is answered: the earlier one was accepted
		return status == http.StatusOK
	})
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "readiness ends", func() bool {
		status, body := s.get(t, "/readyz", "")
		return status == http.StatusServiceUnavailable && body == "draining\n"
	})
	time.Sleep(1200 * time.Millisecond) // beyond the pause: the listener is closed now
	if late, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://")); err == nil {
		_ = late.Close()
		t.Error("a new connection is accepted after draining")
	}
	if _, err := io.WriteString(conn, "rest"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 500 ") || !strings.HasSuffix(string(answer), "fail") {
		t.Errorf("the half request is answered %q, %v", answer, err)
	}
	if code := s.wait(t); code != exitOK {
		t.Errorf("the server ends with %d", code)
	}
}

// The second of two servers on one address says so and leaves the first one alone.
func TestATakenAddressIsAFailure(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve(t)
	f := newPlace(t).run(t, "serve", "--listen", strings.TrimPrefix(s.url, "http://"))
	if f.code != exitFailed || strings.Count(f.errors, "in use") != 1 ||
		!strings.Contains(f.errors, "address already in use by another program") || !strings.Contains(f.errors, "--listen") {
		t.Errorf("it ends with %d: %s", f.code, f.errors)
	}
	if code := s.end(t); code != exitOK {
		t.Errorf("the server ends with %d", code)
	}
}

func TestTokensComeAndGo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve(t)
	token := strings.TrimSpace(p.must(t, "token", "create", "--tenant", "7", "--name", "till"))
	if tokenText.FindString(token) != token {
		t.Fatalf("token create prints %q", token)
	}
	status := func() int { code, _ := s.get(t, "/v1/trial-balance", token); return code }
	if got := status(); got != http.StatusOK {
		t.Errorf("the token is answered %d", got)
	}
	var listed []struct {
		ID   string `json:"token_id"`
		Name string `json:"name"`
	}
	p.read(t, &listed, "token", "list", "--tenant", "7")
	if len(listed) != 1 || listed[0].Name != "till" || !strings.Contains(token, listed[0].ID) {
		t.Fatalf("token list prints %+v", listed)
	}
	if table := p.must(t, "token", "list", "--tenant", "7"); strings.Contains(table, token[len(token)-64:]) {
		t.Error("token list prints the secret")
	}
	if f := p.run(t, "token", "revoke", listed[0].ID, "--tenant", "1"); f.code != exitFailed {
		t.Errorf("another tenant's revocation ends with %d", f.code)
	}
	p.must(t, "token", "revoke", listed[0].ID, "--tenant", "7")
	if got := status(); got != http.StatusUnauthorized {
		t.Errorf("the revoked token is answered %d", got)
	}
	if code := s.end(t); code != exitOK {
		t.Errorf("the server ends with %d", code)
	}
}

func TestMigrateOnceAndSayWhatIsThere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if f := p.run(t, "token", "list", "--tenant", "1"); f.code != exitFailed ||
		!strings.Contains(f.errors, "there is no database yet") {
		t.Errorf("without a database: %d %s", f.code, f.errors)
	}
	var states []struct {
		Name    string `json:"name"`
		Applied bool   `json:"applied"`
	}
	for _, want := range []bool{false, true} {
		p.read(t, &states, "migrate", "status")
		if len(states) < 10 {
			t.Fatalf("only %d migrations", len(states))
		}
		for _, state := range states {
			if state.Applied != want {
				t.Errorf("%s: applied is %v", state.Name, state.Applied)
			}
		}
		if f := p.run(t, "token", "list", "--tenant", "1"); (f.code == exitOK) != want {
			t.Errorf("migrated %v: token list ends with %d: %s", want, f.code, f.errors)
		}
		out := p.must(t, "migrate")
		if count := strings.Count(out, "applied "); !want && count != len(states) || want && out != "nothing to do\n" {
			t.Errorf("migrate prints %q", out)
		}
	}
}

func TestExitCodesAndStreams(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must(t, "migrate")
	for line, want := range map[string]int{
		"":                              exitOK,
		"help":                          exitOK,
		"version":                       exitOK,
		"serve --help":                  exitOK,
		"serv":                          exitUsage,
		"token":                         exitUsage,
		"token creat":                   exitUsage,
		"token create":                  exitUsage,
		"token list --tenant x":         exitUsage,
		"token list --tenant 1 -o yaml": exitUsage,
		"version extra":                 exitUsage,
		"why --tenant 1":                exitUsage,
		"why nonsense --tenant 1":       exitUsage,
		"config check --config no-file": exitUsage,
		"config check --database x:y":   exitUsage,
		"serve --listen nowhere":        exitUsage,
		"sandbox pay --channel sqb --order A1 --amount 1.234": exitUsage,
		"orders create A1 --tenant 1 --amount x":              exitUsage,
		"orders show A1 --tenant 1":                           exitFailed,
		"why SQB:1:PAYMENT_RECEIVED --tenant 1":               exitFailed,
		"token revoke x --tenant 1":                           exitUsage,
	} {
		f := p.run(t, strings.Fields(line)...)
		if f.code != want {
			t.Errorf("paidonce %s ends with %d, want %d\n%s", line, f.code, want, f.errors)
		}
		if complained := f.errors != ""; complained != (want != exitOK) {
			t.Errorf("paidonce %s: on the error stream %q", line, f.errors)
		}
		if strings.Contains(f.out+f.errors, "\x1b") {
			t.Errorf("paidonce %s colours a pipe", line)
		}
	}
	if help := p.must(t, "help"); !strings.Contains(help, "3  the command worked, and what it looked at is not intact") {
		t.Error("the help does not explain the exit codes")
	}
	if f := (&place{p.dir, []string{"PAIDONCE_LISTEN=" + fmt.Sprint(1)}}).run(t, "config", "check"); f.code != exitUsage {
		t.Errorf("a wrong variable ends with %d", f.code)
	}
}
