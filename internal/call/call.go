// Package call is the one way to call: every verb of every caller that
// reaches a server passes its stages. It also keeps the registry of running
// calls, by which they are cancelled.
package call

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Request is one call as its caller put it.
type Request struct {
	Principal  hub.Principal
	Session    string        // the caller's conversation, "" if it has none; with the message's id it names the call
	SessionRef string        // names that conversation in records and states; "" for [hub.SessionRef] of Session
	Caller     *hub.Caller   // whose conversation it is, for servers that have connections by caller; nil for nobody's
	Viewer     hub.Viewer    // through which view the caller looks
	Message    *wire.Message // a scanned request of a method in [protocol.StageCall]
	Level      string        // log level that the caller wants, "" for none
	Lang       message.Lang  // in which the caller is told how the call gets on; "" is English
	Exchange   hub.Exchange

	// Timeout ends the call earlier than its server's limit does; 0 for no
	// earlier. A longer one changes nothing.
	Timeout time.Duration
	// MaxRetries takes the place of what is configured; nil for that. At most 10
	// count, and a negative one is 0.
	MaxRetries *int
	// Retrier is who has the call made once more, as they are now: the principal, or
	// somebody else for them; nil for a new call. Both have to have the right to it, the rules are held
	// against both, and neither decides about it.
	Retrier *hub.Principal
	// Again is the call that is made once more by hand, of a
	// [callstate.Retry]; nil for a new one.
	Again *callstate.Call
	// UserMessage is what the session's state shows while the call is under way;
	// "" for the usual text.
	UserMessage string

	// AnswerBy is when the caller is answered at the latest, by [Pipeline.DoBy]: it
	// waits for a person no longer; zero for any time. The call does not end by it.
	AnswerBy time.Time
	equal    lateKey // by what it is equal to a call that went on; the zero key for none by DoBy
	joined   *task   // the equal call that it has waited for in place of being made; nil for none

	// Offered says which of the tools of its view the caller is offered: the call goes
	// to no other, also where several go by one name. Nil is all.
	Offered func(*catalog.Entry) bool

	// Forms says that the caller takes a form in the place of an answer, and makes the
	// call once more with what was said to it (2026-07-28, "Multi Round-Trip Requests").
	Forms bool

	// Mirrored returns the values of a header of the request, where the caller
	// has to mirror arguments into headers; nil elsewhere.
	Mirrored func(header string) []string
}

// Result is the answer to a call: Message with the edits made.
type Result struct {
	// Message is a Response or a Failure, with an id of no meaning to the caller;
	// nobody else refers to its bytes. Era is Legacy where the hub has answered
	// itself.
	*upstream.Reply

	Edits  []wire.Edit    // of URIs in Message that callers know by another form; they touch neither id, resultType nor a _meta
	Task   string         // of a call that goes on, what its result is asked for by; "" if it has ended
	Server string         // that answered, by its key; "" for the hub itself
	Entry  *catalog.Entry // the tool that was called; nil for what is no tool of a server's
	Fault  *hub.Error     // what Message tells as a tool's result where the hub has refused the call; nil where it has not

	asked  *wire.Message // the call as it was made
	agreed bool          // somebody had agreed to it
}

// viewer is through which view the caller looks. Nobody sees what is another tenant's
// by a door that forgot to say whose it is.
func (req *Request) viewer() hub.Viewer {
	v := req.Viewer
	v.Tenant, v.Scope = req.Principal.Tenant, req.Principal.Scope
	v.Person = v.Person && req.Principal.Role.May(hub.MayOperate)
	return v
}

// Options is what a [Pipeline] is made of.
type Options struct {
	Catalog *catalog.Catalog
	Fleet   *fleet.Fleet // behind the catalog
	Bus     *bus.Bus     // gets one [hub.CallEnded] for each call of a tool; nil tells nobody
	Log     *slog.Logger

	// Audit has each call recorded, but for completions: one that may change
	// something before it is sent, and then its outcome. Nil records nothing.
	Audit *audit.Log
	// States follows the calls of tools for those who watch a session; nil does not.
	States *callstate.Tracker

	// Policy is what the rules say to calls; it is asked for each time. Nil, also as
	// what it returns, judges nothing.
	Policy func() *policy.Policy
	// Approvals is where people are asked to agree to calls. Nil asks nobody: what
	// somebody would have to agree to is refused.
	Approvals *approval.Desk

	// Tracer makes the spans of calls; nil makes none.
	Tracer trace.Tracer

	// Settings are those that a reload may change; they are asked for each time. Nil
	// is the zero value.
	Settings func() Settings

	// Observe is told of each call of a tool that ended, before its caller is.
	// Nothing is left out, as may happen on a bus. It must not block; nil is
	// nobody.
	Observe func(hub.CallRecord)

	// AllowPrivateLinks has links in results also fetched from addresses that are
	// not public, for callers that cannot read resources; see [hub.Profile].
	AllowPrivateLinks bool
}

// Settings are what of the pipeline a reload may change, besides what it finds in
// the definitions of the servers.
type Settings struct {
	Caller   hub.Gate     // bounds the calls of each caller
	Approval hub.Approval // how people are asked to agree to calls
}

// Pipeline carries calls through the stages. Safe for concurrent use.
type Pipeline struct {
	catalog  *catalog.Catalog
	fleet    *fleet.Fleet
	bus      *bus.Bus
	observe  func(hub.CallRecord)
	audit    *audit.Log
	states   *callstate.Tracker
	policy   func() *policy.Policy
	desk     *approval.Desk // nil for none
	settings func() Settings
	tracing  tracing
	calls    *Registry
	log      *slog.Logger
	verbs    map[string]*verb
	ids      *ids
	turns    *turns
	askers   *askers
	schemas  *validators
	gates    *gates
	tools    *toolCache
	cache    *cache
	mentions *mentions
	results  *results
	late     *lateCalls
	web      *web
	readers  *readers
}

