package wire

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"
)

// Scan checks a message and finds its members. It keeps raw, copies nothing of
// it and, for usual messages, allocates nothing. White space may surround the
// message. The error, if any, is an [*Error].
//
// The message must be a JSON object in which the decoded members jsonrpc, id,
// method, params, result and error make one of these; other members are ignored
// and stay in Raw:
//
//	jsonrpc  method  id                  params           result  error   Kind
//	"2.0"    string  string or number    absent or {} []  -       -       Request
//	"2.0"    string  absent              absent or {} []  -       -       Notification
//	"2.0"    -       string or number    -                any     -       Response
//	"2.0"    -       any but {} [] bool  -                -       object  Failure
//
// Everything else is [NotMessage]: jsonrpc absent or of another value; an id
// that is an object, array or boolean; an id of null in a request (which MCP
// forbids) or in a response with a result; method, params or error of another
// type; result together with error; either of them, or nothing, in place of a
// method but beside params; none of method, result and error; a batch.
//
// On an error the Message has Kind Invalid and no Members, and the spans of those
// members that were found and are valid JSON. ID then is a string or number that an answer can carry, or
// absent: also if it is null or occurs twice. Where the fault is inside the value
// of a member and not one of syntax, an id that comes later is found too.
func Scan(raw []byte, lim Limits) (Message, error) {
	m := Message{Raw: raw}
	s, fault := newScanner(raw, lim)
	if fault == nil {
		fault = s.message(&m)
	}
	if fault != nil {
		m.Kind = Invalid
		m.forget()
		if m.ID.Exists() && raw[m.ID.Start] == 'n' {
			m.ID = Span{}
		}
		return m, fault
	}
	return m, nil
}

// Valid checks any one JSON value, with white space around it or not. The
// error, if any, is an [*Error]; NotMessage is not among its reasons.
func Valid(raw []byte, lim Limits) error {
	s, fault := newScanner(raw, lim)
	if fault == nil {
		fault = s.only(0)
	}
	if fault != nil {
		return fault
	}
	return nil
}

// scanner checks JSON. Depth is the number of arrays and objects that are open
// around a value; it bounds the recursion.
type scanner struct {
	raw      []byte
	maxDepth int
	unique   bool
}

func newScanner(raw []byte, lim Limits) (scanner, *Error) {
	maxBytes := lim.MaxBytes
	if maxBytes <= 0 {
		maxBytes = DefaultMaxBytes
	}
	maxDepth := lim.MaxDepth
	if maxDepth <= 0 {
		maxDepth = DefaultMaxDepth
	}
	s := scanner{raw: raw, maxDepth: maxDepth, unique: lim.UniqueKeys}
	if len(raw) > maxBytes || uint64(len(raw)) > math.MaxUint32 {
		return s, &Error{Reason: TooLarge, Offset: min(maxBytes, len(raw)), detail: "more bytes than allowed"}
	}
	return s, nil
}

// message checks a message and fills m but for Raw.
func (s *scanner) message(m *Message) *Error {
	raw := s.raw
	i := space(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		if fault := s.only(i); fault != nil {
			return fault
		}
		return &Error{Reason: NotMessage, Offset: i, detail: "it is not an object"}
	}
	var (
		env  = envelope{start: i}
		keys keySet
		// The first fault after which the message can still be read on, in
		// search of the id: many clients write it last.
		first *Error
	)
	i, more := s.enter(i, '}')
	for more {
		key, escaped, v, fault := s.key(i)
		if fault != nil {
			return firstOf(first, fault)
		}
		name, _ := decoded(raw, key, nil)
		twice := keys.add(raw, key, escaped)
		if twice {
			first = firstOf(first, duplicate(name, key.Start))
			if string(name) == "id" {
				m.ID, env.badID = Span{}, Span{}
			}
		}
		var end int
		if string(name) == "params" || string(name) == "result" {
			end, fault = s.body(v, m)
		} else {
			end, fault = s.value(v, 1)
		}
		if fault != nil {
			if fault.Reason == Malformed {
				return firstOf(first, fault)
			}
			first = firstOf(first, fault)
			end = skip(raw, v)
		} else if !twice && !env.note(m, name, Span{v, end}) && s.unique && isAlike(name) {
			env.alike = key
		}
		if i, more, fault = s.next(end, '}'); fault != nil {
			return firstOf(first, fault)
		}
	}
	if i = space(raw, i); i < len(raw) {
		return firstOf(first, malformed(i, "something follows the value"))
	}
	if first != nil {
		return first
	}
	return env.classify(m)
}

// firstOf returns the earlier of two faults, which comes first.
func firstOf(first, second *Error) *Error {
	if first != nil {
		return first
	}
	return second
}

// only checks that one value, and nothing else, follows from i on.
func (s *scanner) only(i int) *Error {
	end, fault := s.value(space(s.raw, i), 0)
	if fault != nil {
		return fault
	}
	if end = space(s.raw, end); end < len(s.raw) {
		return malformed(end, "something follows the value")
	}
	return nil
}

