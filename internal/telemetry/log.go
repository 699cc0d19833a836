package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Handler is a [slog.Handler] that says in each line on whose behalf it was
// written, as far as its context tells: the HTTP request, the call, the
// caller's session by [hub.SessionRef], the trace. Lines of no request stay as
// they are.
type Handler struct{ next slog.Handler }

// NewHandler returns a Handler that hands lines over to the next one; that one
// itself if it is a Handler already.
func NewHandler(next slog.Handler) *Handler {
	if h, ok := next.(*Handler); ok {
		return h
	}
	return &Handler{next}
}

// Enabled implements [slog.Handler].
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *Handler) Handle(ctx context.Context, line slog.Record) error {
	var of [4]slog.Attr
	n := 0
	say := func(key, value string) {
		if value != "" {
			of[n] = slog.String(key, value)
			n++
		}
	}
	say("request", hub.RequestOf(ctx))
	traced := ""
	if c := hub.CallOf(ctx); c != nil {
		say("call", c.ID)
		say("session", c.Session)
		traced = c.Trace
	}
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		traced = sc.TraceID().String()
	}
	say("trace", traced)
	if n > 0 {
		line = line.Clone() // others may have the same one
		line.AddAttrs(of[:n]...)
	}
	return h.next.Handle(ctx, line)
}

// WithAttrs implements [slog.Handler].
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler { return &Handler{h.next.WithAttrs(attrs)} }

// WithGroup implements [slog.Handler]. What a Handler adds stands in the group.
func (h *Handler) WithGroup(name string) slog.Handler { return &Handler{h.next.WithGroup(name)} }
