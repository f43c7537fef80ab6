package money

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// Rounding names what happens to a fraction of a minor unit.
type Rounding string

// The rounding rules. HalfUp is what channels print on their fee invoices; Down favours the payer.
const (
	HalfUp   Rounding = "half_up"   // to the nearest, a half away from zero
	HalfEven Rounding = "half_even" // to the nearest, a half to the even neighbour
	Down     Rounding = "down"      // towards zero
	Up       Rounding = "up"        // away from zero
)

// Valid reports whether r is one of the named rules.
func (r Rounding) Valid() bool {
	return r == HalfUp || r == HalfEven || r == Down || r == Up
}

// Rate is an exact fraction in parts per million: 6000 is 0.6 %. It lies between 0 and 1,000,000.
type Rate int64

// One is the rate of 100 %.
const One Rate = 1_000_000

// ParseRate reads a percentage with at most four decimals: "0.6%", "0.60%", "38.5%", "100%".
func ParseRate(s string) (Rate, error) {
	number, ok := strings.CutSuffix(s, "%")
	if !ok {
		return 0, fmt.Errorf("%w: rate %q needs a %% sign", ErrSyntax, clip(s))
	}
	whole, frac, point := strings.Cut(number, ".")
	if !digitsOnly(whole) || (point && !digitsOnly(frac)) || len(frac) > 4 || len(whole) > 3 {
		return 0, fmt.Errorf("%w: rate %q", ErrSyntax, clip(s))
	}
	var ppm int64
	for _, digit := range whole + frac + strings.Repeat("0", 4-len(frac)) {
		ppm = ppm*10 + int64(digit-'0')
	}
	if ppm > int64(One) {
		return 0, fmt.Errorf("%w: rate %q is above 100%%", ErrSyntax, clip(s))
	}
	return Rate(ppm), nil
}

// String writes the rate as the shortest percentage that ParseRate reads back: "0.6%".
func (r Rate) String() string {
	text := fmt.Sprintf("%d.%04d", int64(r)/10_000, int64(r)%10_000)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "%"
}

// Times returns the share r of a, rounded by rule. The amount must not be negative.
func (a Amount) Times(r Rate, rule Rounding) (Amount, error) {
	if r < 0 || r > One {
		return Amount{}, fmt.Errorf("%w: rate %d ppm", ErrOverflow, int64(r))
	}
	minor, err := MulDiv(a.Minor, int64(r), int64(One), rule)
	return Amount{minor, a.Currency}, err
}

// MulDiv returns a*b/c exactly, rounded by rule. a and b must not be negative, c must be positive.
func MulDiv(a, b, c int64, rule Rounding) (int64, error) {
	if a < 0 || b < 0 || c <= 0 {
		return 0, fmt.Errorf("%w: MulDiv(%d, %d, %d)", ErrOverflow, a, b, c)
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return 0, ErrOverflow
	}
	quotient, rest := bits.Div64(hi, lo, uint64(c))
	up := false
	switch rule {
	case Down:
	case Up:
		up = rest > 0
	case HalfUp:
		up = rest >= uint64(c)-rest
	case HalfEven:
		half := uint64(c) - rest
		up = rest > half || (rest == half && quotient%2 == 1)
	default:
		return 0, fmt.Errorf("%w: unknown rounding %q", ErrSyntax, string(rule))
	}
	if up && rest > 0 {
		quotient++
	}
	if quotient > math.MaxInt64 {
		return 0, ErrOverflow
	}
	return int64(quotient), nil
}

// Apportion divides total over parts in proportion to their sizes; the shares add up to total exactly.
//
// It splits off one part at a time: the first gets floor(total*part/sum), what remains is divided over the
// remaining parts in the same way. Two properties matter for refunds: no share ever shrinks when total grows
// (so consecutive partial refunds only ever add), and at total = sum(parts) every share equals its part (so the
// last refund takes exactly what is left). total must lie between 0 and sum(parts); no part may be negative.
func Apportion(total int64, parts []int64) ([]int64, error) {
	var sum int64
	for _, part := range parts {
		if part < 0 || sum > math.MaxInt64-part {
			return nil, fmt.Errorf("%w: apportioned part %d", ErrOverflow, part)
		}
		sum += part
	}
	if total < 0 || total > sum {
		return nil, fmt.Errorf("%w: apportion %d over %d", ErrOverflow, total, sum)
	}
	shares := make([]int64, len(parts))
	for i, part := range parts {
		if sum == 0 {
			break
		}
		share, err := MulDiv(total, part, sum, Down)
		if err != nil {
			return nil, err
		}
		shares[i] = share
		total -= share
		sum -= part
	}
	return shares, nil
}