// body checks the value of params or result and notes its members. No message
// has two of them that is not refused.
func (s *scanner) body(i int, m *Message) (int, *Error) {
	if i < len(s.raw) && s.raw[i] == '{' {
		return s.uniqueObject(i, 1, m)
	}
	return s.value(i, 1)
}

// value checks the value at i and returns its end.
func (s *scanner) value(i, depth int) (int, *Error) {
	if i >= len(s.raw) {
		return 0, malformed(len(s.raw), "it ends too early")
	}
	switch c := s.raw[i]; c {
	case '"':
		end, _, fault := s.str(i)
		return end, fault
	case '{':
		if s.unique {
			return s.uniqueObject(i, depth, nil)
		}
		return s.object(i, depth)
	case '[':
		return s.array(i, depth)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.number(i)
	}
	return 0, malformed(i, "a value should stand here")
}

// array checks the array at i and returns its end.
func (s *scanner) array(i, depth int) (int, *Error) {
	if depth >= s.maxDepth {
		return 0, tooDeep(i)
	}
	i, more := s.enter(i, ']')
	for more {
		end, fault := s.value(i, depth+1)
		if fault != nil {
			return 0, fault
		}
		if i, more, fault = s.next(end, ']'); fault != nil {
			return 0, fault
		}
	}
	return i, nil
}

// object checks the object at i, whose keys may repeat, and returns its end.
func (s *scanner) object(i, depth int) (int, *Error) {
	if depth >= s.maxDepth {
		return 0, tooDeep(i)
	}
	i, more := s.enter(i, '}')
	for more {
		_, _, v, fault := s.key(i)
		if fault != nil {
			return 0, fault
		}
		end, fault := s.value(v, depth+1)
		if fault != nil {
			return 0, fault
		}
		if i, more, fault = s.next(end, '}'); fault != nil {
			return 0, fault
		}
	}
	return i, nil
}

// uniqueObject is object for one whose keys must not repeat. It notes the
// members in m unless that is nil.
func (s *scanner) uniqueObject(i, depth int, m *Message) (int, *Error) {
	if depth >= s.maxDepth {
		return 0, tooDeep(i)
	}
	var keys keySet
	i, more := s.enter(i, '}')
	for more {
		key, escaped, v, fault := s.key(i)
		if fault != nil {
			return 0, fault
		}
		if keys.add(s.raw, key, escaped) {
			name, _ := decoded(s.raw, key, nil)
			return 0, duplicate(name, key.Start)
		}
		end, fault := s.value(v, depth+1)
		if fault != nil {
			return 0, fault
		}
		if m != nil {
			m.note(Member{key, Span{v, end}})
		}
		if i, more, fault = s.next(end, '}'); fault != nil {
			return 0, fault
		}
	}
	return i, nil
}

// enter goes into the object or array at i: to its first item, or past it if
// it is empty.
func (s *scanner) enter(i int, closing byte) (next int, more bool) {
	i = space(s.raw, i+1)
	if i < len(s.raw) && s.raw[i] == closing {
		return i + 1, false
	}
	return i, true
}

// next goes on from the end of an item: to the next item, or past the closing
// bracket.
func (s *scanner) next(i int, closing byte) (next int, more bool, fault *Error) {
	i = space(s.raw, i)
	if i < len(s.raw) {
		switch s.raw[i] {
		case ',':
			return space(s.raw, i+1), true, nil
		case closing:
			return i + 1, false, nil
		}
	}
	return 0, false, malformed(i, "a comma or closing bracket should stand here")
}

// key checks the key at i and the colon behind it. It returns the offset of
// the value.
func (s *scanner) key(i int) (key Span, escaped bool, value int, fault *Error) {
	if i >= len(s.raw) || s.raw[i] != '"' {
		return Span{}, false, 0, malformed(i, "a key should stand here")
	}
	end, escaped, fault := s.str(i)
	if fault != nil {
		return Span{}, false, 0, fault
	}
	colon := space(s.raw, end)
	if colon >= len(s.raw) || s.raw[colon] != ':' {
		return Span{}, false, 0, malformed(colon, "a colon should stand here")
	}
	return Span{i, end}, escaped, space(s.raw, colon+1), nil
}

// The bytes of a word, each the same, for looking at eight bytes at once.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// special has the high bit set in the lowest byte of w that ends the plain
// part of a string: a quote, a backslash, a control character or a byte outside
// ASCII. Above that byte its bits mean nothing; it is 0 if there is none.
//
// Subtracting borrows from the next byte only where a byte is such a one, hence
// the lowest is exact.
func special(w uint64) uint64 {
	quote := w ^ '"'*ones
	slash := w ^ '\\'*ones
	return ((quote - ones) | (slash - ones) | (w - ' '*ones) | w) & highs
}

