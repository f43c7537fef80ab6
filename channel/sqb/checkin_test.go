package sqb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/sqb"
)

// rotation is Shouqianba's side of the keys of one terminal: a check-in under the key in force, or once more under the
// one before, makes a new key, and the old one is dead for every other question.
type rotation struct {
	upay   *upay
	old    string
	repeat int    // check-ins under the old key
	made   int    // keys made so far
	lose   int    // answers that get lost from now on
	answer string // takes the place of a good answer
}

func newRotation() (*upay, *rotation) {
	u := newUpay()
	r := &rotation{upay: u}
	u.checkIn = r.checkIn
	return u, r
}

func (r *rotation) checkIn(sn, sign, body string) string {
	switch {
	case r.answer != "":
		return r.answer
	case sign == md5Hex(body+r.upay.keys[sn]):
		r.old, r.repeat = r.upay.keys[sn], 0
	case r.old != "" && sign == md5Hex(body+r.old) && r.repeat == 0:
		r.repeat++
	default:
		return illegalSign
	}
	r.made++
	r.upay.keys[sn] = fmt.Sprintf("key-%d", r.made)
	if r.lose > 0 {
		r.lose--
		return ""
	}
	return fmt.Sprintf(`{"result_code":"200","biz_response":{"terminal_sn":"%s","terminal_key":"%s"}}`, sn,
		r.upay.keys[sn])
}

// store keeps the keys of one terminal, newest last, and can be made to fail.
type store struct {
	mutex  sync.Mutex
	keys   []string
	broken error
}

func (s *store) Key(context.Context, string) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.keys[len(s.keys)-1], nil
}

func (s *store) Previous(context.Context, string) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.keys) < 2 {
		return "", nil
	}
	return s.keys[len(s.keys)-2], nil
}

func (s *store) Save(_ context.Context, _, key string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.broken != nil {
		return s.broken
	}
	if s.keys[len(s.keys)-1] != key {
		s.keys = append(s.keys, key)
	}
	return nil
}

// checkedIn is a terminal with its store, and a payer that reads the same store.
func checkedIn(t *testing.T, u *upay, s *store) (*sqb.Terminal, *sqb.Payer) {
	t.Helper()
	base := u.start(t)
	config := sqb.TerminalConfig{SN: terminal, DeviceID: "till-1", Keys: s, BaseURL: base, AllowHTTP: true}
	rotated, err := sqb.NewTerminal(config)
	if err != nil {
		t.Fatal(err)
	}
	payer, err := sqb.NewPayer(payerConfig(base, s, terminal))
	if err != nil {
		t.Fatal(err)
	}
	u.say(terminal, queryPath, order(t, "SUCCESS", nil))
	return rotated, payer
}

func mustPay(t *testing.T, payer *sqb.Payer) {
	t.Helper()
	answer, err := payer.Query(t.Context(), question())
	checkOutcome(t, answer, err, channel.StandingPaid, nil)
}

func TestACheckInPutsANewKeyInForce(t *testing.T) {
	u, _ := newRotation()
	s := &store{keys: []string{firstKey}}
	rotated, payer := checkedIn(t, u, s)
	for _, want := range [][]string{{firstKey, "key-1"}, {firstKey, "key-1", "key-2"}} {
		if err := rotated.CheckIn(t.Context()); err != nil || !slices.Equal(s.keys, want) {
			t.Fatalf("%v, keys %v, want %v", err, s.keys, want)
		}
		mustPay(t, payer)
	}
	const want = terminal + `/terminal/checkin{"device_id":"till-1","terminal_sn":"` + terminal + `"}`
	if asked := u.questions(); asked[0] != want {
		t.Fatalf("asked %s, want %s", asked[0], want)
	}
}

