package gate

import (
	"errors"
	"fmt"
	"strings"
)

// MaxKeyBytes is the longest key that the claim table holds. A longer one is refused, never cut: two long keys
// that agree in their first bytes would otherwise become one.
const MaxKeyBytes = 191

// ErrKey: a key cannot be made or read: an empty part, a byte outside the alphabet, or too long.
var ErrKey = errors.New("gate: not a valid key")

// Key names one economic fact: CHANNEL:bizNo:EVENT, for example
// "WECHAT:4200001234202612010000000001:PAYMENT_RECEIVED". Keys are compared byte by byte; nothing about them is
// ever folded, trimmed or normalised.
type Key string

// NewKey builds a key. The channel is a capital code ("WECHAT"), the event a capital word
// ("PAYMENT_RECEIVED"), and bizNo the channel's own number of the fact in one or more components. Each component
// is percent-encoded by itself outside [0-9A-Za-z_.*|@-], so that no two different component lists share a key.
func NewKey(channel, event string, bizNo ...string) (Key, error) {
	if !word(channel) || !word(event) {
		return "", fmt.Errorf("%w: channel %q, event %q", ErrKey, channel, event)
	}
	if len(bizNo) == 0 {
		return "", fmt.Errorf("%w: no business number", ErrKey)
	}
	var b strings.Builder
	b.WriteString(channel)
	for i, part := range bizNo {
		if part == "" {
			return "", fmt.Errorf("%w: empty part %d of the business number", ErrKey, i+1)
		}
		b.WriteByte(":/"[min(i, 1)])
		escape(&b, part)
		if b.Len() > MaxKeyBytes {
			break
		}
	}
	b.WriteByte(':')
	b.WriteString(event)
	if b.Len() > MaxKeyBytes {
		return "", fmt.Errorf("%w: longer than %d bytes", ErrKey, MaxKeyBytes)
	}
	return Key(b.String()), nil
}

// ParseKey checks that s is a key that NewKey could have made, and returns it unchanged.
func ParseKey(s string) (Key, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return "", fmt.Errorf("%w: want CHANNEL:number:EVENT", ErrKey)
	}
	components := strings.Split(parts[1], "/")
	for i, component := range components {
		plain, err := unescape(component)
		if err != nil {
			return "", err
		}
		components[i] = plain
	}
	key, err := NewKey(parts[0], parts[2], components...)
	if err != nil {
		return "", err
	}
	if string(key) != s {
		return "", fmt.Errorf("%w: not in canonical form", ErrKey)
	}
	return key, nil
}

// Channel is the key's first part.
func (k Key) Channel() string { channel, _, _ := strings.Cut(string(k), ":"); return channel }

// Event is the key's last part.
func (k Key) Event() string { return string(k[strings.LastIndexByte(string(k), ':')+1:]) }

// BizNo is the key's middle part, as encoded.
func (k Key) BizNo() string {
	_, rest, _ := strings.Cut(string(k), ":")
	number, _, _ := strings.Cut(rest, ":")
	return number
}

// word reports whether s is a code of capital letters, digits and underscores that starts with a letter.
func word(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c != '_' && (c < '0' || c > '9'))) {
			return false
		}
	}
	return s != "" && len(s) <= 32
}

const upperHex = "0123456789ABCDEF"

func plainByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' ||
		strings.IndexByte("_.*|@-", c) >= 0
}

func escape(b *strings.Builder, part string) {
	for i := range len(part) {
		if c := part[i]; plainByte(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
		if b.Len() > MaxKeyBytes {
			return // NewKey refuses it; do not copy a hostile megabyte first
		}
	}
}

func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", fmt.Errorf("%w: cut percent code", ErrKey)
		}
		high, low := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
		if high < 0 || low < 0 {
			return "", fmt.Errorf("%w: bad percent code", ErrKey)
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	return b.String(), nil
}
