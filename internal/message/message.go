// Package message is the catalogue of everything Toolcrib tells a person:
// stable codes, and for each code what happened and what to do about it, in
// English and Simplified Chinese.
//
// A code never changes its meaning once released; programs may match on it.
package message

import (
	"fmt"
	"strings"
)

// Code names one thing that can be said. It is stable across releases.
type Code string

// Args are the named values that a text refers to as {name}.
type Args map[string]string

// Text is what is said for a code: what happened, and what to do about it.
// Remedy may be empty.
type Text struct {
	What   string
	Remedy string
}

// String joins both sentences, without a space where Chinese has none.
func (t Text) String() string {
	if t.Remedy == "" || strings.HasSuffix(t.What, "。") {
		return t.What + t.Remedy
	}
	return t.What + " " + t.Remedy
}

// For returns the text of a code in the language, with its values filled in, and
// with the remedy that goes with [ValueOutcome] and [ValueLimitedBy].
// An unknown language is English; an unknown code is its own text, so that
// nothing is ever silent.
func For(lang Lang, code Code, args Args) Text {
	both, ok := catalogue[code]
	if !ok {
		return Text{What: string(code)}
	}
	t := both.en
	if lang == Chinese {
		t = both.zh
	}
	if len(args) == 0 {
		return t
	}
	if other, ok := remedy(lang, code, args); ok {
		t.Remedy = other
	}
	pairs := make([]string, 0, 2*len(args))
	for k, v := range args {
		pairs = append(pairs, "{"+k+"}", v)
	}
	r := strings.NewReplacer(pairs...)
	return Text{What: r.Replace(t.What), Remedy: r.Replace(t.Remedy)}
}

// Known reports whether the catalogue has the code.
func Known(code Code) bool {
	_, ok := catalogue[code]
	return ok
}

// Codes returns every code of the catalogue, in no particular order.
func Codes() []Code {
	all := make([]Code, 0, len(catalogue))
	for c := range catalogue {
		all = append(all, c)
	}
	return all
}

// Quote makes s fit to stand in a text: cut to 200 characters, control
// characters shown as escapes.
func Quote(s string) string {
	const limit = 200
	if len(s) > 4*limit+4 {
		s = s[:4*limit+4] // more than the characters that are shown
	}
	r := []rune(s)
	if len(r) > limit {
		r = append(r[:limit], '…')
	}
	q := fmt.Sprintf("%q", string(r))
	return q[1 : len(q)-1]
}
