package config

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
)

// strictly reads an object of which nothing may be overlooked: what is not known
// is no warning but a problem, and null is a value of the wrong type. A rule would
// otherwise hold for more calls than its writer thinks.
func (e *entry) strictly(m member, before string, parts ...part) {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	members, _ := e.object(m.value, message.Verbatim(quoted(m.name)))
	for _, inner := range members {
		i := slices.Index(names, inner.name)
		if i >= 0 {
			inner.name = before + inner.name
			parts[i].read(inner)
			continue
		}
		if near := nearest(inner.name, names); near != "" {
			e.problem(inner.at, "%s%s is not known, and a rule without it would be another one; did you mean %s?", e.where, quoted(before+inner.name), quoted(near))
		} else {
			e.problem(inner.at, "%s%s is not known, and a rule without it would be another one", e.where, quoted(before+inner.name))
		}
	}
}

// choice reads one of a few words.
func (e *entry) choice(m member, words ...string) (string, bool) {
	text := e.plain(m.name, m.value)
	if !isString(m.value) {
		return "", false
	}
	if !slices.Contains(words, text) {
		e.problem(m.value.StartOffset, "%s%s must be %s, not %s", e.where, quoted(m.name), list(words), quoted(text))
		return "", false
	}
	return text, true
}

// list shows words as they are written.
func list(words []string) string {
	shown := make([]string, len(words))
	for i, w := range words {
		shown[i] = quoted(w)
	}
	return strings.Join(shown, ", ")
}

func riskNames() []string {
	names := make([]string, len(hub.Risks))
	for i, r := range hub.Risks {
		names[i] = r.String()
	}
	return names
}

func roleNames() []string {
	names := make([]string, len(hub.Roles))
	for i, r := range hub.Roles {
		names[i] = string(r)
	}
	return names
}

func doorNames() string {
	var names []string
	for _, d := range policy.Doors() {
		names = append(names, string(d))
	}
	return list(names)
}

// checkName reports a name that people could not tell or read.
func (e *entry) checkName(m member, name string, most int) {
	switch {
	case !isString(m.value): // reported already
	case blank(name):
		e.problem(m.value.StartOffset, "%s%s is empty", e.where, quoted(m.name))
	case utf8.RuneCountInString(name) > most:
		e.problem(m.value.StartOffset, "%s%s is longer than %d characters", e.where, quoted(m.name), most)
	case strings.ContainsFunc(name, unicode.IsControl):
		e.problem(m.value.StartOffset, "%s%s has a control character", e.where, quoted(m.name))
	}
}

// oneOrMore are the elements of an array, or what stands in the place of one.
func (e *entry) oneOrMore(m member) []member {
	if isString(m.value) {
		return []member{{name: m.name, at: m.value.StartOffset, value: m.value}}
	}
	all := e.elements(m, "a string, or an array of strings")
	if _, array := m.value.Value.(*hujson.Array); array && len(all) == 0 {
		// It would be met by nothing, or by everything: who knows.
		e.problem(m.value.StartOffset, "%s%s is empty", e.where, quoted(m.name))
	}
	return all
}

// matchers reads texts in which "*" stands for any text.
func (e *entry) matchers(m member, empty bool) []string {
	var texts []string
	for _, el := range e.oneOrMore(m) {
		if empty && isString(el.value) && isEmpty(el.value) {
			texts = append(texts, "")
			continue
		}
		e.checkPattern(el, e.listed(el, &texts))
	}
	return texts
}

// choices reads words of which there are few.
func choices[T ~string](e *entry, m member, words []string) []T {
	var all []T
	for _, el := range e.oneOrMore(m) {
		if word, ok := e.choice(el, words...); ok && !slices.Contains(all, T(word)) {
			all = append(all, T(word))
		}
	}
	return all
}

// doors reads doors.
func (e *entry) doors(m member) []hub.Door {
	var all []hub.Door
	for _, el := range e.oneOrMore(m) {
		switch name := hub.Door(e.plain(el.name, el.value)); {
		case !isString(el.value): // reported already
		case !slices.Contains(policy.Doors(), name):
			e.problem(el.value.StartOffset, "%s%s names %s, which is no door; there are %s", e.where, quoted(el.name), quoted(string(name)), doorNames())
		case !slices.Contains(all, name):
			all = append(all, name)
		}
	}
	return all
}

// mentions are the names in a member that stand for one thing.
func (e *entry) mentions(m member) []mention {
	values := []hujson.Value{m.value}
	if arr, ok := m.value.Value.(*hujson.Array); ok {
		values = arr.Elements
	}
	var all []mention
	for _, v := range values {
		if lit, ok := v.Value.(hujson.Literal); ok && lit.Kind() == '"' && lit.String() != "" && !strings.Contains(lit.String(), "*") {
			all = append(all, mention{e.where, lit.String(), v.StartOffset})
		}
	}
	return all
}

// readApproval reads "approval".
func (e *entry) readApproval(to *hub.Approval, m member) {
	e.parts(m,
		part{"expires", func(m member) {
			e.keep(&to.Expires, m, keeping{minExpires, maxExpires, false, `a text such as "5m" or "90s"`})
		}},
		part{"hold", func(m member) {
			e.keep(&to.Hold, m, keeping{minHold, maxHold, false, `a text such as "5m" or "90s"`})
		}},
		part{"elicit", func(m member) { e.set(&to.Elicit, m) }},
		part{"pending", func(m member) { e.whole(&to.Pending, m, 1, maxPending) }},
	)
}

func (e *entry) readTrusted(m member) { e.set(&e.server.Trusted, m) }

func (e *entry) readTags(m member) {
	e.server.Tags = nil
	for _, el := range e.oneOrMore(m) {
		if tag := e.listed(el, &e.server.Tags); tag != "" {
			e.checkName(el, tag, maxTag)
		}
	}
}

// readTenants reads whose the server is: tenants by their names, or "*" for
// everybody.
func (e *entry) readTenants(m member) {
	e.server.Tenants = nil
	for _, el := range e.oneOrMore(m) {
		name := e.listed(el, &e.server.Tenants)
		if name != "" && name != "*" && !hub.ValidTenant(name) {
			e.problem(el.value.StartOffset, "%s%s must be %s", e.where, quoted(el.name),
				message.Say(`the name of a tenant, of 1 to 63 lower-case letters, digits and hyphens, or "*" for everybody`))
		}
	}
}
