package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Bounds of what is said about groups and clients. A name that is shortened
// needs room for what tells it from others; see package catalog.
const (
	maxGroupName   = 64
	maxPattern     = 256 // bytes
	minExposedName = 16
	maxExposedName = 128
	maxToolCap     = 100_000
)

// groupMember is a server that a group names, and where.
type groupMember struct {
	group, server string
	at            int
}

// readGroups reads "groups", an object of groups by their names.
func (r *reader) readGroups(m member) {
	groups, _ := r.object(m.value, message.Verbatim(quoted(m.name)))
	for _, g := range groups {
		r.readGroup(g)
	}
}

func (r *reader) readGroup(m member) {
	e := &entry{reader: r, member: m, where: message.Say("group %s: ", quoted(m.name))}
	g := hub.Group{Name: m.name}
	if !isGroupName(g.Name) {
		r.problem(m.at, `the group %s must be named by 1 to %d letters, digits, "_" and "-"`, quoted(m.name), maxGroupName)
	}
	e.members(m, message.Say("group %s", quoted(m.name)),
		part{"description", func(m member) { g.Description = e.plain(m.name, m.value) }},
		part{"servers", func(m member) {
			for _, el := range e.elements(m, "an array of servers' keys") {
				if key := e.listed(el, &g.Servers); key != "" {
					r.grouped = append(r.grouped, groupMember{g.Name, key, el.at})
				}
			}
		}},
		part{"tools", func(m member) { g.Tools = e.patterns(m) }},
		part{"exclude", func(m member) { g.Exclude = e.patterns(m) }},
		part{"rename", func(m member) { g.Rename = e.renames(m) }},
	)
	r.groups = append(r.groups, g)
}

// members reads the value of a member as an object of these members.
func (e *entry) members(m member, what message.Phrase, parts ...part) {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	members, _ := e.object(m.value, what)
	for _, inner := range members {
		switch i := slices.Index(names, inner.name); {
		case i < 0:
			e.unknown(e.where, inner, names)
		case !isNull(inner.value):
			parts[i].read(inner)
		}
	}
}

// listed reads an element of a list of names, and adds it unless it is there
// already. It is empty if it is none.
func (e *entry) listed(el member, to *[]string) string {
	name := e.plain(el.name, el.value)
	switch {
	case !isString(el.value): // reported already
	case name == "":
		e.problem(el.at, "%s%s is empty", e.where, quoted(el.name))
	case slices.Contains(*to, name):
		e.problem(el.at, "%s%s names %s, which is there already", e.where, quoted(el.name), quoted(name))
	default:
		*to = append(*to, name)
		return name
	}
	return ""
}

// patterns reads an array of tools' names, in which "*" stands for any text.
func (e *entry) patterns(m member) []string {
	var list []string
	for _, el := range e.elements(m, "an array of tools' names") {
		e.checkPattern(el, e.listed(el, &list))
	}
	return list
}

// checkPattern reports a pattern that fits nothing.
func (e *entry) checkPattern(m member, pattern string) {
	switch {
	case strings.ContainsFunc(pattern, unicode.IsControl):
		e.problem(m.value.StartOffset, "%s%s has a control character", e.where, quoted(m.name))
	case len(pattern) > maxPattern:
		e.problem(m.value.StartOffset, "%s%s is longer than %d bytes", e.where, quoted(m.name), maxPattern)
	}
}

// renames reads an object of new names by the tools' old ones.
func (e *entry) renames(m member) map[string]string {
	pairs, _ := e.object(m.value, message.Say("%s%s", e.where, quoted(m.name)))
	names := make(map[string]string, len(pairs))
	given := make(map[string]string) // the tools that have the new names
	for _, p := range pairs {
		path := m.name + "." + p.name
		if p.name == "" || strings.Contains(p.name, "*") {
			e.problem(p.at, `%s%s must name one tool, without "*"`, e.where, quoted(path))
			continue
		}
		if isNull(p.value) {
			continue
		}
		name := e.plain(path, p.value)
		other, again := given[name]
		switch {
		case !isString(p.value): // reported already
		case !isToolName(name):
			e.problem(p.value.StartOffset, "%s%s must be 1 to %d letters, digits, underscores and hyphens", e.where, quoted(path), maxToolName)
		case again:
			e.problem(p.value.StartOffset, "%sthe tools %s and %s have the same new name", e.where, quoted(other), quoted(p.name))
		default:
			names[p.name], given[name] = name, p.name
		}
	}
	if len(names) == 0 {
		return nil
	}
	return names
}

// isGroupName reports whether a group can have the name, which is a part of a
// path.
func isGroupName(name string) bool { return isToolName(name) && len(name) <= maxGroupName }

