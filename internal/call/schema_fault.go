package call

import (
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/toolcrib/toolcrib/internal/message"
)

// What a caller is told at most.
const (
	maxProblems = 5
	maxSought   = 200 // of which the first are told
	maxListed   = 10  // values of an enumeration
	maxValue    = 20  // characters of a value
)

// problem is one thing that is wrong with arguments. What it says holds no text
// that the caller gave as a value: that may be a secret.
type problem struct {
	path string // a JSON pointer
	said message.Phrase
	form bool // the value is of another type, or another one of a fixed set of values

	want []string // the types that it may have, if that is what is wrong
	got  string   // that it has
}

// explain returns what is wrong, in the order of the places.
func explain(fault *jsonschema.ValidationError) []problem {
	all := collect(nil, fault)
	slices.SortStableFunc(all, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.said.String(), b.said.String()))
	})
	return slices.CompactFunc(all, func(a, b problem) bool { return a.path == b.path && a.said.String() == b.said.String() })
}

// together are the first problems as one text.
func together(all []problem) message.Phrase {
	var whole message.Phrase
	for i, p := range all[:min(len(all), maxProblems)] {
		one := message.Say("%s: %s", message.Quote(cmp.Or(p.path, "/")), p.said)
		if i == 0 {
			whole = one
		} else {
			whole = message.Say("%s; %s", whole, one)
		}
	}
	if more := len(all) - maxProblems; more > 0 {
		whole = message.Say("%s; and %d more", whole, more)
	}
	return whole
}

// collect appends what a fault consists of.
func collect(all []problem, fault *jsonschema.ValidationError) []problem {
	if len(all) >= maxSought {
		return all
	}
	at := pointer(fault.InstanceLocation)
	switch k := fault.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range fault.Causes {
			all = collect(all, cause)
		}
		return all
	case *kind.AnyOf:
		return branches(all, at, fault.Causes)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return append(all, problem{path: at, said: message.Say("fits several of the forms that are allowed, and has to fit just one")})
		}
		return branches(all, at, fault.Causes)
	case *kind.Required:
		for _, name := range k.Missing {
			all = append(all, problem{path: at + "/" + escaped(name), said: message.Say("is missing")})
		}
		return all
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			all = append(all, problem{path: at + "/" + escaped(name), said: message.Say("is not one of those that are allowed here")})
		}
		return all
	case *kind.PropertyNames:
		return append(all, problem{path: at + "/" + escaped(k.Property), said: message.Say("is not a name that is allowed here")})
	case *kind.Type:
		return append(all, problem{path: at, said: wrongType(k.Want, k.Got), form: true, want: k.Want, got: k.Got})
	case *kind.Enum:
		return append(all, problem{path: at, said: wrongValue(k.Want, k.Got), form: true})
	case *kind.Const:
		return append(all, problem{path: at, said: wrongValue([]any{k.Want}, k.Got), form: true})
	}
	return append(all, problem{path: at, said: simple(fault.ErrorKind)})
}

// branches appends what is wrong with a value that fits none of several forms: if
// it is plain which of them was meant, what does not fit that one.
func branches(all []problem, at string, causes []*jsonschema.ValidationError) []problem {
	var meant, near [][]problem // of the right form, and with another one inside
	var want []string
	got, typesOnly := "", true
	for _, cause := range causes {
		problems := collect(nil, cause)
		if !slices.ContainsFunc(problems, func(p problem) bool { return p.form }) {
			meant = append(meant, problems)
		} else if !slices.ContainsFunc(problems, func(p problem) bool { return p.form && p.path == at }) {
			near = append(near, problems)
		}
		if len(problems) != 1 || problems[0].path != at || problems[0].want == nil {
			typesOnly = false
			continue
		}
		got = problems[0].got
		for _, name := range problems[0].want {
			if !slices.Contains(want, name) {
				want = append(want, name)
			}
		}
	}
	switch {
	case typesOnly && len(want) > 0:
		return append(all, problem{path: at, said: wrongType(want, got), form: true, want: want, got: got})
	case len(meant) == 1:
		return append(all, meant[0]...)
	case len(meant) == 0 && len(near) == 1:
		return append(all, near[0]...)
	}
	return append(all, problem{path: at, said: message.Say("fits none of the %d forms that are allowed", len(causes))})
}

