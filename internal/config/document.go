package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// document is one file while it is read, and what was found wrong with it.
type document struct {
	path     string
	builtins []string
	text     []byte // without the byte order mark; offsets refer to it

	problems []problem
	warnings []Warning
}

type problem struct {
	line, column int
	detail       string
}

// member is one member of an object of the file.
type member struct {
	name  string
	at    int // offset of the name
	value hujson.Value
}

// parse returns the servers of the file, in its order. If it adds a problem,
// what it returns is of no use.
func (d *document) parse(raw []byte) []hub.Server {
	if bytes.HasPrefix(raw, []byte("\xff\xfe")) || bytes.HasPrefix(raw, []byte("\xfe\xff")) {
		d.problem(0, "the file is UTF-16; save it as UTF-8")
		return nil
	}
	d.text = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if at := invalidUTF8(d.text); at >= 0 {
		d.problem(at, "the file is not valid UTF-8 here; save it as UTF-8")
		return nil
	}
	if len(bytes.TrimSpace(d.text)) == 0 {
		d.problem(0, `the file is empty; the least it must hold is {}`)
		return nil
	}
	// The parser below recurses.
	if at := tooDeep(d.text); at >= 0 {
		d.problem(at, "objects and arrays are nested more than %d deep here", maxDepth)
		return nil
	}
	// The parser takes a comment for unfinished that the end of the file ends.
	root, err := hujson.Parse(append(slices.Clip(d.text), '\n'))
	if err != nil {
		d.syntax(err)
		return nil
	}
	return d.top(root)
}

// top reads the outermost object.
func (d *document) top(root hujson.Value) []hub.Server {
	var servers []hub.Server
	members, ok := d.object(root, "the file")
	if !ok {
		return nil
	}
	for _, m := range members {
		switch m.name {
		case "mcpServers":
			servers = d.servers(m.value)
		case "$schema": // for editors
		default:
			d.unknown("", m, topMembers())
		}
	}
	return servers
}

func (d *document) servers(v hujson.Value) []hub.Server {
	entries, ok := d.object(v, `"mcpServers"`)
	if !ok {
		return nil
	}
	servers := make([]hub.Server, 0, len(entries))
	for _, m := range entries {
		servers = append(servers, d.server(m))
	}
	return servers
}

// object returns the members of v. It reports a v that is no object, and names
// that occur twice, of which the first counts.
func (d *document) object(v hujson.Value, what string) ([]member, bool) {
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
func (d *document) twice(what string, m member, first int) {
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
	d.problems = append(d.problems, problem{line, column, fmt.Sprintf(format, args...)})
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
	d.warnings = append(d.warnings, Warning{Path: d.path, Line: line, Column: column, Detail: fmt.Sprintf(format, args...)})
}

// unknown warns about a member that has no meaning here.
func (d *document) unknown(where string, m member, known []string) {
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
			"line", strconv.Itoa(p.line), "column", strconv.Itoa(p.column), "detail", p.detail)
	}
	return errs
}

// position is the line, and the column in characters, of an offset.
func (d *document) position(at int) (line, column int) {
	before := d.text[:min(at, len(d.text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])
}

// syntax reports the parser's error. The parser gives line and column (in
// bytes) in its text only, and quotes whole literals, which may be secrets;
// so the place is all that is taken for those.
func (d *document) syntax(err error) {
	var line, column int
	if _, scan := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scan != nil {
		d.problem(0, "the file is not valid JSON")
		return
	}
	at := d.offset(line, column)
	inner := errors.Unwrap(err)
	switch {
	case errors.Is(inner, io.ErrUnexpectedEOF):
		d.problem(len(bytes.TrimRight(d.text, " \t\r\n")),
			"the file ends too early: a closing quote, bracket, brace or comment end is missing")
	case at < len(d.text) && bytes.HasPrefix([]byte(inner.Error()), []byte("invalid literal")):
		d.literal(at)
	default:
		d.problem(at, "the file is not valid JSON: %v", inner)
	}
}

// literal says what is wrong with the literal that starts at an offset.
func (d *document) literal(start int) {
	if d.text[start] != '"' {
		d.problem(start, "this is no JSON value: strings stand in double quotes, and the only words are true, false and null")
		return
	}
	for at := start + 1; at < len(d.text); at++ {
		switch c := d.text[at]; {
		case c == '\n' || c == '\r':
			d.problem(start, "the string that starts here is not closed in its line")
			return
		case c < ' ':
			d.problem(at, `a control character stands in a string; write it as \u%04x`, c)
			return
		case c == '\\':
			n := escapeLen(d.text[at:])
			if n == 0 {
				d.problem(at, `a string has a backslash that starts no JSON escape; write \\ for a backslash`)
				return
			}
			at += n - 1
		}
	}
}

// escapeLen is the length of the JSON escape with which b starts, or 0.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if bytes.IndexByte([]byte(`"\/bfnrt`), b[1]) >= 0 {
		return 2
	}
	if b[1] != 'u' || len(b) < 6 {
		return 0
	}
	if _, err := strconv.ParseUint(string(b[2:6]), 16, 16); err != nil {
		return 0
	}
	return 6
}

// offset turns the parser's line and column into an offset.
func (d *document) offset(line, column int) int {
	at := 0
	for ; line > 1; line-- {
		next := bytes.IndexByte(d.text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return min(at+column-1, len(d.text))
}

// invalidUTF8 is the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(b []byte) int {
	for at := 0; at < len(b); {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

// tooDeep is the offset of the bracket that opens more than maxDepth levels,
// or -1. It passes over strings and comments as the parser does, so that they
// neither add levels nor hide them.
func tooDeep(b []byte) int {
	depth := 0
	for at := 0; at < len(b); at++ {
		switch b[at] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return at
			}
		case '}', ']':
			depth--
		case '"':
			for at++; at < len(b) && b[at] != '"'; at++ {
				if b[at] == '\\' {
					at++
				}
			}
		case '/':
			end := ""
			switch {
			case bytes.HasPrefix(b[at:], []byte("//")):
				end = "\n"
			case bytes.HasPrefix(b[at:], []byte("/*")):
				end = "*/"
			default:
				continue
			}
			n := bytes.Index(b[at+2:], []byte(end))
			if n < 0 {
				return -1
			}
			at += 2 + n + len(end) - 1
		}
	}
	return -1
}

// quoted is a name of the file as it is shown.
func quoted(name string) string { return `"` + message.Quote(name) + `"` }

// kindOf says what a value is.
func kindOf(v hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	default:
		return string(v.Value.(hujson.Literal)) // true or false
	}
}
