package gateway

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// maxTogether is how many resources one listen subscribes to at the same time:
// each may wait for its server.
const maxTogether = 8

// listener is one subscriptions/listen under way.
type listener struct {
	caller  hub.Caller
	viewer  hub.Viewer  // through which it looks
	lists   hub.ListSet // of which it hears
	reads   reads       // of announceListeners
	tag     []byte      // member of _meta that says to which subscription a message belongs
	watched watched
	queue   queue
}

func (g *Gateway) listener(id string) *listener {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.listeners[id]
}

// Listen answers a subscriptions/listen request: it acknowledges what is
// honoured, tells of changes as long as ctx lasts, and returns the response
// for the case that the hub ends the subscription (2026-07-28,
// "Subscriptions"). Changes that come while the caller reads slowly are told as
// one. A panic is treated as [Gateway.Request] does.
func (g *Gateway) Listen(ctx context.Context, c *Caller, m *wire.Message, out Out) Answer {
	answer, err := contained(g, func() (Answer, error) { return g.listen(ctx, c, m, out) })
	if err != nil {
		return g.Fault(c, m, hub.AsError(err))
	}
	return answer
}

func (g *Gateway) listen(ctx context.Context, c *Caller, m *wire.Message, out Out) (Answer, error) {
	if err := checkParams(m); err != nil {
		return Answer{}, err
	}
	filter := m.Member("notifications")
	if !filter.Exists() || m.Raw[filter.Start] != '{' {
		return Answer{}, invalid(`"notifications" has to be an object`)
	}
	uris, err := resourcesOf(m, filter)
	if err != nil {
		return Answer{}, err
	}
	lists, err := g.honoured(c, m, filter)
	if err != nil {
		return Answer{}, err
	}
	l := &listener{
		caller: hub.Caller{ID: rand.Text(), Principal: c.Principal}, viewer: c.Viewer, lists: lists, reads: g.readsOf(c.Viewer),
		tag: append([]byte(`"`+protocol.MetaSubscriptionID+`":`), m.ID.Of(m.Raw)...),
	}
	g.mu.Lock()
	g.listeners[l.caller.ID] = l
	g.mu.Unlock()
	defer g.dismiss(l)

	uris = g.watchAll(ctx, l, c.Viewer, uris)
	out.Notify(l.acknowledged(uris))
	for {
		raw, ok := l.queue.next(ctx, g.closed)
		if !ok {
			return result(m, append(append([]byte(`{"resultType":"complete","_meta":{`), l.tag...), `}}`...)), nil
		}
		out.Notify(raw)
	}
}

// dismiss ends a listener's subscriptions.
func (g *Gateway) dismiss(l *listener) {
	g.mu.Lock()
	delete(g.listeners, l.caller.ID)
	g.mu.Unlock()
	l.watched.end()
	g.opt.Call.Leave(l.caller.ID)
}

// changes are the notifications of changed lists, by the member of the filter
// that asks for them.
var changes = [...]struct {
	lists          hub.ListSet
	filter, method string
}{
	{hub.ListTools, "toolsListChanged", protocol.NotificationToolsList},
	{hub.ListPrompts, "promptsListChanged", protocol.NotificationPrompts},
	{hub.ListResources, "resourcesListChanged", protocol.NotificationResources},
}

// honoured is of which lists the listener is told, of those that it asks for.
func (g *Gateway) honoured(c *Caller, m *wire.Message, filter wire.Span) (hub.ListSet, error) {
	view, err := g.opt.Catalog.View(c.Viewer)
	if err != nil {
		return 0, err
	}
	lists := promised(view, g.offered(view))
	for _, change := range changes {
		if string(wire.Lookup(m.Raw, filter, change.filter).Of(m.Raw)) != "true" {
			lists &^= change.lists
		}
	}
	return lists, nil
}

// resourcesOf returns the URIs that the filter asks for, each once, and no more
// than one caller may be subscribed to: which ones are honoured, the caller is
// told.
func resourcesOf(m *wire.Message, filter wire.Span) ([]string, error) {
	list := wire.Lookup(m.Raw, filter, "resourceSubscriptions")
	if list.Exists() && m.Raw[list.Start] != '[' {
		return nil, invalid(`"resourceSubscriptions" has to be an array`)
	}
	var uris []string
	seen := make(map[string]struct{})
	for one := range wire.Array(m.Raw, list) {
		uri, ok := wire.String(m.Raw, one)
		if !ok {
			return nil, invalid(`"resourceSubscriptions" has to hold strings`)
		}
		if _, again := seen[uri]; !again && len(uris) < maxWatched {
			seen[uri] = struct{}{}
			uris = append(uris, uri)
		}
	}
	return uris, nil
}

// watchAll subscribes to the resources, and returns those where that succeeded,
// in the same order.
func (g *Gateway) watchAll(ctx context.Context, l *listener, v hub.Viewer, uris []string) []string {
	failed := make([]error, len(uris))
	free := make(chan struct{}, maxTogether)
	var all sync.WaitGroup
	for i, uri := range uris {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			_, failed[i] = contained(g, func() (struct{}, error) {
				return struct{}{}, g.watch(ctx, &l.watched, &l.caller, v, uri)
			})
		})
	}
	all.Wait()
	honoured := uris[:0]
	var why error // of the first that failed: who listens may name many, as often as it likes
	for i, uri := range uris {
		if failed[i] == nil {
			honoured = append(honoured, uri)
		} else if why == nil {
			why = failed[i]
		}
	}
	if why != nil {
		g.opt.Log.Info("resources were not subscribed to", "resources", len(uris)-len(honoured), "error", why)
	}
	return honoured
}

// acknowledged is the first message of a subscription.
func (l *listener) acknowledged(uris []string) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","method":"`+protocol.NotificationListenAck+`","params":{"_meta":{`), l.tag...)
	b = append(b, `},"notifications":{`...)
	comma := ""
	for _, change := range changes {
		if l.lists.Has(change.lists) {
			b = append(b, comma+`"`+change.filter+`":true`...)
			comma = ","
		}
	}
	for i, uri := range uris {
		if i == 0 {
			b = append(b, comma+`"resourceSubscriptions":[`...)
		} else {
			b = append(b, ',')
		}
		b = wire.AppendString(b, uri)
	}
	if len(uris) > 0 {
		b = append(b, ']')
	}
	return append(b, `}}}`...)
}

// announceListeners tells those who listen of changed lists.
func (g *Gateway) announceListeners(which hub.ListSet) {
	g.mu.Lock()
	all := slices.Collect(maps.Values(g.listeners))
	g.mu.Unlock()
	open := g.open()
	for i, l := range all {
		yield(i)
		news := g.newsFor(open, l.viewer, &l.reads, which)
		for _, change := range changes {
			if news&change.lists != 0 && l.lists.Has(change.lists) {
				raw := append([]byte(`{"jsonrpc":"2.0","method":"`+change.method+`","params":{"_meta":{`), l.tag...)
				l.queue.put(append(raw, `}}}`...), change.method)
			}
		}
	}
}
