package wechat_test

import (
	"errors"
	"testing"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/wechat"
	"github.com/paidonce/paidonce/money"
)

// An account is paid in one currency, and both sides of it must know which: else the notification of a payment would be
// booked and the answer about the same payment be left to a person, or the other way round.
func TestAnAnswerIsReadInTheAccountsCurrency(t *testing.T) {
	h := newHostV2()
	for _, test := range []struct {
		account money.Currency
		feeType string
		want    channel.Standing
	}{
		{"", "CNY", channel.StandingPaid},
		{"", "-", channel.StandingPaid},
		{"", "USD", channel.StandingUnknown},
		{"USD", "USD", channel.StandingPaid},
		{"USD", "CNY", channel.StandingUnknown},
		{"USD", "-", channel.StandingUnknown}, // left out it means CNY
	} {
		t.Run(string(test.account)+" account, fee_type "+test.feeType, func(t *testing.T) {
			facts := fields{"fee_type": test.feeType}
			h.say(queryPath, paid2(facts).hmacXML())
			payer := h.payer(t, func(c *wechat.PayerV2Config) { c.Currency = test.account })
			answer, err := payer.Query(t.Context(), question())
			config := configV2()
			config.Currency = test.account
			client, errClient := wechat.NewV2(config)
			if err := errors.Join(err, errClient); err != nil {
				t.Fatal(err)
			}
			told := single(t, client, pay2(facts))
			if test.want != channel.StandingPaid {
				checkOutcome(t, answer, err, test.want, "", nil)
				if told.Kind != channel.Quarantined {
					t.Fatalf("the notification is %s, the answer %s", told.Kind, answer.Standing)
				}
				return
			}
			checkOutcome(t, answer, err, test.want, paidKey, nil)
			checkSame(t, answer.Parsed.Events[0], told)
		})
	}
	config := payerConfigV2("")
	config.Currency = "yuan"
	if _, err := wechat.NewPayerV2(config); !errors.Is(err, wechat.ErrConfig) {
		t.Fatalf("a currency that is none: %v", err)
	}
}
