package catalog

import (
	"slices"
	"sync/atomic"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// everybody stands in the place of a tenant for all of them.
const everybody = "*"

// Belongs reports whether a server is one that callers of a tenant see, "" being
// the hub's own: it is theirs, or everybody's.
func Belongs(s *hub.Server, tenant string) bool {
	if len(s.Tenants) == 0 {
		return tenant == ""
	}
	return slices.Contains(s.Tenants, everybody) || tenant != "" && slices.Contains(s.Tenants, tenant)
}

// BelongsAlone reports whether a server is a tenant's and nobody else's.
func BelongsAlone(s *hub.Server, tenant string) bool {
	if len(s.Tenants) == 0 {
		return tenant == ""
	}
	return tenant != "" && !slices.ContainsFunc(s.Tenants, func(t string) bool { return t != tenant })
}

// SharedDown is what a tenant is told of a server that is not its own alone and does
// not run: why says how it is set up.
func SharedDown(server string) *hub.Error {
	return hub.E(message.ServerDown, nil, "server", server).With("reason", message.Say("whoever looks after it is told why"))
}

// audience is all callers who see the same servers: those of the hub itself, those
// of one tenant, or those of all tenants that have no server of their own. Each has
// a catalog that is made of its servers alone, so that no name and no URI in it
// hangs on what others have.
type audience struct {
	tenant string
	seen   atomic.Pointer[sight] // nil before somebody has looked
}

// sight is what an audience saw last.
type sight struct {
	of    *view // the whole, of which this is the part
	view  *view // the same if it is all of it
	parts []*part
}

// audiences are those that have tenants' servers of their own, by tenant.
type audiences map[string]*audience

// others is the key among them of all tenants that have none.
const others = everybody

// keep returns the audiences that there are of the servers. Those that there were
// go on.
func (a audiences) keep(parts []*part) audiences {
	next := make(audiences)
	stay := func(tenant string) {
		if next[tenant] == nil {
			if next[tenant] = a[tenant]; next[tenant] == nil {
				next[tenant] = &audience{tenant: tenant}
			}
		}
	}
	stay(others)
	for _, p := range parts {
		for _, tenant := range p.server.Tenants {
			stay(tenant)
		}
	}
	return next
}

// audience is the one to which the callers of a tenant belong.
func (c *Catalog) audience(tenant string) *audience {
	if tenant == "" {
		return &c.own
	}
	all := *c.tenants.Load()
	if a := all[tenant]; a != nil && tenant != others {
		return a
	}
	return all[others]
}

// now is what the audience sees. That of a tenant is made by the first who looks
// after a change, that of the hub itself with the change.
func (a *audience) now(c *Catalog) *view {
	if s := a.seen.Load(); s != nil && (a == &c.own || s.of == c.view.Load()) {
		return s.view
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return a.look(c.view.Load(), c.parts)
}

// look is now for a view of all the parts. The caller holds the catalog's lock.
func (a *audience) look(whole *view, parts []*part) *view {
	last := a.seen.Load()
	if last != nil && last.of == whole {
		return last.view
	}
	next := &sight{of: whole, view: whole}
	next.parts = slices.DeleteFunc(slices.Clone(parts), func(p *part) bool { return !Belongs(&p.server, a.tenant) })
	if len(next.parts) < len(parts) {
		switch {
		case last == nil || !last.view.now.partial:
			next.view = viewOf(assemble(next.parts), emptyView())
			next.view.now.partial = true
		case slices.Equal(last.parts, next.parts):
			next.view = last.view
		default:
			next.view = viewOf(assemble(next.parts), last.view)
			next.view.now.partial = true
		}
	}
	a.seen.Store(next)
	return next.view
}

// emptyView is one in which nothing is.
func emptyView() *view {
	v := &view{
		now: assemble(nil), tools: newBook(hub.ListTools), resources: newBook(hub.ListResources),
		templates: newBook(hub.ListTemplates), prompts: newBook(hub.ListPrompts),
	}
	v.now.id = v.tools.now.id
	return v
}

// viewOf is the view of a snapshot, whose lists follow those of an older one.
func viewOf(now *Snapshot, old *view) *view {
	raw := func(e *ResourceEntry) []byte { return e.Raw }
	next := &view{
		now:       now,
		tools:     turned(old.tools, now.Entries(), func(e *Entry) []byte { return e.Raw }),
		resources: turned(old.resources, now.Resources(), raw),
		templates: turned(old.templates, now.Templates(), raw),
		prompts:   turned(old.prompts, now.Prompts(), func(e *PromptEntry) []byte { return e.Raw }),
	}
	now.id = next.tools.now.id
	return next
}

// has reports whether a server is among those of which the snapshot is made, also
// if it is not listed. One of all servers has each, also one that is on its way.
func (s *Snapshot) has(server string) bool { return !s.partial || s.keys[server] }
