package risk

import (
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// reach is how many words of a description are searched for its first verb.
const reach = 9

// described is what a description says.
//
// The first verb of the first sentence counts, together with those that are put
// beside it ("create, patch or delete"). Of further sentences only those count
// that say of the tool what it does, in the third person: "This permanently
// deletes ..."; what is said in the imperative there is said to the model.
func described(text string) said {
	if !isASCII(text) {
		if s := saidInChinese(text); s.word != "" {
			return s
		}
	}
	var (
		r     reader
		first = true
		words = r.buf[:0]
	)
	for p := range pieces(text) {
		if p.mark == '.' && len(words) > 0 {
			r.sentence(words, first)
			first, words = false, words[:0]
		}
		if len(words) < cap(words) {
			words = append(words, p)
		}
	}
	if len(words) > 0 {
		r.sentence(words, first)
	}
	return r.said
}

// reader reads the sentences of a description.
type reader struct {
	said
	buf [64]piece
}

func (r *reader) sentence(words []piece, first bool) {
	if first || r.word == "" && words[0].word != "use" {
		r.leading(words)
		return
	}
	if r.sort != reads {
		r.further(words)
	}
}

// leading reads the sentence that says what the tool is for.
func (r *reader) leading(words []piece) {
	lead, how := -1, base
	for i, p := range words {
		if i > reach {
			break
		}
		v, f, ok := lookUp(p.word)
		if !ok || !isVerb(words, i, v, f) {
			continue
		}
		switch {
		case !v.runs && p.word != "perform" && p.word != "make":
		case asks(words[i+1:]):
			v = lexicon["query"]
		case i+2 < len(words) && strings.HasPrefix(p.word, "eval") && (computes(words[i+1].word) || computes(words[i+2].word)):
			v = lexicon["calculate"]
		}
		if strings.HasPrefix(p.word, "answer") && answered(texts(words[i+1:])) {
			v = lexicon["reply"]
		}
		lead, how = i, f
		r.take(v, p.word)
		break
	}
	if lead < 0 {
		return
	}
	for i := lead + 1; i < len(words); i++ {
		p := words[i]
		if negates(p.word) {
			return
		}
		v, f, ok := lookUp(p.word)
		if !ok || v.sort != acts || f != how && f != gerund {
			continue
		}
		conjunction := words[i-1].word == "and" || words[i-1].word == "or" || words[i-1].word == "then"
		beside := conjunction || p.mark == ',' || p.mark == '/' || p.mark == ':' || p.mark == '('
		near := i-lead <= 3 || r.sort == acts
		if !beside || v.noun == 2 || v.noun == 1 && !near || f != how && r.sort != acts {
			continue
		}
		// "a list of runs, updates": a noun follows a noun.
		if v.noun == 1 && f == third && how != third {
			continue
		}
		r.take(v, p.word)
	}
}

// texts are the first of the words, until the next mark.
func texts(words []piece) []string {
	var all []string
	for _, p := range words[:min(len(words), 5)] {
		if p.mark != 0 {
			break
		}
		all = append(all, p.word)
	}
	return all
}

// isVerb reports whether the word at a place of a first sentence is used as one.
func isVerb(words []piece, at int, v verb, f form) bool {
	if v.sort == none {
		return false
	}
	before, after := "", ""
	if at > 0 {
		before = words[at-1].word
	}
	if at+1 < len(words) {
		after = words[at+1].word
	}
	switch before {
	case "the", "a", "an", "of", "in", "this", "your", "from", "with", "each", "every", "any", "no", "not", "new":
		return before == "this" && f == third && v.noun < 2
	case "to", "can", "will", "and", "or", "also":
		return f == base || f == third
	case "for", "by", "tool", "tools", "operations", "operation":
		return f == gerund || before == "tool" && f == third || f == base && v.noun == 0
	}
	if words[at].mark == '(' {
		return false
	}
	switch {
	case at == 0 && v.noun < 2:
		return f != gerund || v.noun == 0
	case v.noun == 2:
		return at == 0 && f == base && slices.Contains([]string{"a", "an", "the", "on", "to", "this", "your", "any", "one", "all", "new"}, after)
	case v.noun == 1:
		return false
	}
	return f != gerund || before == "for"
}

// asks reports whether what is run is a question: "executes a read-only query".
func asks(words []piece) bool {
	for i, p := range words {
		if i > 5 {
			break
		}
		switch p.word {
		case "search", "searches", "query", "queries", "lookup", "request", "select", "check", "checks", "analysis", "readonly", "read", "diagnostics", "calculation":
			return true
		}
	}
	return false
}

// computes reports whether what is evaluated can be no more than computed. An
// expression and a template can be programs.
func computes(word string) bool {
	switch word {
	case "math", "mathematical", "arithmetic", "formula", "formulas", "condition", "conditions",
		"policy", "policies", "rule", "rules", "flag", "flags":
		return true
	}
	return false
}

func negates(word string) bool {
	switch word {
	case "not", "never", "without", "no", "cannot", "don't", "doesn't", "won't", "isn't", "instead", "before", "after", "if", "when", "that", "which", "while":
		return true
	}
	return false
}

// further reads a sentence that is not the first.
func (r *reader) further(words []piece) {
	at := 0
	for at < len(words) && at < 6 {
		switch words[at].word {
		case "warning", "caution", "note", "important", "this", "it", "tool", "will", "permanently", "also", "can", "operation", "action", "irreversibly", "immediately", "may":
			at++
			continue
		}
		break
	}
	if at >= len(words) {
		return
	}
	for _, p := range words[:min(len(words), at+6)] {
		if negates(p.word) {
			return
		}
	}
	v, f, ok := lookUp(words[at].word)
	if !ok || v.sort != acts || v.noun > 0 {
		return
	}
	if f == third || f == base && at > 0 && strings.Contains("will can also may permanently", words[at-1].word) {
		r.take(v, words[at].word)
	}
}

// saidInChinese is what a text says in Chinese, where no spaces set words apart.
func saidInChinese(text string) said {
	const first = 90 // bytes in which the first verb has to stand: about thirty characters
	var s said
	end := strings.IndexAny(text, "。；\n！")
	if end < 0 {
		end = len(text)
	}
	text = text[:min(end, 600)]
	for at := range text {
		if text[at] < 0x80 {
			continue
		}
		for _, c := range chinese {
			if !strings.HasPrefix(text[at:], c.word) {
				continue
			}
			before := text[:at]
			beside := false
			for _, mark := range [...]string{"、", "和", "或", "并", "及", "/", "，", "与", "者"} {
				beside = beside || strings.HasSuffix(before, mark)
			}
			switch {
			case strings.HasSuffix(before, "不") || strings.HasSuffix(before, "已") || strings.HasSuffix(before, "不会"):
			case s.word == "" && at <= first, beside && c.verb.sort == acts && (s.sort == acts || c.verb.noun == 0):
				s.take(c.verb, c.word)
			}
			break
		}
	}
	return s
}

// meaning puts together what the name and the description say.
func meaning(name, description said) said {
	switch {
	case name.word == "":
		if description.word == "" {
			return said{verb: verb{risk: hub.RiskMedium, sort: neutral}}
		}
		return description
	case name.weak && description.sort == reads:
		return description
	case name.weak && name.sort == reads && description.word != "":
		return description
	case description.sort == acts && description.risk > name.risk, name.sort == description.sort && description.risk > name.risk:
		description.other = max(description.other, name.other)
		if name.sort == acts && !name.runs {
			description.runs = false
		}
		return description
	}
	name.other = max(name.other, description.other)
	return name
}
