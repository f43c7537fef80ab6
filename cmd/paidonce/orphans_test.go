package main

import (
	"strings"
	"testing"
	"time"
)

// A payment that fits nowhere is found, understood and decided with the command line alone.
func TestAPersonDecidesAboutWhatIsHeld(t *testing.T) {
	p := newPlace(t)
	s := p.serve(t)
	pay := func(args ...string) {
		t.Helper()
		p.must(t, append([]string{"sandbox", "pay", "--channel", "sqb", "--amount", "5", "--url", s.url}, args...)...)
	}
	pay("--order", "wrong-number", "--no-order")
	var held []struct{ Key, Reason, Needs string }
	p.read(t, &held, "orphans", "list", "--tenant", "1")
	if len(held) != 1 || held[0].Reason != "waiting_order" || held[0].Needs == "" {
		t.Fatalf("%+v", held)
	}
	key := held[0].Key
	if got := p.must(t, "orphans", "show", key, "--tenant", "1"); !strings.Contains(got, "held for waiting_order") {
		t.Fatal(got)
	}
	p.must(t, "orders", "create", "A1", "--tenant", "1", "--amount", "5")
	for name, test := range map[string]struct {
		args []string
		code int
		say  string
	}{
		"no reason": {[]string{"orphans", "link", key, "--tenant", "1", "--order", "A1"}, exitUsage, "--why"},
		"no order":  {[]string{"orphans", "link", key, "--tenant", "1", "--why", "x"}, exitUsage, "--order"},
		"no tenant": {[]string{"orphans", "retry", key, "--why", "x"}, exitUsage, "--tenant"},
		"not a key": {[]string{"orphans", "retry", "A1", "--tenant", "1", "--why", "x"}, exitUsage, "key"},
		"unknown key": {[]string{"orphans", "retry", "SQB:9:PAYMENT_RECEIVED", "--tenant", "1", "--why", "x"}, exitFailed,
			"never claimed"},
		"unknown order": {[]string{"orphans", "link", key, "--tenant", "1", "--order", "B", "--why", "x"}, exitFailed,
			"no order B"},
	} {
		if f := p.run(t, test.args...); f.code != test.code || !strings.Contains(f.errors, test.say) {
			t.Errorf("%s: %d %s", name, f.code, f.errors)
		}
	}
	p.must(t, "orphans", "link", key, "--tenant", "1", "--order", "A1", "--why", "typo at the till", "--actor", "li")
	if got := p.must(t, "why", key, "--tenant", "1"); !strings.Contains(got, "link by li") {
		t.Fatal(got)
	}
	pay("--order", "A1") // a second payment of the same order
	moveOutOfSuspense(t, p)
	if code := s.end(t); code != exitOK {
		t.Fatal(code)
	}
}

func moveOutOfSuspense(t *testing.T, p *place) {
	t.Helper()
	var lies []struct {
		TradeNo string `json:"trade_no"`
		Reason  string
	}
	p.read(t, &lies, "suspense", "list", "--tenant", "1")
	if len(lies) != 1 || lies[0].Reason != "already_paid" {
		t.Fatalf("%+v", lies)
	}
	p.must(t, "orders", "create", "A2", "--tenant", "1", "--amount", "5")
	move := []string{"suspense", "move", lies[0].TradeNo, "--tenant", "1", "--channel", "SQB", "--no", "m1", "--order",
		"A2", "--amount", "5", "--why", "meant for A2"}
	for _, want := range []string{"booked", "repeat"} {
		if got := p.must(t, move...); !strings.Contains(got, ": "+want) {
			t.Fatalf("want %s: %s", want, got)
		}
	}
	if got := p.must(t, "suspense", "list", "--tenant", "1"); !strings.Contains(got, "Nothing lies in suspense") {
		t.Fatal(got)
	}
	if got := p.must(t, "orders", "show", "A2", "--tenant", "1"); !strings.Contains(got, "paid") {
		t.Fatal(got)
	}
}

// An order whose callback never comes is paid all the same, because its channel is asked.
func TestASilentPaymentIsFoundByAsking(t *testing.T) {
	p := newPlace(t)
	s := p.serve(t)
	for _, channel := range []string{"wechat", "wechat-v2", "alipay", "sqb"} {
		if got := p.must(t, "sandbox", "pay", "--channel", channel, "--order", channel, "--amount", "5", "--silent", "--url",
			s.url); !strings.Contains(got, "no callback") {
			t.Fatal(got)
		}
	}
	for _, channel := range []string{"wechat", "wechat-v2", "alipay", "sqb"} {
		soon(t, 60*time.Second, channel+" is asked and its order paid", func() bool {
			var file struct{ Order struct{ State string } }
			p.read(t, &file, "orders", "show", channel, "--tenant", "1")
			return file.Order.State == "paid"
		})
	}
	if code := s.end(t); code != exitOK {
		t.Fatal(code)
	}
}
