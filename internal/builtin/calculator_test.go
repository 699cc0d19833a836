package builtin

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEvaluate(t *testing.T) {
	const (
		yes = true  // exact
		no  = false // rounded
	)
	tests := []struct {
		expression string
		want       string
		exact      bool
	}{
		{"1+2", "3", yes},
		{" 1\t+\r\n 2 ", "3", yes},
		{"7/2", "3.5", yes},
		{"6/2", "3", yes},
		{"2^10", "1024", yes},
		{"2**10", "1024", yes},
		{"0.1+0.2", "0.3", yes},
		{"0.1*3 - 0.3", "0", yes},
		{"2^53+1", "9007199254740993", yes},
		{"2^64+1", "18446744073709551617", yes},
		{"12345678901234567890123456789 * 10 + 1", "123456789012345678901234567891", yes},
		{"1.000000000000000000000001 + 1", "2.000000000000000000000001", yes},
		{"2^-2", "0.25", yes},
		{"(2/3)^2*9", "4", yes},
		{"1/3", "0.333333333333333", no},
		{"1/3*3", "1", yes},
		{"2/3", "0.666666666666667", no},
		{"-1/3", "-0.333333333333333", no},
		{"10^21", "1000000000000000000000", yes},
		{"10^30", "1" + strings.Repeat("0", 30), yes},
		{"10^-6", "0.000001", yes},
		{"10^-7", "0.0000001", yes},
		{"10^-8", "1e-8", yes},
		{"-1.5*10^-20", "-1.5e-20", yes},
		{"10^300*pi", "3.14159265358979e300", no},
		{"1e3", "1000", yes},
		{"1.5E-3", "0.0015", yes},
		{".5 + 5.", "5.5", yes},
		{"1_000_000", "1000000", yes},
		{"007", "7", yes},

		{"2+3*4", "14", yes},
		{"(2+3)*4", "20", yes},
		{"2-3-4", "-5", yes},
		{"100/10/2", "5", yes},
		{"2^3^2", "512", yes},
		{"-2^2", "-4", yes},
		{"(-2)^2", "4", yes},
		{"2^-1*4", "2", yes},
		{"--3", "3", yes},
		{"+-+3", "-3", yes},
		{"3*-2", "-6", yes},
		{"7%3", "1", yes},
		{"-7%3", "-1", yes},
		{"7%-3", "1", yes},
		{"5.5%2", "1.5", yes},
		{"0^0", "1", yes},
		{"0^5", "0", yes},
		{"(-1)^99999999999999999", "-1", yes},
		{"(-1)^99999999999999998", "1", yes},
		{"1^9999999999999999999999", "1", no}, // the exponent is no machine word

		{"abs(-3.5)", "3.5", yes},
		{"ceil(1.2)", "2", yes},
		{"ceil(-1.2)", "-1", yes},
		{"floor(1.8)", "1", yes},
		{"floor(-1.2)", "-2", yes},
		{"floor(7/2)", "3", yes},
		{"round(2.5)", "3", yes},
		{"round(-2.5)", "-3", yes},
		{"round(1.005, 2)", "1.01", yes},
		{"round(1234, -2)", "1200", yes},
		{"round(pi, 4)", "3.1416", no},
		{"round(-0.4)", "0", yes},
		{"sqrt(16)", "4", yes},
		{"sqrt(1/4)", "0.5", yes},
		{"sqrt(10^40)", "1" + strings.Repeat("0", 20), yes},
		{"sqrt(2)", "1.4142135623731", no},
		{"sqrt(2)^2", "2", no},
		{"pow(2, 0.5)*0 + pow(2,8)", "256", no},
		{"pow(2,8)", "256", yes},
		{"min(3, 1, 2)", "1", yes},
		{"max(3, pi, 2)", "3.14159265358979", no},
		{"max(7, pi)", "7", yes},
		{"min(5)", "5", yes},
		{"ln(e)", "1", no},
		{"log(e)", "1", no},
		{"log10(1000)", "3", yes},
		{"floor(log10(1000))", "3", yes},
		{"log10(0.001)", "-3", yes},
		{"log10(1001)", "3.00043407747932", no},
		{"log(8, 2)", "3", yes},
		{"log(8, 1/2)", "-3", yes},
		{"log10(1)", "0", yes},
		{"log(pi, pi)", "1", no},
		{"exp(0)", "1", no},
		{"sin(pi/2)", "1", no},
		{"cos(0)", "1", no},
		{"tan(0)", "0", no},
		{"atan(1)*4", "3.14159265358979", no},
		{"asin(1)+acos(1)", "1.5707963267949", no},
		{"pi", "3.14159265358979", no},
		{"π", "3.14159265358979", no},
		{"(PI - pi) + (E - e)", "0", no},
		{"SQRT(9)", "3", yes},

		{"（１＋２）×３÷４．５", "2", yes},
		{"ｓｑｒｔ（９）", "3", yes},
		{"ｍａｘ（１，２）", "2", yes},
		{"５　−　３", "2", yes},
		{"2＾１０", "1024", yes},
	}
	for _, tt := range tests {
		n, err := evaluate(tt.expression)
		if err != nil {
			t.Errorf("%s: %v", tt.expression, err)
			continue
		}
		if got, exact := n.format(); got != tt.want || exact != tt.exact {
			t.Errorf("%s = %s (exact %t), want %s (exact %t)", tt.expression, got, exact, tt.want, tt.exact)
		}
	}
}

