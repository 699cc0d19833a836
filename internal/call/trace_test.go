package call

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// Spans of callers.
const (
	traceA  = "0af7651916cd43dd8448eb211c80319c"
	traceB  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parentA = "00-" + traceA + "-b7ad6b7169203331-01"
	parentB = "00-" + traceB + "-00f067aa0ba902b7-01"
)

// heard is what servers got as _meta, the last one.
type heard struct {
	mu   sync.Mutex
	meta map[string]any
}

// traced is a pipeline of which the spans are kept, and a server that hears.
func traced(t *testing.T, on bool) (*crib, *heard, *tracetest.InMemoryExporter) {
	t.Helper()
	h := &heard{}
	var tools []string
	for _, name := range []string{"x", "fail", "refuse"} {
		tools = append(tools, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
	}
	c := newCrib(t, map[string]func(p *peer){"s": lists(0, strings.Join(tools, ","), func(p *peer, n note) bool {
		var all struct {
			Params struct {
				Meta map[string]any `json:"_meta"`
			} `json:"params"`
		}
		if err := json.Unmarshal(p.in.Bytes(), &all); err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		h.meta = all.Params.Meta
		h.mu.Unlock()
		switch n.Params.Name {
		case "fail":
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"isError":true}}`, n.ID)
		case "refuse":
			p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"s3cr3t"}}`, n.ID)
		default:
			p.result(n, "done")
		}
		return true
	})}, builtin("s"))
	kept := tracetest.NewInMemoryExporter()
	if on {
		c.tracing = tracing{sdk.NewTracerProvider(sdk.WithSyncer(kept)).Tracer("test")}
	}
	synctest.Wait()
	return c, h, kept
}

// put calls a tool with a _meta, both raw JSON.
func (c *crib) put(ctx context.Context, name, meta string) (hub.CallRecord, error) {
	c.t.Helper()
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":"one","method":"tools/call","params":{"_meta":`+meta+`,"name":"`+name+`","arguments":{"secret":"s3cr3t"}}}`), wire.Limits{})
	if err != nil {
		c.t.Fatal(err)
	}
	p := hub.Principal{Subject: "ann", Door: hub.DoorMCP, Role: hub.RoleCaller}
	_, err = c.Do(ctx, &Request{Principal: p, Session: "session", Message: &m, Exchange: &caller{}})
	return *(<-c.ended.C()).(hub.CallEnded).Call, err
}

// described are the attributes of a span, as texts.
func described(s tracetest.SpanStub) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

