package gateway

import (
	"bytes"
	"context"
	"strings"
	"sync"

	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// maxWatched is how many resources one caller may be subscribed to.
const maxWatched = 1000

// watched is what one caller is subscribed to, by the URI that it used. The zero
// value is ready for use.
type watched struct {
	mu   sync.Mutex
	over bool
	uris map[string]spot
}

// spot is where a resource is, as far as that is known.
type spot struct {
	server   string // by key; "" if it is not known
	uri      string // the server's own
	prefixed bool   // the caller used the form that names the server
}

// add enters a subscription, which may be there already. It reports false if
// there are too many, or the caller has left.
func (w *watched) add(uri string, at spot) (added, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, there := w.uris[uri]
	if w.over || !there && len(w.uris) >= maxWatched {
		return false, false
	}
	if w.uris == nil {
		w.uris = make(map[string]spot)
	}
	w.uris[uri] = at
	return !there, true
}

// remove takes a subscription out.
func (w *watched) remove(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.uris, uri)
}

// forget is remove, and takes out of the queue what waits there of the
// subscription, unless another one is for it as well.
func (w *watched) forget(uri string, from *queue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.uris, uri)
	from.forget(func(key string) bool {
		part, ok := strings.CutPrefix(key, aboutUpdated)
		if !ok || !covers(uri, part) {
			return false
		}
		for other := range w.uris {
			if covers(other, part) {
				return false
			}
		}
		return true
	})
}

// end takes all subscriptions out, and lets none in any more.
func (w *watched) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over, w.uris = true, nil
}

// as returns in which forms the caller is told about a server's resource: in
// those in which it subscribed to it or to what it is a part of. mu is held.
func (w *watched) as(server, uri string) (verbatim, prefixed bool) {
	for _, at := range w.uris {
		if at.server != "" && at.server != server || !covers(at.uri, uri) {
			continue
		}
		if at.prefixed {
			prefixed = true
		} else {
			verbatim = true
		}
	}
	return verbatim, prefixed
}

// covers reports whether a URI is that of a resource or of a part of it, which
// servers may tell about instead (2025-11-25, "Resources", Subscriptions).
func covers(whole, part string) bool {
	rest, ok := strings.CutPrefix(part, whole)
	if !ok || rest == "" {
		return ok
	}
	return whole == "" || strings.ContainsRune("/?#", rune(rest[0])) || strings.ContainsRune("/?#", rune(whole[len(whole)-1]))
}

// spotOf is where the resource is that a caller means by a URI.
func (g *Gateway) spotOf(v hub.Viewer, uri string) spot {
	if view, err := g.opt.Catalog.View(v); err == nil {
		if place, ok := view.Resource(uri); ok {
			return spot{place.Server.Key, place.URI, place.Prefixed}
		}
	}
	if server, own, ok := catalog.Unprefixed(uri); ok {
		return spot{server, own, true}
	}
	return spot{uri: uri}
}

// watch subscribes a caller to a resource. Updates may come before it returns.
func (g *Gateway) watch(ctx context.Context, w *watched, caller *hub.Caller, v hub.Viewer, uri string) error {
	added, ok := w.add(uri, g.spotOf(v, uri))
	if !ok {
		return invalid("a caller may be subscribed to %d resources at most", maxWatched)
	}
	if err := g.opt.Call.Subscribe(ctx, caller, v, uri); err != nil {
		if added {
			w.remove(uri)
		}
		return err
	}
	// Its server may have told only now what it has.
	if _, ok := w.add(uri, g.spotOf(v, uri)); !ok {
		g.opt.Call.Leave(caller.ID) // it has left meanwhile
	}
	return nil
}

func (g *Gateway) subscribe(ctx context.Context, c *Caller, m *wire.Message) (Answer, error) {
	return g.subscription(c, m, func(uri string) error {
		return g.watch(ctx, &c.Session.watched, g.hubCaller(c.Session), c.Viewer, uri)
	})
}

