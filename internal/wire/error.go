package wire

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Reason tells why input was refused.
type Reason uint8

// The reasons. Per JSON-RPC 2.0, section 5.1, Malformed and NotUTF8 are parse
// errors (-32700); the others are invalid requests (-32600).
const (
	// Malformed input is not JSON (RFC 8259): bad syntax, cut short, followed
	// by something else than white space, or preceded by a byte order mark.
	Malformed Reason = iota + 1
	// NotUTF8 input has a string that is not valid UTF-8.
	NotUTF8
	// TooLarge input has more bytes, or more messages in one batch, than allowed.
	TooLarge
	// TooDeep input opens more arrays and objects at once than allowed.
	TooDeep
	// DuplicateKey stands for an object with two keys that decode to the same.
	DuplicateKey
	// NotMessage input is JSON, but no JSON-RPC 2.0 message; see [Scan].
	NotMessage
)

// String returns the reason in plain words.
func (r Reason) String() string {
	switch r {
	case Malformed:
		return "malformed JSON"
	case NotUTF8:
		return "not valid UTF-8"
	case TooLarge:
		return "too large"
	case TooDeep:
		return "nested too deeply"
	case DuplicateKey:
		return "duplicate key"
	case NotMessage:
		return "not a JSON-RPC 2.0 message"
	}
	return "reason " + strconv.Itoa(int(r))
}

// maxName bounds how much of a key an Error repeats.
const maxName = 40

// Error is the error of [Scan], [Valid] and [Batch]. Neither its fields nor its
// text repeat anything of the input but the key in Name.
type Error struct {
	Reason Reason
	// Offset is where in the input the fault is, counted in bytes from 0. A
	// member that is missing is reported at the object that lacks it.
	Offset int
	// Name is the decoded key of the member at fault, cut to 40 bytes at a
	// rune boundary; "" unless Reason is DuplicateKey or NotMessage.
	Name string

	detail string
}

// Error says what is wrong and where.
func (e *Error) Error() string {
	text := e.Reason.String()
	if e.Name != "" {
		text += " " + strconv.Quote(e.Name)
	}
	if e.detail != "" {
		text += ": " + e.detail
	}
	return fmt.Sprintf("%s (at byte %d)", text, e.Offset)
}

// cutName shortens a key to what an Error may repeat.
func cutName(name string) string {
	if len(name) <= maxName {
		return name
	}
	end := maxName
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}
