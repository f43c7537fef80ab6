package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/sandbox"
)

// demoFaults lets bookings fail after the claim, and the process die by itself now and then in mid-booking.
const demoFaults = "claimed:error:30,in_booking:error:60,in_booking:kill:4,before_park:error:30"

// script is the life of one order, drawn from the seed before anything runs.
type script struct {
	account                      sandbox.Account
	orderNo                      string
	minor                        int64
	copies                       int
	late, never                  bool // the order is created after its callback; never
	wrong, forged, drop, refunds bool
	silent                       bool // no callback is ever delivered: the house has to ask
}

func (d *demo) scripts() []script {
	random := rand.New(rand.NewPCG(d.seed, 0xdead))
	list := make([]script, d.orders)
	for i := range list {
		account := d.accounts[i%len(d.accounts)]
		round := i / len(d.accounts)
		list[i] = script{account: account, orderNo: fmt.Sprintf("D%05d", i), minor: 100 + random.Int64N(50_000),
			copies: 2 + random.IntN(4), late: round%5 == 1, never: round%13 == 7, wrong: round%6 == 2,
			forged: round%3 == 0, drop: round%4 == 3, refunds: round%5 == 3}
		list[i].late = list[i].late && !list[i].never
		list[i].silent = round%9 == 5 && !list[i].never && !list[i].late
	}
	return list
}

// playAll plays every script, several at once, and kills the child until it has died often enough.
func (d *demo) playAll(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.child.kill()
	if err := d.child.start(ctx, demoFaults); err != nil {
		return err
	}
	before := d.child.kills()
	bar := d.progress()
	d.say("paying, repeating, reordering, forging, and killing serve in the middle of it\n")
	work := make(chan script)
	failed := make(chan error)
	const players = 6
	for range players {
		go func() {
			var err error
			for s := range work {
				err = errors.Join(err, d.play(ctx, s))
				_ = bar.Add(1)
			}
			failed <- err
		}()
	}
	killer := make(chan error, 1)
	stopKiller := make(chan struct{})
	go func() { killer <- d.keepKilling(ctx, stopKiller) }()
	list := d.scripts()
	for i, s := range list {
		// Do not run out of work before the child has died often enough in the middle of it.
		for d.child.kills()-before < demoKills*i/len(list) && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		work <- s
	}
	close(work)
	var err error
	for range players {
		err = errors.Join(err, <-failed)
	}
	close(stopKiller)
	err = errors.Join(err, <-killer)
	_ = bar.Finish()
	d.say("\n")
	return err
}

func (d *demo) progress() *progressbar.ProgressBar {
	if d.json || !terminal(d.app.Err) {
		return progressbar.DefaultSilent(int64(d.orders))
	}
	return progressbar.NewOptions(d.orders, progressbar.OptionSetWriter(d.app.Err), progressbar.OptionShowCount(),
		progressbar.OptionSetDescription("paying, repeating, forging, killing"), progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(200*time.Millisecond))
}

// keepKilling ends the child at random moments and starts it again. A child that died by its own fault is started too.
func (d *demo) keepKilling(ctx context.Context, stop chan struct{}) error {
	random := rand.New(rand.NewPCG(d.seed, 0xdeadbeef))
	for {
		select {
		case <-stop:
			d.child.kill()
			return d.child.start(ctx, "")
		case <-ctx.Done():
			return ctx.Err()
		case <-d.child.gone():
		case <-time.After(time.Duration(200+random.IntN(600)) * time.Millisecond):
		}
		d.child.kill()
		if err := d.startAgain(ctx); err != nil {
			return err
		}
	}
}

// startAgain starts the child until it stays up long enough to be ready: a fault may kill it while it starts.
func (d *demo) startAgain(ctx context.Context) error {
	var err error
	for range 5 {
		if err = d.child.start(ctx, demoFaults); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// retry is the channel's schedule, compressed: it outlasts every restart.
func retry(n int) (time.Duration, bool) {
	return time.Duration(min(20*n, 200)) * time.Millisecond, n < 300
}

// play is one order's life.
func (d *demo) play(ctx context.Context, s script) error {
	if !s.late && !s.never {
		if err := d.createOrder(ctx, s); err != nil {
			return err
		}
	}
	if err := d.box.Behave(s.account.Channel, s.account.Name, s.orderNo, sandbox.Behaviour{Silent: s.silent}); err != nil {
		return err
	}
	paid, err := d.box.Pay(s.account.Channel, s.account.Name, s.orderNo, money.New(s.minor, money.CNY))
	if err != nil || s.silent {
		return err
	}
	d.remember(s, paid)
	if s.refunds && s.account.Channel == sandbox.WeChat {
		if err := d.refund(ctx, s, paid); err != nil { // the refund overtakes its payment
			return err
		}
	}
	for _, plan := range d.plans(s) {
		if _, err := d.box.Deliver(ctx, paid, plan); err != nil {
			return err
		}
	}
	if s.late {
		if err := d.createOrder(ctx, s); err != nil {
			return err
		}
	}
	_, err = d.box.Deliver(ctx, paid, sandbox.Plan{Retry: retry})
	return err
}

func (d *demo) plans(s script) []sandbox.Plan {
	var plans []sandbox.Plan
	if s.forged {
		plans = append(plans, sandbox.Plan{Variant: sandbox.Variant{BadSignature: true}},
			sandbox.Plan{Variant: sandbox.Variant{Stranger: true}},
			sandbox.Plan{Variant: sandbox.Variant{OtherMerchant: true}})
	}
	if s.wrong && !s.never { // signed, acknowledged, and one fen off: the true one comes after it
		plans = append(plans, sandbox.Plan{Variant: sandbox.Variant{WrongBy: 1}, Retry: retry})
	}
	if s.drop {
		plans = append(plans, sandbox.Plan{DropAnswer: true})
	}
	return append(plans, sandbox.Plan{Copies: s.copies, Retry: retry},
		sandbox.Plan{Copies: s.copies, Variant: sandbox.Variant{Finished: true}, Retry: retry})
}

// refund gives back two parts of a payment and delivers the second one first.
func (d *demo) refund(ctx context.Context, s script, paid *sandbox.Payment) error {
	var facts []*sandbox.Refund
	for i, part := range []int64{s.minor / 3, s.minor / 2} {
		r, err := d.box.Refund(paid, fmt.Sprintf("R%d-%s", i, s.orderNo), money.New(part, money.CNY))
		if err != nil {
			return err
		}
		facts = append([]*sandbox.Refund{r}, facts...)
	}
	for _, fact := range facts {
		if _, err := d.box.Deliver(ctx, fact, sandbox.Plan{Copies: 2, Retry: retry}); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) remember(s script, paid *sandbox.Payment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.never == nil {
		d.never = map[string]bool{}
	}
	if s.never {
		d.never[paid.TradeNo] = true
	}
}

// createOrder registers the order through the API, as a POS would, and repeats until the server answers.
func (d *demo) createOrder(ctx context.Context, s script) error {
	kind, _ := kindOf(s.account.Channel)
	body, err := json.Marshal(map[string]any{"order_no": s.orderNo, "store": fmt.Sprintf("store-%d", s.minor%7),
		"amount_minor": s.minor, "currency": "CNY", "channel": kind.code, "account": s.account.Name})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	client := &http.Client{Timeout: 6 * time.Second}
	var last error
	for n := range 300 {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base+"/v1/orders", bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+d.tokens[s.account.Tenant])
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusCreated || response.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("status %d", response.StatusCode)
		}
		last = err
		pause, _ := retry(n + 1)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("demo: create order %s: %w", s.orderNo, last)
}
