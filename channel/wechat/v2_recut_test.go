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

// recut cuts a signed text into fields in another way, at some of the separators that leave the names in the order in
// which they are signed.
func recut(t *rapid.T, text, signature string) fields {
	cut, last := fields{"sign": signature}, ""
	for piece := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(piece, "=")
		fits := last == "" || pairStart.MatchString(piece) && name > last
		if fits && (last == "" || rapid.IntRange(0, 9).Draw(t, "join") > 0) {
			cut[name], last = value, name
			continue
		}
		cut[last] += "&" + piece
	}
	return cut
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
	whole := "x&fee_type=CNY&mch_id=" + mchID + "&out_trade_no=BIG&result_code=SUCCESS&return_code=SUCCESS" +
		"&total_fee=999900&transaction_id=4200000000000000009&z="
	rapid.Check(t, func(t *rapid.T) {
		attach := whole
		if !rapid.Bool().Draw(t, "the whole story") {
			parts := strings.Split(whole, "&")
			kept := slices.DeleteFunc(parts, func(string) bool { return rapid.Bool().Draw(t, "leave out") })
			attach = strings.Join(kept, "&")
		}
		honest := v2Payment().with(fields{"attach": attach, "time_end": "20261201100000"}).sign("MD5", apiKey)
		cut := recut(t, signedTextOf(honest), honest["sign"])
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
