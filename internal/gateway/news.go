package gateway

import (
	"github.com/toolcrib/toolcrib/internal/hub"
)

// reads is what the lists of a caller read when it was told of them last.
type reads map[hub.ListSet]any

// open reports whether the hub's own callers see everything, so that what changes
// is always theirs.
func (g *Gateway) open() bool {
	view, err := g.opt.Catalog.View(hub.Viewer{})
	return err == nil && !view.Narrow()
}

// newsFor is which of the lists that have changed a caller is told of: for one who
// does not see everything those that read otherwise than before, since that
// something changes elsewhere is not its to know. open is [Gateway.open]. It is of
// one goroutine.
func (g *Gateway) newsFor(open bool, v hub.Viewer, last *reads, which hub.ListSet) (news hub.ListSet) {
	if open && v.Tenant == "" && v.Scope == "" {
		return which
	}
	view, err := g.opt.Catalog.View(v)
	if err != nil {
		return which // its group is gone
	}
	if *last == nil {
		*last = make(reads)
	}
	for _, list := range [...]hub.ListSet{hub.ListTools, hub.ListResources, hub.ListTemplates, hub.ListPrompts} {
		if now := view.Book(list); which.Has(list) && (*last)[list] != now {
			(*last)[list] = now
			news |= list
		}
	}
	return news
}

// readsOf is what the lists of a caller read now; nil for one who sees everything.
func (g *Gateway) readsOf(v hub.Viewer) reads {
	var now reads
	g.newsFor(g.open(), v, &now, hub.ListAll)
	return now
}
