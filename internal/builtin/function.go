package builtin

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// maxDecimals bounds the second argument of round, either way.
const maxDecimals = 100

// function is one function of the calculator's language.
type function struct {
	least, most int // arguments
	of          func([]number) (number, error)
}

// takes says how many arguments there may be.
func (f function) takes() string {
	switch {
	case f.most > maxExpression:
		return fmt.Sprintf("%d or more arguments", f.least)
	case f.least < f.most:
		return fmt.Sprintf("%d or %d arguments", f.least, f.most)
	case f.least == 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", f.least)
}

func functions() map[string]function {
	return map[string]function{
		"abs":   unary(func(n number) (number, error) { return n.abs(), nil }),
		"ceil":  unary(number.ceil),
		"floor": unary(number.floor),
		"sqrt":  unary(number.squareRoot),
		"round": {1, 2, round},
		"pow":   {2, 2, func(args []number) (number, error) { return args[0].power(args[1]) }},
		"min":   {1, math.MaxInt, func(args []number) (number, error) { return slices.MinFunc(args, number.compare), nil }},
		"max":   {1, math.MaxInt, func(args []number) (number, error) { return slices.MaxFunc(args, number.compare), nil }},
		"log":   {1, 2, logarithm},
		"ln":    positive(math.Log),
		"log10": unary(func(n number) (number, error) { return logarithm([]number{n, whole(10)}) }),
		"exp":   unary(exponential),
		"sin":   ofDouble(math.Sin),
		"cos":   ofDouble(math.Cos),
		"tan":   ofDouble(math.Tan),
		"asin":  ofDouble(math.Asin),
		"acos":  ofDouble(math.Acos),
		"atan":  ofDouble(math.Atan),
	}
}

// constant returns the number that a name stands for.
func constant(name string) (number, bool) {
	switch name {
	case "pi", "π":
		return number{double: math.Pi}, true
	case "e":
		return number{double: math.E}, true
	}
	return number{}, false
}

func knownNames() string {
	return "known are " + strings.Join(slices.Sorted(maps.Keys(functions())), ", ") + ", pi and e"
}

// unary is a function of one argument that decides itself what is exact.
func unary(of func(number) (number, error)) function {
	return function{1, 1, func(args []number) (number, error) { return of(args[0]) }}
}

// ofDouble is a function of doubles.
func ofDouble(of func(float64) float64) function {
	return unary(func(n number) (number, error) {
		f := n.float()
		switch {
		case math.IsInf(f, 0):
			return number{}, errors.New("the argument is too large")
		case f == 0 && n.sign() != 0:
			return number{}, errors.New("the argument is too close to zero")
		}
		return approx(of(f))
	})
}

// positive is a function of doubles that are more than 0.
func positive(of func(float64) float64) function {
	f := ofDouble(of)
	return unary(func(n number) (number, error) {
		if n.sign() <= 0 {
			return number{}, errors.New("the argument must be more than 0")
		}
		return f.of([]number{n})
	})
}

// logarithm has the base e, or the one of the second argument. Whole powers of
// the base are found exactly: floor(log10(1000)) is 3, though doubles give a
// little less than 3.
func logarithm(args []number) (number, error) {
	ln := positive(math.Log)
	n, err := ln.of(args[:1])
	if err != nil || len(args) == 1 {
		return n, err
	}
	base, err := ln.of(args[1:])
	if err != nil {
		return number{}, err
	}
	if base.sign() == 0 {
		return number{}, errors.New("the base must not be 1")
	}
	log, err := n.divide(base)
	if err != nil || args[0].rat == nil || args[1].rat == nil {
		return log, err
	}
	nearest := math.Round(log.float())
	if math.Abs(nearest) <= maxBits { // more is no exact number
		if power := wholePower(args[1].rat, int64(nearest)); power != nil && power.Cmp(args[0].rat) == 0 {
			return whole(int64(nearest)), nil
		}
	}
	return log, nil
}

func exponential(n number) (number, error) {
	f := math.Exp(n.float())
	if f == 0 {
		return number{}, errSmall
	}
	return approx(f)
}

func round(args []number) (number, error) {
	decimals := 0
	if len(args) == 2 {
		r := args[1].rational()
		if !r.IsInt() || args[1].abs().compare(whole(maxDecimals)) > 0 {
			return number{}, fmt.Errorf("the number of digits must be a whole number from -%d to %[1]d", maxDecimals)
		}
		decimals = int(r.Num().Int64())
	}
	return args[0].round(decimals)
}
