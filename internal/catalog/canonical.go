package catalog

import (
	"cmp"
	"slices"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// canonical returns a JSON text, which must be valid and without duplicate keys,
// in a form that is the same for all that say the same: without white space,
// the members of objects in the order of their keys, and strings with no escape
// but those that have to be. Numbers stay as they are written: whether 1 and
// 1.0 are the same depends on who reads them.
func canonical(raw []byte) []byte {
	return appendCanonical(make([]byte, 0, len(raw)), raw, wire.Value(raw))
}

func appendCanonical(dst, raw []byte, v wire.Span) []byte {
	switch raw[v.Start] {
	case '{':
		return appendObject(dst, raw, v)
	case '[':
		dst = append(dst, '[')
		first := true
		for element := range wire.Array(raw, v) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendCanonical(dst, raw, element)
		}
		return append(dst, ']')
	case '"':
		text, _ := wire.String(raw, v)
		return wire.AppendString(dst, text)
	}
	return append(dst, v.Of(raw)...)
}

func appendObject(dst, raw []byte, v wire.Span) []byte {
	dst = append(dst, '{')
	for i, m := range sortedMembers(raw, v) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendString(dst, m.key)
		dst = append(dst, ':')
		dst = appendCanonical(dst, raw, m.value)
	}
	return append(dst, '}')
}

// keyed is a member of an object with its key decoded.
type keyed struct {
	key   string
	value wire.Span
}

// sortedMembers are the members of an object in the order of their keys.
func sortedMembers(raw []byte, object wire.Span) []keyed {
	var all []keyed
	for m := range wire.Object(raw, object) {
		key, _ := wire.String(raw, m.Key)
		all = append(all, keyed{key, m.Value})
	}
	slices.SortFunc(all, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	return all
}
