package call

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// maxElicited is how many bytes of arguments a caller is shown who is asked to agree.
// Nobody is asked to agree to what they do not see: of more, others decide.
const maxElicited = 4 << 10

// atClient is what follows the subject of a caller whose person has decided at its
// own client: that is the one way in which a caller's own side may.
const atClient = " at its client"

// elicitation asks the person at the caller's own client.
type elicitation struct {
	p   *Pipeline
	r   *run
	ctx context.Context //nolint:containedctx // it bounds the questions, which go on after the method that asks

	mu   sync.Mutex // held while a question is put
	over bool
}

// elicit asks the caller to agree to its own call, if that is configured and the
// caller can be asked. Whoever decides first wins, there or elsewhere. end takes the
// question back; from then on nobody is asked any more.
func (p *Pipeline) elicit(ctx context.Context, r *run, q approval.Request) (end func()) {
	if !p.settings().Approval.Elicit || r.Exchange == nil || q.Hidden {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	e := &elicitation{p: p, r: r, ctx: ctx}
	e.ask(q)
	return func() {
		e.mu.Lock()
		e.over = true
		e.mu.Unlock()
		cancel()
	}
}

// ask puts the question about a request as it stands.
func (e *elicitation) ask(q approval.Request) {
	params, ok := question(&q, e.r.Lang)
	if !ok {
		return
	}
	raw := append([]byte(`{"jsonrpc":"2.0","id":1,"method":"`+protocol.MethodElicitation+`","params":`), params...)
	raw = append(raw, '}')
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return
	}
	e.r.Exchange.Ask(e.ctx, hub.Question{Raw: raw, Answer: func(reply []byte, err error) {
		if err == nil { // else the caller cannot be asked, or nobody wants its answer any more
			e.answered(q, reply)
		}
	}})
}

// answered takes the answer of the caller.
func (e *elicitation) answered(q approval.Request, reply []byte) {
	shown := approval.Referred{Request: q, Round: len(q.Agreements()) + 1, Saw: q.Hash}
	now, again := e.p.said(e.ctx, e.r, &shown, statementOf(reply, wire.Lookup(reply, wire.Value(reply), "result")))
	if again {
		go e.ask(now) // it has to be said twice; the first question may still be on its way
	}
}

// statement is what a caller's person has said to the question.
type statement struct {
	kind approval.Kind // "" if they have decided nothing
	note string
}

// statementOf is what the result of the question says.
func statementOf(reply []byte, result wire.Span) (s statement) {
	action, _ := wire.String(reply, wire.Lookup(reply, result, "action"))
	content := wire.Lookup(reply, result, "content")
	said, _ := wire.String(reply, wire.Lookup(reply, content, "decision"))
	switch {
	case action == "accept" && said == "approve":
		s.kind = approval.Approve
	case action == "accept" && said == "reject", action == "decline":
		s.kind = approval.Reject
	}
	s.note, _ = wire.String(reply, wire.Lookup(reply, content, "note"))
	s.note = strings.ToValidUTF8(s.note, "\ufffd")
	if len(s.note) > approval.MaxNote {
		s.note = message.Quote(s.note)
	}
	return s
}

// said takes what the person at the caller's client has said to a request as it was
// shown there, and returns the request. They are to be asked again if it has to be said
// twice, or was about something else than what would be sent now.
func (p *Pipeline) said(ctx context.Context, r *run, q *approval.Referred, s statement) (now approval.Request, again bool) {
	if s.kind == "" {
		return q.Request, false
	}
	now, err := p.decideThere(ctx, r, q, s)
	if hub.IsCode(err, message.ApprovalChanged) || hub.IsCode(err, message.ApprovalConfirm) { // it is not what was shown any more
		if now, err = p.desk.Get(context.WithoutCancel(ctx), q.ID); err == nil {
			p.log.InfoContext(ctx, "what was said at the client was about something else; it is asked again", "approval", q.ID)
		}
	}
	if err != nil {
		p.log.InfoContext(ctx, "what was said at the client does not count", "approval", q.ID, "error", err)
		return q.Request, false
	}
	return now, now.Status == approval.Pending
}

// decideThere decides as the person has said at the client of a call. The decision is
// that of whoever makes this call, by the way on which it comes: an equal one may have
// asked first, by another.
func (p *Pipeline) decideThere(ctx context.Context, r *run, q *approval.Referred, s statement) (approval.Request, error) {
	by := r.Principal
	by.Subject, by.Role = by.Subject+atClient, hub.RoleApprover
	return p.desk.Decide(context.WithoutCancel(ctx), q.ID, approval.Deciding{
		By: by, There: true, Kind: s.kind, Note: s.note, Confirmation: q.Round, Saw: q.Saw,
	})
}

// saidEnough reports whether the caller's person has agreed at its client, and it is
// another one who has to now.
func saidEnough(q *approval.Request) bool {
	return q.Second && slices.ContainsFunc(q.Agreements(), func(d approval.Decision) bool { return d.By == q.Subject+atClient && d.Tenant == q.Tenant })
}

// question is what the caller is asked, as params of the request; false if the person
// could not see all of what would run, or has said enough.
func question(q *approval.Request, lang message.Lang) ([]byte, bool) {
	now := q.Arguments // that would be sent
	if q.Edited != nil {
		now = q.Edited
	}
	shown := visible(now)
	if len(shown) > maxElicited || q.Hidden || saidEnough(q) {
		return nil, false
	}
	if shown == "" {
		shown = "{}"
	}
	if q.Extra != nil { // what is sent besides is agreed to as well
		if shown += " + " + visible(q.Extra); len(shown) > maxElicited {
			return nil, false
		}
	}
	var why strings.Builder
	for i, reason := range q.Reasons {
		if i > 0 {
			why.WriteString("; ")
		}
		why.WriteString(reason.In(lang))
	}
	text := hub.E(message.ApprovalQuestion, nil, "tool", message.Quote(q.Name), "server", message.Quote(q.Server), "reasons", why.String(),
		"warning", q.Warning.In(lang), "arguments", shown, "round", strconv.Itoa(len(q.Agreements())+1), "persons", strconv.Itoa(max(1, q.Persons))).
		With("risk", riskName(q.Risk))
	yes, no := hub.E(message.ApprovalYes, nil), hub.E(message.ApprovalNo, nil)
	b := append([]byte(nil), `{"message":`...)
	b = wire.AppendString(b, text.In(lang))
	b = append(b, `,"requestedSchema":{"type":"object","properties":{"decision":{"type":"string","enum":["approve","reject"],"enumNames":[`...)
	b = append(wire.AppendString(b, yes.In(lang)), ',')
	b = wire.AppendString(b, no.In(lang))
	return append(b, `]},"note":{"type":"string","maxLength":500}},"required":["decision"]}}`...), true
}

// visible is JSON on one line in which every character can be seen: what would not
// be, or would change the order of others, is escaped.
func visible(raw []byte) string {
	var b strings.Builder
	for _, c := range string(wire.OneLine(raw)) {
		if c == ' ' || unicode.IsGraphic(c) && !unicode.Is(unicode.Cf, c) && !unicode.Is(unicode.Zs, c) && !unicode.Is(unicode.Mn, c) {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
