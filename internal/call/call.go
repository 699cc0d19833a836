// Package call is the one way to call: every verb of every caller that
// reaches a server passes its stages. It also keeps the registry of running
// calls, by which they are cancelled.
package call

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
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

// Result is the answer to a call: Message with the edits made.
type Result struct {
	Message wire.Message   // Response or Failure, with an id of no meaning to the caller; nobody else refers to its bytes
	Edits   []wire.Edit    // of URIs in it that callers know by another form; they touch neither id, resultType nor a _meta
	Era     protocol.Era   // of the server; Legacy where the hub has answered itself
	Server  string         // that answered, by its key; "" for the hub itself
	Entry   *catalog.Entry // the tool that was called; nil for what is no tool of a server's
}

// Options is what a [Pipeline] is made of.
type Options struct {
	Catalog *catalog.Catalog
	Fleet   *fleet.Fleet // behind the catalog
	Bus     *bus.Bus     // gets one [hub.CallEnded] for each call of a tool; nil tells nobody
	Log     *slog.Logger

	// Observe is told of each call of a tool that ended, before its caller is.
	// Nothing is left out, as may happen on a bus. It must not block; nil is
	// nobody.
	Observe func(hub.CallRecord)

	// AllowPrivateLinks has links in results also fetched from addresses that are
	// not public, for callers that cannot read resources; see [hub.Profile].
	AllowPrivateLinks bool
}

// Pipeline carries calls through the stages. Safe for concurrent use.
type Pipeline struct {
	catalog  *catalog.Catalog
	fleet    *fleet.Fleet
	bus      *bus.Bus
	observe  func(hub.CallRecord)
	calls    *Registry
	log      *slog.Logger
	verbs    map[string]*verb
	cache    *cache
	mentions *mentions
	results  *results
	web      *web
	readers  *readers
}

// New returns a pipeline.
func New(opt Options) *Pipeline {
	p := &Pipeline{
		catalog: opt.Catalog, fleet: opt.Fleet, bus: opt.Bus, observe: opt.Observe, calls: NewRegistry(), log: opt.Log,
		cache: newCache(), mentions: newMentions(), results: newResults(), web: newWeb(opt.AllowPrivateLinks), readers: newReaders(),
	}
	p.verbs = p.table()
	return p
}

// Calls is the registry of the calls under way.
func (p *Pipeline) Calls() *Registry { return p.calls }

// SetLevel has servers log from the level on.
func (p *Pipeline) SetLevel(level string) { p.fleet.SetLevel(level) }

// run is one call on its way through the stages.
type run struct {
	Request
	verb  *verb
	began time.Time
	end   context.CancelCauseFunc // of the call
	clock clock

	name  string // of the tool or prompt, or the URI, as the caller put it
	named bool   // it is a string

	view   *catalog.View  // in which it is looked for
	server *hub.Server    // whose it is
	own    string         // its name or URI at the server
	entry  *catalog.Entry // of a tool

	up       upstream.Request
	stands   *standing // of what may be kept of a resource that is read; nil if nothing may
	prefixed bool      // the caller knows the server's URIs in the prefixed form
	reply    *upstream.Reply
	edits    []wire.Edit // in the reply
}

// Do carries out one call. The error is a [*hub.Error]; an error that the
// server answered with is a Result. Do returns when the call has ended, for
// whatever reason: after that nothing reaches the exchange any more.
func (p *Pipeline) Do(ctx context.Context, req *Request) (*Result, error) {
	r := &run{Request: *req, began: time.Now()}
	r.verb = p.verbs[req.Message.MethodName()]
	if r.verb == nil {
		return nil, hub.E(message.MethodUnknown, nil, "method", message.Quote(req.Message.MethodName()))
	}
	r.read()
	err := p.do(ctx, r)
	if r.verb.recorded {
		p.record(r, err)
	}
	if err != nil {
		return nil, err
	}
	res := &Result{Message: r.reply.Message, Edits: r.edits, Era: r.reply.Era, Entry: r.entry}
	if r.server != nil {
		res.Server = r.server.Key
	}
	return res, nil
}

// read finds what the request names.
func (r *run) read() {
	r.name, r.named = wire.String(r.Message.Raw, r.verb.names(r.Message))
}

func (p *Pipeline) do(ctx context.Context, r *run) error {
	ctx, end, done, err := p.calls.begin(ctx, Key{r.Session, string(r.Message.ID.Of(r.Message.Raw))})
	if err != nil {
		return err
	}
	defer done()
	r.end = end
	for _, s := range r.verb.before {
		if err := s(ctx, r); err != nil || r.reply != nil {
			return err
		}
	}
	for _, s := range r.verb.stages {
		if err := s(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// attempts bounds how often a call is sent. It is sent again only if the
// server provably did not get it (design D6).
const attempts = 3

// invoke sends the call to its server, within the server's time limit, unless
// there is an answer already.
func (p *Pipeline) invoke(ctx context.Context, r *run) error {
	if r.reply != nil {
		return nil
	}
	c := &r.clock
	c.Exchange, c.server, c.end = r.Exchange, r.server, r.end
	c.start(r.server.Timeout - time.Since(r.began))
	defer c.stop()
	for n := 1; ; n++ {
		err := p.send(ctx, r)
		if err == nil || n == attempts || ctx.Err() != nil || !errors.Is(err, transport.ErrNotSent) {
			if err != nil {
				p.log.Info("a call failed", "server", r.server.Key, "method", r.verb.method, "name", r.label(), "attempts", n, "took", time.Since(r.began), "error", err)
			}
			return err
		}
	}
}

// label is what the log says of what was asked for. The user in a URI, and what
// follows a "?" or "#" in it, may be a secret.
func (r *run) label() string {
	name := r.own
	if at := strings.IndexAny(name, "?#"); at >= 0 {
		name = name[:at]
	}
	if scheme, rest, ok := strings.Cut(name, "://"); ok {
		authority, path, _ := strings.Cut(rest, "/")
		if at := strings.LastIndex(authority, "@"); at >= 0 {
			name = scheme + "://" + authority[at+1:] + "/" + path
		}
	}
	return message.Quote(name)
}

// send sends the call once.
func (p *Pipeline) send(ctx context.Context, r *run) (err error) {
	use, err := p.fleet.Acquire(ctx, r.server.Key, r.Caller)
	if err != nil {
		return err
	}
	defer func() { use.Done(err) }() // also if the exchange panics: the server is not to blame
	if err = p.offered(r); err != nil {
		return err
	}
	r.reply, err = use.Conn().Do(ctx, &r.up, &r.clock)
	if r.stands != nil {
		r.stands.conn = use.Conn().Done()
	}
	return err
}

// offered is an error if the tool has been hidden from the caller since it was
// looked up, as it may be while the call waits for the server.
func (p *Pipeline) offered(r *run) error {
	if r.entry == nil {
		return nil
	}
	view, err := p.catalog.View(r.Viewer)
	if err != nil || view == r.view {
		return err
	}
	now := view.Snapshot()
	server, tool := r.server.Key, r.entry.Tool.Name
	if !now.Listed(server) || view.Offers(server, tool) {
		return nil
	}
	if slices.Contains(now.Changed(server), tool) {
		return drifted(r.entry)
	}
	return toolUnknown(r)
}

// within bounds a call by the time limit of a server, from its beginning.
func (r *run) within(ctx context.Context, server *hub.Server) (context.Context, context.CancelFunc) {
	limit := hub.E(message.Timeout, nil, "server", server.Key, "limit", server.Timeout.String())
	return context.WithDeadlineCause(ctx, r.began.Add(server.Timeout), limit)
}
