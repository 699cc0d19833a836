package catalog

import (
	"bytes"
	"slices"
	"strings"
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
	// server's own and, where the server's rules say so, another text in the
	// place of its description; every other byte is the server's.
	Raw []byte

	// Live says that the server gave the tool since this program started. If
	// not, the entry is from the index.
	Live bool
	// Imported says that the tool is from an index that was taken over, and not
	// from the server.
	Imported bool
	// ListedAt is when the server gave the tool.
	ListedAt time.Time

	staleFrom time.Time // when it is too old for an entry that is not Live
	blocked   bool      // its server is pinned, and this is not what was accepted
}

// Stale reports whether the entry is from the index and not good enough any
// more, by what [Catalog.SetFreshness] says; the server has not been asked since
// this program started, or could not be.
func (e *Entry) Stale() bool { return past(e.staleFrom) }

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

	exposed   map[string]*Entry   // by exposed name; those that are blocked keep theirs
	qualified map[string]*Entry   // by server__tool, where that is not the exposed name; so do they
	bare      map[string][]*Entry // by the tool's name without the server's, unless that has a Separator; in the order of entries
	barred    map[string]*Entry   // by the same, the first that is blocked
	counts    map[string]count    // by server, of those whose tools are known
	changed   map[string][]string // by server, of those that are pinned
}

// count is where the tools of a server that callers see are among the entries,
// and how many there are, and how many they do not see because of its rules.
type count struct{ first, offered, hidden int }

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

// Listed reports whether the tools of the server are known and not withheld as
// a whole: a tool that is not found then is none of the server's.
func (s *Snapshot) Listed(server string) bool {
	_, ok := s.counts[server]
	return ok
}

// Offered is how many tools of the server are listed.
func (s *Snapshot) Offered(server string) int { return s.counts[server].offered }

// Offers reports whether the tool of the server, by the server's own name for
// it, is listed. It looks at every tool of the server.
func (s *Snapshot) Offers(server, tool string) bool {
	c := s.counts[server]
	return slices.ContainsFunc(s.entries[c.first:c.first+c.offered], func(e *Entry) bool { return e.Tool.Name == tool })
}

// Hidden is how many tools of the server are not listed because of its rules.
func (s *Snapshot) Hidden(server string) int { return s.counts[server].hidden }

// Changed are the tools of a pinned server, by its own names and in its order,
// that its rules would offer but that are not what was accepted; see
// [Catalog.Accept]. They are told also of a server that is not listed.
func (s *Snapshot) Changed(server string) []string { return s.changed[server] }

// Resolve returns the tool that a caller means by a name. An exposed name
// always means its own tool. If there is no such, server__tool does, with the
// server's name as it is in the configuration and the tool's as it is at the
// server or, if it was renamed there, in the configuration; and if there is none
// either, the first entry whose tool has the name. That one must not contain
// [Separator]: as long as a server is away, what is meant for its tool would
// else go to any other that calls a tool so.
func (s *Snapshot) Resolve(name string) (*Entry, bool) {
	e := s.meant(name)
	if e == nil || e.blocked {
		return nil, false
	}
	return e, true
}

// Blocked returns the tool that is not found by a name because its server is
// pinned and describes it otherwise than it was accepted. Such a tool keeps its
// exposed name: what is meant for it reaches no other.
func (s *Snapshot) Blocked(name string) (*Entry, bool) {
	e := s.meant(name)
	if e == nil || !e.blocked {
		return nil, false
	}
	return e, true
}

// meant is the entry that a name stands for, blocked or not; nil if there is
// none.
func (s *Snapshot) meant(name string) *Entry {
	if e, ok := s.exposed[name]; ok {
		return e
	}
	if e, ok := s.qualified[name]; ok {
		return e
	}
	if all := s.bare[name]; len(all) > 0 {
		return all[0]
	}
	return s.barred[name]
}

// Providers returns all entries that the name, which is without that of a
// server, may stand for, in the order of [Snapshot.Entries].
func (s *Snapshot) Providers(bare string) []*Entry { return s.bare[bare] }

// offering is the last list that a server gave. It is not changed once made.
type offering struct {
	tools        []hub.Tool // no two with the same name
	instructions string
	listedAt     time.Time
	live         bool // given since this program started
	imported     bool // not given by the server at all
}

// same reports whether both lists say the same, whenever they were given.
func (o *offering) same(other *offering) bool {
	return o.instructions == other.instructions && o.imported == other.imported &&
		slices.EqualFunc(o.tools, other.tools, func(a, b hub.Tool) bool {
			return a.Name == b.Name && bytes.Equal(a.Raw, b.Raw)
		})
}

