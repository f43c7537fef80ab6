package main

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shouqianba answers check-ins: every one under the key in force makes the next key.
type shouqianba struct {
	mu   sync.Mutex
	keys []string
	lose bool // make the key, and answer nothing
	asks int
}

// made tells the keys so far and how many questions there were.
func (s *shouqianba) made() (keys []string, asks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.keys), s.asks
}

func (s *shouqianba) loseAnswers(lose bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = lose
}

func (s *shouqianba) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks++
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	answer := map[string]any{"result_code": "400", "error_code": "ILLEGAL_SIGN"}
	for i := max(len(s.keys)-2, 0); i < len(s.keys); i++ { // the one before is good for one more check-in
		sum := md5.Sum(append(body, s.keys[i]...))
		signed := r.Header.Get("Authorization") == "100006400000001 "+hex.EncodeToString(sum[:])
		if signed && r.URL.Path == "/terminal/checkin" {
			s.keys = append(s.keys, strings.Repeat(string(rune('a'+len(s.keys))), 32))
			answer = map[string]any{"result_code": "200", "biz_response": map[string]string{
				"terminal_sn": "100006400000001", "terminal_key": s.keys[len(s.keys)-1]}}
			break
		}
	}
	if s.lose {
		panic(http.ErrAbortHandler)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// A new terminal key is on the disk before it is used, with the one before beside it, and a lost answer is mended by
// the same command.
func TestATerminalIsCheckedIn(t *testing.T) {
	channel := &shouqianba{keys: []string{strings.Repeat("a", 32)}}
	web := httptest.NewServer(channel)
	defer web.Close()
	p := newPlace(t)
	p.write(t, "keys.txt", "# of the till at the door\n100006400000001 "+channel.keys[0]+"\n")
	p.write(t, "c.yaml", `
accounts:
  - {name: shop, channel: sqb, tenant: 1, mode: sandbox, terminal_sns: ["100006400000001"],
     ask: {url: "`+web.URL+`", terminal_keys_file: keys.txt}}
`)
	checkin := []string{"terminal", "checkin", "100006400000001", "--device-id", "till-1", "--config", "c.yaml"}
	p.must(t, checkin...)
	channel.loseAnswers(true)
	f := p.run(t, checkin...)
	keys, _ := channel.made()
	if f.code != exitFailed || !strings.Contains(f.errors, "run the same command again") ||
		strings.Contains(f.errors, keys[1]) {
		t.Fatalf("a lost answer: %d %s", f.code, f.errors)
	}
	channel.loseAnswers(false)
	if got := p.must(t, checkin...); !strings.Contains(got, "is checked in") {
		t.Fatal(got)
	}
	text, err := os.ReadFile(p.dir + "/keys.txt")
	keys, asked := channel.made()
	want := "100006400000001 " + keys[len(keys)-1] + " " + strings.Repeat("b", 32) + "\n"
	if err != nil || string(text) != want {
		t.Fatalf("the file holds %q, want %q, %v", text, want, err)
	}
	if info, err := os.Stat(p.dir + "/keys.txt"); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	for name, args := range map[string][]string{
		"no device":      {"terminal", "checkin", "100006400000001", "--config", "c.yaml"},
		"other terminal": {"terminal", "checkin", "1", "--device-id", "x", "--config", "c.yaml"},
		"no ask section": {"terminal", "checkin", "100006400000001", "--device-id", "x"},
	} {
		f := p.run(t, args...)
		if _, asks := channel.made(); f.code != exitUsage || asks != asked {
			t.Errorf("%s: %d %s", name, f.code, f.errors)
		}
	}
}

// Mistakes in what is needed to ask are found at the start, at their line, without showing a key.
func TestAnAskSectionThatCannotWorkIsRefused(t *testing.T) {
	p := newPlace(t)
	if code := p.serve(t).end(t); code != exitOK { // makes the keys of the data folder
		t.Fatal(code)
	}
	p.write(t, "keys.txt", "100006400000001\n")
	p.write(t, "none.pem", "secretsecretsecret")
	const sqb = "accounts:\n  - {name: shop, channel: sqb, tenant: 1, mode: sandbox, terminal_sns: [\"1\"],\n     ask: "
	const alipay = "accounts:\n  - {name: shop, channel: alipay, tenant: 1, mode: sandbox, app_id: \"1\", " +
		"seller_ids: [\"2\"],\n     ask: "
	for name, test := range map[string]struct{ text, say string }{
		"no keys":       {sqb + "{}}\n", "needs terminal_keys_file"},
		"broken keys":   {sqb + "{terminal_keys_file: keys.txt}}\n", "must hold lines of"},
		"foreign key":   {sqb + "{serial_no: \"1\", terminal_keys_file: keys.txt}}\n", "belongs to wechat"},
		"no file":       {alipay + "{private_key_file: nowhere.pem}}\n", "nowhere.pem"},
		"no key inside": {alipay + "{private_key_file: none.pem}}\n", "not a usable private key"},
		"too soon":      {"ask: {after: 10ms}\n", "at least 1s"},
		"metrics":       {"metrics: 127.0.0.1\n", "HOST:PORT"},
	} {
		p.write(t, "c.yaml", test.text)
		f := p.run(t, "config", "check", "--config", "c.yaml")
		if f.code != exitUsage || !strings.Contains(f.errors, test.say) || strings.Contains(f.errors, "secretsecret") {
			t.Errorf("%s: %d %s", name, f.code, f.errors)
		}
	}
}
