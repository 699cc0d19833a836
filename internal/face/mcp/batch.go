package mcp

import (
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

// batch answers a JSON-RPC batch. Only sessions of 2025-03-26 have them, and
// those of 2024-11-05 may (2025-03-26, "Base Protocol", Batching); later
// revisions took them out.
func (d *Door) batch(w http.ResponseWriter, r *http.Request, body []byte, accept transport.ReplyOptions) {
	parts, _, err := wire.Batch(body, d.limits)
	if err != nil {
		e := scanFault(err)
		Refuse(w, statusOf(e), e)
		return
	}
	s, e := d.session(r)
	if e == nil && s.Revision() > protocol.Rev20250326 {
		e = hub.E(message.BatchRefused, nil)
	}
	if e != nil {
		Refuse(w, statusOf(e), e)
		return
	}
	defer s.Enter()()
	caller := s.Caller()
	reply := transport.NewReply(w, accept)
	defer reply.Close()

	answers := make([][]byte, len(parts))
	free := make(chan struct{}, maxTogether)
	var all sync.WaitGroup
	for i, part := range parts {
		m, err := wire.Scan(part, d.limits)
		switch {
		case err != nil:
			answers[i] = gateway.Fault(protocol.Legacy, m.ID.Of(part), scanFault(err)).Raw
		case m.Kind == wire.Notification:
			d.gateway.Notification(caller, &m)
		case m.Kind == wire.Request:
			free <- struct{}{}
			all.Go(func() {
				defer func() {
					<-free
					if recover() != nil { // net/http does so for single requests
						answers[i] = gateway.Fault(protocol.Legacy, m.ID.Of(part), hub.E(message.Internal, nil)).Raw
					}
				}()
				a := d.gateway.Request(r.Context(), caller, &m, reply)
				answers[i] = wire.Splice(a.Raw, a.Edits...)
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
		reply.Close()
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if r.Context().Err() == nil {
		reply.Respond(http.StatusOK, append(out, ']'))
	}
}
