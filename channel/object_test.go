package channel_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/channel"
)

func parseObject(t *testing.T, text string) channel.Object {
	t.Helper()
	object, err := channel.ParseObject([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return object
}

// Two readers that take different fields of one text see two different payments; such a text is refused as a whole.
func TestParseObjectTakesNothingThatCanBeReadInTwoWays(t *testing.T) {
	for text, want := range map[string]error{
		`{}`:                       nil,
		" \r\n{\"sn\" : \"1\"}\t":  nil,
		`{"sn":"1","SN":"2"}`:      nil, // two names
		`{"a":{"sn":"1"},"sn":2}`:  nil,
		`{"sn":"1","sn":"1"}`:      channel.ErrRepeated,
		`{"sn":"1","\u0073n":"2"}`: channel.ErrRepeated, // one name, written in two ways
		``:                         channel.ErrNotObject,
		`null`:                     channel.ErrNotObject,
		`"sn"`:                     channel.ErrNotObject,
		`[{"sn":"1"}]`:             channel.ErrNotObject,
		`{"sn":"1"}{}`:             channel.ErrNotObject,
		`{"sn":"1"} x`:             channel.ErrNotObject,
		`{"sn":"1"`:                channel.ErrNotObject,
		`{"sn":"1",}`:              channel.ErrNotObject,
		`{"sn":}`:                  channel.ErrNotObject,
		`{"sn" "1"}`:               channel.ErrNotObject,
		`{sn:"1"}`:                 channel.ErrNotObject,
		`{1:"1"}`:                  channel.ErrNotObject,
		`{"sn":01}`:                channel.ErrNotObject,
		"{\"sn\":\"\n\"}":          channel.ErrNotObject,
		"{\"sn\":\"\xff\"}":        channel.ErrNotObject,
		"{\"s\xff\":\"1\"}":        channel.ErrNotObject,
		"\ufeff{}":                 channel.ErrNotObject,
	} {
		if _, err := channel.ParseObject([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

func TestText(t *testing.T) {
	object := parseObject(t, `{"sn":"支付 1","empty":"","null":null,"number":1,"object":{},"list":["1"],"true":true,
		"half":"\ud83d","both":"\ud83d\ude00","replaced":"`+"\ufffd"+`"}`)
	for name, want := range map[string]struct {
		text string
		err  error
	}{
		"sn": {"支付 1", nil}, "empty": {"", nil}, "null": {"", nil}, "absent": {"", nil}, "both": {"😀", nil},
		"SN": {"", nil}, "number": {"", channel.ErrNotText}, "object": {"", channel.ErrNotText},
		"list": {"", channel.ErrNotText}, "true": {"", channel.ErrNotText}, "half": {"", channel.ErrNotText},
		"replaced": {"", channel.ErrNotText},
	} {
		if text, err := object.Text(name); text != want.text || !errors.Is(err, want.err) {
			t.Errorf("%s: %q, %v; want %q, %v", name, text, err, want.text, want.err)
		}
	}
	texts, err := object.Texts("null", "both", "sn")
	if err != nil || !slices.Equal(texts, []string{"", "😀", "支付 1"}) {
		t.Errorf("Texts: %q, %v", texts, err)
	}
	if texts, err := object.Texts("sn", "number"); texts != nil || !errors.Is(err, channel.ErrNotText) {
		t.Errorf("Texts with a number: %q, %v", texts, err)
	}
}

func TestWhole(t *testing.T) {
	object := parseObject(t, `{"zero":0,"minus":-7,"largest":9223372036854775807,"beyond":9223372036854775808,
		"fraction":1.5,"round":1.0,"exponent":1e2,"text":"1","null":null,"true":true}`)
	for name, want := range map[string]int64{"zero": 0, "minus": -7, "largest": 9223372036854775807} {
		if n, ok := object.Whole(name); n != want || !ok {
			t.Errorf("%s: %d, %t", name, n, ok)
		}
	}
	for _, name := range []string{"beyond", "fraction", "round", "exponent", "text", "null", "true", "absent"} {
		if n, ok := object.Whole(name); n != 0 || ok {
			t.Errorf("%s: %d, %t; want none", name, n, ok)
		}
	}
}

func TestNestedObjectsAreReadAsStrictly(t *testing.T) {
	object := parseObject(t, `{"in":{"sn":"1"},"twice":{"sn":"1","sn":"2"},"text":"{}","null":null}`)
	inner, err := object.Object("in")
	if err != nil {
		t.Fatal(err)
	}
	if sn, err := inner.Text("sn"); sn != "1" || err != nil {
		t.Errorf("sn %q, %v", sn, err)
	}
	for name, want := range map[string]error{"twice": channel.ErrRepeated, "text": channel.ErrNotObject,
		"null": channel.ErrNotObject, "absent": channel.ErrNotObject} {
		if _, err := object.Object(name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

// Whatever encoding/json writes of texts comes back as it was; with the same name once more it does not.
func TestObjectsOfTextsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wanted := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "fields")
		encoded, err := json.Marshal(wanted)
		if err != nil {
			t.Fatal(err)
		}
		object, err := channel.ParseObject(encoded)
		if err != nil || len(object) != len(wanted) {
			t.Fatalf("%s: %d fields, %v", encoded, len(object), err)
		}
		for name, want := range wanted {
			got, err := object.Text(name)
			if strings.ContainsRune(want, '\uFFFD') {
				if !errors.Is(err, channel.ErrNotText) {
					t.Fatalf("%q: %v, want %v", want, err, channel.ErrNotText)
				}
			} else if got != want || err != nil {
				t.Fatalf("%q came back as %q, %v", want, got, err)
			}
			again := strings.TrimSuffix(string(encoded), "}") + `,` + string(encoded[1:])
			if _, err := channel.ParseObject([]byte(again)); !errors.Is(err, channel.ErrRepeated) {
				t.Fatalf("%s: %v, want %v", again, err, channel.ErrRepeated)
			}
		}
	})
}
