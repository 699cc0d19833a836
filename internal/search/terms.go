package search

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Terms yields the words of a text as they are indexed and looked for, in its
// order. A word is a run of letters and digits in lower case, and in the singular
// if it is an English plural. One that is joined of several, such as readFile,
// HTTPServer or base64, is yielded in its parts and then as a whole. What is not
// written with spaces between words (Chinese,
// Japanese, Korean) is yielded by characters and by pairs of neighbours. What is
// not valid UTF-8 stands between words.
func Terms(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		t := tokenizer{yield: yield}
		for i, r := range text {
			if r == utf8.RuneError {
				r = ' '
			}
			next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
			if !t.take(narrow(r), narrow(next)) {
				return
			}
		}
		if t.endPart() {
			t.endWord()
		}
	}
}

// tokenizer takes a text rune by rune. Its methods report whether more is wanted.
type tokenizer struct {
	yield func(string) bool
	word  []byte // since the last that was no letter or digit
	part  int    // where in it the part begins that is not yielded yet
	parts int    // of the word that were yielded
	last  class
	ideo  rune // the last character of a run that is written without spaces; 0 if it was none
}

// class is what a character is to the places where words end.
type class uint8

const (
	other class = iota
	lower       // or a letter of a script that has no cases
	upper
	digit
	mark // belongs to the character before it
	ideograph
)

func classify(r rune) class {
	switch {
	case 'a' <= r && r <= 'z':
		return lower
	case 'A' <= r && r <= 'Z':
		return upper
	case '0' <= r && r <= '9':
		return digit
	case r < utf8.RuneSelf:
		return other
	case r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return ideograph
	case unicode.IsUpper(r):
		return upper
	case unicode.IsLetter(r):
		return lower
	case unicode.IsDigit(r):
		return digit
	case unicode.IsMark(r):
		return mark
	}
	return other
}

// narrow is the plain form of a wide Latin character, as Chinese and Japanese
// keyboards write them (Unicode, "Halfwidth and Fullwidth Forms").
func narrow(r rune) rune {
	if '！' <= r && r <= '～' {
		return r - '！' + '!'
	}
	return r
}

// take takes one more character, of which the next is known.
func (t *tokenizer) take(r, next rune) bool {
	now := classify(r)
	last := t.last
	if now == mark {
		if len(t.word) > 0 {
			t.word = utf8.AppendRune(t.word, r)
		}
		return true
	}
	t.last = now
	if now == ideograph {
		return t.endPart() && t.endWord() && t.ideograph(r)
	}
	t.ideo = 0
	if now == other {
		return t.endPart() && t.endWord()
	}
	if border(last, now, classify(next)) && !t.endPart() {
		return false
	}
	t.word = utf8.AppendRune(t.word, unicode.ToLower(r))
	return true
}

// singular takes the plural's ending off an English word: the lightest of the
// usual stemmers (Harman, "How effective is suffixing?", 1991). What it makes of
// other words does no harm, because queries and documents get the same.
func singular(word string) string {
	switch {
	case strings.HasSuffix(word, "ies"):
		if len(word) > 4 && !strings.HasSuffix(word, "eies") && !strings.HasSuffix(word, "aies") {
			return word[:len(word)-len("ies")] + "y"
		}
	case strings.HasSuffix(word, "s"):
		if len(word) > 3 && !strings.HasSuffix(word, "us") && !strings.HasSuffix(word, "ss") {
			return word[:len(word)-len("s")]
		}
	}
	return word
}

// border reports whether a part of a word ends before a character: at digits,
// before an upper case letter that follows a lower case one, and before the last
// of several that a lower case one follows.
func border(last, now, next class) bool {
	switch {
	case last == other || last == ideograph:
		return false
	case last == digit || now == digit:
		return last != now
	case last == lower:
		return now == upper
	}
	return now == upper && next == lower
}

// ideograph yields a character, and the pair that it ends.
func (t *tokenizer) ideograph(r rune) bool {
	before := t.ideo
	t.ideo = r
	if before != 0 && !t.yield(string([]rune{before, r})) {
		return false
	}
	return t.yield(string(r))
}

// endPart yields the part of a word that ends here.
func (t *tokenizer) endPart() bool {
	if t.part == len(t.word) {
		return true
	}
	text := singular(string(t.word[t.part:]))
	t.part = len(t.word)
	t.parts++
	return t.yield(text)
}

// endWord yields the word that ends here, if it has several parts.
func (t *tokenizer) endWord() bool {
	whole, parts := t.word, t.parts
	t.word, t.part, t.parts = t.word[:0], 0, 0
	return parts < 2 || t.yield(singular(string(whole)))
}
