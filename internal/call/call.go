// Package call is the one way to call: every verb of every caller that
// reaches a server passes its stages. It also keeps the registry of running
// calls, by which they are cancelled.
package call

import (
	"context"
	"errors"
	"log/slog"
	"time"

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
	Message   *wire.Message // a scanned tools/call request
	Level     string        // log level that the caller wants, "" for none
	Exchange  hub.Exchange

	// Mirrored returns the values of a header of the request, where the caller
	// has to mirror arguments into headers; nil elsewhere.
	Mirrored func(header string) []string
}

// Result is a server's answer.
type Result struct {
	Message wire.Message // Response or Failure, with an id of no meaning to the caller
	Era     protocol.Era // of the server
}

// Pipeline carries calls through the stages. Safe for concurrent use.
type Pipeline struct {
	catalog *catalog.Catalog
	fleet   *fleet.Fleet
	calls   *Registry
	log     *slog.Logger
}

// New returns a pipeline over a catalog and the fleet behind it.
func New(c *catalog.Catalog, f *fleet.Fleet, log *slog.Logger) *Pipeline {
	return &Pipeline{catalog: c, fleet: f, calls: NewRegistry(), log: log}
}

// Calls is the registry of the calls under way.
func (p *Pipeline) Calls() *Registry { return p.calls }

// SetLevel has servers log from the level on.
func (p *Pipeline) SetLevel(level string) { p.fleet.SetLevel(level) }

// run is one call on its way through the stages.
type run struct {
	*Request
	entry *catalog.Entry
	up    upstream.Request
	reply *upstream.Reply
}

// stage is one step of the pipeline. An error ends the call.
type stage func(ctx context.Context, r *run) error

// Do carries out one call. The error is a [*hub.Error]; an error that the
// server answered with is a Result. Do returns when the call has ended, for
// whatever reason: after that nothing reaches the exchange any more.
func (p *Pipeline) Do(ctx context.Context, req *Request) (*Result, error) {
	ctx, done, err := p.calls.begin(ctx, Key{req.Session, string(req.Message.ID.Of(req.Message.Raw))})
	if err != nil {
		return nil, err
	}
	defer done()
	r := &run{Request: req}
	for _, s := range [...]stage{p.resolve, p.compare, p.invoke} {
		if err := s(ctx, r); err != nil {
			return nil, err
		}
	}
	return &Result{Message: r.reply.Message, Era: r.reply.Era}, nil
}

// resolve finds the server and the tool that a name stands for.
func (p *Pipeline) resolve(_ context.Context, r *run) error {
	m := r.Message
	at := m.Member("name")
	name, ok := wire.String(m.Raw, at)
	if !ok {
		return hub.E(message.ParamsInvalid, nil, "detail", `"name" has to be a string`)
	}
	// Clients in several languages say null for none; that is the server's to
	// judge.
	if args := m.Member("arguments"); args.Exists() && m.Raw[args.Start] != '{' && m.Raw[args.Start] != 'n' {
		return hub.E(message.ParamsInvalid, nil, "detail", `"arguments" has to be an object`)
	}
	entry, ok := p.catalog.Snapshot().Resolve(name)
	if !ok {
		return hub.E(message.ToolUnknown, nil, "tool", message.Quote(name))
	}
	r.entry = entry
	r.up = upstream.Request{Message: m, Name: entry.Tool.Name, Headers: entry.Tool.Headers, Level: r.Level}
	if entry.Tool.Name != name {
		r.up.Edits = []wire.Edit{wire.Replace(at, wire.AppendString(nil, entry.Tool.Name))}
	}
	return nil
}

// attempts bounds how often a call is sent. It is sent again only if the
// server provably did not get it (design D6).
const attempts = 3

// invoke sends the call to its server, within the server's time limit.
func (p *Pipeline) invoke(ctx context.Context, r *run) error {
	server := r.entry.Server
	limit := hub.E(message.Timeout, nil, "server", server.Key, "limit", server.Timeout.String())
	ctx, cancel := context.WithTimeoutCause(ctx, server.Timeout, limit)
	defer cancel()
	began := time.Now()
	for n := 1; ; n++ {
		conn, err := p.fleet.Conn(ctx, server.Key)
		if err != nil {
			return err
		}
		r.reply, err = conn.Do(ctx, &r.up, r.Exchange)
		if err == nil {
			return nil
		}
		if n == attempts || ctx.Err() != nil || !errors.Is(err, transport.ErrNotSent) {
			p.log.Info("a call failed", "server", server.Key, "tool", r.entry.Tool.Name, "attempts", n, "took", time.Since(began), "error", err)
			return err
		}
	}
}
