package secret

import (
	"strings"
)

// Kind is what a placeholder refers to.
type Kind uint8

// The kinds of placeholder.
const (
	Unknown  Kind = iota // none of those below; it can never be filled in
	Unclosed             // it has no closing brace; it can never be filled in
	Env                  // an environment variable, maybe with a default
	File                 // the content of a file
	Stored               // a value of the sealed store
	Input                // a value that VS Code would ask for
	Place                // where something is on this machine; no secret
)

// Placeholder is one placeholder in a text.
type Placeholder struct {
	Kind       Kind
	Name       string // of the variable, file, value, input or place
	Default    string // Env: taken if the variable is not set
	HasDefault bool
	Start, End int // the bytes it takes up in the text
}

// Placeholders returns the placeholders of a text in their order, also those
// that can never be filled in. An escaped one ($${) is none.
func Placeholders(text string) []Placeholder {
	var found []Placeholder
	_ = scan(text, func(string) {}, func(p Placeholder) error {
		found = append(found, p)
		return nil
	})
	return found
}

// scan hands a text over piece by piece, in its order: what stands for itself
// to plain, the rest to fill. It stops at the first error of fill.
func scan(text string, plain func(string), fill func(Placeholder) error) error {
	for at := 0; at < len(text); {
		next := strings.Index(text[at:], "${")
		if next < 0 {
			plain(text[at:])
			return nil
		}
		open := at + next
		if open > at && text[open-1] == '$' {
			plain(text[at : open-1])
			plain("${")
			at = open + len("${")
			continue
		}
		plain(text[at:open])
		length := strings.IndexByte(text[open:], '}')
		if length < 0 {
			return fill(Placeholder{Kind: Unclosed, Start: open, End: len(text)})
		}
		p := parse(text[open+len("${") : open+length])
		p.Start, p.End = open, open+length+1
		if err := fill(p); err != nil {
			return err
		}
		at = p.End
	}
	return nil
}

// parse reads what stands between the braces.
func parse(inner string) Placeholder {
	switch inner {
	case "workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/":
		return Placeholder{Kind: Place, Name: inner}
	}
	if name, fallback, found := strings.Cut(inner, ":-"); isVariable(name) {
		return Placeholder{Kind: Env, Name: name, Default: fallback, HasDefault: found}
	}
	kind, name, found := strings.Cut(inner, ":")
	if !found || name == "" {
		return Placeholder{Kind: Unknown, Name: inner}
	}
	switch kind {
	case "env":
		return Placeholder{Kind: Env, Name: name}
	case "file":
		return Placeholder{Kind: File, Name: name}
	case "secret":
		return Placeholder{Kind: Stored, Name: name}
	case "input":
		return Placeholder{Kind: Input, Name: name}
	}
	return Placeholder{Kind: Unknown, Name: inner}
}

// String is the placeholder as it may be shown: what it refers to, but neither
// a default nor what is no reference at all, since both may be secrets.
func (p Placeholder) String() string {
	switch p.Kind {
	case Env:
		if p.HasDefault {
			return "${" + p.Name + ":-…}"
		}
		return "${env:" + p.Name + "}"
	case File:
		return "${file:" + p.Name + "}"
	case Stored:
		return "${secret:" + p.Name + "}"
	case Input:
		return "${input:" + p.Name + "}"
	case Place:
		return "${" + p.Name + "}"
	case Unclosed:
		return "${…"
	}
	const longest = 16 // letters of a word that may be meant as a kind
	if kind, _, found := strings.Cut(p.Name, ":"); found && len(kind) <= longest && isVariable(kind) {
		return "${" + kind + ":…}"
	}
	return "${…}"
}

// Fault says why a placeholder can never be filled in, as an English clause;
// it is empty if it may be.
func (p Placeholder) Fault() string {
	const literal = "; write $${ for a literal ${"
	switch p.Kind {
	case Unclosed:
		return "the closing brace is missing" + literal
	case Unknown:
		return "placeholders of this kind are not known here" + literal
	case Stored:
		if !ValidName(p.Name) {
			return "this can be no name of a sealed value"
		}
	}
	return ""
}

// isVariable reports whether s can be the name of a variable in a shell.
func isVariable(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
