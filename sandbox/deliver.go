package sandbox

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

// Plan says how a fact is delivered. The zero value is one honest delivery, retried until it is acknowledged.
type Plan struct {
	Variant    Variant
	Copies     int           // how many deliveries at the same time; 0 means 1
	DropAnswer bool          // hang up right after sending, whatever the answer is
	Delay      time.Duration // before the first delivery
	// Retry is the pause before retry n (1, 2, …); false ends the retries. nil: no retry. The real schedules take a day.
	Retry func(n int) (time.Duration, bool)
}

// Delivered is what the channel saw of one delivery.
type Delivered struct {
	Answered     bool
	Acknowledged bool
	Dropped      bool // sent whole, and hung up on: whatever the answer was, nobody read it
	Status       int
	Took         time.Duration
	Err          error // transport error: the answer is unknown
}

// Deliver sends a fact to its account's notify URL as planned and returns every delivery, in order of their rounds. A
// round is repeated while none of its copies was acknowledged and the plan allows another. Refused connections are
// deliveries without an answer: a server may be restarting. A silent order is not delivered at all; forgeries of it
// are.
func (s *Sandbox) Deliver(ctx context.Context, fact Fact, plan Plan) ([]Delivered, error) {
	if s.silent(fact) && !plan.Variant.Forged() {
		return nil, ctx.Err()
	}
	if err := sleep(ctx, plan.Delay); err != nil {
		return nil, err
	}
	var all []Delivered
	for n := 1; ; n++ {
		round, err := s.round(ctx, fact, plan)
		if err != nil {
			return all, err
		}
		all = append(all, round...)
		for _, d := range round {
			if d.Acknowledged {
				return all, nil
			}
		}
		if plan.Retry == nil {
			return all, nil
		}
		pause, again := plan.Retry(n)
		if !again {
			return all, nil
		}
		if err := sleep(ctx, pause); err != nil {
			return all, err
		}
	}
}

func (s *Sandbox) round(ctx context.Context, fact Fact, plan Plan) ([]Delivered, error) {
	copies := max(plan.Copies, 1)
	messages := make([]Message, copies)
	for i := range messages {
		message, err := s.Notification(fact, plan.Variant)
		if err != nil {
			return nil, err
		}
		messages[i] = message
	}
	answers := make(chan Delivered)
	for _, message := range messages {
		go func() { answers <- s.send(ctx, fact.owner(), message, plan.DropAnswer) }()
	}
	round := make([]Delivered, copies)
	for i := range round {
		round[i] = <-answers
		s.count(fact, plan.Variant, round[i])
	}
	return round, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxAnswer is how much of an answer a channel reads.
const maxAnswer = 16 << 10

// patience is how long a channel that drops the answer stays on the line after writing. The transport says that a
// request is written just before it flushes the last of it, so hanging up at once could lose the request itself.
const patience = 20 * time.Millisecond

// send posts one message to an account's notify URL. With drop the message is sent whole, and no answer is looked at.
func (s *Sandbox) send(ctx context.Context, a Account, m Message, drop bool) Delivered {
	var written atomic.Bool
	if drop {
		cancelable, hangUp := context.WithCancel(ctx)
		defer hangUp()
		ctx = httptrace.WithClientTrace(cancelable, &httptrace.ClientTrace{
			WroteRequest: func(info httptrace.WroteRequestInfo) {
				if info.Err == nil {
					written.Store(true)
					time.AfterFunc(patience, hangUp)
				}
			}})
	}
	start := s.opt.Clock()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.NotifyURL, bytes.NewReader(m.Body))
	if err != nil {
		return Delivered{Err: fmt.Errorf("sandbox: deliver: %w", err)}
	}
	request.Header = m.Header.Clone()
	response, err := s.opt.Client.Do(request)
	took := s.opt.Clock().Sub(start)
	if err != nil {
		return Delivered{Err: err, Dropped: written.Load(), Took: took}
	}
	defer func() { _ = response.Body.Close() }()
	if drop {
		return Delivered{Dropped: true, Took: took}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	d := Delivered{Status: response.StatusCode, Took: s.opt.Clock().Sub(start), Err: err, Answered: err == nil}
	d.Acknowledged = err == nil && acknowledged(a.Channel, response.StatusCode, body)
	return d
}

// acknowledged judges an answer as that channel does.
func acknowledged(channel string, status int, body []byte) bool {
	switch channel {
	case WeChat: // the status alone decides
		return status == http.StatusOK || status == http.StatusNoContent
	case WeChatV2:
		var answer struct {
			Code string `xml:"return_code"`
		}
		return status == http.StatusOK && xml.Unmarshal(body, &answer) == nil && answer.Code == "SUCCESS" &&
			strings.HasPrefix(string(body), "<xml>")
	}
	return status == http.StatusOK && string(body) == "success"
}
