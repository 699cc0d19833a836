package call

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// lateKey is by what a call is looked up among those that went on.
type lateKey struct {
	whose, tool string
	arguments   [sha256.Size]byte
}

// goal is the tool that a name stands for: its server or, if that is in one, its pool,
// and its name there. It is zero as long as that is not known.
type goal struct{ pool, server, tool string }

func goalOf(e *catalog.Entry) goal {
	if e.Server.Pool != "" {
		return goal{pool: e.Server.Pool, tool: e.Tool.Name}
	}
	return goal{server: e.Server.Key, tool: e.Tool.Name}
}

// matches reports whether two may be one, by what is known of them.
func (g goal) matches(other goal) bool { return g == other || g == (goal{}) || other == (goal{}) }

// likeness is what makes calls equal.
type likeness struct {
	key     lateKey
	goal    goal
	message *wire.Message // the call itself, also where it comes by way of a tool of the hub's own
}

// likeness of a request has the zero key for what is no call of a tool. What comes by
// way of the hub's own tool for calls is equal to the call that this makes.
func (p *Pipeline) likeness(req *Request) likeness {
	like := likeness{message: req.Message}
	if req.Message.MethodName() != protocol.MethodToolsCall {
		return like
	}
	v, err := p.catalog.View(req.viewer())
	if err != nil {
		return like
	}
	name, ok := wire.String(like.message.Raw, like.message.Member("name"))
	if ok && v.Meta(name) == catalog.MetaCall {
		r := &run{Request: *req}
		if fault, err := p.callTool(r, v); fault != nil || err != nil {
			return like // and is answered so
		}
		like.message = r.Message
		name, ok = wire.String(like.message.Raw, like.message.Member("name"))
	}
	if !ok {
		return like
	}
	like.key = lateKey{whose(&req.Principal), name, digest(like.message)}
	if e, ok := v.Tool(name); ok {
		like.goal = goalOf(e)
	}
	return like
}

// ofTool reports whether the task, which has ended, has come to be a call of a server's
// tool. One that has not tells of no more than why.
func (t *task) ofTool() bool { return t.goal != (goal{}) || t.res != nil && t.res.Entry != nil }

// suits reports whether what came of the task may answer a call that has been judged:
// the call might have gone where the task went, and somebody has agreed to the task if
// that is what the rules want of the call.
func (t *task) suits(r *run) bool {
	if !t.goal.matches(goalOf(r.entry)) {
		return false
	}
	if t.res == nil || t.res.Fault != nil || t.res.Entry == nil {
		return true // it tells of no more than why there is no result
	}
	if r.judgement.Stops() && !t.res.agreed {
		return false
	}
	e := t.res.Entry
	return slices.ContainsFunc(r.plan.candidates, func(c candidate) bool {
		return c.server.Key == e.Server.Key && c.entry.Tool.Name == e.Tool.Name
	})
}

// rejudged looks up and judges the call of a tool as if it came now: the run has a
// fault if the rules forbid it. Nothing is waited for.
func (p *Pipeline) rejudged(ctx context.Context, req *Request, m *wire.Message, record *hub.CallRecord) (*run, error) {
	r := &run{Request: *req, verb: p.verbs[protocol.MethodToolsCall], record: record}
	r.Message, r.Viewer = m, req.viewer()
	r.read()
	if found, err := p.lookTool(r); err != nil {
		return nil, err
	} else if !found {
		return nil, toolUnknown(r)
	}
	if p.providers(r); len(r.plan.candidates) == 0 {
		return nil, toolUnknown(r)
	}
	r.use(&r.plan.candidates[0])
	return r, p.judge(ctx, r)
}

// mayMake reports whether nothing is known that forbids a call.
func (p *Pipeline) mayMake(ctx context.Context, req *Request, m *wire.Message) bool {
	r, err := p.rejudged(ctx, req, m, &hub.CallRecord{})
	return err == nil && r.fault == nil
}

// WentOn reports whether an equal call of [Pipeline.DoBy] goes on, or its result is
// kept for one.
func (p *Pipeline) WentOn(req *Request) bool {
	like := p.likeness(req)
	if p.late.running(&like) != nil {
		return true
	}
	l := p.late
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.kept.get(l.byCall[like.key])
	return ok && t.goal.matches(like.goal)
}

// Forget lets go of all that came, or will come, of a principal's calls that went on,
// such as when the subject is another's from now on.
func (p *Pipeline) Forget(who *hub.Principal) {
	l, of := p.late, whose(who)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.under {
		if t.key.whose == of {
			t.life = 0
			l.forget(t)
		}
	}
	for id, e := range l.kept.byKey {
		if e.Value.(*kept[string, *task]).value.key.whose == of {
			l.kept.drop(id)
		}
	}
}
