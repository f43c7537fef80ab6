// Package money holds exact amounts: an int64 count of a currency's minor unit (fen, cents) together with
// its currency. There is no floating point anywhere, every operation that could overflow says so, and every
// operation that could round names its rule.
package money

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrOverflow: the exact result does not fit into an int64 of minor units.
	ErrOverflow = errors.New("money: amount out of range")
	// ErrCurrency: two amounts of different currencies met, or a currency is not three capital letters.
	ErrCurrency = errors.New("money: currency does not fit")
	// ErrSyntax: a text is not an amount or a rate in the strict form that Parse and ParseRate accept.
	ErrSyntax = errors.New("money: not a valid amount")
)

// Currency is an ISO 4217 alphabetic code such as "CNY".
type Currency string

// CNY is the yuan; its minor unit is the fen.
const CNY Currency = "CNY"

// Valid reports whether c has the form of an ISO 4217 code: three capital ASCII letters.
func (c Currency) Valid() bool {
	if len(c) != 3 {
		return false
	}
	for i := range 3 {
		if c[i] < 'A' || c[i] > 'Z' {
			return false
		}
	}
	return true
}

// Exponent is the number of decimal places of the minor unit (ISO 4217): 2 unless listed otherwise.
func (c Currency) Exponent() int {
	switch c {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV",
		"XAF", "XOF", "XPF":
		return 0
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	case "CLF", "UYW":
		return 4
	}
	return 2
}

// Amount is a count of minor units of one currency. It may be negative; a posting's amount is not.
type Amount struct {
	Minor    int64    `json:"minor"`
	Currency Currency `json:"currency"`
}

// New makes an amount from minor units: New(1999, CNY) is 19.99 yuan.
func New(minor int64, c Currency) Amount { return Amount{Minor: minor, Currency: c} }

// IsZero reports whether the amount is zero, whatever its currency.
func (a Amount) IsZero() bool { return a.Minor == 0 }

// Add returns a+b; ErrCurrency if the currencies differ, ErrOverflow if the sum does not fit.
func (a Amount) Add(b Amount) (Amount, error) {
	if a.Currency != b.Currency {
		return Amount{}, fmt.Errorf("%w: %s and %s", ErrCurrency, a.Currency, b.Currency)
	}
	sum := a.Minor + b.Minor
	if (b.Minor > 0 && sum < a.Minor) || (b.Minor < 0 && sum > a.Minor) {
		return Amount{}, ErrOverflow
	}
	return Amount{sum, a.Currency}, nil
}

// Sub returns a-b with the errors of Add.
func (a Amount) Sub(b Amount) (Amount, error) {
	if b.Minor == math.MinInt64 {
		return Amount{}, ErrOverflow
	}
	return a.Add(Amount{-b.Minor, b.Currency})
}

// Decimal writes the amount in major units with all its decimal places: "19.99".
func (a Amount) Decimal() string {
	exp := a.Currency.Exponent()
	digits := strconv.FormatUint(magnitude(a.Minor), 10)
	if exp > 0 {
		if pad := exp + 1 - len(digits); pad > 0 {
			digits = strings.Repeat("0", pad) + digits
		}
		digits = digits[:len(digits)-exp] + "." + digits[len(digits)-exp:]
	}
	if a.Minor < 0 {
		return "-" + digits
	}
	return digits
}

// String writes the amount for people: "19.99 CNY".
func (a Amount) String() string { return a.Decimal() + " " + string(a.Currency) }

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// Parse reads an unsigned decimal in major units: digits, then optionally a point and at most as many
// digits as the currency has decimal places. "19.99", "20", "20.0" and "0.01" are amounts of CNY; "1,000",
// "+1", " 1", ".5", "1." and "0.001" are ErrSyntax. The channels send exactly this form.
func Parse(s string, c Currency) (Amount, error) {
	if !c.Valid() {
		return Amount{}, fmt.Errorf("%w: %q", ErrCurrency, string(c))
	}
	whole, frac, point := strings.Cut(s, ".")
	exp := c.Exponent()
	if !digitsOnly(whole) || (point && !digitsOnly(frac)) || len(frac) > exp {
		return Amount{}, fmt.Errorf("%w: %q in %s", ErrSyntax, clip(s), c)
	}
	minor, err := strconv.ParseInt(whole+frac+strings.Repeat("0", exp-len(frac)), 10, 64)
	if err != nil {
		return Amount{}, fmt.Errorf("%w: %q", ErrOverflow, clip(s))
	}
	return Amount{minor, c}, nil
}

// ParseMinor reads an unsigned whole number of minor units, as WeChat Pay v2 and SQB send it ("1999").
func ParseMinor(s string, c Currency) (Amount, error) {
	if !c.Valid() {
		return Amount{}, fmt.Errorf("%w: %q", ErrCurrency, string(c))
	}
	if !digitsOnly(s) {
		return Amount{}, fmt.Errorf("%w: %q in minor units", ErrSyntax, clip(s))
	}
	minor, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return Amount{}, fmt.Errorf("%w: %q", ErrOverflow, clip(s))
	}
	return Amount{minor, c}, nil
}

func digitsOnly(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// clip keeps a hostile text from filling an error message.
func clip(s string) string {
	if len(s) > 24 {
		return s[:24] + "…"
	}
	return s
}
