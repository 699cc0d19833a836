package call

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// quick is a schema of the commonest kind, which judges the bytes as they are:
// types, properties, items, lists of texts, and bounds that are integers. It only
// ever says that something is certainly right; whatever it is not sure of goes the
// long way.
type quick struct {
	types    types
	texts    map[string]bool // of which a text has to be one; nil for any
	numbers  bounds
	length   bounds   // of texts, in characters
	count    bounds   // of items
	items    *quick   // nil for any
	either   []*quick // of which one has to fit; nil for anything
	members  map[string]*quick
	required map[string]uint64 // a bit for each
	closed   bool              // no other members
	others   *quick            // what they have to be; nil for anything
}

// bounds are those of an integer.
type bounds struct {
	least, most       int64
	hasLeast, hasMost bool
}

func (b *bounds) set() bool { return b.hasLeast || b.hasMost }

func (b *bounds) has(n int64) bool {
	return (!b.hasLeast || n >= b.least) && (!b.hasMost || n <= b.most)
}

// types are those of JSON Schema, as a set; none for any.
type types uint8

const (
	typeObject types = 1 << iota
	typeArray
	typeString
	typeNumber
	typeInteger
	typeBoolean
	typeNull
)

// typeOf is the type that has the name; 0 for none.
func typeOf(name string) types {
	for i, known := range [...]string{"object", "array", "string", "number", "integer", "boolean", "null"} {
		if name == known {
			return 1 << i
		}
	}
	return 0
}

// any reports whether everything of a type will do.
func (q *quick) any(of types) bool {
	return (q.types == 0 || q.types&of != 0) && q.texts == nil && !q.numbers.set() && !q.length.set() && !q.count.set() &&
		q.items == nil && q.either == nil && len(q.required) == 0 && !q.closed && q.others == nil && q.anyMembers()
}

// anyMembers reports whether the members may be anything.
func (q *quick) anyMembers() bool {
	for _, m := range q.members {
		if m.types != 0 || !m.any(0) {
			return false
		}
	}
	return true
}

// newQuick reads a schema; nil if it is none of the kind. The bytes are such as
// wire has checked.
func newQuick(raw []byte, span wire.Span) *quick {
	if raw[span.Start] == 't' {
		return &quick{} // true
	}
	if raw[span.Start] != '{' {
		return nil
	}
	q := &quick{}
	for m := range wire.Object(raw, span) {
		key, _ := wire.String(raw, m.Key)
		if !q.keyword(key, raw, m.Value) {
			return nil
		}
	}
	return q
}

// keyword reads one; false if that makes the schema one of another kind.
func (q *quick) keyword(key string, raw []byte, v wire.Span) bool {
	switch key {
	case "title", "description", "default", "examples", "example", "format", "deprecated", "readOnly", "writeOnly", "$comment", "$schema":
		return true // they say nothing that is judged
	case "type":
		return q.typed(raw, v)
	case "properties":
		return q.properties(raw, v)
	case "required":
		return q.needs(raw, v)
	case "enum":
		q.texts = make(map[string]bool)
		return eachString(raw, v, func(s string) { q.texts[s] = true })
	case "additionalProperties":
		if raw[v.Start] == 'f' {
			q.closed = true
			return true
		}
		q.others = newQuick(raw, v)
		return q.others != nil
	case "items":
		q.items = newQuick(raw, v)
		return q.items != nil
	case "minimum":
		return bound(raw, v, &q.numbers.least, &q.numbers.hasLeast)
	case "maximum":
		return bound(raw, v, &q.numbers.most, &q.numbers.hasMost)
	case "minLength":
		return bound(raw, v, &q.length.least, &q.length.hasLeast)
	case "maxLength":
		return bound(raw, v, &q.length.most, &q.length.hasMost)
	case "minItems":
		return bound(raw, v, &q.count.least, &q.count.hasLeast)
	case "maxItems":
		return bound(raw, v, &q.count.most, &q.count.hasMost)
	case "anyOf":
		for one := range wire.Array(raw, v) {
			branch := newQuick(raw, one)
			if branch == nil {
				return false
			}
			q.either = append(q.either, branch)
		}
		return len(q.either) > 0
	}
	return strings.HasPrefix(key, "x-")
}

