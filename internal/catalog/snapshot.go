package catalog

import (
	"bytes"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Entry is one tool as callers see it. Neither it nor what it refers to is
// changed once a snapshot holds it, and nobody else may.
type Entry struct {
	Server hub.Server // the one that has the tool, as configured
	Tool   hub.Tool   // as the server described it

	// Exposed is the tool's name to callers. It matches
	// ^[a-zA-Z0-9_-]{1,64}$ and belongs to no other entry of the snapshot.
	Exposed string
	// Raw is the description with the exposed name in the place of the
	// server's own; every other byte is the server's.
	Raw []byte

	// Live says that the server gave the tool since this program started. If
	// not, the entry is from the index.
	Live bool
	// ListedAt is when the server gave the tool.
	ListedAt time.Time
}

// Instructions is what a server says about the use of its tools.
type Instructions struct {
	Server string
	Text   string
}

// Snapshot is the catalog as it was at one moment. It never changes, and all
// its methods may be called from any goroutine. What they return is shared and
// must not be changed either.
type Snapshot struct {
	listing      *listing
	entries      []*Entry
	instructions []Instructions

	exposed   map[string]*Entry   // by exposed name
	qualified map[string]*Entry   // by server__tool, where that is not the exposed name
	bare      map[string][]*Entry // by the server's own name, in the order of entries
}

// ID is greater for a later list of tools. Two snapshots have the same ID only
// if what callers are shown is the same to the byte; which server is behind it
// may differ then, and how old it is.
func (s *Snapshot) ID() uint64 { return s.listing.id }

// Entries returns all entries: the servers of higher priority first, among
// equals in the order of the configuration, and each server's tools in its own
// order.
func (s *Snapshot) Entries() []*Entry { return s.entries }

// Instructions returns what the servers say about their use, in the order of
// the servers. Servers that say nothing are left out.
func (s *Snapshot) Instructions() []Instructions { return s.instructions }

// Resolve returns the tool that a caller means by a name. An exposed name
// always means its own tool. If there is no such, server__tool does with both
// names as they are in the configuration and at the server; and if there is
// none either, the first entry whose own name it is.
func (s *Snapshot) Resolve(name string) (*Entry, bool) {
	if e, ok := s.exposed[name]; ok {
		return e, true
	}
	if e, ok := s.qualified[name]; ok {
		return e, true
	}
	if all := s.bare[name]; len(all) > 0 {
		return all[0], true
	}
	return nil, false
}

// Providers returns all entries whose own name at their servers is bare, in the
// order of [Snapshot.Entries].
func (s *Snapshot) Providers(bare string) []*Entry { return s.bare[bare] }

// offering is the last list that a server gave. It is not changed once made.
type offering struct {
	tools        []hub.Tool // no two with the same name
	instructions string
	listedAt     time.Time
	live         bool
}

// same reports whether both lists say the same, whenever they were given.
func (o *offering) same(other *offering) bool {
	return o.instructions == other.instructions &&
		slices.EqualFunc(o.tools, other.tools, func(a, b hub.Tool) bool {
			return a.Name == b.Name && bytes.Equal(a.Raw, b.Raw)
		})
}

// part is what one server adds to the catalog. It is made anew when the server
// or its list is another, so that a change costs only that server's work.
type part struct {
	server   hub.Server
	identity string
	offering *offering // nil as long as nothing is known
	prepared []prepared
}

// prepared is one tool under the names that it has had.
type prepared struct {
	qualified string // server__tool; may be any text
	plain     *Entry // under its stable name
	other     *Entry // under the name it had to take instead last; nil if none
}

func newPart(server hub.Server, identity string, o *offering) *part {
	p := &part{server: server, identity: identity, offering: o}
	if o != nil {
		p.prepared = make([]prepared, len(o.tools))
		for i, t := range o.tools {
			p.prepared[i] = prepared{
				qualified: qualified(server.Key, t.Name),
				plain:     p.entry(t, stableName(server.Key, t.Name, server.BareNames)),
			}
		}
	}
	return p
}

// entry makes the entry of a tool under a name.
func (p *part) entry(t hub.Tool, exposed string) *Entry {
	e := &Entry{
		Server:   p.server,
		Tool:     t,
		Exposed:  exposed,
		Raw:      t.Raw,
		Live:     p.offering.live,
		ListedAt: p.offering.listedAt,
	}
	if exposed != t.Name {
		name := wire.Lookup(t.Raw, wire.Value(t.Raw), "name")
		e.Raw = wire.Splice(t.Raw, wire.Replace(name, wire.AppendString(nil, exposed)))
	}
	return e
}

// named returns the entry of the i-th tool under the first of its names that is
// not taken.
func (p *part) named(i int, taken map[string]*Entry) *Entry {
	this := &p.prepared[i]
	if _, clash := taken[this.plain.Exposed]; !clash {
		return this.plain
	}
	tool := this.plain.Tool
	for attempt := 0; ; attempt++ {
		name := suffixedName(p.server.Key, tool.Name, p.server.BareNames, attempt)
		if _, clash := taken[name]; clash {
			continue
		}
		if this.other == nil || this.other.Exposed != name {
			this.other = p.entry(tool, name)
		}
		return this.other
	}
}

// assemble makes a snapshot of the parts, which are in the order of listing.
// Its listing is still to be set. The caller holds the lock under which parts
// are made.
func assemble(parts []*part) *Snapshot {
	total := 0
	for _, p := range parts {
		total += len(p.prepared)
	}
	s := &Snapshot{
		entries:   make([]*Entry, 0, total),
		exposed:   make(map[string]*Entry, total),
		qualified: make(map[string]*Entry),
		bare:      make(map[string][]*Entry, total),
	}
	for _, p := range parts {
		for i := range p.prepared {
			e := p.named(i, s.exposed)
			s.entries = append(s.entries, e)
			s.exposed[e.Exposed] = e
			s.bare[e.Tool.Name] = append(s.bare[e.Tool.Name], e)
			if full := p.prepared[i].qualified; full != e.Exposed {
				if _, clash := s.qualified[full]; !clash {
					s.qualified[full] = e
				}
			}
		}
		if p.offering != nil && p.offering.instructions != "" {
			s.instructions = append(s.instructions, Instructions{p.server.Key, p.offering.instructions})
		}
	}
	return s
}
