package channeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/paidonce/paidonce/channel"
)

func accountIsItsOwn(tb testing.TB, s Subject) error {
	if got := s.New(tb).Account(); got != s.Account {
		return fmt.Errorf("Account() is %+v, want %+v", got, s.Account)
	}
	return nil
}

func redeliveryIsTheSameEvent(tb testing.TB, s Subject) error {
	first, err := only(tb, s, s.Payment(tb, Notice{Number: PaymentNumber}))
	if err != nil {
		return err
	}
	if first.Kind != channel.PaymentReceived {
		return fmt.Errorf("a payment became %s (%s)", first.Kind, first.Note)
	}
	if first.OrderNo == "" || first.TradeNo != PaymentNumber {
		return fmt.Errorf("the event names order %q and trade %q", first.OrderNo, first.TradeNo)
	}
	again := []Notice{
		{Number: PaymentNumber},
		{Number: PaymentNumber, Variant: 1},
		{Number: PaymentNumber, Variant: 2, Extra: true},
		{Number: PaymentNumber, Extra: true},
	}
	for _, notice := range again {
		event, err := only(tb, s, s.Payment(tb, notice))
		if err != nil {
			return fmt.Errorf("%+v: %w", notice, err)
		}
		if err := sameFact(first, event); err != nil {
			return fmt.Errorf("%+v: %w", notice, err)
		}
		if !event.HappenedAt.Equal(first.HappenedAt) {
			return fmt.Errorf("%+v: the payment moved from %s to %s", notice, first.HappenedAt, event.HappenedAt)
		}
	}
	return nil
}

// numbersAreCompared sends pairs of numbers that a careless comparison takes for one: by case, by trailing space, by
// accents and their composition, by width, by character set, by splitting at a separator, by length.
func numbersAreCompared(tb testing.TB, s Subject) error {
	long := strings.Repeat("7", channel.MaxNumberBytes-1)
	pairs := []struct{ name, a, b string }{
		{"two numbers", PaymentNumber, "7892259488292939"},
		{"case", "ord-a", "ord-A"},
		{"trailing space", "ord", "ord "},
		{"accent", "caf\u0065", "caf\u00e9"},
		{"composed and decomposed", "caf\u00e9", "cafe\u0301"},
		{"full width", "ord1", "ord\uff11"},
		{"emoji", "ord\U0001f600", "ord\U0001f680"},
		{"rare Han", "ord\U00020000", "ord\U00020001"},
		{"zero width", "ord", "ord\u200b"},
		{"leading zero", "0123", "123"},
		{"exponent", "1e3", "1000"},
		{"colon", "a:b", "a%3Ab"},
		{"slash", "a/b", "a%2Fb"},
		{"plus", "a+b", "a b"},
		{"ampersand", "a&amp;b", "a&b"},
		{"last byte of the longest", long + "1", long + "2"},
	}
	for _, pair := range pairs {
		a, errA := only(tb, s, s.Payment(tb, Notice{Number: pair.a}))
		b, errB := only(tb, s, s.Payment(tb, Notice{Number: pair.b}))
		if err := errors.Join(errA, errB); err != nil {
			return fmt.Errorf("%s: %w", pair.name, err)
		}
		keyA, errA := a.Key()
		keyB, errB := b.Key()
		if err := errors.Join(errA, errB); err != nil {
			return fmt.Errorf("%s: %w", pair.name, err)
		}
		if keyA == keyB {
			return fmt.Errorf("%s: two payments share the key %q", pair.name, keyA)
		}
	}
	return nil
}

func badNumbersAreQuarantined(tb testing.TB, s Subject) error {
	for name, number := range map[string]string{
		"empty":     "",
		"over-long": strings.Repeat("7", channel.MaxNumberBytes+1),
		"huge":      strings.Repeat("7", 2000),
		"escape":    "ord\u007f",
	} {
		if err := quarantined(tb, s, s.Payment(tb, Notice{Number: number})); err != nil {
			return fmt.Errorf("%s number: %w", name, err)
		}
	}
	return nil
}

