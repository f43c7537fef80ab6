package sandbox_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/sandbox"
)

func TestARefundGivesBackAtMostWhatIsLeftAndOncePerNumber(t *testing.T) {
	box := newBox(t, newKeys(t), 1, nowhere)
	payment := pay(t, box, sandbox.WeChat, "ORDER-1", 100)
	var first *sandbox.Refund
	for _, step := range []struct {
		no         string
		amount     money.Amount
		want       error
		cumulative int64
	}{
		{"R1", yuan(60), nil, 60},
		{"R2", yuan(41), sandbox.ErrRequest, 60},
		{"R1", yuan(60), nil, 60}, // the same again
		{"R1", yuan(10), sandbox.ErrRequest, 60},
		{"R3", yuan(0), sandbox.ErrRequest, 60},
		{"R3", yuan(-1), sandbox.ErrRequest, 60},
		{"R3", money.New(1, "USD"), sandbox.ErrRequest, 60},
		{"R2", yuan(40), nil, 100},
		{"R4", yuan(1), sandbox.ErrRequest, 100},
		{"R1", yuan(60), nil, 100},
	} {
		refund, err := box.Refund(payment, step.no, step.amount)
		if !errors.Is(err, step.want) || payment.Refunded != step.cumulative {
			t.Fatalf("%s of %s: %v, refunded %d; want %v, %d", step.no, step.amount, err, payment.Refunded, step.want,
				step.cumulative)
		}
		if first == nil {
			first = refund
		}
		if step.no == "R1" && err == nil && refund != first {
			t.Errorf("R1 became another refund")
		}
	}
	if first.Cumulative != 60 {
		t.Errorf("the first refund tells of %d fen, want 60", first.Cumulative)
	}
}

func TestRefundsAtTheSameTimeShareWhatIsThere(t *testing.T) {
	box := newBox(t, newKeys(t), 1, nowhere)
	payment := pay(t, box, sandbox.Alipay, "ORDER-1", 100)
	var done sync.WaitGroup
	var granted atomic.Int64
	for i := range 30 {
		done.Go(func() {
			if _, err := box.Refund(payment, fmt.Sprint("R", i), yuan(10)); err == nil {
				granted.Add(1)
			}
		})
	}
	done.Wait()
	record := box.Record()
	if granted.Load() != 10 || len(record.Refunds) != 10 || record.Payments[0].Refunded != 100 {
		t.Errorf("granted %d, recorded %d, refunded %d; want 10, 10, 100", granted.Load(), len(record.Refunds),
			record.Payments[0].Refunded)
	}
}

func TestWhatAChannelRefuses(t *testing.T) {
	box := newBox(t, newKeys(t), 1, nowhere)
	dollar := money.New(1, "USD")
	for name, test := range map[string]struct {
		closes                    bool
		channel, account, orderNo string
		amount                    money.Amount
	}{
		"pay at another account":   {false, sandbox.SQB, "other", "1", yuan(1)},
		"pay at another channel":   {false, "paypal", "shop", "1", yuan(1)},
		"pay nothing":              {false, sandbox.SQB, "shop", "1", yuan(0)},
		"pay dollars":              {false, sandbox.SQB, "shop", "1", dollar},
		"pay without a number":     {false, sandbox.SQB, "shop", "", yuan(1)},
		"close at another account": {true, sandbox.SQB, "other", "1", yuan(1)},
		"close at WeChat Pay":      {true, sandbox.WeChat, "shop", "1", yuan(1)},
		"close at v2":              {true, sandbox.WeChatV2, "shop", "1", yuan(1)},
		"close nothing":            {true, sandbox.SQB, "shop", "1", yuan(0)},
		"close dollars":            {true, sandbox.SQB, "shop", "1", dollar},
		"close without a number":   {true, sandbox.SQB, "shop", "", yuan(1)},
	} {
		var err error
		if test.closes {
			_, err = box.CloseUnpaid(test.channel, test.account, test.orderNo, test.amount)
		} else {
			_, err = box.Pay(test.channel, test.account, test.orderNo, test.amount)
		}
		if !errors.Is(err, sandbox.ErrRequest) {
			t.Errorf("%s: %v, want %v", name, err, sandbox.ErrRequest)
		}
	}
	if record := box.Record(); len(record.Payments)+len(record.Closes) != 0 {
		t.Errorf("refused, and recorded: %+v", record)
	}
}

// One order paid twice has two trades; numbers never repeat, at any channel.
func TestTradeNumbersAreUnique(t *testing.T) {
	box := newBox(t, newKeys(t), 1, nowhere)
	lengths := map[string]int{sandbox.WeChat: 28, sandbox.WeChatV2: 28, sandbox.Alipay: 28, sandbox.SQB: 16}
	seen := map[string]bool{}
	for _, channel := range channels() {
		for range 50 {
			no := pay(t, box, channel, "ORDER-1", 1).TradeNo
			if seen[no] || len(no) != lengths[channel] {
				t.Fatalf("%s: trade number %q, seen before: %t", channel, no, seen[no])
			}
			seen[no] = true
		}
		if got := box.Record().Trades(channel, "shop"); len(got) != 50 {
			t.Errorf("%s: %d trades on record, want 50", channel, len(got))
		}
	}
}

// A record is a copy: neither what happens later nor a change by the reader shows in the other.
func TestARecordIsACopy(t *testing.T) {
	box := newBox(t, newKeys(t), 1, nowhere)
	payment := pay(t, box, sandbox.WeChat, "ORDER-1", 100)
	refund, err := box.Refund(payment, "R1", yuan(10))
	if err != nil {
		t.Fatal(err)
	}
	record := box.Record()
	record.Payments[0].TradeNo, record.Refunds[0].RefundNo, record.Refunds[0].Payment.OrderNo = "x", "x", "x"
	if payment.TradeNo == "x" || refund.RefundNo == "x" || payment.OrderNo == "x" {
		t.Error("the reader changed the sandbox")
	}
	if _, err := box.Refund(payment, "R2", yuan(10)); err != nil {
		t.Fatal(err)
	}
	if record.Payments[0].Refunded != 10 || len(record.Refunds) != 1 {
		t.Errorf("the record changed afterwards: %+v", record)
	}
}
