package audit

import (
	"slices"
	"strings"
)

// deepest is how many objects and arrays within one another have a canonical
// form: each copies what is in it.
const deepest = 64

// appendCanonical appends the next value in the form that equal values share:
// members in the order of their names, strings as this program writes them,
// numbers as they are written; what is deeper than [deepest] as it is written.
func appendCanonical(dst []byte, p *parser) []byte {
	c := p.peek()
	if p.depth == deepest {
		from := p.at
		p.pass()
		return append(dst, p.src[from:p.at]...)
	}
	p.depth++
	defer func() { p.depth-- }()
	switch c {
	case '{':
		p.at++
		type member struct{ name, value string }
		var all []member
		for first := true; !p.after('}'); first = false {
			if !first {
				p.after(',')
			}
			name := plainText(p.token())
			p.after(':')
			from := len(dst)
			dst = appendCanonical(dst, p)
			all = append(all, member{name, string(dst[from:])})
			dst = dst[:from]
		}
		slices.SortStableFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
		dst = append(dst, '{')
		for i, m := range all {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, m.name), ':')
			dst = append(dst, m.value...)
		}
		return append(dst, '}')
	case '[':
		p.at++
		dst = append(dst, '[')
		for first := true; !p.after(']'); first = false {
			if !first {
				p.after(',')
				dst = append(dst, ',')
			}
			dst = appendCanonical(dst, p)
		}
		return append(dst, ']')
	case '"':
		literal := p.token()
		if asWritten(literal) {
			return append(dst, literal...)
		}
		return appendQuoted(dst, plainText(literal))
	}
	return append(dst, p.token()...)
}

// asWritten reports whether a JSON string stands as this program writes it.
func asWritten(literal []byte) bool {
	for _, c := range literal {
		if c > '~' || c == '\\' {
			return false
		}
	}
	return true
}
