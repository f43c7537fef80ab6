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

// account is the beginning of a file with one account that lacks nothing but what a case adds.
const account = `accounts:
  - name: shop
    channel: wechat-v2
    tenant: 1
    mode: live
    mch_id: "1900000109"
    app_ids: [wx1]
`

// Every mistake ends with exit code 2 and names file, line and column, and the line is shown without its secret.
func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for name, c := range map[string]struct{ text, want string }{
		"an unknown key": {account + "    api_keyz: [" + secretWord + "]\n",
			"c.yaml:8:5: unknown field \"api_keyz\"\n    8 |     api_keyz: ***\n            ^\n"},
		"a misspelt key at the top": {"listn: 127.0.0.1:1\n",
			"c.yaml:1:1: unknown field \"listn\"\n    1 | listn: ***\n        ^\n"},
		"a key that is there twice": {account + "    tenant: 2\n",
			"c.yaml:8:5: mapping key \"tenant\" already defined at [4:5]\n    8 |     tenant: 2\n            ^\n"},
		"a word for a number": {strings.Replace(account, "tenant: 1", "tenant: one", 1), "c.yaml:4:13: cannot unmarshal " +
			"string into Go struct field config.Accounts of type int64\n    4 |     tenant: one\n                    ^\n"},
		"an alias by accident": {account + "    api_keys: [*" + secretWord + "]\n",
			"c.yaml:8:17: this value cannot be read\n    8 |     api_keys: ***\n                      ^\n"},
		"a quote that does not end": {account + "    api_keys: [\"" + secretWord + "]\n", "c.yaml:8:16: could not find end " +
			"character of double-quoted text\n    8 |     api_keys: ***\n                      ^\n"},
		"two documents": {account + "---\nlisten: x\n", "c.yaml:8:1: a configuration is one YAML document\n    8 | ---\n        ^\n"},
		"an empty file": {"", "c.yaml: accounts: no account is configured\n"},
		"a short secret": {account + "    api_keys: [short]\n", "c.yaml:2:5: accounts[0]: wechat: invalid configuration: API " +
			"key 1 does not have 32 characters\n    2 |   - name: shop\n            ^\n"},
		"an unset variable": {account + "    api_keys: [\"${NOWHERE}\"]\n", "c.yaml:8:16: accounts[0].api_keys[0]: the " +
			"environment variable NOWHERE is not set\n    8 |     api_keys: ***\n                      ^\n"},
		"a missing file": {account + "    api_keys_file: none\n", "c.yaml:8:20: accounts[0].api_keys_file: open none: no such " +
			"file or directory\n    8 |     api_keys_file: none\n                           ^\n"},
		"another channel's key": {account + "    terminal_sns: [\"1\"]\n", "c.yaml:8:19: accounts[0].terminal_sns: channel " +
			"wechat-v2 has no such key; it belongs to sqb\n    8 |     terminal_sns: [\"1\"]\n                          ^\n"},
		"an unknown channel": {strings.Replace(account, "wechat-v2", "paypal", 1), "c.yaml:3:14: accounts[0].channel: " +
			"\"paypal\" is none of wechat, wechat-v2, alipay, sqb\n    3 |     channel: paypal\n                     ^\n"},
		"an account without tenant": {strings.Replace(account, "    tenant: 1\n", "", 1), "c.yaml:2:5: accounts[0].tenant: " +
			"must be a positive number\n    2 |   - name: shop\n            ^\n"},
		"a database of no known kind": {account + "    api_keys_file: keys\ndatabase:\n  url: oracle://u:" + secretWord + "@h/d\n",
			"c.yaml:10:8: database.url: must be sqlite:PATH, mysql://USER:PASSWORD@HOST/NAME or postgres://…\n   10 |   " +
				"url: ***\n               ^\n"},
		"a rate without percent": {account + "    api_keys_file: keys\nsettlement:\n  - version: a\n    steps:\n" +
			"      - fee: { rate: '0.6', rounding: half_up, bearer: platform }\n", "c.yaml:12:9: settlement[0].steps[0]: money: " +
			"not a valid amount: rate \"0.6\" needs a % sign\n   12 |       - fee: ***\n                ^\n"},
		"a number that YAML reads in its own way": {strings.Replace(account, `"1900000109"`, "0170", 1), "c.yaml:6:13: put " +
			"this value into quotes\n    6 |     mch_id: 0170\n                    ^\n"},
		"a rate that is a number": {account + "settlement:\n  - version: a\n    steps:\n      - commission:\n" +
			"          rate: 0.6\n", "c.yaml:12:17: put this value into quotes\n   12 |           rate: 0.6\n" +
			"                        ^\n"},
		"a rule that fits no account": {account + "    api_keys_file: keys\nsettlement:\n  - version: a\n    tenant: 9\n" +
			"    steps: []\n", "c.yaml:10:5: settlement[0]: no account fits this rule, so it would never apply\n   10 |   " +
			"- version: a\n            ^\n"},
	} {
		p.write(t, "keys", strings.Repeat("0", 32)+"\n")
		p.write(t, "c.yaml", c.text)
		f := p.run(t, "config", "check", "--config", "c.yaml")
		if f.code != exitUsage || f.errors != "paidonce: "+c.want {
			t.Errorf("%s: exit %d\n%swant\n%s", name, f.code, f.errors, "paidonce: "+c.want)
		}
		if strings.Contains(f.out+f.errors, secretWord) {
			t.Errorf("%s: the secret is shown", name)
		}
	}
}

