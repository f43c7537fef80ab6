package channeltest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
)

// errPanic marks a Parse that panicked: it is a broken promise, not an answer.
var errPanic = errors.New("adapter panicked in Parse")

// parse runs Parse and checks what holds for every delivery whatever: no panic, a nil error with at least one valid
// result of this account, or an error of exactly one known reason that tells nothing. Its own complaint comes last.
func parse(tb testing.TB, s Subject, ch channel.Channel, r channel.Request) (channel.Parsed, error, error) {
	tb.Helper()
	parsed, err := parseCaught(tb, ch, r)
	if err != nil {
		if errors.Is(err, errPanic) {
			return channel.Parsed{}, err, err
		}
		if !reflect.DeepEqual(parsed, channel.Parsed{}) {
			return parsed, err, fmt.Errorf("a refused delivery still yields %d events and %d hints",
				len(parsed.Events), len(parsed.Hints))
		}
		if complaint := oneReason(err); complaint != nil {
			return parsed, err, complaint
		}
		return parsed, err, tellsNothing(s, err.Error(), r.Body)
	}
	if len(parsed.Events)+len(parsed.Hints) == 0 {
		return parsed, nil, errors.New("a nil error without any event or hint loses the delivery")
	}
	for _, event := range parsed.Events {
		if event.Kind.IsHint() {
			return parsed, nil, fmt.Errorf("%s is listed as an event, but is a hint", event.Kind)
		}
		if complaint := sound(s, event); complaint != nil {
			return parsed, nil, complaint
		}
	}
	for _, hint := range parsed.Hints {
		if !hint.Event.Kind.IsHint() {
			return parsed, nil, fmt.Errorf("%s is listed as a hint, but is an event", hint.Event.Kind)
		}
		if complaint := sound(s, hint.Event); complaint != nil {
			return parsed, nil, complaint
		}
	}
	return parsed, nil, nil
}

func parseCaught(tb testing.TB, ch channel.Channel, r channel.Request) (parsed channel.Parsed, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("%w: %v", errPanic, caught)
		}
	}()
	return ch.Parse(tb.Context(), r)
}

// reasons are the only ways to refuse a delivery.
func reasons() []error {
	return []error{channel.ErrForged, channel.ErrProbe, channel.ErrStale, channel.ErrMalformed, channel.ErrIdentity}
}

// oneReason complains unless err wraps exactly one of the reasons.
func oneReason(err error) error {
	count := 0
	for _, known := range reasons() {
		if errors.Is(err, known) {
			count++
		}
	}
	if count != 1 {
		return fmt.Errorf("refused with %d of the channel's reasons, want one: %q", count, err)
	}
	return nil
}

// sound reports what is wrong with an event or hint that left Parse.
func sound(s Subject, e channel.Event) error {
	if e.Tenant != s.Account.Tenant || e.Channel != s.Account.Channel || e.Account != s.Account.Name {
		return fmt.Errorf("tenant, channel and account are %d %q %q, not those of the account",
			e.Tenant, e.Channel, e.Account)
	}
	if err := e.Validate(); err != nil {
		return fmt.Errorf("%s is not valid: %w", e.Kind, err)
	}
	key, err := e.Key()
	if err != nil {
		return err
	}
	if _, err := gate.ParseKey(string(key)); err != nil {
		return fmt.Errorf("key %q: %w", key, err)
	}
	if key.Channel() != s.Account.Channel || key.Event() != string(e.Kind) {
		return fmt.Errorf("key %q does not name channel and kind", key)
	}
	for _, secret := range s.Secrets {
		if strings.Contains(e.Note, secret) {
			return errors.New("a note tells a secret")
		}
	}
	return nil
}

// tellsNothing complains if an error text holds a secret or anything of the body that identifies a person or a
// payment: a run of letters and digits that is at least six bytes long and has a digit in it. Names of fields are
// the documentation's, not the body's.
func tellsNothing(s Subject, text string, body []byte) error {
	for _, secret := range s.Secrets {
		if secret != "" && strings.Contains(text, secret) {
			return errors.New("an error text tells a secret")
		}
	}
	alphanumeric := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	split := func(r rune) bool { return !alphanumeric(r) }
	words := make(map[string]bool)
	for _, word := range strings.FieldsFunc(text, split) {
		words[word] = true
	}
	for _, word := range bytes.FieldsFunc(body, split) {
		if len(word) >= 6 && bytes.ContainsAny(word, "0123456789") && words[string(word)] {
			return fmt.Errorf("an error text repeats the body: %q", text)
		}
	}
	return nil
}

// only returns the single result of an authentic delivery, event or hint, and complains about everything else.
func only(tb testing.TB, s Subject, r channel.Request) (channel.Event, error) {
	tb.Helper()
	parsed, err, complaint := parse(tb, s, s.New(tb), r)
	if complaint != nil {
		return channel.Event{}, complaint
	}
	if err != nil {
		return channel.Event{}, fmt.Errorf("an authentic delivery was refused: %w", err)
	}
	if len(parsed.Events)+len(parsed.Hints) != 1 {
		return channel.Event{}, fmt.Errorf("want one event or hint, got %d and %d",
			len(parsed.Events), len(parsed.Hints))
	}
	if len(parsed.Hints) == 1 {
		return parsed.Hints[0].Event, nil
	}
	return parsed.Events[0], nil
}

// sameFact complains if two reports that must be one fact differ in key or digest.
func sameFact(a, b channel.Event) error {
	keyA, errA := a.Key()
	keyB, errB := b.Key()
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	if keyA != keyB {
		return fmt.Errorf("one fact has two keys: %q and %q", keyA, keyB)
	}
	if a.Digest() != b.Digest() {
		return fmt.Errorf("%q has two digests", keyA)
	}
	return nil
}
