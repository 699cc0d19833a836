package call

import (
	"context"
	"errors"
	"time"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

const (
	// DefaultHold is how long a call waits for a person before its caller gets a
	// ticket, where nothing else is said.
	DefaultHold = 45 * time.Second

	tellEach = 5 * time.Second // how long it still waits
	overtime = 2 * time.Second // for a request's end to be told, once its time is over
)

// hold has the call wait until a request about it was decided, as long as its
// caller may wait, and returns the request as it then stands. The call's clock stands
// still meanwhile, and it holds no place in any queue. A caller that cancels the call
// withdraws the request; one that only goes away may come back.
func (p *Pipeline) hold(ctx context.Context, r *run, q approval.Request) (approval.Request, error) {
	began := time.Now()
	p.turns.leave(r)
	r.clock.hold()
	defer func() {
		r.held += time.Since(began)
		r.clock.release()
	}()
	waiting, enough := context.WithTimeout(ctx, p.patience(r, &q))
	defer enough()
	defer context.AfterFunc(p.calls.closing, enough)() // the request outlives the hub, and the ticket is good for the next one
	defer p.elicit(waiting, r, q)()
	p.log.DebugContext(ctx, "a call waits for a person", "approval", q.ID, "call", r.record.ID, "server", q.Server, "tool", message.Quote(q.Tool))
	for {
		step, done := waiting, func() {}
		if r.rising != nil {
			left := max(0, time.Until(q.Expires)).Round(time.Second)
			r.report(hub.E(message.ApprovalWaits, nil, "ticket", q.ID, "left", left.String()).With("risk", riskName(q.Risk)))
			step, done = context.WithTimeout(waiting, tellEach)
		}
		now, err := p.desk.Await(step, q.ID)
		over := step.Err() != nil
		done()
		if now.ID != "" {
			q = now
		}
		switch {
		case err == nil:
			p.log.DebugContext(ctx, "somebody has decided about a call", "approval", q.ID, "call", r.record.ID, "status", q.Status)
			return q, nil
		case ctx.Err() != nil:
			return q, p.abandon(ctx, q.ID, r.record.ID)
		case waiting.Err() != nil:
			return q, nil
		case !over:
			return q, err
		}
	}
}

// patience is how long the call may wait for a person from now on: as long as its
// client's profile says, or until the request expires if it hears of progress, or as
// long as is configured. A caller's own limit counts as well.
func (p *Pipeline) patience(r *run, q *approval.Request) time.Duration {
	left := time.Until(q.Expires) + overtime
	hold := p.settings().Approval.Hold
	if hold <= 0 {
		hold = DefaultHold
	}
	if own := r.view.Profile().Hold; own > 0 {
		hold = own
	} else if r.rising != nil {
		hold = left + r.held
	}
	if r.Timeout > 0 {
		hold = min(hold, r.Timeout)
	}
	if !r.AnswerBy.IsZero() {
		hold = min(hold, r.held+time.Until(r.AnswerBy))
	}
	return max(0, min(hold-r.held, left))
}

// abandon is the error of a call that ends while it waits for a person.
func (p *Pipeline) abandon(ctx context.Context, id, call string) error {
	e := ended(ctx)
	if _, withdrawn := errors.AsType[*hub.Cancellation](e); !withdrawn {
		return e
	}
	if err := p.desk.Withdraw(context.WithoutCancel(ctx), id, call, approval.NoteUnwanted); err != nil {
		p.log.InfoContext(ctx, "a request for approval was not withdrawn", "approval", id, "error", err)
	}
	return e
}

// settle ends a call to which nobody has agreed, or not yet.
func (r *run) settle(q *approval.Request) error {
	tool := message.Quote(q.Name)
	var e *hub.Error
	switch {
	case q.Status == approval.Pending && r.Principal.Door.Spoken():
		// Nobody reads a ticket out: the same words again make an equal call.
		e = hub.E(message.ApprovalSpoken, nil, "tool", tool)
	case q.Status == approval.Pending:
		e = r.undecided(q)
	case q.Status == approval.Rejected:
		e = rejected(q, lastSaid(q))
	case q.Status == approval.Expired:
		e = hub.E(message.ApprovalExpired, nil, "id", q.ID)
	default:
		e = hub.E(message.ApprovalCancelled, nil, "tool", tool).With("note", remark(q.Note))
	}
	return r.turnAway(e, q)
}

// turnAway refuses the call, and says for programs where the request stands.
func (r *run) turnAway(e *hub.Error, q *approval.Request) error {
	if err := r.refuse(e); err != nil {
		return err
	}
	r.reply = marked(r.reply, q)
	return nil
}

// rejected is the error of a call to which somebody has said no, with a note.
func rejected(q *approval.Request, note string) *hub.Error {
	return hub.E(message.ApprovalRejected, nil, "tool", message.Quote(q.Name)).With("note", remark(note))
}

// undecided is the error of a call about which nobody has decided yet.
func (r *run) undecided(q *approval.Request) *hub.Error {
	return hub.E(message.ApprovalPending, nil, "tool", message.Quote(q.Name), "ticket", q.ID, "expires", q.Expires.UTC().Format(time.RFC3339),
		"pickup", r.view.MetaName(catalog.MetaTicket)).With("risk", riskName(q.Risk))
}

// lastSaid is what the last of those who have decided has to say.
func lastSaid(q *approval.Request) string {
	if n := len(q.Decisions); n > 0 {
		return q.Decisions[n-1].Note
	}
	return q.Note
}

// remark is a note as it follows a sentence; empty for none.
func remark(note string) message.Phrase {
	if note == "" {
		return message.Verbatim("")
	}
	return message.Say(": %s", approval.Remark(note))
}

// metaApproval is the member of a result's _meta that says which request for
// approval it is about.
const metaApproval = "toolcrib/approval"

// marked is a result of ours that says for programs, too, where a request stands.
func marked(reply *upstream.Reply, q *approval.Request) *upstream.Reply {
	m := &reply.Message
	b := append([]byte(nil), `"_meta":{"`+metaApproval+`":{"ticket":`...)
	b = wire.AppendString(b, q.ID)
	b = append(b, `,"status":"`+string(q.Status)+`","risk":"`+q.Risk.String()+`","expires":"`+q.Expires.UTC().Format(time.RFC3339)+`"}}`...)
	return local(wire.Splice(m.Raw, wire.Insert(m.Raw, m.Result, b)))
}

// pickUp answers a call of the tool by which callers pick up what a person has
// agreed to. If somebody has, the request's own call takes the place of this one,
// and goes the whole way. Requests of others are unknown.
func (p *Pipeline) pickUp(ctx context.Context, r *run) (*hub.Error, error) {
	args, fault := arguments(r.Message, "ticket")
	if fault != nil {
		return fault, nil
	}
	id, ok := wire.String(r.Message.Raw, args["ticket"])
	if !ok || id == "" {
		return invalid(`"ticket" has to be a string, as a call was answered with it`), nil
	}
	unknown := hub.E(message.ApprovalUnknown, nil, "id", message.Quote(id))
	if p.desk == nil {
		return unknown, nil
	}
	q, err := p.desk.Get(ctx, id)
	switch {
	case hub.IsCode(err, message.ApprovalUnknown):
		return unknown, nil
	case err != nil:
		return nil, err
	case q.Subject != r.Principal.Subject || q.Tenant != r.Principal.Tenant:
		return unknown, nil
	case q.Method != protocol.MethodToolsCall:
		return invalid("the ticket is of a %s, and not of a tool; make that request again", message.Quote(q.Method)), nil
	}
	r.record.Approval = q.ID
	if r.response != nil {
		if r.response.ID != q.ID {
			return notOfThis(r.response.ID), nil
		}
		if err := p.count(ctx, r); err != nil || r.reply != nil {
			return nil, err
		}
		q, r.response = r.response.Request, nil
	}
	if q.Status == approval.Pending {
		if p.askBack(ctx, r, &q) {
			return nil, nil
		}
		if q, err = p.hold(ctx, r, q); err != nil {
			return nil, err
		}
	}
	switch {
	case q.Taken != "":
		return hub.E(message.ApprovalTaken, nil, "id", q.ID, "call", q.Taken), nil
	case q.Status == approval.Superseded, !q.Status.Agreed():
		return nil, r.settle(&q)
	case q.Hidden:
		return nil, hub.E(message.Internal, errHidden)
	}
	given := q.Arguments
	if q.Status == approval.Edited {
		given = q.Edited
	}
	if err := r.become(&q, orNone(given)); err != nil {
		return nil, err
	}
	r.ticket = &q
	return nil, nil
}
