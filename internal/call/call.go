// Package call is the one way to call: every verb of every caller that
// reaches a server passes its stages. It also keeps the registry of running
// calls, by which they are cancelled.
package call

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Request is one call as its caller put it.
type Request struct {
	Principal hub.Principal
	Session   string        // the caller's conversation, "" if it has none; with the message's id it names the call
	Caller    *hub.Caller   // whose conversation it is, for servers that have connections by caller; nil for nobody's
	Viewer    hub.Viewer    // through which view the caller looks
	Message   *wire.Message // a scanned request of a method in [protocol.StageCall]
	Level     string        // log level that the caller wants, "" for none
	Exchange  hub.Exchange

	// Mirrored returns the values of a header of the request, where the caller
	// has to mirror arguments into headers; nil elsewhere.
	Mirrored func(header string) []string
}

// Result is a server's answer.
type Result struct {
	Message wire.Message   // Response or Failure, with an id of no meaning to the caller
	Era     protocol.Era   // of the server
	Entry   *catalog.Entry // what was called
}

// Options is what a [Pipeline] is made of.
type Options struct {
	Catalog *catalog.Catalog
	Fleet   *fleet.Fleet // behind the catalog
	Bus     *bus.Bus     // gets one [hub.CallEnded] for each call; nil tells nobody
	Log     *slog.Logger

	// Observe is told of each call that ended, before its caller is. Nothing
	// is left out, as may happen on a bus. It must not block; nil is nobody.
	Observe func(hub.CallRecord)
}

// Pipeline carries calls through the stages. Safe for concurrent use.
type Pipeline struct {
	catalog *catalog.Catalog
	fleet   *fleet.Fleet
	bus     *bus.Bus
	observe func(hub.CallRecord)
	calls   *Registry
	log     *slog.Logger
}

// New returns a pipeline.
func New(opt Options) *Pipeline {
	return &Pipeline{catalog: opt.Catalog, fleet: opt.Fleet, bus: opt.Bus, observe: opt.Observe, calls: NewRegistry(), log: opt.Log}
}

// Calls is the registry of the calls under way.
func (p *Pipeline) Calls() *Registry { return p.calls }

// Subscribe has the caller told of changes of the resource that it means by a
// URI, until Unsubscribe or Leave. The notifications come by the fleet's
// Options.Updated.
func (p *Pipeline) Subscribe(ctx context.Context, caller *hub.Caller, viewer hub.Viewer, uri string) error {
	return hub.E(message.ResourceUnknown, nil, "uri", message.Quote(uri))
}

// Unsubscribe undoes Subscribe. What is not subscribed to is left alone.
func (p *Pipeline) Unsubscribe(ctx context.Context, caller *hub.Caller, viewer hub.Viewer, uri string) error {
	return nil
}

// Leave forgets a caller whose conversation has ended, by its id: see
// [fleet.Fleet.Leave]. Its calls are not its concern.
func (p *Pipeline) Leave(id string) { p.fleet.Leave(id) }

// Tell sends a notification of a caller's, which has the method, to the servers
// to which it has connections of its own.
func (p *Pipeline) Tell(id, method string, raw []byte) { p.fleet.Tell(id, method, raw) }

// SetLevel has servers log from the level on.
func (p *Pipeline) SetLevel(level string) { p.fleet.SetLevel(level) }

// run is one call on its way through the stages.
type run struct {
	*Request
	began time.Time
	name  string // of the tool, as the caller put it
	named bool   // it is a string
	seen  *catalog.Snapshot
	entry *catalog.Entry // in what was seen
	up    upstream.Request
	reply *upstream.Reply
}

// stage is one step of the pipeline. An error ends the call.
type stage func(ctx context.Context, r *run) error

// Do carries out one call. The error is a [*hub.Error]; an error that the
// server answered with is a Result. Do returns when the call has ended, for
// whatever reason: after that nothing reaches the exchange any more.
func (p *Pipeline) Do(ctx context.Context, req *Request) (*Result, error) {
	r := &run{Request: req, began: time.Now()}
	r.name, r.named = wire.String(req.Message.Raw, req.Message.Member("name"))
	err := p.do(ctx, r)
	p.record(r, err)
	if err != nil {
		return nil, err
	}
	return &Result{Message: r.reply.Message, Era: r.reply.Era, Entry: r.entry}, nil
}

func (p *Pipeline) do(ctx context.Context, r *run) error {
	ctx, done, err := p.calls.begin(ctx, Key{r.Session, string(r.Message.ID.Of(r.Message.Raw))})
	if err != nil {
		return err
	}
	defer done()
	for _, s := range [...]stage{p.resolve, p.compare, p.invoke} {
		if err := s(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// attempts bounds how often a call is sent. It is sent again only if the
// server provably did not get it (design D6).
const attempts = 3

// invoke sends the call to its server, within the server's time limit.
func (p *Pipeline) invoke(ctx context.Context, r *run) error {
	server := &r.entry.Server
	ctx, cancel := r.within(ctx, server)
	defer cancel()
	for n := 1; ; n++ {
		err := p.send(ctx, r)
		if err == nil || n == attempts || ctx.Err() != nil || !errors.Is(err, transport.ErrNotSent) {
			if err != nil {
				p.log.Info("a call failed", "server", server.Key, "tool", r.entry.Tool.Name, "attempts", n, "took", time.Since(r.began), "error", err)
			}
			return err
		}
	}
}

// send sends the call once.
func (p *Pipeline) send(ctx context.Context, r *run) (err error) {
	use, err := p.fleet.Acquire(ctx, r.entry.Server.Key, r.Caller)
	if err != nil {
		return err
	}
	defer func() { use.Done(err) }() // also if the exchange panics: the server is not to blame
	if err = p.offered(r); err != nil {
		return err
	}
	r.reply, err = use.Conn().Do(ctx, &r.up, r.Exchange)
	return err
}

// offered is an error if the tool has been hidden since it was looked up, as it
// may be while the call waits for the server.
func (p *Pipeline) offered(r *run) error {
	now := p.catalog.Snapshot()
	server, tool := r.entry.Server.Key, r.entry.Tool.Name
	if now == r.seen || !now.Listed(server) || now.Offers(server, tool) {
		return nil
	}
	if err := changed(now, r.entry.Exposed); err != nil {
		return err
	}
	return unknown(r)
}

// within bounds a call by the time limit of its server, from its beginning.
func (r *run) within(ctx context.Context, server *hub.Server) (context.Context, context.CancelFunc) {
	limit := hub.E(message.Timeout, nil, "server", server.Key, "limit", server.Timeout.String())
	return context.WithDeadlineCause(ctx, r.began.Add(server.Timeout), limit)
}
