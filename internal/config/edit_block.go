package config

import (
	"github.com/tailscale/hujson"
)

// block is where a text keeps its servers: an object with an entry for each
// key, or an array of entries with an "id".
type block struct {
	value  *hujson.Value
	layout layout // of the block itself
}

// blockPaths are the places of blocks in the forms of file that are known. The
// first one that a text has is where a new entry goes.
func blockPaths() [][]string {
	return [][]string{
		{"mcpServers"},
		{"servers"},
		{"mcp_servers"},
		{"context_servers"},
		{"mcp", "servers"},
		{"mcp.servers"},
	}
}

// blocks are those of the text: all, or the one with the name. An error is
// about a block that is of no use, or about a text that is no object.
func (t *tree) blocks(name string) ([]block, error) {
	if childrenOf(&t.root).object == nil {
		return nil, t.fail(&t.root, "the file must be an object, but is %s", kindOf(t.root))
	}
	paths := blockPaths()
	if name != "" {
		paths = [][]string{{name}}
	}
	var found []block
	for _, path := range paths {
		v, l := &t.root, layout{lines: true}
		for _, name := range path {
			c := childrenOf(v)
			i := c.find(name)
			if i < 0 {
				v = nil
				break
			}
			l = t.inside(v, l)
			l.indent = lineIndent(*c.before(i), l.indent)
			v = c.value(i)
		}
		if v == nil {
			continue
		}
		if c := childrenOf(v); c.object == nil && c.array == nil {
			return nil, t.fail(v, "%s must be an object, but is %s", quoted(path[len(path)-1]), kindOf(*v))
		}
		found = append(found, block{v, l})
	}
	return found, nil
}

// block is the one that a new entry goes into. It is made if there is none.
func (t *tree) block(name string) (block, error) {
	blocks, err := t.blocks(name)
	if err != nil {
		return block{}, err
	}
	if len(blocks) == 0 {
		if name == "" {
			name = "mcpServers"
		}
		l := t.inside(&t.root, layout{lines: true})
		t.push(childrenOf(&t.root), name, object(), l)
		if blocks, err = t.blocks(name); err != nil {
			return block{}, err
		}
	}
	return blocks[0], nil
}

// place is where a server's entry stands.
type place struct {
	siblings children
	index    int
	layout   layout // of the entry
}

func (e *place) value() *hujson.Value { return e.siblings.value(e.index) }

// rename gives the entry the key that it was found by, if it is not known by
// another one any more.
func (e *place) rename(key string) {
	if k, ok := entryKey(e.siblings, e.index); ok && k != key {
		e.siblings.object.Members[e.index].Name.Value = hujson.String(key)
	}
}

// entry finds a server's entry, in all blocks or the one with the name. It is
// nil if there is none.
func (t *tree) entry(name, key string) (*place, error) {
	blocks, err := t.blocks(name)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		c := childrenOf(b.value)
		for i := range c.len() {
			if k, ok := entryKey(c, i); !ok || k != key {
				continue
			}
			l := t.inside(b.value, b.layout)
			l.indent = lineIndent(*c.before(i), l.indent)
			return &place{c, i, l}, nil
		}
	}
	return nil, nil
}

// entryKey is the key of the server that child i of a block is about.
func entryKey(c children, i int) (string, bool) {
	if c.object != nil {
		if c.name(i) == lumiDevice {
			return ourDevice, true
		}
		return c.name(i), true
	}
	return elementID(c.value(i))
}

// elementID is the "id" of an element of an array.
func elementID(v *hujson.Value) (string, bool) {
	id := childrenOf(v).member("id")
	if id == nil || id.Value.Kind() != '"' {
		return "", false
	}
	return textOf(id), true
}
