package risk

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// maxWords is how many words of a text are looked at. A description is somebody
// else's text of any length.
const maxWords = 4000

// split returns the words of a name in lower case: set apart by what is no
// letter, or by a capital letter ("getHTTPStatus" has three).
func split(name string) []string {
	out := make([]string, 0, 8)
	start, before := -1, ' '
	for at, r := range name {
		letter := unicode.IsLetter(r)
		if letter && start >= 0 && unicode.IsUpper(r) {
			next, _ := utf8.DecodeRuneInString(name[at+utf8.RuneLen(r):])
			if !unicode.IsUpper(before) || unicode.IsLower(next) {
				out = append(out, strings.ToLower(name[start:at]))
				start = at
			}
		}
		switch {
		case letter && start < 0:
			start = at
		case !letter && start >= 0:
			out = append(out, strings.ToLower(name[start:at]))
			start = -1
		}
		before = r
		if len(out) == 64 {
			return out
		}
	}
	if start >= 0 {
		out = append(out, strings.ToLower(name[start:]))
	}
	return out
}

// form is how a word is inflected.
type form uint8

const (
	base   form = iota // create
	third              // creates
	gerund             // creating
)

// verbOf finds a verb. One that is undone or done again changes something too.
func verbOf(word string) (verb, bool) {
	v, ok := lexicon[word]
	if !ok && len(word) > 4 && (word[:2] == "un" || word[:2] == "re") {
		if stem, known := lexicon[word[2:]]; known && stem.noun < 2 && stem.sort != reads {
			return verb{hub.RiskHigh, acts, 0, false, "write"}, true
		}
	}
	return v, ok
}

// lookUp finds the verb of which a word is a form.
func lookUp(word string) (verb, form, bool) {
	if v, ok := lexicon[word]; ok {
		return v, base, true
	}
	if stem, ok := strings.CutSuffix(word, "ies"); ok {
		if v, ok := lexicon[stem+"y"]; ok {
			return v, third, true
		}
	}
	if stem, ok := strings.CutSuffix(word, "es"); ok {
		if v, ok := lexicon[stem]; ok {
			return v, third, true
		}
	}
	if stem, ok := strings.CutSuffix(word, "s"); ok {
		if v, ok := lexicon[stem]; ok {
			return v, third, true
		}
	}
	if stem, ok := strings.CutSuffix(word, "ing"); ok && len(stem) > 1 {
		for _, s := range [...]string{stem, stem + "e", stem[:len(stem)-1]} {
			if v, ok := lexicon[s]; ok {
				return v, gerund, true
			}
		}
	}
	return verb{}, base, false
}

// said is what a name or a description says that a tool does.
type said struct {
	verb
	word string // that says so; "" for none
	weak bool   // the word is a noun more often than not
	// other is the gravest verb besides those that only say that something is run.
	other hub.Risk
}

func (s *said) take(v verb, word string) {
	if s.word == "" || v.risk > s.risk || v.sort > s.sort {
		if s.word == "" || v.risk >= s.risk {
			s.verb, s.word = v, word
		}
	}
	if v.sort == acts && !v.runs {
		s.other = max(s.other, v.risk)
	}
}

// named is what a name says.
//
// The first verb counts most: what follows is its object, so that
// "get_workflow_run" gets and "list_updates" lists. A word that also is a noun is
// the verb where it stands first or last; behind a verb it is one only after
// "and" or "or". Where the name ends with a read and the verb before it may be a
// noun, as in "workflow_run_get", it reads.
func named(name string) said {
	if !isASCII(name) {
		if s := saidInChinese(name); s.word != "" {
			return s
		}
	}
	tokens := split(name)
	last := len(tokens) - 1
	var s said
	weak := -1 // the first word that hardly ever is a verb
	for i, token := range tokens {
		v, ok := verbOf(token)
		if !ok || v.sort == none {
			continue
		}
		if strings.HasPrefix(token, "eval") && i < last && computes(tokens[i+1]) {
			v = lexicon["calculate"]
		}
		if token == "answer" && i < last && answered(tokens[i+1:]) {
			v = lexicon["reply"]
		}
		joined := i > 0 && (tokens[i-1] == "and" || tokens[i-1] == "or" || tokens[i-1] == "then")
		switch {
		case v.noun == 2 && !joined:
			if weak < 0 || lexicon[tokens[weak]].sort == reads && v.sort == acts {
				weak = i
			}
			continue
		case s.word == "":
		case joined, v.noun == 0 && v.sort == acts:
		case v.noun == 1 && i == last && s.noun == 1 && s.sort != acts:
		default:
			continue
		}
		if s.word == "" && v.noun == 1 && v.sort != reads && i > 0 && i < last {
			if end, ok := lexicon[tokens[last]]; ok && end.sort == reads && end.noun == 0 {
				continue
			}
		}
		s.take(v, token)
	}
	if s.word == "" && weak >= 0 {
		s.take(lexicon[tokens[weak]], tokens[weak])
		s.weak = true
		if end := lexicon[tokens[last]]; end.sort == reads && s.sort == acts && last > 0 {
			s = said{verb: end, word: tokens[last], weak: true}
		}
	}
	return s
}

// answered reports whether what is answered is somebody, and not a question.
func answered(words []string) bool {
	return slices.ContainsFunc(words[:min(len(words), 4)], func(word string) bool {
		switch strings.TrimSuffix(word, "s") {
		case "call", "phone", "message", "mail", "email", "ticket", "comment", "review", "thread", "post", "invitation", "request", "chat", "letter", "tweet", "form":
			return true
		}
		return false
	})
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// piece is a word of a text, and the mark that stands before it.
type piece struct {
	word string
	mark byte // the last of , / ( : ; . - ! that stands between it and the word before; 0 for none
}

// pieces are the words of a text in lower case; a line break that is followed
// by another, or by what begins an entry of a list, ends a sentence.
func pieces(text string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		start, n := -1, 0
		var mark byte
		end := func(at int) bool {
			if start < 0 {
				return true
			}
			p := piece{strings.ToLower(text[start:at]), mark}
			start, mark = -1, 0
			n++
			return yield(p) && n < maxWords
		}
		for at, r := range text {
			if unicode.IsLetter(r) || r == '\'' || (r >= '0' && r <= '9' || r == '_') && start >= 0 {
				if start < 0 {
					start = at
				}
				continue
			}
			if !end(at) {
				return
			}
			switch r {
			case '\n':
				if at+1 < len(text) && strings.IndexByte("\n-*#", text[at+1]) >= 0 {
					mark = '.'
				}
			case '.', '!', '?', ';', '—', '–':
				mark = '.'
			case ',', '/', '(', ':', '-', '|':
				if mark != '.' {
					mark = byte(r) //nolint:gosec // one of these six
				}
			}
		}
		end(len(text))
	}
}
