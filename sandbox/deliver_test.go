package sandbox_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paidonce/paidonce/sandbox"
)

// serve starts a merchant's endpoint and a sandbox that notifies it.
func serve(t *testing.T, handler http.HandlerFunc) *sandbox.Sandbox {
	t.Helper()
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	return newBox(t, newKeys(t), 1, web.URL+"/notify")
}

func deliver(t *testing.T, box *sandbox.Sandbox, fact sandbox.Fact, plan sandbox.Plan) []sandbox.Delivered {
	t.Helper()
	all, err := box.Deliver(t.Context(), fact, plan)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The word for success is each channel's own, to the byte, but for WeChat Pay v3, where the status alone counts.
func TestWhatEachChannelTakesForSuccess(t *testing.T) {
	const held = `<xml><return_code><![CDATA[SUCCESS]]></return_code><return_msg><![CDATA[OK]]></return_msg></xml>`
	type answer struct {
		channel string
		status  int
		body    string
		want    bool
	}
	var given answer
	box := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(given.status)
		_, _ = io.WriteString(w, given.body) // a status without a body refuses one
	})
	answers := []answer{
		{sandbox.WeChat, 200, `{"code":"SUCCESS","message":"OK"}`, true},
		{sandbox.WeChat, 200, `{"code":"FAIL","message":"no"}`, true},
		{sandbox.WeChat, 200, "", true},
		{sandbox.WeChat, 204, "", true},
		{sandbox.WeChat, 201, `{"code":"SUCCESS","message":"OK"}`, false},
		{sandbox.WeChat, 400, `{"code":"SUCCESS","message":"OK"}`, false},
		{sandbox.WeChat, 500, `{"code":"SUCCESS","message":"OK"}`, false},
		{sandbox.WeChatV2, 200, held, true},
		{sandbox.WeChatV2, 200, "<xml><return_code>SUCCESS</return_code></xml>", true},
		{sandbox.WeChatV2, 200, "<xml><return_code><![CDATA[FAIL]]></return_code></xml>", false},
		{sandbox.WeChatV2, 200, "<xml><return_code><![CDATA[success]]></return_code></xml>", false},
		{sandbox.WeChatV2, 200, " " + held, false},
		{sandbox.WeChatV2, 200, "<xml></xml>", false},
		{sandbox.WeChatV2, 200, held[:50], false},
		{sandbox.WeChatV2, 200, "SUCCESS", false},
		{sandbox.WeChatV2, 204, "", false},
		{sandbox.WeChatV2, 500, held, false},
	}
	for _, channel := range []string{sandbox.Alipay, sandbox.SQB} {
		answers = append(answers, answer{channel, 200, "success", true}, answer{channel, 200, "SUCCESS", false},
			answer{channel, 200, "success\n", false}, answer{channel, 200, " success", false},
			answer{channel, 200, `"success"`, false}, answer{channel, 200, "fail", false},
			answer{channel, 200, "", false}, answer{channel, 204, "", false}, answer{channel, 201, "success", false},
			answer{channel, 302, "success", false}, answer{channel, 500, "success", false})
	}
	for _, given = range answers {
		got := deliver(t, box, pay(t, box, given.channel, "ORDER-1", 1), sandbox.Plan{})
		if len(got) != 1 || got[0].Acknowledged != given.want || got[0].Status != given.status || !got[0].Answered {
			t.Errorf("%s: %d %q: %+v, want acknowledged %t", given.channel, given.status, given.body, got, given.want)
		}
	}
}

func TestAFactIsSentAgainUntilItIsAcknowledgedOrTheScheduleEnds(t *testing.T) {
	for name, test := range map[string]struct {
		heldAt, retries, want int
		acknowledged          int
	}{
		"at once":            {1, 5, 1, 1},
		"at the third":       {3, 5, 3, 1},
		"at the last":        {6, 5, 6, 1},
		"never":              {99, 5, 6, 0},
		"without a schedule": {99, 0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var nonces []string
			box := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if nonces = append(nonces, r.Header.Get("Wechatpay-Nonce")); len(nonces) < test.heldAt {
					w.WriteHeader(http.StatusInternalServerError)
				}
			})
			payment := pay(t, box, sandbox.WeChat, "ORDER-1", 1)
			var asked []int
			plan := sandbox.Plan{Retry: func(n int) (time.Duration, bool) {
				asked = append(asked, n)
				return time.Millisecond, n <= test.retries
			}}
			if test.retries == 0 {
				plan.Retry = nil
			}
			got := deliver(t, box, payment, plan)
			want := sandbox.Tally{Sent: test.want, Answered: test.want, Acknowledged: test.acknowledged}
			if len(got) != test.want || box.Record().Payments[0].Tally != want {
				t.Errorf("%d deliveries, %+v; want %d, %+v", len(got), box.Record().Payments[0].Tally, test.want, want)
			}
			if got[len(got)-1].Acknowledged != (test.acknowledged == 1) {
				t.Errorf("the last delivery: %+v", got[len(got)-1])
			}
			if slices.Sort(nonces); len(slices.Compact(nonces)) != test.want {
				t.Errorf("a repeat is signed anew, but the nonces are %q", nonces)
			}
			for i, n := range asked {
				if n != i+1 {
					t.Errorf("the schedule was asked for the pauses %v", asked)
				}
			}
		})
	}
}

