package builtin

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

const (
	// maxBits bounds the numerator and denominator of an exact number, and
	// with them the time and memory of every operation. It is some 1,233
	// decimal digits.
	maxBits = 4096

	maxDigits   = 50 // significant digits of an exact result with decimals
	approxWidth = 15 // significant digits of an approximate one; a double has them all
)

var (
	errDivision = errors.New("division by zero")
	errLarge    = errors.New("the result is too large")
	errSmall    = errors.New("the result is too close to zero")
	errNotReal  = errors.New("the result is not a real number")
)

// number is a rational number, which is exact, or a double, which is not.
// It is immutable.
type number struct {
	rat    *big.Rat // nil if the number is a double
	double float64  // finite
}

// exact returns r as a number. A fraction that has become too long is rounded
// to a double; a whole number that has is an error, like a double out of range.
func exact(r *big.Rat) (number, error) {
	if r.Num().BitLen() <= maxBits && r.Denom().BitLen() <= maxBits {
		return number{rat: r}, nil
	}
	f, _ := r.Float64()
	if f == 0 {
		return number{}, errSmall
	}
	return approx(f)
}

func approx(f float64) (number, error) {
	switch {
	case math.IsNaN(f):
		return number{}, errNotReal
	case math.IsInf(f, 0):
		return number{}, errLarge
	}
	return number{double: f}, nil
}

func whole(n int64) number { return number{rat: new(big.Rat).SetInt64(n)} }

// float is the nearest double, infinite if there is none.
func (n number) float() float64 {
	if n.rat == nil {
		return n.double
	}
	f, _ := n.rat.Float64()
	return f
}

func (n number) sign() int {
	if n.rat != nil {
		return n.rat.Sign()
	}
	return cmp.Compare(n.double, 0)
}

// compare is negative, 0 or positive, as n is less, equal or more than m. A
// double counts as the number that it is exactly.
func (n number) compare(m number) int { return n.rational().Cmp(m.rational()) }

func (n number) rational() *big.Rat {
	if n.rat != nil {
		return n.rat
	}
	return new(big.Rat).SetFloat64(n.double)
}

func (n number) negate() number {
	if n.rat == nil {
		return number{double: -n.double}
	}
	return number{rat: new(big.Rat).Neg(n.rat)}
}

func (n number) abs() number {
	if n.sign() < 0 {
		return n.negate()
	}
	return n
}

func (n number) add(m number) (number, error) {
	if n.rat != nil && m.rat != nil {
		return exact(new(big.Rat).Add(n.rat, m.rat))
	}
	return approx(n.float() + m.float())
}

func (n number) multiply(m number) (number, error) {
	if n.rat != nil && m.rat != nil {
		return exact(new(big.Rat).Mul(n.rat, m.rat))
	}
	p := n.float() * m.float()
	if p == 0 && n.sign() != 0 && m.sign() != 0 {
		return number{}, errSmall
	}
	return approx(p)
}

func (n number) divide(m number) (number, error) {
	if m.sign() == 0 {
		return number{}, errDivision
	}
	if n.rat != nil && m.rat != nil {
		return exact(new(big.Rat).Quo(n.rat, m.rat))
	}
	q := n.float() / m.float()
	if q == 0 && n.sign() != 0 {
		return number{}, errSmall
	}
	return approx(q)
}

// remainder has the sign of n, as in C, Go and JavaScript.
func (n number) remainder(m number) (number, error) {
	if m.sign() == 0 {
		return number{}, errDivision
	}
	if n.rat == nil || m.rat == nil {
		return approx(math.Mod(n.float(), m.float()))
	}
	q := new(big.Rat).Quo(n.rat, m.rat)
	times := new(big.Rat).SetInt(new(big.Int).Quo(q.Num(), q.Denom()))
	return exact(times.Sub(n.rat, times.Mul(times, m.rat)))
}

// power is exact for whole exponents, as long as the result is not too long.
// 0^0 is 1.
func (n number) power(m number) (number, error) {
	if n.sign() == 0 && m.sign() < 0 {
		return number{}, errDivision
	}
	if n.rat != nil && m.rat != nil && m.rat.IsInt() && m.rat.Num().IsInt64() {
		if r := wholePower(n.rat, m.rat.Num().Int64()); r != nil {
			return exact(r)
		}
	}
	p := math.Pow(n.float(), m.float())
	if p == 0 && n.sign() != 0 {
		return number{}, errSmall
	}
	return approx(p)
}

