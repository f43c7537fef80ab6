package money_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/paidonce/paidonce/money"
)

func TestParseRate(t *testing.T) {
	for _, test := range []struct {
		text string
		want money.Rate
		err  error
	}{
		{"0.6%", 6_000, nil},
		{"0.60%", 6_000, nil},
		{"38.5%", 385_000, nil},
		{"0.0001%", 1, nil},
		{"0%", 0, nil},
		{"100%", money.One, nil},
		{"100.0000%", money.One, nil},
		{"100.0001%", 0, money.ErrSyntax},
		{"101%", 0, money.ErrSyntax},
		{"1000%", 0, money.ErrSyntax},
		{"0.00001%", 0, money.ErrSyntax},
		{"0.6", 0, money.ErrSyntax},
		{"0.6 %", 0, money.ErrSyntax},
		{"-1%", 0, money.ErrSyntax},
		{".6%", 0, money.ErrSyntax},
		{"6.%", 0, money.ErrSyntax},
		{"%", 0, money.ErrSyntax},
		{"", 0, money.ErrSyntax},
		{"６%", 0, money.ErrSyntax},
	} {
		if got, err := money.ParseRate(test.text); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("ParseRate(%q) = %d, %v; want %d, %v", test.text, got, err, test.want, test.err)
		}
	}
}

func TestRatesAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := money.Rate(rapid.Int64Range(0, int64(money.One)).Draw(t, "rate"))
		if got, err := money.ParseRate(rate.String()); err != nil || got != rate {
			t.Fatalf("%d ppm is written %q and read as %d, %v", int64(rate), rate, int64(got), err)
		}
	})
	written := map[money.Rate]string{0: "0%", 1: "0.0001%", 6_000: "0.6%", 100_000: "10%", money.One: "100%"}
	for rate, want := range written {
		if rate.String() != want {
			t.Errorf("%d ppm is written %q, want %q", int64(rate), rate, want)
		}
	}
}

// The four rules on a channel fee of 0.5 % of one, three and five yuan: 0.5, 1.5 and 2.5 fen; and on a whole number.
func TestRoundingRules(t *testing.T) {
	half, err := money.ParseRate("0.5%")
	if err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[money.Rounding][4]int64{
		money.Down:     {0, 1, 2, 1},
		money.Up:       {1, 2, 3, 1},
		money.HalfUp:   {1, 2, 3, 1},
		money.HalfEven: {0, 2, 2, 1},
	} {
		for i, fen := range []int64{100, 300, 500, 200} {
			got, err := money.New(fen, money.CNY).Times(half, rule)
			if err != nil || got != money.New(want[i], money.CNY) {
				t.Errorf("0.5%% of %d fen, %s: %v, %v; want %d fen", fen, rule, got, err, want[i])
			}
		}
		if !rule.Valid() {
			t.Errorf("%s is not valid", rule)
		}
	}
	if money.Rounding("").Valid() || money.Rounding("nearest").Valid() {
		t.Error("an unnamed rule is valid")
	}
}

func TestWhatHasNoShare(t *testing.T) {
	for name, compute := range map[string]func() error{
		"negative amount":      func() error { _, err := money.New(-1, money.CNY).Times(money.One, money.Down); return err },
		"negative rate":        func() error { _, err := money.New(1, money.CNY).Times(-1, money.Down); return err },
		"rate above 100%":      func() error { _, err := money.New(1, money.CNY).Times(money.One+1, money.Down); return err },
		"negative a":           func() error { _, err := money.MulDiv(-1, 1, 1, money.Down); return err },
		"negative b":           func() error { _, err := money.MulDiv(1, -1, 1, money.Down); return err },
		"nothing to divide by": func() error { _, err := money.MulDiv(1, 1, 0, money.Down); return err },
		// 4294967297 * 4294967295 is 2^64 - 1: half of it lies between the largest int64 and the next number.
		"rounded up past the end": func() error {
			_, err := money.MulDiv(4_294_967_297, 4_294_967_295, 2, money.Up)
			return err
		},
		"negative total": func() error { _, err := money.Apportion(-1, []int64{1}); return err },
		"more than all":  func() error { _, err := money.Apportion(3, []int64{1, 1}); return err },
		"negative part":  func() error { _, err := money.Apportion(0, []int64{2, -1}); return err },
		"parts overflow": func() error { _, err := money.Apportion(0, []int64{math.MaxInt64, 1}); return err },
	} {
		if err := compute(); !errors.Is(err, money.ErrOverflow) {
			t.Errorf("%s: %v, want %v", name, err, money.ErrOverflow)
		}
	}
	if _, err := money.MulDiv(1, 1, 2, "nearest"); !errors.Is(err, money.ErrSyntax) {
		t.Errorf("an unnamed rule: %v, want %v", err, money.ErrSyntax)
	}
}

