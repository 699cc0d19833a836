package call

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// may refuses callers whose role does not allow calls.
func (p *Pipeline) may(_ context.Context, r *run) error {
	for _, who := range [...]*hub.Principal{&r.Principal, r.Retrier} {
		if who != nil && !who.Role.May(hub.MayCall) {
			return roleRefused(who.Role)
		}
	}
	return nil
}

func roleRefused(role hub.Role) *hub.Error {
	return hub.E(message.RoleRefused, nil, "role", message.Quote(string(role)))
}

// judge has the rules say what they have to say to the call, as each of the
// candidates would carry it out. Candidates that they forbid leave the plan, and so
// do those to whom they say something else than to the first that is left: a call
// goes nowhere but where it was judged.
func (p *Pipeline) judge(ctx context.Context, r *run) error {
	r.judged = true
	if r.Retrier != nil { // what their token is not for there is not for them
		permitted := func(c *candidate) bool { return hub.Scope(r.Retrier.Scope).Server(c.server.Key) }
		if !slices.ContainsFunc(r.plan.candidates, func(c candidate) bool { return permitted(&c) }) {
			return r.verb.unknown(r)
		}
		p.leave(r, permitted)
	}
	rules := p.policy()
	if r.rules = rules; rules == nil {
		return nil
	}
	d := &r.plan
	first := d.candidates[0].server
	var denied hub.Judgement
	left := d.candidates[:0]
	for i := range d.candidates {
		c := d.candidates[i]
		switch j := p.judgeAt(rules, r, c.server, c.entry); {
		case j.Mode == hub.PolicyEnforce && j.Verdict == hub.VerdictDeny:
			if i == 0 {
				denied = j
			}
		case len(left) == 0:
			r.judgement, left = j, append(left, c)
		case j.Stops() == r.judgement.Stops() && (!j.Stops() || left[0].alike(&c) && j.Risk == r.judgement.Risk):
			left = append(left, c)
		}
	}
	d.candidates = left
	if len(left) == 0 {
		r.judgement = denied
		r.note()
		if q := r.origin(); q != nil {
			p.supersede(ctx, r, q.ID)
		}
		return r.refuse(forbidden(r.name, &r.judgement))
	}
	r.note()
	if left[0].server != first {
		p.turns.leave(r)
		r.use(&left[0])
	}
	return nil
}

// judgeAt says what the rules say to the call as a server would carry it out; entry
// is its tool, nil for what is none. Of who calls and who has it called once more
// that counts with which there is less that may be done.
func (p *Pipeline) judgeAt(rules *policy.Policy, r *run, server *hub.Server, entry *catalog.Entry) hub.Judgement {
	q := policy.Question{Principal: r.Principal, Group: r.Viewer.Group, Client: r.Viewer.Client, Method: r.verb.method, Server: server, Name: r.own}
	if r.verb.method != protocol.MethodResourcesRead { // which has none
		q.Arguments = argumentsOf(r.Message)
	}
	if entry != nil {
		q.Name, q.Tool = p.usual(entry), &entry.Tool
	}
	j := rules.Judge(&q)
	if r.Retrier != nil {
		q.Principal = *r.Retrier
		if other := rules.Judge(&q); stricter(&other, &j) {
			return other
		}
	}
	return j
}

// stricter reports whether one judgement lets less pass than another.
func stricter(one, other *hub.Judgement) bool {
	rank := func(j *hub.Judgement) int {
		switch {
		case !j.Stops():
			return 0
		case j.Verdict == hub.VerdictDeny:
			return 2
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(one), rank(other)), cmp.Compare(one.Risk, other.Risk), cmp.Compare(one.Persons, other.Persons)) > 0
}

// note enters what the rules say into the record.
func (r *run) note() {
	c, j := r.record, &r.judgement
	c.Verdict, c.Mode, c.Risk, c.Rule, c.Policy = j.Verdict, j.Mode, j.Risk.String(), j.Rule, j.Version
}

// forbidden is the error of a call that the rules do not allow.
func forbidden(name string, j *hub.Judgement) *hub.Error {
	e := hub.E(message.PolicyDenied, nil, "tool", message.Quote(name), "because", "")
	if j.Rule != "" {
		e = e.With("rule", message.Say("by the rule %s", `"`+message.Quote(j.Rule)+`"`))
	} else {
		e = e.With("rule", message.Say("by its risk, which is %s", riskName(j.Risk)))
	}
	if j.Because != "" {
		e.Args["because"] = ": " + message.Quote(j.Because)
	}
	return e
}

// riskName is a risk for people.
func riskName(r hub.Risk) message.Phrase {
	switch r {
	case hub.RiskLow:
		return message.Term("low")
	case hub.RiskMedium:
		return message.Term("medium")
	case hub.RiskHigh:
		return message.Term("high")
	case hub.RiskCritical:
		return message.Term("critical")
	}
	return message.Verbatim(r.String())
}

// refuse ends a call that is not made: that of a tool with a result that says
// isError, as a model reads it then and can do something else, and any other with an
// error.
func (r *run) refuse(e *hub.Error) error {
	if r.verb.method != protocol.MethodToolsCall {
		return e
	}
	r.fault = e
	r.reply = faulty(e, r.Lang)
	return nil
}

// usual is the name under which a tool is exposed where no group and no profile
// has it under another one: rules are written with these names, and no other name
// may lead around them.
func (p *Pipeline) usual(e *catalog.Entry) string {
	if share, ok := p.catalog.Snapshot().Share(e.Server.Key); ok {
		for _, s := range share.Tools {
			if s == e || s.Tool.Name == e.Tool.Name {
				return s.Exposed
			}
		}
	}
	return e.Exposed
}

// argumentsOf are the arguments of a request, as JSON; nil for none.
func argumentsOf(m *wire.Message) []byte {
	span := m.Member("arguments")
	if !span.Exists() || m.Raw[span.Start] != '{' {
		return nil
	}
	return span.Of(m.Raw)
}

// alike reports whether a person who agrees to a call of one candidate agrees to
// one of the other: they are of one pool, and describe the tool in the same way.
func (c *candidate) alike(other *candidate) bool {
	return c.entry != nil && other.entry != nil && c.equals(other) && toolHash(c.entry) == toolHash(other.entry)
}

// toolHash names a tool's description, as its server gave it; "" for no tool.
func toolHash(e *catalog.Entry) string {
	if e == nil {
		return ""
	}
	sum := sha256.Sum256(e.Tool.Raw)
	return hex.EncodeToString(sum[:])
}

// ArgumentsHash names arguments, a JSON object or nil for none, as requests for
// approval know them: those that mean the same have the same one, in whatever order
// their members are and however they are spaced.
func ArgumentsHash(raw []byte) string {
	if raw == nil {
		raw = []byte("{}")
	}
	sum := sha256.Sum256(appendCanonical(make([]byte, 0, len(raw)), raw, wire.Value(raw)))
	return hex.EncodeToString(sum[:])
}

// Asks reports whether calls that come by the door may have to wait until a person
// agrees to them.
func (p *Pipeline) Asks(door hub.Door) bool {
	rules := p.policy()
	return rules != nil && p.desk != nil && rules.Mode(door) == hub.PolicyEnforce
}
