package config

import (
	"bytes"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// maxLine is how long an array of plain values may be, in characters, to stand
// in one line.
const maxLine = 72

// layout is how a new child is set among the others.
type layout struct {
	lines  bool   // it begins a line, and so do its own children
	indent string // before it
	outer  string // before the bracket that ends the list
	pad    string // within its braces, if it stands in one line
}

// inside is the layout of a new child of v, which stands itself as l says: that
// of the last child there is, or one step deeper than v.
func (t *tree) inside(v *hujson.Value, l layout) layout {
	in := layout{lines: l.lines, indent: l.indent + t.unit, outer: l.indent}
	c := childrenOf(v)
	if n := c.len(); n > 0 {
		before := *c.before(n - 1)
		in.lines = bytes.IndexByte(before, '\n') >= 0
		in.indent = lineIndent(before, in.indent)
		return in
	}
	if v.Value != nil && (c.object != nil || c.array != nil) {
		in.lines = in.lines || bytes.IndexByte(*c.before(0), '\n') >= 0
	}
	return in
}

// like makes a new child of c look like the last one there is: if that stands
// in one line, so does the new one.
func (l layout) like(c children) layout {
	if !l.lines || c.len() == 0 {
		return l
	}
	last := childrenOf(c.value(c.len() - 1))
	if last.len() == 0 {
		return l
	}
	if before := *last.before(0); !hasComment(before) && bytes.IndexByte(before, '\n') < 0 {
		return layout{indent: l.indent, outer: l.outer, pad: string(before)}
	}
	return l
}

// set lays a value out. Comments in it are dropped.
func (t *tree) set(v hujson.Value, l layout) hujson.Value {
	v = v.Clone()
	v.Minimize()
	t.spread(&v, l)
	return v
}

// spread puts the blanks into a value that has none.
func (t *tree) spread(v *hujson.Value, l layout) {
	c := childrenOf(v)
	n := c.len()
	if n == 0 {
		return
	}
	in := layout{lines: l.lines, indent: l.indent + t.unit, outer: l.indent, pad: l.pad}
	if in.lines && c.array != nil && shortList(c) {
		in.lines, in.pad = false, ""
	}
	for i := range n {
		switch {
		case in.lines:
			*c.before(i) = hujson.Extra(t.newline + in.indent)
		case i > 0:
			*c.before(i) = hujson.Extra(t.colon)
		case c.object != nil:
			*c.before(i) = hujson.Extra(in.pad)
		}
		if c.object != nil {
			c.value(i).BeforeExtra = hujson.Extra(t.colon)
		}
		t.spread(c.value(i), in)
	}
	switch {
	case in.lines:
		*c.before(n) = hujson.Extra(t.newline + in.outer)
	case c.object != nil:
		*c.before(n) = hujson.Extra(in.pad)
	}
}

// shortList reports whether the children are plain values that fit into one
// line.
func shortList(c children) bool {
	long := 0
	for i := range c.len() {
		lit, plain := c.value(i).Value.(hujson.Literal)
		if !plain {
			return false
		}
		long += utf8.RuneCount(lit) + len(", ")
	}
	return long <= maxLine
}
