package secret

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	r := NewRedactor([]string{"abcd", "cdefgh", "abc", "密码密码", "p&s <w>\"\\", "line one\nline two long\n", " spaced ", ""})
	for text, want := range map[string]string{
		"":                                   "",
		"nothing of it":                      "nothing of it",
		"abc stays, abcd goes":               "abc stays, *** goes",
		"abcdefgh!":                          "***!", // two that overlap
		"abcdabcd":                           "***",
		"x密码密码y":                             "x***y",
		"?k=p%26s+%3Cw%3E%22%5C&x":           "?k=***&x",
		"/p&s%20%3Cw%3E%22%5C/":              "/***/",
		`{"k":"p&s <w>\"\\"}`:                `{"k":"***"}`,
		`{"k":"p\u0026s \u003cw\u003e\"\\"}`: `{"k":"***"}`,
		"got line two long here":             "got *** here",
		"spaced":                             "***",
		"YWJjZA==":                           "***==",
	} {
		if got := r.Redact(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	var none *Redactor
	if got := none.Redact("abcd"); got != "abcd" {
		t.Errorf("nil: %q", got)
	}
}

// FuzzRedact looks for a value in all of its forms in what is left.
func FuzzRedact(f *testing.F) {
	f.Add("hunter2", "the key hunter2", "unter2h")
	f.Add("aaaa", "aaaaaaa", "aaaa")
	f.Fuzz(func(t *testing.T, value, before, after string) {
		if len([]rune(value)) < shortest || strings.Contains(redacted+redacted, value) {
			t.Skip()
		}
		escaped, err := json.Marshal(value)
		if err != nil {
			t.Skip()
		}
		r := NewRedactor([]string{value})
		for _, form := range []string{
			value, url.QueryEscape(value), url.PathEscape(value), base64.StdEncoding.EncodeToString([]byte(value)),
			base64.URLEncoding.EncodeToString([]byte(value)), string(escaped[1 : len(escaped)-1]),
		} {
			// What stays may make up a value anew around the stars, so only
			// whole pieces of what there was are looked at.
			for piece := range strings.SplitSeq(r.Redact(before+form+after), redacted) {
				if strings.Contains(piece, value) {
					t.Errorf("%q is left of %q", piece, before+form+after)
				}
			}
		}
	})
}
