package settle_test

import (
	"errors"
	"testing"
	"time"

	"github.com/paidonce/paidonce/settle"
)

func day(n int) time.Time { return time.Date(2026, 5, n, 0, 0, 0, 0, time.UTC) }

func rule(version string, tenant int64, channel, account string, from time.Time) settle.Rule {
	return settle.Rule{Tenant: tenant, Channel: channel, Account: account, From: from,
		Chain: settle.Chain{Version: version}}
}

// The chain of the day on which the channel took the money, of the narrowest rule that covers it. The order in which
// the rules are written does not matter.
func TestWhichChainIsInForce(t *testing.T) {
	list := []settle.Rule{
		rule("all", 0, "", "", time.Time{}), rule("tenant", 7, "", "", day(1)), rule("wechat", 0, "WECHAT", "", day(1)),
		rule("tenant's wechat", 7, "WECHAT", "", day(1)), rule("tenant's wechat later", 7, "WECHAT", "", day(10)),
		rule("account", 7, "WECHAT", "shop", day(20)),
	}
	for range len(list) {
		list = append(list[1:], list[0])
		rules, err := settle.NewRules(list...)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			tenant           int64
			channel, account string
			when             time.Time
			want             string
		}{
			{9, "SQB", "x", day(5), "all"},
			{9, "WECHAT", "x", day(5), "wechat"},
			{9, "WECHAT", "x", day(1).Add(-time.Nanosecond), "all"},
			{7, "SQB", "x", day(5), "tenant"},
			{7, "WECHAT", "x", day(5), "tenant's wechat"},
			{7, "WECHAT", "x", day(10).Add(-time.Nanosecond), "tenant's wechat"},
			{7, "WECHAT", "x", day(10), "tenant's wechat later"},
			{7, "WECHAT", "x", day(10).In(time.FixedZone("", 8*3600)), "tenant's wechat later"},
			{7, "WECHAT", "shop", day(19), "tenant's wechat later"},
			{7, "WECHAT", "shop", day(20), "account"},
			{7, "WECHAT", "shop", time.Time{}, "account"},
			{7, "WECHAT", "x", time.Time{}, "tenant's wechat"},
			{9, "SQB", "x", time.Time{}, "all"},
		} {
			if got := rules.At(test.tenant, test.channel, test.account, test.when).Version; got != test.want {
				t.Errorf("%d %s %s at %s: %q, want %q", test.tenant, test.channel, test.account, test.when, got, test.want)
			}
		}
	}
}

func TestWithoutRulesNothingIsTaken(t *testing.T) {
	entries, err := settle.Rules{}.At(7, "WECHAT", "shop", day(1)).Plan(sale(100))
	if want := map[string]int64{clearing: 100, merchant: -100}; err != nil || !equal(nets(entries...), want) {
		t.Errorf("%v, %v", entries, err)
	}
	rules, err := settle.NewRules(rule("tenant", 7, "", "", day(1)))
	if got := rules.At(9, "WECHAT", "shop", day(5)).Version; err != nil || got != settle.Plain().Version {
		t.Errorf("another tenant's rule is in force: %q, %v", got, err)
	}
}

func TestRulesThatCannotBe(t *testing.T) {
	later := day(1).In(time.FixedZone("", 8*3600))
	for name, list := range map[string][]settle.Rule{
		"a chain without version": {rule("", 7, "", "", day(1))},
		"one scope twice":         {rule("a", 7, "SQB", "", day(1)), rule("b", 7, "SQB", "", day(1))},
		"one moment in two zones": {rule("a", 7, "SQB", "", day(1)), rule("b", 7, "SQB", "", later)},
		"one scope since ever":    {rule("a", 0, "", "", time.Time{}), rule("b", 0, "", "", time.Time{})},
	} {
		if _, err := settle.NewRules(list...); !errors.Is(err, settle.ErrChain) {
			t.Errorf("%s: %v", name, err)
		}
	}
	list := []settle.Rule{rule("a", 7, "", "", day(1))}
	rules, err := settle.NewRules(list...)
	list[0].Chain.Version = "changed behind its back"
	if got := rules.At(7, "SQB", "", day(2)).Version; err != nil || got != "a" {
		t.Errorf("%q, %v", got, err)
	}
}
