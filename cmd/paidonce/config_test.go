package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/sandbox"
)

// secretWord stands wherever a secret may stand; it must never come out.
const secretWord = "do-not-show-this-secret-to-anyone"

// Every mistake ends with exit code 2 and names file, line and column, and the line is shown without its secret. Each
// file in testdata/mistakes holds a configuration and, after ">>>", all that the program says.
func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, "keys", strings.Repeat("0", 32)+"\n")
	files, err := filepath.Glob("testdata/mistakes/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("only %d mistakes, %v", len(files), err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, want, _ := strings.Cut(string(content), ">>>\n")
		p.write(t, "c.yaml", text)
		f := p.run(t, "config", "check", "--config", "c.yaml")
		if f.code != exitUsage || f.errors != want || f.out != "" {
			t.Errorf("%s: exit %d\n%swant\n%s", file, f.code, f.errors, want)
		}
		if strings.Contains(f.out+f.errors, secretWord) {
			t.Errorf("%s: the secret is shown", file)
		}
	}
}

// Whatever a file holds, the program says that it is wrong; it never crashes.
func TestOddFilesAreRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, text := range []string{"# only a remark\n", "~", "[]", "x", "- a\n- b\n", "{", "\x00\xff", "a: &a [*a]\n",
		"---\n---\n", "accounts: x\n", "accounts: [x]\n", "accounts: [[]]\n", "accounts:\n", "accounts: [~]\n",
		"settlement: [{steps: [~]}]\n", "? [a]\n: b\n", "<<: {listen: x}\n", "\t\n", "accounts: [{public_keys: [~]}]\n"} {
		p.write(t, "c.yaml", text)
		if f := p.run(t, "config", "check", "--config", "c.yaml"); f.code != exitUsage ||
			!strings.HasPrefix(f.errors, "paidonce: c.yaml") {
			t.Errorf("%q ends with %d: %s", text, f.code, f.errors)
		}
	}
}

