package wechat

import (
	"bytes"
	"errors"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/money"
)

// Reasons for which an authentic message is not understood, besides those of channel.Object. They are written into a
// note, so they never quote it.
var (
	errIncomplete = errors.New("a field that is needed is missing")
	errAmount     = errors.New("an amount is not a number of fen in a known currency")
)

// reader reads the fields of one JSON object and remembers the first thing that was wrong.
type reader struct {
	fields channel.Object
	err    error
}

// newReader splits a JSON object into its fields. What is not UTF-8 becomes a replacement character first: in a field
// that is read it is refused, in one that nobody reads it does not hold a payment back.
func newReader(data []byte) *reader {
	fields, err := channel.ParseObject(bytes.ToValidUTF8(data, []byte("\uFFFD")))
	return &reader{fields, err}
}

// fail remembers err, if it is one and the first.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// text reads a JSON text; a field that is absent or null is empty.
func (r *reader) text(name string) string {
	s, err := r.fields.Text(name)
	r.fail(err)
	return s
}

// needed reads a text that must be there.
func (r *reader) needed(name string) string {
	s := r.text(name)
	if s == "" {
		r.fail(errIncomplete)
	}
	return s
}

// object reads an object that must be there.
func (r *reader) object(name string) *reader {
	value := r.fields[name]
	if value == nil || string(value) == "null" {
		r.fail(errIncomplete)
		return &reader{err: errIncomplete}
	}
	inner := newReader(value)
	r.fail(inner.err)
	return inner
}

// amount reads a whole number of minor units from the object "amount". The currency is CNY unless it says otherwise;
// the notification of a refund names none.
func (r *reader) amount(name string) money.Amount {
	inner := r.object("amount")
	currency := currencyOr(inner.text("currency"))
	value, there := inner.fields[name]
	if inner.err == nil && !there {
		inner.err = errIncomplete
	}
	if inner.err != nil {
		r.fail(inner.err)
		return money.Amount{}
	}
	amount, err := money.ParseMinor(string(value), currency)
	if err != nil {
		r.fail(errAmount)
	}
	return amount
}

func currencyOr(code string) money.Currency {
	if code == "" {
		return money.CNY
	}
	return money.Currency(code)
}
