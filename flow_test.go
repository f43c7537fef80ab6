package paidonce_test

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/alipay"
	"github.com/paidonce/paidonce/channel/sqb"
	"github.com/paidonce/paidonce/channel/wechat"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/sandbox"
	"github.com/paidonce/paidonce/server"
	"github.com/paidonce/paidonce/store"
)

// The flow test is the whole way: an order is paid at a sandbox channel, its signed notification comes in over HTTP,
// repeated, at once, reordered, forged, with dropped answers and with bookings that fail, and goes out as a journal
// entry. Then the oracle compares the database, read by plain SQL, with the sandbox's own record.

var channelNames = []string{sandbox.WeChat, sandbox.WeChatV2, sandbox.Alipay, sandbox.SQB}

const ordersPerAccount = 12

type flow struct {
	*testing.T
	store   *store.Store
	house   *paidonce.House
	sandbox *sandbox.Sandbox
	random  *rand.Rand
}

// adapter configures the receiving side as a merchant would, from what the sandbox's "console" shows.
func adapter(t *testing.T, k *sandbox.Keys, a sandbox.Account) channel.Channel {
	t.Helper()
	serial, certKey, err := wechat.ParseCertificate(k.WeChatCertificate)
	check(t, err)
	wechatKey, err := wechat.ParsePublicKey(k.WeChatPublicKey)
	check(t, err)
	alipayKey, err := alipay.ParsePublicKey(k.AlipayBareKey())
	check(t, err)
	sqbKey, err := sqb.ParsePublicKey(k.SQBPublicKey)
	check(t, err)
	account := channel.Account{Tenant: a.Tenant, Name: a.Channel + "-" + a.Name}
	var c channel.Channel
	switch a.Channel {
	case sandbox.WeChat:
		account.Channel = wechat.Code
		c, err = wechat.New(wechat.Config{Account: account, MchID: a.MchID, AppIDs: []string{a.AppID},
			APIv3Keys:    [][]byte{[]byte(k.WeChatV3Key)},
			PlatformKeys: map[string]*rsa.PublicKey{serial: certKey, k.WeChatPublicKeyID: wechatKey}})
	case sandbox.WeChatV2:
		account.Channel = wechat.Code
		c, err = wechat.NewV2(wechat.ConfigV2{Account: account, MchID: a.MchID, AppIDs: []string{a.AppID},
			APIKeys: []string{k.WeChatV2Key}})
	case sandbox.Alipay:
		account.Channel = alipay.Code
		c, err = alipay.New(alipay.Config{Account: account, AppID: a.AppID, SellerIDs: []string{a.SellerID},
			PublicKeys: []*rsa.PublicKey{alipayKey}})
	case sandbox.SQB:
		account.Channel = sqb.Code
		c, err = sqb.New(sqb.Config{Account: account, PublicKeys: []*rsa.PublicKey{sqbKey},
			TerminalSNs: []string{a.TerminalSN}})
	}
	check(t, err)
	return c
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newFlow(t *testing.T, s *store.Store, keys *sandbox.Keys, seed uint64) *flow {
	t.Helper()
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	house := newHouse(t, s, func(o *paidonce.Options) {
		o.Poll = 20 * time.Millisecond
		o.Hook = func(point string) error {
			mu.Lock()
			defer mu.Unlock()
			if point == paidonce.PointInBooking && random.IntN(10) == 0 {
				return errors.New("injected")
			}
			return nil
		}
	})
	var accounts []sandbox.Account
	var endpoints []server.Endpoint
	for tenant := range int64(2) {
		for _, name := range channelNames {
			a := sandbox.Account{Channel: name, Name: fmt.Sprint("t", tenant+1), Tenant: tenant + 1, Mode: "sandbox",
				MchID: fmt.Sprint("190000010", tenant), AppID: fmt.Sprint("wx888888888888888", tenant),
				SellerID: fmt.Sprint("208800000000000", tenant), TerminalSN: fmt.Sprint("10000033000000", tenant)}
			accounts = append(accounts, a)
			endpoints = append(endpoints, server.Endpoint{Path: name, Channel: adapter(t, keys, a)})
		}
	}
	handler, err := server.New(server.Options{House: house, Store: s, Channels: endpoints, Clock: time.Now})
	check(t, err)
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	for i, a := range accounts {
		accounts[i].NotifyURL = web.URL + "/notify/" + a.Channel + "/" + a.Channel + "-" + a.Name
	}
	box, err := sandbox.New(sandbox.Options{Keys: keys, Accounts: accounts, Clock: time.Now, Seed: seed})
	check(t, err)
	return &flow{t, s, house, box, rand.New(rand.NewPCG(seed, 2))}
}

func (f *flow) retry(n int) (time.Duration, bool) { return 5 * time.Millisecond, n < 40 }

// scenario is one order's life, drawn from the seed before anything runs.
type scenario struct {
	channel, account, no string
	tenant, minor        int64
	copies               int
	late, wrong, forged  bool
	drop, refund, repeat bool
}

func (f *flow) scenarios() []scenario {
	var list []scenario
	for tenant := range int64(2) {
		for _, name := range channelNames {
			for i := range ordersPerAccount {
				list = append(list, scenario{channel: name, account: fmt.Sprint("t", tenant+1), tenant: tenant + 1,
					no: fmt.Sprintf("%s-%d-%d", name, tenant+1, i), minor: 100 + f.random.Int64N(10_000),
					copies: 1 + f.random.IntN(5), late: i%4 == 1, wrong: i%6 == 2, forged: i%3 == 0, drop: i%5 == 3,
					refund: i%4 == 2, repeat: true})
			}
		}
	}
	return list
}

func (f *flow) createOrder(ctx context.Context, sc scenario) error {
	_, err := f.house.CreateOrder(ctx, order.Order{Tenant: sc.tenant, No: sc.no, Store: "store",
		Amount: money.New(sc.minor, money.CNY)})
	return err
}

// play runs one scenario to the point where the channel has nothing more to send.
func (f *flow) play(ctx context.Context, sc scenario) error {
	if !sc.late {
		if err := f.createOrder(ctx, sc); err != nil {
			return err
		}
	}
	paid, err := f.sandbox.Pay(sc.channel, sc.account, sc.no, money.New(sc.minor, money.CNY))
	if err != nil {
		return err
	}
	var plans []sandbox.Plan
	if sc.forged {
		plans = append(plans, sandbox.Plan{Variant: sandbox.Variant{BadSignature: true}},
			sandbox.Plan{Variant: sandbox.Variant{Stranger: true}}, sandbox.Plan{Variant: sandbox.Variant{OtherMerchant: true}})
	}
	if sc.wrong {
		plans = append(plans, sandbox.Plan{Variant: sandbox.Variant{WrongBy: 1}})
	}
	if sc.drop {
		plans = append(plans, sandbox.Plan{DropAnswer: true})
	}
	plans = append(plans, sandbox.Plan{Copies: sc.copies, Retry: f.retry})
	if sc.late {
		plans = append(plans, sandbox.Plan{})
	}
	plans = append(plans, sandbox.Plan{Variant: sandbox.Variant{Finished: true, GBK: sc.channel == sandbox.Alipay}})
	if sc.refund && sc.channel == sandbox.WeChat {
		if err := f.playRefund(ctx, paid, sc); err != nil { // the refund overtakes its payment
			return err
		}
	}
	for i, plan := range plans {
		if sc.late && i == len(plans)-1 {
			if err := f.createOrder(ctx, sc); err != nil {
				return err
			}
		}
		if _, err := f.sandbox.Deliver(ctx, paid, plan); err != nil {
			return err
		}
	}
	return nil
}

func (f *flow) playRefund(ctx context.Context, paid *sandbox.Payment, sc scenario) error {
	for i, part := range []int64{sc.minor / 3, sc.minor / 2} {
		r, err := f.sandbox.Refund(paid, fmt.Sprintf("R%d-%s", i, sc.no), money.New(part, money.CNY))
		if err != nil {
			return err
		}
		if _, err := f.sandbox.Deliver(ctx, r, sandbox.Plan{Copies: 2, Retry: f.retry}); err != nil {
			return err
		}
	}
	return nil
}

// run plays all scenarios in the given order, several at once, while the house does its background work.
func (f *flow) run(list []scenario) {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan struct{})
	go func() { f.house.Run(ctx); close(done) }()
	work, failed := make(chan scenario), make(chan error)
	const players = 8
	for range players {
		go func() {
			var err error
			for sc := range work {
				err = errors.Join(err, f.play(ctx, sc))
			}
			failed <- err
		}()
	}
	for _, sc := range list {
		work <- sc
	}
	close(work)
	for range players {
		check(f.T, <-failed)
	}
	f.waitForRest(ctx)
	cancel()
	<-done
}

