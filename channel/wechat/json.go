package wechat

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/paidonce/paidonce/money"
)

// Reasons for which an authentic message is not understood. They are written into a note, so they never quote it.
var (
	errNotObject  = errors.New("not one JSON object")
	errRepeated   = errors.New("a field appears twice")
	errNotText    = errors.New("a field that must be a text is none")
	errIncomplete = errors.New("a field that is needed is missing")
	errAmount     = errors.New("an amount is not a number of fen in a known currency")
)

// reader reads the fields of one JSON object and remembers the first thing that was wrong.
type reader struct {
	fields map[string]json.RawMessage
	err    error
}

// newReader splits a JSON object into its fields. encoding/json by itself would take the last of two equal names and
// match names in any case; either would let two readers see two different messages.
func newReader(data []byte) *reader {
	r := &reader{fields: make(map[string]json.RawMessage)}
	decoder := json.NewDecoder(bytes.NewReader(data))
	opening, err := decoder.Token()
	if err != nil || opening != json.Delim('{') {
		return &reader{err: errNotObject}
	}
	for decoder.More() {
		var value json.RawMessage
		token, err := decoder.Token()
		name, ok := token.(string)
		if err != nil || !ok || decoder.Decode(&value) != nil {
			return &reader{err: errNotObject}
		}
		if _, repeated := r.fields[name]; repeated {
			return &reader{err: errRepeated}
		}
		r.fields[name] = value
	}
	if _, err := decoder.Token(); err != nil {
		return &reader{err: errNotObject}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return &reader{err: errNotObject}
	}
	return r
}

// fail remembers err, if it is one and the first.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// text reads a JSON text; a field that is absent or null is empty. A replacement character is refused: it is what
// broken UTF-8 and half a surrogate pair decode to, and two different numbers would become one.
func (r *reader) text(name string) string {
	value := r.fields[name]
	if value == nil || string(value) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(value, &s) != nil || strings.ContainsRune(s, utf8.RuneError) {
		r.fail(errNotText)
		return ""
	}
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