// The handler lets nobody go before all copies are there, so copies one after the other would wait for ever.
func TestCopiesAreSentAtTheSameTime(t *testing.T) {
	const copies = 5
	var arrived sync.WaitGroup
	arrived.Add(copies)
	var number atomic.Int64
	box := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived.Done()
		arrived.Wait()
		if number.Add(1) != copies {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		time.Sleep(50 * time.Millisecond) // the one acknowledgement comes last
	})
	payment := pay(t, box, sandbox.WeChat, "ORDER-1", 1)
	got := deliver(t, box, payment, sandbox.Plan{Copies: copies, Retry: func(int) (time.Duration, bool) {
		return 0, true // never asked: one of the copies was acknowledged
	}})
	want := sandbox.Tally{Sent: copies, Answered: copies, Acknowledged: 1}
	if tally := box.Record().Payments[0].Tally; len(got) != copies || tally != want {
		t.Errorf("%d deliveries, %+v, want %+v", len(got), tally, want)
	}
}

// A dropped answer is one that was perhaps given and that nobody read: the merchant has the message, the channel does
// not know it.
func TestADroppedAnswerIsSentWholeAndNotRead(t *testing.T) {
	for name, patient := range map[string]bool{"answered at once": false, "not answered while anybody listens": true} {
		t.Run(name, func(t *testing.T) {
			bodies := make(chan []byte, 1)
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body) // the signature of a body cut short does not verify
				bodies <- body
				if patient {
					<-r.Context().Done()
				}
				_, _ = io.WriteString(w, "success") // nobody may be there
			}))
			defer web.Close()
			keys := newKeys(t)
			box := newBox(t, keys, 1, web.URL)
			payment := pay(t, box, sandbox.Alipay, "ORDER-1", 1)
			got := deliver(t, box, payment, sandbox.Plan{DropAnswer: true})
			if body := <-bodies; !read(t, sandbox.Alipay, keys, sandbox.Message{Body: body}).genuine {
				t.Errorf("not the message as it was signed: %s", body)
			}
			if d := got[0]; len(got) != 1 || !d.Dropped || d.Answered || d.Acknowledged || d.Status != 0 {
				t.Errorf("%+v", got)
			}
			if hungUp := errors.Is(got[0].Err, context.Canceled); patient && !hungUp {
				t.Errorf("waited for the answer: %v", got[0].Err)
			}
			if r := box.Record(); r.Counts != (sandbox.Counts{Sent: 1, DroppedAnswers: 1}) ||
				r.Payments[0].Tally != (sandbox.Tally{Sent: 1}) {
				t.Errorf("%+v, %+v", r.Counts, r.Payments[0].Tally)
			}
		})
	}
}

func TestARefusedConnectionIsADeliveryWithoutAnAnswer(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	box := newBox(t, newKeys(t), 1, web.URL)
	web.Close()
	for _, drop := range []bool{false, true} {
		got := deliver(t, box, pay(t, box, sandbox.SQB, "ORDER-1", 1), sandbox.Plan{DropAnswer: drop,
			Retry: func(n int) (time.Duration, bool) { return 0, n == 1 }})
		for _, d := range got {
			if d.Err == nil || d.Answered || d.Dropped || len(got) != 2 {
				t.Errorf("drop %t: %d deliveries: %+v", drop, len(got), d)
			}
		}
	}
	if counts := box.Record().Counts; counts != (sandbox.Counts{Sent: 4}) {
		t.Errorf("%+v", counts)
	}
}

func TestForgeriesAreCountedApart(t *testing.T) {
	held := true
	box := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if !held {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	payment := pay(t, box, sandbox.WeChat, "ORDER-1", 10)
	for _, held = range []bool{true, false} {
		for name, v := range variants(sandbox.WeChat) {
			before := box.Record()
			deliver(t, box, payment, sandbox.Plan{Variant: v})
			after, counts := box.Record(), before.Counts
			taken := 0
			if held {
				taken = 1
			}
			if v.Forged() {
				counts.ForgedSent, counts.ForgedAcknowledged = counts.ForgedSent+1, counts.ForgedAcknowledged+taken
			} else {
				counts.Sent, counts.Acknowledged = counts.Sent+1, counts.Acknowledged+taken
			}
			if after.Counts != counts {
				t.Errorf("%s: %+v, want %+v", name, after.Counts, counts)
			}
			if same := after.Payments[0].Tally == before.Payments[0].Tally; same != v.Forged() {
				t.Errorf("%s: tally %+v after %+v", name, after.Payments[0].Tally, before.Payments[0].Tally)
			}
		}
	}
}

// Following a redirection would carry signed messages to another machine.
func TestRedirectionsAreNotFollowed(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	box := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	got := deliver(t, box, pay(t, box, sandbox.WeChat, "ORDER-1", 1), sandbox.Plan{})
	if elsewhere.Load() != 0 || got[0].Acknowledged || got[0].Status != http.StatusTemporaryRedirect {
		t.Errorf("%d deliveries elsewhere, %+v", elsewhere.Load(), got)
	}
}

func TestDeliverEndsWithItsContext(t *testing.T) {
	for name, plan := range map[string]sandbox.Plan{
		"in the delay":    {Delay: time.Hour},
		"between retries": {Retry: func(int) (time.Duration, bool) { return time.Hour, true }},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		box := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		payment := pay(t, box, sandbox.WeChat, "ORDER-1", 1)
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := box.Deliver(ctx, payment, plan); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", name, err, context.Canceled)
		}
	}
}
