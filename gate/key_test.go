package gate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/gate"
)

func newKey(t *testing.T, bizNo ...string) gate.Key {
	t.Helper()
	key, err := gate.NewKey("SQB", "PAYMENT_RECEIVED", bizNo...)
	if err != nil {
		t.Fatalf("NewKey of %q: %v", bizNo, err)
	}
	return key
}

func TestKeysAsTheyAreStored(t *testing.T) {
	for _, test := range []struct {
		channel, event string
		bizNo          []string
		want           string
	}{
		{"SQB", "PAYMENT_RECEIVED", []string{"7894002680123456789"}, "SQB:7894002680123456789:PAYMENT_RECEIVED"},
		{"ALIPAY", "REFUND_SUCCEEDED", []string{"2026", "R-1"}, "ALIPAY:2026/R-1:REFUND_SUCCEEDED"},
		{"WECHAT", "PAYMENT_CLOSED", []string{"@ORD_1.a*b|c-d"}, "WECHAT:@ORD_1.a*b|c-d:PAYMENT_CLOSED"},
		{"X2", "A", []string{"a b", "ä", "%", "\x00"}, "X2:a%20b/%C3%A4/%25/%00:A"},
	} {
		key, err := gate.NewKey(test.channel, test.event, test.bizNo...)
		if err != nil || string(key) != test.want {
			t.Errorf("NewKey = %q, %v; want %q", key, err, test.want)
		}
		_, number, _ := strings.Cut(strings.TrimSuffix(test.want, ":"+test.event), ":")
		if key.Channel() != test.channel || key.BizNo() != number || key.Event() != test.event {
			t.Errorf("%q has the parts %q, %q and %q", key, key.Channel(), key.BizNo(), key.Event())
		}
	}
}

// Pairs of numbers that one database collation or another takes for equal. Each is two payments.
func TestNumbersThatLookAlikeStayApart(t *testing.T) {
	long := strings.Repeat("9", 150)
	for name, pair := range map[string][2]string{
		"case":                    {"ORD-a", "ORD-A"},
		"long s":                  {"s", "\u017f"},
		"Kelvin sign":             {"K", "\u212a"},
		"dotless i":               {"i", "\u0131"},
		"sharp s":                 {"ss", "\u00df"},
		"trailing space":          {"ORD", "ORD "},
		"leading space":           {"ORD", " ORD"},
		"trailing tab":            {"ORD", "ORD\t"},
		"line feed":               {"ORD", "ORD\n"},
		"no-break space":          {"ORD ", "ORD\u00a0"},
		"accent":                  {"e", "\u00e9"},
		"composed and decomposed": {"\u00e9", "e\u0301"},
		"emoji":                   {"\U0001f600", "\U0001f680"},
		"rare Han":                {"\U00020000", "\U00020001"},
		"zero width space":        {"ORD", "ORD\u200b"},
		"soft hyphen":             {"ORD", "ORD\u00ad"},
		"NUL":                     {"ORD", "ORD\x00"},
		"full width digit":        {"1", "\uff11"},
		"kana":                    {"\u3042", "\u30a2"},
		"dashes":                  {"-", "\u2013"},
		"invalid UTF-8":           {"\xff", "\ufffd"},
		"two invalid bytes":       {"\xfe", "\xff"},
		"leading zero":            {"1", "01"},
		"percent code":            {":", "%3A"},
		"capital percent code":    {"%3a", "%3A"},
		"last byte":               {long + "1", long + "2"},
	} {
		if a, b := newKey(t, pair[0]), newKey(t, pair[1]); a == b {
			t.Errorf("%s: %q and %q share the key %q", name, pair[0], pair[1], a)
		}
	}
}

