package call

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// readers is what callers have subscribed to: by the caller's id and the URI that
// it gave, where the resource was then. So a subscription ends where it began,
// whatever is listed meanwhile. Safe for concurrent use.
type readers struct {
	mu   sync.Mutex
	byID map[string]map[string]source
}

// source is whose resource it is.
type source struct{ server, uri string }

func newReaders() *readers { return &readers{byID: make(map[string]map[string]source)} }

// add enters a subscription.
func (all *readers) add(id, uri string, at source) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.byID[id] == nil {
		all.byID[id] = make(map[string]source)
	}
	all.byID[id][uri] = at
}

// find returns where the resource is that a caller has subscribed to.
func (all *readers) find(id, uri string) (source, bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	at, ok := all.byID[id][uri]
	return at, ok
}

// take takes a subscription out. It reports false if it was not there, or if the
// caller has subscribed to the same resource by another URI as well.
func (all *readers) take(id, uri string) (at source, last bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	at, last = all.byID[id][uri]
	if delete(all.byID[id], uri); len(all.byID[id]) == 0 {
		delete(all.byID, id)
	}
	for _, other := range all.byID[id] {
		last = last && other != at
	}
	return at, last
}

// drop takes out all subscriptions of a caller.
func (all *readers) drop(id string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.byID, id)
}

// Subscribe has the caller told of changes of the resource that it means by a
// URI, until Unsubscribe or Leave. The notifications come by the fleet's
// Options.Updated, with the server's own URI. Which resource is meant is found out
// as for a read, and waiting for the server takes no longer than its time limit.
// The error is a [*hub.Error]; see [Refusal].
//
// A Subscribe that is under way when the caller leaves fails, and nothing of it
// is left. One that comes after Leave is a fault of the program.
func (p *Pipeline) Subscribe(ctx context.Context, caller *hub.Caller, viewer hub.Viewer, uri string) error {
	at, again := p.readers.find(caller.ID, uri)
	r := &run{Request: Request{Caller: caller, Viewer: viewer}, verb: p.verbs[protocol.MethodResourcesRead], began: time.Now(), name: uri}
	if !again {
		if err := p.findResource(ctx, r); err != nil {
			return err
		}
		at = source{r.server.Key, r.own}
		p.readers.add(caller.ID, uri, at)
	}
	err := p.ofSource(ctx, r, at, caller, p.fleet.Subscribe)
	if err != nil {
		if !again {
			p.readers.take(caller.ID, uri)
		}
		return err
	}
	if _, ok := p.readers.find(caller.ID, uri); !ok {
		p.fleet.Leave(caller.ID)
		return hub.E(message.Cancelled, nil)
	}
	return nil
}

// ofSource does something to a resource at its server, within that one's time
// limit.
func (p *Pipeline) ofSource(ctx context.Context, r *run, at source, caller *hub.Caller, do func(ctx context.Context, server, uri string, caller *hub.Caller) error) error {
	if server, ok := p.fleet.Server(at.server); ok {
		var cancel context.CancelFunc
		ctx, cancel = r.within(ctx, &server)
		defer cancel()
	}
	return do(ctx, at.server, at.uri, caller)
}

// Refusal is what a server has answered with, if the error of Subscribe or
// Unsubscribe says that it has refused; nil if it says something else.
func Refusal(err error) *Result {
	refused, ok := errors.AsType[*upstream.RefusedError](err)
	if !ok {
		return nil
	}
	return &Result{Message: refused.Reply.Message, Era: refused.Reply.Era}
}

// Unsubscribe undoes Subscribe. What is not subscribed to is left alone.
func (p *Pipeline) Unsubscribe(ctx context.Context, caller *hub.Caller, uri string) error {
	at, last := p.readers.take(caller.ID, uri)
	if !last {
		return nil
	}
	err := p.ofSource(ctx, &run{began: time.Now()}, at, caller, p.fleet.Unsubscribe)
	if hub.IsCode(err, message.ServerUnknown) {
		return nil // its subscriptions went with it
	}
	return err
}

// Leave forgets a caller whose conversation has ended, by its id: see
// [fleet.Fleet.Leave]. Its calls are not its concern.
func (p *Pipeline) Leave(id string) {
	p.readers.drop(id)
	p.fleet.Leave(id)
}

// Tell sends a notification of a caller's, which has the method, to the servers
// to which it has connections of its own.
func (p *Pipeline) Tell(id, method string, raw []byte) { p.fleet.Tell(id, method, raw) }