// MulDiv agrees with unbounded integers under every rule.
func TestMulDivIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Min(0), rapid.Int64Range(math.MaxInt64-9, math.MaxInt64))
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		c := max(1, number.Draw(t, "c"))
		rule := rapid.SampledFrom([]money.Rounding{money.HalfUp, money.HalfEven, money.Down, money.Up}).Draw(t, "rule")
		got, err := money.MulDiv(a, b, c, rule)
		exactly(t, string(rule), got, err, oracle(a, b, c, rule))
	})
}

// oracle rounds a*b/c by comparing twice the rest with c, in unbounded integers.
func oracle(a, b, c int64, rule money.Rounding) *big.Int {
	product := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	quotient, rest := new(big.Int).QuoRem(product, big.NewInt(c), new(big.Int))
	side := new(big.Int).Lsh(rest, 1).Cmp(big.NewInt(c)) // below, at or above the half
	up := false
	switch rule {
	case money.Up:
		up = rest.Sign() > 0
	case money.HalfUp:
		up = side >= 0
	case money.HalfEven:
		up = side > 0 || side == 0 && quotient.Bit(0) == 1
	}
	if up {
		quotient.Add(quotient, big.NewInt(1))
	}
	return quotient
}

func TestApportionByHand(t *testing.T) {
	for _, test := range []struct {
		total int64
		parts []int64
		want  []int64
	}{
		{0, nil, []int64{}},
		{0, []int64{0, 0}, []int64{0, 0}},
		{0, []int64{5, 7}, []int64{0, 0}},
		{12, []int64{5, 7}, []int64{5, 7}},
		{1, []int64{1, 1, 1}, []int64{0, 0, 1}},
		{2, []int64{1, 1, 1}, []int64{0, 1, 1}},
		{50, []int64{94, 6, 0}, []int64{47, 3, 0}},
		{math.MaxInt64 - 1, []int64{math.MaxInt64 - 1, 1}, []int64{math.MaxInt64 - 2, 1}},
	} {
		got, err := money.Apportion(test.total, test.parts)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("Apportion(%d, %v) = %v, %v; want %v", test.total, test.parts, got, err, test.want)
		}
	}
}

// A payment was split over some accounts. However it is given back, in one piece or in many:
//
//   - the shares of what was given back so far add up to it;
//   - no share is negative or larger than the part that it is taken from;
//   - one more fen given back never makes a share smaller;
//   - everything given back leaves nothing in any account;
//   - an account's share is less than one fen for each part off its proportion.
func TestApportionServesRefunds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int64{3, 1000, math.MaxInt64 / 8}).Draw(t, "limit")
		parts := rapid.SliceOfN(rapid.Int64Range(0, limit), 1, 8).Draw(t, "parts")
		var sum int64
		for _, part := range parts {
			sum += part
		}
		before := slices.Clone(parts)
		total := rapid.Int64Range(0, sum).Draw(t, "total")
		shares := apportion(t, total, parts)
		var added int64
		for i, share := range shares {
			if share < 0 || share > parts[i] {
				t.Fatalf("share %d is %d of %d", i, share, parts[i])
			}
			added += share
			far := new(big.Int).Mul(big.NewInt(share), big.NewInt(sum))
			far.Sub(far, new(big.Int).Mul(big.NewInt(total), big.NewInt(parts[i])))
			bound := new(big.Int).Mul(big.NewInt(sum), big.NewInt(int64(len(parts))))
			if far.CmpAbs(bound) > 0 {
				t.Fatalf("share %d is %d, too far from its proportion", i, share)
			}
		}
		if added != total {
			t.Fatalf("the shares add up to %d, want %d", added, total)
		}
		if total < sum {
			for i, more := range apportion(t, total+1, parts) {
				if more < shares[i] {
					t.Fatalf("share %d shrinks from %d to %d when one more is given back", i, shares[i], more)
				}
			}
		}
		if full := apportion(t, sum, parts); !slices.Equal(full, parts) {
			t.Fatalf("everything given back takes %v of %v", full, parts)
		}
		if !slices.Equal(parts, before) {
			t.Fatal("Apportion changed its argument")
		}
	})
}

func apportion(t *rapid.T, total int64, parts []int64) []int64 {
	t.Helper()
	shares, err := money.Apportion(total, parts)
	if err != nil || len(shares) != len(parts) {
		t.Fatalf("Apportion(%d, %v) = %v, %v", total, parts, shares, err)
	}
	return shares
}
