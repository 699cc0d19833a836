package mcp

import (
	"context"
	"net/http"
	"sync"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// maxTogether is how many requests of one batch run at the same time.
const maxTogether = 16

// batch answers a JSON-RPC batch over HTTP.
func (d *Door) batch(w http.ResponseWriter, r *http.Request, body []byte, accept transport.ReplyOptions) {
	s, e := d.session(r)
	parts, e := d.split(body, s, e)
	if e != nil {
		d.refuse(w, r, statusOf(e), e)
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	p := d.begin(w, r, s, accept, cancel)
	defer p.end()
	caller := inside(r, s)
	answers := d.together(parts, d.voice(caller),
		func(m *wire.Message) { d.told(caller, m) },
		func(m *wire.Message) []byte {
			a := d.gateway.Request(ctx, caller, m, p.reply)
			return wire.Splice(a.Raw, a.Edits...)
		})
	if answers == nil {
		p.reply.Close()
		w.WriteHeader(http.StatusAccepted)
		return
	}
	p.reply.Respond(http.StatusOK, answers)
}

// voice is how a caller is told what is wrong with a message that makes no sense.
func (d *Door) voice(c *gateway.Caller) gateway.Voice {
	return gateway.Voice{Lang: d.gateway.Language(c.Viewer, c.Accept), Device: c.Device}
}

// told takes what a client of a session sends that gets no answer.
func (d *Door) told(c *gateway.Caller, m *wire.Message) {
	if m.Kind == wire.Notification {
		d.gateway.Notification(c, m)
	} else {
		d.gateway.Reply(c, m)
	}
}

// split takes a batch apart that came in a session, or in none for the reason
// given. Only sessions of 2025-03-26 have batches, and those of 2024-11-05 may
// (2025-03-26, "Base Protocol", Batching); later revisions took them out.
func (d *Door) split(raw []byte, s *gateway.Session, none *hub.Error) ([][]byte, *hub.Error) {
	parts, _, err := wire.Batch(raw, d.limits)
	switch {
	case err != nil:
		return nil, scanFault(err)
	case none != nil:
		return nil, none
	case s.Revision() > protocol.Rev20250326:
		return nil, hub.E(message.BatchRefused, nil)
	}
	return parts, nil
}

// together has the messages of a batch answered, some requests at the same
// time, and returns the batch of the answers in the order of the requests; nil
// if there are none. request returns nil if a request gets no answer; all that is
// none goes to tell.
func (d *Door) together(parts [][]byte, as gateway.Voice, tell func(*wire.Message), request func(*wire.Message) []byte) []byte {
	answers := make([][]byte, len(parts))
	free := make(chan struct{}, maxTogether)
	var all sync.WaitGroup
	for i, part := range parts {
		m, err := wire.Scan(part, d.limits)
		switch {
		case err != nil:
			answers[i] = gateway.Fault(protocol.Legacy, m.ID.Of(part), scanFault(err), as).Raw
		case m.Kind != wire.Request:
			tell(&m)
		default:
			free <- struct{}{}
			all.Go(func() {
				defer func() { <-free }()
				answers[i] = request(&m)
			})
		}
	}
	all.Wait()
	out := []byte{'['}
	for _, a := range answers {
		if a == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, a...)
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, ']')
}
