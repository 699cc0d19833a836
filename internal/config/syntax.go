package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/message"
)

// parse takes the text of a file apart. It reports what is no JSON with
// comments in UTF-8.
func (d *document) parse(raw []byte) (root hujson.Value, ok bool) {
	if bytes.HasPrefix(raw, []byte("\xff\xfe")) || bytes.HasPrefix(raw, []byte("\xfe\xff")) {
		d.problem(0, "the file is UTF-16; save it as UTF-8")
		return root, false
	}
	d.text = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if at := invalidUTF8(d.text); at >= 0 {
		d.problem(at, "the file is not valid UTF-8 here; save it as UTF-8")
		return root, false
	}
	if len(bytes.TrimSpace(d.text)) == 0 {
		d.problem(0, `the file is empty; the least it must hold is {}`)
		return root, false
	}
	// The parser below recurses.
	if at := tooDeep(d.text); at >= 0 {
		d.problem(at, "objects and arrays are nested more than %d deep here", maxDepth)
		return root, false
	}
	// The parser takes a comment for unfinished that the end of the file ends.
	root, err := hujson.Parse(append(slices.Clip(d.text), '\n'))
	if err != nil {
		d.syntax(err)
		return root, false
	}
	return root, true
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
		d.problem(at, "the file is not valid JSON: %s", parserSays(inner))
	}
}

// parserSays is the parser's text about a character that is out of place.
func parserSays(err error) message.Phrase {
	rest, ok := strings.CutPrefix(err.Error(), "invalid character ")
	for _, where := range [...]string{" at start of ", " after ", " in "} {
		if at := strings.LastIndex(rest, where); ok && at > 0 {
			return message.Say("invalid character %s%s", rest[:at], message.Term(rest[at:]))
		}
	}
	return message.Term(err.Error())
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
