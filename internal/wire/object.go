package wire

import (
	"bytes"
	"iter"
)

// Value returns the span of the one value in raw, without the white space
// around it; the zero Span if raw is nothing else.
func Value(raw []byte) Span {
	start := space(raw, 0)
	if start == len(raw) {
		return Span{}
	}
	return Span{start, skip(raw, start)}
}

// Object returns the members of the object that obj covers, in the order of
// the bytes; none if obj is absent or no object.
func Object(raw []byte, obj Span) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		walk(raw, firstKey(raw, obj), yield)
	}
}

// Array returns the elements of the array that arr covers, in the order of the
// bytes; none if arr is absent or no array.
func Array(raw []byte, arr Span) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		if !arr.Exists() || raw[arr.Start] != '[' {
			return
		}
		i := space(raw, arr.Start+1)
		for i < arr.End-1 {
			element := Span{i, skip(raw, i)}
			if !yield(element) {
				return
			}
			i = space(raw, element.End) + 1 // past the comma or bracket
			i = space(raw, i)
		}
	}
}

// Lookup returns the span of the value of a member of the object that obj
// covers, by its decoded key; the zero Span if it is absent, or if obj is absent
// or no object. Where keys were not checked to be unique, the last one counts,
// as it does for encoding/json, JavaScript and Python.
func Lookup(raw []byte, obj Span, key string) Span {
	var found Span
	for next := firstKey(raw, obj); next > 0; {
		var m Member
		m, next = memberAt(raw, next)
		if KeyIs(raw, m.Key, key) {
			found = m.Value
		}
	}
	return found
}

// walk yields the member whose key starts at next, and those after it; none if
// next is 0.
func walk(raw []byte, next int, yield func(Member) bool) {
	for next > 0 {
		var m Member
		m, next = memberAt(raw, next)
		if !yield(m) {
			return
		}
	}
}

// firstKey is the offset of the first key of obj; 0 if there is none.
func firstKey(raw []byte, obj Span) int {
	if !obj.Exists() || raw[obj.Start] != '{' {
		return 0
	}
	i := space(raw, obj.Start+1)
	if raw[i] == '}' {
		return 0
	}
	return i
}

// memberAt returns the member whose key starts at i, and the offset of the
// next one's key; 0 after the last.
func memberAt(raw []byte, i int) (m Member, next int) {
	m.Key = Span{i, skipString(raw, i)}
	colon := space(raw, m.Key.End)
	i = space(raw, colon+1)
	m.Value = Span{i, skip(raw, i)}
	i = space(raw, m.Value.End)
	if raw[i] == ',' {
		next = space(raw, i+1)
	}
	return m, next
}

// skip returns the end of the value that starts at i. It never reads past raw,
// whatever raw holds.
func skip(raw []byte, i int) int {
	switch raw[i] {
	case '"':
		return skipString(raw, i)
	case '{', '[':
		return skipNested(raw, i)
	}
	for i < len(raw) {
		switch raw[i] {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

// skipNested returns the end of the object or array that starts at i.
func skipNested(raw []byte, i int) int {
	open := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
			continue
		case '{', '[':
			open++
		case '}', ']':
			open--
			if open == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

// skipString returns the end of the string that starts at i.
func skipString(raw []byte, i int) int {
	end := i + 1
	for {
		n := bytes.IndexByte(raw[end:], '"')
		if n < 0 {
			return len(raw)
		}
		end += n
		// The quote is part of the string if the backslashes before it are odd
		// in number. The opening quote stops the count at the latest.
		slash := end
		for raw[slash-1] == '\\' {
			slash--
		}
		end++
		if (end-1-slash)%2 == 0 {
			return end
		}
	}
}

// space returns the offset of the first byte from i on that is not white space.
func space(raw []byte, i int) int {
	for i < len(raw) && raw[i] <= ' ' && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\r' || raw[i] == '\t') {
		i++
	}
	return i
}
