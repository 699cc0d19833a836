package policy

import (
	"slices"
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/risk"
)

// rule is one rule, ready to be held against calls. What is nil is met by each.
type rule struct {
	id, because string

	tenants, callers, groups, clients, methods, servers, tools, tags []pattern

	roles []hub.Role
	doors []hub.Door
	risks []hub.Risk

	conditional bool        // it has an expression
	expression  *expression // nil if that does not compile, too

	uris []pattern // what tools mean of URIs; for deny and ask in lower case

	named  bool // it names a server or a tool, and does not depend on arguments
	strict bool // see ownName
	allows bool
}

func newRule(r *hub.Rule) rule {
	clients := make([]string, len(r.Clients))
	for i, c := range r.Clients {
		clients[i] = strings.ToLower(c)
	}
	callers := slices.Clone(r.Callers)
	for i, c := range callers {
		if low := strings.ToLower(c); strings.HasPrefix(low, "device:") || strings.HasPrefix(low, "relay:") {
			callers[i] = low // ids of devices have no upper and lower case
		}
	}
	methods := r.Methods
	if len(methods) == 0 {
		methods = []string{methodCall}
	}
	made := rule{
		id: r.ID, because: r.Because,
		tenants: newPatterns(r.Tenants), callers: newPatterns(callers), groups: newPatterns(r.Groups),
		clients: newPatterns(clients), methods: newPatterns(methods), servers: newPatterns(r.Servers),
		tools: newPatterns(r.Tools), tags: newPatterns(r.Tags),
		roles: slices.Clone(r.Roles), doors: slices.Clone(r.Doors), risks: slices.Clone(r.Risks),
		conditional: r.When != "",
	}
	made.allows = r.Effect == hub.VerdictAllow
	if meet(made.methods, methodRead) && len(made.tools) > 0 {
		made.uris = written(r.Tools, !made.allows)
	}
	made.named = !made.conditional && len(r.Risks) == 0 && len(r.Tags) == 0 && len(made.servers)+len(made.tools) > 0
	made.strict = made.allows && len(made.servers) == 0
	return made
}

// fits reports whether a call meets all of the rule but its expression.
func (r *rule) fits(f *facts) bool {
	return r.meant(f) && r.fitsRole(f) && r.fitsRisk(f) && (len(r.tags) == 0 || f.tagged(r.tags))
}

// meant reports whether a call meets what the record of calls has, too.
func (r *rule) meant(f *facts) bool {
	p := &f.q.Principal
	return meet(r.methods, f.q.Method) && r.fitsTool(f) && meet(r.servers, f.server) &&
		(len(r.doors) == 0 || slices.Contains(r.doors, p.Door)) &&
		meet(r.callers, p.Subject) && meet(r.tenants, p.Tenant) && meet(r.groups, f.q.Group) && meet(r.clients, f.client)
}

func (r *rule) fitsRole(f *facts) bool {
	return len(r.roles) == 0 || slices.Contains(r.roles, f.q.Principal.Role)
}

func (r *rule) fitsRisk(f *facts) bool {
	return len(r.risks) == 0 || slices.Contains(r.risks, f.found.Risk)
}

// fitsTool reports whether the call's tool is one that the rule names: by the name
// that the caller uses, as server__tool, or by the server's own name. A group may
// give a tool another name, but does not take it out of the rules' sight.
func (r *rule) fitsTool(f *facts) bool {
	if len(r.tools) == 0 {
		return true
	}
	if f.uri != nil {
		return r.fitsURI(f.uri)
	}
	if meet(r.tools, f.q.Name) {
		return true
	}
	if f.own == "" {
		return false
	}
	return meet(r.tools, f.qualified) || slices.ContainsFunc(r.tools, func(p pattern) bool { return r.ownName(&p) && p.meets(f.own) })
}

// ownName reports whether a pattern may mean a server's own name for a tool. A
// server may call its tool git__status; a rule that allows git__status, and names
// no server, does not mean that one.
func (r *rule) ownName(p *pattern) bool { return !r.strict || !strings.Contains(p.text, separator) }

// fitsURI reports whether a resource is one that the rule names. What may be read as
// one of those that a rule denies is one, in whatever way it is written; one that is
// allowed has to be so in each way in which it may be read.
func (r *rule) fitsURI(u *risk.URI) bool {
	if r.allows {
		return u.Sure && !slices.ContainsFunc(u.Forms, func(form string) bool { return !meet(r.uris, form) })
	}
	meant := func(form string) bool { return meet(r.uris, foldCase(form)) }
	return slices.ContainsFunc(u.Forms, meant) || slices.ContainsFunc(u.Others, meant)
}

// written are the ways to write patterns of URIs. One that climbs is left as it is:
// out of what a star stands for, nobody can tell. To what denies or asks a bare path
// is a file as well.
func written(patterns []string, folded bool) []pattern {
	var all []pattern
	for _, text := range patterns {
		forms := []string{text}
		if u := risk.ReadURI(text); u.Sure && !strings.Contains(text, "..") {
			forms = append(forms, u.Forms...)
			if folded && strings.HasPrefix(text, "/") {
				forms = append(forms, risk.ReadURI("file://"+text).Forms...)
			}
		}
		for _, form := range forms {
			if folded {
				form = foldCase(form)
			}
			made := newPattern(form)
			if made.any() || slices.ContainsFunc(all, func(p pattern) bool { return p.text == form }) {
				continue
			}
			all = append(all, made)
		}
	}
	return all
}
