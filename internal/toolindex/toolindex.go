// Package toolindex shows the tools that are offered the way programs choose
// among them: what each is about, whether calling it takes long, and how old
// that knowledge is. It reads and writes the file by which other programs keep
// such an index.
package toolindex

import (
	"cmp"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Entry is one tool as the index knows it. What it refers to is shared and must
// not be changed.
type Entry struct {
	Server      string    // key of the server
	Tool        string    // the server's own name for it
	Name        string    // the exposed name, by which it is called
	Description string    // as callers are shown it
	InputSchema []byte    // JSON; the bytes that the server sent
	Tags        []Tag     // sorted
	Blocking    bool      // its cost is high, or an imported index said so
	Cost        Cost      // by how long it usually takes
	LastUpdated time.Time // when the server gave it
	Stale       bool      // see [catalog.Entry.Stale]
	Live        bool      // see [catalog.Entry]
}

// Cost says how long a tool usually takes.
type Cost string

// The costs.
const (
	CostLow    Cost = "low"    // less than 200 ms
	CostMedium Cost = "medium" // less than 2 s, or not known
	CostHigh   Cost = "high"   // more; such a tool is blocking
)

const (
	lowBelow    = 200 * time.Millisecond
	mediumBelow = 2 * time.Second
)

func costOf(typical time.Duration) Cost {
	switch {
	case typical < lowBelow:
		return CostLow
	case typical < mediumBelow:
		return CostMedium
	}
	return CostHigh
}

// Times tells how long a server's tool, by the server's own name, usually
// takes. Known is false for one that was not called yet.
type Times func(server, tool string) (typical time.Duration, known bool)

// Query says which entries are asked for; what is empty leaves nothing out.
type Query struct {
	Tag    Tag
	Server string // its key
	Tool   string // its exposed name, or the servers' own name for it
}

// Find returns the entries of the tools that are offered in a snapshot: the
// servers of higher priority first, so that of several which have a tool the
// first is the one that a call of it reaches. Nil times know of no tool.
//
// A query by the name of a tool looks at those of that name only, however many
// there are besides.
func Find(s *catalog.Snapshot, times Times, q Query) []Entry {
	var found []Entry
	for _, e := range candidates(s, q.Tool) {
		if q.Server != "" && e.Server.Key != q.Server {
			continue
		}
		x := entry(e, times)
		if q.Tag == "" || slices.Contains(x.Tags, q.Tag) {
			found = append(found, x)
		}
	}
	return found
}

// candidates are the entries that the name of a tool may stand for, or all.
func candidates(s *catalog.Snapshot, tool string) []*catalog.Entry {
	if tool == "" {
		return s.Entries()
	}
	if all := s.Providers(tool); len(all) > 0 {
		return all
	}
	if e, ok := s.Resolve(tool); ok {
		return []*catalog.Entry{e}
	}
	return nil
}

// entry is the index's view of a tool.
func entry(e *catalog.Entry, times Times) Entry {
	raw := e.Raw
	whole := wire.Value(raw)
	x := Entry{
		Server: e.Server.Key, Tool: e.Tool.Name, Name: e.Exposed,
		InputSchema: wire.Lookup(raw, whole, "inputSchema").Of(raw),
		Cost:        CostMedium, LastUpdated: e.ListedAt, Stale: e.Stale(), Live: e.Live,
	}
	x.Description, _ = wire.String(raw, wire.Lookup(raw, whole, "description"))
	x.Tags = append(keywords(e.Tool.Name, x.Description), hints(raw)...)
	if e.Imported {
		n := noted(raw)
		x.Tags, x.Blocking = append(x.Tags, n.tags...), n.blocking
		x.Cost = cmp.Or(n.cost, CostMedium)
	}
	slices.Sort(x.Tags)
	x.Tags = slices.Compact(x.Tags)
	if times != nil {
		if typical, known := times(x.Server, x.Tool); known {
			x.Cost = costOf(typical)
			x.Blocking = x.Cost == CostHigh
		}
	}
	return x
}
