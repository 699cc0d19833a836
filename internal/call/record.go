package call

import (
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// record tells that a call has ended.
func (p *Pipeline) record(r *run, err error) {
	if p.bus == nil && p.observe == nil {
		return
	}
	c := hub.CallRecord{
		Time: r.began, Subject: r.Principal.Subject, Door: r.Principal.Door,
		Name: short(r.name), Outcome: hub.OutcomeOK, Duration: time.Since(r.began),
	}
	if r.entry != nil {
		c.Server, c.Tool = r.entry.Server.Key, short(r.entry.Tool.Name)
	}
	switch {
	case err != nil:
		e := hub.AsError(err)
		c.Outcome, c.Code, c.Reason = hub.OutcomeFailed, string(e.Code), e.Text(message.English).String()
		if e.Code == message.Cancelled {
			c.Outcome = hub.OutcomeCancelled
		}
	default:
		m := &r.reply.Message
		c.Bytes = len(m.Raw)
		if m.Kind == wire.Failure || string(m.Member("isError").Of(m.Raw)) == "true" {
			c.Outcome = hub.OutcomeToolError
		}
	}
	if p.observe != nil {
		p.observe(c)
	}
	if p.bus != nil {
		p.bus.Publish(hub.CallEnded{Call: &c})
	}
}

// short is a name as it is kept of a call. Those of almost all tools are kept
// as they are.
func short(name string) string {
	const most = 128
	for i := range len(name) {
		if i == most || name[i] < ' ' || name[i] > '~' {
			return message.Quote(name)
		}
	}
	return name
}
