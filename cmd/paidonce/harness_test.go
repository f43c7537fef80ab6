package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These tests start the real program: this test binary, which becomes the program when the variable below is set.
const beTheProgram = "PAIDONCE_TEST_BE_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(beTheProgram) == "1" {
		main()
	}
	os.Exit(m.Run())
}

// place is a folder in which the program is started, with an environment of its own.
type place struct {
	dir string
	env []string
}

func newPlace(t *testing.T, env ...string) *place {
	t.Helper()
	return &place{dir: t.TempDir(), env: env}
}

func (p *place) command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Dir = p.dir
	c.Env = append([]string{beTheProgram + "=1", "HOME=" + p.dir}, p.env...)
	return c
}

// finished is what a command left behind.
type finished struct {
	code        int
	out, errors string
}

// run starts a command and waits for its end.
func (p *place) run(t *testing.T, args ...string) finished {
	t.Helper()
	var out, complaints bytes.Buffer
	c := p.command(args...)
	c.Stdout, c.Stderr = &out, &complaints
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return finished{c.ProcessState.ExitCode(), out.String(), complaints.String()}
}

// must runs a command that has to succeed, and returns its output.
func (p *place) must(t *testing.T, args ...string) string {
	t.Helper()
	f := p.run(t, args...)
	if f.code != exitOK {
		t.Fatalf("paidonce %s ends with %d\n%s%s", strings.Join(args, " "), f.code, f.out, f.errors)
	}
	return f.out
}

// read runs a command with -o json and decodes what it prints.
func (p *place) read(t *testing.T, target any, args ...string) {
	t.Helper()
	if err := json.Unmarshal([]byte(p.must(t, append(args, "-o", "json")...)), target); err != nil {
		t.Fatalf("paidonce %s: %v", strings.Join(args, " "), err)
	}
}

func (p *place) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(p.dir+"/"+name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serving is a running serve.
type serving struct {
	url    string
	banner string
	log    *bytes.Buffer // read it only after the end
	cmd    *exec.Cmd
}

var bannerAddress = regexp.MustCompile(`listens at (http://\S+)`)

// serve starts the server on a free port and waits for its banner.
func (p *place) serve(t *testing.T, args ...string) *serving {
	t.Helper()
	s := &serving{log: &bytes.Buffer{}, cmd: p.command(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for !strings.Contains(s.banner, "New token:") && lines.Scan() {
		s.banner += lines.Text() + "\n"
	}
	found := bannerAddress.FindStringSubmatch(s.banner)
	if found == nil {
		_ = s.cmd.Wait()
		t.Fatalf("serve does not begin: %s\n%s", s.banner, s.log)
	}
	s.url = found[1]
	return s
}

// end asks the server to end and returns its exit code.
func (s *serving) end(t *testing.T) int {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return s.wait(t)
}

// wait waits for the server's end; -1 means that a signal ended it.
func (s *serving) wait(t *testing.T) int {
	t.Helper()
	late := time.AfterFunc(30*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	var exit *exec.ExitError
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

// get asks the server and returns status and body.
func (s *serving) get(t *testing.T, path, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// eventually waits for what background work brings about.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	soon(t, 20*time.Second, what, done)
}

func soon(t *testing.T, limit time.Duration, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in %s it did not happen that %s", limit, what)
		}
	}
}
