package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wide are the characters that take two columns of a terminal (Unicode
// Standard Annex 11: Wide and Fullwidth; blocks rather than single
// characters, as terminals do).
var wide = [...][2]rune{
	{0x1100, 0x115F},
	{0x2E80, 0x303E},
	{0x3041, 0x4DBF},
	{0x4E00, 0xA4CF},
	{0xA960, 0xA97F},
	{0xAC00, 0xD7A3},
	{0xF900, 0xFAFF},
	{0xFE10, 0xFE19},
	{0xFE30, 0xFE6F},
	{0xFF00, 0xFF60},
	{0xFFE0, 0xFFE6},
	{0x1F300, 0x1F64F},
	{0x1F680, 0x1F6FF},
	{0x1F900, 0x1F9FF},
	{0x20000, 0x3FFFD},
}

// width is how many columns of a terminal the text takes. Colours take none.
func width(text string) int {
	n := 0
	for rest := text; rest != ""; {
		r, size := next(rest)
		rest = rest[size:]
		n += columns(r)
	}
	return n
}

// next is the first character of the text, which is not empty, and its size.
// A sequence that sets a colour is one character that takes no column.
func next(text string) (rune, int) {
	if strings.HasPrefix(text, "\x1b[") {
		if end := strings.IndexByte(text, 'm'); end > 0 {
			return 0x200B, end + 1
		}
	}
	return utf8.DecodeRuneInString(text)
}

func columns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	for _, w := range wide {
		if r < w[0] {
			return 1
		}
		if r <= w[1] {
			return 2
		}
	}
	return 1
}

// cut is the text within the columns, with a sign if something is missing.
func cut(text string, limit int) string {
	if width(text) <= limit {
		return text
	}
	used, at, painted := 1, 0, false // one column for the sign
	for at < len(text) {
		r, size := next(text[at:])
		if used += columns(r); used > limit {
			break
		}
		painted = painted || text[at] == '\x1b'
		at += size
	}
	end := ""
	if painted {
		end = "\x1b[0m"
	}
	return text[:at] + "…" + end
}

// pad is the text with spaces up to so many columns.
func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-width(text)))
}
