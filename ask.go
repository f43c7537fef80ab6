package paidonce

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store"
)

// The bounds of asking.
const (
	askBatch   = 32               // orders of one scope that are read at a time
	askScopes  = 8                // scopes that are asked about at the same time
	askTimeout = 10 * time.Second // for one answer of one channel
	askPoll    = time.Second      // pause between two looks for orders to be asked about
)

// askPause is the ladder: how long after the n-th question about an order the next one is due. It follows the
// channels' own advice for pending payments and then thins out, but it never ends while the order is open.
func askPause(tries int) time.Duration {
	ladder := []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour}
	if tries > 40 {
		return jitter(7 * 24 * time.Hour)
	}
	return jitter(ladder[min(tries, len(ladder)-1)])
}

// askLoop asks the channels about orders that stay open, until ctx ends. Any number of instances may do so at once:
// each question is reserved by one of them before it is put.
func (h *House) askLoop(ctx context.Context) {
	type whom struct {
		tenant           int64
		channel, account string
	}
	running := map[whom]bool{}
	ended := make(chan whom, askScopes)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			for range running {
				<-ended
			}
			return
		case one := <-ended:
			delete(running, one)
			continue
		case <-timer.C:
			timer.Reset(min(askPoll, h.opt.AskAfter))
		}
		scopes, err := h.store.QueryScopes(ctx, h.opt.AskAfter)
		if err != nil && ctx.Err() == nil {
			h.log.WarnContext(ctx, "cannot look for orders to ask about", "err", err)
		}
		for _, scope := range scopes {
			one := whom{scope.Tenant, scope.Channel, scope.Account}
			if len(running) >= askScopes || running[one] {
				continue
			}
			running[one] = true
			go func() {
				h.askScope(ctx, scope)
				ended <- one
			}()
		}
	}
}

// Ask puts all questions that are due now, one scope after the other, and returns how many it put. It is what the
// background loop does, for hosts that run it by themselves.
func (h *House) Ask(ctx context.Context) (int, error) {
	scopes, err := h.store.QueryScopes(ctx, h.opt.AskAfter)
	if err != nil {
		return 0, fmt.Errorf("paidonce: look for orders to ask about: %w", err)
	}
	asked := 0
	for _, scope := range scopes {
		asked += h.askScope(ctx, scope)
	}
	return asked, nil
}

// askScope asks about the due orders of one scope, oldest first, not faster than the rate.
func (h *House) askScope(ctx context.Context, scope store.QueryScope) int {
	due, err := h.store.DueQueries(ctx, scope, h.opt.AskAfter, askBatch)
	if err != nil {
		h.log.WarnContext(ctx, "cannot read the orders to ask about", "tenant", scope.Tenant, "err", err)
		return 0
	}
	asked := 0
	var over []store.Query
	for _, q := range due {
		if q.Order.State != order.Open {
			over = append(over, q)
			continue
		}
		if ctx.Err() != nil {
			break
		}
		next := askPause(q.Tries) - h.opt.AskAfter
		if taken, err := h.store.TakeQuery(ctx, q, next); err != nil || !taken {
			continue // another instance asks, or the database will be there next time
		}
		h.askAbout(ctx, q)
		asked++
		rest(ctx, time.Second/time.Duration(h.opt.AskRate))
	}
	if len(over) > 0 {
		if err := h.store.EndQueries(ctx, over); err != nil {
			h.log.WarnContext(ctx, "cannot end the questions about finished orders", "tenant", scope.Tenant, "err", err)
		}
	}
	return asked
}

// rest waits, but not longer than ctx lives.
func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// askAbout asks every account that may have taken the order's money and keeps what came of it.
func (h *House) askAbout(ctx context.Context, q store.Query) {
	ctx = context.WithoutCancel(ctx)
	note := "no account of this order can be asked"
	for _, payer := range h.opt.Payers {
		a := payer.Account()
		if a.Tenant != q.Tenant || q.Channel != "" && q.Channel != a.Channel || q.Account != "" && q.Account != a.Name {
			continue
		}
		standing, text := h.askPayer(ctx, payer, q)
		note = fmt.Sprintf("%s %s: %s", a.Channel, a.Name, text)
		if standing == channel.StandingPaid {
			break
		}
	}
	if err := h.store.NoteAnswer(ctx, q, forPeople(note)); err != nil {
		h.log.WarnContext(ctx, "cannot keep what asking brought", "tenant", q.Tenant, "order", q.OrderNo, "err", err)
	}
}

// askPayer puts one question. What the answer proves enters by Accept under the key that the notification has too, so
// whichever comes second is a repeat. An error or an absence proves nothing and changes nothing.
func (h *House) askPayer(ctx context.Context, payer channel.Payer, q store.Query) (channel.Standing, string) {
	answer, err := h.put(ctx, payer.Query, q)
	unpaid := answer.Standing == channel.StandingOpen || answer.Standing == channel.StandingAbsent
	if err == nil && unpaid && h.opt.CloseAfter > 0 && q.Age > h.opt.CloseAfter {
		answer, err = h.put(ctx, payer.Close, q)
	}
	if err != nil {
		h.counts.unanswered.Add(1)
		level := h.log.InfoContext
		if errors.Is(err, channel.ErrRefused) {
			level = h.log.ErrorContext
		}
		level(ctx, "a question about an order brought no answer", "tenant", q.Tenant, "order", q.OrderNo, "err", err)
		return channel.StandingUnknown, err.Error()
	}
	for _, e := range answer.Parsed.Events {
		if e.OrderNo != q.OrderNo {
			return channel.StandingUnknown, "the answer is about another order"
		}
		result, err := h.Accept(ctx, e, gate.Delivery{Source: "query", Body: answer.Raw})
		if err != nil {
			return channel.StandingUnknown, "not accepted: " + err.Error()
		}
		h.log.InfoContext(ctx, "asked, and learned", "tenant", q.Tenant, "order", q.OrderNo, "standing", answer.Standing,
			"key", result.Key, "status", result.Status)
	}
	return answer.Standing, string(answer.Standing) + " " + answer.Note
}

func (h *House) put(ctx context.Context, ask func(context.Context, channel.Question) (channel.Answer, error),
	q store.Query) (channel.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return ask(ctx, channel.Question{OrderNo: q.OrderNo})
}