// waitForRest waits until nothing is unfinished.
func (f *flow) waitForRest(ctx context.Context) {
	f.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		rest := f.count("SELECT COUNT(*) FROM claim_work") + f.count("SELECT COUNT(*) FROM booking_pending")
		if rest == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, tenant := range []int64{1, 2} {
				rows, err := f.store.Unfinished(ctx, tenant, "", "", 10)
				f.Logf("unfinished: %+v %v", rows, err)
			}
			f.Fatalf("%d rows are still unfinished", rest)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// count asks the database itself, in plain SQL.
func (f *flow) count(query string) int64 {
	f.Helper()
	var n int64
	check(f.T, f.store.Pools().Main.QueryRowContext(context.Background(), query).Scan(&n))
	return n
}

// oracle compares the database with the sandbox's record.
func (f *flow) oracle() string {
	f.Helper()
	record := f.sandbox.Record()
	want := map[string]int64{}
	for _, p := range record.Payments {
		code := strings.ToUpper(strings.TrimSuffix(p.Account.Channel, "-v2"))
		cause := fmt.Sprintf("%s:%s:PAYMENT_RECEIVED", code, p.TradeNo)
		f.exactlyOne(p.Account.Tenant, cause, p.Amount.Minor)
		want[clearingOf(code, p.Account)] += p.Amount.Minor
		if p.Tally.Acknowledged == 0 {
			f.Errorf("payment %s was never acknowledged", p.TradeNo)
		}
	}
	for _, r := range record.Refunds {
		f.exactlyOne(r.Payment.Account.Tenant, fmt.Sprintf("WECHAT:%s:REFUND_SUCCEEDED", r.RefundID), r.Amount.Minor)
		want[clearingOf("WECHAT", r.Payment.Account)] -= r.Amount.Minor
	}
	if record.Counts.ForgedAcknowledged != 0 || record.Counts.ForgedSent == 0 || record.Counts.DroppedAnswers == 0 {
		f.Errorf("forged or dropped deliveries: %+v", record.Counts)
	}
	facts := int64(len(record.Payments) + len(record.Refunds))
	if n := f.count("SELECT COUNT(*) FROM booking"); n != facts {
		f.Errorf("%d bookings for %d facts", n, facts)
	}
	for what, query := range map[string]string{
		"report was replaced by the true one": "SELECT COUNT(*) FROM claim_history WHERE what = 'replaced'",
		"event waited for its order":          "SELECT COUNT(*) FROM claim_history WHERE detail LIKE 'waiting_order%'",
		"refund waited for its payment":       "SELECT COUNT(*) FROM claim_history WHERE detail LIKE 'waiting_payment%'",
		"booking failed and was driven on":    "SELECT COUNT(*) FROM claim_history WHERE detail LIKE 'failed%'",
	} {
		if f.count(query) == 0 {
			f.Errorf("the run is vacuous: no %s", what)
		}
	}
	var lines []string
	for account, minor := range want {
		got := f.count("SELECT COALESCE(SUM(CASE WHEN side = 'D' THEN amount_minor ELSE -amount_minor END), 0) " +
			"FROM posting WHERE account = '" + account + "'")
		if got != minor {
			f.Errorf("%s: booked %d, the sandbox says %d", account, got, minor)
		}
		lines = append(lines, fmt.Sprint(account, " ", got))
	}
	if off := f.count("SELECT COALESCE(SUM(CASE WHEN side = 'D' THEN amount_minor ELSE -amount_minor END), 0) " +
		"FROM posting"); off != 0 {
		f.Errorf("debits and credits differ by %d", off)
	}
	if n := f.count("SELECT COUNT(*) FROM channel_order WHERE state <> 'paid'"); n != 0 {
		f.Errorf("%d orders are not paid", n)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func clearingOf(code string, a sandbox.Account) string {
	return "asset:clearing:" + strings.ToLower(code) + ":" + a.Channel + "-" + a.Name
}

func (f *flow) exactlyOne(tenant int64, cause string, minor int64) {
	f.Helper()
	where := fmt.Sprintf(" WHERE b.tenant_id = %d AND b.cause = '%s'", tenant, cause)
	if n := f.count("SELECT COUNT(*) FROM booking b" + where); n != 1 {
		f.Errorf("%s: %d bookings", cause, n)
	}
	got := f.count("SELECT COALESCE(SUM(p.amount_minor), 0) FROM booking b JOIN posting p " +
		"ON p.tenant_id = b.tenant_id AND p.booking_id = b.booking_id AND p.side = 'D'" + where)
	if got != minor {
		f.Errorf("%s: booked %d, not %d", cause, got, minor)
	}
}

func TestFlow(t *testing.T) {
	keys, err := sandbox.GenerateKeys(time.Now())
	check(t, err)
	books := map[string]string{}
	for _, direction := range []string{"forwards", "backwards"} {
		t.Run(direction, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *store.Store) {
				f := newFlow(t, s, keys, 20261201)
				list := f.scenarios()
				if direction == "backwards" {
					slices.Reverse(list)
				}
				f.run(list)
				books[t.Name()] = f.oracle()
			})
		})
	}
	for name, book := range books {
		for other, otherBook := range books {
			if book != otherBook {
				t.Fatalf("%s and %s differ:\n%s\n\n%s", name, other, book, otherBook)
			}
		}
	}
}
