package call

import (
	"context"
	"net"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// tracing makes the spans of calls, by the conventions of OpenTelemetry for MCP:
// one for the caller's request, and in it one for each time that it is sent to a
// server. Without a tracer it makes none, and notes of which trace a call is.
type tracing struct{ tracer trace.Tracer }

// begin begins the span of a caller's request, which becomes that of the
// context, and enters the trace into the record. The span is nil if none is
// made; else end is to be called.
//
// The request is part of what its _meta says, else of what the header of its
// HTTP request says, which is in the context.
func (t tracing) begin(ctx context.Context, r *run) (context.Context, trace.Span) {
	around := trace.SpanContextFromContext(ctx)
	parent := carried(r.Message)
	if t.tracer == nil {
		if !parent.IsValid() {
			parent = around
		}
		if parent.IsValid() {
			r.record.Trace = parent.TraceID().String()
		}
		return ctx, nil
	}
	opt := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("mcp.method.name", r.verb.method))}
	if parent.IsValid() || r.said(protocol.MetaBaggage).Exists() {
		ctx = baggage.ContextWithoutBaggage(ctx) // the request has its own, which stays in it
	}
	if parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
		if around.IsValid() {
			opt = append(opt, trace.WithLinks(trace.Link{SpanContext: around}))
		}
	}
	ctx, s := t.tracer.Start(ctx, r.verb.method, opt...)
	r.record.Trace = s.SpanContext().TraceID().String()
	return ctx, s
}

// carried is the span that a request says it is part of; it is not valid if it
// says none.
func carried(m *wire.Message) trace.SpanContext {
	meta := m.Member("_meta")
	if !wire.Lookup(m.Raw, meta, protocol.MetaTraceparent).Exists() {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), members{m.Raw, meta})
	return trace.SpanContextFromContext(ctx)
}

// members are the texts among the members of an object, for a propagator to read.
type members struct {
	raw []byte
	of  wire.Span
}

// Get implements [propagation.TextMapCarrier].
func (m members) Get(key string) string {
	text, _ := wire.String(m.raw, wire.Lookup(m.raw, m.of, key))
	return text
}

// Set implements [propagation.TextMapCarrier]; nothing is written this way.
func (m members) Set(string, string) {}

// Keys implements [propagation.TextMapCarrier]; nobody asks for them.
func (m members) Keys() []string { return nil }

// end ends the span of a caller's request, whose record is complete.
func (t tracing) end(ctx context.Context, s trace.Span, r *run) {
	if s == nil {
		return
	}
	defer s.End()
	if !s.IsRecording() {
		return
	}
	c := r.record
	about := make([]attribute.KeyValue, 0, 13)
	about = append(about, attribute.String("toolcrib.call.id", c.ID), attribute.String("toolcrib.door", string(c.Door)))
	if c.Session != "" {
		about = append(about, attribute.String("mcp.session.id", c.Session)) // the id itself would let others speak in it
	}
	if c.Server != "" {
		about = append(about, attribute.String("toolcrib.server", c.Server))
	}
	if c.Cached {
		about = append(about, attribute.Bool("toolcrib.cached", true))
	}
	if c.Door != hub.DoorREST { // which has none of its own
		about = append(about, requestID(r.Message))
	}
	if at, ok := ctx.Value(http.LocalAddrContextKey).(net.Addr); ok {
		about = append(about, attribute.String("network.transport", at.Network()))
	}
	about = append(about, came(c.Door)...)
	if version, ok := wire.String(r.Message.Raw, r.said(protocol.MetaVersion)); ok {
		about = append(about, attribute.String("mcp.protocol.version", version))
	}
	about = append(about, r.target(c.Name)...)
	if r.server != nil && c.Name != "" && r.verb.method != protocol.MethodResourcesRead { // or anybody could make up names of spans
		s.SetName(r.verb.method + " " + c.Name)
	}
	s.SetAttributes(about...)
	switch {
	case c.Code != "":
		failed(s, c.Code, c.Reason)
	case r.reply != nil:
		answered(s, &r.reply.Message)
	case c.Outcome != hub.OutcomeOK:
		failed(s, string(c.Outcome), "")
	}
}

