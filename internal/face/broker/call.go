package broker

import (
	"bytes"
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

const (
	callLimit = 25 * time.Second // when a call is answered that goes on: backends wait for 30 s
	maxHeld   = 4 * maxFrame     // bytes of the calls of one tool that are under way
)

// underWay is a call of a caller's that is not answered.
type underWay struct {
	id     []byte // the caller's own, raw
	cancel context.CancelCauseFunc
}

// call takes a call of the tool by one of its callers: it is judged, limited and
// recorded like any other. It returns the error to answer it with if it is not made.
func (a *agent) call(c *caller, f *frame) (code int, text string) {
	a.mu.Lock()
	t := a.tool
	full := c.asked >= maxAsked || a.held+len(f.raw) > maxHeld
	if t == nil || full {
		a.mu.Unlock()
		if full {
			return codeFailed, textFailed
		}
		return codeAway, textAway
	}
	ctx, cancel := context.WithCancelCause(t.socket.ctx) // which ends with the tool, and the door
	this := &underWay{bytes.Clone(f.id.Of(f.raw)), cancel}
	c.calls[this] = true
	c.asked++
	a.held += len(f.raw)
	a.mu.Unlock()
	since := time.Now()
	own := frame{raw: bytes.Clone(f.raw), id: f.id, params: f.params}
	c.work.Go(func() {
		defer cancel(nil)
		answer := a.carry(ctx, t, c, &own, since)
		a.mu.Lock()
		delete(c.calls, this)
		c.asked--
		a.held -= len(own.raw)
		gone := a.callers[c.id] != c
		a.mu.Unlock()
		if !gone && answer != nil {
			c.send(answer)
		}
	})
	return 0, ""
}

// carry has a call carried out, and returns the answer to it; nil for none, of one that
// its caller has cancelled.
func (a *agent) carry(ctx context.Context, t *tool, c *caller, f *frame, since time.Time) []byte {
	res, err := a.make(ctx, t, c, f, since)
	id := f.id.Of(f.raw)
	switch {
	case err == nil:
		if reply, ok := readFrame(wire.Splice(res.Message.Raw, res.Edits...)); ok {
			return reply.withID(id)
		}
		err = hub.E(message.Internal, nil)
	case t.socket.ctx.Err() != nil:
		return failure(id, codeAway, textAway)
	case hub.IsCode(context.Cause(ctx), message.Cancelled):
		return nil
	}
	return gateway.Fault(protocol.Legacy, id, hub.AsError(err), gateway.Voice{Lang: a.broker.opt.Language(), Method: protocol.MethodToolsCall}).Raw
}

// make makes a call that came at a time, as it is known in the catalog.
func (a *agent) make(ctx context.Context, t *tool, c *caller, f *frame, since time.Time) (*call.Result, error) {
	name, ok := wire.String(f.raw, wire.Lookup(f.raw, f.params, "name"))
	if !ok {
		return nil, hub.E(message.ParamsInvalid, nil).With("detail", message.Say(`"%s" has to be a string`, "name"))
	}
	key, err := a.listing(ctx, t, since)
	if err != nil {
		return nil, err
	}
	ours := func(e *catalog.Entry) bool { // a server of the configuration may have the key by now
		return e.Server.Key == key && e.Server.Kind == hub.KindDevice && e.Server.Name == a.id && e.Tool.Name == name
	}
	exposed, err := a.exposed(ours)
	if err != nil {
		return nil, err
	}
	if exposed == "" {
		return nil, hub.E(message.ToolUnknown, nil, "tool", message.Quote(name))
	}
	m, err := f.renamed(exposed)
	if err != nil {
		return nil, err
	}
	res, err := a.broker.opt.Call(ctx, &call.Request{
		Principal:  hub.Principal{Subject: "device:" + a.id, Door: hub.DoorDevice, Role: hub.RoleCaller},
		SessionRef: hub.SessionRef("pair " + c.id), Message: m, Lang: a.broker.opt.Language(), Exchange: heard{c}, Offered: ours,
	}, call.Deadline{After: callLimit, Since: since, Equal: true})
	if err != nil {
		return nil, err
	}
	if res.Message.Kind == wire.Response && protocol.KindOf(&res.Message, res.Era) != protocol.ResultComplete {
		return nil, hub.E(message.NotAskable, nil) // the tool asks something first
	}
	return res, nil
}

// listing is the key under which the tool's server is listed: one that has just come is
// not in the catalog yet. It is "" if it is not for as long as its caller waits.
func (a *agent) listing(ctx context.Context, t *tool, since time.Time) (string, error) {
	patience := time.NewTimer(time.Until(since.Add(callLimit)))
	defer patience.Stop()
	for {
		a.mu.Lock()
		key, settled, listed, fault := a.attached, t.settled, t.listed, t.fault
		a.mu.Unlock()
		switch {
		case settled && fault != nil:
			return "", fault
		case settled:
			return key, nil
		}
		select {
		case <-listed:
		case <-patience.C:
			return "", nil
		case <-ctx.Done():
			return "", hub.E(message.Cancelled, context.Cause(ctx))
		}
	}
}

// exposed is the name in the catalog of a tool; "" for one that is not there.
func (a *agent) exposed(ours func(*catalog.Entry) bool) (string, error) {
	view, err := a.broker.opt.View(hub.Viewer{})
	if err != nil {
		return "", err
	}
	for _, e := range view.Tools() {
		if ours(e) {
			return e.Exposed, nil
		}
	}
	return "", nil
}

// renamed is a call by another name. Of what else stands in it only the arguments and
// what says where its progress is to be reported go on.
func (f *frame) renamed(name string) (*wire.Message, error) {
	b := wire.AppendString([]byte(`{"jsonrpc":"2.0","id":0,"method":"`+protocol.MethodToolsCall+`","params":{"name":`), name)
	arguments := wire.Lookup(f.raw, f.params, "arguments").Of(f.raw)
	if len(arguments) == 0 || arguments[0] == 'n' {
		arguments = []byte("{}")
	}
	b = append(append(b, `,"arguments":`...), arguments...)
	if at := f.progressToken(); at.Exists() && isID(f.raw, at) {
		b = append(append(append(b, `,"_meta":{"progressToken":`...), at.Of(f.raw)...), '}')
	}
	m, err := wire.Scan(append(b, "}}"...), wire.Limits{MaxBytes: maxFrame + 1<<10, UniqueKeys: true})
	if err != nil {
		return nil, hub.E(message.ParamsInvalid, err).With("detail", message.Cause(err))
	}
	return &m, nil
}

// cancel cancels the calls that a notification means, and reports whether there are any.
func (a *agent) cancel(c *caller, f *frame) bool {
	if f.method != protocol.NotificationCancelled || !f.params.Exists() {
		return false
	}
	id := wire.Lookup(f.raw, f.params, "requestId").Of(f.raw)
	a.mu.Lock()
	defer a.mu.Unlock()
	found := false
	for u := range c.calls {
		if bytes.Equal(u.id, id) {
			u.cancel(hub.E(message.Cancelled, &hub.Cancellation{Raw: bytes.Clone(f.raw)}))
			found = true
		}
	}
	return found
}

// heard is the exchange of a caller, which hears of the progress of its calls, and
// cannot be asked.
type heard struct{ caller *caller }

// Notify implements [hub.Exchange]. What a tool says to everybody comes to its callers
// by another way.
func (h heard) Notify(raw []byte) {
	if f, ok := readFrame(raw); ok && f.method == protocol.NotificationProgress {
		h.caller.send(bytes.Clone(raw))
	}
}

// Ask implements [hub.Exchange].
func (heard) Ask(_ context.Context, q hub.Question) { q.Answer(nil, hub.E(message.NotAskable, nil)) }
