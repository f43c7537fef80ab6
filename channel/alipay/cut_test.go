package alipay_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/channel"
)

// backToShop is what the payer's browser carries back to return_url after a payment on a web page.
func backToShop() params {
	return params{"app_id": appID, "auth_app_id": appID, "charset": "utf-8", "method": "alipay.trade.page.pay.return",
		"out_trade_no": "ORDER-1", "seller_id": seller, "sign_type": "RSA2", "timestamp": "2026-12-01 10:00:03",
		"total_amount": "19.99", "trade_no": "2026120122001400001", "version": "1.0"}
}

// A synchronous return is signed like a notification and known to every payer; it must not become a claim, however
// the payer cuts it.
func TestASynchronousReturnIsNoNotification(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	text := canonical(backToShop(), nil)
	signature := sign(t, key, text)
	refused := func(name string, sent params) {
		r := request(encode(sent.with(params{"sign": signature, "sign_type": "RSA2"})))
		parsed, err := client.Parse(t.Context(), r)
		if !errors.Is(err, channel.ErrMalformed) {
			t.Errorf("%s: %v, %d events, %d hints", name, err, len(parsed.Events), len(parsed.Hints))
		}
	}
	refused("as it is", backToShop())
	pairs := strings.Split(text, "&")
	for from := range pairs {
		for to := from + 1; to < len(pairs); to++ {
			refused("hiding "+strings.Join(pairs[from+1:to+1], " "), intoValue(pairs, from, to))
			refused("in a name "+strings.Join(pairs[from:to+1], " "), intoName(pairs, from, to))
		}
	}
}

// chosen is what a shop clerk or a payer may write into a text of his own.
func chosen() *rapid.Generator[string] {
	names := []string{"app_id", "buyer_id", "charset", "dback_status", "gmt_close", "gmt_payment", "gmt_refund", "method",
		"notify_type", "out_biz_no", "out_trade_no", "refund_fee", "refund_status", "seller_id", "total_amount", "trade_no",
		"trade_status", "a", "p", "t", "zz"}
	values := []string{"", "x", appID, seller, "19.99", "9999.00", "BIG", "TRADE_CLOSED", "TRADE_FINISHED",
		"trade_status_sync", "2026-12-01 11:00:00", "gbk", "2026120122001400009"}
	return rapid.Custom(func(t *rapid.T) string {
		drawn := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 6, rapid.ID).Draw(t, "names")
		slices.Sort(drawn)
		text := "x"
		for _, name := range drawn {
			text += "&" + name + "=" + rapid.SampledFrom(values).Draw(t, name)
		}
		return text
	})
}

// drawCut cuts a signed text into parameters at some of the places where the names stay in the order of signing.
func drawCut(t *rapid.T, text string) params {
	cut, last := params{}, ""
	joins := rapid.IntRange(0, 9).Draw(t, "joins")
	for piece := range strings.SplitSeq(text, "&") {
		name, value, found := strings.Cut(piece, "=")
		if last == "" || found && name > last && rapid.IntRange(0, 9).Draw(t, "join") >= joins {
			cut[name], last = value, name
			continue
		}
		cut[last] += "&" + piece
	}
	return cut
}

// Whoever chose a part of a message, and holds its signature, can make one claim of it at most, and it tells nothing
// but what Alipay said.
func TestChosenTextNeverTellsAnotherStory(t *testing.T) {
	key := newKey(t)
	client := newClient(t, key)
	closed := params{"trade_status": "TRADE_CLOSED", "gmt_payment": "-", "refund_fee": "-"}
	stories := []params{paid(), paid().with(params{"refund_fee": "-"}), refunded("2.00", "R1"), refunded("2.00", "-"),
		paid().with(closed), paid().with(params{"trade_status": "WAIT_BUYER_PAY", "gmt_payment": "-"})}
	for i := range stories {
		stories[i] = stories[i].with(params{"fund_bill_list": "-"})
	}
	rapid.Check(t, func(draw *rapid.T) {
		honest := rapid.SampledFrom(stories).Draw(draw, "story")
		want := parse(t, client, send(t, key, honest))
		for _, name := range []string{"subject", "body", "passback_params", "extra"} {
			if rapid.Bool().Draw(draw, "chosen "+name) {
				honest = honest.with(params{name: chosen().Draw(draw, name)})
			}
		}
		text := canonicalByName(honest)
		signature, kept := sign(t, key, text), make(map[string]bool)
		for range 20 {
			cut := drawCut(draw, text).with(params{"sign": signature, "sign_type": "RSA2"})
			parsed, err := client.Parse(t.Context(), request(encode(cut)))
			if errors.Is(err, channel.ErrForged) {
				draw.Fatalf("%v is not signed, so it shows nothing", cut)
			}
			told := parsed.Events
			for _, hint := range parsed.Hints {
				if hint.Event.Kind == channel.Quarantined {
					kept[hint.Event.BizNo[0]] = true
					continue
				}
				told = append(told, hint.Event)
			}
			for _, e := range told {
				if !reflect.DeepEqual(e, want) {
					draw.Fatalf("%v became %+v, want %+v", cut, e, want)
				}
			}
			if len(kept) > 1 {
				draw.Fatalf("one signature made %d claims", len(kept))
			}
		}
	})
}

// canonicalByName is the signed text of parameters of which one name may begin another.
func canonicalByName(p params) string {
	var names []string
	for name := range p {
		if name != "sign" && name != "sign_type" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = name + "=" + p[name]
	}
	return strings.Join(names, "&")
}
