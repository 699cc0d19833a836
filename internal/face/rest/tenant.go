package rest

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// What a tenant does not see is as if it were not there: the answer is that to a
// name that nobody has. Whoever operates the hub as a whole sees the servers and the
// records of all tenants; what it calls are those of the hub itself.

// principal is who makes a request, by this door.
func principal(ctx context.Context) hub.Principal {
	p := auth.From(ctx)
	p.Door = hub.DoorREST
	return p
}

// viewer is through which view whoever asks looks, at the address of a group.
func viewer(ctx context.Context, group string) hub.Viewer {
	p := principal(ctx)
	return hub.Viewer{Group: group, Tenant: p.Tenant, Scope: p.Scope}
}

// oversees reports whether a principal sees what all tenants have.
func oversees(p *hub.Principal) bool { return p.Hubwide() && p.Role.May(hub.MayOperate) }

// tenantFor is which tenant a request is about that may name one: the principal's own,
// or for who sees what all have the one that is named, if there is one.
func (d *Door) tenantFor(p *hub.Principal, named string) (string, error) {
	switch {
	case named == "" || named == p.Tenant:
		return p.Tenant, nil
	case !p.Hubwide():
		return "", hub.E(message.HubwideRequired, nil)
	case !oversees(p): // what a tenant has is not for it
		return "", hub.E(message.RoleRefused, nil, "role", string(p.Role))
	}
	if !d.opt.Identity.Book().HasTenant(named) {
		return "", hub.E(message.TenantUnknown, nil, "tenant", message.Quote(named))
	}
	return named, nil
}

// records is whose records whoever asks may see, by tenant; nil for all.
func records(ctx context.Context) *string {
	p := principal(ctx)
	if oversees(&p) {
		return nil
	}
	return &p.Tenant
}

// inScope are the servers within the scope of what whoever asks shows; nil for all.
func inScope(ctx context.Context) []string {
	p := principal(ctx)
	return hub.Scope(p.Scope).Servers()
}

// sight is which servers whoever asks sees.
type sight struct {
	who  hub.Principal
	all  bool
	view *catalog.View // in which nothing is of other tenants
}

func (d *Door) sight(ctx context.Context) (*sight, error) {
	view, err := d.opt.Catalog.View(viewer(ctx, ""))
	if err != nil {
		return nil, failed(err)
	}
	s := &sight{who: principal(ctx), view: view}
	s.all = oversees(&s.who)
	return s, nil
}

// sees reports whether a server is seen, by its key.
func (s *sight) sees(key string) bool {
	if s.all {
		return hub.Scope(s.who.Scope).Server(key)
	}
	return s.view.Sees(key)
}

// owns reports whether what a server says and does is all the principal's to see,
// since nobody else's calls are among it.
func (s *sight) owns(def *hub.Server) bool {
	return s.who.Hubwide() || catalog.BelongsAlone(def, s.who.Tenant)
}

// servers are those that are seen, in the order of the configuration.
func (d *Door) seen(s *sight) []control.Server {
	all := slices.DeleteFunc(d.opt.Control.Servers(), func(one control.Server) bool { return !s.sees(one.Definition.Key) })
	for i := range all {
		s.narrow(&all[i])
	}
	return all
}

// narrow leaves of a server what whoever asks may know: nothing that hangs on the
// servers and the callers of others.
func (s *sight) narrow(one *control.Server) {
	st := &one.Status
	if !s.all {
		st.Leases = slices.DeleteFunc(slices.Clone(st.Leases), func(l hub.Lease) bool {
			of, _ := control.HolderOf(l.Holder)
			return of.Tenant != s.who.Tenant
		})
		if s.view.Narrow() {
			key, now := one.Definition.Key, s.view.Snapshot()
			one.Offered, one.Hidden, one.Clashing = now.Offered(key), now.Hidden(key), now.Clashes(key)
		}
	}
	if s.who.Hubwide() {
		return
	}
	def := &one.Definition
	if !s.owns(def) {
		def.Command, def.Args, def.Dir, def.URL, def.Env, def.Headers = "", nil, "", "", nil, nil
		st.PID, st.PIDs, st.Stderr, st.Callers, st.Calls, st.Subscriptions = 0, nil, "", 0, 0, 0
		st.Starts, st.Losses, st.Misses, st.Junk, st.Info = 0, 0, 0, 0, ""
		if st.Reason != nil {
			st.Reason = catalog.SharedDown(def.Key)
		}
	}
	def.Tenants = nil // who the others are is not for them
}

// blind takes out of an event what whoever asks may not know of a server, as
// [sight.narrow] does.
func (d *Door) blind(who *hub.Principal, data []byte) []byte {
	var e api.Event
	if json.Unmarshal(data, &e) != nil || e.Server == nil {
		return data
	}
	servers := d.opt.Control.Source().Config.Servers
	at := slices.IndexFunc(servers, func(s hub.Server) bool { return s.Key == e.Server.Key })
	if at >= 0 && catalog.BelongsAlone(&servers[at], who.Tenant) {
		return data
	}
	e.Server.Calls = 0
	if e.Server.Code != "" {
		down := catalog.SharedDown(e.Server.Key)
		e.Server.Code, e.Server.Reason = string(down.Code), down.Text(message.English).String()
	}
	told, err := json.Marshal(e)
	if err != nil {
		panic(err) // a shape of ours
	}
	return told
}

// reach finds a server that whoever asks sees.
func (d *Door) reach(ctx context.Context, key string) (*sight, control.Server, error) {
	s, err := d.sight(ctx)
	if err != nil {
		return nil, control.Server{}, err
	}
	if !s.sees(key) {
		return nil, control.Server{}, failed(serverUnknown(key))
	}
	one, err := d.opt.Control.Server(key)
	if err != nil {
		return nil, control.Server{}, failed(err)
	}
	return s, one, nil
}

// own is reach for a server that is the tenant's alone, or for whoever is of the
// hub itself: what all share is theirs to look after.
func (d *Door) own(ctx context.Context, key string) error {
	s, one, err := d.reach(ctx, key)
	if err != nil {
		return err
	}
	if !s.owns(&one.Definition) {
		return failed(hub.E(message.HubwideRequired, nil))
	}
	return nil
}

func serverUnknown(key string) error {
	return hub.E(message.ServerUnknown, nil, "server", message.Quote(key))
}