func refundsAreFacts(tb testing.TB, s Subject) error {
	payment, err := only(tb, s, s.Payment(tb, Notice{Number: PaymentNumber}))
	if err != nil {
		return err
	}
	keys := make(map[string]string)
	key, err := payment.Key()
	if err != nil {
		return err
	}
	keys[string(key)] = "the payment"
	for which := range 2 {
		first, err := only(tb, s, s.Refund(tb, which, 0))
		if err != nil {
			return fmt.Errorf("refund %d: %w", which, err)
		}
		switch first.Kind {
		case channel.RefundSucceeded, channel.QueryDue:
		default:
			return fmt.Errorf("refund %d became %s (%s)", which, first.Kind, first.Note)
		}
		key, err := first.Key()
		if err != nil {
			return err
		}
		if other, taken := keys[string(key)]; taken {
			return fmt.Errorf("refund %d and %s share the key %q", which, other, key)
		}
		keys[string(key)] = fmt.Sprintf("refund %d", which)
		for variant := 1; variant <= 2; variant++ {
			again, err := only(tb, s, s.Refund(tb, which, variant))
			if err != nil {
				return fmt.Errorf("refund %d again: %w", which, err)
			}
			if err := sameFact(first, again); err != nil {
				return fmt.Errorf("refund %d again: %w", which, err)
			}
		}
	}
	return nil
}

func refusalsHaveOneReason(tb testing.TB, s Subject) error {
	ch := s.New(tb)
	for _, refusal := range s.Refused(tb) {
		_, err, complaint := parse(tb, s, ch, refusal.Request)
		if complaint != nil {
			return fmt.Errorf("%s: %w", refusal.Name, complaint)
		}
		if err == nil {
			return fmt.Errorf("%s: was accepted, want %q", refusal.Name, refusal.Want)
		}
		if !errors.Is(err, refusal.Want) {
			return fmt.Errorf("%s: refused with %q, want %q", refusal.Name, err, refusal.Want)
		}
	}
	return nil
}

func unbookableIsQuarantined(tb testing.TB, s Subject) error {
	for _, delivery := range s.Unbookable(tb) {
		if err := quarantined(tb, s, delivery.Request); err != nil {
			return fmt.Errorf("%s: %w", delivery.Name, err)
		}
	}
	return nil
}

// oneSignatureOneClaim holds that whoever captured one message cannot make many claims of it.
func oneSignatureOneClaim(tb testing.TB, s Subject) error {
	deliveries := append(s.Unbookable(tb), Delivery{"a payment", s.Payment(tb, Notice{Number: PaymentNumber})},
		Delivery{"a refund", s.Refund(tb, 0, 0)})
	for _, delivery := range deliveries {
		first, err := only(tb, s, delivery.Request)
		if err != nil {
			return fmt.Errorf("%s: %w", delivery.Name, err)
		}
		accepted, others := 0, s.Reworded(tb, delivery.Request)
		for i, other := range others {
			if bytes.Equal(other.Body, delivery.Request.Body) {
				return fmt.Errorf("%s: wording %d is not another one", delivery.Name, i+1)
			}
			again, err := only(tb, s, other)
			if err != nil {
				continue // refused is as good: nothing is claimed
			}
			if err := sameFact(first, again); err != nil {
				return fmt.Errorf("%s, wording %d: %w", delivery.Name, i+1, err)
			}
			accepted++
		}
		if accepted == 0 && len(others) > 0 {
			return fmt.Errorf("%s: no other wording is authentic, so this proves nothing", delivery.Name)
		}
	}
	return nil
}

// quarantined demands one hint under a SHA-256: that of the bytes as they came, or of what was signed of them.
func quarantined(tb testing.TB, s Subject, r channel.Request) error {
	hint, err := only(tb, s, r)
	if err != nil {
		return err
	}
	if hint.Kind != channel.Quarantined {
		return fmt.Errorf("became %s, want %s", hint.Kind, channel.Quarantined)
	}
	if len(hint.BizNo) != 1 || len(hint.BizNo[0]) != 2*sha256.Size {
		return errors.New("the hint is not keyed by a SHA-256")
	}
	if _, err := hex.DecodeString(hint.BizNo[0]); err != nil {
		return errors.New("the hint is not keyed by a SHA-256 in hex")
	}
	sum := sha256.Sum256(r.Body)
	if whole := hex.EncodeToString(sum[:]); len(s.Reworded(tb, r)) == 0 && hint.BizNo[0] != whole {
		return errors.New("the hint is not keyed by the SHA-256 of the body, which is what is signed")
	}
	if hint.Note == "" {
		return errors.New("the hint does not say why")
	}
	return nil
}
