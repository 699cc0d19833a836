package secret

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/message"
)

// EnvFile reads a file of environment variables, as VS Code and Cursor know
// them: a line NAME=value each, where "export " may stand before the name, a
// value may stand in single quotes (taken as it is) or in double quotes (with
// \n, \r, \t, \" and \\), and # begins a comment. Variables are not put into
// others. The path is taken as [Resolver.Path] does. The error is an
// [*UnresolvedError] that holds no value.
func (r *Resolver) EnvFile(name string) (map[string]string, error) {
	unresolved := func(format string, args ...any) error {
		return &UnresolvedError{Placeholder: "${envFile:" + name + "}", Reason: message.Say(format, args...)}
	}
	path, err := r.Path(name)
	if err != nil {
		return nil, unresolved("%s", message.Cause(err))
	}
	text, err := readFile(path)
	if err != nil {
		return nil, unresolved("the file %s cannot be read: %s", message.Quote(path), message.Cause(err))
	}
	vars, line, fault := parseEnv(text)
	if fault != "" {
		return nil, unresolved("line %d of the file %s %s", line, message.Quote(path), message.Term(fault))
	}
	return vars, nil
}

// parseEnv reads the text of such a file. A fault, which is none if it is
// empty, is in the line, counted from 1.
func parseEnv(text string) (vars map[string]string, line int, fault string) {
	vars = make(map[string]string)
	text = strings.TrimPrefix(text, "\ufeff")
	for entry := range strings.Lines(text) {
		line++
		entry = strings.TrimSpace(entry)
		if entry == "" || entry[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(entry, "=")
		name = strings.TrimSpace(name)
		if rest, ok := strings.CutPrefix(name, "export "); ok {
			name = strings.TrimSpace(rest)
		}
		switch {
		case !found:
			return nil, line, `has no "="`
		case name == "" || strings.ContainsAny(name, " \t\x00"):
			return nil, line, "has no name of a variable"
		}
		value, fault = envValue(strings.TrimSpace(value))
		if fault != "" {
			return nil, line, fault
		}
		vars[name] = value
	}
	return vars, 0, ""
}

func envValue(text string) (value, fault string) {
	switch {
	case strings.Contains(text, "\x00"):
		return "", "has a NUL character"
	case text == "":
		return "", ""
	case text[0] != '"' && text[0] != '\'':
		if at := strings.Index(text, " #"); at >= 0 {
			text = strings.TrimSpace(text[:at])
		}
		return text, ""
	}
	var b strings.Builder
	for at := 1; at < len(text); at++ {
		switch c := text[at]; {
		case c == text[0]:
			if rest := strings.TrimSpace(text[at+1:]); rest != "" && rest[0] != '#' {
				return "", "has something after the closing quote"
			}
			return b.String(), ""
		case c == '\\' && text[0] == '"' && at+1 < len(text):
			at++
			b.WriteString(unescape(text[at]))
		default:
			b.WriteByte(c)
		}
	}
	return "", "has no closing quote"
}

// unescape is what a backslash and the byte after it stand for.
func unescape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case '"', '\\', '$':
		return string(c)
	}
	return `\` + string(c)
}
