package call

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// digest names the arguments of a request: those that mean the same have the same,
// in whatever order their members are and however they are spaced. Numbers are as
// they are written.
func digest(m *wire.Message) [sha256.Size]byte {
	args := m.Member("arguments")
	if !args.Exists() {
		return sha256.Sum256([]byte("{}"))
	}
	return sha256.Sum256(appendCanonical(make([]byte, 0, args.Len()), m.Raw, args))
}

// appendCanonical appends a value without white space, and with the members of
// objects in the order of their keys.
func appendCanonical(b, raw []byte, v wire.Span) []byte {
	switch raw[v.Start] {
	case '{':
		type member struct {
			key       string
			at, value wire.Span
		}
		var members []member
		for m := range wire.Object(raw, v) {
			key, _ := wire.String(raw, m.Key)
			members = append(members, member{key, m.Key, m.Value})
		}
		slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.key, b.key) })
		b = append(b, '{')
		for i, m := range members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, m.key, raw, m.at), ':')
			b = appendCanonical(b, raw, m.value)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		first := true
		for one := range wire.Array(raw, v) {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = appendCanonical(b, raw, one)
		}
		return append(b, ']')
	case '"':
		s, _ := wire.String(raw, v)
		return appendText(b, s, raw, v)
	}
	return append(b, v.Of(raw)...)
}

// appendText appends a string. One that is not quite a text is appended as it is
// written: several such read the same.
func appendText(b []byte, s string, raw []byte, v wire.Span) []byte {
	if strings.ContainsRune(s, utf8.RuneError) {
		return append(b, v.Of(raw)...)
	}
	return wire.AppendString(b, s)
}
