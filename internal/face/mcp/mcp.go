// Package mcp is the door for MCP clients: streamable HTTP, of both eras on one
// endpoint, and the conversations on a stream of their own, which are a
// WebSocket or HTTP with SSE (2024-11-05). It decodes requests, finds the
// conversation they belong to, and encodes what the gateway answers; it has no
// rules of its own.
package mcp

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Limits of one request.
const (
	maxBody    = 64 << 20
	maxDepth   = 512
	writeLimit = 10 * time.Second // for the client to take one message
	silence    = 15 * time.Second // then the client hears that we are still there

	// patience is how long a request of a session may take before its answer
	// becomes an event stream, by which the client can come back for it.
	patience = 50 * time.Millisecond
)

// Door serves MCP clients. It is the handler of the streamable HTTP endpoint;
// [Door.SSE], [Door.Messages] and [Door.WebSocket] are those of the others.
// Safe for concurrent use.
type Door struct {
	gateway *gateway.Gateway
	limits  wire.Limits
	streams streams
}

// New returns the door to a gateway. Close ends the streams that come in by it.
func New(g *gateway.Gateway) *Door {
	return &Door{
		gateway: g,
		limits:  wire.Limits{MaxBytes: maxBody, MaxDepth: maxDepth, UniqueKeys: true},
		streams: newStreams(),
	}
}

// ServeHTTP answers POST with the answer to the message in it, GET with the
// stream of a session, and DELETE by ending one. A path value "group" names the
// group whose address it is.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.refuseCaller(w, r, hub.DoorMCP, r.PathValue(groupParam)) {
		return
	}
	switch r.Method {
	case http.MethodPost:
		d.post(w, r)
	case http.MethodGet:
		d.get(w, r)
	case http.MethodDelete:
		d.delete(w, r)
	default:
		d.refuseMethod(w, r, http.MethodGet, http.MethodPost, http.MethodDelete)
	}
}

// Refuse answers with an error that belongs to no message, in the language.
func Refuse(w http.ResponseWriter, lang message.Lang, status int, e *hub.Error) {
	refuseID(w, status, protocol.Legacy, nil, e, gateway.Voice{Lang: lang})
}

// refuse is [Refuse] for a request that the door takes.
func (d *Door) refuse(w http.ResponseWriter, r *http.Request, status int, e *hub.Error) {
	Refuse(w, d.gateway.Language(hub.Viewer{}, language(r)), status, e)
}

// language is in which languages the client of a request wants to be told things.
func language(r *http.Request) string {
	return strings.Join(r.Header["Accept-Language"], ",")
}

func refuseID(w http.ResponseWriter, status int, era protocol.Era, id []byte, e *hub.Error, as gateway.Voice) {
	answer := gateway.Fault(era, id, e, as)
	h := w.Header()
	h.Set("Content-Type", protocol.ContentJSON)
	h.Set("Content-Length", strconv.Itoa(len(answer.Raw)))
	w.WriteHeader(status)
	_, _ = w.Write(answer.Raw)
}

func (d *Door) post(w http.ResponseWriter, r *http.Request) {
	if d.refuseType(w, r) {
		return
	}
	accept := accepted(r.Header["Accept"])
	if !accept.JSON && !accept.Events {
		d.refuse(w, r, http.StatusNotAcceptable, hub.E(message.AcceptRefused, nil))
		return
	}
	body, err := d.readBody(w, r)
	if err != nil {
		d.refuse(w, r, statusOf(err), hub.AsError(err))
		return
	}
	if first := firstByte(body); first == '[' {
		d.batch(w, r, body, accept)
		return
	}
	m, err := wire.Scan(body, d.limits)
	if err != nil {
		e := scanFault(err)
		as := gateway.Voice{Lang: d.gateway.Language(hub.Viewer{}, language(r))}
		refuseID(w, statusOf(e), protocol.Legacy, m.ID.Of(body), e, as)
		return
	}
	conv, e := d.conversation(r, &m)
	if e != nil {
		as := gateway.Voice{Lang: d.gateway.Language(conv.viewer(), language(r)), Method: m.MethodName()}
		refuseID(w, statusOf(e), conv.era, requestID(&m), e, as)
		return
	}
	switch m.Kind {
	case wire.Request:
		if d.refuseScope(w, r, &m, conv) {
			return
		}
		d.request(w, r, &m, conv, accept)
	default:
		d.told(conv.caller, &m)
		w.WriteHeader(http.StatusAccepted)
	}
}

// request answers a single request.
func (d *Door) request(w http.ResponseWriter, r *http.Request, m *wire.Message, conv conversation, accept transport.ReplyOptions) {
	switch {
	case conv.opening:
		d.open(w, r, m, accept)
		return
	case conv.caller.Session != nil:
		d.inSession(w, r, m, conv.caller, accept)
		return
	case !accept.Events && listens(conv.era, m):
		d.refuse(w, r, http.StatusNotAcceptable, hub.E(message.AcceptRefused, nil))
		return
	}
	reply := transport.NewReply(w, accept)
	defer reply.Close()
	answer := d.answer(r.Context(), conv.caller, m, reply)
	if r.Context().Err() == nil {
		respond(reply, conv.era, answer)
	}
}

