package channeltest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/paidonce/paidonce/channel"
)

// flips bounds how many positions of a body are changed; the positions are spread over the whole of it.
const flips = 400

// changedBytesAreNotBelieved changes one byte at a time. In the signed range the delivery must be refused; elsewhere
// (a space between two tags, the case of a percent code, the spare bits of base64) a change may be without
// meaning, but then what comes out must be exactly what came out before.
func changedBytesAreNotBelieved(tb testing.TB, s Subject) error {
	ch := s.New(tb)
	original := s.Payment(tb, Notice{Number: PaymentNumber})
	want, err, complaint := parse(tb, s, ch, original)
	if err := errors.Join(err, complaint); err != nil {
		return err
	}
	from, to := s.Signed(original.Body)
	if from < 0 || to > len(original.Body) || to-from < 4 {
		return fmt.Errorf("the signed part names the range %d to %d of %d bytes", from, to, len(original.Body))
	}
	step := max(1, len(original.Body)/flips)
	for at := 0; at < len(original.Body); at += step {
		for _, bit := range []byte{0x01, 0x20, 0x80} {
			changed := channel.Request{Header: original.Header, Received: original.Received,
				Body: bytes.Clone(original.Body)}
			changed.Body[at] ^= bit
			got, err, complaint := parse(tb, s, ch, changed)
			if complaint != nil {
				return fmt.Errorf("byte %d: %w", at, complaint)
			}
			if err != nil {
				continue
			}
			if at >= from && at < to {
				return fmt.Errorf("a change of signed byte %d (bit %#x) is believed", at, bit)
			}
			if !reflect.DeepEqual(got, want) {
				return fmt.Errorf("a change of byte %d (bit %#x) changes what is believed", at, bit)
			}
		}
	}
	return nil
}

// anyFormIsAnswered sends what scanners, broken proxies and attackers send. None of it is authentic.
func anyFormIsAnswered(tb testing.TB, s Subject) error {
	ch := s.New(tb)
	headers := []http.Header{nil, {}, s.Payment(tb, Notice{Number: PaymentNumber}).Header, hostileHeader(tb, s)}
	for i, body := range hostileBodies() {
		for j, header := range headers {
			r := channel.Request{Header: header, Body: body, Received: s.Received}
			_, err, complaint := parse(tb, s, ch, r)
			if complaint != nil {
				return fmt.Errorf("body %d with header %d: %w", i, j, complaint)
			}
			if err == nil {
				return fmt.Errorf("body %d with header %d is believed", i, j)
			}
		}
	}
	return nil
}

func hostileBodies() [][]byte {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	huge := channel.MaxBodyBytes
	return [][]byte{
		nil,
		{},
		[]byte(" "),
		{0},
		every,
		[]byte("\xef\xbb\xbf{}"),
		[]byte("null"),
		[]byte("[]"),
		[]byte("{}"),
		[]byte(`{"sn":{"sn":1},"resource":[],"canary4711":"\ud800"}`),
		[]byte(`{"resource":null,"event_type":3,"canary4711":1e400}`),
		[]byte("<xml></xml>"),
		[]byte(`<!DOCTYPE x [<!ENTITY e SYSTEM "file:///canary4711">]><xml>&e;</xml>`),
		[]byte("<xml><req_info>canary4711</req_info></xml>"),
		[]byte("sign=&sign_type=&sign=canary4711"),
		[]byte("a=%zz&;&=&sign=%00canary4711"),
		bytes.Repeat([]byte("{"), huge),
		bytes.Repeat([]byte("<a>"), huge/3),
		bytes.Repeat([]byte("a=b&"), huge/4),
		bytes.Repeat([]byte("7"), huge+1),
		bytes.Repeat([]byte("["), 16*huge),
	}
}

// hostileHeader takes the header names of a real delivery, so that it reaches the code that reads them.
func hostileHeader(tb testing.TB, s Subject) http.Header {
	hostile := make(http.Header)
	for name := range s.Payment(tb, Notice{Number: PaymentNumber}).Header {
		hostile[name] = []string{"\x00 " + strings.Repeat("=", 4096), "9223372036854775808"}
	}
	hostile["Authorization"] = []string{""}
	return hostile
}

func parseChangesNothing(tb testing.TB, s Subject) error {
	ch := s.New(tb)
	requests := []channel.Request{s.Payment(tb, Notice{Number: PaymentNumber}), s.Refund(tb, 0, 0)}
	for _, refusal := range s.Refused(tb) {
		requests = append(requests, refusal.Request)
	}
	for _, delivery := range s.Unbookable(tb) {
		requests = append(requests, delivery.Request)
	}
	for i, r := range requests {
		header, body := r.Header.Clone(), bytes.Clone(r.Body)
		first, errFirst, complaint := parse(tb, s, ch, r)
		if complaint != nil {
			return fmt.Errorf("request %d: %w", i, complaint)
		}
		if !bytes.Equal(body, r.Body) || !reflect.DeepEqual(header, r.Header) {
			return fmt.Errorf("request %d: Parse changed the request", i)
		}
		again, errAgain, complaint := parse(tb, s, ch, r)
		if complaint != nil {
			return fmt.Errorf("request %d: %w", i, complaint)
		}
		if !reflect.DeepEqual(first, again) || (errFirst == nil) != (errAgain == nil) {
			return fmt.Errorf("request %d: the same bytes were answered differently", i)
		}
	}
	return nil
}

func parseRunsConcurrently(tb testing.TB, s Subject) error {
	const workers = 8
	ch := s.New(tb)
	shared := s.Payment(tb, Notice{Number: PaymentNumber})
	want, err, complaint := parse(tb, s, ch, shared)
	if err := errors.Join(err, complaint); err != nil {
		return err
	}
	broken := make([]error, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			got, err, complaint := parse(tb, s, ch, shared)
			if err == nil && complaint == nil && !reflect.DeepEqual(got, want) {
				err = errors.New("another result than alone")
			}
			if reply := ch.Ack(worker%2 == 0); reply.Status == 0 {
				err = errors.New("no acknowledgement")
			}
			broken[worker] = errors.Join(err, complaint)
		})
	}
	group.Wait()
	return errors.Join(broken...)
}

func acknowledgementIsExact(tb testing.TB, s Subject) error {
	ch := s.New(tb)
	for round := range 2 {
		held, refusing := ch.Ack(true), ch.Ack(false)
		if !sameReply(held, s.Held) {
			return fmt.Errorf("round %d: held is %d %q %q", round, held.Status, held.ContentType, held.Body)
		}
		if !sameReply(refusing, s.Refusing) {
			return fmt.Errorf("round %d: refusing is %d %q %q", round, refusing.Status, refusing.ContentType,
				refusing.Body)
		}
		if held.Status < 200 || held.Status > 299 {
			return fmt.Errorf("held answers %d", held.Status)
		}
		if refusing.Status < 400 || refusing.Status > 599 {
			return fmt.Errorf("a refusal with %d may be taken for success", refusing.Status)
		}
		if strings.Contains(strings.ToLower(string(refusing.Body)), "success") {
			return errors.New("a refusal that says success may be taken for it")
		}
		for _, reply := range []channel.Reply{held, refusing} {
			clear(reply.Body) // a caller's change must not reach the next answer
		}
	}
	return nil
}

func sameReply(a, b channel.Reply) bool {
	return a.Status == b.Status && a.ContentType == b.ContentType && bytes.Equal(a.Body, b.Body)
}
