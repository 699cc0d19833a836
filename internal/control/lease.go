package control

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Bounds of leases.
const (
	// DefaultTTL is how long a lease holds for which nothing else is asked.
	DefaultTTL = 5 * time.Minute

	minTTL         = time.Second
	maxTTL         = 24 * time.Hour
	maxHolderTools = 1000
	maxHolderName  = 128 // characters
	maxLeasedName  = 512 // characters

	// Of one caller, and of all callers of a tenant: none takes the place of others. All
	// who are on this machine without a token are many callers, who cannot be told apart.
	// Each name is looked up whenever the configuration changes.
	maxHolders       = 200
	maxLeased        = 4000
	maxTenantHolders = 1000
	maxTenantLeased  = 20_000
)

// Grant is what a holder has got. The names are in the order of the request,
// each once.
type Grant struct {
	Holder  string   // as it calls itself
	Tools   []string // names that are held
	Unknown []string // names that stand for nothing, or for a server that is disabled or stopped
	Started []string // keys of the servers that were idle and are being started
	Expires time.Time
}

// Owner is whose leases are told apart by the names of their holders: a caller, by
// whatever he is let in.
type Owner struct{ Tenant, Subject string }

// Held is a lease on a server, of a holder of the owner's.
type Held struct {
	Server string
	Owner
	hub.Lease
}

// nameOf is what the fleet knows a holder by: those of two callers may have the
// same name. [HolderOf] is the way back.
func nameOf(by *hub.Principal, holder string) string {
	return by.Tenant + "\x00" + by.Subject + "\x00" + holder
}

// HolderOf returns whose a holder is and its name, by what the fleet knows it by.
func HolderOf(name string) (of Owner, holder string) {
	tenant, rest, _ := strings.Cut(name, "\x00")
	at := strings.LastIndexByte(rest, 0) // neither a tenant nor a holder has one in its name
	return Owner{tenant, rest[:max(at, 0)]}, rest[at+1:]
}

// leases are those that were asked for here. The lock is held while the fleet is
// told, so that it hears of them in the order in which they were made.
type leases struct {
	mu   sync.Mutex
	held map[string]*tenancy // by nameOf
	of   map[Owner]share     // by caller
	all  map[string]share    // by tenant
	due  chan struct{}       // says, at most once, that another lease may expire first; of capacity 1
}

// share is what some holders have together.
type share struct{ holders, names int }

// count adds to what the holders of a caller have, and of his tenant.
func (l *leases) count(of Owner, more share) {
	if l.of == nil {
		l.of, l.all = make(map[Owner]share), make(map[string]share)
	}
	next := l.of[of].plus(more)
	if l.of[of] = next; next == (share{}) {
		delete(l.of, of)
	}
	next = l.all[of.Tenant].plus(more)
	if l.all[of.Tenant] = next; next == (share{}) {
		delete(l.all, of.Tenant)
	}
}

func (s share) plus(more share) share { return share{s.holders + more.holders, s.names + more.names} }

// full says what there would be too much of; it is empty if there is room.
func (l *leases) full(by *hub.Principal, more share) message.Phrase {
	own, all := l.of[Owner{by.Tenant, by.Subject}].plus(more), l.all[by.Tenant].plus(more)
	if local := hub.Local(by.Door); by.Tenant == local.Tenant && by.Token == local.Token && by.Subject == local.Subject {
		own = share{} // they are anybody's
	}
	switch {
	case more.holders > 0 && own.holders > maxHolders:
		return message.Say("you have %d holders of leases already, and may have no more", maxHolders)
	case more.holders > 0 && all.holders > maxTenantHolders:
		return message.Say("%d others hold leases, and there may be no more", maxTenantHolders)
	case more.names > 0 && own.names > maxLeased:
		return message.Say("tools: all your holders together may name %d", maxLeased)
	case more.names > 0 && all.names > maxTenantLeased:
		return message.Say("tools: all holders together may name %d, and others have most of them", maxTenantLeased)
	}
	return message.Phrase{}
}

// tenancy is what one holder has.
type tenancy struct {
	viewer  hub.Viewer // by whose eyes the names are read
	names   []string   // that it asked for
	holds   []hold     // that they stand for, each once
	expires time.Time  // unless it is in use then
	uses    int        // see Use
}

// hold is what the fleet counts.
type hold struct{ server, tool string }

