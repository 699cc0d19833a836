// Package gateway holds the callers' side of MCP: sessions of the legacy era,
// the session-less requests of the modern one, and what is sent to callers
// without being asked. It speaks messages; the doors speak HTTP or whatever
// else.
package gateway

import (
	"bytes"
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Limits of the sessions, where Options leave them open.
const (
	DefaultMaxSessions   = 10_000
	DefaultIdle          = 30 * time.Minute
	DefaultQuestionLimit = 10 * time.Minute
)

// Options describe a gateway.
type Options struct {
	Call        *call.Pipeline
	Catalog     *catalog.Catalog
	Bus         *bus.Bus
	Log         *slog.Logger
	ServerInfo  []byte // JSON object: name and version of the hub
	MaxSessions int
	Idle        time.Duration // a session ends after so long without a request or open stream

	// QuestionLimit is how long a caller may take to answer a server's question;
	// 0 for DefaultQuestionLimit.
	QuestionLimit time.Duration

	// Language is that in which callers are told things that do not say what they
	// want; nil for English. It is asked each time.
	Language func() message.Lang
}

// Gateway is the hub as an MCP server. Safe for concurrent use.
type Gateway struct {
	opt Options

	elicitations elicitations
	history      history
	levels       levels
	stray        atomic.Uint64 // answers of callers that fitted no question

	mu        sync.Mutex
	sessions  map[string]*Session
	listeners map[string]*listener // by the id that servers know them by
	closed    chan struct{}        // closed when the hub stops
}

// New returns a gateway; Run keeps it.
func New(opt Options) *Gateway {
	if opt.MaxSessions <= 0 {
		opt.MaxSessions = DefaultMaxSessions
	}
	if opt.Idle <= 0 {
		opt.Idle = DefaultIdle
	}
	if opt.QuestionLimit <= 0 {
		opt.QuestionLimit = DefaultQuestionLimit
	}
	if opt.Language == nil {
		opt.Language = func() message.Lang { return message.English }
	}
	return &Gateway{
		opt: opt, sessions: make(map[string]*Session), listeners: make(map[string]*listener),
		closed: make(chan struct{}),
	}
}

// Run passes changes of the catalog on to callers and ends idle sessions,
// until ctx ends; then all streams to callers end.
func (g *Gateway) Run(ctx context.Context) error {
	events := g.opt.Bus.Subscribe(64)
	defer events.Close()
	sweep := time.NewTicker(min(max(g.opt.Idle/30, time.Second), keepRead))
	defer sweep.Stop()
	// Devices come and go with each conversation that somebody has with them.
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			close(g.closed)
			return nil
		case now := <-sweep.C:
			g.expire(now)
			g.history.sweep(now)
		case <-settled:
			settled = nil
			g.announce(hub.ListTools)
			g.announceListeners(hub.ListTools)
		case e := <-events.C():
			which := changedBy(e)
			if changed, ok := e.(hub.ToolsChanged); ok && changed.Devices {
				which = 0
				if settled == nil {
					settled = time.After(deviceDelay)
				}
			}
			if events.Dropped() > 0 {
				which = hub.ListAll // an event lost to a full queue may have been of any
			}
			if which.Has(hub.ListTools) {
				settled = nil // they are told of with the others
			}
			if which != 0 {
				g.announce(which)
				g.announceListeners(which)
			}
		}
	}
}

// deviceDelay is how long callers are not told that devices have come or gone, as they
// do several times a minute.
const deviceDelay = 5 * time.Second

// changedBy is which lists an event says are other ones than before.
func changedBy(e hub.Event) hub.ListSet {
	switch e.(type) {
	case hub.ToolsChanged:
		return hub.ListTools
	case hub.ResourcesChanged:
		return hub.ListResources | hub.ListTemplates
	case hub.PromptsChanged:
		return hub.ListPrompts
	}
	return 0
}

