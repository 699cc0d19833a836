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

// readers is what callers have subscribed to, or are about to: by the caller's id
// and the URI that it gave, where the resource was then. So a subscription ends
// where it began, whatever is listed meanwhile. Safe for concurrent use.
type readers struct {
	mu   sync.Mutex
	byID map[string]*reader
}

// reader is one caller. It is kept as long as there is something of it.
type reader struct {
	by    map[string]*subscription
	under int  // Subscribes under way
	left  bool // nothing of it is kept any more
}

// subscription is one of a caller's. It is another one after it was taken out.
type subscription struct {
	at    source
	under int  // Subscribes under way that are for it
	sure  bool // one of them has succeeded
}

// source is whose resource it is.
type source struct{ server, uri string }

func newReaders() *readers { return &readers{byID: make(map[string]*reader)} }

// begin is the beginning of a Subscribe of a caller's, and end its end.
func (all *readers) begin(id string) *reader {
	all.mu.Lock()
	defer all.mu.Unlock()
	this := all.byID[id]
	if this == nil {
		this = &reader{by: make(map[string]*subscription)}
		all.byID[id] = this
	}
	this.under++
	return this
}

func (all *readers) end(id string, this *reader) {
	all.mu.Lock()
	defer all.mu.Unlock()
	this.under--
	all.sweep(id, this)
}

// sweep forgets a caller of whom nothing is left. The mutex is held.
func (all *readers) sweep(id string, this *reader) {
	if !this.left && this.under == 0 && len(this.by) == 0 {
		delete(all.byID, id)
	}
}

// find returns where the resource is that a caller has subscribed to.
func (all *readers) find(this *reader, uri string) (source, bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if s := this.by[uri]; s != nil {
		return s.at, true
	}
	return source{}, false
}

// add enters a subscription that is about to be made.
func (all *readers) add(this *reader, uri string, at source) *subscription {
	all.mu.Lock()
	defer all.mu.Unlock()
	s := this.by[uri]
	if s == nil || s.at != at {
		s = &subscription{at: at}
		this.by[uri] = s
	}
	s.under++
	return s
}

// wish is what has become of a subscription while it was being made.
type wish uint8

const (
	wished  wish = iota // it is wanted as before
	taken               // it was taken out
	retaken             // so it was, and the caller has another to the same resource
	gone                // the caller has left
)

// settle says that a subscription was made, or not, and returns what has become
// of it.
func (all *readers) settle(this *reader, uri string, s *subscription, made bool) wish {
	all.mu.Lock()
	defer all.mu.Unlock()
	s.under--
	s.sure = s.sure || made
	switch {
	case this.left:
		return gone
	case this.by[uri] == s:
		if !s.sure && s.under == 0 {
			delete(this.by, uri)
		}
		return wished
	case this.has(s.at):
		return retaken
	}
	return taken
}

// has reports whether the caller has subscribed to a resource, by any URI. The
// mutex is held.
func (r *reader) has(at source) bool {
	for _, s := range r.by {
		if s.at == at {
			return true
		}
	}
	return false
}

// take takes a subscription out. It reports false if it was not there, or if the
// caller has subscribed to the same resource by another URI as well.
func (all *readers) take(id, uri string) (at source, last bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	this := all.byID[id]
	if this == nil || this.by[uri] == nil {
		return source{}, false
	}
	at = this.by[uri].at
	delete(this.by, uri)
	all.sweep(id, this)
	return at, !this.has(at)
}

// drop forgets a caller.
func (all *readers) drop(id string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if this := all.byID[id]; this != nil {
		this.left = true
		delete(all.byID, id)
	}
}

// Subscribe has the caller told of changes of the resource that it means by a
// URI, until Unsubscribe or Leave. The notifications come by the fleet's
// Options.Updated, with the server's own URI. Which resource is meant is found out
// as for a read, and waiting for the server takes no longer than its time limit.
// The error is a [*hub.Error]; see [Refusal].
//
// A Subscribe that is under way when the caller leaves, or unsubscribes, fails,
// and nothing of it is left. One that comes after Leave is a fault of the program.
func (p *Pipeline) Subscribe(ctx context.Context, caller *hub.Caller, viewer hub.Viewer, uri string) error {
	reader := p.readers.begin(caller.ID)
	defer p.readers.end(caller.ID, reader)
	r := &run{Request: Request{Caller: caller, Viewer: viewer}, verb: p.verbs[protocol.MethodResourcesRead], record: &hub.CallRecord{Time: time.Now()}, name: uri}
	at, again := p.readers.find(reader, uri)
	if again {
		if err := p.see(r); err != nil {
			return err
		}
		if _, ok := p.fleet.Server(at.server); !ok || !r.view.Has(at.server) {
			if err := p.Unsubscribe(ctx, caller, uri); err != nil { // it may be another's now
				return err
			}
			again = false
		}
	}
	if !again {
		if err := p.findResource(ctx, r); err != nil {
			return err
		}
		at = source{r.server.Key, r.own}
	}
	this := p.readers.add(reader, uri, at)
	err := p.ofSource(ctx, r, at, caller, p.fleet.Subscribe)
	became := p.readers.settle(reader, uri, this, err == nil)
	if err != nil || became == wished {
		return err
	}
	switch became {
	case gone:
		p.fleet.Leave(caller.ID)
	case taken:
		if err := p.unsubscribe(ctx, caller, at); err != nil {
			return err
		}
	}
	return hub.E(message.Cancelled, nil)
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
// Unsubscribe says that it has refused; nil if it says something else. What it has
// refused to the hub before, as the handshake, is no answer to a caller.
func Refusal(err error) *Result {
	refused, ok := errors.AsType[*upstream.RefusedError](err)
	if !ok {
		return nil
	}
	switch refused.Method() {
	case protocol.MethodSubscribe, protocol.MethodUnsubscribe, protocol.MethodListen:
	default:
		return nil
	}
	return &Result{Reply: &refused.Reply, Server: hub.AsError(err).Args["server"]}
}

// Unsubscribe undoes Subscribe. What is not subscribed to is left alone.
func (p *Pipeline) Unsubscribe(ctx context.Context, caller *hub.Caller, uri string) error {
	at, last := p.readers.take(caller.ID, uri)
	if !last {
		return nil
	}
	return p.unsubscribe(ctx, caller, at)
}

// unsubscribe has the server tell a caller no more of a resource.
func (p *Pipeline) unsubscribe(ctx context.Context, caller *hub.Caller, at source) error {
	err := p.ofSource(ctx, &run{record: &hub.CallRecord{Time: time.Now()}}, at, caller, p.fleet.Unsubscribe)
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
