package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// masked stands for a value wherever it is shown.
const masked = "••••"

// Value is a secret on its way through the program. Whatever logs, prints or
// encodes it, or a structure that it is in, shows that there is one and not
// what it is; only Reveal tells. The zero value is no secret: it shows as "".
//
// It holds a pointer, since fmt calls no method of what lies in an unexported
// member and would print a string there. Two values are therefore not to be
// compared by ==.
type Value struct{ text *string }

// NewValue returns the text as a secret; for "" the zero value.
func NewValue(text string) Value {
	if text == "" {
		return Value{}
	}
	return Value{&text}
}

// Reveal returns the secret itself, "" if there is none.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// String shows that there is a secret.
func (v Value) String() string {
	if v.text == nil {
		return ""
	}
	return masked
}

// Format implements [fmt.Formatter]: all verbs show the same, also those that
// would print the bytes.
func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, v.String()) }

// LogValue implements [slog.LogValuer].
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// MarshalText implements [encoding.TextMarshaler], by which JSON, YAML and maps
// with such keys are written. What is written this way cannot be read back.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }
