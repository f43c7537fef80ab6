package sqb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/paidonce/paidonce/channel"
)

// maxKeyBytes is the longest terminal key that is taken; Shouqianba's have 32 characters.
const maxKeyBytes = 128

// ErrKeyUnsaved: a new terminal key has come but could not be saved, so it is not used. The next CheckIn saves it.
var ErrKeyUnsaved = errors.New("sqb: a new terminal key is not saved")

// KeyStore keeps the terminal keys across restarts.
type KeyStore interface {
	Keys
	// Previous returns the key that was in force before the present one, empty if there was none.
	Previous(ctx context.Context, terminalSN string) (string, error)
	// Save puts a key in force and keeps the one that it replaces as the previous one. A nil error means that both
	// are durable. Saving the key that is in force already changes nothing.
	Save(ctx context.Context, terminalSN, key string) error
}

// TerminalConfig is one terminal whose key is rotated.
type TerminalConfig struct {
	SN       string // terminal_sn
	DeviceID string // device_id, the one that the terminal was activated with
	Keys     KeyStore
	// HTTP, BaseURL and AllowHTTP are as in PayerConfig.
	HTTP      channel.Doer
	BaseURL   string
	AllowHTTP bool
}

// Terminal rotates the key of one terminal. It is safe for concurrent use, and one check-in runs at a time; across
// processes the host sees to it that only one of them checks a terminal in.
type Terminal struct {
	config TerminalConfig
	link   link
	turn   chan struct{} // holds one token: the right to check in, and to look at unsaved
	// unsaved is a key that Shouqianba has put in force but the store did not take.
	unsaved string
}

// NewTerminal checks the configuration; ErrConfig says what is missing.
func NewTerminal(c TerminalConfig) (*Terminal, error) {
	if !channel.ValidNumber(c.SN) || c.DeviceID == "" {
		return nil, fmt.Errorf("%w: a terminal needs its terminal_sn and device_id", ErrConfig)
	}
	if c.Keys == nil {
		return nil, fmt.Errorf("%w: no store of terminal keys", ErrConfig)
	}
	l, err := newLink(c.HTTP, c.BaseURL, c.AllowHTTP, c.Keys)
	if err != nil {
		return nil, err
	}
	t := &Terminal{config: c, link: l, turn: make(chan struct{}, 1)}
	t.turn <- struct{}{}
	return t, nil
}

// CheckIn asks for a new key and puts it in force. Shouqianba advises it before the first question of every day: a key
// is good for one calendar day (Shouqianba upay docs, check-in). The new key is durable before anything is signed with
// it, because the old one is dead from the moment that the new one was made.
//
// With ErrUnanswered the answer is lost: Shouqianba may have changed the key, and questions under the old one may now
// be refused. The store still holds the old key, and Shouqianba takes that for one more check-in, so CheckIn is simply
// called again. If that answer is lost too, Shouqianba's support has to help: CheckIn then returns ErrRefused. With
// ErrKeyUnsaved the new key is known to this Terminal only; the next call saves it and asks for none.
func (t *Terminal) CheckIn(ctx context.Context) error {
	select {
	case <-t.turn:
		defer func() { t.turn <- struct{}{} }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", channel.ErrUnanswered, ctx.Err())
	}
	if t.unsaved == "" {
		key, err := t.newKey(ctx)
		if err != nil {
			return err
		}
		t.unsaved = key
	}
	if err := t.config.Keys.Save(ctx, t.config.SN, t.unsaved); err != nil {
		return fmt.Errorf("%w: %w", ErrKeyUnsaved, err)
	}
	t.unsaved = ""
	return nil
}

// newKey makes the exchange, under the key in force or the previous one (see link.ask). Unlike other answers this one
// has no data and no code of its own in the second layer.
func (t *Terminal) newKey(ctx context.Context) (string, error) {
	r, err := t.link.ask(ctx, t.config.SN, "/terminal/checkin",
		map[string]string{"terminal_sn": t.config.SN, "device_id": t.config.DeviceID})
	if err != nil {
		return "", err
	}
	texts, err := r.biz.Texts("terminal_sn", "terminal_key")
	if err != nil || texts[0] != t.config.SN || !usableKey(texts[1]) {
		return "", fmt.Errorf("%w: no key for this terminal", channel.ErrUnanswered)
	}
	return texts[1], nil
}

func usableKey(key string) bool {
	visible := func(c rune) bool { return c > ' ' && c < 0x7f }
	return key != "" && len(key) <= maxKeyBytes && strings.IndexFunc(key, func(c rune) bool { return !visible(c) }) < 0
}
