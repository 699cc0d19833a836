package xiaozhi

import (
	"context"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
	words "github.com/toolcrib/toolcrib/internal/xiaozhi"
)

// call takes a call of a tool, which is answered when it has ended or at its
// deadline.
func (c *conversation) call(m *asked) {
	arrived := time.Now()
	def := c.endpoint.def.Load()
	id := string(m.ID.Of(m.Raw))
	ctx, cancel := context.WithCancelCause(c.ctx)
	this := &underWay{cancel}
	most := def.Concurrency + def.Queue
	c.mu.Lock()
	full := c.count >= most
	if !full {
		c.count++
		c.calls[id] = append(c.calls[id], this) // an id may be that of several
		c.all.Add(1)
	}
	c.mu.Unlock()
	if full {
		cancel(nil)
		c.refuse(m, hub.E(message.EndpointBusy, nil, "limit", number(most)))
		return
	}
	c.endpoint.tally.calls.Add(1)
	go func() {
		defer c.all.Done()
		defer cancel(nil)
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.count--
			if c.calls[id] = slices.DeleteFunc(c.calls[id], func(u *underWay) bool { return u == this }); len(c.calls[id]) == 0 {
				delete(c.calls, id)
			}
		}()
		c.contained(m, func() { c.carry(ctx, m, def, arrived) })
	}()
}

// cancel cancels the calls with a raw id.
func (c *conversation) cancel(id string, notification []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.calls[id] {
		u.cancel(hub.E(message.Cancelled, &hub.Cancellation{Raw: notification}))
	}
}

// carry has a call carried out, and answers it.
func (c *conversation) carry(ctx context.Context, m *asked, def *definition, arrived time.Time) {
	e := c.endpoint
	asked, _ := wire.String(m.Raw, m.Member("name"))
	res, err := c.make(ctx, m, def, arrived)
	length := time.Since(arrived)
	took := length.Round(time.Millisecond).String()
	name := message.Quote(asked)
	if hub.IsCode(context.Cause(ctx), message.Cancelled) {
		e.journal.add(hub.LevelInfo, name+" was cancelled by the peer after "+took)
		return
	}
	if length >= def.Deadline || err == nil && res.Task != "" { // whatever it was answered
		e.tally.late.Add(1)
	}
	if err != nil {
		fault := hub.AsError(err)
		e.journal.add(hub.LevelWarning, name+" failed after "+took+": "+fault.Text(message.English).What)
		c.fail(m, def, fault)
		return
	}
	how := "answered"
	if res.Task != "" {
		how = "goes on as the task " + res.Task
	}
	e.journal.add(hub.LevelInfo, name+" "+how+" after "+took)
	c.give(m, def, res)
}

// make makes the call, once it is its turn.
func (c *conversation) make(ctx context.Context, m *asked, def *definition, arrived time.Time) (*call.Result, error) {
	e := c.endpoint
	left := def.Deadline - time.Since(arrived)
	timer := time.NewTimer(left)
	defer timer.Stop()
	turn := c.slots.enter()
	defer c.slots.leave(turn)
	select {
	case <-turn:
	case <-timer.C:
		return nil, hub.E(message.EndpointBusy, nil, "limit", number(def.Concurrency+def.Queue))
	case <-ctx.Done():
		return nil, hub.E(message.Cancelled, context.Cause(ctx))
	}
	switch { // chance has decided if there was a slot by then as well
	case ctx.Err() != nil:
		return nil, hub.E(message.Cancelled, context.Cause(ctx))
	case time.Since(arrived) >= def.Deadline:
		return nil, hub.E(message.EndpointBusy, nil, "limit", number(def.Concurrency+def.Queue))
	}
	names, requests, err := c.targets(m)
	if err != nil {
		return nil, err
	}
	by := call.Deadline{After: def.Deadline, Since: arrived, Cancel: def.CancelLate, Unread: unread}
	if def.device != nil {
		by.Unread = 0 // a backend's new session begins anew
	}
	var res *call.Result
	for i, name := range names {
		if res, err = e.set.opt.Call.DoBy(ctx, requests[i], by); err == nil {
			break
		}
		if i == len(names)-1 || ctx.Err() != nil || !call.Spared(err) {
			return nil, err
		}
		e.journal.add(hub.LevelWarning, message.Quote(name)+" failed, and "+message.Quote(names[i+1])+" is tried: "+hub.AsError(err).Text(message.English).What)
	}
	if res.Message.Kind == wire.Response && protocol.KindOf(&res.Message, res.Era) != protocol.ResultComplete {
		return nil, hub.E(message.NotAskable, nil) // the tool asks something first
	}
	return res, nil
}

// unread is how long the result of a call is kept that an endpoint's connection did not
// last for: as long as a peer that asks again may take to be back. What is said later
// is another wish.
const unread = time.Minute

