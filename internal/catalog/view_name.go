package catalog

import (
	"cmp"
	"slices"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// The bounds of what a profile may set for the length of names: so short that
// something of a name is left before its suffix, and so long as the servers of
// MCP may make them (2025-11-25, "Tool Names").
const (
	minName  = 16
	wideName = 128
)

// ruleFor is what names are like that a client takes.
func ruleFor(p hub.Profile) rule {
	if p.MaxName == 0 {
		return plainRule
	}
	return rule(min(max(p.MaxName, minName), wideName))
}

// viewNames says under which names a view has tools that have others elsewhere.
type viewNames struct {
	own map[string]*Entry // the one in the snapshot, by the name in the view
	as  map[*Entry]*Entry // as it is in the view, by the one in the snapshot

	used map[string]bool // all names in the view; nil if they are those of the snapshot
	base map[string]*Entry
}

// taken reports whether a tool of the view has the name.
func (n *viewNames) taken(name string) bool {
	if n.used != nil {
		return n.used[name]
	}
	_, ok := n.base[name]
	return ok
}

// inView is a tool of the snapshot as the view has it; nil for nil.
func (n *viewNames) inView(e *Entry) *Entry {
	if as, ok := n.as[e]; ok {
		return as
	}
	return e
}

// nameTools names the tools in a scope by a rule, and returns those that are not
// blocked, in the order of listing. A tool that keeps its name keeps it against
// all others: they get a suffix, as they do in the whole catalog.
//
// Tools that are blocked are named as well, so that what is meant for one never
// reaches another.
func nameTools(tools *space[*Entry], s *scope, r rule) ([]*Entry, viewNames) {
	if s == nil && r == plainRule {
		return tools.entries, viewNames{base: tools.exposed}
	}
	all := inScope(tools, s)
	n := viewNames{own: make(map[string]*Entry), as: make(map[*Entry]*Entry), used: make(map[string]bool, len(all))}
	wanted := make([]string, len(all))
	for i, e := range all {
		wanted[i] = wantedBy(e, s, r)
		if wanted[i] == e.Exposed {
			n.used[e.Exposed] = true
		}
	}
	for i, e := range all {
		if wanted[i] == e.Exposed {
			continue
		}
		exposed := wanted[i]
		for attempt := 0; n.used[exposed] || !r.fits(exposed); attempt++ {
			exposed = r.suffixed(wanted[i], namingOf(&e.Server, e.Tool.Name).identity(), attempt)
		}
		n.used[exposed] = true
		n.own[exposed] = e
		for _, mate := range tools.mates[e.Exposed] {
			n.as[mate] = mate.renamed(exposed)
		}
		if n.as[e] == nil {
			n.as[e] = e.renamed(exposed)
		}
		all[i] = n.as[e]
	}
	return slices.DeleteFunc(all, func(e *Entry) bool { return e.isBlocked() }), n
}

// renamed is a copy of the entry with another name.
func (e *Entry) renamed(exposed string) *Entry {
	other := *e
	other.Exposed = exposed
	other.Raw = describe(e.Tool, exposed, e.Server.Rules.Override[e.Tool.Name].Description)
	return &other
}

// inScope are the tools in a scope, one for each exposed name: in the order of
// listing, and then those that are blocked.
func inScope(tools *space[*Entry], s *scope) []*Entry {
	all := make([]*Entry, 0, len(tools.entries))
	var blocked []*Entry
	for _, e := range tools.entries {
		switch e := tools.pick(e.Exposed, s.tool); {
		case e == nil:
		case e.isBlocked():
			blocked = append(blocked, e)
		default:
			all = append(all, e)
		}
	}
	for name, e := range tools.exposed {
		if !e.isBlocked() {
			continue
		}
		if e := tools.pick(name, s.tool); e != nil {
			blocked = append(blocked, e)
		}
	}
	slices.SortFunc(blocked, func(a, b *Entry) int { return cmp.Compare(a.Exposed, b.Exposed) })
	return append(all, blocked...)
}

// wantedBy is the name that a tool is to have in a view, if it fits and is free.
func wantedBy(e *Entry, s *scope, r rule) string {
	if name := s.renamed(e); name != "" {
		return name
	}
	if r > plainRule {
		if wide := namingOf(&e.Server, e.Tool.Name).wanted(); r.fits(wide) {
			return wide
		}
	}
	if r.fits(e.Exposed) {
		return e.Exposed
	}
	return r.suffixed(e.Exposed, namingOf(&e.Server, e.Tool.Name).identity(), 0)
}
