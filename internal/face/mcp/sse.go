package mcp

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"net/url"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
)

// messagesPath is where clients of HTTP with SSE post to.
const messagesPath = "/messages"

// sessionParam names the stream there.
const sessionParam = "sessionId"

// SSE is the handler of the event stream of HTTP with SSE (2024-11-05,
// "Transports"), to be served at /sse. Its first event, endpoint, has the
// relative URL that [Door.Messages] is to be served at; all that the hub says
// follows as message events. The conversation ends with the stream.
func (d *Door) SSE() http.Handler { return http.HandlerFunc(d.sse) }

// Messages is the handler of the messages of HTTP with SSE, to be served at
// /messages. It answers 202 to every message for a stream that is open; the
// answer proper comes on that stream.
func (d *Door) Messages() http.Handler { return http.HandlerFunc(d.messages) }

func (d *Door) sse(w http.ResponseWriter, r *http.Request) {
	// A client of both transports posts here first, and learns by this answer
	// that it is the older one (2025-11-25, "Backwards Compatibility").
	if d.refuseMethod(w, r, http.MethodGet) {
		return
	}
	accept := accepted(r.Header["Accept"])
	if !accept.Events && len(r.Header["Accept"]) > 0 {
		d.refuse(w, r, http.StatusNotAcceptable, hub.E(message.AcceptRefused, nil))
		return
	}
	group := cmp.Or(r.PathValue(groupParam), r.URL.Query().Get(groupParam))
	if d.refuseCaller(w, r, hub.DoorSSE, group) {
		return
	}
	if e := d.gateway.Known(viewer(principal(r, hub.DoorSSE), group)); e != nil {
		d.refuse(w, r, statusOf(e), e)
		return
	}
	reply := transport.NewReply(w, transport.ReplyOptions{Events: true, Silence: silence, WriteLimit: writeLimit})
	defer reply.Close()
	s, e := d.newStream(r.Context(), gateway.Caller{
		Principal: principal(r, hub.DoorSSE), Viewer: viewer(principal(r, hub.DoorSSE), group), Accept: language(r),
	}, rand.Text(), reply)
	if e != nil {
		d.refuse(w, r, http.StatusServiceUnavailable, e)
		return
	}
	defer s.end()
	// Whoever knows the id can speak for the client; it is in no log.
	endpoint := messagesPath + "?" + url.Values{sessionParam: {s.id}}.Encode()
	if reply.Announce("endpoint", endpoint) != nil {
		return
	}
	select {
	case <-s.quiet:
	case <-s.ctx.Done():
	}
}

func (d *Door) messages(w http.ResponseWriter, r *http.Request) {
	if d.refuseMethod(w, r, http.MethodPost) {
		return
	}
	s, ok := d.named(r.URL.Query().Get(sessionParam))
	if !ok || s.from.Principal != principal(r, hub.DoorSSE) {
		d.refuse(w, r, http.StatusNotFound, hub.E(message.StreamUnknown, nil))
		return
	}
	if d.refuseType(w, r) {
		return
	}
	body, err := d.readBody(w, r)
	if err != nil {
		d.refuse(w, r, statusOf(err), hub.AsError(err))
		return
	}
	s.take(r.Context(), body)
	w.WriteHeader(http.StatusAccepted)
}