// plain returns the end of the stretch of plain characters from i on: where a
// special one stands, or where less than a word is left to look at. Behind the
// first word it takes 32 bytes at once, since large strings consist of long
// stretches.
func plain(raw []byte, i int) int {
	for len(raw)-i >= 8 {
		if m := special(binary.LittleEndian.Uint64(raw[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
		i += 8
		for len(raw)-i >= 32 {
			b := raw[i : i+32 : i+32]
			m0 := special(binary.LittleEndian.Uint64(b))
			m1 := special(binary.LittleEndian.Uint64(b[8:]))
			m2 := special(binary.LittleEndian.Uint64(b[16:]))
			m3 := special(binary.LittleEndian.Uint64(b[24:]))
			switch {
			case m0|m1|m2|m3 == 0:
				i += 32
				continue
			case m0 != 0:
				return i + bits.TrailingZeros64(m0)/8
			case m1 != 0:
				return i + 8 + bits.TrailingZeros64(m1)/8
			case m2 != 0:
				return i + 16 + bits.TrailingZeros64(m2)/8
			default:
				return i + 24 + bits.TrailingZeros64(m3)/8
			}
		}
	}
	return i
}

// str checks the string at i. It returns its end, and whether it has escapes.
func (s *scanner) str(i int) (end int, escaped bool, fault *Error) {
	raw, start := s.raw, i
	i++
	for i < len(raw) {
		i = plain(raw, i)
		if i >= len(raw) {
			break
		}
		switch c := raw[i]; {
		case c == '"':
			return i + 1, escaped, nil
		case c == '\\':
			escaped = true
			n := escapeLen(raw[i:])
			if n == 0 {
				return 0, false, malformed(i, "a bad escape in a string")
			}
			i += n
		case c < ' ':
			return 0, false, malformed(i, "a control character in a string")
		case c < utf8.RuneSelf:
			i++
		default:
			end := skipRunes(raw, i)
			if end == i {
				return 0, false, &Error{Reason: NotUTF8, Offset: i}
			}
			i = end
		}
	}
	return 0, false, malformed(start, "a string that does not end")
}

// skipRunes returns the end of the characters from i on that are valid UTF-8
// and outside ASCII: i itself if there is none.
//
// Those of three bytes, which most of the world's text outside ASCII consists of,
// are told by bit patterns in one word, ten times as fast as by decoding: the
// bytes are 1110xxxx 10xxxxxx 10xxxxxx, without the two ranges that UTF-8
// excludes (Unicode 16, table 3-7): E0 80-9F, longer than need be, and ED A0-BF,
// the surrogates.
func skipRunes(raw []byte, i int) int {
	for len(raw)-i >= 4 {
		w := binary.LittleEndian.Uint32(raw[i:])
		if w&0xc0c0f0 != 0x8080e0 {
			break
		}
		if narrow := w & 0x200f; narrow == 0x0000 || narrow == 0x200d {
			return i
		}
		i += 3
	}
	for i < len(raw) && raw[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

// escapeLen is the length of the escape that b starts with; 0 if it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 || hexValue(b[2])|hexValue(b[3])|hexValue(b[4])|hexValue(b[5]) > 0xf {
			return 0
		}
		return 6
	}
	return 0
}

// number checks the number at i and returns its end.
func (s *scanner) number(i int) (int, *Error) {
	raw := s.raw
	if raw[i] == '-' {
		i++
	}
	first := i
	i = digits(raw, i)
	if i == first || raw[first] == '0' && i > first+1 {
		return 0, malformed(first, "a bad number")
	}
	if i < len(raw) && raw[i] == '.' {
		fraction := i + 1
		if i = digits(raw, fraction); i == fraction {
			return 0, malformed(i, "a bad number")
		}
	}
	if i < len(raw) && raw[i]|0x20 == 'e' {
		i++
		if i < len(raw) && (raw[i] == '+' || raw[i] == '-') {
			i++
		}
		exponent := i
		if i = digits(raw, i); i == exponent {
			return 0, malformed(i, "a bad number")
		}
	}
	return i, nil
}

// digits returns the end of the decimal digits that start at i.
func digits(raw []byte, i int) int {
	for i < len(raw) && raw[i]-'0' <= 9 {
		i++
	}
	return i
}

// literal checks that word stands at i and returns its end.
func (s *scanner) literal(i int, word string) (int, *Error) {
	if len(s.raw)-i < len(word) || string(s.raw[i:i+len(word)]) != word {
		return 0, malformed(i, "a value should stand here")
	}
	return i + len(word), nil
}

func malformed(at int, detail string) *Error {
	return &Error{Reason: Malformed, Offset: at, detail: detail}
}

func tooDeep(at int) *Error {
	return &Error{Reason: TooDeep, Offset: at, detail: "more open brackets than allowed"}
}

func duplicate(name []byte, at int) *Error {
	return &Error{Reason: DuplicateKey, Offset: at, Name: cutName(string(name))}
}
