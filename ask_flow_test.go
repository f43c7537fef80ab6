package paidonce_test

import (
	"crypto/rsa"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/alipay"
	"github.com/paidonce/paidonce/channel/sqb"
	"github.com/paidonce/paidonce/channel/wechat"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/sandbox"
	"github.com/paidonce/paidonce/store"
)

// payer configures the asking side as a merchant would, from what the sandbox's "console" shows.
func payer(t *testing.T, k *sandbox.Keys, a sandbox.Account, box *sandbox.Sandbox, base string) channel.Payer {
	t.Helper()
	owner := channel.Account{Tenant: a.Tenant, Name: a.Channel + "-" + a.Name, Channel: wechat.Code}
	var p channel.Payer
	var err error
	switch a.Channel {
	case sandbox.WeChat:
		serial, certKey, parseErr := wechat.ParseCertificate(k.WeChatCertificate)
		check(t, parseErr)
		publicKey, parseErr := channel.ParsePublicKey(k.WeChatPublicKey)
		check(t, parseErr)
		private, parseErr := channel.ParsePrivateKey(k.WeChatMerchantKey)
		check(t, parseErr)
		p, err = wechat.NewPayer(wechat.PayerConfig{Account: owner, MchID: a.MchID, AppIDs: []string{a.AppID},
			PlatformKeys: map[string]*rsa.PublicKey{serial: certKey, k.WeChatPublicKeyID: publicKey},
			SerialNo:     k.WeChatMerchantSerial, PrivateKey: private, BaseURL: base, AllowHTTP: true,
			Clock: time.Now})
	case sandbox.WeChatV2:
		p, err = wechat.NewPayerV2(wechat.PayerV2Config{Account: owner, MchID: a.MchID, AppIDs: []string{a.AppID},
			APIKeys: []string{k.WeChatV2Key}, BaseURL: base, AllowHTTP: true})
	case sandbox.Alipay:
		owner.Channel = alipay.Code
		publicKey, parseErr := alipay.ParsePublicKey(k.AlipayBareKey())
		check(t, parseErr)
		private, parseErr := channel.ParsePrivateKey(k.AlipayAppKey)
		check(t, parseErr)
		p, err = alipay.NewPayer(alipay.PayerConfig{Account: owner, AppID: a.AppID, SellerIDs: []string{a.SellerID},
			PublicKeys: []*rsa.PublicKey{publicKey}, PrivateKey: private, Gateway: base + "/gateway.do",
			AllowHTTP: true, Clock: time.Now})
	case sandbox.SQB:
		owner.Channel = sqb.Code
		key, keyErr := box.TerminalKey(a.Name)
		check(t, keyErr)
		p, err = sqb.NewPayer(sqb.PayerConfig{Account: owner, TerminalSNs: []string{a.TerminalSN},
			Keys: sqb.StaticKeys{a.TerminalSN: key}, BaseURL: base, AllowHTTP: true})
	}
	check(t, err)
	return p
}

// askFlow is a house that is told nothing and asks the sandbox channels, over HTTP and with real signatures.
type askFlow struct {
	*testing.T
	store *store.Store
	house *paidonce.House
	box   *sandbox.Sandbox
}

func newAskFlow(t *testing.T, s *store.Store, keys *sandbox.Keys) *askFlow {
	t.Helper()
	var accounts []sandbox.Account
	for _, name := range channelNames {
		accounts = append(accounts, sandbox.Account{Channel: name, Name: "t1", Tenant: 1, Mode: "sandbox",
			MchID: "1900000100", AppID: "wx8888888888888880", SellerID: "2088000000000000", TerminalSN: "100000330000000",
			NotifyURL: "http://127.0.0.1:1/"})
	}
	box, err := sandbox.New(sandbox.Options{Keys: keys, Accounts: accounts, Clock: time.Now, Seed: rand.Uint64()})
	check(t, err)
	api, err := box.API()
	check(t, err)
	web := httptest.NewServer(api)
	t.Cleanup(web.Close)
	house := newHouse(t, s, func(o *paidonce.Options) {
		o.AskAfter, o.AskRate = time.Millisecond, 1000
		for _, a := range accounts {
			o.Payers = append(o.Payers, payer(t, keys, a, box, web.URL))
		}
	})
	return &askFlow{t, s, house, box}
}

