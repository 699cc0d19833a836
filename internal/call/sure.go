package call

import (
	"context"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// sure is an error if what let the call pass does not let it pass any more. It is
// asked right before each attempt, once there is a connection: since the call was
// judged it may have waited for its turn, for its server to start, or for retries.
// While nothing has changed two pointers are compared.
func (p *Pipeline) sure(ctx context.Context, r *run, c *candidate) error {
	rules, now := p.policy(), p.catalog.Snapshot()
	if !r.judged || rules == nil || rules == r.rules && now == r.seen && r.record.Grant == "" {
		return nil
	}
	server, entry := present(now, c)
	j := p.judgeAt(rules, r, server, entry)
	switch {
	case !j.Stops():
	case j.Verdict != hub.VerdictAsk:
		r.judgement = j
		r.note()
		return forbidden(r.name, &j)
	case r.claim != "" && j.Version == r.judgement.Version && j.Risk <= r.judgement.Risk && toolHash(entry) == toolHash(c.entry):
		return nil // it is what somebody has agreed to
	case r.record.Grant == "":
		return overtaken(r)
	default:
		g, ok := p.desk.Covering(r.covered(server, entry, j.Risk))
		if !ok {
			return overtaken(r)
		}
		r.record.Grant = g.ID
	}
	if j.Version != r.judgement.Version {
		p.log.DebugContext(ctx, "a call was judged again before it was sent", "call", r.record.ID, "policy", j.Version, "verdict", j.Verdict)
	}
	r.judgement = j
	r.note()
	return nil
}

// overtaken is the error of a call that a person would have to agree to by now.
func overtaken(r *run) *hub.Error {
	return hub.E(message.CallOvertaken, nil, "tool", message.Quote(openly(r.name)))
}

// present is a candidate as it is now, as far as that is known: what its server does
// not list at the moment is as it was.
func present(now *catalog.Snapshot, c *candidate) (*hub.Server, *catalog.Entry) {
	share, ok := now.Share(c.server.Key)
	if !ok {
		return c.server, c.entry
	}
	if c.entry == nil {
		return share.Server, nil
	}
	for _, e := range share.Tools {
		if e.Tool.Name == c.entry.Tool.Name {
			return &e.Server, e
		}
	}
	return share.Server, c.entry
}