// wholePower is r^e, or nil if it would be longer than maxBits, which is known
// before anything is multiplied.
func wholePower(r *big.Rat, e int64) *big.Rat {
	num, denom := r.Num(), r.Denom()
	bits := max(num.BitLen(), denom.BitLen()) - 1 // 0 for 0, 1 and -1 alone
	times := new(big.Int).Abs(big.NewInt(e))
	if bits > 0 && times.Cmp(big.NewInt(int64(maxBits/bits))) > 0 {
		return nil
	}
	if bits == 0 {
		// Only whether the exponent is zero or odd matters.
		times.SetInt64(int64(times.Bit(0)) + 2*int64(times.Sign()))
	}
	up, down := new(big.Int).Exp(num, times, nil), new(big.Int).Exp(denom, times, nil)
	if e < 0 {
		up, down = down, up
	}
	return new(big.Rat).SetFrac(up, down)
}

// squareRoot is exact for squares of exact numbers.
func (n number) squareRoot() (number, error) {
	if n.sign() < 0 {
		return number{}, errNotReal
	}
	if n.rat != nil {
		num, denom := new(big.Int).Sqrt(n.rat.Num()), new(big.Int).Sqrt(n.rat.Denom())
		root := new(big.Rat).SetFrac(num, denom)
		if new(big.Rat).Mul(root, root).Cmp(n.rat) == 0 {
			return number{rat: root}, nil
		}
	}
	return approx(math.Sqrt(n.float()))
}

func (n number) floor() (number, error) {
	if n.rat == nil {
		return approx(math.Floor(n.double))
	}
	// Div rounds down, since the denominator is positive.
	return exact(new(big.Rat).SetInt(new(big.Int).Div(n.rat.Num(), n.rat.Denom())))
}

func (n number) ceil() (number, error) {
	down, err := n.negate().floor()
	if err != nil {
		return number{}, err
	}
	return down.negate(), nil
}

// round rounds to a number of decimals, which may be negative. Halves go away
// from zero, as people round.
func (n number) round(decimals int) (number, error) {
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(decimals, -decimals))), nil))
	if decimals < 0 {
		scale.Inv(scale)
	}
	r := new(big.Rat).Abs(n.rational())
	r.Mul(r, scale).Add(r, big.NewRat(1, 2))
	r.SetInt(new(big.Int).Quo(r.Num(), r.Denom()))
	r.Quo(r, scale)
	if n.sign() < 0 {
		r.Neg(r)
	}
	if n.rat == nil {
		f, _ := r.Float64()
		return approx(f)
	}
	return exact(r)
}

// format returns the decimal text of a number, and whether it is the number
// exactly. Whole numbers have all their digits.
func (n number) format() (digits string, exactly bool) {
	if n.rat != nil {
		if n.rat.IsInt() {
			return n.rat.Num().String(), true
		}
		if places, finite := n.rat.FloatPrec(); finite {
			if s := n.rat.FloatString(places); len(strings.Trim(s, "-0.")) <= maxDigits {
				return readable(s), true
			}
		}
	}
	f := new(big.Float).SetPrec(2 * maxBits).SetRat(n.rational())
	return readable(f.Text('e', approxWidth-1)), false
}

// readable is a decimal text in the form that people expect: without needless
// zeros, and with an exponent only if it is far from 1.
func readable(s string) string {
	sign := ""
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		sign, s = "-", rest
	}
	mantissa, exponent, _ := strings.Cut(s, "e")
	point, _ := strconv.Atoi(exponent) // no exponent is 0
	before, after, _ := strings.Cut(mantissa, ".")
	point += len(before)
	digits := strings.TrimLeft(before+after, "0")
	point -= len(before+after) - len(digits) // digits are behind 0. if point is 0
	digits = strings.TrimRight(digits, "0")
	switch {
	case digits == "":
		return "0"
	case point > 21 || point < -6:
		exponent := "e" + strconv.Itoa(point-1)
		if len(digits) == 1 {
			return sign + digits + exponent
		}
		return sign + digits[:1] + "." + digits[1:] + exponent
	case point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		return sign + digits + strings.Repeat("0", point-len(digits))
	default:
		return sign + digits[:point] + "." + digits[point:]
	}
}

// asDouble returns the double whose shortest text means the same as digits.
// There is none for numbers that a double rounds.
func asDouble(digits string) (float64, bool) {
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, false
	}
	want, ok := new(big.Rat).SetString(digits)
	got, ok2 := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return f, ok && ok2 && want.Cmp(got) == 0
}
