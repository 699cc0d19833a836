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
	maxHolders     = 1000
	maxHolderTools = 1000
	maxHolderName  = 128    // characters
	maxLeasedName  = 512    // characters
	maxLeased      = 20_000 // names of all holders: each is looked up whenever the configuration changes
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

// Held is a lease on a server, of a holder of the tenant.
type Held struct {
	Server string
	Tenant string
	hub.Lease
}

// nameOf is what the fleet knows a holder by: those of two tenants may have the
// same name. [HolderOf] is the way back.
func nameOf(tenant, holder string) string {
	if tenant == "" {
		return holder
	}
	return tenant + "\x00" + holder
}

// HolderOf returns the tenant and the name of a holder by what the fleet knows it
// by.
func HolderOf(name string) (tenant, holder string) {
	if tenant, holder, ok := strings.Cut(name, "\x00"); ok {
		return tenant, holder
	}
	return "", name
}

// leases are those that were asked for here. The lock is held while the fleet is
// told, so that it hears of them in the order in which they were made.
type leases struct {
	mu   sync.Mutex
	held map[string]*tenancy // by nameOf
	size int                 // names of all of them
	due  chan struct{}       // says, at most once, that another lease may expire first; of capacity 1
}

// tenancy is what one holder has.
type tenancy struct {
	viewer  hub.Viewer // by whose eyes the names are read
	names   []string   // that it asked for
	holds   []hold     // that they stand for, each once
	expires time.Time
}

// hold is what the fleet counts.
type hold struct{ server, tool string }

// Lease keeps the servers of tools from being ended for want of use, and starts
// those that are idle, without waiting for them. Names are those by which tools
// are called, or keys of servers; of a server whose tools are not known yet, the
// key and "__" are enough of a name. They are what the viewer sees by them. What the holder had before ends, so that it
// asks again, with all it needs, before the lease expires; a ttl of 0 is
// [DefaultTTL]. A key goes before a tool that another server calls so. Any caller may ask in any holder's name: a lease has servers
// running, and gives no right to them.
//
// A server that is defined anew stays held if the names still stand for it.
//
// The error is [message.BodyInvalid]: of names or a ttl beyond their bounds, or
// if too many others hold leases.
func (c *Control) Lease(viewer hub.Viewer, holder string, tools []string, ttl time.Duration) (Grant, error) {
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
	name := nameOf(viewer.Tenant, holder)
	t, ok := c.leases.held[name]
	if !ok {
		t = &tenancy{}
	}
	size := c.leases.size - len(t.names) + len(names)
	switch {
	case !ok && len(c.leases.held) >= maxHolders:
		return Grant{}, unfit(message.Say("%d others hold leases, and there may be no more", maxHolders))
	case size > maxLeased:
		return Grant{}, unfit(message.Say("tools: all holders together may name %d, and others have most of them", maxLeased))
	}
	c.leases.held[name], c.leases.size = t, size
	t.viewer = hub.Viewer{Tenant: viewer.Tenant, Scope: viewer.Scope}
	t.names, t.expires = names, time.Now().Add(ttl)
	g := c.let(name, t)
	g.Holder = holder
	select {
	case c.leases.due <- struct{}{}:
	default:
	}
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
	var holds []hold
	for _, name := range t.names {
		h, known := c.meaning(view, name)
		if known && !was[h] && !is[h] {
			started, err := c.opt.Fleet.Hold(h.server, holder, h.tool)
			if known = err == nil; started {
				g.Started = append(g.Started, h.server)
			}
		}
		if !known {
			g.Unknown = append(g.Unknown, name)
			continue
		}
		g.Tools = append(g.Tools, name)
		if !is[h] {
			is[h] = true
			holds = append(holds, h)
		}
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

// Renew has the leases of a holder expire no sooner than ttl from now; 0 is
// [DefaultTTL], and less than there is left changes nothing. It reports false if
// the holder has none.
func (c *Control) Renew(tenant, holder string, ttl time.Duration) bool {
	if ttl == 0 {
		ttl = DefaultTTL
	}
	now := time.Now()
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	t, ok := c.leases.held[nameOf(tenant, holder)]
	if !ok || !t.expires.After(now) { // which nobody may have ended yet
		return false
	}
	if next := now.Add(ttl); next.After(t.expires) {
		t.expires = next
	}
	return true
}

// relet has what every holder needs looked up in another configuration.
func (c *Control) relet() {
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	for holder, t := range c.leases.held {
		c.let(holder, t)
	}
}

// Release ends all leases of a tenant's holder. The error is [message.LeaseUnknown].
func (c *Control) Release(tenant, holder string) error {
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	name := nameOf(tenant, holder)
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
	c.leases.size -= len(t.names)
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
			h.Tenant, h.Holder = HolderOf(l.Holder)
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
		left := t.expires.Sub(now)
		if left <= 0 {
			c.end(holder, t)
			tenant, name := HolderOf(holder)
			c.opt.Log.Info("a lease has expired", "holder", name, "tenant", tenant)
			continue
		}
		next = min(next, left)
	}
	return next
}
