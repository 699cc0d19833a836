package policy

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// The names of members are compared as the most generous of servers does: many read
// "Force" where the tool's schema says "force". So arguments are read again by a rule
// whose expression has a name that stands in them in another spelling: as they are,
// and as if they were spelled like the rule; in each way, if the rule spells a name
// in several.

// maxReadings is how often arguments are read again for one expression. Of what could
// be read in still more ways an expression cannot tell.
const maxReadings = 15

// says is what the rule's expression says to the call. A deny or an ask is met if it
// is by one of all readings, an allow only if it is by each.
func (r *rule) says(f *facts) outcome {
	said := r.expression.evaluate(f)
	if r.expression == nil || said == met && !r.allows {
		return said
	}
	readings, all := f.spelledLike(r.expression)
	own := f.args
	defer func() { f.args = own }()
	same := all
	for _, as := range readings {
		f.args, _ = respell(own, as).(map[string]any)
		other := r.expression.evaluate(f)
		if other == met && !r.allows {
			return met
		}
		same = same && other == said
	}
	if same {
		return said
	}
	return failed
}

// spelledLike returns in which ways the names that stand in the arguments have to be
// replaced for them to be spelled like an expression; false if there are more. Names
// that the tool's schema tells apart are left.
func (f *facts) spelledLike(e *expression) (readings []map[string]string, all bool) {
	if len(e.names) == 0 {
		return nil, true
	}
	if _, ok := f.arguments(); !ok || len(f.args) == 0 {
		return nil, true
	}
	if f.spellings == nil {
		f.spellings = make(map[string][]string)
		spellings(f.args, f.spellings)
	}
	for folded, names := range e.names {
		var ways []map[string]string
		differ := false
		for _, name := range names {
			as := f.respelled(folded, name)
			ways, differ = append(ways, as), differ || len(as) > 0
		}
		if !differ {
			continue
		}
		if readings == nil {
			readings = []map[string]string{nil}
		}
		if len(readings)*len(ways) > maxReadings+1 {
			return nil, false
		}
		readings = product(readings, ways)
	}
	// What replaces nothing is how they were read before.
	return slices.DeleteFunc(readings, func(as map[string]string) bool { return len(as) == 0 }), true
}

// respelled is what a name replaces that stands in the arguments in another spelling.
func (f *facts) respelled(folded, name string) map[string]string {
	var as map[string]string
	for _, there := range f.spellings[folded] {
		if there == name || f.defines(there) && f.defines(name) {
			continue
		}
		if as == nil {
			as = make(map[string]string)
		}
		as[there] = name
	}
	return as
}

// product is each of some replacements with each of others.
func product(some, others []map[string]string) []map[string]string {
	made := make([]map[string]string, 0, len(some)*len(others))
	for _, one := range some {
		for _, other := range others {
			both := maps.Clone(one)
			if both == nil {
				both = make(map[string]string, len(other))
			}
			maps.Copy(both, other)
			made = append(made, both)
		}
	}
	return made
}

// defines reports whether the schema of the call's tool has a member with a name.
func (f *facts) defines(name string) bool {
	return f.q.Tool != nil && f.profiles.of(f.q).Defines(name)
}

// spellings notes in which ways each name is spelled.
func spellings(v any, into map[string][]string) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			folded := foldCase(name)
			known := false
			for _, there := range into[folded] {
				known = known || there == name
			}
			if !known {
				into[folded] = append(into[folded], name)
			}
			spellings(value, into)
		}
	case []any:
		for _, value := range v {
			spellings(value, into)
		}
	}
}

// respell is a value with other names for some members.
func respell(v any, as map[string]string) any {
	switch v := v.(type) {
	case map[string]any:
		made := make(map[string]any, len(v))
		for name, value := range v {
			if other, ok := as[name]; ok {
				name = other
			}
			made[name] = respell(value, as)
		}
		return made
	case []any:
		made := make([]any, len(v))
		for i, value := range v {
			made[i] = respell(value, as)
		}
		return made
	}
	return v
}

// fewMembers is how many are compared each with each.
const fewMembers = 12

// alike reports whether two members of one object, at any depth, differ in upper and
// lower case only, and the tool's schema does not tell them apart: some servers take
// the one, some the other.
func (f *facts) alike(raw []byte, at wire.Span) bool {
	switch raw[at.Start] {
	case '[':
		for element := range wire.Array(raw, at) {
			if f.alike(raw, element) {
				return true
			}
		}
	case '{':
		var few [fewMembers][]byte
		n := 0
		for m := range wire.Object(raw, at) {
			if n < fewMembers {
				key := m.Key.Of(raw)
				for _, before := range few[:n] {
					if sameFolded(before, key) && f.confused(before, key) {
						return true
					}
				}
				few[n] = key
			}
			n++
			if f.alike(raw, m.Value) {
				return true
			}
		}
		return n > fewMembers && f.alikeOfMany(raw, at)
	}
	return false
}

// alikeOfMany is alike for the members of a large object themselves.
func (f *facts) alikeOfMany(raw []byte, at wire.Span) bool {
	seen := make(map[string][]byte)
	for m := range wire.Object(raw, at) {
		name, _ := wire.String(raw, m.Key)
		folded := foldCase(name)
		if before, ok := seen[folded]; ok && f.confused(before, m.Key.Of(raw)) {
			return true
		}
		seen[folded] = m.Key.Of(raw)
	}
	return false
}

// confused reports whether somebody may take the one name for the other.
func (f *facts) confused(one, other []byte) bool {
	return !f.defines(unquoted(one)) || !f.defines(unquoted(other))
}

// sameFolded reports whether two names, as JSON writes them, are the same but for
// upper and lower case.
func sameFolded(one, other []byte) bool {
	if simple(one) && simple(other) {
		return len(one) == len(other) && bytes.EqualFold(one, other)
	}
	return foldCase(unquoted(one)) == foldCase(unquoted(other))
}

// simple reports whether a text is ASCII without an escape.
func simple(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf || c == '\\' {
			return false
		}
	}
	return true
}

func unquoted(text []byte) string {
	name, _ := wire.String(text, wire.Span{Start: 0, End: len(text)})
	return name
}

// foldCase is a text in which upper and lower case are the same, as those take them
// who do not tell them apart.
func foldCase(text string) string {
	lower := true
	for i := range len(text) {
		c := text[i]
		lower = lower && c < utf8.RuneSelf && (c < 'A' || c > 'Z')
	}
	if lower {
		return text
	}
	return strings.Map(func(r rune) rune {
		least := unicode.ToLower(r)
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, unicode.ToLower(other))
		}
		return least
	}, text)
}
