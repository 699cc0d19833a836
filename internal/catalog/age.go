package catalog

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// DefaultTTL is how long a list from the index is good enough.
const DefaultTTL = time.Hour

// freshness says which lists from the index are good enough not to ask the
// server for its list. One that the server gave since this program started
// always is: the server says itself when there is another.
type freshness struct {
	ttl   time.Duration
	force bool
}

func newFreshness(ttl time.Duration, force bool) freshness {
	if ttl == 0 {
		ttl = DefaultTTL
	}
	return freshness{ttl, force}
}

// end is when a list ceases to be good enough; zero for one that does not.
func (f freshness) end(o *offering) time.Time {
	switch {
	case o == nil || o.live:
		return time.Time{}
	case f.force:
		return o.listedAt
	}
	return o.listedAt.Add(f.ttl)
}

// anchor returns a time that was read from a file as one that ages with this
// computer's own clock: it has now's monotonic reading, so that setting the
// clock makes no list older or younger while the program runs. A time in the
// future, where the clock was set back since, counts as now; else the list
// would be young until then.
func anchor(t, now time.Time) time.Time {
	return now.Add(-max(0, now.Sub(t)))
}

// SetFreshness says how old a list from the index may be, from which it was
// known before this program started what a server offers, for
// [Catalog.Known] to be true; 0 is [DefaultTTL], and with less no list is young
// enough. With force none counts, whatever its age. Entries that do not count
// are marked, and offered all the same. The list reads as before, and there is
// no event.
func (c *Catalog) SetFreshness(ttl time.Duration, force bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fresh = newFreshness(ttl, force)
	for i, p := range c.parts {
		if p.offering == nil || p.offering.live {
			continue
		}
		next := *p
		c.prepare(&next)
		c.parts[i] = &next
	}
	c.publish(0)
}

// Known reports whether the server need not be started to learn which tools it
// has, though there may be none: it said so itself since this program started,
// or the index has a list that is good enough; see [Catalog.SetFreshness].
func (c *Catalog) Known(server hub.Server) bool {
	identity := identify(server)
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.find(server.Key); i >= 0 && c.parts[i].identity == identity && c.enough(c.parts[i].offering) {
		return true
	}
	early := c.waiting[server.Key]
	return early.identity == identity && c.enough(early.offering)
}

// enough reports whether a list, if there is one, is good enough. That of an
// index which has the tools only is not, since its server may have more. The
// caller holds the lock.
func (c *Catalog) enough(o *offering) bool {
	return o != nil && !past(c.fresh.end(o)) && (o.live || o.imported || o.known.Has(hub.ListAll))
}

// past reports whether the time, if it is set, has come.
func past(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }
