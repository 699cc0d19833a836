package catalog

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// Entry is one tool as callers see it. Neither it nor what it refers to is
// changed once a snapshot holds it, and nobody else may.
type Entry struct {
	Server hub.Server // the one that has the tool, as configured
	Tool   hub.Tool   // as the server described it

	// Exposed is the tool's name to callers. It matches
	// ^[a-zA-Z0-9_-]{1,64}$ and belongs to no other entry of the snapshot, save
	// those of the same pool. In a [View] it may be another one, as the client's
	// profile says.
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
	people    bool      // it is a device's, and for people alone
}

// Stale reports whether the entry is from the index and not good enough any
// more, by what [Catalog.SetFreshness] says; the server has not been asked since
// this program started, or could not be.
func (e *Entry) Stale() bool { return past(e.staleFrom) }

func (e *Entry) exposedName() string { return e.Exposed }
func (e *Entry) isBlocked() bool     { return e.blocked || e.people }

func (e *PromptEntry) exposedName() string { return e.Exposed }
func (e *PromptEntry) isBlocked() bool     { return false }

// Snapshot is the catalog as it was at one moment. It never changes, and all
// its methods may be called from any goroutine. What they return is shared and
// must not be changed either.
//
// What a single server adds to it is its [Share]; a part of the catalog is made
// of several of these.
type Snapshot struct {
	id        uint64
	tools     space[*Entry]
	prompts   space[*PromptEntry]
	resources shelf
	templates shelf

	capabilities protocol.Capabilities
	inOrder      []*Share
	shares       map[string]*Share   // by server
	keys         map[string]bool     // of all servers, also of those that are not listed
	partial      bool                // there are servers besides, which are others'
	pool         map[string]string   // by server, of all that are in one
	pools        map[string][]string // keys of the servers, by pool
	clashes      map[string][]string // by server
	changed      map[string][]string // by server, of those that are pinned
}

// Share is what one server that is listed adds to a snapshot. It never changes.
// Each list is in the server's order, and a part of the snapshot's own but for
// tools of a pool: of those the snapshot lists the first server's.
type Share struct {
	Server       *hub.Server
	Capabilities protocol.Capabilities // as it declared them, or such as its lists need if that is not known
	Instructions string                // "" for none
	Tools        []*Entry
	People       []*Entry // tools that are for people alone: they are in no list, and found by [View.PeopleTool]
	Prompts      []*PromptEntry
	Resources    []*ResourceEntry
	Templates    []*ResourceEntry

	hidden int // tools that its rules leave out
}

// ID is greater for a later list of tools. Two snapshots have the same ID only
// if the tools that callers are shown are the same to the byte; which server is
// behind them may differ then, and how old they are.
func (s *Snapshot) ID() uint64 { return s.id }

// Shares returns what each server adds that is listed: enabled, not withheld, and
// not unknown. They are in the order of [Snapshot.Entries].
func (s *Snapshot) Shares() []*Share { return s.inOrder }

// Share returns what a server adds; false if it is not listed.
func (s *Snapshot) Share(server string) (*Share, bool) {
	share, ok := s.shares[server]
	return share, ok
}

// Entries returns all tools: the servers of higher priority first, among
// equals in the order of the configuration, and each server's tools in its own
// order. A tool that several servers of a pool have is there once, as the first of
// them describes it.
func (s *Snapshot) Entries() []*Entry { return s.tools.entries }

// Prompts returns all prompts, in the same order.
func (s *Snapshot) Prompts() []*PromptEntry { return s.prompts.entries }

// Capabilities is the union of what the servers that are listed have, by what is
// saved or what they declared since this program started.
func (s *Snapshot) Capabilities() protocol.Capabilities { return s.capabilities }

// Listed reports whether the tools of the server are known and not withheld as
// a whole: a tool that is not found then is none of the server's.
func (s *Snapshot) Listed(server string) bool {
	_, ok := s.shares[server]
	return ok
}

// Offered is how many tools of the server are listed.
func (s *Snapshot) Offered(server string) int {
	if share, ok := s.shares[server]; ok {
		return len(share.Tools)
	}
	return 0
}

