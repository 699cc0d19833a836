package call

import (
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// effort is how many steps it is to judge a value by a schema itself: one, and
// what it takes to compare the value with those that the schema lists. Numbers are
// compared exactly, which takes long.
func effort(this map[string]any) int {
	const whole, name, number = 16, 2, 128 // a step, as it was measured, and shares of it
	n := 0
	var compare func(one any)
	compare = func(one any) {
		n++
		switch v := one.(type) {
		case json.Number:
			n += number
		case []any:
			for _, one := range v {
				compare(one)
			}
		case map[string]any:
			for _, one := range v {
				compare(one)
			}
		}
	}
	compare(this["enum"])
	compare(this["const"])
	for _, key := range [...]string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if _, ok := this[key]; ok {
			n += 2 * whole
		}
	}
	names := func(list any) {
		all, _ := list.([]any)
		n += name * len(all)
	}
	names(this["required"])
	for _, key := range [...]string{"dependentRequired", "dependencies"} {
		lists, _ := this[key].(map[string]any)
		for _, list := range lists {
			names(list)
			n += name
		}
	}
	return 1 + n/whole
}

// branches is how many there are of which one has to fit: all of them may have to
// be tried with one value.
func (q *quick) branches() int {
	n := len(q.either)
	for _, one := range q.either {
		n += one.branches()
	}
	for _, one := range q.members {
		n += one.branches()
	}
	for _, one := range [...]*quick{q.items, q.others} {
		if one != nil {
			n += one.branches()
		}
	}
	return n
}

// pattern is a regular expression of a schema.
type pattern struct {
	*regexp.Regexp
	size int // instructions
	of   *judged
}

// pattern reads a regular expression. What Go's cannot say, such as a look ahead,
// makes a schema that is not judged by.
func (j *judged) pattern(text string) (jsonschema.Regexp, error) {
	if len(text) > maxPattern {
		return nil, errSchemaBig
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("read a pattern: %w", err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, fmt.Errorf("compile a pattern: %w", err)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("compile a pattern: %w", err)
	}
	j.patterns += len(program.Inst)
	return &pattern{re, len(program.Inst), j}, nil
}

// MatchString implements [jsonschema.Regexp]. By a schema that counts its steps a
// text may be matched any number of times.
func (p *pattern) MatchString(s string) bool {
	if p.of.counted {
		if p.of.left -= p.size * len(s) / (maxMatch / maxCounted); p.of.left < 0 {
			panic(errEffort)
		}
	}
	return p.Regexp.MatchString(s)
}
