package config

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/secret"
)

// secrecy is how a value of a file is to be treated.
type secrecy uint8

const (
	open    secrecy = iota // shown
	private                // may hold a secret: that part is not shown
	sealed                 // is one, by its place or name: not shown, and sealed before it is written
)

// setting is where a value stands, as far as that tells what it is.
type setting uint8

const (
	plain    setting = iota
	inEnv            // an environment variable
	inHeader         // a header of a request
	inArgs           // an argument of a command
	inSecret         // below a name that says that it is a secret
)

// span is a part of a text, from a byte to before another.
type span struct{ from, to int }

// judge is the one place where it is decided what may be a secret. name is the
// value's name; of an argument it is the argument before it. The spans are the
// parts that are not to be shown, in order. When in doubt, a value is hidden: it
// comes back by itself, and a secret that was shown does not.
func judge(in setting, name, value string) (secrecy, []span) {
	whole := []span{{0, len(value)}}
	switch {
	case harmless(value):
		return open, nil
	case in == inHeader, in == inSecret, in == inEnv && (secret.NamesSecret(name) || hasPassword(value) || secret.IsKey(value)):
		return sealed, whole
	case in == inEnv:
		return private, whole
	}
	var spans []span
	if in == inArgs {
		spans = argument(name, value)
	}
	if spans == nil && secret.IsKey(value) {
		spans = whole
	}
	if spans == nil {
		spans = urls(value)
	}
	if spans == nil {
		return open, nil
	}
	return private, spans
}

// harmless reports whether there is nothing in a value but placeholders: the
// secrets are elsewhere. A scheme of authorization may stand before them.
func harmless(value string) bool {
	for _, scheme := range []string{"Bearer ", "Basic ", "Token "} {
		value = strings.TrimPrefix(value, scheme)
	}
	at := 0
	for _, p := range secret.Placeholders(value) {
		// ${NAME:-text} has the text in clear, and what nobody knows may be anything.
		if p.Start != at || p.Default != "" || p.Kind == secret.Unknown || p.Kind == secret.Unclosed {
			return false
		}
		at = p.End
	}
	return at == len(value)
}

// argument finds the secret in an argument of a command that stands after
// another.
func argument(before, value string) []span {
	from := func(at int) []span {
		for at < len(value) && value[at] == ' ' {
			at++
		}
		if at == len(value) || harmless(value[at:]) {
			return []span{} // looked at, and nothing found
		}
		return []span{{at, len(value)}}
	}
	name, _, set := strings.Cut(value, "=")
	option := strings.HasPrefix(value, "-")
	if strings.HasPrefix(before, "-") && !strings.Contains(before, "=") {
		switch {
		case before == "-H", before == "--header", before == "--headers":
			return from(1 + strings.IndexAny(value, ":="))
		case before == "-e" || before == "--env":
			if !set {
				return nil // the name of a variable that is passed on
			}
			return from(len(name) + 1)
		case secret.NamesSecret(before):
			return from(0)
		}
	}
	switch {
	case set && !strings.Contains(name, "://") && secret.NamesSecret(name):
		return from(len(name) + 1)
	case option && set && (secret.NamesSecret(value) || secret.IsKey(value[len(name)+1:])):
		return from(len(name) + 1)
	case option, strings.Contains(value, "://"):
		return nil
	case secret.NamesSecret(value):
		return from(0)
	}
	return nil
}

// hasPassword reports whether a value is a URL with a user in it.
func hasPassword(value string) bool {
	for _, s := range urls(value) {
		if s.to < len(value) && value[s.to] == '@' {
			return true
		}
	}
	return false
}

// urls finds what may be a secret in the URLs of a value: the user, the query,
// and a piece of the path that looks like a key.
func urls(value string) []span {
	var spans []span
	hide := func(from, to int) {
		if from < to && !harmless(value[from:to]) {
			spans = append(spans, span{from, to})
		}
	}
	for at := 0; ; {
		n := strings.Index(value[at:], "://")
		if n < 0 {
			return spans
		}
		at += n + len("://")
		end := at + until(value[at:], " \t\r\n\"'<>|`")
		host := at + until(value[at:end], "/?#\\")
		hide(at, max(at, at+strings.LastIndexByte(value[at:host], '@')))
		path := host + until(value[host:end], "?#")
		for from := host; from < path; {
			to := from + until(value[from:path], "/")
			if secret.IsKey(value[from:to]) {
				hide(from, to)
			}
			from = to + 1
		}
		if path < end && !openQuery(value[path+1:end]) {
			hide(path+1, end)
		}
		at = end
	}
}

// openQuery reports whether all values of a query are placeholders.
func openQuery(query string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		name, value, named := strings.Cut(pair, "=")
		if !named {
			value = name
		}
		if !harmless(value) {
			return false
		}
	}
	return true
}

// until is the index of the first of some characters, or the length.
func until(s, chars string) int {
	if at := strings.IndexAny(s, chars); at >= 0 {
		return at
	}
	return len(s)
}
