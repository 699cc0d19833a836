package call

import (
	"context"
	"slices"

	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Check says what the rules have to say to arguments that a person wants to put in
// the place of those of a request, from the same caller: of all servers to which the
// call may go what is strictest. The error is a [*hub.Error] that says why they
// cannot be: the tool does not take them, is not there any more or has changed since,
// or the rules forbid it. What only another hub can show cannot be edited here.
func (p *Pipeline) Check(_ context.Context, q approval.Request, edited []byte) (hub.Judgement, error) {
	var none hub.Judgement
	entries := p.subjects(&q)
	switch {
	case len(entries) == 0:
		return none, hub.E(message.ApprovalStale, nil, "tool", message.Quote(q.Name))
	case q.ExtraShown != "" && q.Extra == nil:
		return none, hub.E(message.ApprovalInvalid, nil).With("detail", message.Say("part of the call was sealed by another hub; edit it there"))
	}
	if err := wire.Valid(edited, wire.Limits{UniqueKeys: true}); err != nil || wire.Value(edited).Len() == 0 || edited[wire.Value(edited).Start] != '{' {
		return none, invalid(`"arguments" has to be an object`)
	}
	if problems := p.schemas.problems(entries[0], edited, wire.Value(edited)); len(problems) > 0 {
		return none, misfit(q.Name, problems)
	}
	rules := p.policy()
	if rules == nil {
		return none, nil
	}
	r, err := p.asRun(&q, edited)
	if err != nil {
		return none, err
	}
	var found hub.Judgement
	for i, e := range entries {
		j := p.judgeAt(rules, r, &e.Server, e)
		if j.Verdict == hub.VerdictDeny {
			return j, forbidden(q.Name, &j)
		}
		if i == 0 || stricter(&j, &found) {
			found = j
		}
	}
	return found, nil
}

// subjects are the tools to one of which the call of a request would go: those of the
// servers it is for that are described as when somebody was asked.
func (p *Pipeline) subjects(q *approval.Request) (entries []*catalog.Entry) {
	servers := q.Servers
	if servers == nil {
		servers = []string{q.Server}
	}
	for _, key := range servers {
		share, ok := p.catalog.Snapshot().Share(key)
		if !ok {
			continue
		}
		at := slices.IndexFunc(share.Tools, func(e *catalog.Entry) bool { return e.Tool.Name == q.Tool })
		if at >= 0 && toolHash(share.Tools[at]) == q.ToolHash {
			entries = append(entries, share.Tools[at])
		}
	}
	return entries
}

// asRun is the call of a request with other arguments, as far as it can be judged.
func (p *Pipeline) asRun(q *approval.Request, arguments []byte) (*run, error) {
	verb := p.verbs[q.Method]
	if verb == nil {
		return nil, hub.E(message.MethodUnknown, nil, "method", message.Quote(q.Method))
	}
	raw := append([]byte(`{"jsonrpc":"2.0","id":0,"method":"`+verb.method+`","params":{"arguments":`), arguments...)
	m, err := wire.Scan(append(raw, `}}`...), wire.Limits{})
	if err != nil {
		return nil, hub.E(message.Internal, err)
	}
	r := &run{verb: verb, own: q.Tool, name: q.Name}
	r.Message, r.Retrier = &m, q.Retrier.Principal()
	r.Principal = hub.Principal{Subject: q.Subject, Door: q.Door, Tenant: q.Tenant, Token: q.Token, Role: q.Role, Scope: q.Scope}
	r.Viewer = hub.Viewer{Group: q.Group, Client: q.Client}
	return r, nil
}