// The protocol of a caller's request follows from the door.
func TestSpansNameTheProtocol(t *testing.T) {
	for door, want := range map[hub.Door]string{
		hub.DoorMCP: "http", hub.DoorSSE: "http", hub.DoorREST: "http", hub.DoorWebSocket: "websocket", hub.DoorStdio: "websocket", "": "",
	} {
		got := ""
		for _, a := range came(door) {
			if a.Key == "network.protocol.name" {
				got = a.Value.AsString()
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", door, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	session := hub.SessionRef("session")
	for _, tt := range []struct {
		tool           string
		name           string // of the span of the request
		server, client map[string]string
	}{
		{"s__x", "tools/call s__x", nil, nil},
		{"s__fail", "tools/call s__fail", map[string]string{"error.type": "tool_error"}, map[string]string{"error.type": "tool_error", "gen_ai.tool.name": "fail"}},
		{
			"s__refuse", "tools/call s__refuse",
			map[string]string{"error.type": "-32000", "rpc.response.status_code": "-32000"},
			map[string]string{"error.type": "-32000", "rpc.response.status_code": "-32000", "gen_ai.tool.name": "refuse"},
		},
		{"s__none", "tools/call", map[string]string{"error.type": "tool_unknown", "toolcrib.server": ""}, nil},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, h, kept := traced(t, true)
				ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{})
				record, _ := c.put(ctx, tt.tool, `{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`)
				spans := kept.GetSpans()
				request := spans[len(spans)-1]
				want := map[string]string{
					"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tt.tool,
					"mcp.session.id": session, "jsonrpc.request.id": "one", "network.transport": "tcp", "network.protocol.name": "http", "toolcrib.door": "mcp",
					"toolcrib.call.id": record.ID, "toolcrib.server": "s", "mcp.protocol.version": "2026-07-28",
				}
				maps.Copy(want, tt.server)
				maps.DeleteFunc(want, func(_, v string) bool { return v == "" })
				if got := described(request); !maps.Equal(got, want) {
					t.Errorf("the request has\n%v, want\n%v", got, want)
				}
				if request.Name != tt.name || request.SpanKind != trace.SpanKindServer || request.Parent.IsValid() {
					t.Errorf("the request is %q, %v of %v", request.Name, request.SpanKind, request.Parent)
				}
				if (request.Status.Code == codes.Error) != (tt.server != nil) || strings.Contains(request.Status.Description, "s3cr3t") {
					t.Errorf("the request ended with %+v", request.Status)
				}
				if record.Trace != request.SpanContext.TraceID().String() {
					t.Errorf("the record is of %q", record.Trace)
				}
				if tt.tool == "s__none" {
					if len(spans) != 1 {
						t.Errorf("got %d spans", len(spans))
					}
					return
				}
				sent := spans[0]
				want = map[string]string{
					"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x", "toolcrib.server": "s",
					"toolcrib.attempt": "1", "mcp.protocol.version": "2025-11-25", "jsonrpc.request.id": described(sent)["jsonrpc.request.id"],
				}
				maps.Copy(want, tt.client)
				if got := described(sent); !maps.Equal(got, want) || want["jsonrpc.request.id"] == "" {
					t.Errorf("the attempt has\n%v, want\n%v", got, want)
				}
				if sent.SpanKind != trace.SpanKindClient || sent.Parent.SpanID() != request.SpanContext.SpanID() || len(spans) != 2 {
					t.Errorf("the attempt is %v of %v, one of %d", sent.SpanKind, sent.Parent, len(spans))
				}
				h.mu.Lock()
				defer h.mu.Unlock()
				told := fmt.Sprintf("00-%s-%s-01", sent.SpanContext.TraceID(), sent.SpanContext.SpanID())
				if h.meta["traceparent"] != told || len(h.meta) != 1 {
					t.Errorf("the server was told %v, want %s", h.meta, told)
				}
			})
		})
	}
}

// A request is part of the trace that it names itself, else of that of its HTTP
// request; the server gets what belongs to it.
func TestTraceOfACall(t *testing.T) {
	around := func(ctx context.Context) context.Context {
		id, _ := trace.TraceIDFromHex(traceB)
		state, _ := trace.ParseTraceState("http=1")
		bag, err := baggage.Parse("of=http")
		if err != nil {
			t.Fatal(err)
		}
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: id, SpanID: trace.SpanID{9}, TraceFlags: trace.FlagsSampled, TraceState: state, Remote: true,
		}))
		return baggage.ContextWithBaggage(ctx, bag)
	}
	const own = `"traceparent":"` + parentA + `","tracestate":"a=b","baggage":"k=v"`
	for _, tt := range []struct {
		name   string
		http   bool
		meta   string
		trace  string // "" for one of the hub's own
		links  int
		told   map[string]any // besides traceparent
		silent map[string]any // that the server is told if there is no tracing
	}{
		{"nothing", false, `{}`, "", 0, map[string]any{}, map[string]any{}},
		{"of its own", false, `{` + own + `}`, traceA, 0, map[string]any{"tracestate": "a=b", "baggage": "k=v"}, map[string]any{"traceparent": parentA, "tracestate": "a=b", "baggage": "k=v"}},
		{"of its HTTP request", true, `{}`, traceB, 0, map[string]any{"tracestate": "http=1", "baggage": "of=http"}, map[string]any{}},
		{"of both", true, `{` + own + `}`, traceA, 1, map[string]any{"tracestate": "a=b", "baggage": "k=v"}, map[string]any{"traceparent": parentA, "tracestate": "a=b", "baggage": "k=v"}},
		{"baggage only", true, `{"baggage":"k=v"}`, traceB, 0, map[string]any{"tracestate": "http=1", "baggage": "k=v"}, map[string]any{"baggage": "k=v"}},
		{"nonsense", true, `{"traceparent":"00-1-2-3"}`, traceB, 0, map[string]any{"tracestate": "http=1", "baggage": "of=http"}, map[string]any{"traceparent": "00-1-2-3"}},
		{"no text", false, `{"traceparent":7}`, "", 0, map[string]any{}, map[string]any{"traceparent": 7.}},
	} {
		for _, on := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, tracing %v", tt.name, on), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, h, kept := traced(t, on)
					ctx := t.Context()
					if tt.http {
						ctx = around(ctx)
					}
					record, err := c.put(ctx, "s__x", tt.meta)
					if err != nil {
						t.Fatal(err)
					}
					h.mu.Lock()
					defer h.mu.Unlock()
					if !on {
						if record.Trace != tt.trace || !maps.Equal(h.meta, tt.silent) || len(kept.GetSpans()) > 0 {
							t.Errorf("the record is of %q, the server was told %v", record.Trace, h.meta)
						}
						return
					}
					spans := kept.GetSpans()
					sent, request := spans[0], spans[1]
					of := tt.trace
					if of == "" {
						of = request.SpanContext.TraceID().String()
					}
					if record.Trace != of || request.SpanContext.TraceID().String() != of || len(request.Links) != tt.links {
						t.Errorf("it is of %q, %v with %v", record.Trace, request.SpanContext, request.Links)
					}
					want := map[string]any{"traceparent": fmt.Sprintf("00-%s-%s-01", of, sent.SpanContext.SpanID())}
					maps.Copy(want, tt.told)
					if !maps.Equal(h.meta, want) {
						t.Errorf("the server was told\n%v, want\n%v", h.meta, want)
					}
				})
			})
		}
	}
}

