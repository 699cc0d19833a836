package message

import (
	"errors"
	"fmt"
	"maps"
	"strings"
)

// Phrase is a part of a text, such as what exactly is wrong, in both languages.
// The zero value is empty. Unlike a [Code] it means nothing to programs.
type Phrase struct {
	// Format is the English, as fmt has it. It also is what the Chinese is found
	// by: phrases are few and short, and stand where they are used.
	Format string
	// Args are what the verbs stand for. What has both languages itself, such as
	// another Phrase, is said in the language of the whole.
	Args []any
}

// bilingual is what has both languages: a [Phrase], or an error of package hub.
type bilingual interface{ In(lang Lang) string }

// Say returns the phrase with the English format. Its Chinese is in this
// package; a test finds the phrases that have none.
func Say(format string, args ...any) Phrase { return Phrase{format, args} }

// Verbatim is a text that is the same in each language: a name, or what somebody
// else says.
func Verbatim(text string) Phrase { return Phrase{Format: "%s", Args: []any{text}} }

// Term is a text of ours that comes from where no phrases are made: of a package
// that knows nothing of languages, or of the system. It is said in English if it
// has no Chinese, as it is known to the letter or not at all.
func Term(text string) Phrase { return Phrase{Format: "%s", Args: []any{term(text)}} }

type term string

// In implements bilingual.
func (t term) In(lang Lang) string {
	if zh, ok := phrases[string(t)]; ok && lang == Chinese {
		return zh
	}
	return string(t)
}

// Cause is what an error of the system, or of a package that knows nothing of
// languages, says. What is at its end, as in "open x: permission denied", has
// both languages if it is one of the [Term]s.
func Cause(err error) Phrase {
	text, inner := err.Error(), err
	for next := errors.Unwrap(inner); next != nil; next = errors.Unwrap(inner) {
		inner = next
	}
	if end := inner.Error(); end != text && strings.HasSuffix(text, end) {
		return Phrase{Format: "%s%s", Args: []any{text[:len(text)-len(end)], term(end)}}
	}
	return Term(text)
}

// Empty reports whether the phrase says nothing.
func (p Phrase) Empty() bool { return p.Format == "" }

// String is the phrase in English.
func (p Phrase) String() string { return p.In(English) }

// In is the phrase in a language. One that has no Chinese is said in English.
func (p Phrase) In(lang Lang) string {
	format := p.Format
	if lang == Chinese {
		if zh, ok := phrases[format]; ok {
			format = zh
		}
	}
	args := make([]any, len(p.Args))
	for i, a := range p.Args {
		if b, ok := a.(bilingual); ok {
			a = b.In(lang)
		}
		args[i] = a
	}
	return fmt.Sprintf(format, args...)
}

// phrases has the Chinese of all phrases, by their English. Arguments that come
// in another order there are numbered.
var phrases = join(ours(), systemPhrases)

// ours are the phrases that are said in this program.
func ours() map[string]string { return join(parts()...) }

// parts are those phrases by subject.
func parts() []map[string]string {
	return []map[string]string{
		riskPhrases, oauthPhrases, configPhrases, policyPhrases, serverPhrases, requestPhrases, limitPhrases, storePhrases, voicePhrases, endpointPhrases, devicePhrases,
		commandPhrases, approvalPhrases, decidePhrases, judgePhrases, identityPhrases, compatPhrases,
	}
}

func join(parts ...map[string]string) map[string]string {
	all := make(map[string]string)
	for _, p := range parts {
		maps.Copy(all, p)
	}
	return all
}
