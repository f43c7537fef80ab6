package channeltest

import (
	"reflect"
	"testing"

	"github.com/paidonce/paidonce/channel"
)

// Fuzz throws bytes at the adapter in two ways: as a body under a real delivery's header, which only the very
// body of that delivery may pass, and as the message of an authentic delivery, behind the signature. Both times the
// answer must be a refusal with one reason or valid events and hints, twice the same.
func Fuzz(f *testing.F, s Subject) {
	f.Helper()
	genuine := s.Payment(f, Notice{Number: PaymentNumber})
	f.Add(genuine.Body)
	for _, message := range s.Messages {
		f.Add(message)
	}
	for _, body := range hostileBodies() {
		if len(body) < 1024 {
			f.Add(body)
		}
	}
	want, err, complaint := parse(f, s, s.New(f), genuine)
	if err != nil || complaint != nil {
		f.Fatalf("the delivery to start from is refused: %v, %v", err, complaint)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		ch := s.New(t)
		forged := channel.Request{Header: genuine.Header, Body: message, Received: genuine.Received}
		got, err, complaint := parse(t, s, ch, forged)
		if complaint != nil {
			t.Fatalf("under another delivery's header: %v", complaint)
		}
		if err == nil && !reflect.DeepEqual(got, want) && !onlyQueryDue(got) {
			t.Fatalf("a body of no signature is believed: %+v", got)
		}
		authentic := s.Authentic(t, message)
		first, errFirst, complaint := parse(t, s, ch, authentic)
		if complaint != nil {
			t.Fatalf("authentic: %v", complaint)
		}
		again, errAgain, _ := parse(t, s, ch, authentic)
		if !reflect.DeepEqual(first, again) || (errFirst == nil) != (errAgain == nil) {
			t.Fatalf("the same bytes were answered differently: %+v and %+v", first, again)
		}
	})
}

// onlyQueryDue reports whether nothing but questions came out. A channel with an unsigned envelope (WeChat Pay v2
// refunds) may at most make the house ask.
func onlyQueryDue(p channel.Parsed) bool {
	for _, hint := range p.Hints {
		if hint.Event.Kind != channel.QueryDue {
			return false
		}
	}
	return len(p.Events) == 0
}
