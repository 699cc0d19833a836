package call

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// maxAsked is how often one call may be asked about: each time after the first
// follows from a change of its tool or of the rules meanwhile.
const maxAsked = 3

var (
	// errUnjudged says that a verb has its stages in the wrong order.
	errUnjudged = errors.New("the call was not judged")
	// errHidden says that a hub has no key for arguments that another one sealed.
	errHidden = errors.New("the arguments were sealed by another hub")
)

// approve lets pass what the rules allow. What a person has to agree to passes once
// that is so, or if a grant covers it; until then the call is held, and after a while
// answered with a ticket. Nothing else passes.
func (p *Pipeline) approve(ctx context.Context, r *run) error {
	switch j := &r.judgement; {
	case !r.judged:
		return hub.E(message.Internal, errUnjudged)
	case r.ticket != nil:
		return p.agree(ctx, r, r.ticket)
	case r.response.settles():
		return p.agree(ctx, r, &r.response.Request)
	case !j.Stops():
		return nil
	case j.Verdict != hub.VerdictAsk:
		return hub.E(message.Internal, errUnjudged)
	case p.desk == nil || !r.verb.recorded:
		return r.refuse(forbidden(r.name, j)) // there is nobody to ask, or nobody could look it up
	}
	if p.granted(r) {
		return nil
	}
	return p.agree(ctx, r, nil)
}

// granted reports whether a grant stands in for a person. A grant is for one server:
// of several the call goes to those that are covered. None covers a call that says
// more than its arguments, such as what the tool has asked: nobody has seen that.
func (p *Pipeline) granted(r *run) bool {
	if !saysOnly(r.Message, r.verb.judged...) {
		return false
	}
	covered := func(c *candidate) bool {
		_, ok := p.desk.Covering(r.covered(c.server, c.entry, r.judgement.Risk))
		return ok
	}
	if !slices.ContainsFunc(r.plan.candidates, func(c candidate) bool { return covered(&c) }) {
		return false
	}
	p.leave(r, covered)
	first := &r.plan.candidates[0]
	g, ok := p.desk.Granted(r.covered(first.server, first.entry, r.judgement.Risk))
	r.record.Grant = g.ID
	return ok
}

// leave leaves of the candidates those for which it is said, of which there is one at
// least.
func (p *Pipeline) leave(r *run, which func(c *candidate) bool) {
	d := &r.plan
	first := d.candidates[0].server
	d.candidates = slices.DeleteFunc(d.candidates, func(c candidate) bool { return !which(&c) })
	if d.candidates[0].server != first {
		p.turns.leave(r)
		r.use(&d.candidates[0])
	}
}

// agree has a person agree to the call, who may have been asked already; nil for
// nobody yet.
func (p *Pipeline) agree(ctx context.Context, r *run, q *approval.Request) error {
	original, mirrored := r.Message, r.Mirrored
	if r.ticket != nil && r.ticket.Status == approval.Edited { // the message has the edited arguments already
		original = nil
	}
	for range maxAsked {
		if q == nil {
			asked, err := p.desk.Ask(ctx, p.asking(r))
			if err != nil {
				return r.unasked(ctx, err)
			}
			q = &asked
		}
		r.record.Approval = q.ID
		if q.Status == approval.Pending {
			if p.askBack(ctx, r, q) {
				return nil
			}
			now, err := p.hold(ctx, r, *q)
			if err != nil {
				return err
			}
			q = &now
		}
		if !q.Status.Agreed() && q.Status != approval.Superseded {
			return r.settle(q)
		}
		if q.Status.Agreed() {
			stands, err := p.resume(ctx, r, q)
			if stands || err != nil || r.reply != nil {
				return err
			}
		}
		asked := q.Arguments
		if q = nil; r.Message == original {
			continue
		}
		if original != nil {
			r.Message, r.Mirrored = original, mirrored
		} else if err := r.replace(orNone(asked)); err != nil {
			return err
		}
		original, r.argued = r.Message, false
		if err := p.again(ctx, r); err != nil || r.reply != nil || !r.judgement.Stops() {
			return err
		}
	}
	return hub.E(message.ApprovalStale, nil, "tool", message.Quote(r.name))
}

