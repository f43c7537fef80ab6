package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/store"
)

// shell runs a command line as a person would paste it.
func (p *place) shell(t *testing.T, line string) string {
	t.Helper()
	c := exec.Command("sh", "-c", line)
	c.Dir, c.Env = p.dir, p.command().Env
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// lineOf is what follows a word in the lines of a text.
func lineOf(t *testing.T, text, word string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), word); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatalf("no line begins with %q:\n%s", word, text)
	return ""
}

func TestErrorsAreForPeople(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"store: token is not valid":                          "token is not valid",
		"SQB:1:PAYMENT_RECEIVED: store: gate: no such claim": "SQB:1:PAYMENT_RECEIVED: no such claim",
		"c.yaml:1:1: wechat: bad\n    1 | order: x\n    ^":   "c.yaml:1:1: bad\n    1 | order: x\n    ^",
		"database: must be sqlite:PATH":                      "database: must be sqlite:PATH",
		"accounts[0].channel: \"x\" is none":                 "accounts[0].channel: \"x\" is none",
		"a\nmigrate: b":                                      "a\nb",
	} {
		if got := inWords(errors.New(text)); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	for _, err := range []error{store.ErrToken, gate.ErrKey, gate.ErrNoClaim} {
		if got := inWords(fmt.Errorf("x: %w", err)); strings.Contains(got, "store:") || strings.Contains(got, "gate:") {
			t.Errorf("%q names a package", got)
		}
	}
}

// Whoever gives a flag wrongly or forgets it reads its name and what it takes.
func TestAMistakeOnTheCommandLineSaysWhatToGive(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must(t, "migrate")
	for line, want := range map[string]string{
		"sandbox pay":                                    "--order is needed: the order's number, like --order A1",
		"sandbox pay --order A1":                         "--channel is needed",
		"sandbox pay --order A1 --channel sqb":           "--amount is needed: a decimal amount, like --amount 12.34",
		"sandbox pay --order A --channel sqb --amount x": `--amount: not a valid amount`,
		"orders create A1 --tenant 1":                    "--amount is needed",
		"token list":                                     "--tenant is needed: whose books, a whole number from 1",
		"token list --tenant x":                          `invalid argument "x" for "--tenant": it takes a whole number`,
		"token list --tenant 1 -o yaml":                  "it must be table or json",
		"token list --tenant 1 --json=x":                 "it is true or false",
		"serve --drain x":                                "it takes a duration like 10s or 2m",
		"serve --listen :99999":                          `--listen: must be HOST:PORT with a port from 0 to 65535`,
		"serve --listen :-1":                             `--listen: must be HOST:PORT with a port from 0 to 65535`,
		"serve --nonsense":                               "unknown flag: --nonsense",
		"token revoke x --tenant 1":                      "this is neither a token nor the id of one",
		"why nonsense --tenant 1":                        "not a valid key: want CHANNEL:number:EVENT",
	} {
		f := p.run(t, strings.Fields(line)...)
		if f.code != exitUsage || !strings.Contains(f.errors, want) || strings.Contains(f.errors, "strconv") {
			t.Errorf("paidonce %s ends with %d: %s", line, f.code, f.errors)
		}
	}
}

// A database that is down is named with its host and without its password, and so is what to look at.
func TestADatabaseThatIsDownIsNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"postgres", "mysql"} {
		url := scheme + "://u:" + secretWord + "@" + address + "/d"
		p.write(t, "c.yaml", "database: {url: \""+url+"\"}\n"+
			"accounts: [{name: shop, channel: sqb, tenant: 1, mode: sandbox, terminal_sns: [\"1\"]}]\n")
		want := "paidonce: the database " + scheme + "://u@" + address + "/d could not be reached: connection refused. " +
			"Check that it runs, and host and port in "
		for line, setting := range map[string]string{"migrate --database " + url: "--database",
			"serve --database " + url: "--database", "token list --tenant 1 --config c.yaml": "database of c.yaml"} {
			f := p.run(t, strings.Fields(line)...)
			if f.code != exitFailed || f.errors != want+setting+"\n" {
				t.Errorf("%.12s ends with %d: %s", line, f.code, f.errors)
			}
		}
	}
}

// Two names for one form: everything that can be read by a program is asked for in either way.
func TestJSONIsAskedForInTwoWays(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must(t, "migrate")
	for _, line := range []string{"migrate status", "config check", "token list --tenant 1", "ledger verify"} {
		one := p.must(t, append(strings.Fields(line), "-o", "json")...)
		other := p.must(t, append(strings.Fields(line), "--json")...)
		if one != other || !json.Valid([]byte(one)) {
			t.Errorf("%s prints %q and %q", line, one, other)
		}
	}
	for _, flag := range []string{"--json", "-o"} {
		if help := p.must(t, "demo", "--help"); !strings.Contains(help, flag) {
			t.Errorf("demo has no %s", flag)
		}
	}
}

