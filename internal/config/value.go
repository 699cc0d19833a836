package config

import (
	"fmt"
	"net/textproto"
	"strings"

	"github.com/tailscale/hujson"
)

// wrong reports a value of the wrong type. path names it within the server.
func (e *entry) wrong(path string, v hujson.Value, want string) {
	e.problem(v.StartOffset, "%s%s must be %s, but is %s", e.where, quoted(path), want, kindOf(v))
}

func (e *entry) isString(m member) bool { return m.value.Value.Kind() == '"' }

// truth reads true or false; nil if it is neither.
func (e *entry) truth(m member) *bool {
	lit, ok := m.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != 't' && lit.Kind() != 'f' {
		e.wrong(m.name, m.value, "true or false")
		return nil
	}
	v := lit.Bool()
	return &v
}

// text reads a string; it is empty if it is none, or not one that a system
// call could take.
func (e *entry) text(path string, v hujson.Value) string {
	lit, ok := v.Value.(hujson.Literal)
	if !ok || lit.Kind() != '"' {
		e.wrong(path, v, "a string")
		return ""
	}
	s := lit.String()
	if strings.Contains(s, "\x00") {
		e.problem(v.StartOffset, "%s%s has a NUL character", e.where, quoted(path))
		return ""
	}
	if name := placeholder(s); name != "" {
		e.warn(v.StartOffset, "%s%s has a placeholder ${%s…}, which this version passes on as it is", e.where, quoted(path), name)
	}
	return s
}

// placeholder is the beginning of the first placeholder in s that other
// clients fill in, or empty. What a shell would fill in is left alone.
func placeholder(s string) string {
	for rest := s; ; {
		_, after, found := strings.Cut(rest, "${")
		if !found {
			return ""
		}
		for _, name := range []string{"env:", "input:", "file:", "command:", "config:", "workspaceFolder", "userHome"} {
			if strings.HasPrefix(after, name) {
				return name
			}
		}
		rest = after
	}
}

// texts reads an array of strings.
func (e *entry) texts(m member) []string {
	arr, ok := m.value.Value.(*hujson.Array)
	if !ok {
		e.wrong(m.name, m.value, "an array of strings")
		return nil
	}
	list := make([]string, len(arr.Elements))
	for i, v := range arr.Elements {
		list[i] = e.text(fmt.Sprintf("%s[%d]", m.name, i), v)
	}
	return list
}

// pairs reads an object of strings. fault says what is wrong with a name, and
// with its value; it is empty if nothing is.
func (e *entry) pairs(m member, fault func(name, value string) string) map[string]string {
	members, ok := e.object(m.value, e.where+quoted(m.name))
	if !ok {
		return nil
	}
	pairs := make(map[string]string, len(members))
	for _, p := range members {
		value := e.text(m.name+"."+p.name, p.value)
		if f := fault(p.name, value); f != "" {
			e.problem(p.at, "%s%s %s", e.where, quoted(m.name), f)
			continue
		}
		pairs[p.name] = value
	}
	return pairs
}

func (e *entry) env(m member) map[string]string {
	return e.pairs(m, func(name, _ string) string {
		switch {
		case name == "":
			return "has a variable without a name"
		case strings.ContainsAny(name, "=\x00"):
			return `has a variable whose name holds "=" or NUL`
		}
		return ""
	})
}

func (e *entry) headers(m member) map[string]string {
	seen := make(map[string]bool)
	return e.pairs(m, func(name, value string) string {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !isToken(name):
			return "has a name that no HTTP header can have"
		case seen[canonical]:
			return "has " + quoted(canonical) + " twice; upper and lower case are the same"
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return "has a control character in the value of " + quoted(name)
		}
		seen[canonical] = true
		return ""
	})
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}