// resume reports whether the call may be made by an agreement: all is as it was
// when somebody was asked, or would be allowed now. If it is not the agreement is
// good for nothing any more. The arguments that a person has put in the place of
// the caller's are those of the call from now on.
func (p *Pipeline) resume(ctx context.Context, r *run, q *approval.Request) (stands bool, err error) {
	if q.Status == approval.Edited {
		if q.Edited == nil {
			return false, hub.E(message.Internal, errHidden)
		}
		if err := r.replace(q.Edited); err != nil {
			return false, err
		}
	}
	err = p.again(ctx, r)
	if err != nil || r.reply != nil {
		denied := hub.IsCode(err, message.PolicyDenied) || r.fault != nil && r.fault.Code == message.PolicyDenied
		if by := r.origin(); denied && (by == nil || by.ID != q.ID) { // else judge has done so
			p.supersede(ctx, r, q.ID)
		}
		return false, err
	}
	j := &r.judgement
	if j.Stops() {
		now := r.goal()
		if now.ToolHash != q.ToolHash || j.Version != q.Policy || now.Tool != q.Tool || now.ArgumentsHash != q.Hash || j.Risk > q.Risk || !r.goesTo(q) {
			p.supersede(ctx, r, q.ID)
			return false, nil
		}
		p.leave(r, func(c *candidate) bool { return isFor(q, c) })
	}
	r.claim = q.ID
	return true, nil
}

// again looks up and judges the call once more, after it has waited: whatever it
// is made of may be another by now.
func (p *Pipeline) again(ctx context.Context, r *run) error {
	p.turns.leave(r)
	r.plan, r.entry, r.server, r.stands, r.judged, r.judgement = plan{}, nil, nil, nil, false, hub.Judgement{}
	for _, s := range r.verb.again {
		if err := s(ctx, r); err != nil || r.reply != nil {
			return err
		}
	}
	return nil
}

// supersede ends a request whose call would be another one by now.
func (p *Pipeline) supersede(ctx context.Context, r *run, id string) {
	if _, err := p.desk.Supersede(context.WithoutCancel(ctx), id, approval.NoteChanged); err != nil {
		p.log.InfoContext(ctx, "a request for approval was not ended", "approval", id, "call", r.record.ID, "error", err)
	}
}

// orNone are arguments as they are sent: an empty object for none.
func orNone(arguments []byte) []byte {
	if arguments == nil {
		return []byte("{}")
	}
	return bytes.Clone(arguments)
}

// replace has the call have other arguments.
func (r *run) replace(arguments []byte) error {
	m := r.Message
	var edits []wire.Edit
	if at := m.Member("arguments"); at.Exists() {
		edits = append(edits, wire.Replace(at, arguments))
	} else {
		edits = append(edits, wire.Insert(m.Raw, m.Params, append([]byte(`"arguments":`), arguments...)))
	}
	return r.rewrite(edits...)
}

// goal is what a person agrees to: what is called, and with what.
func (r *run) goal() approval.Details {
	c := approval.Details{
		Name: r.name, Tool: r.own, ToolHash: toolHash(r.entry), ArgumentsHash: ArgumentsHash(argumentsOf(r.Message)),
	}
	switch r.verb.method {
	case protocol.MethodToolsCall:
	case protocol.MethodResourcesRead: // the URI may hold secrets, as arguments may
		sum := sha256.Sum256([]byte(r.own))
		c.Name, c.Tool, c.ToolHash, c.ArgumentsHash = openly(r.name), openly(r.own), r.verb.method, hex.EncodeToString(sum[:])
	default:
		c.ToolHash = r.verb.method
	}
	if hash := withExtra(c.ArgumentsHash, r.extra()); hash != c.ArgumentsHash {
		c.ArgumentsHash, c.PlainHash = hash, c.ArgumentsHash
	}
	return c
}

// goesTo reports whether the call may go to a server that a request is for.
func (r *run) goesTo(q *approval.Request) bool {
	return slices.ContainsFunc(r.plan.candidates, func(c candidate) bool { return isFor(q, &c) })
}

