// Package catalog knows which tools, resources and prompts exist, and under which
// names and URIs callers see them. It holds one immutable [Snapshot] at a time
// behind an atomic pointer, so that readers never wait; what servers offer is kept
// in an index file, so that there is a list before any of them runs.
package catalog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// DefaultSaveDelay is how long a change waits for others before the index is
// saved with all of them.
const DefaultSaveDelay = 200 * time.Millisecond

// Options is what a [Catalog] is made of.
type Options struct {
	IndexPath string        // the index file; "" keeps nothing
	PinsPath  string        // the file of what was accepted of pinned servers; "" keeps nothing
	Log       *slog.Logger  // nil logs nothing
	SaveDelay time.Duration // 0 is [DefaultSaveDelay]

	// Bus gets one [hub.ToolsChanged], [hub.ResourcesChanged] or [hub.PromptsChanged]
	// for each change of that list, and [hub.ToolsDrifted]; nil tells nobody.
	Bus *bus.Bus

	// TTL and ForceRefresh say which lists from the index are good enough; see
	// [Catalog.SetFreshness].
	TTL          time.Duration
	ForceRefresh bool
}

// Catalog is what all servers offer together. Its methods may be called from
// any goroutine. A change is complete, and its event published, when the
// method that made it returns; events come in the order of the changes.
type Catalog struct {
	opt   Options
	view  atomic.Pointer[view]
	views atomic.Pointer[views]

	own     audience                  // the callers of the hub itself
	tenants atomic.Pointer[audiences] // and those of tenants

	changed chan struct{} // holds one token while a change waits to be saved
	saving  sync.Mutex    // held while the pins are written, so that an older text never replaces a newer one; taken before mu

	mu      sync.Mutex       // guards what follows, and the making of parts
	fresh   freshness        // of lists from the index
	pins    pins             // of pinned servers
	parts   []*part          // in the order of listing
	waiting map[string]saved // lists of servers that are not among the parts: from the index, or given early
	version uint64           // counts changes of parts
	stored  uint64           // the version that the index has
}

// view is what readers see: a snapshot, and its lists.
type view struct {
	now                                  *Snapshot
	tools, resources, templates, prompts *book
}

