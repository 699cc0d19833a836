package policy

import (
	"bytes"
	"math"
	"strconv"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// maxDepth is how deep arguments may be nested for a rule to read them.
const maxDepth = 64

// readable reports whether arguments mean one thing to everybody who reads them:
// they are a JSON object, no name is there twice, and no text has half of a
// character. What a rule reads could else be something else than what the server
// does.
func readable(raw []byte) bool {
	if len(raw) == 0 {
		return true
	}
	if wire.Valid(raw, wire.Limits{MaxDepth: maxDepth, UniqueKeys: true}) != nil {
		return false
	}
	return raw[wire.Value(raw).Start] == '{' && !loneSurrogate(raw)
}

// loneSurrogate reports whether valid JSON has the escape of half a character.
func loneSurrogate(raw []byte) bool {
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			return false
		}
		if raw[at+1] != 'u' {
			raw = raw[at+2:]
			continue
		}
		unit := hexUnit(raw[at+2:])
		raw = raw[at+6:]
		switch {
		case unit < 0xd800 || unit > 0xdfff:
		case unit >= 0xdc00, len(raw) < 6, raw[0] != '\\', raw[1] != 'u':
			return true
		default:
			if low := hexUnit(raw[2:]); low < 0xdc00 || low > 0xdfff {
				return true
			}
			raw = raw[6:]
		}
	}
}

func hexUnit(digits []byte) uint64 {
	unit, err := strconv.ParseUint(string(digits[:4]), 16, 32)
	if err != nil {
		return 0xd800 // there are four digits in valid JSON
	}
	return unit
}

// decode returns readable arguments as CEL takes them. Whole numbers are exact as
// far as 64 bits reach; others are the nearest number of double precision. It is
// nil if a number is beyond that.
func decode(raw []byte) map[string]any {
	if len(raw) == 0 {
		return map[string]any{}
	}
	v, ok := value(raw, wire.Value(raw))
	if m, object := v.(map[string]any); ok && object {
		return m
	}
	return nil
}

func value(raw []byte, at wire.Span) (any, bool) {
	switch raw[at.Start] {
	case '{':
		m := make(map[string]any)
		for member := range wire.Object(raw, at) {
			name, _ := wire.String(raw, member.Key)
			v, ok := value(raw, member.Value)
			if !ok {
				return nil, false
			}
			m[name] = v
		}
		return m, true
	case '[':
		list := []any{}
		for element := range wire.Array(raw, at) {
			v, ok := value(raw, element)
			if !ok {
				return nil, false
			}
			list = append(list, v)
		}
		return list, true
	case '"':
		return wire.String(raw, at)
	case 't':
		return true, true
	case 'f':
		return false, true
	case 'n':
		return nil, true
	}
	return number(string(at.Of(raw)))
}

func number(text string) (any, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0)
}