// open answers an initialize request.
func (d *Door) open(w http.ResponseWriter, r *http.Request, m *wire.Message, accept transport.ReplyOptions) {
	s, answer := d.gateway.Initialize(&gateway.Caller{
		Principal: principal(r, hub.DoorMCP), Viewer: viewer(principal(r, hub.DoorMCP), r.PathValue(groupParam)), Accept: language(r),
	}, m)
	if s != nil {
		w.Header()[protocol.HeaderSession] = []string{s.ID()}
	}
	reply := transport.NewReply(w, accept)
	defer reply.Close()
	respond(reply, protocol.Legacy, answer)
}

// respond sends the answer to a request, and ends the use of it.
func respond(reply *transport.Reply, era protocol.Era, a gateway.Answer) {
	reply.Respond(protocol.HTTPStatus(era, a.Code), a.Raw, a.Edits...)
	if a.Own {
		transport.Recycle(a.Raw)
	}
}

// get opens the standing stream of a legacy session, or goes on with one that
// the client has lost.
func (d *Door) get(w http.ResponseWriter, r *http.Request) {
	if d.refuseModern(w, r) {
		return
	}
	accept := accepted(r.Header["Accept"])
	if !accept.Events {
		d.refuse(w, r, http.StatusNotAcceptable, hub.E(message.AcceptRefused, nil))
		return
	}
	s, e := d.session(r)
	if e != nil {
		d.refuse(w, r, statusOf(e), e)
		return
	}
	defer s.Enter()()
	reply := transport.NewReply(w, accept)
	defer reply.Close()
	if e := d.gateway.Stream(r.Context(), s, r.Header.Get(protocol.HeaderEventID), reply); e != nil {
		reply.Close()
		d.refuse(w, r, statusOf(e), e)
	}
}

// refuseModern refuses what the modern era, which has no sessions, has no use
// for. It reports whether it did.
func (d *Door) refuseModern(w http.ResponseWriter, r *http.Request) bool {
	if protocol.Revision(r.Header.Get(protocol.HeaderVersion)).Era() != protocol.Modern {
		return false
	}
	return d.refuseMethod(w, r, http.MethodPost)
}

// delete ends a legacy session.
func (d *Door) delete(w http.ResponseWriter, r *http.Request) {
	if d.refuseModern(w, r) {
		return
	}
	s, e := d.session(r)
	if e != nil {
		d.refuse(w, r, statusOf(e), e)
		return
	}
	d.gateway.End(s)
	w.WriteHeader(http.StatusNoContent)
}

// accepted reads an Accept header. A client that sends none takes JSON.
func accepted(values []string) transport.ReplyOptions {
	opt := transport.ReplyOptions{Silence: silence, WriteLimit: writeLimit}
	if len(values) == 0 {
		opt.JSON = true
		return opt
	}
	for _, v := range values {
		anything := strings.Contains(v, "*/*")
		opt.JSON = opt.JSON || anything || strings.Contains(v, protocol.ContentJSON) || strings.Contains(v, "application/*")
		opt.Events = opt.Events || anything || strings.Contains(v, protocol.ContentEvents) || strings.Contains(v, "text/*")
	}
	return opt
}

// refuseType refuses a body that is not said to be JSON. It reports whether it
// did.
func (d *Door) refuseType(w http.ResponseWriter, r *http.Request) bool {
	said := r.Header.Get("Content-Type")
	if said == protocol.ContentJSON {
		return false
	}
	if kind, _, err := mime.ParseMediaType(said); err == nil && kind == protocol.ContentJSON {
		return false
	}
	d.refuse(w, r, http.StatusUnsupportedMediaType, hub.E(message.TypeRefused, nil, "type", message.Quote(said)))
	return true
}

// refuseMethod refuses every HTTP method but those allowed. It reports whether
// it did.
func (d *Door) refuseMethod(w http.ResponseWriter, r *http.Request, allowed ...string) bool {
	if slices.Contains(allowed, r.Method) {
		return false
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	d.refuse(w, r, http.StatusMethodNotAllowed, hub.E(message.HTTPMethodRefused, nil, "method", message.Quote(r.Method)))
	return true
}

// tooBig refuses a message that is longer than any may be.
func (d *Door) tooBig() *hub.Error {
	return hub.E(message.MessageTooBig, nil, "limit", strconv.Itoa(d.limits.MaxBytes>>20)+" MiB")
}

// readBody reads a whole body. How long that may take is for the listener to
// limit.
func (d *Door) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > int64(d.limits.MaxBytes) {
		return nil, d.tooBig()
	}
	var body []byte
	var err error
	if r.ContentLength >= 0 && r.ContentLength <= 1<<20 {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
	} else {
		// The size that is claimed is not believed before it has come.
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, int64(d.limits.MaxBytes)))
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, d.tooBig()
	}
	if err != nil {
		return nil, hub.E(message.MessageMalformed, err).With("detail", message.Say("the body did not come to its end"))
	}
	return body, nil
}

func firstByte(body []byte) byte {
	for _, c := range body {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// requestID is the id to answer a refused message with.
func requestID(m *wire.Message) []byte {
	if m.Kind != wire.Request {
		return nil
	}
	return m.ID.Of(m.Raw)
}
