package config

import (
	"bytes"

	"github.com/tailscale/hujson"
)

// pieces cuts an extra into its runs of blanks and its comments. A comment
// that runs to the end of its line is without the newline.
func pieces(e hujson.Extra) []hujson.Extra {
	var parts []hujson.Extra
	for len(e) > 0 {
		n := len(e)
		switch {
		case isLineComment(e):
			if at := bytes.IndexByte(e, '\n'); at >= 0 {
				n = len(bytes.TrimSuffix(e[:at], []byte("\r")))
			}
		case bytes.HasPrefix(e, []byte("/*")):
			if at := bytes.Index(e[2:], []byte("*/")); at >= 0 {
				n = 2 + at + 2
			}
		default:
			if at := bytes.IndexByte(e, '/'); at >= 0 {
				n = at
			}
		}
		parts = append(parts, e[:n:n])
		e = e[n:]
	}
	return parts
}

func isLineComment(piece hujson.Extra) bool { return bytes.HasPrefix(piece, []byte("//")) }

func isComment(piece hujson.Extra) bool { return bytes.HasPrefix(piece, []byte("/")) }

func hasComment(e hujson.Extra) bool { return bytes.IndexByte(e, '/') >= 0 }

// cutBlanks cuts off the blanks after the last comment.
func cutBlanks(e hujson.Extra) (comments, blanks hujson.Extra) {
	parts := pieces(e)
	n := len(e)
	if len(parts) > 0 && !isComment(parts[len(parts)-1]) {
		n -= len(parts[len(parts)-1])
	}
	return e[:n:n], e[n:]
}

// cutLine cuts an extra after the comments that belong to what stands before
// it: those in its first line. If it is all one line, they belong to what
// stands after it, unless that is the closing bracket.
func cutLine(e hujson.Extra, closing bool) (same, rest hujson.Extra) {
	n, at := 0, 0
	ended := closing
	for _, p := range pieces(e) {
		if bytes.IndexByte(p, '\n') >= 0 {
			ended = true
			break
		}
		at += len(p)
		if isComment(p) {
			n = at
		}
	}
	if !ended {
		n = 0
	}
	return e[:n:n], e[n:]
}

// beforeBlankLine is what stands before the last blank line of an extra:
// comments that do not belong to what stands after it.
func beforeBlankLine(e hujson.Extra) hujson.Extra {
	n, at := 0, 0
	for _, p := range pieces(e) {
		if !isComment(p) && bytes.Count(p, []byte("\n")) >= 2 {
			n = at
		}
		at += len(p)
	}
	return e[:n:n]
}

// lineIndent is the indentation of the line in which an extra ends, or that of
// the line before if it does not begin one.
func lineIndent(e hujson.Extra, inherited string) string {
	at := bytes.LastIndexByte(e, '\n')
	if at < 0 {
		return inherited
	}
	line := e[at+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// extras calls f with every extra of a value, in the order of the text.
func extras(v *hujson.Value, f func(*hujson.Extra)) {
	f(&v.BeforeExtra)
	c := childrenOf(v)
	for i := range c.len() {
		if c.object != nil {
			f(&c.object.Members[i].Name.BeforeExtra)
			f(&c.object.Members[i].Name.AfterExtra)
		}
		extras(c.value(i), f)
	}
	if c.object != nil || c.array != nil {
		f(c.before(c.len()))
	}
	f(&v.AfterExtra)
}