// Caller is who sent a request, and in which conversation.
type Caller struct {
	Principal hub.Principal
	Viewer    hub.Viewer // through which view it looks
	Era       protocol.Era
	Session   *Session // legacy era only
	Level     string   // modern era: the log level of this request, "" for none
	Accept    string   // the Accept-Language of its request or its connection; "" if it sent none

	// Device says that errors have in their data what devices look for there:
	// original_error, method and timestamp.
	Device bool

	// Mirrored returns the values of a header of the request, for callers that
	// mirror arguments into headers; nil for others.
	Mirrored func(header string) []string
}

// Answer is the response to one request: Raw with the edits made.
type Answer struct {
	Raw   []byte
	Edits []wire.Edit
	Code  int  // of the JSON-RPC error; 0 for a success
	Own   bool // nobody else refers to Raw: once sent, its buffer may be used again
}

// Out is the way of notifications and questions to the caller of one request; it
// is done in order, and ended by the door. Safe for concurrent use.
//
// One that also has a method Stream() error is asked by it, before a question,
// whether anything but the response reaches the caller: if it never does, the
// error is an [errors.ErrUnsupported]; any other says that the caller is gone.
type Out interface {
	Notify(raw []byte)
}

// Request answers one request of a caller; what comes before the answer goes
// to out. A message that is no request is a programming error. A panic on the
// way is logged and answered as an internal error: it is one request's, and
// not each of them runs in a goroutine of net/http, which would contain it.
func (g *Gateway) Request(ctx context.Context, c *Caller, m *wire.Message, out Out) Answer {
	answer, err := contained(g, func() (Answer, error) { return g.request(ctx, c, m, out) })
	if err != nil {
		return g.Fault(c, m, hub.AsError(err))
	}
	return answer
}

// contained has a panic logged and returned as an internal error.
func contained[T any](g *Gateway, do func() (T, error)) (got T, err error) {
	defer func() {
		if p := recover(); p != nil {
			g.opt.Log.Error("a request made the hub panic", "panic", p, "stack", string(debug.Stack()))
			err = hub.E(message.Internal, nil)
		}
	}()
	return do()
}

func (g *Gateway) request(ctx context.Context, c *Caller, m *wire.Message, out Out) (Answer, error) {
	name := m.MethodName()
	method, ok := protocol.LookupMethod(name, c.Era)
	if !ok || method.Notification {
		return Answer{}, unknownMethod(name)
	}
	if err := checkParams(m); err != nil {
		return Answer{}, err
	}
	switch method.Stage {
	case protocol.StageCall:
		return g.call(ctx, c, m, out)
	case protocol.StageCatalog:
		return g.list(ctx, c, m, name)
	}
	switch name {
	case protocol.MethodPing:
		return result(m, []byte("{}")), nil
	case protocol.MethodDiscover:
		return g.discover(c, m)
	case protocol.MethodSetLevel:
		return g.setLevel(c, m)
	case protocol.MethodShutdown:
		c.Session.Shutdown()
		return result(m, []byte("{}")), nil
	case protocol.MethodSubscribe:
		return g.subscribe(ctx, c, m)
	case protocol.MethodUnsubscribe:
		return g.unsubscribe(ctx, c, m)
	}
	// initialize and subscriptions/listen are conversations of their own: the
	// door starts them by Initialize and Listen, never within another one.
	return Answer{}, unknownMethod(name)
}

func (g *Gateway) call(ctx context.Context, c *Caller, m *wire.Message, out Out) (Answer, error) {
	req := &call.Request{
		Principal: c.Principal, Viewer: c.Viewer, Message: canonical(m), Level: c.Level, Mirrored: c.Mirrored,
		Lang:     g.Language(c.Viewer, c.Accept),
		Exchange: &exchange{gateway: g, caller: c, out: out},
		Forms:    c.Era == protocol.Modern && forms(m),
	}
	if s := c.Session; s != nil {
		if s.gone.Load() {
			return Answer{}, hub.E(message.SessionUnknown, nil)
		}
		req.Session, req.SessionRef, req.Level, req.Caller = s.id, s.ref, s.Level(), g.hubCaller(s)
		defer func() {
			if s.gone.Load() {
				g.opt.Call.Leave(s.id) // the call may have begun just after the session had left
			}
		}()
	}
	res, err := g.opt.Call.Do(ctx, req)
	if err != nil {
		return Answer{}, err
	}
	return g.translate(c, m, res)
}

