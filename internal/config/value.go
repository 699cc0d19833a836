package config

import (
	"fmt"
	"net/textproto"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
)

func isString(v hujson.Value) bool { return v.Value.Kind() == '"' }

func isNull(v hujson.Value) bool { return v.Value.Kind() == 'n' }

// truth reads true or false; nil if it is neither.
func (d *document) truth(m member, where message.Phrase) *bool {
	lit, ok := m.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != 't' && lit.Kind() != 'f' {
		d.problem(m.value.StartOffset, "%s%s must be true or false, but is %s", where, quoted(m.name), kindOf(m.value))
		return nil
	}
	v := lit.Bool()
	return &v
}

func (e *entry) flag(m member) *bool { return e.truth(m, e.where) }

// wrong reports a value of the wrong type. path names it within the server.
func (e *entry) wrong(path string, v hujson.Value, want string) {
	e.problem(v.StartOffset, "%s%s must be %s, but is %s", e.where, quoted(path), message.Term(want), kindOf(v))
}

// plain reads a string; it is empty if it is none, or not one that a system
// call could take.
func (e *entry) plain(path string, v hujson.Value) string {
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
	return s
}

// text reads a string that may have placeholders. Whether they can be filled
// in is seen when the server is connected; here only those are told that never
// can.
func (e *entry) text(path string, v hujson.Value) string {
	s := e.plain(path, v)
	for _, p := range secret.Placeholders(s) {
		if fault := p.Fault(); fault != "" {
			e.warn(v.StartOffset, "%s%s has %s, which cannot be filled in: %s", e.where, quoted(path), message.Quote(p.String()), message.Term(fault))
		}
	}
	return s
}

// texts reads an array of strings.
func (e *entry) texts(m member) []string {
	arr, ok := m.value.Value.(*hujson.Array)
	if !ok {
		e.wrong(m.name, m.value, "an array of strings")
		return nil
	}
	var list []string
	for i, v := range arr.Elements {
		list = append(list, e.text(fmt.Sprintf("%s[%d]", m.name, i), v))
	}
	return list
}

// pairs reads an object of texts. As in VS Code, a number or a truth value is
// the text that it is written with, and null is no member. fault says what is
// wrong with a name, and with its value; it is empty if nothing is.
func (e *entry) pairs(m member, fault func(name, value string) message.Phrase) map[string]string {
	members, ok := e.object(m.value, message.Say("%s%s", e.where, quoted(m.name)))
	if !ok || len(members) == 0 {
		return nil
	}
	pairs := make(map[string]string, len(members))
	for _, p := range members {
		var value string
		switch lit, _ := p.value.Value.(hujson.Literal); p.value.Value.Kind() {
		case 'n':
			continue
		case '0', 't', 'f':
			value = string(lit)
		default:
			value = e.text(m.name+"."+p.name, p.value)
		}
		if f := fault(p.name, value); !f.Empty() {
			e.problem(p.at, "%s%s %s", e.where, quoted(m.name), f)
			continue
		}
		pairs[p.name] = value
	}
	return pairs
}

func (e *entry) env(m member) map[string]string {
	return e.pairs(m, func(name, _ string) message.Phrase {
		switch {
		case name == "":
			return message.Say("has a variable without a name")
		case strings.ContainsAny(name, "=\x00"):
			return message.Say(`has a variable whose name holds "=" or NUL`)
		}
		return message.Phrase{}
	})
}

func (e *entry) headers(m member) map[string]string {
	seen := make(map[string]bool)
	return e.pairs(m, func(name, value string) message.Phrase {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !isToken(name):
			return message.Say("has a name that no HTTP header can have")
		case seen[canonical]:
			return message.Say("has %s twice; upper and lower case are the same", quoted(canonical))
		case hasControl(value):
			return message.Say("has a control character in the value of %s", quoted(name))
		}
		seen[canonical] = true
		return message.Phrase{}
	})
}

// hasControl reports whether s has a character that no value of an HTTP header
// can have.
func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
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