// Open makes a catalog from the index and the pins. A missing index is an empty
// one. One that is damaged, too large or of another version is logged and
// renamed to *.bad, and counts as empty: it only ever was a copy. An error means
// that there is a file that cannot be read.
//
// Pins that cannot be read are logged and left as they are. Until something is
// accepted anew no tool of a pinned server is offered then.
//
// No tools are listed before [Catalog.SetServers] says whose may be.
func Open(opt Options) (*Catalog, error) {
	if opt.Bus == nil {
		opt.Bus = new(bus.Bus)
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.SaveDelay == 0 {
		opt.SaveDelay = DefaultSaveDelay
	}
	c := &Catalog{
		opt: opt, changed: make(chan struct{}, 1),
		fresh: newFreshness(opt.TTL, opt.ForceRefresh), pins: openPins(opt.PinsPath, opt.Log),
	}
	if opt.IndexPath != "" {
		var err error
		c.waiting, err = loadIndex(opt.IndexPath)
		if cause, ok := errors.AsType[damage](err); ok {
			c.putAside(cause)
		} else if err != nil {
			return nil, fmt.Errorf("read the tool index: %w", err)
		}
	}
	if c.waiting == nil {
		c.waiting = make(map[string]saved)
	}
	now := time.Now().UTC()
	for _, s := range c.waiting {
		s.offering.listedAt = anchor(s.offering.listedAt, now)
	}
	c.view.Store(emptyView())
	c.own.look(c.view.Load(), nil)
	tenants := audiences(nil).keep(nil)
	c.tenants.Store(&tenants)
	c.views.Store(newViews(nil, nil))
	return c, nil
}

// putAside renames an index that cannot be used.
func (c *Catalog) putAside(cause error) {
	aside := c.opt.IndexPath + ".bad"
	if err := os.Rename(c.opt.IndexPath, aside); err != nil {
		c.opt.Log.Warn("the tool index cannot be used, and not be put aside either",
			"path", c.opt.IndexPath, "reason", cause, "error", err)
		return
	}
	c.opt.Log.Warn("the tool index cannot be used and was put aside; lists fill as servers start",
		"path", c.opt.IndexPath, "aside", aside, "reason", cause)
}

// SetServers says which servers there are, with unique keys, in the order of the
// configuration. A server that is reached in the same way as before keeps its
// list, be it live or from the index; any other starts without one, unless it
// was faster than this call. Which tools are offered and as what follows from
// the servers' rules, and no server is asked for that. Nothing is offered of a
// server that is not enabled, but its list is kept. Lists of servers that are
// not among them are forgotten.
//
// What was accepted of a pinned server is forgotten when it is among them and
// not pinned any more. It outlives the server's absence: a configuration that
// cannot be read must not be a way to have everything accepted anew.
func (c *Catalog) SetServers(servers []hub.Server) { c.setServers(servers, false) }

// SetServersMeanwhile is [Catalog.SetServers] for as long as nobody can say which
// servers there are besides: the lists of others are not shown, but stay in the
// index, and count again for SetServers.
func (c *Catalog) SetServersMeanwhile(servers []hub.Server) { c.setServers(servers, true) }

// setServers is SetServers, with the lists of others kept or not.
func (c *Catalog) setServers(servers []hub.Server, keep bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := make(map[string]*part, len(c.parts))
	for _, p := range c.parts {
		old[p.server.Key] = p
	}
	parts := make([]*part, 0, len(servers))
	for _, s := range servers {
		identity := identify(s)
		next := &part{server: s, identity: identity}
		if early := c.waiting[s.Key]; early.identity == identity {
			next.offering = early.offering
		}
		if before := old[s.Key]; before != nil {
			next.withheld = before.withheld
			if next.offering == nil && before.identity == identity {
				next.offering = before.offering
			}
		}
		c.prepare(next)
		parts = append(parts, next)
	}
	slices.SortStableFunc(parts, func(a, b *part) int {
		return cmp.Or(
			cmp.Compare(b.server.Priority, a.server.Priority),
			cmp.Compare(a.server.Order, b.server.Order))
	})
	c.parts = parts
	tenants := c.tenants.Load().keep(parts)
	c.tenants.Store(&tenants)
	c.views.Load().forget(tenants)
	if !keep {
		clear(c.waiting)
	}
	c.publish(0)
	for _, p := range parts {
		c.drifted(old[p.server.Key], p)
	}
	c.version++
	c.wake()
}

// Listed takes the lists that a server gave, of those that it was asked for; see
// [Accept] and [Catalog.Replace]. The others stay as they are. Of a server whose
// tools are not known they are ignored: it has to be asked for its tools first.
func (c *Catalog) Listed(server hub.Server, lists hub.Lists) {
	c.take(server, lists.Asked, lists.Announced, Accept(server, lists, c.opt.Log))
}

// Replace says what a server offers now, in place of all it offered before.
// What it has must be such as [ParseTool], [ParseResource], [ParseTemplate] and
// [ParsePrompt] return, and its capabilities a JSON object without duplicate keys
// that [protocol.ParseCapabilities] reads. Of several tools or prompts with the
// same name, or resources with the same URI, the first counts, and the others are
// logged.
//
// The definition is the one by which the server was asked. If the server that
// [Catalog.SetServers] named is reached otherwise, or none was named, the offer
// waits for the next SetServers, and is forgotten if it is of no use then.
func (c *Catalog) Replace(server hub.Server, offer hub.Offer) {
	c.take(server, hub.ListAll, 0, offer)
}

// take puts the lists that were asked for in the place of those before. Those
// that the server announced count as changed, whatever they read: it may know
// better what a change is.
func (c *Catalog) take(server hub.Server, asked, announced hub.ListSet, offer hub.Offer) {
	offer = c.distinct(server.Key, offer)
	identity := identify(server)
	now := time.Now().UTC()
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.find(server.Key)
	waits := i < 0 || c.parts[i].identity != identity
	var old *offering
	if !waits {
		old = c.parts[i].offering
	} else if early := c.waiting[server.Key]; early.identity == identity {
		old = early.offering
	}
	if old == nil && !asked.Has(hub.ListTools) {
		return
	}
	next := old.with(asked, offer, now)
	if waits {
		c.waiting[server.Key] = saved{identity, next}
		return
	}
	c.put(i, announced, func(p *part) { p.offering = next })
	c.version++
	// That a list was confirmed is worth no write of its own: a server that comes
	// and goes would wear the disk.
	if old == nil || !old.same(next) {
		c.wake()
	}
}

// Withhold says whether all that a server has is to be left out of all lists,
// whatever its rules say. It is kept all the same. A server that
// [Catalog.SetServers] did not name is ignored.
func (c *Catalog) Withhold(server string, yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.find(server); i >= 0 && c.parts[i].withheld != yes {
		c.put(i, 0, func(p *part) { p.withheld = yes })
	}
}

// find returns the place of a server among the parts, or -1. The caller holds
// the lock.
func (c *Catalog) find(key string) int {
	return slices.IndexFunc(c.parts, func(p *part) bool { return p.server.Key == key })
}

// put puts a changed copy of a part in its place; see publish for what was
// announced. The caller holds the lock.
func (c *Catalog) put(i int, announced hub.ListSet, change func(*part)) {
	old, next := c.parts[i], *c.parts[i]
	change(&next)
	c.prepare(&next)
	c.parts[i] = &next
	c.publish(announced)
	c.drifted(old, &next)
}

// prepare makes the entries of a part whose server and list are set. The caller
// holds the lock.
func (c *Catalog) prepare(p *part) {
	p.staleFrom = c.fresh.end(p.offering)
	p.pin = c.pin(p)
	p.prepare()
}

// distinct returns the offer without what has the name or URI of what came
// before it in its list.
func (c *Catalog) distinct(server string, offer hub.Offer) hub.Offer {
	offer.Tools = distinct(c, server, "tool", offer.Tools, func(t hub.Tool) string { return t.Name })
	offer.Resources = distinct(c, server, "resource", offer.Resources, func(r hub.Resource) string { return r.URI })
	offer.Templates = distinct(c, server, "resource template", offer.Templates, func(t hub.Template) string { return t.URI })
	offer.Prompts = distinct(c, server, "prompt", offer.Prompts, func(p hub.Prompt) string { return p.Name })
	return offer
}

// distinct returns a list without what has the name of one that came before.
func distinct[T any](c *Catalog, server, kind string, list []T, name func(T) string) []T {
	seen := make(map[string]bool, len(list))
	kept := make([]T, 0, len(list))
	twice := "" // the first such name: one line in the log is enough
	for _, t := range list {
		if n := name(t); !seen[n] {
			seen[n] = true
			kept = append(kept, t)
		} else if twice == "" {
			twice = n
		}
	}
	if n := len(list) - len(kept); n > 0 {
		c.opt.Log.Warn("a server lists several of one name; the first counts",
			"server", server, "kind", kind, "name", message.Quote(twice), "dropped", n)
	}
	return kept
}

// publish makes a snapshot of the parts, shows it to readers and tells the bus of
// those lists that read differently, or that a server announced. The caller holds
// the lock.
func (c *Catalog) publish(announced hub.ListSet) {
	old := c.view.Load()
	now := assemble(c.parts)
	next := viewOf(now, old)
	c.view.Store(next)
	c.own.look(next, c.parts)
	if next.tools != old.tools {
		c.opt.Bus.Publish(hub.ToolsChanged{Snapshot: now.id, Devices: devicesAlone(old.now, now)})
	} else if announced.Has(hub.ListTools) {
		c.opt.Bus.Publish(hub.ToolsChanged{Snapshot: now.id})
	}
	if next.resources != old.resources || next.templates != old.templates || announced&(hub.ListResources|hub.ListTemplates) != 0 {
		c.opt.Bus.Publish(hub.ResourcesChanged{})
	}
	if next.prompts != old.prompts || announced.Has(hub.ListPrompts) {
		c.opt.Bus.Publish(hub.PromptsChanged{})
	}
	c.reportClashes(old.now, now)
}

// devicesAlone reports whether all tools that two snapshots do not have in common are
// of devices.
func devicesAlone(old, now *Snapshot) bool {
	others := func(s *Snapshot) iter.Seq[*Entry] {
		return func(yield func(*Entry) bool) {
			for _, e := range s.Entries() {
				if e.Server.Kind != hub.KindDevice && !yield(e) {
					return
				}
			}
		}
	}
	next, stop := iter.Pull(others(now))
	defer stop()
	for e := range others(old) {
		if same, ok := next(); !ok || !bytes.Equal(e.Raw, same.Raw) {
			return false
		}
	}
	_, more := next()
	return !more
}

// reportClashes logs of each server whose resources cannot be listed as they are
// that this is so, if it was otherwise before.
func (c *Catalog) reportClashes(old, now *Snapshot) {
	for _, share := range now.Shares() {
		key := share.Server.Key
		if all := now.Clashes(key); len(all) > 0 && !slices.Equal(all, old.Clashes(key)) {
			c.opt.Log.Warn("a server has resources under URIs of another one; they are listed with its key before them",
				"server", key, "resources", len(all))
		}
	}
}

// Snapshot returns the catalog of all servers, whosever they are, as it is now. It
// never waits. What callers see is told by [Catalog.View].
func (c *Catalog) Snapshot() *Snapshot { return c.view.Load().now }

// book is the one in which a list is.
func (v *view) book(which hub.ListSet) *book {
	switch which {
	case hub.ListResources:
		return v.resources
	case hub.ListTemplates:
		return v.templates
	case hub.ListPrompts:
		return v.prompts
	}
	return v.tools
}
