package config

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"
)

// SetServer returns the text with the entry of the server set to what is
// given, which is an object as JSON. A new entry comes after the others. Of an
// entry that is there, only the members that differ are changed. Everything
// else stays byte for byte: comments, order, layout and unknown members.
//
// The entries are looked for where the form of the file has them: "mcpServers",
// "servers", "mcp_servers" (an array, whose elements get the key as "id"),
// "context_servers", "mcp" and in it "servers", "mcp.servers". A text that has none of these, also an
// empty one, gets "mcpServers".
//
// The text is not checked beyond what is needed to find the place; give the
// result to [Parse]. The error is [Problems].
func SetServer(text []byte, key string, entry []byte) ([]byte, error) {
	return SetServerIn(text, "", key, entry)
}

// SetServerIn is SetServer for an entry of just that block, such as "servers",
// which is made if the text has none.
func SetServerIn(text []byte, block, key string, entry []byte) ([]byte, error) {
	given, err := plant(entry)
	if err != nil {
		return nil, err
	}
	if childrenOf(&given.root).object == nil {
		return nil, given.fail(&given.root, "server %s must be an object, but is %s", quoted(key), kindOf(given.root))
	}
	return edit(text, func(t *tree) error { return t.setServer(block, key, given.root) })
}

// RemoveServer returns the text without the server's entry, and without the
// comments right before it and in its last line. It reports false, and returns
// the text as it was, if there is no such entry. The error is [Problems].
func RemoveServer(text []byte, key string) ([]byte, bool, error) {
	return RemoveServerIn(text, "", key)
}

// RemoveServerIn is RemoveServer for an entry of just that block.
func RemoveServerIn(text []byte, block, key string) (rest []byte, found bool, err error) {
	rest, err = edit(text, func(t *tree) error {
		e, err := t.entry(block, key)
		if err != nil || e == nil {
			return err
		}
		found = true
		t.remove(e.siblings, e.index)
		return nil
	})
	return rest, found, err
}

// SetMember returns the text with one member of a server's entry set to a JSON
// value, or removed if the value is nil. Setting "enabled" removes "disabled"
// and "isActive", which would say the same or the opposite. An entry that is
// missing is made, since that of a built-in server need not be there. The error
// is [Problems].
func SetMember(text []byte, key, member string, value []byte) ([]byte, error) {
	var given *tree
	if value != nil {
		var err error
		if given, err = plant(value); err != nil {
			return nil, err
		}
	}
	return edit(text, func(t *tree) error {
		e, err := t.entry("", key)
		switch {
		case err != nil:
			return err
		case e == nil && value == nil:
			return nil
		case e == nil:
			return t.setServer("", key, object(hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(member)}, Value: given.root}))
		}
		c := childrenOf(e.value())
		if c.object == nil {
			return t.fail(e.value(), "server %s must be an object, but is %s", quoted(key), kindOf(*e.value()))
		}
		stale := []string{member}
		if value != nil {
			t.setMember(e.value(), member, given.root, e.layout)
			stale = nil
			if member == "enabled" {
				stale = []string{"disabled", "isActive"}
			}
		}
		for _, name := range stale {
			for i := c.find(name); i >= 0; i = c.find(name) {
				t.remove(c, i)
			}
		}
		return nil
	})
}

// Entry returns what the text says about a server, as an object in plain JSON:
// without comments, in the order of the file. Given to [SetServer] it changes
// nothing. The error is [Problems].
func Entry(text []byte, key string) (entry []byte, found bool, err error) {
	return EntryIn(text, "", key)
}

// EntryIn is Entry for an entry of just that block.
func EntryIn(text []byte, block, key string) (entry []byte, found bool, err error) {
	t, err := plant(text)
	if err != nil {
		return nil, false, err
	}
	e, err := t.entry(block, key)
	if err != nil || e == nil {
		return nil, false, err
	}
	v := e.value().Clone()
	v.Minimize()
	if c := childrenOf(&v); e.siblings.array != nil {
		c.object.Members = slices.Delete(c.object.Members, c.find("id"), c.find("id")+1)
	}
	return v.Pack(), true, nil
}

// Keys returns the keys of the servers that the text has entries for, in its
// order. The error is [Problems].
func Keys(text []byte) ([]string, error) {
	t, err := plant(text)
	if err != nil {
		return nil, err
	}
	blocks, err := t.blocks("")
	var keys []string
	for _, b := range blocks {
		c := childrenOf(b.value)
		for i := range c.len() {
			if key, ok := entryKey(c, i); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys, err
}

// edit takes a text apart, has it changed, and puts it together again.
func edit(text []byte, change func(*tree) error) ([]byte, error) {
	t, err := plant(text)
	if err != nil {
		return nil, err
	}
	if err := change(t); err != nil {
		return nil, err
	}
	if t.blank() && childrenOf(&t.root).len() == 0 {
		return text, nil
	}
	return t.pack(), nil
}

// setServer sets an entry, which is an object.
func (t *tree) setServer(name, key string, v hujson.Value) error {
	e, err := t.entry(name, key)
	if err != nil {
		return err
	}
	if e != nil {
		if e.siblings.array != nil {
			v = withID(v, *childrenOf(e.value()).member("id"))
		}
		t.merge(e.value(), v, e.layout)
		e.rename(key)
		return nil
	}
	b, err := t.block(name)
	if err != nil {
		return err
	}
	c := childrenOf(b.value)
	l := t.inside(b.value, b.layout)
	if c.array != nil {
		v = withID(v, hujson.Value{Value: hujson.String(key)})
	}
	t.push(c, key, t.set(v, l.like(c)), l)
	return nil
}

// withID is an element of an array of servers.
func withID(v, id hujson.Value) hujson.Value {
	c := childrenOf(&v)
	members := []hujson.ObjectMember{{Name: hujson.Value{Value: hujson.String("id")}, Value: id}}
	for i, m := range c.object.Members {
		if c.name(i) != "id" {
			members = append(members, m)
		}
	}
	return object(members...)
}

func object(members ...hujson.ObjectMember) hujson.Value {
	return hujson.Value{Value: &hujson.Object{Members: members}}
}

// merge makes old say what v says, and touches only what differs.
func (t *tree) merge(old *hujson.Value, v hujson.Value, l layout) {
	was, is := childrenOf(old), childrenOf(&v)
	if was.object == nil || is.object == nil {
		if !same(*old, v) {
			old.Value = t.set(v, l.keeping(was)).Value
		}
		return
	}
	for i := range is.len() {
		t.setMember(old, is.name(i), *is.value(i), l)
	}
	for i := was.len() - 1; i >= 0; i-- {
		if name := was.name(i); is.find(name) < 0 || was.find(name) != i {
			t.remove(was, i)
		}
	}
}

// setMember sets one member of an object that stands as l says.
func (t *tree) setMember(object *hujson.Value, name string, v hujson.Value, l layout) {
	c := childrenOf(object)
	in := t.inside(object, l)
	if i := c.find(name); i >= 0 {
		in.indent = lineIndent(*c.before(i), in.indent)
		t.merge(c.value(i), v, in)
		return
	}
	t.push(c, name, t.set(v, in), in)
}

// keeping makes what replaces a list stand in one line if that did.
func (l layout) keeping(was children) layout {
	if was.len() > 0 && bytes.IndexByte(*was.before(0), '\n') < 0 {
		l.lines = false
	}
	return l
}

// same reports whether two values are written alike, comments and blanks aside.
func same(a, b hujson.Value) bool {
	a, b = a.Clone(), b.Clone()
	a.Minimize()
	b.Minimize()
	return bytes.Equal(a.Pack(), b.Pack())
}