// readClients reads "clients", an array of what is known of kinds of clients.
func (r *reader) readClients(m member) {
	e := &entry{reader: r}
	first := make(map[string]string) // where each pattern is, in lower case
	for _, el := range e.elements(m, "an array of objects") {
		p := &entry{reader: r, member: el, where: message.Say("%s: ", quoted(el.name))}
		profile := hub.Profile{}
		named := false
		p.members(el, message.Verbatim(quoted(el.name)),
			part{"client", func(m member) {
				named, profile.Client = true, p.plain(m.name, m.value)
				p.checkPattern(m, profile.Client)
				if isString(m.value) && profile.Client == "" {
					p.problem(m.value.StartOffset, "%s%s is empty", p.where, quoted(m.name))
				}
			}},
			part{"maxNameLength", func(m member) { p.whole(&profile.MaxName, m, minExposedName, maxExposedName) }},
			part{"maxTools", func(m member) { p.whole(&profile.MaxTools, m, 1, maxToolCap) }},
			part{"listChanged", func(m member) {
				on := true
				p.set(&on, m)
				profile.Deaf = !on
			}},
			part{"embedLinks", func(m member) { p.set(&profile.EmbedLinks, m) }},
			part{"approvalHold", func(m member) {
				p.keep(&profile.Hold, m, keeping{minHold, maxHold, false, `a text such as "5m" or "90s"`})
			}},
			part{"language", func(m member) { p.language(&profile.Language, m) }},
		)
		client := strings.ToLower(profile.Client)
		switch where, again := first[client]; {
		case !named && el.value.Value.Kind() == '{':
			r.problem(el.at, `%sit needs "client", the name that the client gives itself`, p.where)
		case again && client != "":
			r.problem(el.at, "%s%s is in %s already", p.where, quoted(profile.Client), quoted(where))
		}
		first[client] = el.name
		r.profiles = append(r.profiles, profile)
	}
}

// missing warns about servers in groups that are not there. They may come
// later: a group then has them.
func (r *reader) missing(servers []hub.Server) {
	keys := make([]string, len(servers))
	for i, s := range servers {
		keys[i] = s.Key
	}
	for _, m := range r.grouped {
		switch {
		case slices.Contains(keys, m.server):
		case len(r.warnings) >= maxNotes:
			return // finding the nearest takes time
		default:
			near := message.Phrase{}
			if name := nearest(m.server, keys); name != "" {
				near = message.Say("; did you mean %s?", quoted(name))
			}
			r.warn(m.at, "group %s: there is no server %s; it is in the group once there is%s", quoted(m.group), quoted(m.server), near)
		}
	}
}

// SetGroup returns the text with the group set, by its name. Of a group that is
// there only the members that differ are changed, and those that we do not know
// stay. Everything else stays byte for byte, as with [SetServer]. The text is
// not checked; give it to [Parse]. The error is [Problems].
func SetGroup(text []byte, g hub.Group) ([]byte, error) {
	given, err := plant(renderGroup(&g))
	if err != nil {
		return nil, err
	}
	return edit(text, func(t *tree) error {
		root := layout{lines: true}
		if childrenOf(&t.root).object == nil {
			return t.fail(&t.root, "the file must be an object, but is %s", kindOf(t.root))
		}
		groups, l, err := t.child(&t.root, groupsMember, root)
		if err != nil {
			return err
		}
		group, l, err := t.child(groups, g.Name, l)
		if err != nil {
			return err
		}
		is := childrenOf(&given.root)
		for _, name := range groupMembers() {
			if v := is.member(name); v != nil {
				t.setMember(group, name, *v, l)
				continue
			}
			c := childrenOf(group)
			for i := c.find(name); i >= 0; i = c.find(name) {
				t.remove(c, i)
			}
		}
		return nil
	})
}

// RemoveGroup returns the text without the group, and without the comments that
// belong to it. It reports false, and returns the text as it was, if there is no
// such group. The error is [Problems].
func RemoveGroup(text []byte, name string) (rest []byte, found bool, err error) {
	rest, err = edit(text, func(t *tree) error {
		groups := childrenOf(&t.root).member(groupsMember)
		if groups == nil {
			return nil
		}
		c := childrenOf(groups)
		if i := c.find(name); i >= 0 {
			found = true
			t.remove(c, i)
		}
		return nil
	})
	return rest, found, err
}

const groupsMember = "groups"

// groupMembers are the members of a group, in the order in which they are
// written.
func groupMembers() []string { return []string{"description", "servers", "tools", "exclude", "rename"} }

// child is the object that is a member of another one, which is made if there
// is none, with the layout of what is in it.
func (t *tree) child(v *hujson.Value, name string, l layout) (*hujson.Value, layout, error) {
	c, in := childrenOf(v), t.inside(v, l)
	i := c.find(name)
	if i < 0 {
		t.push(c, name, object(), in)
		i = c.len() - 1
	}
	in.indent = lineIndent(*c.before(i), in.indent)
	inner := c.value(i)
	if childrenOf(inner).object == nil {
		return nil, in, t.fail(inner, "%s must be an object, but is %s", quoted(name), kindOf(*inner))
	}
	return inner, in, nil
}

// renderGroup returns a group as JSON, without its name.
func renderGroup(g *hub.Group) []byte {
	var r rendering
	r.text("description", g.Description)
	r.list("servers", g.Servers)
	r.list("tools", g.Tools)
	r.list("exclude", g.Exclude)
	r.pairs("rename", g.Rename)
	return object(r...).Pack()
}

// sameViews reports whether two configurations, either of which may be nil, have
// the same groups and profiles.
func sameViews(a, b *Config) bool {
	a, b = cmp.Or(a, &Config{}), cmp.Or(b, &Config{})
	return slices.Equal(a.Profiles, b.Profiles) && slices.EqualFunc(a.Groups, b.Groups, func(x, y hub.Group) bool {
		return x.Name == y.Name && x.Description == y.Description && slices.Equal(x.Servers, y.Servers) &&
			slices.Equal(x.Tools, y.Tools) && slices.Equal(x.Exclude, y.Exclude) && maps.Equal(x.Rename, y.Rename)
	})
}