func (g *Gateway) unsubscribe(ctx context.Context, c *Caller, m *wire.Message) (Answer, error) {
	return g.subscription(c, m, func(uri string) error {
		c.Session.watched.forget(uri, &c.Session.queue)
		return g.opt.Call.Unsubscribe(ctx, g.hubCaller(c.Session), uri)
	})
}

// subscription answers a request that begins or ends a subscription. What the
// server refuses, it refuses in its own words.
func (g *Gateway) subscription(c *Caller, m *wire.Message, do func(uri string) error) (Answer, error) {
	uri, ok := wire.String(m.Raw, m.Member("uri"))
	if !ok {
		return Answer{}, invalid(`"uri" has to be a string`)
	}
	err := do(uri)
	if refusal := call.Refusal(err); refusal != nil {
		return g.translate(c, m, refusal)
	}
	if err != nil {
		return Answer{}, err
	}
	return result(m, []byte("{}")), nil
}

// Updated takes a server's notification that a resource has changed, for the
// callers that are subscribed to it, by their ids. Each is told in the form in
// which it knows the resource; of several changes that it has not read of yet,
// it is told once. The bytes are not kept, and nobody is waited for.
func (g *Gateway) Updated(server string, callers []string, raw []byte) {
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil {
		return
	}
	at := m.Member("uri")
	uri, ok := wire.String(raw, at)
	if !ok {
		return
	}
	u := &update{
		message: &m, at: at, server: server,
		verbatim: form{uri: uri}, prefixed: form{uri: catalog.Prefixed(server, uri)},
	}
	for i, id := range callers {
		yield(i)
		if s, ok := g.Session(id); ok {
			u.tell(&s.watched, nil, s.Push)
		} else if l := g.listener(id); l != nil {
			u.tell(&l.watched, l.tag, l.queue.put)
		}
	}
}

// aboutUpdated begins the key of a notification in a queue; the URI by which the
// caller knows the resource follows.
const aboutUpdated = "updated "

// update is one notification on its way to those who hear it.
type update struct {
	message            *wire.Message
	at                 wire.Span // of the URI
	server             string
	verbatim, prefixed form
}

// form is an update as those callers are told of it who know the resource by the
// URI. All who need no tag are given the same bytes: there may be many.
type form struct {
	uri string
	raw []byte // once it was needed
	key string // as raw
}

// tell puts the notification, in the forms that the caller knows, with the tag if
// there is one.
func (u *update) tell(w *watched, tag []byte, put func(raw []byte, key string)) {
	w.mu.Lock() // until it is put: see forget
	defer w.mu.Unlock()
	verbatim, prefixed := w.as(u.server, u.verbatim.uri)
	if verbatim {
		put(u.in(&u.verbatim, tag))
	}
	if prefixed {
		put(u.in(&u.prefixed, tag))
	}
}

// in returns the notification in the form, with the tag if there is one, and its
// key in a queue.
func (u *update) in(f *form, tag []byte) (raw []byte, key string) {
	if f.raw == nil {
		f.raw, f.key = u.raw(f.uri, nil), aboutUpdated+f.uri
	}
	if tag == nil {
		return f.raw, f.key
	}
	return u.raw(f.uri, tag), f.key
}

// raw is the notification with the URI, and with the tag if there is one.
func (u *update) raw(uri string, tag []byte) []byte {
	raw := u.message.Raw
	edits := make([]wire.Edit, 0, 2)
	if uri != u.verbatim.uri {
		edits = append(edits, wire.Replace(u.at, wire.AppendString(nil, uri)))
	}
	if tag != nil {
		if meta := u.message.Member("_meta"); meta.Exists() && raw[meta.Start] == '{' {
			edits = append(edits, wire.EditObject(nil, raw, meta, func(key wire.Span) bool {
				return wire.KeyIs(raw, key, protocol.MetaSubscriptionID)
			}, tag)...)
		} else {
			edits = append(edits, wire.Insert(raw, u.message.Params, bytes.Join([][]byte{[]byte(`"_meta":{`), tag, []byte(`}`)}, nil)))
		}
	}
	return wire.Splice(raw, edits...)
}