// order registers an order at its account and, as the shop's till does, at the channel.
func (f *askFlow) order(name, no string, minor int64, b sandbox.Behaviour) {
	f.Helper()
	code := strings.ToUpper(strings.TrimSuffix(name, "-v2"))
	_, err := f.house.CreateOrder(f.Context(), order.Order{Tenant: 1, No: no, Store: "s1", Channel: code,
		Account: name + "-t1", Amount: money.New(minor, money.CNY)})
	check(f.T, err)
	check(f.T, f.box.Behave(name, "t1", no, b))
	check(f.T, f.box.Open(name, "t1", no, money.New(minor, money.CNY)))
}

// ask lets every question come due that is left, and puts it.
func (f *askFlow) ask(rounds int) {
	f.Helper()
	for range rounds {
		time.Sleep(3 * time.Millisecond)
		_, err := f.house.Ask(f.Context())
		check(f.T, err)
		dueAgain(f.T, f.store)
	}
}

// Every callback is lost, answers are lost, forged and unclear, channels change their mind: what was paid is booked
// once, what was not stays open with its age, and whatever comes late is a repeat.
func TestChannelsThatSayNothingAreAsked(t *testing.T) {
	keys, err := sandbox.GenerateKeys(time.Now())
	check(t, err)
	eachEngine(t, func(t *testing.T, s *store.Store) {
		f := newAskFlow(t, s, keys)
		paid := map[string]int64{}
		for i, name := range channelNames {
			for life, b := range map[string]sandbox.Behaviour{
				"silent":    {Silent: true},
				"troubled":  {Drop: 1, BadSignature: 1, Unknown: 1, Hidden: 1},
				"undecided": {ScanAt: 1, PayAt: 3},
				"refunded":  {RefundAt: 1},
			} {
				no := fmt.Sprintf("%s-%s", name, life)
				minor := int64(100*(i+1) + len(life))
				f.order(name, no, minor, b)
				if life != "undecided" {
					_, err := f.box.Pay(name, "t1", no, money.New(minor, money.CNY))
					check(t, err)
				}
				paid[no] = minor
			}
			f.order(name, name+"-unpaid", 77, sandbox.Behaviour{})
		}
		f.ask(7)
		f.checkBooked(paid)
		open, err := s.OpenQueries(t.Context(), 1, 0, "", 100)
		check(t, err)
		if len(open) != len(channelNames) {
			t.Errorf("%d orders are open: %+v", len(open), open)
		}
		for _, q := range open {
			if !strings.HasSuffix(q.OrderNo, "-unpaid") || q.Answer == "" || q.Tries != 7 {
				t.Errorf("open: %+v", q)
			}
		}
		f.callBack(paid)
		f.checkBooked(paid)
	})
}

// checkBooked compares the orders and the clearing accounts with what was paid.
func (f *askFlow) checkBooked(paid map[string]int64) {
	f.Helper()
	want := map[string]int64{}
	for no, minor := range paid {
		o, err := f.store.Order(f.Context(), 1, no)
		check(f.T, err)
		if o.State != order.Paid {
			f.Errorf("%s is %s", no, o.State)
		}
		want["asset:clearing:"+strings.ToLower(o.Channel)+":"+o.Account] += minor
	}
	sums := net(f.T, f.store)
	for account, minor := range want {
		if sums[account] != minor {
			f.Errorf("%s holds %d, want %d", account, sums[account], minor)
		}
	}
}

// callBack lets the lost notifications come after all.
func (f *askFlow) callBack(paid map[string]int64) {
	f.Helper()
	for no := range paid {
		o, err := f.store.Order(f.Context(), 1, no)
		check(f.T, err)
		row, err := f.store.Lookup(f.Context(), 1, gate.Key(o.PaidBy))
		check(f.T, err)
		e := channel.Event{Tenant: 1, Channel: o.Channel, Account: o.Account, Kind: channel.PaymentReceived,
			BizNo: []string{row.Key.BizNo()}, OrderNo: no, TradeNo: row.Key.BizNo(), Amount: o.Amount}
		r, err := f.house.Accept(f.Context(), e, gate.Delivery{Source: "notify"})
		if err != nil || r.Status != paidonce.Repeat {
			f.Errorf("the late notification of %s: %+v, %v", no, r, err)
		}
	}
}
