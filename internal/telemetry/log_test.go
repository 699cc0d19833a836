package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// line is what one line of the log says.
func line(t *testing.T, ctx context.Context, with func(*slog.Logger) *slog.Logger) map[string]any { //nolint:revive // the test comes first everywhere
	t.Helper()
	var out bytes.Buffer
	with(slog.New(NewHandler(slog.NewJSONHandler(&out, nil)))).InfoContext(ctx, "x", "own", 1)
	said := map[string]any{}
	if err := json.Unmarshal(out.Bytes(), &said); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	delete(said, "time")
	delete(said, "level")
	delete(said, "msg")
	return said
}

func TestOnWhoseBehalf(t *testing.T) {
	as := func(l *slog.Logger) *slog.Logger { return l }
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	request := hub.WithRequest(t.Context(), "r1")
	call := hub.WithCall(request, &hub.CallRecord{ID: "c1", Session: "s1", Trace: "t1"})
	for _, test := range []struct {
		name string
		ctx  context.Context
		with func(*slog.Logger) *slog.Logger
		want map[string]any
	}{
		{"nobody's", t.Context(), as, map[string]any{"own": 1.}},
		{"a request's", request, as, map[string]any{"own": 1., "request": "r1"}},
		{"a call's", call, as, map[string]any{"own": 1., "request": "r1", "call": "c1", "session": "s1", "trace": "t1"}},
		{"a span's", trace.ContextWithSpanContext(call, span), as, map[string]any{
			"own": 1., "request": "r1", "call": "c1", "session": "s1", "trace": span.TraceID().String(),
		}},
		{"a call without a session", hub.WithCall(t.Context(), &hub.CallRecord{ID: "c1"}), as, map[string]any{"own": 1., "call": "c1"}},
		{"with more of its own", request, func(l *slog.Logger) *slog.Logger { return l.With("part", "p") }, map[string]any{"own": 1., "part": "p", "request": "r1"}},
	} {
		got := line(t, test.ctx, test.with)
		if len(got) != len(test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
		for key, want := range test.want {
			if got[key] != want {
				t.Errorf("%s: %s is %v, want %v", test.name, key, got[key], want)
			}
		}
	}
	in := line(t, request, func(l *slog.Logger) *slog.Logger { return l.WithGroup("g") })
	if g, _ := in["g"].(map[string]any); g["request"] != "r1" {
		t.Errorf("in a group: %v", in)
	}
}

// What is not logged costs nothing, and a line that others have too stays as it
// is.
func TestHandlerIsQuiet(t *testing.T) {
	var out bytes.Buffer
	h := NewHandler(slog.NewTextHandler(&out, nil))
	if NewHandler(h) != h {
		t.Error("it adds everything twice")
	}
	ctx := hub.WithRequest(t.Context(), "r1")
	log := slog.New(h)
	log.DebugContext(ctx, "not this")
	if out.Len() > 0 {
		t.Errorf("logs %s", &out)
	}
	record := slog.Record{Message: "x"}
	record.AddAttrs(slog.Int("a", 1), slog.Int("b", 1), slog.Int("c", 1), slog.Int("d", 1), slog.Int("e", 1), slog.Int("f", 1))
	if err := h.Handle(ctx, record); err != nil {
		t.Fatal(err)
	}
	if record.NumAttrs() != 6 {
		t.Errorf("the line of somebody else has %d members", record.NumAttrs())
	}
}