// The channel has switched and we never learned the key: questions fail, and one more check-in under the old key mends
// it. Nobody checks in by himself.
func TestALostAnswerIsMendedByOneMoreCheckIn(t *testing.T) {
	u, r := newRotation()
	s := &store{keys: []string{firstKey}}
	rotated, payer := checkedIn(t, u, s)
	r.lose = 1
	if err := rotated.CheckIn(t.Context()); !errors.Is(err, channel.ErrUnanswered) || len(s.keys) != 1 {
		t.Fatalf("%v, keys %v; want %v and the old key", err, s.keys, channel.ErrUnanswered)
	}
	answer, err := payer.Query(t.Context(), question())
	checkOutcome(t, answer, err, "", channel.ErrRefused)
	if r.made != 1 {
		t.Fatal("a question checked in by itself")
	}
	if err := rotated.CheckIn(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustPay(t, payer)
}

func TestTwoLostAnswersNeedAPerson(t *testing.T) {
	u, r := newRotation()
	rotated, _ := checkedIn(t, u, &store{keys: []string{firstKey}})
	r.lose = 2
	for _, want := range []error{channel.ErrUnanswered, channel.ErrUnanswered, channel.ErrRefused} {
		if err := rotated.CheckIn(t.Context()); !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
	}
}

// A key that is not durable is not used, and it is not lost either: Shouqianba would not make it again for ever.
func TestAKeyThatCouldNotBeSavedIsSavedByTheNextCheckIn(t *testing.T) {
	u, r := newRotation()
	full := errors.New("disk full")
	s := &store{keys: []string{firstKey}, broken: full}
	rotated, payer := checkedIn(t, u, s)
	for range 3 {
		err := rotated.CheckIn(t.Context())
		if !errors.Is(err, sqb.ErrKeyUnsaved) || !errors.Is(err, full) || strings.Contains(err.Error(), "key-1") {
			t.Fatalf("%v, want %v", err, sqb.ErrKeyUnsaved)
		}
	}
	answer, err := payer.Query(t.Context(), question())
	checkOutcome(t, answer, err, "", channel.ErrRefused)
	s.broken = nil
	if err := rotated.CheckIn(t.Context()); err != nil || r.made != 1 {
		t.Fatalf("%v after %d keys; want the first key saved", err, r.made)
	}
	mustPay(t, payer)
}

// Two instances have checked in, and the answer that came first was saved last: the key in force at Shouqianba is the
// store's previous one. Questions and the next check-in find it.
func TestTheOtherKeyIsTriedOnce(t *testing.T) {
	u, _ := newRotation()
	u.keys[terminal] = "newest"
	s := &store{keys: []string{"newest", "crossed"}}
	rotated, payer := checkedIn(t, u, s)
	mustPay(t, payer)
	if asked := u.questions(); len(asked) != 2 {
		t.Fatalf("asked %d times, want 2", len(asked))
	}
	if err := rotated.CheckIn(t.Context()); err != nil {
		t.Fatal(err)
	}
	u.questions()
	mustPay(t, payer)
	if asked := u.questions(); len(asked) != 1 {
		t.Fatalf("asked %d times after the check-in, want 1", len(asked))
	}
	s.keys = []string{"wrong", "also wrong"}
	answer, err := payer.Query(t.Context(), question())
	checkOutcome(t, answer, err, "", channel.ErrRefused)
	if asked := u.questions(); len(asked) != 2 {
		t.Fatalf("asked %d times under wrong keys, want 2", len(asked))
	}
	s.keys = []string{"wrong", "wrong"}
	_, err = payer.Query(t.Context(), question())
	if asked := u.questions(); len(asked) != 1 || !errors.Is(err, channel.ErrRefused) {
		t.Fatalf("asked %d times under one wrong key, want 1; %v", len(asked), err)
	}
}

// changing is a source whose key is rotated between two looks.
type changing struct {
	keys []string
	err  error
}

func (c *changing) Key(context.Context, string) (string, error) {
	key := c.keys[0]
	if len(c.keys) > 1 {
		c.keys = c.keys[1:]
	}
	return key, c.err
}

func TestAKeyRotatedMeanwhileIsReadAgain(t *testing.T) {
	u := newUpay()
	u.say(terminal, queryPath, order(t, "SUCCESS", nil))
	base := u.start(t)
	for _, test := range []struct {
		keys sqb.Keys
		want error
	}{
		{&changing{keys: []string{"old", firstKey}}, nil},
		{&changing{keys: []string{"old"}}, channel.ErrRefused},
		{&changing{keys: []string{"old", "older"}}, channel.ErrRefused},
		{&changing{keys: []string{""}, err: errors.New("store is down")}, channel.ErrUnanswered},
		{sqb.StaticKeys{}, channel.ErrRefused},
	} {
		payer, err := sqb.NewPayer(payerConfig(base, test.keys, terminal))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = payer.Query(t.Context(), question()); !errors.Is(err, test.want) {
			t.Errorf("%v: %v, want %v", test.keys, err, test.want)
		}
	}
}

func TestAnswersWithoutAKeyChangeNothing(t *testing.T) {
	u, r := newRotation()
	s := &store{keys: []string{firstKey}}
	rotated, _ := checkedIn(t, u, s)
	named := func(sn, key string) string {
		return fmt.Sprintf(`{"result_code":"200","biz_response":{"terminal_sn":"%s","terminal_key":"%s"}}`, sn, key)
	}
	for answer, want := range map[string]error{
		named(otherTerminal, "key"):               channel.ErrUnanswered,
		named(terminal, ""):                       channel.ErrUnanswered,
		named(terminal, "two words"):              channel.ErrUnanswered,
		named(terminal, `\n`):                     channel.ErrUnanswered,
		named(terminal, strings.Repeat("k", 129)): channel.ErrUnanswered,
		`{"result_code":"200"}`:                   channel.ErrUnanswered,
		`{"result_code":"500"}`:                   channel.ErrUnanswered,
		illegalSign:                               channel.ErrRefused,
	} {
		r.answer = answer
		if err := rotated.CheckIn(t.Context()); !errors.Is(err, want) || len(s.keys) != 1 {
			t.Errorf("%s: %v, keys %v; want %v", answer, err, s.keys, want)
		}
	}
}

// Check-ins at once run one after the other, so that none of them kills another's key.
func TestOneCheckInAtATime(t *testing.T) {
	u, r := newRotation()
	s := &store{keys: []string{firstKey}}
	rotated, payer := checkedIn(t, u, s)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := rotated.CheckIn(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if r.made != 8 || len(s.keys) != 9 {
		t.Fatalf("%d keys made, %d kept", r.made, len(s.keys))
	}
	mustPay(t, payer)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := rotated.CheckIn(ctx); !errors.Is(err, channel.ErrUnanswered) || !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want %v", err, channel.ErrUnanswered)
	}
}

func TestTerminalsThatCannotWorkAreRefused(t *testing.T) {
	good := sqb.TerminalConfig{SN: terminal, DeviceID: "till-1", Keys: &store{}}
	if _, err := sqb.NewTerminal(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*sqb.TerminalConfig){
		"no terminal": func(c *sqb.TerminalConfig) { c.SN = "" },
		"no device":   func(c *sqb.TerminalConfig) { c.DeviceID = "" },
		"no store":    func(c *sqb.TerminalConfig) { c.Keys = nil },
		"no TLS":      func(c *sqb.TerminalConfig) { c.BaseURL = "http://api.example" },
	} {
		c := good
		change(&c)
		if _, err := sqb.NewTerminal(c); !errors.Is(err, sqb.ErrConfig) {
			t.Errorf("%s: %v, want %v", name, err, sqb.ErrConfig)
		}
	}
}
