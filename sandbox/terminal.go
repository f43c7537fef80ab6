package sandbox

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// terminal is where a Shouqianba terminal's key stands. A check-in puts the next key in force, and the old one dies,
// but for one more check-in as long as the new one has not been used: that repairs a lost answer once, and a second
// lost answer is a matter for Shouqianba's people (upay docs, check-in). Keys do not expire by the day here.
type terminal struct {
	generation int
	known      bool // false until the first good signature after the start tells the generation
	fresh      bool // the present key has not been used
	repeated   bool // the old key has had its one repeated check-in
	repeat     bool // the check-in at hand is that one
	lose       int  // answers of check-ins that will get lost
}

// mostCheckIns is up to which generation a key is recognised after a restart.
const mostCheckIns = 2000

// TerminalKey is the key that is in force for an account's terminal: what its configuration starts from, and what a
// merchant must have after each check-in.
func (s *Sandbox) TerminalKey(account string) (string, error) {
	a, err := s.account(SQB, account)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.terminalKey(a.TerminalSN, s.terminal(a.TerminalSN).generation), nil
}

// LoseCheckIns drops the answers of an account's next n check-ins. The key changes all the same.
func (s *Sandbox) LoseCheckIns(account string, n int) error {
	a, err := s.account(SQB, account)
	if err != nil {
		return err
	}
	if n < 0 {
		return fmt.Errorf("%w: fewer than no check-ins", ErrRequest)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terminal(a.TerminalSN).lose = n
	return nil
}

// terminal finds or makes a terminal. The caller holds the lock.
func (s *Sandbox) terminal(sn string) *terminal {
	if s.terminals[sn] == nil {
		s.terminals[sn] = &terminal{}
	}
	return s.terminals[sn]
}

// terminalKey derives the key of a generation from the first one, so that a restarted sandbox knows the keys that it
// gave out before.
func (s *Sandbox) terminalKey(sn string, generation int) string {
	if generation == 0 {
		return s.keys.SQBTerminalKey
	}
	mac := hmac.New(sha256.New, []byte(s.keys.SQBTerminalKey))
	fmt.Fprintf(mac, "%s\n%d", sn, generation)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// terminalSigned checks the MD5 over body and terminal_key, and notes that a new key was used. The caller holds the
// lock.
func (s *Sandbox) terminalSigned(sn string, body []byte, sign string, checkIn bool) bool {
	t := s.terminal(sn)
	by := func(generation int) bool {
		sum := md5.Sum(append(append([]byte(nil), body...), s.terminalKey(sn, generation)...))
		return hmac.Equal([]byte(hex.EncodeToString(sum[:])), []byte(sign))
	}
	for g := 0; !t.known && g <= mostCheckIns; g++ {
		if by(g) {
			t.generation, t.known = g, true
		}
	}
	t.repeat = false
	switch {
	case !t.known:
		return false
	case by(t.generation):
		t.fresh = false
		return true
	case checkIn && t.fresh && !t.repeated && by(t.generation-1):
		t.repeat, t.repeated = true, true
		return true
	}
	return false
}

// checkIn puts the next key in force and returns it; a repeated check-in gets the key of the one whose answer was
// lost. The caller holds the lock.
func (s *Sandbox) checkIn(sn string) (key string, lost bool) {
	t := s.terminal(sn)
	if !t.repeat {
		t.generation++
		t.fresh, t.repeated = true, false
	}
	if t.lose > 0 {
		t.lose--
		lost = true
	}
	return s.terminalKey(sn, t.generation), lost
}