// isFor reports whether a person has agreed to the call at a candidate.
func isFor(q *approval.Request, c *candidate) bool {
	if q.Servers == nil {
		return c.server.Key == q.Server
	}
	return slices.Contains(q.Servers, c.server.Key)
}

// asking is what a person is asked.
func (p *Pipeline) asking(r *run) approval.Asking {
	c := r.goal()
	c.Tenant, c.Subject, c.Token, c.Door = r.Principal.Tenant, r.Principal.Subject, r.Principal.Token, r.Principal.Door
	c.Role, c.Scope, c.Retrier = r.Principal.Role, r.Principal.Scope, approval.RetrierOf(r.Retrier)
	c.Session, c.Client, c.Group, c.Call, c.Method = r.record.Session, r.record.Client, r.record.Group, r.record.ID, r.verb.method
	extra := r.extra()
	if p.audit != nil && extra != nil {
		c.ExtraShown, _ = p.audit.Arguments(extra)
	}
	a := approval.Asking{Details: c, Judged: approval.JudgedOf(&r.judgement), Arguments: bytes.Clone(argumentsOf(r.Message)), Extra: extra}
	for i := range r.plan.candidates {
		a.Servers = append(a.Servers, r.plan.candidates[i].server.Key)
	}
	slices.Sort(a.Servers)
	a.Server = a.Servers[0] // whichever is the least busy now, it is the same request
	if r.verb.method == protocol.MethodResourcesRead {
		a.Arguments = uriOnly(r.own)
	} else if p.audit != nil {
		a.Shown, _ = p.audit.Arguments(a.Arguments)
	}
	return a
}

// covered is the call as grants know calls, at a server that has the tool so; entry
// is nil for what is no tool.
func (r *run) covered(server *hub.Server, entry *catalog.Entry, risk hub.Risk) *approval.Asked {
	goal, arguments := r.goal(), argumentsOf(r.Message)
	q := &approval.Asked{
		Tenant: r.Principal.Tenant, Subject: r.Principal.Subject, Token: r.Principal.Token, Retrier: approval.RetrierOf(r.Retrier),
		Server: server.Key, Tool: goal.Tool, ToolHash: goal.ToolHash, ArgumentsHash: cmp.Or(goal.PlainHash, goal.ArgumentsHash), Risk: risk,
	}
	switch {
	case r.verb.method == protocol.MethodResourcesRead:
		arguments = uriOnly(r.own)
	case entry != nil:
		q.Tool, q.ToolHash = entry.Tool.Name, toolHash(entry)
	}
	q.Arguments = arguments
	return q
}

// uriOnly is what a person is shown, and a grant may name, of a resource.
func uriOnly(uri string) []byte { return append(wire.AppendString([]byte(`{"uri":`), uri), '}') }

// unasked is how a call ends about which nobody can be asked.
func (r *run) unasked(ctx context.Context, err error) error {
	switch e := hub.AsError(err); {
	case ctx.Err() != nil:
		return ended(ctx)
	case e.Code == message.ApprovalsFull, e.Code == message.ApprovalInvalid:
		return r.refuse(e)
	default:
		return e
	}
}

// take claims the agreement by which the call is made, so that no other is. It is
// given back if it turns out that nothing was sent.
func (p *Pipeline) take(ctx context.Context, r *run) error {
	if r.claim == "" {
		return nil
	}
	id, call := r.claim, r.record.ID
	if _, err := p.desk.Take(ctx, id, call); err != nil {
		switch e := hub.AsError(err); e.Code {
		case message.ApprovalTaken, message.ApprovalExpired, message.ApprovalDecided, message.ApprovalUndecided, message.ApprovalUnknown:
			return r.refuse(e)
		default:
			return e
		}
	}
	p.log.DebugContext(ctx, "an agreement is taken for a call", "approval", id, "call", call)
	r.later(func() {
		if r.plan.left {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnLimit)
		defer cancel()
		if err := p.desk.Return(ctx, id, call); err != nil {
			p.log.WarnContext(ctx, "an agreement by which nothing was sent was not given back", "approval", id, "call", call, "error", err)
		}
	})
	return nil
}

// returnLimit is how long it may take to give an agreement back.
const returnLimit = 5 * time.Second
