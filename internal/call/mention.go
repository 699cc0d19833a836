package call

import (
	"context"
	"iter"
	"sync"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Bounds of what is remembered of the URIs that servers mention.
const (
	maxMentions  = 10_000 // in all
	maxOfAResult = 1000
	maxURI       = 2048 // bytes; longer ones are not remembered
)

// mentions is which server mentioned a URI last, to the callers of each tenant: no
// server of another one takes that away. Safe for concurrent use.
type mentions struct {
	mu    sync.Mutex
	byURI *lru[mention, string]
}

// mention is a URI that callers of a tenant have seen.
type mention struct{ tenant, uri string }

// unasked is in the place of a tenant for URIs that servers mention of themselves.
const unasked = "*"

func newMentions() *mentions { return &mentions{byURI: newLRU[mention, string](maxMentions, nil)} }

// add remembers that the server has mentioned the URI to a caller of the tenant.
func (m *mentions) add(tenant, server, uri string) {
	if len(uri) > maxURI {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byURI.put(mention{tenant, uri}, server, 1)
}

// hint remembers that the server has mentioned the URI without being asked, unless
// one has already: it does not take from another one what that has given.
func (m *mentions) hint(server, uri string) {
	if len(uri) > maxURI {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := mention{unasked, uri}
	if _, ok := m.byURI.get(at); !ok {
		m.byURI.put(at, server, 1)
	}
}

// of is the server that mentioned the URI last to callers of the tenant or, if none
// has, without being asked.
func (m *mentions) of(tenant, uri string) (server string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if server, ok = m.byURI.get(mention{tenant, uri}); ok {
		return server, true
	}
	return m.byURI.get(mention{unasked, uri})
}

// notice remembers the URIs in an answer, so that they can be read.
func (p *Pipeline) notice(_ context.Context, r *run) error {
	m := &r.reply.Message
	n := 0
	for at := range references(r.verb.method, m) {
		if uri, ok := wire.String(m.Raw, at); ok {
			p.mentions.add(r.Viewer.Tenant, r.server.Key, uri)
		}
		if n++; n == maxOfAResult {
			break
		}
	}
	return nil
}

// expose puts the prefixed form in the place of the URIs in an answer, for a
// caller that knows the server's URIs by that form.
func (p *Pipeline) expose(_ context.Context, r *run) error {
	if !r.prefixed {
		return nil
	}
	m := &r.reply.Message
	for at := range references(r.verb.method, m) {
		if uri, ok := wire.String(m.Raw, at); ok {
			r.edits = append(r.edits, wire.Replace(at, wire.AppendString(nil, catalog.Prefixed(r.server.Key, uri))))
		}
	}
	return nil
}

// references yields the URIs of the server's resources in its answer to a
// request of the method: those of links, of embedded resources and of what was
// read. The spans may be of anything, since servers may answer anything.
func references(method string, m *wire.Message) iter.Seq[wire.Span] {
	raw := m.Raw
	return func(yield func(wire.Span) bool) {
		if m.Kind != wire.Response {
			return
		}
		switch method {
		case protocol.MethodToolsCall:
			for item := range wire.Array(raw, m.Member("content")) {
				if at := reference(raw, item); at.Exists() && !yield(at) {
					return
				}
			}
		case protocol.MethodResourcesRead:
			for item := range wire.Array(raw, m.Member("contents")) {
				if at := wire.Lookup(raw, item, "uri"); at.Exists() && !yield(at) {
					return
				}
			}
		case protocol.MethodPromptsGet:
			for item := range wire.Array(raw, m.Member("messages")) {
				if at := reference(raw, wire.Lookup(raw, item, "content")); at.Exists() && !yield(at) {
					return
				}
			}
		}
	}
}

// reference is the URI in a content block; the zero Span if it has none.
func reference(raw []byte, block wire.Span) wire.Span {
	kind := wire.Lookup(raw, block, "type")
	switch {
	case !kind.Exists() || raw[kind.Start] != '"':
		return wire.Span{}
	case wire.KeyIs(raw, kind, "resource_link"):
		return wire.Lookup(raw, block, "uri")
	case wire.KeyIs(raw, kind, "resource"):
		return wire.Lookup(raw, wire.Lookup(raw, block, "resource"), "uri")
	}
	return wire.Span{}
}
