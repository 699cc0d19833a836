package config

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// document is the text of one file, and what was found wrong with it.
type document struct {
	path string
	text []byte // without the byte order mark; offsets refer to it

	problems []problem
	warnings []Warning
}

type problem struct {
	line, column int
	detail       message.Phrase
}

// member is one member of an object of the file.
type member struct {
	name  string
	at    int // offset of the name
	value hujson.Value
}

// object returns the members of v. It reports a v that is no object, and names
// that occur twice, of which the first counts.
func (d *document) object(v hujson.Value, what message.Phrase) ([]member, bool) {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		d.problem(v.StartOffset, "%s must be an object, but is %s", what, kindOf(v))
		return nil, false
	}
	members := make([]member, 0, len(obj.Members))
	first := make(map[string]int, len(obj.Members))
	for _, om := range obj.Members {
		lit, _ := om.Name.Value.(hujson.Literal) // the parser lets no other through
		m := member{name: lit.String(), at: om.Name.StartOffset, value: om.Value}
		if at, again := first[m.name]; again {
			d.twice(what, m, at)
			continue
		}
		first[m.name] = m.at
		members = append(members, m)
	}
	return members, true
}

// twice reports a name that has occurred before, at the offset first.
func (d *document) twice(what message.Phrase, m member, first int) {
	if len(d.problems) >= maxNotes {
		return // finding the line takes time
	}
	line, _ := d.position(first)
	d.problem(m.at, "%s has %s twice, first in line %d", what, quoted(m.name), line)
}

// problem reports what makes the file unusable.
func (d *document) problem(at int, format string, args ...any) {
	switch len(d.problems) {
	case maxNotes:
		return
	case maxNotes - 1:
		format, args = "there are more problems than are shown here", nil
	}
	line, column := d.position(at)
	d.problems = append(d.problems, problem{line, column, message.Say(format, args...)})
}

// warn reports what does no harm.
func (d *document) warn(at int, format string, args ...any) {
	switch len(d.warnings) {
	case maxNotes:
		return
	case maxNotes - 1:
		format, args = "there are more warnings than are shown here", nil
	}
	line, column := d.position(at)
	d.warnings = append(d.warnings, Warning{Path: d.path, Line: line, Column: column, Detail: message.Say(format, args...)})
}

// unknown warns about a member that has no meaning here.
func (d *document) unknown(where message.Phrase, m member, known []string) {
	if len(d.warnings) >= maxNotes {
		return // finding the nearest takes time
	}
	if near := nearest(m.name, known); near != "" {
		d.warn(m.at, "%s%s is not known and ignored; did you mean %s?", where, quoted(m.name), quoted(near))
		return
	}
	d.warn(m.at, "%s%s is not known and ignored", where, quoted(m.name))
}

// errors returns the problems in the order of the file.
func (d *document) errors() Problems {
	slices.SortStableFunc(d.problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	errs := make(Problems, len(d.problems))
	for i, p := range d.problems {
		errs[i] = hub.E(message.ConfigInvalid, nil, "path", d.path,
			"line", strconv.Itoa(p.line), "column", strconv.Itoa(p.column)).With("detail", p.detail)
	}
	return errs
}

// position is the line, and the column in characters, of an offset.
func (d *document) position(at int) (line, column int) {
	before := d.text[:min(at, len(d.text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])
}

// quoted is a name of the file as it is shown.
func quoted(name string) string { return `"` + message.Quote(name) + `"` }

// kindOf says what a value is.
func kindOf(v hujson.Value) message.Phrase {
	switch v.Value.Kind() {
	case '{':
		return message.Say("an object")
	case '[':
		return message.Say("an array")
	case '"':
		return message.Say("a string")
	case '0':
		return message.Say("a number")
	case 'n':
		return message.Verbatim("null")
	default:
		return message.Verbatim(string(v.Value.(hujson.Literal))) // true or false
	}
}
