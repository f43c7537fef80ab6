package wechat_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/wechat"
)

// signedTextOf is the text that was signed, without the key.
func signedTextOf(f fields) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if name != "sign" && f[name] != "" {
			pairs = append(pairs, name+"="+f[name])
		}
	}
	return strings.Join(pairs, "&")
}

var pairStart = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9.-]*=`)

// cutsOf visits ways to cut the pieces of a signed text into fields: at every separator where a field may begin in the
// order in which they are signed, if may says so for its number, else the piece belongs to the field before.
func cutsOf(pieces []string, cut fields, last string, may func() (begin, join bool), visit func(fields)) {
	if len(pieces) == 0 {
		visit(cut)
		return
	}
	name, value, _ := strings.Cut(pieces[0], "=")
	begin, join := true, false
	if last != "" {
		begin, join = may()
		if !pairStart.MatchString(pieces[0]) || name <= last {
			begin, join = false, true
		}
	}
	if begin {
		cutsOf(pieces[1:], cut.with(fields{name: value}), name, may, visit)
	}
	if join {
		cutsOf(pieces[1:], cut.with(fields{last: cut[last] + "&" + pieces[0]}), last, may, visit)
	}
}

// recutter holds one honest signed message against its other cuts.
type recutter struct {
	client *wechat.ClientV2
	honest fields // with its signature
	want   channel.Event
	kept   map[string]bool // keys of quarantined hints
	told   int             // cuts from which the honest event came
}

func newRecutter(client *wechat.ClientV2, honest fields) *recutter {
	want := paymentEvent()
	want.Tenant, want.Channel, want.Account = account().Tenant, account().Channel, account().Name
	if honest["time_end"] == "" {
		want.HappenedAt = time.Time{}
	}
	return &recutter{client: client, honest: honest, want: want, kept: make(map[string]bool)}
}

// try parses one cut. It must be refused, be kept for a person under the one key of this signature, or tell what the
// honest message tells.
func (r *recutter) try(t interface {
	Context() context.Context
	Fatalf(format string, args ...any)
}, cut fields) {
	if signedTextOf(cut) != signedTextOf(r.honest) {
		return // a field without a value is not signed
	}
	cut = cut.with(fields{"sign": r.honest["sign"]})
	parsed, err := r.client.Parse(t.Context(), post(cut.encode("xml", true)))
	if errors.Is(err, channel.ErrForged) {
		t.Fatalf("%v is not signed, so it shows nothing", cut)
	}
	for _, e := range parsed.Events {
		if r.told++; !e.HappenedAt.Equal(r.want.HappenedAt) || !sameButTime(e, r.want) {
			t.Fatalf("%v became %+v", cut, e)
		}
	}
	for _, hint := range parsed.Hints {
		if r.kept[strings.Join(hint.Event.BizNo, "/")] = true; hint.Event.Kind != channel.Quarantined || len(r.kept) > 1 {
			t.Fatalf("%v became %s, one of %d claims", cut, hint.Event.Kind, len(r.kept))
		}
	}
}

func sameButTime(a, b channel.Event) bool {
	a.HappenedAt = b.HappenedAt
	return reflect.DeepEqual(a, b)
}

// smuggled is what an attacker may write into a value that he chooses.
func smuggled() *rapid.Generator[string] {
	names := []string{"appid", "attach", "bank_type", "fee_type", "mch_id", "out_trade_no", "req_info", "result_code",
		"return_code", "sub_mch_id", "time_end", "total_fee", "trade_state", "transaction_id", "a", "n", "z", "key"}
	values := []string{"", "x", appID, mchID, "BIG", "999900", "4200000000000000009", "SUCCESS", "FAIL", "USD", "CNY",
		"20200101000000"}
	return rapid.Custom(func(t *rapid.T) string {
		pieces := []string{"x"}
		drawn := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 8, rapid.ID).Draw(t, "names")
		if rapid.IntRange(0, 3).Draw(t, "in order") > 0 {
			slices.Sort(drawn)
		}
		for _, name := range drawn {
			pieces = append(pieces, name+"="+rapid.SampledFrom(values).Draw(t, name))
		}
		return strings.Join(pieces, "&")
	})
}

// Whoever holds one signed message, and even chose a part of it, cannot make it say anything else, nor make more than
// one claim of it.
func TestNoOtherCutOfASignedTextIsBelieved(t *testing.T) {
	client := clientV2(t, "")
	rapid.Check(t, func(t *rapid.T) {
		message := v2Payment().with(fields{"nobody_knows": "1", "zone": "8"})
		for _, name := range []string{"fee_type", "time_end", "return_code", "sign_type", "nobody_knows", "zone"} {
			if rapid.IntRange(0, 3).Draw(t, "without "+name) == 0 {
				delete(message, name)
			}
		}
		for _, name := range []string{"attach", "device_info", "openid"} {
			if rapid.Bool().Draw(t, "chosen "+name) {
				message[name] = smuggled().Draw(t, name)
			}
		}
		r := newRecutter(client, message.sign("MD5", apiKey))
		r.try(t, r.honest)
		for range 20 {
			joins := rapid.IntRange(0, 9).Draw(t, "joins")
			may := func() (bool, bool) {
				join := rapid.IntRange(0, 9).Draw(t, "join") < joins
				return !join, join
			}
			cutsOf(strings.Split(signedTextOf(r.honest), "&"), fields{}, "", may, func(cut fields) { r.try(t, cut) })
		}
	})
}

// For small messages, every cut there is.
func TestEveryCutOfASmallMessage(t *testing.T) {
	client := clientV2(t, "")
	both := func() (bool, bool) { return true, true }
	for name, changes := range map[string]fields{
		"nothing chosen": {},
		"a whole payment": {"attach": "x&fee_type=CNY&mch_id=" + mchID + "&out_trade_no=BIG&result_code=SUCCESS" +
			"&total_fee=999900&transaction_id=4200000000000000009&z="},
		"a currency":           {"attach": "x&fee_type=USD"},
		"a currency, one ours": {"attach": "x&fee_type=USD&g=1", "fee_type": "CNY"},
		"an empty value":       {"attach": "&fee_type=USD&mch_id=&total_fee=1&=&"},
		"a failure":            {"attach": "x&result_code=FAIL&return_code=FAIL"},
		"a time":               {"attach": "x&time_end=20200101000000&z=1"},
		"a field behind":       {"zone": "8"},
		"a refund":             {"attach": "x&req_info=AAAA"},
		"in an unread field":   {"openid": "x&out_trade_no=BIG&q=", "zone": "8&total_fee=1"},
	} {
		t.Run(name, func(t *testing.T) {
			small := fields{"appid": appID, "attach": "x", "mch_id": mchID, "out_trade_no": "ORDER-1",
				"result_code": "SUCCESS", "total_fee": "1999", "transaction_id": v2Payment()["transaction_id"]}
			r := newRecutter(client, small.with(changes).sign("MD5", apiKey))
			cutsOf(strings.Split(signedTextOf(r.honest), "&"), fields{}, "", both, func(cut fields) { r.try(t, cut) })
			if len(r.kept) != 1 {
				t.Error("no cut was kept for a person: the test shows nothing")
			}
			if name == "nothing chosen" && r.told == 0 {
				t.Error("the honest cut is not believed")
			}
		})
	}
}

// A field that the code reads and that could hide in a value would be a hole, so the names come from the code itself.
func TestNoFieldThatIsReadCanHide(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	read := make(map[string]bool)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, found := range regexp.MustCompile(`\bfields\["(\w+)"\]`).FindAllStringSubmatch(string(source), -1) {
			read[found[1]] = true
		}
	}
	delete(read, "sign")      // never part of the signed text, so none can come out of it
	delete(read, "sign_type") // of what we send; no message is asked
	if len(read) < 9 {
		t.Fatalf("found only %v: the test shows nothing", read)
	}
	for name := range read {
		hint := single(t, clientV2(t, ""), pay2(fields{"attach": "x&" + name + "=1&zzz="}))
		if hint.Kind != channel.Quarantined {
			t.Errorf("%s can hide in attach: the message became %s", name, hint.Kind)
		}
	}
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