// example copies the annotated example into a folder, with the key files that it names.
func example(t *testing.T) *place {
	t.Helper()
	p := newPlace(t, "DB_PASSWORD="+secretWord, "WECHAT_V2_KEY=v2"+strings.Repeat("2", 30))
	text, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := sandbox.GenerateKeys(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"keys", "secrets"} {
		if err := os.Mkdir(filepath.Join(p.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"example.yaml": string(text),
		"keys/wechat-platform.pem": keys.WeChatCertificate, "keys/wechat-public.pem": keys.WeChatPublicKey,
		"keys/alipay-public.pem": keys.AlipayBareKey(), "keys/sqb-public.pem": keys.SQBPublicKey,
		"secrets/wechat-merchant-key.pem": keys.StrangerKey, "secrets/alipay-app-key.pem": keys.StrangerKey,
		"secrets/sqb-terminal-keys": "100006400000001 k" + strings.Repeat("6", 31) + "\n",
		"secrets/wechat-v2-next":    "v2" + strings.Repeat("5", 30) + "\n",
		"secrets/wechat-v3-keys":    "v3" + strings.Repeat("3", 30) + "\nv3" + strings.Repeat("4", 30) + "\n"} {
		p.write(t, name, content)
	}
	return p
}

func TestTheExampleIsRightAndItsSecretsStaySecret(t *testing.T) {
	t.Parallel()
	p := example(t)
	var accounts []checked
	p.read(t, &accounts, "config", "check", "--config", "example.yaml")
	if len(accounts) != 4 {
		t.Fatalf("config check lists %+v", accounts)
	}
	for i, want := range []checked{
		{"shop", "wechat", 1, "live", "/notify/wechat/shop", "2 public, 2 secret", true, 2},
		{"old-tills", "wechat-v2", 1, "live", "/notify/wechat-v2/old-tills", "0 public, 2 secret", true, 1},
		{"shop", "alipay", 1, "live", "/notify/alipay/shop", "1 public, 0 secret", true, 1},
		{"shop", "sqb", 2, "live", "/notify/sqb/shop", "1 public, 0 secret", true, 1},
	} {
		if accounts[i] != want {
			t.Errorf("config check says %+v, want %+v", accounts[i], want)
		}
	}
	printed := p.must(t, "config", "print", "--config", "example.yaml")
	for _, secret := range []string{secretWord, "v2222", "v2555", "v3333", "v3444", "k666"} {
		if strings.Contains(printed, secret) {
			t.Errorf("config print shows %s", secret)
		}
	}
	for _, shown := range []string{"url: postgres://paidonce@db.internal/paidonce\n", "data: data\n", "- \"***\"\n",
		"instance: counter-1\n", "rate: 0.38%\n"} {
		if !strings.Contains(printed, shown) {
			t.Errorf("config print does not show %q:\n%s", shown, printed)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(p.dir, "data")); err == nil {
		t.Errorf("looking at the configuration made %v", entries)
	}
}

// Faults on demand are for play: where an account is live, nothing may be told to fail.
func TestFaultsAreRefusedWhereMoneyIsReal(t *testing.T) {
	t.Parallel()
	p := example(t)
	p.env = append(p.env, "PAIDONCE_FAULTS=claimed:error:1", "PAIDONCE_DATABASE_URL=sqlite:x.db")
	f := p.run(t, "serve", "--config", "example.yaml", "--listen", "127.0.0.1:0")
	if f.code != exitUsage || !strings.Contains(f.errors, "PAIDONCE_FAULTS is for sandbox accounts only") {
		t.Errorf("exit %d: %s", f.code, f.errors)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "x.db")); err == nil {
		t.Error("the database was touched")
	}
}

// Live accounts get no ready-made token, and the banner says that they are live.
func TestALiveConfigurationServes(t *testing.T) {
	t.Parallel()
	p := example(t)
	s := p.serve(t, "--config", "example.yaml", "--database", "sqlite:live.db")
	if tokenText.MatchString(s.banner) || !strings.Contains(s.banner, "/notify/sqb/shop  (LIVE, tenant 2)") {
		t.Errorf("the banner says\n%s", s.banner)
	}
	if f := p.run(t, "sandbox", "pay", "--config", "example.yaml", "--channel", "sqb", "--order", "A1", "--amount", "1.00",
		"--url", s.url); f.code != exitUsage {
		t.Errorf("a sandbox payment of a live account ends with %d", f.code)
	}
	if code := s.end(t); code != exitOK {
		t.Errorf("the server ends with %d", code)
	}
}

// Flag before environment before file before default, and NAME_FILE instead of NAME.
func TestWhoHasTheLastWord(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, "keys", "01234567890123456789012345678901\n")
	p.write(t, "url", "postgres://u:"+secretWord+"@from-file/d\n")
	p.write(t, "c.yaml", `data: in-file
instance: in-file
accounts: [{name: shop, channel: wechat-v2, tenant: 1, mode: live, mch_id: m, app_ids: [a], api_keys_file: keys}]
`)
	for _, c := range []struct{ env, args, want string }{
		{"", "", "data: in-file\n"},
		{"", "", "listen: 127.0.0.1:8480\n"},
		{"PAIDONCE_DATA=in-env", "", "data: in-env\n"},
		{"PAIDONCE_DATA=in-env", "--data in-flag", "data: in-flag\n"},
		{"PAIDONCE_INSTANCE=in-env", "", "instance: in-env\n"},
		{"PAIDONCE_LISTEN=127.0.0.1:1", "", "listen: 127.0.0.1:1\n"},
		{"", "--data in-flag", "url: sqlite:in-flag/paidonce.db\n"},
		{"PAIDONCE_DATABASE_URL_FILE=url", "", "url: postgres://u@from-file/d\n"},
		{"PAIDONCE_DATABASE_URL_FILE=url", "--database sqlite:x", "url: sqlite:x\n"},
	} {
		p.env = []string{"PAIDONCE_CONFIG=c.yaml", c.env}
		out := p.must(t, append([]string{"config", "print"}, strings.Fields(c.args)...)...)
		if !strings.Contains(out, c.want) {
			t.Errorf("%s %s: %q is missing:\n%s", c.env, c.args, c.want, out)
		}
	}
	p.env = []string{"PAIDONCE_DATA=x", "PAIDONCE_DATA_FILE=url"}
	if f := p.run(t, "config", "print"); f.code != exitUsage {
		t.Errorf("a variable that is given twice ends with %d", f.code)
	}
}

// A mistake in a variable or a flag is named as such; the file, which is right, is not blamed.
func TestAMistakeIsNamedWhereItWasMade(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, "c.yaml", `listen: 127.0.0.1:0
instance: till
database: {url: "sqlite:c.db"}
accounts: [{name: shop, channel: sqb, tenant: 1, mode: sandbox}]
`)
	for _, c := range []struct{ env, args, want string }{
		{"PAIDONCE_LISTEN=nowhere", "config check", "PAIDONCE_LISTEN: must be HOST:PORT"},
		{"PAIDONCE_LISTEN=127.0.0.1:0", "serve --listen nowhere", "--listen: must be HOST:PORT"},
		{"PAIDONCE_INSTANCE=" + strings.Repeat("x", 65), "config check", "PAIDONCE_INSTANCE: must have at most 64 bytes"},
		{"", "serve --instance " + strings.Repeat("x", 65), "--instance: must have at most 64 bytes"},
		{"PAIDONCE_DATABASE_URL=oracle://" + secretWord, "config check", "PAIDONCE_DATABASE_URL: must be sqlite:PATH"},
		{"", "config check --database oracle://" + secretWord, "--database: must be sqlite:PATH"},
	} {
		p.env = []string{"PAIDONCE_CONFIG=c.yaml", c.env}
		f := p.run(t, strings.Fields(c.args)...)
		if f.code != exitUsage || !strings.HasPrefix(f.errors, "paidonce: "+c.want) ||
			strings.Contains(f.errors, secretWord) {
			t.Errorf("%s %s ends with %d: %s", c.env, c.args, f.code, f.errors)
		}
	}
}
