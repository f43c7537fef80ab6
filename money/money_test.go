package money_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/money"
)

// Every price from one fen to a thousand yuan is read and written exactly. Going through a binary fraction gets
// 4,586 of these 100,000 wrong (19.99 becomes 1998).
func TestEveryFenUpToAThousandYuanIsExact(t *testing.T) {
	for fen := int64(1); fen <= 100_000; fen++ {
		text := fmt.Sprintf("%d.%02d", fen/100, fen%100)
		amount, err := money.Parse(text, money.CNY)
		if err != nil || amount != money.New(fen, money.CNY) {
			t.Fatalf("Parse(%q) = %v, %v; want %d fen", text, amount, err, fen)
		}
		if amount.Decimal() != text {
			t.Fatalf("%d fen is written %q, want %q", fen, amount.Decimal(), text)
		}
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text     string
		currency money.Currency
		want     int64
		err      error
	}{
		{"19.99", "CNY", 1999, nil},
		{"20", "CNY", 2000, nil},
		{"20.0", "CNY", 2000, nil},
		{"0.01", "CNY", 1, nil},
		{"0", "CNY", 0, nil},
		{"0020.00", "CNY", 2000, nil},
		{"1999", "JPY", 1999, nil},
		{"1.5", "KWD", 1500, nil},
		{"0.0001", "CLF", 1, nil},
		{"92233720368547758.07", "CNY", math.MaxInt64, nil},
		{"92233720368547758.08", "CNY", 0, money.ErrOverflow},
		{strings.Repeat("9", 1000), "CNY", 0, money.ErrOverflow},

		{"", "CNY", 0, money.ErrSyntax},
		{".", "CNY", 0, money.ErrSyntax},
		{".5", "CNY", 0, money.ErrSyntax},
		{"1.", "CNY", 0, money.ErrSyntax},
		{"0.001", "CNY", 0, money.ErrSyntax},
		{"0.000", "CNY", 0, money.ErrSyntax},
		{"1.0", "JPY", 0, money.ErrSyntax},
		{"1.2.3", "CNY", 0, money.ErrSyntax},
		{"1,000", "CNY", 0, money.ErrSyntax},
		{"+1", "CNY", 0, money.ErrSyntax},
		{"-1", "CNY", 0, money.ErrSyntax},
		{" 1", "CNY", 0, money.ErrSyntax},
		{"1 ", "CNY", 0, money.ErrSyntax},
		{"1e3", "CNY", 0, money.ErrSyntax},
		{"0x10", "CNY", 0, money.ErrSyntax},
		{"1_000", "CNY", 0, money.ErrSyntax},
		{"NaN", "CNY", 0, money.ErrSyntax},
		{"１.００", "CNY", 0, money.ErrSyntax},
		{"1\x00", "CNY", 0, money.ErrSyntax},

		{"1", "", 0, money.ErrCurrency},
		{"1", "cny", 0, money.ErrCurrency},
		{"1", "CN", 0, money.ErrCurrency},
		{"1", "CNY ", 0, money.ErrCurrency},
	} {
		got, err := money.Parse(test.text, test.currency)
		if !errors.Is(err, test.err) || got.Minor != test.want {
			t.Errorf("Parse(%q, %q) = %v, %v; want %d, %v", test.text, test.currency, got, err, test.want, test.err)
		}
		if err == nil && got.Currency != test.currency {
			t.Errorf("Parse(%q, %q) is in %q", test.text, test.currency, got.Currency)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("Parse of %d bytes answers with %d", len(test.text), len(err.Error()))
		}
	}
}

func TestParseMinor(t *testing.T) {
	for _, test := range []struct {
		text     string
		currency money.Currency
		want     int64
		err      error
	}{
		{"1999", "CNY", 1999, nil},
		{"0", "CNY", 0, nil},
		{"01999", "CNY", 1999, nil},
		{"9223372036854775807", "CNY", math.MaxInt64, nil},
		{"9223372036854775808", "CNY", 0, money.ErrOverflow},
		{"", "CNY", 0, money.ErrSyntax},
		{"19.99", "CNY", 0, money.ErrSyntax},
		{"-1", "CNY", 0, money.ErrSyntax},
		{"+1", "CNY", 0, money.ErrSyntax},
		{"1e3", "CNY", 0, money.ErrSyntax},
		{" 1", "CNY", 0, money.ErrSyntax},
		{"1", "yuan", 0, money.ErrCurrency},
	} {
		got, err := money.ParseMinor(test.text, test.currency)
		if !errors.Is(err, test.err) || got.Minor != test.want {
			t.Errorf("ParseMinor(%q, %q) = %v, %v; want %d, %v",
				test.text, test.currency, got, err, test.want, test.err)
		}
	}
}

