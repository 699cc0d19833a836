package secret

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	shortest     = 4 // characters; shorter values are in every text
	shortestLine = 8 // characters of one line of a longer value
	redacted     = "***"
)

// Redactor takes secrets out of texts. It is safe for concurrent use, and a
// nil one changes nothing.
type Redactor struct {
	forms []string // in which the values may occur
}

// NewRedactor returns a Redactor for the values. Those shorter than four
// characters are left alone. A value of several lines is also looked for line
// by line.
func NewRedactor(values []string) *Redactor {
	r := &Redactor{}
	for _, v := range values {
		r.add(v, shortest)
		r.add(strings.TrimSpace(v), shortest)
		if strings.Contains(v, "\n") {
			for line := range strings.Lines(v) {
				r.add(strings.TrimSpace(line), shortestLine)
			}
		}
	}
	slices.Sort(r.forms)
	r.forms = slices.Compact(r.forms)
	return r
}

// add adds the forms in which programs write a value: as it is, in a URL, in
// base64 and in JSON.
func (r *Redactor) add(value string, least int) {
	if utf8.RuneCountInString(value) < least {
		return
	}
	r.forms = append(r.forms, value, url.QueryEscape(value), url.PathEscape(value))
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		r.forms = append(r.forms, e.EncodeToString([]byte(value)))
	}
	for _, html := range []bool{false, true} {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(value) == nil { // a string always can be
			literal := strings.TrimSuffix(b.String(), "\n")
			r.forms = append(r.forms, literal[1:len(literal)-1])
		}
	}
}

// Redact returns the text with *** in place of every occurrence of a value,
// also where two of them overlap. A text that is to be cut is redacted first:
// half a value is not found.
func (r *Redactor) Redact(text string) string {
	if r == nil {
		return text
	}
	type span struct{ start, end int }
	var hits []span
	for _, form := range r.forms {
		for at := 0; ; {
			next := strings.Index(text[at:], form)
			if next < 0 {
				break
			}
			hits = append(hits, span{at + next, at + next + len(form)})
			at += next + 1
		}
	}
	if len(hits) == 0 {
		return text
	}
	slices.SortFunc(hits, func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	var b strings.Builder
	done := 0 // all before is written or taken out
	for _, h := range hits {
		if h.start > done || done == 0 {
			b.WriteString(text[done:h.start])
			b.WriteString(redacted)
		}
		done = max(done, h.end)
	}
	b.WriteString(text[done:])
	return b.String()
}