// One text, split at different separators, is different numbers, and no part can pose as another.
func TestSplittingAtAnotherPlaceIsAnotherKey(t *testing.T) {
	seen := make(map[gate.Key][]string)
	for _, bizNo := range [][]string{
		{"1001", "2", "3"}, {"1001/2", "3"}, {"1001", "2/3"}, {"1001/2/3"}, {"1001%2F2", "3"},
		{"1001:2", "3"}, {"1001", "2:3"}, {"1001:2:3"}, {"1001%3A2", "3"},
		{"1001:REFUND"}, {"1001", "REFUND"}, {"1001/REFUND"},
	} {
		key := newKey(t, bizNo...)
		if other, taken := seen[key]; taken {
			t.Errorf("%q and %q share the key %q", bizNo, other, key)
		}
		seen[key] = bizNo
	}
	payment, errPayment := gate.NewKey("SQB", "PAY", "1001:REFUND")
	refund, errRefund := gate.NewKey("SQB", "REFUND", "1001")
	if err := errors.Join(errPayment, errRefund); err != nil || payment == refund {
		t.Errorf("%q and %q, %v", payment, refund, err)
	}
}

func TestWhatCannotBeAKey(t *testing.T) {
	for name, test := range map[string]struct {
		channel, event string
		bizNo          []string
	}{
		"no channel":             {"", "PAY", []string{"1"}},
		"small channel":          {"wechat", "PAY", []string{"1"}},
		"channel with a colon":   {"A:B", "PAY", []string{"1"}},
		"channel with a digit":   {"2X", "PAY", []string{"1"}},
		"channel _":              {"_X", "PAY", []string{"1"}},
		"accented channel":       {"\u00c9", "PAY", []string{"1"}},
		"long channel":           {strings.Repeat("A", 33), "PAY", []string{"1"}},
		"no event":               {"SQB", "", []string{"1"}},
		"event with a space":     {"SQB", "PAY ", []string{"1"}},
		"event with a colon":     {"SQB", "REFUND:PAY", []string{"1"}},
		"no number":              {"SQB", "PAY", nil},
		"empty number":           {"SQB", "PAY", []string{""}},
		"empty second component": {"SQB", "PAY", []string{"1", ""}},
		"huge number":            {"SQB", "PAY", []string{strings.Repeat("1", 1<<20)}},
		"many components":        {"SQB", "PAY", slices.Repeat([]string{"1"}, 1000)},
	} {
		if key, err := gate.NewKey(test.channel, test.event, test.bizNo...); !errors.Is(err, gate.ErrKey) || key != "" {
			t.Errorf("%s: NewKey = %q, %v; want %v", name, key, err, gate.ErrKey)
		}
	}
}

// A key is as long as it is: 191 bytes pass, one more is refused, and never is one cut.
func TestAKeyIsNeverCut(t *testing.T) {
	frame := len("SQB::PAYMENT_RECEIVED")
	room := gate.MaxKeyBytes - frame
	if key := newKey(t, strings.Repeat("9", room)); len(key) != gate.MaxKeyBytes {
		t.Errorf("the longest key has %d bytes", len(key))
	}
	for name, bizNo := range map[string][]string{
		"a byte too long":           {strings.Repeat("9", room+1)},
		"too long when encoded":     {strings.Repeat(":", room/3) + strings.Repeat("9", room%3+1)},
		"too long with a separator": {strings.Repeat("9", room-1), "9"},
	} {
		if key, err := gate.NewKey("SQB", "PAYMENT_RECEIVED", bizNo...); !errors.Is(err, gate.ErrKey) || key != "" {
			t.Errorf("%s: NewKey = %q, %v; want %v", name, key, err, gate.ErrKey)
		}
	}
}

func TestParseKeyTakesOnlyTheCanonicalForm(t *testing.T) {
	if key, err := gate.ParseKey("SQB:a%20b/2:PAY"); err != nil || key != "SQB:a%20b/2:PAY" {
		t.Fatalf("ParseKey = %q, %v", key, err)
	}
	for name, text := range map[string]string{
		"empty":                    "",
		"two parts":                "SQB:1",
		"four parts":               "SQB:1:2:PAY",
		"empty number":             "SQB::PAY",
		"empty component":          "SQB:1//2:PAY",
		"slash at the end":         "SQB:1/:PAY",
		"small channel":            "sqb:1:PAY",
		"space around":             " SQB:1:PAY",
		"line feed at the end":     "SQB:1:PAY\n",
		"raw space":                "SQB:a b:PAY",
		"raw accent":               "SQB:\u00e9:PAY",
		"small percent code":       "SQB:%3a:PAY",
		"needless percent code":    "SQB:%41:PAY",
		"cut percent code":         "SQB:1%4:PAY",
		"percent at the end":       "SQB:1%:PAY",
		"no hexadecimal":           "SQB:%ZZ:PAY",
		"plus sign":                "SQB:a+b:PAY",
		"longer than a key may be": "SQB:" + strings.Repeat("9", gate.MaxKeyBytes) + ":PAY",
	} {
		if key, err := gate.ParseKey(text); !errors.Is(err, gate.ErrKey) || key != "" {
			t.Errorf("%s: ParseKey = %q, %v; want %v", name, key, err, gate.ErrKey)
		}
	}
}

