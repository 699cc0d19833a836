// Package catalog knows which tools exist, and under which names callers see
// them. It holds one immutable [Snapshot] at a time behind an atomic pointer, so
// that readers never wait; what servers offer is kept in an index file, so that
// there is a list before any of them runs.
package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// DefaultSaveDelay is how long a change waits for others before the index is
// saved with all of them.
const DefaultSaveDelay = 200 * time.Millisecond

// keptListings is how many listings, the newest included, cursors may point to.
// A client in the middle of a list of several pages so sees all of one.
const keptListings = 8

// Options is what a [Catalog] is made of.
type Options struct {
	IndexPath string        // the index file; "" keeps nothing
	PinsPath  string        // the file of what was accepted of pinned servers; "" keeps nothing
	Bus       *bus.Bus      // gets one [hub.ToolsChanged] for each change of the list, and [hub.ToolsDrifted]; nil tells nobody
	Log       *slog.Logger  // nil logs nothing
	SaveDelay time.Duration // 0 is [DefaultSaveDelay]

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
	nonce nonce
	view  atomic.Pointer[view]

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

// view is what readers see.
type view struct {
	now *Snapshot
	// Earlier listings to which cursors may still point; those of one page have
	// none.
	past []*listing
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
		opt: opt, nonce: newNonce(), changed: make(chan struct{}, 1),
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
	empty := assemble(nil)
	empty.listing = newListing(1, c.nonce, nil)
	c.view.Store(&view{now: empty})
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
	if !keep {
		clear(c.waiting)
	}
	c.publish()
	for _, p := range parts {
		c.drifted(old[p.server.Key], p)
	}
	c.version++
	c.wake()
}

// Listed takes the list that a server gave; see [Accept] and [Catalog.Replace].
func (c *Catalog) Listed(server hub.Server, lists hub.Lists) {
	c.Replace(server, Accept(server, lists.Tools, c.opt.Log))
}

// Replace says what a server offers now, in place of all it offered before.
// The tools must be such as [ParseTool] returns. Of several with the same name
// the first counts, and the others are logged.
//
// The definition is the one by which the server was asked. If the server that
// [Catalog.SetServers] named is reached otherwise, or none was named, the offer
// waits for the next SetServers, and is forgotten if it is of no use then.
func (c *Catalog) Replace(server hub.Server, offer hub.Offer) {
	o := &offering{
		tools:        c.distinct(server.Key, offer.Tools),
		instructions: offer.Instructions,
		listedAt:     time.Now().UTC(),
		live:         true,
	}
	identity := identify(server)
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.find(server.Key)
	if i < 0 || c.parts[i].identity != identity {
		c.waiting[server.Key] = saved{identity, o}
		return
	}
	old := c.parts[i].offering
	c.put(i, func(p *part) { p.offering = o })
	c.version++
	// That a list was confirmed is worth no write of its own: a server that comes
	// and goes would wear the disk.
	if old == nil || !old.same(o) {
		c.wake()
	}
}

// Withhold says whether the tools of a server are to be left out of all lists,
// whatever its rules say. They are kept all the same. A server that
// [Catalog.SetServers] did not name is ignored.
func (c *Catalog) Withhold(server string, yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.find(server); i >= 0 && c.parts[i].withheld != yes {
		c.put(i, func(p *part) { p.withheld = yes })
	}
}

// find returns the place of a server among the parts, or -1. The caller holds
// the lock.
func (c *Catalog) find(key string) int {
	return slices.IndexFunc(c.parts, func(p *part) bool { return p.server.Key == key })
}

// put puts a changed copy of a part in its place. The caller holds the lock.
func (c *Catalog) put(i int, change func(*part)) {
	old, next := c.parts[i], *c.parts[i]
	change(&next)
	c.prepare(&next)
	c.parts[i] = &next
	c.publish()
	c.drifted(old, &next)
}

// prepare makes the entries of a part whose server and list are set. The caller
// holds the lock.
func (c *Catalog) prepare(p *part) {
	p.staleFrom = c.fresh.end(p.offering)
	p.pin = c.pin(p)
	p.prepare()
}

// distinct returns the tools without those whose name came before.
func (c *Catalog) distinct(server string, tools []hub.Tool) []hub.Tool {
	seen := make(map[string]bool, len(tools))
	kept := make([]hub.Tool, 0, len(tools))
	twice := "" // the first such name: one line in the log is enough
	for _, t := range tools {
		if !seen[t.Name] {
			seen[t.Name] = true
			kept = append(kept, t)
		} else if twice == "" {
			twice = t.Name
		}
	}
	if n := len(tools) - len(kept); n > 0 {
		c.opt.Log.Warn("a server lists several tools of one name; the first counts",
			"server", server, "tool", message.Quote(twice), "dropped", n)
	}
	return kept
}

// publish makes a snapshot of the parts, shows it to readers and, if it reads
// differently, tells the bus. The caller holds the lock.
func (c *Catalog) publish() {
	old := c.view.Load()
	last := old.now.listing
	next := &view{now: assemble(c.parts)}
	if last.reads(next.now.entries) {
		next.now.listing = last
		next.past = old.past
		c.view.Store(next)
		return
	}
	id := last.id + 1
	next.now.listing = newListing(id, c.nonce, next.now.entries)
	for _, l := range append(slices.Clip(old.past), last) {
		if l.id+keptListings > id && len(l.starts) > 1 {
			next.past = append(next.past, l)
		}
	}
	c.view.Store(next)
	c.opt.Bus.Publish(hub.ToolsChanged{Snapshot: id})
}

// Snapshot returns the catalog as it is now. It never waits.
func (c *Catalog) Snapshot() *Snapshot { return c.view.Load().now }

// List returns a page of the list of tools: a whole result of tools/list, as
// callers of the era expect it. The empty cursor stands for the first page. The
// bytes are shared and must not be changed.
//
// A cursor leads on in the list that its page was from, also if there is a
// newer one by now. A cursor of a list that is too old, or that was not made by
// this catalog, gives [message.CursorUnknown].
func (c *Catalog) List(era protocol.Era, cursor string) ([]byte, error) {
	v := c.view.Load()
	if cursor == "" {
		return v.now.listing.page(era, 0), nil
	}
	if id, start, ok := c.nonce.parse(cursor); ok {
		if l := v.listing(id); l != nil {
			// The first page has no cursor.
			if number, ok := l.pageAt(start); ok && number > 0 {
				return l.page(era, number), nil
			}
		}
	}
	return nil, hub.E(message.CursorUnknown, nil)
}

// listing returns the listing with the id; nil if it is not kept.
func (v *view) listing(id uint64) *listing {
	if v.now.listing.id == id {
		return v.now.listing
	}
	for _, l := range v.past {
		if l.id == id {
			return l
		}
	}
	return nil
}