func TestEvaluateErrors(t *testing.T) {
	tests := []struct{ expression, want string }{
		{"", "the expression is empty"},
		{" \n　", "the expression is empty"},
		{strings.Repeat("1", 1001), "longer than 1000 characters"},

		{"1/0", "division by zero, at character 2"},
		{"1 % (2-2)", "division by zero, at character 3"},
		{"0^-1", "division by zero, at character 2"},
		{"1/sin(0)", "division by zero"},
		{"10^5000", "too large, at character 3"},
		{"9**9**9", "too large, at character 2"},
		{"2^999999999", "too large, at character 2"},
		{"2^9999999999999999999999", "too large"},
		{"exp(1000)", "exp: the result is too large, at character 1"},
		{"10^300*10^300*10^300*10^300*10^300", "too large"},
		{"exp(-1000)", "too close to zero"},
		{"0.5^99999", "too close to zero"},
		{"1e999999999", "the exponent of a number is larger than 1000, at character 1"},
		{"1+1e-99999999999999999999", "the exponent of a number is larger than 1000, at character 3"},
		{strings.Repeat("9", 900) + "e1000", "too large or has too many digits"},
		{"sqrt(-1)", "sqrt: the result is not a real number, at character 1"},
		{"(-8)^(1/3)", "not a real number"},
		{"asin(2)", "not a real number"},
		{"ln(0)", "ln: the argument must be more than 0"},
		{"log10(-1)", "log10: the argument must be more than 0"},
		{"log(2, 1)", "the base must not be 1"},
		{"log(2, 0)", "the argument must be more than 0"},
		{"ln(10^-400)", "ln: the argument is too close to zero"},
		{"sin(10^400)", "sin: the argument is too large"},
		{"round(1, 0.5)", "the number of digits must be a whole number from -100 to 100"},
		{"round(1, 1e9)", "the number of digits must be a whole number"},

		{"foo+1", `unknown name "foo"; known are abs, acos`},
		{"1+fOO", `unknown name "foo"`},
		{"true", `unknown name "true"`},
		{"let x = 1; x", `unknown name "let"`},
		{"1 in 2", `unknown name "in"`},
		{"map(1, 2)", `unknown name "map"`},
		{"sin", `"sin" is a function; write sin(...), at character 1`},
		{"max", `"max" is a function`},
		{"pi(1)", `"pi" is not a function`},
		{"sin()", "sin takes 1 argument, not 0"},
		{"abs(1, 2)", "abs takes 1 argument, not 2, at character 1"},
		{"pow(2)", "pow takes 2 arguments, not 1"},
		{"round(1,2,3)", "round takes 1 or 2 arguments, not 3"},
		{"min()", "min takes 1 or more arguments, not 0"},

		{"1+", "the expression ends too early"},
		{"(1+2", "the expression ends too early"},
		{"max(1,", "the expression ends too early"},
		{strings.Repeat("(", 1000), "the expression ends too early"},
		{"1+*2", `unexpected "*", at character 3`},
		{"(1+2))", `unexpected ")", at character 6`},
		{"()", `unexpected ")", at character 2`},
		{"2 345", `unexpected "345", at character 3`},
		{"1.2.3", `unexpected ".3", at character 4`},
		{"1,000", `unexpected ",", at character 2`},
		{"2pi", `unexpected "p" after a number; multiplication is written with *, at character 2`},
		{"0x10", `unexpected "x" after a number`},
		{"2(3)", `unexpected "(", at character 2`},
		{"(1)(2)", `unexpected "(", at character 4`},
		{"5!", `unexpected "!", at character 2`},
		{"50%", "the expression ends too early"},
		{"7//2", `"//" is not known; for division without remainder write floor(a/b), at character 2`},
		{"7 /*2*/ + 1", `unexpected "*", at character 4`},
		{"7 /* 2", `unexpected "*", at character 4`},
		{"1; 2", `unexpected ";", at character 2`},
		{"1 == 1", `unexpected "=", at character 3`},
		{"1 ? 2 : 3", `unexpected "?"`},
		{"[1,2]", `unexpected "["`},
		{"{}", `unexpected "{"`},
		{"'1'", `unexpected "'"`},
		{"1 | abs()", `unexpected "|"`},
		{"$env", `unexpected "$"`},
		{"1 . 2", `unexpected "."`},
		{"1_", `unexpected "_", at character 2`},
		{"一＋二", `unknown name "一"`},
		{"1\x00", `unexpected "\x00"`},
		{"\xff", `unexpected "�"`},
	}
	for _, tt := range tests {
		n, err := evaluate(tt.expression)
		if err == nil {
			digits, _ := n.format()
			t.Errorf("%.40q = %s, want an error with %q", tt.expression, digits, tt.want)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: error %q, want one with %q", tt.expression, err, tt.want)
		}
	}
}

