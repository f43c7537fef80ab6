package sandbox_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/sandbox"
)

// said plays one life at a channel and returns every message and what it says.
func said(t *testing.T, keys *sandbox.Keys, channel string, seed uint64) ([]sandbox.Message, []string) {
	t.Helper()
	box := newBox(t, keys, seed, nowhere)
	var messages []sandbox.Message
	var texts []string
	for _, fact := range facts(t, box, channel) {
		for range 3 {
			m := notification(t, box, fact, sandbox.Variant{})
			messages, texts = append(messages, m), append(texts, read(t, channel, keys, m).says)
		}
	}
	return messages, texts
}

func TestTheSeedDecidesEverythingButTheSignatures(t *testing.T) {
	keys, others := newKeys(t), newKeys(t)
	for _, channel := range channels() {
		t.Run(channel, func(t *testing.T) {
			first, says := said(t, keys, channel, 7)
			again, _ := said(t, keys, channel, 7)
			if !reflect.DeepEqual(first, again) {
				t.Error("one seed and one set of keys made two series of messages")
			}
			foreign, alsoSays := said(t, others, channel, 7)
			if !reflect.DeepEqual(says, alsoSays) {
				t.Errorf("with other keys the messages say something else:\n%q\n%q", says, alsoSays)
			}
			for i, m := range foreign {
				if !read(t, channel, others, m).genuine || reflect.DeepEqual(m, first[i]) {
					t.Fatal("with other keys, a message is not genuine or the same")
				}
			}
			if _, other := said(t, keys, channel, 8); reflect.DeepEqual(says, other) {
				t.Error("another seed made the same messages")
			}
		})
	}
}

// Every channel adds fields without notice, so every channel here does it now and then; a refund of WeChat Pay v2 is
// the exception.
func TestUnknownFieldsAppearNowAndThen(t *testing.T) {
	keys := newKeys(t)
	for _, channel := range channels() {
		box := newBox(t, keys, 3, nowhere)
		payment := pay(t, box, channel, "ORDER-1", 1)
		const deliveries = 200
		with := 0
		for range deliveries {
			got := read(t, channel, keys, notification(t, box, payment, sandbox.Variant{}))
			if !got.genuine {
				t.Fatalf("%s: not genuine: %s", channel, got.says)
			}
			if strings.Contains(got.says, "undocumented_field") {
				with++
			}
		}
		if with < deliveries/20 || with > deliveries/3 {
			t.Errorf("%s: %d of %d deliveries had an unknown field", channel, with, deliveries)
		}
	}
}
