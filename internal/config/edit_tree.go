package config

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// editedText stands in a problem of an edited text in place of the path, which
// the functions that edit do not know.
const editedText = "configuration"

// defaultIndent is one step of indentation in a text that shows none.
const defaultIndent = "  "

// tree is a text taken apart, so that it can be changed in places: what is not
// touched comes out again byte for byte.
//
// Everything that stands between two values, comments and blanks, is an Extra
// of the tree. The package hujson has no way to add or to remove a member that
// keeps all of them; the methods here do.
type tree struct {
	text []byte // as it came, with the byte order mark
	doc  *document
	root hujson.Value

	newline string
	unit    string // one step of indentation
	colon   string // blanks after a colon
}

// plant takes a text apart. A blank text is an empty object. The error is
// [Problems] if the text is no JSON with comments.
func plant(text []byte) (*tree, error) {
	bare := bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	t := &tree{text: text, doc: &document{path: editedText, text: bare}, newline: "\n"}
	if bytes.Contains(bare, []byte("\r\n")) {
		t.newline = "\r\n"
	}
	if t.blank() {
		t.root = hujson.Value{Value: &hujson.Object{}, AfterExtra: hujson.Extra(t.newline)}
		t.style()
		return t, nil
	}
	root, ok := t.doc.parse(text)
	if !ok {
		return nil, t.doc.errors()
	}
	// The reader has put a newline to the end.
	root.AfterExtra = root.AfterExtra[:len(root.AfterExtra)-1]
	t.root = root
	t.style()
	return t, nil
}

func (t *tree) blank() bool { return len(bytes.TrimSpace(t.doc.text)) == 0 }

// pack puts the text together again.
func (t *tree) pack() []byte {
	mark := t.text[:len(t.text)-len(t.doc.text)]
	return append(slices.Clone(mark), t.root.Pack()...)
}

// fail is the problem at a value of the text as it was parsed.
func (t *tree) fail(v *hujson.Value, format string, args ...any) error {
	t.doc.problem(v.StartOffset, format, args...)
	return t.doc.errors()
}

// style finds out how the text is laid out: by its first members, which show
// it in any text that a person or a program has written.
func (t *tree) style() {
	t.unit, t.colon = defaultIndent, " "
	v := &t.root
	for depth := range 3 {
		c := childrenOf(v)
		if c.len() == 0 {
			return
		}
		if colon := string(c.value(0).BeforeExtra); depth == 0 && c.object != nil && strings.Trim(colon, " ") == "" {
			t.colon = colon
		}
		if at := lineIndent(*c.before(0), ""); at != "" {
			t.unit = at
			return
		}
		v = c.value(0)
	}
}

// children are the members of an object or the elements of an array, seen
// alike. There are none of any other value.
type children struct {
	object *hujson.Object
	array  *hujson.Array
}

func childrenOf(v *hujson.Value) children {
	switch c := v.Value.(type) {
	case *hujson.Object:
		return children{object: c}
	case *hujson.Array:
		return children{array: c}
	}
	return children{}
}

func (c children) len() int {
	switch {
	case c.object != nil:
		return len(c.object.Members)
	case c.array != nil:
		return len(c.array.Elements)
	}
	return 0
}

func (c children) value(i int) *hujson.Value {
	if c.object != nil {
		return &c.object.Members[i].Value
	}
	return &c.array.Elements[i]
}

// before is what stands before child i, after the comma or the bracket; that of
// the one after the last stands before the closing bracket.
func (c children) before(i int) *hujson.Extra {
	switch {
	case c.object != nil && i < len(c.object.Members):
		return &c.object.Members[i].Name.BeforeExtra
	case c.object != nil:
		return &c.object.AfterExtra
	case i < len(c.array.Elements):
		return &c.array.Elements[i].BeforeExtra
	}
	return &c.array.AfterExtra
}