// simple is what a fault says that consists of no others.
func simple(k jsonschema.ErrorKind) message.Phrase {
	switch k := k.(type) {
	case *kind.Minimum:
		return numbers(message.Say("must be at least %s", bounding(k.Want)), k.Got)
	case *kind.Maximum:
		return numbers(message.Say("must be at most %s", bounding(k.Want)), k.Got)
	case *kind.ExclusiveMinimum:
		return numbers(message.Say("must be greater than %s", bounding(k.Want)), k.Got)
	case *kind.ExclusiveMaximum:
		return numbers(message.Say("must be less than %s", bounding(k.Want)), k.Got)
	case *kind.MultipleOf:
		return numbers(message.Say("must be a multiple of %s", bounding(k.Want)), k.Got)
	case *kind.MinLength:
		return message.Say("must have at least %d characters, and has %d", k.Want, k.Got)
	case *kind.MaxLength:
		return message.Say("must have at most %d characters, and has %d", k.Want, k.Got)
	case *kind.Pattern:
		return message.Say("must match the pattern %s", message.Quote(k.Want))
	case *kind.MinItems:
		return message.Say("must have at least %d items, and has %d", k.Want, k.Got)
	case *kind.MaxItems:
		return message.Say("must have at most %d items, and has %d", k.Want, k.Got)
	case *kind.AdditionalItems:
		return message.Say("has %d items too many", k.Count)
	case *kind.UniqueItems:
		return message.Say("must have no item twice, and those at %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.MinProperties:
		return message.Say("must have at least %d members, and has %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return message.Say("must have at most %d members, and has %d", k.Want, k.Got)
	case *kind.Contains, *kind.MinContains:
		return message.Say("has too few of the items that it must have")
	case *kind.MaxContains:
		return message.Say("has too many of the items of which only some may be there")
	case *kind.Dependency:
		return message.Say("needs %s as well, because %s is there", quotedNames(k.Missing), message.Quote(k.Prop))
	case *kind.DependentRequired:
		return message.Say("needs %s as well, because %s is there", quotedNames(k.Missing), message.Quote(k.Prop))
	}
	return message.Say("is not allowed here")
}

// numbers is what is said of a number, and that number.
func numbers(said message.Phrase, got *big.Rat) message.Phrase {
	if text := rational(got); text != "" {
		return message.Say("%s, and is %s", said, text)
	}
	return said
}

// bounding is a number of the schema's.
func bounding(n *big.Rat) string {
	if text := rational(n); text != "" || n == nil {
		return text
	}
	about, _ := n.Float64()
	return strconv.FormatFloat(about, 'g', -1, 64)
}

// rational is a number as people write it; "" if that is long.
func rational(n *big.Rat) string {
	if n == nil {
		return ""
	}
	text := ""
	if digits, exact := n.FloatPrec(); n.IsInt() {
		text = n.Num().String()
	} else if exact && digits < maxValue {
		text = n.FloatString(digits)
	}
	if len(text) > maxValue {
		return ""
	}
	return text
}

// wrongType says which types are wanted, and which it is.
func wrongType(want []string, got string) message.Phrase {
	var all message.Phrase
	for i, name := range want {
		if i == 0 {
			all = typeName(name)
		} else {
			all = message.Say("%s or %s", all, typeName(name))
		}
	}
	return message.Say("must be %s, and is %s", all, typeName(got))
}

// typeName is a type of JSON Schema in words.
func typeName(name string) message.Phrase {
	switch name {
	case "object":
		return message.Say("an object")
	case "array":
		return message.Say("an array")
	case "string":
		return message.Say("a string")
	case "number":
		return message.Say("a number")
	case "integer":
		return message.Say("an integer")
	case "boolean":
		return message.Say("true or false")
	}
	return message.Verbatim(message.Quote(name))
}

// wrongValue says which values are wanted and, unless it is a text, which it is.
func wrongValue(want []any, got any) message.Phrase {
	var all []string
	for _, one := range want[:min(len(want), maxListed)] {
		text, err := json.Marshal(one)
		if err != nil || len(text) > 3*maxValue {
			return message.Say("is none of the values that are allowed")
		}
		all = append(all, string(text))
	}
	list := strings.Join(all, ", ")
	if len(want) > maxListed {
		list += ", …"
	}
	said := message.Say("must be one of %s", list)
	if len(want) == 1 {
		said = message.Say("must be %s", list)
	}
	text := ""
	switch got := got.(type) {
	case nil:
		text = "null"
	case bool:
		text = strconv.FormatBool(got)
	case json.Number:
		text = string(got)
	}
	if text == "" || len(text) > maxValue {
		return said
	}
	return message.Say("%s, and is %s", said, text)
}

func quotedNames(names []string) string {
	all := make([]string, 0, maxListed)
	for _, name := range names[:min(len(names), maxListed)] {
		all = append(all, `"`+message.Quote(name)+`"`)
	}
	return strings.Join(all, ", ")
}

// pointer is a place as a JSON pointer (RFC 6901).
func pointer(place []string) string {
	var b strings.Builder
	for _, key := range place {
		b.WriteByte('/')
		b.WriteString(escaped(key))
	}
	return b.String()
}