// targets are the names in the catalog of the tool that a call asks for, and of those
// that may stand in for it, and the request to each. One that has the call already, and
// goes on with it, comes first.
func (c *conversation) targets(m *asked) ([]string, []*call.Request, error) {
	name, ok := wire.String(m.Raw, m.Member("name"))
	if !ok {
		return nil, nil, hub.E(message.ParamsInvalid, nil).With("detail", message.Say(`"%s" has to be a string`, "name"))
	}
	e := c.endpoint
	o, err := e.offer()
	if err != nil {
		return nil, nil, err
	}
	own, ok := o.target(name)
	if !ok {
		return nil, nil, hub.E(message.ToolUnknown, nil, "tool", message.Quote(name))
	}
	names := append([]string{own}, o.spare[own]...)
	requests := make([]*call.Request, len(names))
	for i, name := range names {
		renamed, err := renamed(m, name)
		if err != nil {
			return nil, nil, err
		}
		requests[i] = &call.Request{
			Principal: e.principal(), Viewer: e.viewer(), SessionRef: hub.SessionRef("xiaozhi " + e.name),
			Message: renamed, Lang: e.language(), Exchange: unheard{},
		}
		if o.filtered() {
			requests[i].Offered = o.allows
		}
	}
	if len(names) > 1 {
		if at := slices.IndexFunc(requests, e.set.opt.Call.WentOn); at > 0 {
			names[0], names[at] = names[at], names[0]
			requests[0], requests[at] = requests[at], requests[0]
		}
	}
	return names, requests, nil
}

// renamed is the request as the catalog knows the tool. Nothing else is left of it but
// the arguments: peers add what is theirs alone, which servers may refuse.
func renamed(m *asked, name string) (*wire.Message, error) {
	arguments := m.Member("arguments").Of(m.Raw)
	if arguments == nil || arguments[0] == 'n' {
		arguments = []byte("{}")
	}
	b := append([]byte(nil), `{"jsonrpc":"2.0","id":0,"method":"`+protocol.MethodToolsCall+`","params":{"name":`...)
	b = wire.AppendString(b, name)
	b = append(b, `,"arguments":`...)
	b = append(b, arguments...)
	next, err := wire.Scan(append(b, "}}"...), wire.Limits{MaxBytes: 2*len(m.Raw) + 1<<10, UniqueKeys: true})
	if err != nil {
		return nil, hub.E(message.Internal, err)
	}
	return &next, nil
}

// shape is how results are made to fit the peer.
func (c *conversation) shape(m *asked, def *definition) words.Shape {
	room := def.MaxResult - responseRoom - m.ID.Len()
	return words.Shape{Max: max(room, 256), KeepActions: def.KeepActions, Lang: c.endpoint.language()}
}

// give answers a call with what came of it.
func (c *conversation) give(m *asked, def *definition, res *call.Result) {
	reply := res.Message
	if len(res.Edits) > 0 {
		if edited, err := wire.Scan(wire.Splice(reply.Raw, res.Edits...), wire.Limits{MaxBytes: 1 << 30, MaxDepth: 2 * wire.DefaultMaxDepth}); err == nil {
			reply = edited
		}
	}
	if reply.Kind == wire.Failure {
		text, _ := wire.String(reply.Raw, wire.Lookup(reply.Raw, reply.Error, "message"))
		if text == "" {
			text = string(reply.Error.Of(reply.Raw))
		}
		c.shaped(m, c.shape(m, def).Text(text, true))
		return
	}
	c.shaped(m, c.shape(m, def).Result(&reply))
}

func (c *conversation) shaped(m *asked, s words.Shaped) {
	if s.Cut {
		n := c.endpoint.tally.truncated.Add(1)
		c.endpoint.journal.add(hub.LevelInfo, "the result was cut, of "+number(s.Size)+" bytes; "+number(int(n))+" so far")
	}
	c.answer(m, s.Raw)
}

// fail answers a call that has failed. What the peer's program has done wrong is an
// error of the protocol; all else is a result that the assistant reads, and tells a
// person of.
func (c *conversation) fail(m *asked, def *definition, e *hub.Error) {
	switch e.Code {
	case message.ToolUnknown, message.ToolLike, message.ParamsInvalid, message.GroupUnknown, message.EndpointBusy, message.Internal:
		c.refuse(m, e)
		return
	}
	lang := c.endpoint.language()
	text := e.Sentence(lang, protocol.MethodToolsCall)
	if said := e.In(lang); said != text {
		text += "\n" + said
	}
	c.shaped(m, c.shape(m, def).Text(text, true))
}

// unheard is the exchange of callers that hear nothing but answers, and cannot be
// asked.
type unheard struct{}

// Notify implements [hub.Exchange].
func (unheard) Notify([]byte) {}

// Ask implements [hub.Exchange].
func (unheard) Ask(_ context.Context, q hub.Question) { q.Answer(nil, hub.E(message.NotAskable, nil)) }
