package policy

import "strings"

// pattern is a text in which "*" stands for any text.
type pattern struct {
	text  string   // as written
	start string   // what stands before the first star; all of it if there is none
	parts []string // what stands behind each star; nil if there is none
}

func newPattern(text string) pattern {
	start, rest, wild := strings.Cut(text, "*")
	p := pattern{text: text, start: start}
	for wild {
		var part string
		part, rest, wild = strings.Cut(rest, "*")
		p.parts = append(p.parts, part)
	}
	return p
}

// newPatterns are the patterns of a list, nil if one of them is met by any text:
// then the list says nothing.
func newPatterns(texts []string) []pattern {
	all := make([]pattern, 0, len(texts))
	for _, text := range texts {
		p := newPattern(text)
		if p.any() {
			return nil
		}
		all = append(all, p)
	}
	return all
}

// any reports whether each text meets the pattern.
func (p *pattern) any() bool {
	return p.text != "" && strings.Trim(p.text, "*") == ""
}

// exact reports whether only the text itself does.
func (p *pattern) exact() bool { return p.parts == nil }

// meets reports whether a text does. It takes time in proportion to the product of
// both lengths at most.
func (p *pattern) meets(text string) bool {
	if p.parts == nil {
		return p.text == text
	}
	text, ok := strings.CutPrefix(text, p.start)
	last := len(p.parts) - 1
	for i := 0; ok && i < last; i++ {
		_, text, ok = strings.Cut(text, p.parts[i])
	}
	return ok && strings.HasSuffix(text, p.parts[last])
}

// meet reports whether a text meets one of the patterns, or there are none.
func meet(patterns []pattern, text string) bool {
	if len(patterns) == 0 {
		return true
	}
	for i := range patterns {
		if patterns[i].meets(text) {
			return true
		}
	}
	return false
}