// part is what one server adds to the catalog. It is made anew when the server
// or its list is another, so that a change costs only that server's work.
type part struct {
	server    hub.Server
	identity  string
	offering  *offering // nil as long as nothing is known
	withheld  bool      // all of it
	staleFrom time.Time // of the offering
	pin       pin       // what was accepted; nil for all

	prepared []prepared
	changed  []string // names of those that are blocked, by the server
}

// listed reports whether there is a list to be shown.
func (p *part) listed() bool { return p.offering != nil && !p.withheld && p.server.Enabled }

// prepared is one tool that the rules offer, under the names that it has had.
type prepared struct {
	name      string // the server's own, or the one it was given instead
	qualified string // server__name; may be any text
	plain     *Entry // under its stable name
	other     *Entry // under the name it had to take instead last; nil if none
}

// prepare makes the entries of the part, of which the rest is set.
func (p *part) prepare() {
	p.prepared, p.changed = nil, nil
	if p.offering == nil {
		return
	}
	p.prepared = make([]prepared, 0, len(p.offering.tools))
	for _, t := range p.offering.tools {
		if !p.server.Rules.Offers(t.Name) {
			continue
		}
		blocked := !p.pin.has(t)
		if blocked {
			p.changed = append(p.changed, t.Name)
		}
		if !p.listed() {
			continue
		}
		name := t.Name
		if as := p.server.Rules.Override[t.Name].Name; as != "" {
			name = as
		}
		p.prepared = append(p.prepared, prepared{
			name:      name,
			qualified: qualified(p.server.Key, name),
			plain:     p.entry(t, p.naming(t.Name, name).stable(), blocked),
		})
	}
}

func (p *part) naming(tool, as string) naming {
	return naming{server: p.server.Key, tool: tool, as: as, bare: p.server.BareNames}
}

// entry makes the entry of a tool under a name.
func (p *part) entry(t hub.Tool, exposed string, blocked bool) *Entry {
	return &Entry{
		Server:   p.server,
		Tool:     t,
		Exposed:  exposed,
		Raw:      describe(t, exposed, p.server.Rules.Override[t.Name].Description),
		Live:     p.offering.live,
		Imported: p.offering.imported,
		ListedAt: p.offering.listedAt,

		staleFrom: p.staleFrom,
		blocked:   blocked,
	}
}

// describe is the description of a tool under a name and, unless it is empty,
// with another text.
func describe(t hub.Tool, exposed, text string) []byte {
	var edits []wire.Edit
	whole := wire.Value(t.Raw)
	if exposed != t.Name {
		name := wire.Lookup(t.Raw, whole, "name")
		edits = append(edits, wire.Replace(name, wire.AppendString(nil, exposed)))
	}
	if text != "" {
		if old := wire.Lookup(t.Raw, whole, "description"); old.Exists() {
			edits = append(edits, wire.Replace(old, wire.AppendString(nil, text)))
		} else {
			member := wire.AppendString([]byte(`"description":`), text)
			edits = append(edits, wire.Insert(t.Raw, whole, member))
		}
	}
	if len(edits) == 0 {
		return t.Raw
	}
	return wire.Splice(t.Raw, edits...)
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
		name := p.naming(tool.Name, this.name).suffixed(attempt)
		if _, clash := taken[name]; clash {
			continue
		}
		if this.other == nil || this.other.Exposed != name {
			this.other = p.entry(tool, name, this.plain.blocked)
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
		barred:    make(map[string]*Entry),
		counts:    make(map[string]count, len(parts)),
		changed:   make(map[string][]string),
	}
	for _, p := range parts {
		if len(p.changed) > 0 {
			s.changed[p.server.Key] = p.changed
		}
		if !p.listed() {
			continue
		}
		first := len(s.entries)
		for i := range p.prepared {
			s.add(&p.prepared[i], p.named(i, s.exposed))
		}
		s.counts[p.server.Key] = count{
			first: first, offered: len(s.entries) - first, hidden: len(p.offering.tools) - len(p.prepared),
		}
		if p.offering.instructions != "" {
			s.instructions = append(s.instructions, Instructions{p.server.Key, p.offering.instructions})
		}
	}
	return s
}

// add adds a tool under the name that it has here.
func (s *Snapshot) add(this *prepared, e *Entry) {
	s.exposed[e.Exposed] = e
	if full := this.qualified; full != e.Exposed {
		if _, clash := s.qualified[full]; !clash {
			s.qualified[full] = e
		}
	}
	bare := !strings.Contains(this.name, Separator)
	if !e.blocked {
		s.entries = append(s.entries, e)
		if bare {
			s.bare[this.name] = append(s.bare[this.name], e)
		}
		return
	}
	if _, other := s.barred[this.name]; bare && !other {
		s.barred[this.name] = e
	}
}
