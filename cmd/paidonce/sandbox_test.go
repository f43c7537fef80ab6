package main

import (
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// told is what the tests read of why -o json.
type told struct {
	State       string     `json:"state"`
	Reason      string     `json:"reason"`
	Instance    string     `json:"instance"`
	Deliveries  []struct{} `json:"deliveries"`
	Bookings    []struct{} `json:"bookings"`
	Explanation string     `json:"explanation"`
}

// played is what the tests read of sandbox pay -o json.
type played struct {
	Key        string `json:"key"`
	Deliveries []struct {
		Answer string `json:"answer"`
	} `json:"deliveries"`
}

// ordered is what the tests read of orders show -o json.
type ordered struct {
	Order struct {
		State string `json:"state"`
	} `json:"order"`
	Payments []struct{} `json:"payments"`
}

func TestEveryChannelIsBookedOnceHoweverOftenItNotifies(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve(t, "--instance", "counter-7")
	for _, channel := range []string{"wechat", "wechat-v2", "alipay", "sqb"} {
		var pay played
		p.read(t, &pay, "sandbox", "pay", "--url", s.url, "--channel", channel, "--order", "A-"+channel, "--amount", "12.34",
			"--deliver", "4", "--parallel")
		p.must(t, "sandbox", "notify", "--url", s.url, "--order", "A-"+channel, "--deliver", "2")
		for _, d := range pay.Deliveries {
			if d.Answer != "held" {
				t.Errorf("%s: a delivery is %s", channel, d.Answer)
			}
		}
		var line told
		p.read(t, &line, "why", pay.Key, "--tenant", "1")
		if line.State != "finished" || len(line.Bookings) != 1 || len(line.Deliveries) != 6 {
			t.Errorf("%s: %s, %d bookings, %d deliveries", channel, line.State, len(line.Bookings), len(line.Deliveries))
		}
		if line.Instance != "counter-7" {
			t.Errorf("%s: it was booked by %q", channel, line.Instance)
		}
		table := p.must(t, "why", pay.Key, "--tenant", "1")
		if !strings.Contains(table, line.Explanation) || !strings.Contains(table, "delivery by notify: first") {
			t.Errorf("%s: why prints\n%s", channel, table)
		}
		var file ordered
		p.read(t, &file, "orders", "show", "A-"+channel, "--tenant", "1")
		if file.Order.State != "paid" || len(file.Payments) != 1 {
			t.Errorf("%s: the order is %s with %d payments", channel, file.Order.State, len(file.Payments))
		}
	}
	heads := filepath.Join(p.dir, "paidonce-data", headsFile)
	eventually(t, "the head of four bookings lies outside of the database", func() bool {
		list, err := readHeads(heads)
		return err == nil && len(list) == 1 && list[0].Tenant == 1 && list[0].Bookings == 4 && list[0].Digest != ""
	})
	if code := s.end(t); code != exitOK {
		t.Errorf("the server ends with %d", code)
	}
}

func TestOnlyAnHonestNotificationOfTheRightAmountIsBooked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve(t)
	pay := func(order string, more ...string) (pay played, line told, known bool) {
		p.read(t, &pay, append([]string{"sandbox", "pay", "--url", s.url, "--channel", "alipay", "--order", order,
			"--amount", "5.00"}, more...)...)
		if known = p.run(t, "why", pay.Key, "--tenant", "1").code == exitOK; known {
			p.read(t, &line, "why", pay.Key, "--tenant", "1")
		}
		return pay, line, known
	}
	if pay, _, known := pay("FORGED", "--bad-signature"); known || pay.Deliveries[0].Answer != "refused" {
		t.Errorf("forged: %+v, claimed %v", pay, known)
	}
	if pay, line, _ := pay("WRONG", "--wrong-amount"); line.State != "open" || line.Reason != "amount_mismatch" ||
		pay.Deliveries[0].Answer != "held" {
		t.Errorf("wrong amount: %+v %+v", pay, line)
	}
	early, line, _ := pay("EARLY", "--no-order")
	if line.State != "open" || len(line.Bookings) != 0 {
		t.Errorf("unknown order: %+v", line)
	}
	p.must(t, "orders", "create", "EARLY", "--tenant", "1", "--amount", "5.00")
	eventually(t, "the waiting payment is booked", func() bool {
		p.read(t, &line, "why", early.Key, "--tenant", "1")
		return line.State == "finished" && len(line.Bookings) == 1
	})
	dropped, _, _ := pay("DROPPED", "--drop-answer")
	p.must(t, "sandbox", "notify", "--url", s.url, "--order", "DROPPED")
	p.read(t, &line, "why", dropped.Key, "--tenant", "1")
	if len(line.Bookings) != 1 {
		t.Errorf("after a dropped answer: %+v", line)
	}
	if code := s.end(t); code != exitOK {
		t.Errorf("the server ends with %d", code)
	}
}

// The printed command is run by a shell in which curl only shows its arguments; the test then sends what they say.
func TestTheCurlCommandCarriesARealSignature(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve(t)
	text := p.must(t, "sandbox", "pay", "--url", s.url, "--channel", "sqb", "--order", "A1", "--amount", "0.01", "--curl")
	shown, err := exec.Command("sh", "-c", `curl() { printf '%s\000' "$@"; }; `+text).Output()
	if err != nil {
		t.Fatal(err)
	}
	arguments := strings.Split(strings.TrimSuffix(string(shown), "\x00"), "\x00")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/notify/sqb/sandbox", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, argument := range arguments[:len(arguments)-1] {
		switch argument {
		case "-H":
			name, value, _ := strings.Cut(arguments[i+1], ": ")
			request.Header.Set(name, value)
		case "--data-binary":
			request.Body = io.NopCloser(strings.NewReader(arguments[i+1]))
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || string(body) != "success" {
		t.Errorf("answered %d %q, %v", response.StatusCode, body, err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	if code := s.end(t); code != exitOK {
		t.Errorf("the server ends with %d", code)
	}
}

// A process that is killed between claim and booking leaves a durable claim behind, and the next start books it
// without another notification.
func TestAKilledServerFinishesAfterItsNextStart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	deadly := &place{p.dir, append(p.env, "PAIDONCE_FAULTS=claimed:kill:1000")}
	s := deadly.serve(t)
	f := p.run(t, "sandbox", "pay", "--url", s.url, "--channel", "wechat", "--order", "A1", "--amount", "3.00",
		"-o", "json")
	if f.code != exitFailed || !strings.Contains(f.out, `"answer": "none"`) {
		t.Fatalf("the payment ends with %d: %s%s", f.code, f.out, f.errors)
	}
	if code := s.wait(t); code != -1 {
		t.Fatalf("the server was not killed, it ends with %d", code)
	}
	key := f.out[strings.Index(f.out, "WECHAT:"):]
	key = key[:strings.IndexByte(key, '"')]
	var line told
	p.read(t, &line, "why", key, "--tenant", "1")
	if line.State != "open" || len(line.Bookings) != 0 {
		t.Fatalf("after the kill: %+v", line)
	}
	s = p.serve(t)
	soon(t, time.Minute, "the lease of the dead is over and the claim is booked", func() bool {
		p.read(t, &line, "why", key, "--tenant", "1")
		return line.State == "finished" && len(line.Bookings) == 1
	})
	if code := s.end(t); code != exitOK {
		t.Errorf("the server ends with %d", code)
	}
}
