package protocol

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// Header fields of streamable HTTP, in the form that net/http keeps them.
const (
	HeaderSession  = "Mcp-Session-Id"
	HeaderVersion  = "Mcp-Protocol-Version"
	HeaderMethod   = "Mcp-Method"
	HeaderName     = "Mcp-Name"
	HeaderParam    = "Mcp-Param-" // followed by the parameter's header name
	HeaderEventID  = "Last-Event-Id"
	ContentJSON    = "application/json"
	ContentEvents  = "text/event-stream"
	base64Prefix   = "=?base64?"
	base64Suffix   = "?="
	maxSafeInteger = 1<<53 - 1
)

// EncodeHeader returns a value in the form in which it may stand in a header
// field: itself, or in Base64 if it is not plain printable ASCII (2026-07-28,
// "Value Encoding").
func EncodeHeader(value string) string {
	if plainHeader(value) {
		return value
	}
	return base64Prefix + base64.StdEncoding.EncodeToString([]byte(value)) + base64Suffix
}

// DecodeHeader undoes [EncodeHeader]. It reports false if the value claims to
// be Base64 and is not.
func DecodeHeader(value string) (string, bool) {
	coded, ok := strings.CutPrefix(value, base64Prefix)
	if !ok {
		return value, true
	}
	coded, ok = strings.CutSuffix(coded, base64Suffix)
	if !ok {
		return value, true
	}
	plain, err := base64.StdEncoding.DecodeString(coded)
	return string(plain), err == nil
}

func plainHeader(s string) bool {
	if s == "" {
		return true
	}
	if s[0] == ' ' || s[len(s)-1] == ' ' {
		return false
	}
	if strings.HasPrefix(s, base64Prefix) && strings.HasSuffix(s, base64Suffix) {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// ArgumentAt returns the span of the member that path leads to within the
// object args; the zero Span if there is none or it is null.
func ArgumentAt(raw []byte, args wire.Span, path []string) wire.Span {
	at := args
	for _, step := range path {
		if !at.Exists() || raw[at.Start] != '{' {
			return wire.Span{}
		}
		at = wire.Lookup(raw, at, step)
	}
	if !at.Exists() || raw[at.Start] == 'n' {
		return wire.Span{}
	}
	return at
}

// HeaderText returns the text by which a primitive JSON value is mirrored into
// a header, before encoding. It reports false for values that may not be
// mirrored: objects, arrays, fractions, and integers that JavaScript cannot
// hold (2026-07-28, "Custom Headers from Tool Parameters").
func HeaderText(raw []byte, v wire.Span) (string, bool) {
	if !v.Exists() {
		return "", false
	}
	switch text := string(v.Of(raw)); raw[v.Start] {
	case '"':
		return wire.String(raw, v)
	case 't', 'f':
		return text, true
	case '{', '[', 'n':
		return "", false
	default:
		n, ok := safeInteger(text)
		return strconv.FormatInt(n, 10), ok
	}
}

// HeaderMatches reports whether a decoded header value says the same as the
// JSON value: integers are compared as numbers, all else as text.
func HeaderMatches(header string, raw []byte, v wire.Span) bool {
	text, ok := HeaderText(raw, v)
	if !ok {
		return false
	}
	if c := raw[v.Start]; c == '-' || c >= '0' && c <= '9' {
		got, gotOK := safeInteger(header)
		want, _ := safeInteger(text)
		return gotOK && got == want
	}
	return header == text
}

// safeInteger reads an integer, also one that is written as 42.0 or 4.2e1.
func safeInteger(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, -maxSafeInteger <= n && n <= maxSafeInteger
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != float64(int64(f)) || f < -maxSafeInteger || f > maxSafeInteger {
		return 0, false
	}
	return int64(f), true
}
