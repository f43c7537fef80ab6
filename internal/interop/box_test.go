package interop_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/sandbox"
)

const (
	seeds      = 12 // enough to see every choice of the sandbox: kind of key, kind of digest, unknown fields
	boxMchID   = "1900000109"
	boxAppID   = "wx8888888888888888"
	boxSeller  = "2088102146225135"
	boxAccount = "shop"
)

func now() time.Time { return time.Date(2026, 12, 1, 2, 30, 0, 0, time.UTC) }

func newKeys(t *testing.T) *sandbox.Keys {
	t.Helper()
	keys, err := sandbox.GenerateKeys(now())
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// paid is what happened at one channel: a payment, and two refunds that give all of it back.
type paid struct {
	*sandbox.Sandbox
	payment       *sandbox.Payment
	partial, full *sandbox.Refund
}

func pay(t *testing.T, keys *sandbox.Keys, channel string, seed uint64) paid {
	t.Helper()
	box, err := sandbox.New(sandbox.Options{Keys: keys, Seed: seed, Clock: now, Accounts: []sandbox.Account{{
		Channel: channel, Name: boxAccount, Tenant: 1, Mode: "sandbox", MchID: boxMchID, AppID: boxAppID,
		SellerID: boxSeller, NotifyURL: "http://127.0.0.1:1/"}}})
	if err != nil {
		t.Fatal(err)
	}
	payment, err := box.Pay(channel, boxAccount, fmt.Sprintf("ORDER-%d", seed), money.New(1999, money.CNY))
	if err != nil {
		t.Fatal(err)
	}
	partial, err := box.Refund(payment, "REFUND-1", money.New(500, money.CNY))
	if err != nil {
		t.Fatal(err)
	}
	full, err := box.Refund(payment, "REFUND-2", money.New(1499, money.CNY))
	if err != nil {
		t.Fatal(err)
	}
	return paid{box, payment, partial, full}
}

func (p paid) message(t *testing.T, fact sandbox.Fact, v sandbox.Variant) sandbox.Message {
	t.Helper()
	message, err := p.Notification(fact, v)
	if err != nil {
		t.Fatal(err)
	}
	return message
}

// parsesTo holds that an adapter makes exactly this of a delivery.
func parsesTo(t *testing.T, client channel.Channel, r channel.Request, want channel.Event) {
	t.Helper()
	parsed, err := client.Parse(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	wanted := channel.Parsed{Events: []channel.Event{want}}
	if want.Kind.IsHint() {
		wanted = channel.Parsed{Hints: []channel.Hint{{Event: want}}}
	}
	if !reflect.DeepEqual(parsed, wanted) {
		t.Fatalf("parsed %+v\nwant   %+v", parsed, wanted)
	}
}
