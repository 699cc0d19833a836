package upstream

import (
	"strings"
	"testing"
	"unicode"
)

// Of colours, and of whatever else moves a terminal, nothing is left; of
// everything else, all.
func TestPrintable(t *testing.T) {
	for line, want := range map[string]string{
		"":                               "",
		"plain [31m text":                "plain [31m text",
		"\x1b[31mERROR\x1b[0m é\ttab":    "ERROR é\ttab",
		"\x1b[1;38;5;200m\x1b[2K\x1b[mx": "x",
		"\x1b[?25lhidden\x1b[6 q":        "hidden",
		"\x1b]0;title\x07x":              "]0;titlex",
		"cut \x1b[31":                    "cut ",
		"\x1b[31\x1b[0mx":                "x",
		"\x1b[31é":                       "é",
		"bell\x07 and\r return\x1b":      "bell and return",
	} {
		if got := printable(line); got != want {
			t.Errorf("%q is shown as %q, want %q", line, got, want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("\x1b[31mERROR\x1b[0m")
	f.Add("\x1b[\x1b[\x1b[1")
	f.Add("\x1b[1;\xff\x1b")
	f.Fuzz(func(t *testing.T, line string) {
		got := printable(strings.ToValidUTF8(line, ""))
		if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }) || len(got) > len(line) {
			t.Errorf("%q is shown as %q", line, got)
		}
		if !strings.Contains(line, "\x1b") && strings.ContainsFunc(line, unicode.IsControl) == false && strings.ToValidUTF8(line, "") != got {
			t.Errorf("%q is shown as %q", line, got)
		}
	})
}