// Lease keeps the servers of tools from being ended for want of use, and starts
// those that are idle, without waiting for them. Names are those by which tools
// are called, or keys of servers; of a server whose tools are not known yet, the
// key and "__" are enough of a name. They are what whoever asks sees by them. What the holder had before ends, so that it
// asks again, with all it needs, before the lease expires; a ttl of 0 is
// [DefaultTTL]. A key goes before a tool that another server calls so. A holder is the caller's own: that
// of another caller may have the same name.
//
// A server that is defined anew stays held if the names still stand for it.
//
// The error is [message.BodyInvalid]: of names or a ttl beyond their bounds, or
// if the caller, or his tenant, has too many.
func (c *Control) Lease(by hub.Principal, holder string, tools []string, ttl time.Duration) (Grant, error) {
	if ttl == 0 {
		ttl = DefaultTTL
	}
	if detail := leaseFault(holder, tools, ttl); !detail.Empty() {
		return Grant{}, unfit(detail)
	}
	names := make([]string, 0, len(tools))
	for _, name := range tools {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	name, of := nameOf(&by, holder), Owner{by.Tenant, by.Subject}
	t, ok := c.leases.held[name]
	more := share{names: len(names)}
	if ok {
		more.names -= len(t.names)
	} else {
		t, more.holders = &tenancy{}, 1
	}
	if detail := c.leases.full(&by, more); !detail.Empty() {
		return Grant{}, unfit(detail)
	}
	c.leases.held[name] = t
	c.leases.count(of, more)
	t.viewer = hub.Viewer{Tenant: by.Tenant, Scope: by.Scope}
	t.names, t.expires = names, time.Now().Add(ttl)
	g := c.let(name, t)
	g.Holder = holder
	c.leases.look()
	return g, nil
}

func unfit(detail message.Phrase) *hub.Error {
	return hub.E(message.BodyInvalid, nil).With("detail", detail)
}

// leaseFault says what is wrong with a request; it is empty if nothing is.
func leaseFault(holder string, tools []string, ttl time.Duration) message.Phrase {
	switch {
	case holder == "" || utf8.RuneCountInString(holder) > maxHolderName || strings.ContainsFunc(holder, unicode.IsControl):
		return message.Say("the holder's name must have 1 to %d characters, and no control characters", maxHolderName)
	case holder == "." || holder == "..": // which no address of the HTTP API can name
		return message.Say("the holder's name must not be . or ..")
	case len(tools) > maxHolderTools:
		return message.Say("tools: at most %d may be held", maxHolderTools)
	case ttl < minTTL || ttl > maxTTL:
		return message.Say("ttl: it must be from 1s to 24h")
	}
	for i, name := range tools {
		if name == "" || utf8.RuneCountInString(name) > maxLeasedName {
			return message.Say("tools[%d]: a name must have 1 to %d characters", i, maxLeasedName)
		}
	}
	return message.Phrase{}
}

// let has the fleet hold what the tenancy's names stand for now, and no more
// what they stood for before. What stays is held throughout. The caller holds
// the lock.
func (c *Control) let(holder string, t *tenancy) Grant {
	g := Grant{Holder: holder, Tools: []string{}, Unknown: []string{}, Started: []string{}, Expires: t.expires}
	view, err := c.opt.Catalog.View(t.viewer)
	if err != nil {
		return g // no view of everything is ever missing
	}
	was := make(map[hold]bool, len(t.holds))
	for _, h := range t.holds {
		was[h] = true
	}
	is := make(map[hold]bool, len(t.names))
	barred := make(map[hold]bool)
	var holds []hold
	for _, name := range t.names {
		h, known := c.meaning(view, name)
		if known && !is[h] {
			started, err := c.opt.Fleet.Hold(h.server, holder, h.tool)
			if known = err == nil; started {
				g.Started = append(g.Started, h.server)
			}
			if known && was[h] {
				c.opt.Fleet.Release(h.server, holder, h.tool) // it is counted already
			}
			barred[h] = !known
			if known || was[h] { // one that was stopped since is kept running again once it is started
				is[h] = true
				holds = append(holds, h)
			}
		}
		if !known || barred[h] {
			g.Unknown = append(g.Unknown, name)
			continue
		}
		g.Tools = append(g.Tools, name)
	}
	for _, h := range t.holds {
		if !is[h] {
			c.opt.Fleet.Release(h.server, holder, h.tool)
		}
	}
	t.holds = holds
	return g
}

// meaning is what a name stands for: a tool by its exposed name, a server, any
// other tool, or one of a server whose tools are not known yet.
func (c *Control) meaning(view *catalog.View, name string) (hold, bool) {
	e, known := view.Tool(name)
	if known && e.Exposed == name {
		return hold{e.Server.Key, e.Tool.Name}, true
	}
	var later hold
	servers := c.Source().Config.Servers
	for i := range servers {
		s := &servers[i]
		rest, ok := strings.CutPrefix(name, s.Key)
		switch {
		case !ok || !view.Sees(s.Key):
			continue
		case rest == "":
			return hold{s.Key, ""}, s.Enabled
		}
		tool, ok := strings.CutPrefix(rest, catalog.Separator)
		if ok && tool != "" && s.Enabled && later.server == "" && !view.Snapshot().Listed(s.Key) {
			later = hold{s.Key, tool}
		}
	}
	if known {
		return hold{e.Server.Key, e.Tool.Name}, true
	}
	return later, later.server != ""
}

// Use keeps the leases of a caller's holder until done is called, which has to be once, and
// from then on for [DefaultTTL] at least. A holder that has none by then gets none.
func (c *Control) Use(by hub.Principal, holder string) (done func()) {
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	t, ok := c.leases.held[nameOf(&by, holder)]
	if !ok || t.over(time.Now()) { // which nobody may have ended yet
		return func() {}
	}
	t.uses++
	return func() {
		c.leases.mu.Lock()
		defer c.leases.mu.Unlock()
		t.uses--
		if next := time.Now().Add(DefaultTTL); next.After(t.expires) {
			t.expires = next
		}
		c.leases.look()
	}
}

// over reports whether its time has come.
func (t *tenancy) over(now time.Time) bool { return t.uses == 0 && !t.expires.After(now) }

// look has the time at which the next lease expires found out anew.
func (l *leases) look() {
	select {
	case l.due <- struct{}{}:
	default:
	}
}

// relet has what every holder needs looked up in another configuration.
func (c *Control) relet() {
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	for holder, t := range c.leases.held {
		c.let(holder, t)
	}
}

// Release ends all leases of a caller's holder. The error is [message.LeaseUnknown].
func (c *Control) Release(by hub.Principal, holder string) error {
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	name := nameOf(&by, holder)
	t, ok := c.leases.held[name]
	if !ok {
		return hub.E(message.LeaseUnknown, nil, "holder", message.Quote(holder))
	}
	c.end(name, t)
	return nil
}

// end ends what a holder has. The caller holds the lock.
func (c *Control) end(holder string, t *tenancy) {
	delete(c.leases.held, holder)
	of, _ := HolderOf(holder)
	c.leases.count(of, share{-1, -len(t.names)})
	for _, h := range t.holds {
		c.opt.Fleet.Release(h.server, holder, h.tool)
	}
}

// Leases are all that keep servers running: by server in the order of the
// configuration, then by holder and tool.
func (c *Control) Leases() []Held {
	var all []Held
	for _, st := range c.opt.Fleet.Status() {
		for _, l := range st.Leases {
			h := Held{Server: st.Key, Lease: l}
			h.Owner, h.Holder = HolderOf(l.Holder)
			all = append(all, h)
		}
	}
	return all
}

// ExpireLeases ends leases when their time has come, until ctx ends, which is no
// error. The leases that are left then are left to the fleet's own end.
func (c *Control) ExpireLeases(ctx context.Context) error {
	timer := time.NewTimer(maxTTL)
	defer timer.Stop()
	for {
		timer.Reset(c.expire(time.Now()))
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-c.leases.due:
		}
	}
}

// expire ends the leases whose time has come, and returns when to look again.
func (c *Control) expire(now time.Time) time.Duration {
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	next := maxTTL
	for holder, t := range c.leases.held {
		if t.over(now) {
			c.end(holder, t)
			of, name := HolderOf(holder)
			c.opt.Log.Info("a lease has expired", "holder", name, "tenant", of.Tenant, "subject", of.Subject)
			continue
		}
		if t.uses == 0 {
			next = min(next, t.expires.Sub(now))
		}
	}
	return next
}