// name is the name of member i; elements have none.
func (c children) name(i int) string {
	if c.object == nil {
		return ""
	}
	return c.object.Members[i].Name.Value.(hujson.Literal).String() // the parser lets no other through
}

// find is the index of the first member with the name, or -1.
func (c children) find(name string) int {
	for i := range c.len() {
		if c.object != nil && c.name(i) == name {
			return i
		}
	}
	return -1
}

// member is the value of the first member with the name, or nil.
func (c children) member(name string) *hujson.Value {
	if i := c.find(name); i >= 0 {
		return c.value(i)
	}
	return nil
}

// push puts a child after the last one. Comments after that one stay with it,
// and a comma at the end of the list stays what it is. An element has no name.
func (t *tree) push(c children, name string, v hujson.Value, l layout) {
	n := c.len()
	comments, blanks := cutBlanks(*c.before(n))
	switch {
	case l.lines || len(comments) > 0: // the last comment may run to the end of its line
		v.BeforeExtra = slices.Concat(comments, hujson.Extra(t.newline), hujson.Extra(l.indent))
		if n == 0 && !bytes.Contains(blanks, []byte("\n")) {
			blanks = hujson.Extra(t.newline + l.outer)
		}
	case n > 0:
		v.BeforeExtra = hujson.Extra(t.colon)
	default:
		v.BeforeExtra = blanks
	}
	// A comma at the end of the list is an AfterExtra that is not nil.
	v.AfterExtra = nil
	if n > 0 && c.value(n-1).AfterExtra != nil {
		v.AfterExtra = hujson.Extra{}
	}
	if c.array != nil {
		c.array.Elements = append(c.array.Elements, v)
		c.array.AfterExtra = blanks
		return
	}
	key := hujson.Value{BeforeExtra: v.BeforeExtra, Value: hujson.String(name)}
	v.BeforeExtra = hujson.Extra(t.colon)
	c.object.Members = append(c.object.Members, hujson.ObjectMember{Name: key, Value: v})
	c.object.AfterExtra = blanks
}

// remove takes child i out, with the comments that belong to it: those right
// before it, up to a blank line, and the one after it in its line.
func (t *tree) remove(c children, i int) {
	last := i == c.len()-1
	previous, rest := cutLine(*c.before(i), false)
	kept := beforeBlankLine(rest)
	_, next := cutLine(*c.before(i + 1), last)
	if !last && !hasComment(next) && bytes.IndexByte(next, '\n') < 0 {
		_, next = cutBlanks(rest) // the next child moves to where this one was
	}
	*c.before(i + 1) = t.glue(previous, kept, next)

	comma := c.value(i).AfterExtra != nil
	if c.array != nil {
		c.array.Elements = slices.Delete(c.array.Elements, i, i+1)
	} else {
		c.object.Members = slices.Delete(c.object.Members, i, i+1)
	}
	if !last || i == 0 {
		return
	}
	// What stood between the value and its comma would now be taken for a
	// comma at the end of the list.
	v := c.value(i - 1)
	switch {
	case comma && v.AfterExtra == nil:
		v.AfterExtra = hujson.Extra{}
	case !comma && v.AfterExtra != nil:
		*c.before(i) = t.glue(v.AfterExtra, *c.before(i))
		v.AfterExtra = nil
	}
}

// glue joins extras, so that no comment that runs to the end of its line runs
// over what comes after it.
func (t *tree) glue(parts ...hujson.Extra) hujson.Extra {
	var e hujson.Extra
	for _, part := range parts {
		if len(part) > 0 {
			e = append(t.ended(e, part), part...)
		}
	}
	return t.ended(e, nil)
}

// ended is an extra that next can stand after.
func (t *tree) ended(e, next hujson.Extra) hujson.Extra {
	p := pieces(e)
	if len(p) == 0 || !isLineComment(p[len(p)-1]) ||
		bytes.HasPrefix(next, []byte("\n")) || bytes.HasPrefix(next, []byte("\r\n")) {
		return e
	}
	return append(slices.Clip(e), t.newline...)
}
