package call

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// errBroken is how a call ends of which a stage has panicked.
var errBroken = errors.New("the call broke off")

// begin begins the record of a call with what is known of its caller.
func (p *Pipeline) begin(r *run) {
	session := r.SessionRef
	if session == "" {
		session = hub.SessionRef(r.Session)
	}
	r.record = &hub.CallRecord{
		ID: p.ids.next(), Time: time.Now(), Method: r.verb.method,
		Subject: r.Principal.Subject, Tenant: r.Principal.Tenant, Door: r.Principal.Door, Session: session, Client: short(r.Viewer.Client), Group: r.Viewer.Group,
	}
	r.state = r.Again
}

// describe enters what is known of the call itself so far. It is called only once
// the message is the one that is sent: what call_tool was called with has then
// taken the place of its own arguments.
func (p *Pipeline) describe(r *run) {
	c := r.record
	c.Name = short(r.name)
	if r.verb.method == protocol.MethodResourcesRead {
		c.Name = short(openly(r.name))
	}
	if r.server != nil {
		c.Server = r.server.Key
	}
	if r.entry != nil {
		c.Tool = short(r.entry.Tool.Name)
	}
	if p.audit == nil || r.argued {
		return
	}
	r.argued = true
	if args := r.Message.Member("arguments"); args.Exists() {
		c.Arguments, c.Digest = p.audit.Arguments(args.Of(r.Message.Raw))
	}
}

// show has the caller's session show the call, before anything is waited for.
func (p *Pipeline) show(_ context.Context, r *run) error {
	if p.states == nil {
		return nil
	}
	p.describe(r)
	c := r.record
	b := callstate.Beginning{
		Session: callstate.Session(r.Principal, c.Session), Subject: c.Subject, Call: c.ID, Tool: c.Name, Arguments: c.Arguments,
		MaxRetries: r.asked(hub.DefaultRetry()).Max, UserMessage: r.UserMessage, Lang: r.Lang, Again: r.Again,
		Request: callstate.Request{
			Principal: r.Principal, Viewer: r.Viewer, Raw: r.Message.Raw, Level: r.Level,
			Timeout: r.Timeout, UserMessage: r.UserMessage, Lang: r.Lang,
		},
	}
	if e, found := r.view.Tool(r.name); found { // else it is waited for
		b.Server, b.MaxRetries = e.Server.Key, r.retries(e).Max
		b.Messages = e.Server.Rules.Override[e.Tool.Name].Messages
	}
	r.state = p.states.Begin(b)
	return nil
}

// intend puts down that the call is about to be sent, if that may change
// something or somebody has agreed to it: it is sent only once that is written.
func (p *Pipeline) intend(ctx context.Context, r *run) error {
	if p.audit == nil || !r.record.Changing && r.claim == "" {
		return nil
	}
	p.describe(r)
	if err := p.audit.Intend(ctx, r.record); err != nil {
		return err
	}
	if r.claim != "" {
		p.log.DebugContext(ctx, "a call that was agreed to is sent", "approval", r.claim, "call", r.record.ID)
	}
	return nil
}

// finish tells that a call has ended.
func (p *Pipeline) finish(ctx context.Context, r *run, err error) {
	if !r.verb.recorded {
		return
	}
	p.describe(r)
	c := r.record
	c.Held = r.held
	c.Duration = max(0, time.Since(c.Time)-c.Held)
	c.Outcome = r.outcome(err)
	if err == nil && r.fault != nil {
		err = r.fault
	}
	if err != nil {
		e := hub.AsError(err)
		c.Code, c.Reason = string(e.Code), e.In(message.English)
	}
	if r.reply != nil {
		c.Bytes = len(r.reply.Message.Raw)
	}
	if p.audit != nil {
		if e := p.audit.Finish(context.WithoutCancel(ctx), c); e != nil {
			p.log.ErrorContext(ctx, "the end of a call was not recorded", "call", c.ID, "error", e)
		}
	}
	if r.verb.method != protocol.MethodToolsCall {
		return
	}
	if p.observe != nil {
		p.observe(*c)
	}
	if p.bus != nil {
		p.bus.Publish(hub.CallEnded{Call: c})
	}
	r.state.End(c.Outcome, err, r.answer())
}

// answer is what the server answered, as JSON; nil if it did not. A question of the
// hub's own is no answer to keep: it shows the arguments as they are.
func (r *run) answer() []byte {
	if r.reply == nil || r.asks {
		return nil
	}
	m := &r.reply.Message
	if m.Kind == wire.Failure {
		return m.Error.Of(m.Raw)
	}
	return m.Result.Of(m.Raw)
}

// outcome is how the call has ended.
func (r *run) outcome(err error) hub.Outcome {
	switch {
	case err != nil && (r.plan.unsure || hub.IsCode(err, message.OutcomeUnknown)):
		return hub.OutcomeUnknown
	case err != nil && hub.IsCode(err, message.Cancelled):
		return hub.OutcomeCancelled
	case err != nil, r.fault != nil:
		return hub.OutcomeFailed
	}
	if m := &r.reply.Message; m.Kind == wire.Failure || string(m.Member("isError").Of(m.Raw)) == "true" {
		return hub.OutcomeToolError
	}
	return hub.OutcomeOK
}

// short is a name as it is kept of a call. Those of almost all tools are kept
// as they are.
func short(name string) string {
	const most = 128
	for i := range len(name) {
		if i == most || name[i] < ' ' || name[i] > '~' {
			return message.Quote(name)
		}
	}
	return name
}

// ids makes the ids of calls, from randomness that is drawn for many at once. Safe
// for concurrent use.
type ids struct {
	mu     sync.Mutex
	random *bufio.Reader
}

func newIDs() *ids { return &ids{random: bufio.NewReaderSize(rand.Reader, 4096)} }

// next is a UUID of version 7, greater than those before.
func (i *ids) next() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	id, err := uuid.NewV7FromReader(i.random)
	if err != nil {
		panic(err) // package rand never fails
	}
	return id.String()
}
