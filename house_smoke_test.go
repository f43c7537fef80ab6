package paidonce_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/paidonce/paidonce"
	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/gate"
	"github.com/paidonce/paidonce/migrate"
	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/order"
	"github.com/paidonce/paidonce/store/sqlite"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "x.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := migrate.Up(ctx, "sqlite", s.Pools().Main, sqlite.Schema()); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(ctx); err != nil {
		t.Fatal(err)
	}
	h, err := paidonce.New(paidonce.Options{Store: s, Instance: "a"})
	if err != nil {
		t.Fatal(err)
	}
	e := channel.Event{Tenant: 1, Channel: "WECHAT", Account: "wx", Kind: channel.PaymentReceived, BizNo: []string{"42"},
		OrderNo: "o1", TradeNo: "42", Amount: money.New(100, money.CNY)}
	r, err := h.Accept(ctx, e, gate.Delivery{Source: "notify"})
	t.Log(r, err)
	if _, err := h.CreateOrder(ctx, order.Order{Tenant: 1, No: "o1", Store: "s", Amount: money.New(100, money.CNY)}); err != nil {
		t.Fatal(err)
	}
	n, err := h.Redrive(ctx, 10)
	t.Log(n, err)
	r, err = h.Accept(ctx, e, gate.Delivery{Source: "notify"})
	t.Log(r, err)
	h.Seal(ctx)
	b, err := s.TrialBalance(ctx, 1)
	t.Log(b, err)
	line, err := s.Timeline(ctx, 1, r.Key)
	t.Logf("%+v %v", line, err)
}
