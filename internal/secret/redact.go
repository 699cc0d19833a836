package secret

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	mu    sync.Mutex               // held while it grows
	forms atomic.Pointer[[]string] // in which the values may occur; nil for none
	late  [][]string               // forms of the values that came last, oldest first
	first []string                 // of those that were there from the beginning
}

// NewRedactor returns a Redactor for the values. Those shorter than four
// characters are left alone. A value of several lines is also looked for line
// by line.
func NewRedactor(values []string) *Redactor {
	r := &Redactor{}
	for _, v := range values {
		r.first = append(r.first, formsOf(v)...)
	}
	r.settle()
	return r
}

// maxLate is how many values that came later are looked for: tokens that were
// changed for others are of no use any more.
const maxLate = 4

// Also has a value taken out from now on that was not there at the beginning, as a
// token that came in place of another one. Of such values the last four are looked
// for.
func (r *Redactor) Also(value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.late = append(r.late, formsOf(value)); len(r.late) > maxLate {
		r.late = r.late[1:]
	}
	r.settle()
}

// settle puts all forms in force. The caller holds mu, or is alone.
func (r *Redactor) settle() {
	forms := slices.Concat(append([][]string{r.first}, r.late...)...)
	slices.Sort(forms)
	forms = slices.Compact(forms)
	r.forms.Store(&forms)
}

// formsOf is in which forms a value is looked for.
func formsOf(v string) []string {
	forms := written(nil, v, shortest)
	forms = written(forms, strings.TrimSpace(v), shortest)
	if strings.Contains(v, "\n") {
		for line := range strings.Lines(v) {
			forms = written(forms, strings.TrimSpace(line), shortestLine)
		}
	}
	return forms
}

// written adds the forms in which programs write a value: as it is, in a URL, in
// base64 and in JSON.
func written(forms []string, value string, least int) []string {
	if utf8.RuneCountInString(value) < least {
		return forms
	}
	forms = append(forms, value, url.QueryEscape(value), url.PathEscape(value))
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, e.EncodeToString([]byte(value)))
	}
	for _, html := range []bool{false, true} {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(value) == nil { // a string always can be
			literal := strings.TrimSuffix(b.String(), "\n")
			forms = append(forms, literal[1:len(literal)-1])
		}
	}
	return forms
}

// Redact returns the text with *** in place of every occurrence of a value,
// also where two of them overlap. A text that is to be cut is redacted first:
// half a value is not found.
func (r *Redactor) Redact(text string) string {
	if r == nil {
		return text
	}
	forms := r.forms.Load()
	if forms == nil { // the zero value
		return text
	}
	type span struct{ start, end int }
	var hits []span
	for _, form := range *forms {
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
