package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/paidonce/paidonce/money"
	"github.com/paidonce/paidonce/settle"
)

// ruleConfig puts a chain in force for some payments from a moment on.
type ruleConfig struct {
	Tenant  int64        `yaml:"tenant,omitempty"`
	Channel string       `yaml:"channel,omitempty"` // as of an account; "wechat" covers v2 too
	Account string       `yaml:"account,omitempty"`
	From    string       `yaml:"from,omitempty"` // 2026-01-02, midnight in Beijing, or RFC 3339
	Version string       `yaml:"version"`
	Steps   []stepConfig `yaml:"steps"`
}

// stepConfig is one step; exactly one of its keys is given.
type stepConfig struct {
	Fee        *feeConfig        `yaml:"fee,omitempty"`
	Commission *commissionConfig `yaml:"commission,omitempty"`
	Split      *splitConfig      `yaml:"split,omitempty"`
}

type feeConfig struct {
	Rate         string `yaml:"rate"`
	Rounding     string `yaml:"rounding"`
	Bearer       string `yaml:"bearer"`
	KeptOnRefund bool   `yaml:"kept_on_refund,omitempty"`
}

type commissionConfig struct {
	Rate     string `yaml:"rate"`
	Rounding string `yaml:"rounding"`
}

type splitConfig struct {
	Remainder string           `yaml:"remainder"`
	Receivers []receiverConfig `yaml:"receivers"`
}

type receiverConfig struct {
	Name string `yaml:"name"`
	Rate string `yaml:"rate"`
}

// rules builds the settlement rules.
func (c *config) rules() (settle.Rules, error) {
	var list []settle.Rule
	for i, configured := range c.Settlement {
		path := fmt.Sprintf("$.settlement[%d]", i)
		rule, err := configured.build(path)
		if err != nil {
			return settle.Rules{}, err
		}
		if !c.covers(configured) {
			return settle.Rules{}, problemf(path, "no account fits this rule, so it would never apply")
		}
		list = append(list, rule)
		if _, err := settle.NewRules(list...); err != nil {
			return settle.Rules{}, &problem{path, err}
		}
	}
	return settle.NewRules(list...)
}

// covers reports whether some account's payments could be settled by the rule.
func (c *config) covers(r ruleConfig) bool {
	return slices.ContainsFunc(c.Accounts, func(a accountConfig) bool {
		return (r.Tenant == 0 || r.Tenant == a.Tenant) && (r.Account == "" || r.Account == a.Name) &&
			(r.Channel == "" || accountConfig{Channel: r.Channel}.code() == a.code())
	})
}

func (r ruleConfig) build(path string) (settle.Rule, error) {
	if r.Channel != "" {
		if _, known := kindOf(r.Channel); !known {
			return settle.Rule{}, problemf(path+".channel", "%q is none of %s", r.Channel, kindNames())
		}
	}
	from, err := parseFrom(r.From)
	if err != nil {
		return settle.Rule{}, &problem{path + ".from", err}
	}
	rule := settle.Rule{Tenant: r.Tenant, Channel: accountConfig{Channel: r.Channel}.code(), Account: r.Account,
		From: from, Chain: settle.Chain{Version: r.Version}}
	for i, step := range r.Steps {
		place := fmt.Sprintf("%s.steps[%d]", path, i)
		built, err := step.build()
		if err != nil {
			return rule, &problem{place, err}
		}
		rule.Chain.Steps = append(rule.Chain.Steps, built)
	}
	if err := rule.Chain.Validate(); err != nil {
		return rule, &problem{path, err}
	}
	return rule, nil
}

// parseFrom reads a day, which begins at midnight in Beijing as the channels' own days do, or a moment.
func parseFrom(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, time.FixedZone("+08:00", 8*3600)); err == nil {
		return day, nil
	}
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, errors.New("must be a day like 2026-01-31, or a moment like 2026-01-31T08:00:00+08:00")
	}
	return moment, nil
}

func (s stepConfig) build() (settle.Step, error) {
	switch {
	case s.Fee != nil && s.Commission == nil && s.Split == nil:
		rate, err := money.ParseRate(s.Fee.Rate)
		return settle.Fee{Rate: rate, Rounding: money.Rounding(s.Fee.Rounding), Bearer: settle.Bearer(s.Fee.Bearer),
			Kept: s.Fee.KeptOnRefund}, err
	case s.Commission != nil && s.Fee == nil && s.Split == nil:
		rate, err := money.ParseRate(s.Commission.Rate)
		return settle.Commission{Rate: rate, Rounding: money.Rounding(s.Commission.Rounding)}, err
	case s.Split != nil && s.Fee == nil && s.Commission == nil:
		return s.Split.build()
	}
	return nil, errors.New("needs exactly one of fee, commission and split")
}

func (s splitConfig) build() (settle.Step, error) {
	split := settle.Split{Remainder: settle.Remainder(s.Remainder)}
	for _, receiver := range s.Receivers {
		rate, err := money.ParseRate(receiver.Rate)
		if err != nil {
			return nil, err
		}
		split.Shares = append(split.Shares, settle.Share{Receiver: receiver.Name, Rate: rate})
	}
	return split, nil
}
