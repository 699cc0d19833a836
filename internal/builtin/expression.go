package builtin

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

const (
	maxExpression = 1000 // characters
	maxExponent   = 1000 // of a number as it is written
)

// evaluate calculates an arithmetic expression. Time and memory are bounded by
// the length of the text and the length of numbers. An error is a sentence for
// the caller; places in it are characters of the text, from 1.
func evaluate(text string) (number, error) {
	x := &expression{numbers: make(map[int]number), written: make(map[int]string)}
	if err := x.scan([]rune(text)); err != nil {
		return number{}, err
	}
	tree, err := parser.Parse(string(x.text))
	if err != nil {
		return number{}, x.syntax(err)
	}
	return x.eval(tree.Node)
}

// expression is a text on its way to a number.
//
// The parser knows a larger language, and reads numbers into machine words. So
// scan lets only arithmetic through, and hides each number from the parser
// behind a placeholder of the same width: the parser finds out the structure,
// and places in its tree lead to the numbers as they were written.
type expression struct {
	text    []rune         // what the parser sees; as long as the text that was given
	numbers map[int]number // by the place where they start
	written map[int]string
}

// placeError is an error with the place in the expression.
type placeError struct {
	at  int // from 0
	err error
}

func (e *placeError) Error() string { return fmt.Sprintf("%v, at character %d", e.err, e.at+1) }
func (e *placeError) Unwrap() error { return e.err }

func errorAt(at int, format string, args ...any) error {
	return &placeError{at, fmt.Errorf(format, args...)}
}

// scan fills x from the text.
func (x *expression) scan(text []rune) error {
	if len(text) > maxExpression {
		return fmt.Errorf("the expression is longer than %d characters", maxExpression)
	}
	for i, c := range text {
		text[i] = narrow(c)
	}
	if strings.TrimSpace(string(text)) == "" {
		return errors.New("the expression is empty")
	}
	x.text = text
	for at := 0; at < len(text); {
		n := 1
		var err error
		switch c := text[at]; {
		case isDigit(c) || c == '.' && at+1 < len(text) && isDigit(text[at+1]):
			n, err = x.number(at)
		case unicode.IsLetter(c):
			n, err = x.name(at)
		case c == '/' && at+1 < len(text) && text[at+1] == '/':
			err = errorAt(at, `"//" is not known; for division without remainder write floor(a/b)`)
		case c == '/' && at+1 < len(text) && text[at+1] == '*': // a comment to the parser
			err = errorAt(at+1, "unexpected %q", "*")
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			text[at] = ' '
		case !strings.ContainsRune("+-*/%^(),", c):
			err = errorAt(at, "unexpected %q", string(c))
		}
		if err != nil {
			return err
		}
		at += n
	}
	return nil
}

// number takes the number that starts at a place, and returns its width.
func (x *expression) number(at int) (int, error) {
	end := at
	digits := func() {
		for end < len(x.text) && (isDigit(x.text[end]) ||
			x.text[end] == '_' && end > at && isDigit(x.text[end-1]) && end+1 < len(x.text) && isDigit(x.text[end+1])) {
			end++
		}
	}
	digits()
	if end < len(x.text) && x.text[end] == '.' {
		end++
		digits()
	}
	mantissa, exponent := string(x.text[at:end]), 0
	if end < len(x.text) && x.text[end] == 'e' {
		sign := end + 1
		if sign < len(x.text) && (x.text[sign] == '+' || x.text[sign] == '-') {
			sign++
		}
		if sign < len(x.text) && isDigit(x.text[sign]) {
			start := end + 1
			end = sign
			digits()
			var err error
			exponent, err = strconv.Atoi(strings.ReplaceAll(string(x.text[start:end]), "_", ""))
			// The number would be written out.
			if err != nil || exponent > maxExponent || exponent < -maxExponent {
				return 0, errorAt(at, "the exponent of a number is larger than %d", maxExponent)
			}
		}
	}
	if end < len(x.text) && unicode.IsLetter(x.text[end]) {
		return 0, errorAt(end, "unexpected %q after a number; multiplication is written with *", string(x.text[end]))
	}
	r, ok := new(big.Rat).SetString(strings.ReplaceAll(mantissa, "_", "") + "e" + strconv.Itoa(exponent))
	if !ok {
		return 0, errorAt(at, "%q is not a number", string(x.text[at:end]))
	}
	n, err := exact(r)
	if err != nil {
		return 0, errorAt(at, "the number is too large or has too many digits")
	}
	x.numbers[at] = n
	x.written[at] = string(x.text[at:end])
	x.text[at] = '1'
	for i := at + 1; i < end; i++ {
		x.text[i] = ' '
	}
	return end - at, nil
}

