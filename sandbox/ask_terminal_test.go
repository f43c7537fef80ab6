package sandbox_test

import (
	"slices"
	"testing"

	"github.com/paidonce/paidonce/sandbox"
)

const checkInBody = `{"terminal_sn":"100000330000001","device_id":"till-1"}`

// with asks with one terminal key.
func (m *merchant) with(key, path string) string {
	m.t.Helper()
	m.terminalKey = key
	if path == "/terminal/checkin" {
		return m.sqb(path, checkInBody).word
	}
	return m.sqb(path, `{"terminal_sn":"100000330000001","client_sn":"A-1"}`).word
}

// A check-in puts a new key in force and ends the old one, but for one repeated check-in while the new one is unused.
func TestTheTerminalKeyRotatesAtCheckIn(t *testing.T) {
	const ask, checkIn, refused, known = "/upay/v2/query", "/terminal/checkin", "400 ILLEGAL_SIGN", "SUCCESS SUCCESS PAID"
	for _, test := range []struct {
		name  string
		steps []step
	}{
		{"the new key replaces the old one", []step{{0, ask, known}, {0, checkIn, "1"}, {0, ask, refused}, {1, ask, known},
			{0, checkIn, refused}, {1, checkIn, "2"}, {2, ask, known}}},
		{"a lost answer is asked for again", []step{{0, checkIn, "1"}, {0, checkIn, "1"}, {1, ask, known},
			{0, checkIn, refused}}},
		{"but once only", []step{{0, checkIn, "1"}, {0, checkIn, "1"}, {0, checkIn, refused}, {0, ask, refused},
			{1, ask, known}}},
		{"a key of the future is none", []step{{0, ask, known}, {1, ask, refused}, {1, checkIn, refused}}},
	} {
		keys := newKeys(t)
		m := newMerchant(t, keys, 1)
		pay(t, m.box, sandbox.SQB, "A-1", 1)
		generations := generationsOf(t, keys)
		for i, step := range test.steps {
			want := step.want
			if step.path == checkIn && want != refused {
				want = generations[want[0]-'0']
			}
			if got := m.with(generations[step.key], step.path); got != want {
				t.Errorf("%s, step %d: %q, want %q", test.name, i+1, got, want)
			}
		}
	}
}

// step is a question signed with the key of a generation. A check-in wants the generation that it is told.
type step struct {
	key        int
	path, want string
}

// generationsOf are the first keys of the terminal, learnt from a box of its own.
func generationsOf(t *testing.T, keys *sandbox.Keys) []string {
	t.Helper()
	m := newMerchant(t, keys, 2)
	list := []string{keys.SQBTerminalKey}
	for range 2 {
		list = append(list, m.with(list[len(list)-1], "/terminal/checkin"))
		now, err := m.box.TerminalKey("shop")
		if err != nil || now != list[len(list)-1] || len(now) != 32 || slices.Contains(list[:len(list)-1], now) {
			t.Fatalf("in force is %q, told were %q, %v", now, list, err)
		}
	}
	return list
}

func TestALostCheckInChangesTheKeyAllTheSame(t *testing.T) {
	keys := newKeys(t)
	m := newMerchant(t, keys, 1)
	must(t, m.box.LoseCheckIns("shop", 1))
	if got := m.with(keys.SQBTerminalKey, "/terminal/checkin"); got != dropped {
		t.Fatalf("told %q", got)
	}
	now, err := m.box.TerminalKey("shop")
	must(t, err)
	if got := m.with(keys.SQBTerminalKey, "/upay/v2/query"); got != "400 ILLEGAL_SIGN" || now == keys.SQBTerminalKey {
		t.Errorf("the old key is answered %q", got)
	}
	if got := m.with(keys.SQBTerminalKey, "/terminal/checkin"); got != now {
		t.Errorf("asked again: %q, in force is another key", got)
	}
}

// A merchant keeps its key over a restart of the sandbox; the keys before it stay dead.
func TestARestartedSandboxKnowsTheKeysThatItGaveOut(t *testing.T) {
	keys := newKeys(t)
	generations := generationsOf(t, keys)
	m := newMerchant(t, keys, 1)
	pay(t, m.box, sandbox.SQB, "A-1", 1)
	for _, test := range []struct {
		key  int
		want string
	}{{2, "SUCCESS SUCCESS PAID"}, {1, "400 ILLEGAL_SIGN"}, {0, "400 ILLEGAL_SIGN"}, {2, "SUCCESS SUCCESS PAID"}} {
		if got := m.with(generations[test.key], "/upay/v2/query"); got != test.want {
			t.Errorf("key %d: %q, want %q", test.key, got, test.want)
		}
	}
}
