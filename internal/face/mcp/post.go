package mcp

import (
	"context"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// inSession answers a request of a legacy session. A client that goes away does
// not cancel it (2025-11-25, "Sending Messages to the Server"): it goes on, and
// what comes of it is there for a client that resumes the stream.
func (d *Door) inSession(w http.ResponseWriter, r *http.Request, m *wire.Message, c *gateway.Caller, accept transport.ReplyOptions) {
	p := d.begin(w, r, c.Session, accept, func() { d.gateway.Cancel(c.Session, m.ID.Of(m.Raw)) })
	defer p.end()
	answer := d.gateway.Request(context.WithoutCancel(r.Context()), c, m, p.reply)
	respond(p.reply, protocol.Legacy, answer)
}

// post is the HTTP request of a legacy session while it is being answered.
type post struct {
	door   *Door
	of     *gateway.Session
	client context.Context // ends when the client goes
	record *gateway.Post
	reply  *transport.Reply
	stay   func() bool // undoes the watch over the client
}

// begin begins the answer to an HTTP request; end is to be called behind it.
// cancel ends the request if too many go on without a client.
func (d *Door) begin(w http.ResponseWriter, r *http.Request, s *gateway.Session, accept transport.ReplyOptions, cancel func()) *post {
	p := &post{door: d, of: s, client: r.Context(), record: d.gateway.Post(s)}
	accept.Record = p.keep
	if s.Revision() >= protocol.Rev20251125 {
		accept.Begin = patience
	}
	p.reply = transport.NewReply(w, accept)
	p.stay = context.AfterFunc(p.client, func() {
		p.reply.Detach()
		if !p.record.Left() {
			cancel()
		}
	})
	return p
}

// keep keeps an event for a client that resumes.
func (p *post) keep(reply *transport.Reply, raw []byte) string {
	return p.record.Record(raw, reply.Detach)
}

func (p *post) end() {
	p.reply.Close()
	p.stay()
	p.record.End(p.reply.Err() == nil && p.client.Err() == nil)
	if p.of.Closing() {
		p.door.gateway.End(p.of)
	}
}