// typed reads the keyword "type".
func (q *quick) typed(raw []byte, v wire.Span) bool {
	if name, ok := wire.String(raw, v); ok {
		q.types = typeOf(name)
		return q.types != 0
	}
	known := true
	all := eachString(raw, v, func(name string) {
		one := typeOf(name)
		known = known && one != 0
		q.types |= one
	})
	return all && known && q.types != 0
}

// needs reads the keyword "required".
func (q *quick) needs(raw []byte, v wire.Span) bool {
	q.required = make(map[string]uint64)
	all := eachString(raw, v, func(name string) { q.required[name] = 1 << len(q.required) })
	return all && len(q.required) < 64
}

// properties reads the keyword "properties".
func (q *quick) properties(raw []byte, v wire.Span) bool {
	if raw[v.Start] != '{' {
		return false
	}
	q.members = make(map[string]*quick)
	for m := range wire.Object(raw, v) {
		name, _ := wire.String(raw, m.Key)
		if q.members[name] = newQuick(raw, m.Value); q.members[name] == nil {
			return false
		}
	}
	return true
}

// eachString reads an array of strings; false if it is something else.
func eachString(raw []byte, v wire.Span, take func(string)) bool {
	if raw[v.Start] != '[' {
		return false
	}
	for one := range wire.Array(raw, v) {
		s, ok := wire.String(raw, one)
		if !ok {
			return false
		}
		take(s)
	}
	return true
}

// bound reads an integer that is a bound.
func bound(raw []byte, v wire.Span, n *int64, has *bool) bool {
	var ok bool
	*n, ok = integer(v.Of(raw))
	*has = true
	return ok
}

// integer reads a number that is an integer as it is written, and is not long.
func integer(text []byte) (int64, bool) {
	const longest = 18 // digits that an int64 always has room for
	if len(text) > longest {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}

// surely reports whether a value is certainly right.
func (q *quick) surely(raw []byte, v wire.Span) bool {
	if q.either != nil && !slices.ContainsFunc(q.either, func(one *quick) bool { return one.surely(raw, v) }) {
		return false
	}
	switch raw[v.Start] {
	case '{':
		return q.is(typeObject) && q.texts == nil && q.object(raw, v)
	case '[':
		return q.is(typeArray) && q.texts == nil && q.array(raw, v)
	case '"':
		return q.is(typeString) && q.text(raw, v)
	case 't', 'f':
		return q.is(typeBoolean) && q.texts == nil
	case 'n':
		return q.is(typeNull) && q.texts == nil
	}
	return q.texts == nil && q.number(v.Of(raw))
}

// is reports whether the type is among those that are allowed.
func (q *quick) is(of types) bool { return q.types == 0 || q.types&of != 0 }

func (q *quick) number(text []byte) bool {
	if q.types&typeNumber == 0 && q.types != 0 || q.numbers.set() {
		n, ok := integer(text)
		return ok && q.is(typeNumber|typeInteger) && q.numbers.has(n)
	}
	return true
}

func (q *quick) text(raw []byte, v wire.Span) bool {
	if q.texts == nil && !q.length.set() {
		return true
	}
	inside := raw[v.Start+1 : v.End-1]
	for _, c := range inside {
		if c == '\\' || c >= 0x80 {
			return false // it may be shorter than it looks
		}
	}
	return (q.texts == nil || q.texts[string(inside)]) && q.length.has(int64(len(inside)))
}

func (q *quick) array(raw []byte, v wire.Span) bool {
	if q.items == nil && !q.count.set() {
		return true
	}
	n := int64(0)
	for one := range wire.Array(raw, v) {
		n++
		if q.items != nil && !q.items.surely(raw, one) {
			return false
		}
	}
	return q.count.has(n)
}

func (q *quick) object(raw []byte, v wire.Span) bool {
	var found uint64
	for m := range wire.Object(raw, v) {
		key := m.Key.Of(raw)
		key = key[1 : len(key)-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			return false
		}
		one, known := q.members[string(key)]
		switch {
		case known:
			if !one.surely(raw, m.Value) {
				return false
			}
		case q.closed, q.others != nil && !q.others.surely(raw, m.Value):
			return false
		}
		found |= q.required[string(key)]
	}
	return found == 1<<len(q.required)-1
}