// New returns a pipeline.
func New(opt Options) *Pipeline {
	p := &Pipeline{
		catalog: opt.Catalog, fleet: opt.Fleet, bus: opt.Bus, observe: opt.Observe, calls: NewRegistry(), log: opt.Log,
		audit: opt.Audit, states: opt.States, policy: opt.Policy, desk: opt.Approvals, settings: opt.Settings, tracing: tracing{opt.Tracer}, ids: newIDs(), turns: &turns{coming: make(map[string]int)}, askers: newAskers(),
		cache: newCache(), mentions: newMentions(), results: newResults(), late: newLateCalls(), web: newWeb(opt.AllowPrivateLinks), readers: newReaders(),
	}
	if p.settings == nil {
		p.settings = func() Settings { return Settings{} }
	}
	if p.policy == nil {
		p.policy = func() *policy.Policy { return nil }
	}
	p.schemas, p.tools = newValidators(opt.Log), newToolCache()
	p.gates = newGates(opt.Fleet.Server, func() hub.Gate { return p.settings().Caller })
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
	verb   *verb
	record *hub.CallRecord // of the call; also of one that is not recorded, for the stages' sake
	argued bool            // its arguments are in the record
	held   time.Duration   // how long it has waited for a person
	end    context.CancelCauseFunc
	state  *callstate.Call // nil if nobody follows the call
	clock  clock
	last   []func() // what is done when the call has ended; see later

	name  string // of the tool or prompt, or the URI, as the caller put it
	named bool   // it is a string

	view   *catalog.View  // in which it is looked for
	server *hub.Server    // whose it is: that it is sent to next, or was sent to last
	own    string         // its name or URI at the server
	entry  *catalog.Entry // of a tool

	judged    bool              // by the rules
	rules     *policy.Policy    // by which
	seen      *catalog.Snapshot // what there was when the call was looked up, or before
	judgement hub.Judgement     // of the first of the candidates
	ticket    *approval.Request // that its caller has picked up; nil for none
	response  *response         // with which it comes back, to a question of the hub's own; nil for none
	enough    bool              // the caller was asked about it, and is not again: others decide
	claim     string            // id of the request by which it is made; "" for none

	plan     plan   // who may carry it out, and how often it may be tried
	planned  string // the server for which it is counted as coming, by its key; "" for none
	pass     *pass  // what it holds of limits; nil before there are any
	up       upstream.Request
	rising   *rising   // the exchange, if the caller wants to hear of progress
	stands   *standing // of what may be kept of a resource that is read; nil if nothing may
	prefixed bool      // the caller knows the server's URIs in the prefixed form
	reply    *upstream.Reply
	asks     bool        // the reply asks the caller about its own call
	fault    *hub.Error  // that the reply tells in place of an answer, as a result that a model reads; nil if it does not
	edits    []wire.Edit // in the reply
	recalled bool        // the reply is what came of another call, and has been all the way back
}

// later has a function called when the call has ended, however it ends, also by
// a panic: those that came last first.
func (r *run) later(f func()) { r.last = append(r.last, f) }

// leave does what is left for later.
func (r *run) leave() {
	r.clock.stop()
	for _, f := range r.last {
		defer f() // the others as well, should one panic
	}
}

// Do carries out one call. The error is a [*hub.Error]; an error that the
// server answered with is a Result. Do returns when the call has ended, for
// whatever reason: after that nothing reaches the exchange any more.
func (p *Pipeline) Do(ctx context.Context, req *Request) (*Result, error) {
	r := &run{Request: *req}
	r.Viewer = req.viewer()
	r.verb = p.verbs[req.Message.MethodName()]
	if r.verb == nil {
		return nil, hub.E(message.MethodUnknown, nil, "method", message.Quote(req.Message.MethodName()))
	}
	r.read()
	r.listen()
	p.begin(r)
	ctx, span := p.tracing.begin(ctx, r)
	err := errBroken // if a stage panics
	defer func() {
		p.finish(ctx, r, err)
		p.tracing.end(ctx, span, r)
	}()
	if err = p.veiled(r, p.do(hub.WithCall(ctx, r.record), r)); err != nil {
		return nil, err
	}
	res := &Result{Reply: r.reply, Edits: r.edits, Entry: r.entry, Fault: r.fault, asked: r.Message, agreed: r.claim != "" || r.record.Grant != ""}
	if r.server != nil {
		res.Server = r.server.Key
	}
	return res, nil
}

// read finds what the request names.
func (r *run) read() {
	r.name, r.named = wire.String(r.Message.Raw, r.verb.names(r.Message))
}

// do leads the call through the stages of its verb.
func (p *Pipeline) do(ctx context.Context, r *run) error {
	ctx, end, done, err := p.calls.begin(ctx, Key{r.Session, string(r.Message.ID.Of(r.Message.Raw))})
	if err != nil {
		return err
	}
	defer done()
	r.end = end
	defer r.leave()
	for _, s := range r.verb.before {
		if err := s(ctx, r); err != nil || r.reply != nil {
			return err
		}
	}
	for _, s := range r.verb.way {
		if err := s(ctx, r); err != nil {
			return err
		}
		if r.reply != nil {
			break
		}
	}
	if r.recalled {
		return nil
	}
	for _, s := range r.verb.back {
		if err := s(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