// Every key that can be made is read back unchanged, and two different lists of components never share one. The
// components are drawn from few bytes that matter to the encoding, so that near misses are common.
func TestKeysAreInjective(t *testing.T) {
	component := rapid.StringOfN(rapid.SampledFrom([]rune{':', '/', '%', '2', 'F', 'f', ' ', '\x00', '\u00e9'}), 1, 4, -1)
	components := rapid.SliceOfN(component, 1, 3)
	rapid.Check(t, func(t *rapid.T) {
		a, b := components.Draw(t, "a"), components.Draw(t, "b")
		keyA, errA := gate.NewKey("SQB", "PAY", a...)
		keyB, errB := gate.NewKey("SQB", "PAY", b...)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		if (keyA == keyB) != slices.Equal(a, b) {
			t.Fatalf("%q and %q have the keys %q and %q", a, b, keyA, keyB)
		}
		if again, err := gate.ParseKey(string(keyA)); err != nil || again != keyA {
			t.Fatalf("ParseKey(%q) = %q, %v", keyA, again, err)
		}
		if joined, err := gate.NewKey("SQB", "PAY", strings.Join(a, "/")); err != nil || len(a) > 1 && joined == keyA {
			t.Fatalf("%q joined into one component has the same key %q, %v", a, joined, err)
		}
	})
}

// FuzzKey: what NewKey makes, ParseKey returns unchanged; it is short, printable ASCII and says its parts.
func FuzzKey(f *testing.F) {
	f.Add("SQB", "PAYMENT_RECEIVED", "7894002680123456789", "")
	f.Add("A", "B", "\x00\xff", "%:/")
	f.Fuzz(func(t *testing.T, channel, event, first, second string) {
		bizNo := []string{first, second}
		key, err := gate.NewKey(channel, event, bizNo...)
		if err != nil {
			if !errors.Is(err, gate.ErrKey) || key != "" {
				t.Fatalf("NewKey = %q, %v", key, err)
			}
			return
		}
		unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
		if len(key) > gate.MaxKeyBytes || strings.ContainsFunc(string(key), unprintable) {
			t.Fatalf("%q is too long or not printable", key)
		}
		if again, err := gate.ParseKey(string(key)); err != nil || again != key {
			t.Fatalf("ParseKey(%q) = %q, %v", key, again, err)
		}
		if key.Channel() != channel || key.Event() != event {
			t.Fatalf("%q names %q and %q", key, key.Channel(), key.Event())
		}
	})
}

// FuzzParseKey: whatever ParseKey takes is exactly one key, in the form in which it was given.
func FuzzParseKey(f *testing.F) {
	f.Add("SQB:7894002680123456789:PAYMENT_RECEIVED")
	f.Add("ALIPAY:1/%00:REFUND_SUCCEEDED")
	f.Add("A:%3a:B")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := gate.ParseKey(text)
		if err != nil {
			if !errors.Is(err, gate.ErrKey) || key != "" {
				t.Fatalf("ParseKey(%q) = %q, %v", text, key, err)
			}
			return
		}
		if string(key) != text || key.Channel()+":"+key.BizNo()+":"+key.Event() != text {
			t.Fatalf("ParseKey(%q) = %q of %q, %q and %q", text, key, key.Channel(), key.BizNo(), key.Event())
		}
	})
}
