package control

import (
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/toolindex"
)

// Index is the tools of what a caller sees that are offered and that a query asks
// for; see [toolindex.Find].
func (c *Control) Index(view *catalog.View, q toolindex.Query) []toolindex.Entry {
	all := toolindex.Find(view.Snapshot(), c.opt.Costs, q)
	return slices.DeleteFunc(all, func(e toolindex.Entry) bool { return !view.Sees(e.Server) })
}

// ExportIndex is the file with all tools of what a caller sees that are offered.
func (c *Control) ExportIndex(view *catalog.View) []byte {
	return toolindex.Encode(c.Index(view, toolindex.Query{}), time.Now())
}

// IndexImport is what became of an index that was taken over.
type IndexImport struct {
	Servers []string // keys of those whose tools were taken, in the order of the file
	Skipped []string // and of those whose were not
	Tools   int      // that were taken
}

// ImportIndex takes the lists of a file over for servers of which nothing is
// known but what was imported before; with force also in place of what a server
// said itself before the hub started. All of the file is read before anything is
// taken. The error is [message.IndexInvalid].
func (c *Control) ImportIndex(text []byte, force bool) (IndexImport, error) {
	lists, err := toolindex.Decode(text)
	if err != nil {
		return IndexImport{}, err
	}
	done := IndexImport{Servers: c.opt.Catalog.Import(lists, force)}
	for _, l := range lists {
		if slices.Contains(done.Servers, l.Server) {
			done.Tools += len(l.Tools)
		} else {
			done.Skipped = append(done.Skipped, l.Server)
		}
	}
	return done, nil
}

// Drift is how the tools of a pinned server differ from what was accepted; see
// [catalog.Catalog.Drift]. The error is [message.ServerUnknown].
func (c *Control) Drift(key string) ([]catalog.ToolDrift, error) {
	if _, ok := find(c.Source().Config, key); !ok {
		return nil, unknown(key)
	}
	return c.opt.Catalog.Drift(key), nil
}

// Accept accepts tools of a pinned server as they are described now, or all that
// changed if none is named; see [catalog.Catalog.Accept].
func (c *Control) Accept(key string, tools []string) error {
	if _, ok := find(c.Source().Config, key); !ok {
		return unknown(key)
	}
	return c.opt.Catalog.Accept(key, tools...)
}

// AcceptSeen accepts tools of a pinned server by the digests that Drift told; see
// [catalog.Catalog.AcceptSeen].
func (c *Control) AcceptSeen(key string, digests map[string]string) error {
	if _, ok := find(c.Source().Config, key); !ok {
		return unknown(key)
	}
	return c.opt.Catalog.AcceptSeen(key, digests)
}
