package wechat_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/channeltest"
)

var pairStart = regexp.MustCompile(`^[a-z_][a-z_0-9]*=`)

// recut cuts a signed text into fields in another way: at some of its separators only. False: the names would not come
// in the order in which they are signed.
func recut(t *rapid.T, text, signature string) (fields, bool) {
	var pairs []string
	for piece := range strings.SplitSeq(text, "&") {
		if len(pairs) > 0 && (!pairStart.MatchString(piece) || rapid.IntRange(0, 3).Draw(t, "join") == 0) {
			pairs[len(pairs)-1] += "&" + piece
			continue
		}
		pairs = append(pairs, piece)
	}
	cut, last := fields{"sign": signature}, ""
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if name <= last || value == "" {
			return nil, false
		}
		cut[name], last = value, name
	}
	return cut, true
}

// signedTextOf is the text that was signed, without the key.
func signedTextOf(f fields) string {
	var pairs []string
	for name, value := range f {
		if name != "sign" && value != "" {
			pairs = append(pairs, name+"="+value)
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// Whoever holds one signed message, and even chose its attach, cannot make it say anything else.
func TestNoOtherCutOfASignedTextIsBelieved(t *testing.T) {
	client := clientV2(t, "")
	whole := "x&fee_type=CNY&mch_id=" + mchID + "&out_trade_no=BIG&result_code=SUCCESS&return_code=SUCCESS&total_fee=999900" +
		"&transaction_id=4200000000000000009&z="
	rapid.Check(t, func(t *rapid.T) {
		attach := whole
		if !rapid.Bool().Draw(t, "the whole story") {
			parts := strings.Split(whole, "&")
			kept := slices.DeleteFunc(parts, func(string) bool { return rapid.Bool().Draw(t, "leave out") })
			attach = strings.Join(kept, "&")
		}
		honest := v2Payment().with(fields{"attach": attach, "time_end": "20261201100000"}).sign("MD5", apiKey)
		cut, ok := recut(t, signedTextOf(honest), honest["sign"])
		if !ok {
			return
		}
		parsed, err := client.Parse(t.Context(), post(cut.encode("xml", true)))
		if err != nil {
			return
		}
		for _, e := range parsed.Events {
			key, err := e.Key()
			if err != nil || string(key) != "WECHAT:"+channeltest.PaymentNumber+":PAYMENT_RECEIVED" || e.Amount.Minor != 1999 ||
				e.OrderNo != "ORDER-1" || !e.HappenedAt.Equal(beijing(10)) {
				t.Fatalf("%v became %+v", cut, e)
			}
		}
	})
}

// The very cut by which a payment of 19.99 would have become one of 9,999.00.
func TestTheCutThatMultipliesAPaymentIsQuarantined(t *testing.T) {
	attach := "x&fee_type=CNY&mch_id=" + mchID + "&out_trade_no=BIG&result_code=SUCCESS&total_fee=999900" +
		"&transaction_id=4200000000000000009&z="
	honest := v2Payment().with(fields{"attach": attach}).sign("MD5", apiKey)
	head, tail, _ := strings.Cut(signedTextOf(honest), attach)
	forged := fields{"appid": appID, "attach": "x", "fee_type": "CNY", "mch_id": mchID, "out_trade_no": "BIG",
		"result_code": "SUCCESS", "total_fee": "999900", "transaction_id": "4200000000000000009", "z": tail,
		"sign": honest["sign"]}
	if head+signedTextOf(forged)[len(head):] != signedTextOf(honest) {
		t.Fatal("the forgery is not signed by the honest signature")
	}
	for name, f := range map[string]fields{"honest": honest, "forged": forged} {
		hint := single(t, clientV2(t, ""), post(f.encode("xml", true)))
		if hint.Kind != channel.Quarantined {
			t.Errorf("the %s message became %s of %s", name, hint.Kind, hint.Amount)
		}
	}
}
