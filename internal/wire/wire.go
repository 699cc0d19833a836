// Package wire holds JSON-RPC 2.0 messages as the bytes that came.
//
// One [Scan] checks a message and finds the offsets of the few members a hub
// must read; [Splice] replaces, inserts or removes members in place. Nothing
// in between is decoded, rounded, reordered or dropped. The package knows
// JSON and JSON-RPC, and no MCP.
//
// Keys are compared decoded and case-exactly: "\u006dethod" is "method", and
// "Method" is not. [Scan], [Valid] and [Batch] take bytes of any origin. All
// other functions that read JSON take bytes which one of these three has
// accepted; on other bytes their results are meaningless.
//
// The grammar is that of RFC 8259; the shape of a message is that of
// https://www.jsonrpc.org/specification.
package wire

import "iter"

// Kind tells what a message is.
type Kind uint8

// The kinds of message. A message is told by its members alone: method and id
// make a [Request], method without id a [Notification], result a [Response],
// error a [Failure].
const (
	Invalid Kind = iota
	Request
	Notification
	Response
	Failure
)

// Span is a half-open range of offsets into the bytes of a message.
// The zero Span stands for a member that is not there.
type Span struct{ Start, End int }

// Exists reports whether the span stands for something in the message.
func (s Span) Exists() bool { return s.End > 0 }

// Len is the number of bytes in the span.
func (s Span) Len() int { return s.End - s.Start }

// Of returns the bytes of raw that the span covers, with no spare capacity;
// nil for the zero Span.
func (s Span) Of(raw []byte) []byte {
	if !s.Exists() {
		return nil
	}
	return raw[s.Start:s.End:s.End]
}

// Member is one member of a JSON object. Key covers the quotes too.
type Member struct{ Key, Value Span }

// The limits that hold where [Limits] names none.
//
// The depth is set by who reads the message next: the usual parsers of other
// programs give up at about 1,000 levels (Jackson 1,000, simdjson 1,024,
// Python's recursion limit 1,000 less its own frames). Half of that is read by
// all of them, and no known schema or argument comes near it.
const (
	DefaultMaxBytes = 64 << 20
	DefaultMaxDepth = 512
)

// Limits bounds what [Scan], [Valid] and [Batch] accept. A field that is zero
// or negative stands for its default.
type Limits struct {
	// MaxBytes is the greatest length of the input, white space included.
	// Offsets are kept in 32 bits while keys are compared, so no more than
	// 4 GiB - 1 is ever accepted.
	MaxBytes int
	// MaxDepth is how many arrays and objects may be open at once; the
	// message itself is the first.
	MaxDepth int
	// UniqueKeys refuses a key that occurs twice in any object of the input.
	// Without it, Scan still refuses that in the message's own members and in
	// those of params and result; Valid and Batch do not look. With it, Scan also
	// refuses a member of the message that differs from one of JSON-RPC's in its
	// case only: many parsers take the one for the other, so that who reads the
	// message next might find another method or other params in it.
	UniqueKeys bool
}

// inlineMembers is how many members of params or result a Message holds. The
// requests and results of MCP have at most seven.
const inlineMembers = 8

// Message is a scanned message. The spans are offsets into Raw, which belongs
// to who called [Scan] and must stay unchanged while the Message is in use.
// A Message may be copied.
type Message struct {
	Raw  []byte
	Kind Kind

	// ID covers a string with its quotes, a number as it was written or, in a
	// Failure only, null.
	ID Span
	// Method covers the quotes too.
	Method Span
	// Params is an object or array, Result any value, Error an object.
	Params, Result, Error Span

	// The first members of params or result. When there are more, rest is the
	// offset of the next one's key, and the object is walked again from there:
	// a message of a million members must not cost a million spans.
	members [inlineMembers]Member
	n       int
	rest    int
}

// MethodName returns the decoded method; "" if the message has none.
func (m *Message) MethodName() string {
	name, _ := String(m.Raw, m.Method)
	return name
}

// Member returns the span of the value of a member of params (in a Request or
// Notification) or of result (in a Response), by its decoded key; the zero Span
// if it is absent, or if params or result is no object.
func (m *Message) Member(key string) Span {
	for i := range m.n {
		if KeyIs(m.Raw, m.members[i].Key, key) {
			return m.members[i].Value
		}
	}
	for next := m.rest; next > 0; {
		var other Member
		other, next = memberAt(m.Raw, next)
		if KeyIs(m.Raw, other.Key, key) {
			return other.Value
		}
	}
	return Span{}
}

// Members returns the members among which [Message.Member] looks, in the order
// of the message. No two have the same decoded key.
func (m *Message) Members() iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for i := range m.n {
			if !yield(m.members[i]) {
				return
			}
		}
		walk(m.Raw, m.rest, yield)
	}
}

// note adds one more member of params or result.
func (m *Message) note(member Member) {
	switch {
	case m.n < inlineMembers:
		m.members[m.n] = member
		m.n++
	case m.rest == 0:
		m.rest = member.Key.Start
	}
}

// forget drops the members noted so far.
func (m *Message) forget() { m.n, m.rest = 0, 0 }