// TestBounded evaluates what costs most within the limits.
func TestBounded(t *testing.T) {
	for name, expression := range map[string]string{
		"parentheses":     strings.Repeat("(", 499) + "7" + strings.Repeat(")", 499),
		"signs":           strings.Repeat("-", 998) + "7",
		"powers":          strings.Repeat("9^", 499) + "9",
		"long products":   strings.Repeat("9^1200*", 142) + "0",
		"long fractions":  strings.Repeat("(7/9)^1200+", 90) + "0",
		"long literals":   strings.Repeat("9", 498) + "*" + strings.Repeat("9", 498),
		"small fractions": strings.Repeat("1e-999+", 142) + "0",
		"remainders":      strings.Repeat("9^1290%", 142) + "7",
		"roots":           strings.Repeat("sqrt(9^1291)+", 76) + "1",
		"nested calls":    strings.Repeat("max(1,", 142) + "1" + strings.Repeat(")", 142),
		"rounding":        strings.Repeat("round(1/9^1000,99)+", 52) + "1",
	} {
		start := time.Now()
		n, err := evaluate(expression)
		if err == nil {
			n.format()
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%s took %v", name, d)
		}
	}
}

func TestCalculatorTool(t *testing.T) {
	s := connect(t, "calculator", Options{})
	tests := []struct {
		expression, text string
		structured       map[string]any
	}{
		{"1+2", "3", map[string]any{"expression": "1+2", "result": 3.0, "exact": true}},
		{"0.1+0.2", "0.3", map[string]any{"expression": "0.1+0.2", "result": 0.3, "exact": true}},
		{"1/3", "0.333333333333333", map[string]any{"expression": "1/3", "result": 0.333333333333333, "exact": false}},
		{"２＾５３", "9007199254740992", map[string]any{"expression": "２＾５３", "result": 9007199254740992.0, "exact": true}},
		{"2^53+1", "9007199254740993", map[string]any{"expression": "2^53+1", "result": "9007199254740993", "exact": true}},
		{"10^400", "1" + strings.Repeat("0", 400), map[string]any{"expression": "10^400", "result": "1" + strings.Repeat("0", 400), "exact": true}},
		{"10^-400", "1e-400", map[string]any{"expression": "10^-400", "result": "1e-400", "exact": true}},
	}
	for _, tt := range tests {
		text, structured, isError := call(t, s, "calculator", map[string]any{"expression": tt.expression})
		if isError || text != tt.text {
			t.Errorf("%s: %q, error %t", tt.expression, text, isError)
		}
		if diff := cmp.Diff(tt.structured, structured); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.expression, diff)
		}
	}
	for _, tt := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"expression": "1/0"}, "division by zero, at character 2"},
		{map[string]any{"expression": ""}, "empty"},
		{map[string]any{"expression": "2^999999999"}, "too large"},
		{map[string]any{}, "expression"},
		{map[string]any{"expression": 12}, "expression"},
	} {
		text, structured, isError := call(t, s, "calculator", tt.args)
		if !isError || !strings.Contains(text, tt.want) || structured != nil {
			t.Errorf("%v: %q, %v, error %t; want an error with %q", tt.args, text, structured, isError, tt.want)
		}
	}
}

// FuzzEvaluate looks for panics, and for results that do not read back as the
// number they tell.
func FuzzEvaluate(f *testing.F) {
	for _, s := range []string{"1+2*3", "-2^-3", "max(1,sqrt(2))%3", "（１＋２）", "round(pi,3)", "1e-9/7", "2**0.5", "log(8,2)", "5.", "1_0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := evaluate(s)
		if err != nil {
			return
		}
		digits, exact := n.format()
		got, ok := new(big.Rat).SetString(digits)
		if !ok {
			t.Fatalf("%q = %q, which is no number", s, digits)
		}
		if exact && got.Cmp(n.rational()) != 0 {
			t.Errorf("%q = %s, which is not exact", s, digits)
		}
		if again, err := evaluate(digits); err != nil && !strings.Contains(digits, "e") {
			t.Errorf("%q = %s, which reads back as %v", s, digits, err)
		} else if err == nil && again.rational().Cmp(got) != 0 {
			t.Errorf("%q = %s, which reads back as another number", s, digits)
		}
	})
}