// Whatever a file holds, the program says that it is wrong; it never crashes.
func TestOddFilesAreRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, text := range []string{"# only a remark\n", "~", "[]", "x", "- a\n- b\n", "{", "\x00\xff", "a: &a [*a]\n", "---\n---\n",
		"accounts: x\n", "accounts: [x]\n", "accounts: [[]]\n", "accounts:\n", "accounts: [~]\n", "settlement: [{steps: [~]}]\n",
		"? [a]\n: b\n", "<<: {listen: x}\n", "\t\n", "accounts: [{public_keys: [~]}]\n"} {
		p.write(t, "c.yaml", text)
		if f := p.run(t, "config", "check", "--config", "c.yaml"); f.code != exitUsage ||
			!strings.HasPrefix(f.errors, "paidonce: c.yaml") {
			t.Errorf("%q ends with %d: %s", text, f.code, f.errors)
		}
	}
}

func TestAccountsThatMustNotMeet(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, "keys", strings.Repeat("0", 32)+"\n")
	one := account + "    api_keys_file: keys\n"
	another := strings.TrimPrefix(one, "accounts:\n")
	for name, c := range map[string]struct{ text, want string }{
		"live and sandbox": {one + strings.NewReplacer("shop", "play", "live", "sandbox").Replace(another),
			"sandbox and live accounts never run in one process"},
		"one name twice":          {one + another, `the name "shop" is taken by another account of channel WECHAT`},
		"one name in two tenants": {one + strings.Replace(another, "tenant: 1", "tenant: 2", 1), "is taken by another account"},
	} {
		p.write(t, "c.yaml", c.text)
		if f := p.run(t, "config", "check", "--config", "c.yaml"); f.code != exitUsage || !strings.Contains(f.errors, c.want) {
			t.Errorf("%s: exit %d %s", name, f.code, f.errors)
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
		"secrets/wechat-v3-keys": "v3" + strings.Repeat("3", 30) + "\nv3" + strings.Repeat("4", 30) + "\n"} {
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
		{"shop", "wechat", 1, "live", "/notify/wechat/shop", "2 public, 2 secret", 2},
		{"old-tills", "wechat-v2", 1, "live", "/notify/wechat-v2/old-tills", "0 public, 1 secret", 1},
		{"shop", "alipay", 1, "live", "/notify/alipay/shop", "1 public, 0 secret", 1},
		{"shop", "sqb", 2, "live", "/notify/sqb/shop", "1 public, 0 secret", 1},
	} {
		if accounts[i] != want {
			t.Errorf("config check says %+v, want %+v", accounts[i], want)
		}
	}
	printed := p.must(t, "config", "print", "--config", "example.yaml")
	for _, secret := range []string{secretWord, "v2222", "v3333", "v3444"} {
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
	p.write(t, "c.yaml", "data: in-file\ninstance: in-file\n"+account+"    api_keys_file: keys\n")
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
		if out := p.must(t, append([]string{"config", "print"}, strings.Fields(c.args)...)...); !strings.Contains(out, c.want) {
			t.Errorf("%s %s: %q is missing:\n%s", c.env, c.args, c.want, out)
		}
	}
	p.env = []string{"PAIDONCE_DATA=x", "PAIDONCE_DATA_FILE=url"}
	if f := p.run(t, "config", "print"); f.code != exitUsage {
		t.Errorf("a variable that is given twice ends with %d", f.code)
	}
}
