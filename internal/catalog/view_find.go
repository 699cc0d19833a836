package catalog

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/search"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// nameWeight is how often a word of a tool's name counts, compared with one of its
// description or its parameters.
const nameWeight = 3

// Match is a tool that was found.
type Match struct {
	Entry *Entry
	Score float64 // comparable within one answer only
}

// Find returns the tools of the view that have words of the query in their names,
// their descriptions or their parameters, the best first; at most so many as limit
// says.
func (v *View) Find(query string, limit int) []Match {
	hits := v.finder.index().Search(query, limit)
	matches := make([]Match, len(hits))
	for i, hit := range hits {
		matches[i] = Match{v.entries[hit.Document], hit.Score}
	}
	return matches
}

// Like returns the exposed names of tools that may be meant by a name which none
// has: those that are nearly spelt so, and then those that have words of it. There
// are at most five.
func (v *View) Like(name string) []string {
	const most, furthest = 5, 3
	if len(name) > wideName {
		name = name[:wideName]
	}
	type near struct {
		name     string
		distance int
	}
	var all []near
	for _, e := range v.entries {
		if d := len(e.Exposed) - len(name); d > furthest || -d > furthest {
			continue
		}
		if d := message.Distance(strings.ToLower(name), strings.ToLower(e.Exposed)); d <= furthest {
			all = append(all, near{e.Exposed, d})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, n := range all[:min(len(all), most)] {
		names = append(names, n.name)
	}
	for _, m := range v.Find(name, most) {
		if len(names) < most && !slices.Contains(names, m.Entry.Exposed) {
			names = append(names, m.Entry.Exposed)
		}
	}
	return names
}

// finder is an index of tools. It is made when it is first asked, and goes from
// one view to the next as long as the tools read the same.
type finder struct {
	entries []*Entry
	index   func() *search.Index
}

func newFinder(entries []*Entry) *finder {
	return &finder{entries, sync.OnceValue(func() *search.Index {
		documents := make([][]search.Field, len(entries))
		for i, e := range entries {
			documents[i] = document(e)
		}
		return search.New(documents)
	})}
}

// finds reports whether the index is one of just these tools.
func (f *finder) finds(entries []*Entry) bool {
	return slices.EqualFunc(f.entries, entries, func(a, b *Entry) bool {
		return a == b || bytes.Equal(a.Raw, b.Raw) && a.Tool.Name == b.Tool.Name && a.Server.Title() == b.Server.Title()
	})
}

// document is what a tool is found by. Its exposed name has the key of its server,
// and may lack words that there was no room for.
func document(e *Entry) []search.Field {
	raw := e.Raw
	desc := wire.Value(raw)
	text := func(of wire.Span, member string) search.Field {
		s, _ := wire.String(raw, wire.Lookup(raw, of, member))
		return search.Field{Text: s, Weight: 1}
	}
	fields := []search.Field{
		{Text: e.Tool.Name, Weight: nameWeight},
		{Text: e.Exposed, Weight: 1},
		{Text: e.Server.Title(), Weight: 1},
		text(desc, "title"),
		text(desc, "description"),
	}
	properties := wire.Lookup(raw, wire.Lookup(raw, desc, "inputSchema"), "properties")
	for m := range wire.Object(raw, properties) {
		name, _ := wire.String(raw, m.Key)
		fields = append(fields, search.Field{Text: name, Weight: 1}, text(m.Value, "description"))
	}
	return fields
}