func TestDecimalKeepsAllPlaces(t *testing.T) {
	for _, test := range []struct {
		amount money.Amount
		want   string
	}{
		{money.New(0, "CNY"), "0.00"},
		{money.New(1, "CNY"), "0.01"},
		{money.New(-1, "CNY"), "-0.01"},
		{money.New(100, "CNY"), "1.00"},
		{money.New(1999, "JPY"), "1999"},
		{money.New(-5, "JPY"), "-5"},
		{money.New(5, "KWD"), "0.005"},
		{money.New(12345, "CLF"), "1.2345"},
		{money.New(math.MaxInt64, "CNY"), "92233720368547758.07"},
		{money.New(math.MinInt64, "CNY"), "-92233720368547758.08"},
	} {
		if got := test.amount.Decimal(); got != test.want {
			t.Errorf("%d %s is written %q, want %q", test.amount.Minor, test.amount.Currency, got, test.want)
		}
		if got := test.amount.String(); got != test.want+" "+string(test.amount.Currency) {
			t.Errorf("String is %q", got)
		}
	}
}

// Whatever Decimal writes, Parse reads back, in every currency.
func TestDecimalAndParseAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		currency := money.Currency(rapid.SampledFrom([]string{"CNY", "USD", "JPY", "KWD", "CLF"}).Draw(t, "currency"))
		amount := money.New(rapid.Int64Min(0).Draw(t, "minor"), currency)
		if got, err := money.Parse(amount.Decimal(), currency); err != nil || got != amount {
			t.Fatalf("Parse(%q) = %v, %v", amount.Decimal(), got, err)
		}
	})
}

// Add and Sub agree with unbounded integers, or say that the result does not fit.
func TestSumsAreExactOrRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyInt64().Draw(t, "a"), anyInt64().Draw(t, "b")
		sum, errSum := money.New(a, money.CNY).Add(money.New(b, money.CNY))
		exactly(t, "sum", sum.Minor, errSum, new(big.Int).Add(big.NewInt(a), big.NewInt(b)))
		difference, errSub := money.New(a, money.CNY).Sub(money.New(b, money.CNY))
		// The smallest int64 has no negative; Sub refuses it as a subtrahend, which no amount of money misses.
		if b != math.MinInt64 {
			exactly(t, "difference", difference.Minor, errSub, new(big.Int).Sub(big.NewInt(a), big.NewInt(b)))
		} else if !errors.Is(errSub, money.ErrOverflow) {
			t.Fatalf("subtracting the smallest int64: %v", errSub)
		}
	})
}

func TestCurrenciesDoNotMix(t *testing.T) {
	for _, other := range []money.Currency{"USD", "cny", ""} {
		if _, err := money.New(1, money.CNY).Add(money.New(1, other)); !errors.Is(err, money.ErrCurrency) {
			t.Errorf("1 CNY + 1 %q: %v, want %v", other, err, money.ErrCurrency)
		}
		if _, err := money.New(1, money.CNY).Sub(money.New(1, other)); !errors.Is(err, money.ErrCurrency) {
			t.Errorf("1 CNY - 1 %q: %v, want %v", other, err, money.ErrCurrency)
		}
	}
}

// anyInt64 draws small numbers, numbers at both ends of the range and everything between.
func anyInt64() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(-200, 200), rapid.Int64(),
		rapid.Int64Range(math.MinInt64, math.MinInt64+200), rapid.Int64Range(math.MaxInt64-200, math.MaxInt64))
}

// exactly demands the true value where it fits into an int64 and ErrOverflow where it does not.
func exactly(t *rapid.T, name string, got int64, err error, want *big.Int) {
	t.Helper()
	if !want.IsInt64() {
		if !errors.Is(err, money.ErrOverflow) {
			t.Fatalf("%s %s does not fit, but is %d, %v", name, want, got, err)
		}
		return
	}
	if err != nil || got != want.Int64() {
		t.Fatalf("%s is %d, %v; want %s", name, got, err, want)
	}
}