// ask sends a call to a server once, as a span of its own if the call has one.
// The server is told of that span.
func (t tracing) ask(ctx context.Context, r *run, conn *upstream.Conn, ex hub.Exchange) (*upstream.Reply, error) {
	if t.tracer == nil {
		return conn.Do(ctx, &r.up, ex)
	}
	name := r.verb.method
	if r.own != "" && r.verb.method != protocol.MethodResourcesRead {
		name += " " + short(r.own)
	}
	ctx, s := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.String("mcp.method.name", r.verb.method)))
	defer s.End()
	r.up.Trace = toldOf(ctx)
	reply, err := conn.Do(ctx, &r.up, ex)
	if !s.IsRecording() {
		return reply, err
	}
	about := append(make([]attribute.KeyValue, 0, 10),
		attribute.String("toolcrib.server", r.server.Key),
		attribute.Int("toolcrib.attempt", len(r.record.Attempts)+1),
		attribute.String("mcp.protocol.version", conn.Protocol()),
	)
	about = append(append(about, carrier(r.server.Kind)...), r.target(short(r.own))...)
	if err != nil {
		e := hub.AsError(err)
		s.SetAttributes(about...)
		failed(s, string(e.Code), "") // its text is that of the call
		return reply, err
	}
	s.SetAttributes(append(about, requestID(&reply.Message))...)
	answered(s, &reply.Message)
	return reply, nil
}

// toldOf is what a server is told of the span of the context, as members of
// _meta.
func toldOf(ctx context.Context) []byte {
	of := trace.SpanContextFromContext(ctx)
	b := make([]byte, 0, 128)
	b = append(b, `"`+protocol.MetaTraceparent+`":"00-`...)
	b = append(b, of.TraceID().String()...)
	b = append(b, '-')
	b = append(b, of.SpanID().String()...)
	b = append(b, '-')
	b = append(b, of.TraceFlags().String()...)
	b = append(b, '"')
	if state := of.TraceState(); state.Len() > 0 {
		b = append(b, `,"`+protocol.MetaTracestate+`":`...)
		b = wire.AppendString(b, state.String())
	}
	if luggage := baggage.FromContext(ctx); luggage.Len() > 0 {
		b = append(b, `,"`+protocol.MetaBaggage+`":`...)
		b = wire.AppendString(b, luggage.String())
	}
	return b
}

// target is what a request is about, under the name given; of a URI what the log
// says of it too.
func (r *run) target(name string) []attribute.KeyValue {
	switch r.verb.method {
	case protocol.MethodToolsCall:
		return []attribute.KeyValue{attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", name)}
	case protocol.MethodPromptsGet:
		return []attribute.KeyValue{attribute.String("gen_ai.prompt.name", name)}
	case protocol.MethodResourcesRead:
		if r.own != "" {
			return []attribute.KeyValue{attribute.String("mcp.resource.uri", r.label())}
		}
	}
	return nil
}

// said is a member of the request's _meta.
func (r *run) said(key string) wire.Span {
	return wire.Lookup(r.Message.Raw, r.Message.Member("_meta"), key)
}

// came is by which protocol requests come through a door.
func came(door hub.Door) []attribute.KeyValue {
	switch door {
	case hub.DoorMCP, hub.DoorSSE, hub.DoorREST:
		return []attribute.KeyValue{attribute.String("network.protocol.name", "http")}
	case hub.DoorWebSocket, hub.DoorStdio: // "toolcrib stdio" passes the client's messages on by a WebSocket
		return []attribute.KeyValue{attribute.String("network.protocol.name", "websocket")}
	}
	return nil
}

// carrier is how servers of a kind are reached.
func carrier(k hub.Kind) []attribute.KeyValue {
	switch k {
	case hub.KindStdio:
		return []attribute.KeyValue{attribute.String("network.transport", "pipe")}
	case hub.KindHTTP, hub.KindSSE:
		return []attribute.KeyValue{attribute.String("network.transport", "tcp"), attribute.String("network.protocol.name", "http")}
	case hub.KindWebSocket:
		return []attribute.KeyValue{attribute.String("network.transport", "tcp"), attribute.String("network.protocol.name", "websocket")}
	}
	return nil
}

// requestID is the id of a message, as it is written but for quotes.
func requestID(m *wire.Message) attribute.KeyValue {
	id := m.ID.Of(m.Raw)
	if text, ok := wire.String(m.Raw, m.ID); ok {
		return attribute.String("jsonrpc.request.id", short(text))
	}
	return attribute.String("jsonrpc.request.id", short(string(id)))
}

// answered says of a span what a server's answer says about success. The text of
// an error stays out: it is the server's, and may hold anything.
func answered(s trace.Span, m *wire.Message) {
	if m.Kind == wire.Failure {
		code := short(string(wire.Lookup(m.Raw, m.Error, "code").Of(m.Raw)))
		s.SetAttributes(attribute.String("rpc.response.status_code", code))
		failed(s, code, "")
		return
	}
	if string(m.Member("isError").Of(m.Raw)) == "true" {
		failed(s, "tool_error", "")
	}
}

// failed says of a span that it did not go well.
func failed(s trace.Span, kind, reason string) {
	s.SetAttributes(attribute.String("error.type", kind))
	s.SetStatus(codes.Error, reason)
}