// Pool returns the servers of a pool by their keys, in the order of
// [Snapshot.Entries], and those too that are not listed; none if there is no such
// pool.
func (s *Snapshot) Pool(name string) []string { return s.pools[name] }

// Hidden is how many tools of the server are not listed because of its rules.
func (s *Snapshot) Hidden(server string) int {
	if share, ok := s.shares[server]; ok {
		return share.hidden
	}
	return 0
}

// Changed are the tools of a pinned server, by its own names and in its order,
// that its rules would offer but that are not what was accepted; see
// [Catalog.Accept]. They are told also of a server that is not listed.
func (s *Snapshot) Changed(server string) []string { return s.changed[server] }

// Resolve returns the tool that a caller means by a name. An exposed name
// always means its own tool; of a pool, that of the first server which offers it.
// If there is no such, server__tool does, with the
// server's name as it is in the configuration and the tool's as it is at the
// server or, if it was renamed there, in the configuration; and if there is none
// either, the first entry whose tool has the name. That one must not contain
// [Separator]: as long as a server is away, what is meant for its tool would
// else go to any other that calls a tool so.
func (s *Snapshot) Resolve(name string) (*Entry, bool) {
	e, _ := s.tools.meant(name, nil)
	if e == nil || e.isBlocked() {
		return nil, false
	}
	return e, true
}

// Blocked returns the tool that is not found by a name because its server is
// pinned and describes it otherwise than it was accepted. Such a tool keeps its
// exposed name: what is meant for it reaches no other.
func (s *Snapshot) Blocked(name string) (*Entry, bool) {
	e, _ := s.tools.meant(name, nil)
	if e == nil || !e.blocked {
		return nil, false
	}
	return e, true
}

// Providers returns all entries that the name, which is without that of a
// server, may stand for, in the order of [Snapshot.Entries].
func (s *Snapshot) Providers(bare string) []*Entry { return s.tools.bare[bare] }

// assemble makes a snapshot of the parts, which are in the order of listing. Its
// id is still to be set. The caller holds the lock under which parts are made.
func assemble(parts []*part) *Snapshot {
	tools, prompts := 0, 0
	for _, p := range parts {
		tools += len(p.tools)
		prompts += len(p.prompts)
	}
	s := &Snapshot{
		tools:   newSpace[*Entry](tools),
		prompts: newSpace[*PromptEntry](prompts),
		shares:  make(map[string]*Share, len(parts)),
		keys:    make(map[string]bool, len(parts)),
		changed: make(map[string][]string),
		pool:    make(map[string]string),
		pools:   make(map[string][]string),
	}
	var listed []*part
	for _, p := range parts {
		s.keys[p.server.Key] = true
		if name := p.server.Pool; name != "" {
			s.pool[p.server.Key] = name
			s.pools[name] = append(s.pools[name], p.server.Key)
		}
		if len(p.changed) > 0 {
			s.changed[p.server.Key] = p.changed
		}
		if p.listed() {
			listed = append(listed, p)
		}
	}
	s.fillShelves(listed)
	for _, p := range listed {
		s.add(p)
	}
	return s
}

// add adds a part that is listed, but for its resources and templates, which are
// on the shelves already.
func (s *Snapshot) add(p *part) {
	share := &Share{
		Server: &p.server, Capabilities: p.capabilities, Instructions: p.offering.Instructions,
		Resources: s.resources.by[p.server.Key], Templates: s.templates.by[p.server.Key],
		hidden: len(p.offering.Tools) - len(p.tools),
	}
	share.Tools = make([]*Entry, 0, len(p.tools))
	for i := range p.tools {
		switch e := s.tools.add(&p.tools[i]); {
		case e.blocked:
		case e.people:
			share.People = append(share.People, e)
		default:
			share.Tools = append(share.Tools, e)
		}
	}
	for i := range p.prompts {
		share.Prompts = append(share.Prompts, s.prompts.add(&p.prompts[i]))
	}
	s.inOrder = append(s.inOrder, share)
	s.shares[p.server.Key] = share
	s.capabilities = s.capabilities.Union(share.Capabilities)
}
