package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// The bounds of what is judged. Servers write the schemas and callers the
// arguments; neither may keep the hub busy. What is beyond is the server's to
// judge.
const (
	maxSchema     = 64 << 10 // bytes
	maxSubschemas = 2000
	maxSteps      = 1 << 20  // steps for a value times values
	maxCounted    = 1 << 17  // steps by a schema that refers to itself
	maxTired      = 3        // times that this is too little, after which it is not tried
	maxDigits     = 400      // of one number, or as its exponent
	maxPattern    = 4 << 10  // bytes of a regular expression
	maxMatch      = 16 << 20 // instructions of all of them times bytes of the arguments
)

// Reasons for which arguments are not judged.
var (
	errSchemaBig = errors.New("the schema is too large")
	errEffort    = errors.New("to judge them would take too long")
	errNumber    = errors.New("a number is too large to be judged")
	errAway      = errors.New("it refers to another schema, and none is fetched")
)

// schema is that of a tool's arguments.
type schema struct {
	raw      []byte
	quick    *quick // nil if it says more than that can judge
	branches int    // that it has, of which a value may pass all
	trivial  bool   // any object will do
	full     func() (*judged, error)
}

// newSchema reads the schema that the span covers. What cannot be read is found
// out when it is needed.
func newSchema(raw []byte, span wire.Span) *schema {
	s := &schema{raw: span.Of(raw)}
	if len(s.raw) <= maxSchema {
		s.quick = newQuick(raw, span)
	}
	if s.quick != nil {
		s.branches, s.trivial = s.quick.branches(), s.quick.any(typeObject)
	}
	s.full = sync.OnceValues(func() (*judged, error) { return newJudged(s.raw) })
	return s
}

// surely reports whether the arguments, an object, are certainly right. If not,
// nothing is known.
func (s *schema) surely(raw []byte, args wire.Span) bool {
	return s.quick != nil && s.branches*args.Len() <= 2*maxSteps && s.quick.surely(raw, args) // a value has two bytes at least
}

// judge returns what is wrong with the arguments, in the order of the places; at
// most so many as a caller is told. The error says why they cannot be judged.
func (s *schema) judge(args []byte) ([]problem, error) {
	full, err := s.full()
	if err != nil {
		return nil, err
	}
	value, err := decode(args)
	if err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	values, err := weigh(value)
	if err != nil {
		return nil, err
	}
	problems, err := full.judge(value, values, len(args))
	if err != nil || len(problems) == 0 || !dropNulls(value) {
		return problems, err
	}
	if now, err := full.judge(value, values, len(args)); err != nil || len(now) == 0 {
		return nil, err
	}
	return problems, nil
}

// dropNulls takes out of a value the members of objects that are null, and
// reports whether there were any. Clients in many languages write null for what
// they leave out; whether that is as well is for the server to say.
func dropNulls(value any) (dropped bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, one := range v {
			if one == nil {
				delete(v, name)
				dropped = true
			} else {
				dropped = dropNulls(one) || dropped
			}
		}
	case []any:
		for _, one := range v {
			dropped = dropNulls(one) || dropped
		}
	}
	return dropped
}

// decode reads JSON with numbers as they are written.
func decode(raw []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

// weigh returns how many values there are in one, itself among them. The error is
// [errNumber]: the exact value of a short number such as 1e999999 takes much room.
func weigh(value any) (n int, err error) {
	n = 1
	add := func(one any) {
		if err == nil {
			var more int
			more, err = weigh(one)
			n += more
		}
	}
	switch v := value.(type) {
	case map[string]any:
		for _, one := range v {
			add(one)
		}
	case []any:
		for _, one := range v {
			add(one)
		}
	case json.Number:
		text := string(v)
		_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
		if len(text) > maxDigits || len(strings.TrimLeft(exponent, "+-0")) > len("999") {
			return 0, errNumber
		}
	}
	return n, err
}

// judged is a schema that judges everything that JSON Schema has, formats aside:
// what is a date or an address for a server only that knows.
type judged struct {
	schema   *jsonschema.Schema
	work     int // steps for a value
	patterns int // instructions of all

	// A schema that refers to itself can make a few bytes much work. It counts its
	// steps, and is used by one call at a time.
	counted bool
	mu      sync.Mutex
	most    int // steps of one call
	left    int // of them
	tired   int // how often that was not enough
}

// schemaURL stands for a schema in itself. There is nothing at the address.
const schemaURL = "toolcrib:///schema"

// newJudged reads a schema. No other is ever loaded.
func newJudged(raw []byte) (*judged, error) {
	if len(raw) > maxSchema {
		return nil, errSchemaBig
	}
	value, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	if _, err := weigh(value); err != nil {
		return nil, err
	}
	look := newSurvey(value)
	if len(look.all) > maxSubschemas {
		return nil, errSchemaBig
	}
	if err := look.closed(); err != nil {
		return nil, err
	}
	j := &judged{work: look.work, counted: len(look.refs) > 0, most: maxCounted / look.most}
	j.left = j.most
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(j.pattern)
	if j.counted {
		j.count(c, look)
	}
	if err := c.AddResource(schemaURL, value); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	if j.schema, err = compile(c); err != nil {
		return nil, fmt.Errorf("compile the schema: %w", err)
	}
	return j, nil
}

// compile compiles the schema. A server may have written one on which the library
// fails.
func compile(c *jsonschema.Compiler) (s *jsonschema.Schema, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("the validator failed: %v", failure)
		}
	}()
	return c.Compile(schemaURL)
}

// count has each step counted, by a format in each of the schemas: a format is
// judged before what the schema refers to.
func (j *judged) count(c *jsonschema.Compiler, look *survey) {
	c.AssertFormat()
	type width struct{ whole, each int } // schemas for a value, and for each member or item of it
	named := make(map[width]bool)
	for _, s := range look.all {
		w := width{whole: 1, each: 1}
		for _, key := range [...]string{"allOf", "anyOf", "oneOf"} {
			list, _ := s[key].([]any)
			w.whole += len(list)
		}
		patterns, _ := s["patternProperties"].(map[string]any)
		w.each += len(patterns)
		name := fmt.Sprintf("step-%d-%d", w.whole, w.each)
		s["format"] = name
		if named[w] {
			continue
		}
		named[w] = true
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			n := 0
			switch v := v.(type) {
			case map[string]any:
				n = len(v)
			case []any:
				n = len(v)
			}
			if j.left -= w.whole + w.each*n; j.left < 0 {
				panic(errEffort)
			}
			return nil
		}})
	}
}

// judge returns what is wrong with a value that consists of so many, and has so
// many bytes.
func (j *judged) judge(value any, values, bytes int) (problems []problem, err error) {
	switch {
	case j.counted:
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.tired == maxTired {
			return nil, errEffort
		}
		j.left = j.most
	case j.work*values > maxSteps, j.patterns*bytes > maxMatch:
		return nil, errEffort
	}
	defer func() {
		switch failure := recover(); {
		case failure == nil:
		case failure == any(errEffort):
			if j.counted {
				j.tired++
			}
			problems, err = nil, errEffort
		default:
			problems, err = nil, fmt.Errorf("the validator failed: %v", failure)
		}
	}()
	fault, ok := errors.AsType[*jsonschema.ValidationError](j.schema.Validate(value))
	if !ok {
		return nil, nil
	}
	return explain(fault), nil
}

// noLoader loads nothing.
type noLoader struct{}

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(string) (any, error) { return nil, errAway }