// The commands that the program suggests run as they are printed, in whatever way it was told what to look at.
func TestSuggestedCommandsWorkAsPrinted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, "my c.yaml", `accounts:
  - {name: one, channel: sqb, tenant: 3, mode: sandbox, terminal_sns: ["1"]}
  - {name: two, channel: sqb, tenant: 3, mode: sandbox, terminal_sns: ["2"]}
`)
	s := p.serve(t, "--config", "my c.yaml", "--data", "my data", "--database", "sqlite:my books.db")
	if token := p.shell(t, lineOf(t, s.banner, "New token:")); tokenText.FindString(token) == "" {
		t.Errorf("the command for a token prints %q", token)
	}
	paid := p.shell(t, lineOf(t, s.banner, "Pay one:"))
	if !strings.Contains(paid, "held") {
		t.Fatalf("the command for a payment prints %q", paid)
	}
	why := paid[strings.LastIndex(strings.TrimSpace(paid), "\n"):]
	if life := p.shell(t, why); !strings.Contains(life, "finished: booked") {
		t.Errorf("%s prints %q", why, life)
	}
	if code := s.end(t); code != exitOK {
		t.Errorf("the server ends with %d", code)
	}
}

// Where nobody answered there may be no event to ask about; the delivery is worth repeating.
func TestADeliveryWithoutAnAnswerIsToBeRepeated(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve(t)
	if code := s.end(t); code != exitOK {
		t.Fatalf("the server ends with %d", code)
	}
	f := p.run(t, "sandbox", "pay", "--channel", "sqb", "--order", "A1", "--amount", "1.00", "--url", s.url)
	if f.code != exitFailed || strings.Contains(f.out, " why ") {
		t.Errorf("it ends with %d: %s", f.code, f.out)
	}
	again := p.serve(t)
	command := lineOf(t, f.out, os.Args[0])
	command = os.Args[0] + " " + strings.Replace(command, s.url, again.url, 1)
	if out := p.shell(t, command); !strings.Contains(out, "held") || !strings.Contains(out, " why SQB:") {
		t.Errorf("%s prints %s", command, out)
	}
	f = p.run(t, "sandbox", "notify", "--order", "A1", "--bad-signature", "--url", again.url)
	if f.code != exitOK || strings.Contains(f.out, " why ") {
		t.Errorf("a forged delivery ends with %d: %s", f.code, f.out)
	}
	if code := again.end(t); code != exitOK {
		t.Errorf("the server ends with %d", code)
	}
}

// Only an error that says "not there" means that something is not there.
func TestWhatMayNotBeReadIsNotCalledAbsent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must(t, "migrate")
	p.write(t, "file", "")
	// A path through a file fails with "not a directory", for root as for anybody.
	for _, line := range []string{"token list --tenant 1 --database sqlite:file/x.db",
		"sandbox pay --channel sqb --order A1 --amount 1.00 --data file"} {
		f := p.run(t, strings.Fields(line)...)
		if f.code != exitFailed || !strings.Contains(f.errors, "not a directory") ||
			strings.Contains(f.errors, "no database yet") || strings.Contains(f.errors, "start paidonce serve first") {
			t.Errorf("paidonce %s ends with %d: %s", line, f.code, f.errors)
		}
	}
	if _, err := (folder{filepath.Join(p.dir, "file")}).recallPayment("", "", "A1"); err == nil ||
		strings.Contains(err.Error(), "nothing was paid") {
		t.Errorf("payments that may not be read: %v", err)
	}
}

func TestADatabaseThatOthersMayReadIsWarnedOf(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must(t, "migrate", "--database", "sqlite:open.db")
	if info, err := os.Stat(p.dir + "/open.db"); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the new file: %v, %v", info, err)
	}
	if err := os.Chmod(p.dir+"/open.db", 0o644); err != nil {
		t.Fatal(err)
	}
	s := p.serve(t, "--database", "sqlite:open.db")
	if code := s.end(t); code != exitOK {
		t.Errorf("the server ends with %d", code)
	}
	if !bytes.Contains(s.log.Bytes(), []byte(`"level":"WARN","msg":"users other than the owner may read the database"`)) {
		t.Errorf("nobody is warned:\n%s", s.log)
	}
}