// translate turns a server's answer into one for the caller.
func (g *Gateway) translate(c *Caller, m *wire.Message, res *call.Result) (Answer, error) {
	reply := &res.Message
	edits := make([]wire.Edit, 0, 4+len(res.Edits))
	edits = append(append(edits, wire.Replace(reply.ID, m.ID.Of(m.Raw))), res.Edits...)
	if reply.Kind == wire.Failure {
		answer := relayedFault(reply, edits, res.Era, c.Era)
		if answer.Code == protocol.CodeElicitation && c.Session != nil {
			g.required(c.Session, res.Server, reply)
		}
		return answer, nil
	}
	if c.Era == protocol.Legacy && protocol.KindOf(reply, res.Era) != protocol.ResultComplete {
		return Answer{}, foreign(res.Era, c.Era)
	}
	return Answer{
		Raw: reply.Raw, Own: true,
		Edits: protocol.ResultEdits(edits, reply, m.MethodName(), res.Era, c.Era, g.opt.ServerInfo),
	}, nil
}

// Notification takes a notification of a caller. Unknown ones are ignored, as
// JSON-RPC has it, and so are all of the modern era: over HTTP its callers have
// nothing to tell.
func (g *Gateway) Notification(c *Caller, m *wire.Message) {
	s := c.Session
	if s == nil {
		return
	}
	defer s.Enter()() // who has something to tell is there
	switch name := m.MethodName(); name {
	case protocol.NotificationCancelled:
		if id := m.Member("requestId"); id.Exists() {
			g.opt.Call.Calls().Cancel(call.Key{Session: s.id, ID: RequestKey(id.Of(m.Raw))}, &hub.Cancellation{Raw: bytes.Clone(m.Raw)})
		}
	case protocol.NotificationProgress:
		g.progressed(s, m)
	case protocol.NotificationRoots:
		g.opt.Call.Tell(s.id, name, m.Raw)
	}
}

// RequestKey is the same for two raw ids exactly if they are the same id:
// strings are compared decoded, numbers as they were written.
func RequestKey(id []byte) string {
	if escaped(id) {
		text, _ := wire.String(id, wire.Value(id))
		id = wire.AppendString(nil, text)
	}
	return string(id)
}

func escaped(id []byte) bool { return bytes.IndexByte(id, '\\') >= 0 }

// canonical returns m with its id written as [RequestKey] has it, since the
// registry knows calls by the bytes of their ids. The server never sees it.
func canonical(m *wire.Message) *wire.Message {
	id := m.ID.Of(m.Raw)
	if !escaped(id) {
		return m
	}
	plain, err := wire.Scan(wire.Splice(m.Raw, wire.Replace(m.ID, []byte(RequestKey(id)))), wire.Limits{})
	if err != nil {
		panic(err) // m was scanned, and an id is an id
	}
	return &plain
}

// result is the response to m with the given result, which is not copied.
func result(m *wire.Message, body []byte) Answer {
	id := m.ID.Of(m.Raw)
	head := make([]byte, 0, 40+len(id))
	head = append(head, `{"jsonrpc":"2.0","id":`...)
	head = append(head, id...)
	head = append(head, `,"result":`...)
	return Answer{Raw: body, Edits: []wire.Edit{
		{Text: head},
		{Start: len(body), End: len(body), Text: []byte{'}'}},
	}}
}

// checkParams checks what every method has in common: params is an object, and
// so is _meta in it.
func checkParams(m *wire.Message) error {
	if m.Params.Exists() && m.Raw[m.Params.Start] != '{' {
		return invalid(`"params" has to be an object`)
	}
	if meta := m.Member("_meta"); meta.Exists() && m.Raw[meta.Start] != '{' {
		return invalid(`"_meta" has to be an object`)
	}
	return nil
}