// name checks the name that starts at a place, and returns its width.
func (x *expression) name(at int) (int, error) {
	end := at
	for end < len(x.text) && (unicode.IsLetter(x.text[end]) || isDigit(x.text[end]) || x.text[end] == '_') {
		end++
	}
	name := string(x.text[at:end])
	if _, ok := constant(name); !ok {
		if _, ok := functions()[name]; !ok {
			return 0, errorAt(at, "unknown name %q; %s", name, knownNames())
		}
	}
	return end - at, nil
}

// syntax is the parser's error in terms of the text that was given.
func (x *expression) syntax(err error) error {
	e, ok := errors.AsType[*file.Error](err)
	switch {
	case !ok:
		return errors.New("the expression is not valid")
	case strings.Contains(e.Message, "EOF") || e.From >= len(x.text):
		return errors.New("the expression ends too early; is a parenthesis not closed, or a number missing?")
	}
	found, ok := x.written[e.From]
	if !ok {
		found = string(x.text[e.From:min(max(e.To, e.From+1), len(x.text))])
	}
	return errorAt(e.From, "unexpected %q", found)
}

// eval calculates a node of the tree.
func (x *expression) eval(node ast.Node) (number, error) {
	at := node.Location().From
	switch node := node.(type) {
	case *ast.IntegerNode:
		return x.numbers[at], nil
	case *ast.IdentifierNode:
		if n, ok := constant(node.Value); ok {
			return n, nil
		}
		return number{}, errorAt(at, "%[1]q is a function; write %[1]s(...)", node.Value)
	case *ast.UnaryNode:
		n, err := x.eval(node.Node)
		if err == nil && node.Operator == "-" {
			n = n.negate()
		}
		return n, err
	case *ast.BinaryNode:
		return x.binary(node)
	case *ast.CallNode:
		if callee, ok := node.Callee.(*ast.IdentifierNode); ok {
			return x.call(at, callee.Value, node.Arguments)
		}
	case *ast.BuiltinNode: // a function that the parser's own language has too
		return x.call(at, node.Name, node.Arguments)
	}
	return number{}, errorAt(at, "this is not arithmetic")
}

func (x *expression) binary(node *ast.BinaryNode) (number, error) {
	left, err := x.eval(node.Left)
	if err != nil {
		return number{}, err
	}
	right, err := x.eval(node.Right)
	if err != nil {
		return number{}, err
	}
	var n number
	switch node.Operator {
	case "+":
		n, err = left.add(right)
	case "-":
		n, err = left.add(right.negate())
	case "*":
		n, err = left.multiply(right)
	case "/":
		n, err = left.divide(right)
	case "%":
		n, err = left.remainder(right)
	case "^", "**":
		n, err = left.power(right)
	default:
		return number{}, errorAt(node.Location().From, "unexpected %q", node.Operator)
	}
	if err != nil {
		return number{}, &placeError{node.Location().From, err}
	}
	return n, nil
}

func (x *expression) call(at int, name string, nodes []ast.Node) (number, error) {
	f, ok := functions()[name]
	if !ok {
		return number{}, errorAt(at, "%q is not a function", name)
	}
	if len(nodes) < f.least || len(nodes) > f.most {
		return number{}, errorAt(at, "%s takes %s, not %d", name, f.takes(), len(nodes))
	}
	args := make([]number, len(nodes))
	for i, node := range nodes {
		var err error
		if args[i], err = x.eval(node); err != nil {
			return number{}, err
		}
	}
	n, err := f.of(args)
	if err != nil {
		return number{}, errorAt(at, "%s: %w", name, err)
	}
	return n, nil
}

func isDigit(c rune) bool { return '0' <= c && c <= '9' }

// narrow returns the ASCII character for one that Chinese and Japanese input
// methods or typography give instead, and lower case for upper case.
func narrow(c rune) rune {
	switch {
	case '！' <= c && c <= '～': // U+FF01 to U+FF5E are ASCII in the same order
		c = c - '！' + '!'
	case c == '×' || c == '✕' || c == '⋅':
		c = '*'
	case c == '÷' || c == '∕':
		c = '/'
	case c == '−' || c == '–':
		c = '-'
	case unicode.IsSpace(c):
		c = ' '
	}
	return unicode.ToLower(c)
}
