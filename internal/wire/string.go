package wire

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// String decodes the JSON string that s covers, just as encoding/json does: the
// escape of a lone surrogate becomes U+FFFD. It reports false if s is absent or
// covers something else than a string.
func String(raw []byte, s Span) (string, bool) {
	if !s.Exists() || raw[s.Start] != '"' {
		return "", false
	}
	body := raw[s.Start+1 : s.End-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body), true
	}
	return string(appendDecoded(make([]byte, 0, len(body)), body)), true
}

// KeyIs reports whether key decodes to want: never, if it is absent or covers
// something else than a string. It allocates only if key has escapes.
func KeyIs(raw []byte, key Span, want string) bool {
	if !key.Exists() || raw[key.Start] != '"' {
		return false
	}
	body := raw[key.Start+1 : key.End-1]
	// Every escape is longer than what it stands for. So a body as long as
	// want can only be equal to it byte for byte, without any escape.
	switch {
	case len(body) < len(want):
		return false
	case len(body) == len(want):
		return string(body) == want && strings.IndexByte(want, '\\') < 0
	case bytes.IndexByte(body, '\\') < 0:
		return false
	}
	return string(appendDecoded(make([]byte, 0, len(body)), body)) == want
}

// decoded returns what the string that s covers stands for: bytes of raw if it
// has no escapes, else of scratch, which grows as needed and is returned too.
func decoded(raw []byte, s Span, scratch []byte) (name, grown []byte) {
	body := raw[s.Start+1 : s.End-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return body, scratch
	}
	scratch = appendDecoded(scratch[:0], body)
	return scratch, scratch
}

// appendDecoded appends what the inside of a checked string stands for.
func appendDecoded(dst, body []byte) []byte {
	for {
		plain := bytes.IndexByte(body, '\\')
		if plain < 0 {
			return append(dst, body...)
		}
		dst = append(dst, body[:plain]...)
		c := body[plain+1]
		body = body[plain+2:]
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(body)
			body = body[4:]
			if utf16.IsSurrogate(r) {
				var low rune
				if len(body) >= 6 && body[0] == '\\' && body[1] == 'u' {
					low = hex4(body[2:])
				}
				// RuneError unless the two make a pair. A second half that
				// does not match is left to stand for itself.
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					body = body[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
		default: // '"', '\\' and '/'
			dst = append(dst, c)
		}
	}
}

// hex4 is the value of the four hexadecimal digits that b starts with.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		r = r<<4 | rune(hexValue(c))
	}
	return r
}

// hexValue is the value of a hexadecimal digit; 0xff for any other byte.
func hexValue(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}

// AppendString appends s as a JSON string, quotes included. It escapes only
// what JSON demands: quotes, backslashes and control characters. Bytes that are
// not valid UTF-8 become \ufffd, one for each.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0 // of what is not yet appended
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, `\ufffd`...)
				start = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