// A trace that its caller does not want to be kept is not, and goes on all the
// same.
func TestTraceNotSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, h, kept := traced(t, true)
		record, err := c.put(t.Context(), "s__x", `{"traceparent":"00-`+traceA+`-b7ad6b7169203331-00"}`)
		if err != nil || record.Trace != traceA || len(kept.GetSpans()) > 0 {
			t.Errorf("got %v, of %q, %v", err, record.Trace, kept.GetSpans())
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if told, _ := h.meta["traceparent"].(string); !strings.HasPrefix(told, "00-"+traceA) || !strings.HasSuffix(told, "-00") {
			t.Errorf("the server was told %v", h.meta)
		}
	})
}

// What there is of traces in a message is found or not; nothing else happens.
func FuzzCarried(f *testing.F) {
	f.Add(`{"traceparent":"` + parentA + `","tracestate":"a=b"}`)
	f.Add(`{"traceparent":"` + parentB + `x","baggage":[]}`)
	f.Add(`{"traceparent":null,"traceparent":"\ud800"}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, meta string) {
		m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":`+meta+`}}`), wire.Limits{})
		if err != nil {
			return
		}
		of := carried(&m)
		if of.IsValid() && !strings.Contains(meta, "\\u") && !strings.Contains(strings.ToLower(meta), of.TraceID().String()) {
			t.Errorf("%s is of %v", meta, of)
		}
		told := toldOf(trace.ContextWithRemoteSpanContext(t.Context(), of))
		if !json.Valid([]byte("{" + string(told) + "}")) {
			t.Errorf("a server is told %s", told)
		}
	})
}

// What a call costs that nobody traces.
func BenchmarkUntraced(b *testing.B) {
	for name, meta := range map[string]string{
		"legacy": ``, "modern": `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x"},"io.modelcontextprotocol/clientCapabilities":{}}`,
	} {
		m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__x","arguments":{}`+meta+`}}`), wire.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		r := &run{Request: Request{Message: &m}, verb: &verb{method: "tools/call"}, record: &hub.CallRecord{}}
		ctx := hub.WithRequest(b.Context(), "id")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ctx, s := tracing{}.begin(ctx, r)
				tracing{}.end(ctx, s, r)
			}
		})
	}
}

// TestUntracedAllocates nothing.
func TestUntracedAllocates(t *testing.T) {
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__x","_meta":{"a":1}}}`), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{Request: Request{Message: &m}, verb: &verb{method: "tools/call"}, record: &hub.CallRecord{}}
	if n := testing.AllocsPerRun(100, func() {
		ctx, s := tracing{}.begin(t.Context(), r)
		tracing{}.end(ctx, s, r)
	}); n > 0 {
		t.Errorf("a call that nobody traces allocates %v times for it", n)
	}
}
