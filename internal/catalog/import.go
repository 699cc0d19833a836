package catalog

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Imported is the list of one server as somebody else has written it down.
type Imported struct {
	Server string     // its key
	Tools  []hub.Tool // such as [ParseTool] returns, no two with the same name
	At     time.Time  // when the server gave them
}

// Import takes over lists of tools of servers about which nothing is known but what was
// imported before; with force, also in place of one from the index. What a
// server has said itself since this program started is never replaced. It
// returns the keys of the servers whose lists were taken, in the order given.
func (c *Catalog) Import(lists []Imported, force bool) []string {
	now := time.Now().UTC()
	c.mu.Lock()
	defer c.mu.Unlock()
	var taken []string
	old := make(map[string]*part)
	for _, l := range lists {
		i := c.find(l.Server)
		if i < 0 {
			continue
		}
		if o := c.parts[i].offering; o != nil && !o.imported && (o.live || !force) {
			continue
		}
		next := *c.parts[i]
		next.offering = next.offering.imports(c.distinct(l.Server, hub.Offer{Tools: l.Tools}).Tools, anchor(l.At, now))
		c.prepare(&next)
		old[l.Server], c.parts[i] = c.parts[i], &next
		taken = append(taken, l.Server)
	}
	if len(taken) == 0 {
		return nil
	}
	c.publish(0)
	for key, before := range old {
		c.drifted(before, c.parts[c.find(key)])
	}
	c.version++
	c.wake()
	return taken
}
