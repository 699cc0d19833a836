package call

import (
	"context"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Where no request goes to callers (2026-07-28), a caller is asked to agree to its own
// call by the answer to it, and makes the call once more with what its person has said.
// Nothing is kept between: the state that the caller brings back refers to the request
// for approval. It is taken out of the call before anything else looks at it, so that
// neither it nor the response is sent or agreed to. If the call itself answers what a
// tool has asked, that is kept with the request, and takes its place again.

// inputApproval names the question, and its response.
const inputApproval = "approval"

// response is what the caller says to a question of the hub's own.
type response struct {
	approval.Referred        // as it was asked
	raw               []byte // the result of the question; nil for none
}

// settles reports whether somebody has decided, or nobody will.
func (a *response) settles() bool {
	return a != nil && a.Status != approval.Pending && a.Status != approval.Superseded
}

// recognize takes the response to a question of the hub's own out of the call. What
// was not made here, or is about another's call, is refused.
func (p *Pipeline) recognize(ctx context.Context, r *run) error {
	state, ok := wire.String(r.Message.Raw, r.Message.Member("requestState"))
	if p.desk == nil || !ok {
		return nil
	}
	q, err := p.desk.Refers(ctx, state)
	switch {
	case hub.IsCode(err, message.ApprovalUnknown):
		return r.refuse(hub.AsError(err))
	case err != nil || q == nil: // of the tool
		return err
	case q.Subject != r.Principal.Subject || q.Tenant != r.Principal.Tenant:
		return r.refuse(notTheirs(q.ID))
	}
	r.response = &response{Referred: *q}
	m := r.Message
	if at := wire.Lookup(m.Raw, m.Member("inputResponses"), inputApproval); at.Exists() {
		r.response.raw = at.Of(m.Raw)
	}
	mirrored := r.Mirrored
	defer func() { r.Mirrored = mirrored }()
	return r.rewrite(wire.EditObject(nil, m.Raw, m.Params, func(key wire.Span) bool { return answers(m.Raw, key) }, answersIn(q.Extra))...)
}

// answers reports whether a member of a call is of the answers to a question.
func answers(raw []byte, key wire.Span) bool {
	return wire.KeyIs(raw, key, "requestState") || wire.KeyIs(raw, key, "inputResponses")
}

// answersIn are the members by which a call that was asked about has answered a tool.
func answersIn(extra []byte) []byte {
	b := []byte{'{'}
	for one := range wire.Object(extra, wire.Value(extra)) {
		if answers(extra, one.Key) {
			b = appendMember(b, one.Key.Of(extra), one.Value.Of(extra))
		}
	}
	return b[1:]
}

// notTheirs is the error of a question that the caller was not asked.
func notTheirs(id string) *hub.Error {
	return hub.E(message.ApprovalUnknown, nil, "id", message.Quote(id))
}

// notOfThis is the error of a question that the caller was asked about another call.
func notOfThis(id string) *hub.Error {
	return hub.E(message.ApprovalForeign, nil, "id", id)
}

// concerns reports whether somebody was asked about this call by a request.
func (r *run) concerns(q *approval.Request) bool {
	now := r.goal()
	return r.verb.method == q.Method && now.Name == q.Name && now.ArgumentsHash == q.ArgumentsHash
}

// origin is the request by which the call comes back, with a ticket or a response; nil
// if it comes by none.
func (r *run) origin() *approval.Request {
	switch {
	case r.ticket != nil:
		return r.ticket
	case r.response != nil && r.concerns(&r.response.Request):
		return &r.response.Request
	}
	return nil
}

// hear counts what the caller's person has said to the call, if it is the one that
// they were asked about. That goes before what the rules say: they may have said no.
func (p *Pipeline) hear(ctx context.Context, r *run) error {
	if r.response == nil {
		return nil
	}
	q := &r.response.Request
	if !r.concerns(q) {
		return r.refuse(notOfThis(q.ID))
	}
	r.record.Approval = q.ID
	return p.count(ctx, r)
}

// count counts what the caller's person has said. A no ends the call, whoever was
// first; a yes counts unless somebody else was, or they are not to be asked any more.
// The response then has the request as it stands.
func (p *Pipeline) count(ctx context.Context, r *run) (err error) {
	a := r.response
	s := statementOf(a.raw, wire.Value(a.raw))
	switch {
	case s.kind == approval.Reject:
		return p.decline(ctx, r, s)
	case a.Status != approval.Pending, !p.asksBack(r):
		return nil
	}
	_, again := p.said(ctx, r, &a.Referred, s)
	a.Request, err = p.desk.Get(ctx, a.ID)
	r.enough = a.Status == approval.Pending && !again
	return err
}

// decline ends the call to which the caller's person has said no. It is not made, also
// if others have agreed meanwhile, the rules allow it by now, or the no cannot be
// written. What others have agreed to is withdrawn, so that no equal call is made by it.
func (p *Pipeline) decline(ctx context.Context, r *run, s statement) error {
	a, ctx := r.response, context.WithoutCancel(ctx)
	_, err := p.decideThere(ctx, r, &a.Referred, s)
	if hub.IsCode(err, message.ApprovalDecided) {
		_, err = p.desk.Cancel(ctx, a.ID, approval.WithdrawnBy(r.Principal.Subject+atClient))
	}
	switch {
	case hub.IsCode(err, message.ApprovalTaken): // an equal call was made: that is to be known
		return r.refuse(hub.AsError(err))
	case err != nil:
		p.log.InfoContext(ctx, "what was said at the client changes nothing of the request", "approval", a.ID, "error", err)
	}
	if now, err := p.desk.Get(ctx, a.ID); err == nil {
		a.Request = now
	}
	return r.turnAway(rejected(&a.Request, s.note), &a.Request)
}

// asksBack reports whether the caller may be asked by an answer. What somebody has
// made once more for it, and what it has picked up by a ticket, is for others.
func (p *Pipeline) asksBack(r *run) bool {
	return r.Forms && p.settings().Approval.Elicit && r.Retrier == nil && r.ticket == nil && !r.enough
}

// askBack asks the caller to agree to its own call, by the answer to it. It reports
// false if that cannot be; then the call is held.
func (p *Pipeline) askBack(ctx context.Context, r *run, q *approval.Request) bool {
	if !p.asksBack(r) {
		return false
	}
	params, ok := question(q, r.Lang)
	reference := q.Reference()
	if !ok || reference == "" {
		return false
	}
	b := append([]byte(nil), `{"jsonrpc":"2.0","id":0,"result":{"resultType":"input_required","inputRequests":{"`+inputApproval+`":{"method":"`+protocol.MethodElicitation+`","params":`...)
	b = append(append(b, params...), `}},"requestState":`...)
	b = append(wire.AppendString(b, reference), `}}`...)
	r.fault = r.undecided(q)
	r.reply = marked(&upstream.Reply{Message: rescan(b)}, q)
	r.reply.Era, r.asks = protocol.Modern, true
	p.log.DebugContext(ctx, "the caller is asked about its own call", "approval", q.ID, "call", r.record.ID, "round", len(q.Agreements())+1)
	return true
}
