package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	post "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/toolcrib/toolcrib/internal/secret"
)

// collected is a collector of OpenTelemetry that keeps what it gets.
type collected struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	status int // that it answers with; 0 for 200
	heads  []http.Header
	paths  []string
	all    []*otlp.ResourceSpans
	hold   chan struct{} // closed when it may answer; nil for at once
}

// collect starts a collector.
func collect(t *testing.T) *collected {
	t.Helper()
	c := &collected{t: t}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP implements [http.Handler].
func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			c.t.Error(err)
		}
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return // the hub has given up
	}
	var batch post.ExportTraceServiceRequest
	if err := proto.Unmarshal(text, &batch); err != nil {
		c.t.Error(err)
	}
	c.mu.Lock()
	hold, status := c.hold, c.status
	c.heads, c.paths = append(c.heads, r.Header), append(c.paths, r.URL.RequestURI())
	if status == 0 {
		c.all = append(c.all, batch.GetResourceSpans()...)
	}
	c.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	if status != 0 {
		w.WriteHeader(status)
	}
}

// spans are those that came, and what was said of the hub with the last ones.
func (c *collected) spans() (spans []*otlp.Span, about map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	about = map[string]string{}
	for _, of := range c.all {
		for _, a := range of.GetResource().GetAttributes() {
			about[a.GetKey()] = a.GetValue().GetStringValue()
		}
		for _, scope := range of.GetScopeSpans() {
			spans = append(spans, scope.GetSpans()...)
		}
	}
	return spans, about
}

// running is traces that are being sent.
type running struct {
	*Traces
	log  *guarded
	stop func()
}

// guarded is a log to read in while it is written.
type guarded struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (g *guarded) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.Write(p)
}

func (g *guarded) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String()
}

// send runs traces until stop or the end of the test.
func send(t *testing.T, opt TracesOptions) *running {
	t.Helper()
	log := &guarded{}
	opt.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	traces, err := NewTraces(opt)
	if err != nil || traces == nil {
		t.Fatalf("got %v, %v", traces, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := traces.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)
	return &running{traces, log, stop}
}

// spans makes spans.
func (r *running) spans(n int) {
	for i := range n {
		_, s := r.Tracer().Start(context.Background(), fmt.Sprintf("span %d", i))
		s.SetAttributes(attribute.Int("n", i))
		s.End()
	}
}

// off has nothing of the environment decide about traces.
func off(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_SAMPLER",
	} {
		t.Setenv(name, "")
	}
}

func TestTracesReachTheirCollector(t *testing.T) {
	off(t)
	c := collect(t)
	r := send(t, TracesOptions{
		Endpoint: c.URL, Version: "v1", Node: "node-1",
		Headers: map[string]secret.Value{"X-Api-Key": secret.NewValue("planted-secret")},
	})
	r.spans(batch + 3)
	r.stop()
	spans, about := c.spans()
	if len(spans) != batch+3 {
		t.Errorf("got %d spans", len(spans))
	}
	if about["service.name"] != "toolcrib" || about["service.version"] != "v1" || about["service.instance.id"] != "node-1" {
		t.Errorf("they are of %v", about)
	}
	for i, h := range c.heads {
		if h.Get("X-Api-Key") != "planted-secret" || c.paths[i] != "/v1/traces" {
			t.Errorf("posted to %s with %v", c.paths[i], h)
		}
	}
	if got := r.Spans(); got != (Spans{Sent: batch + 3}) {
		t.Errorf("says %+v", got)
	}
	if r.log.String() != "" {
		t.Errorf("logs %s", r.log)
	}
}

func TestAddress(t *testing.T) {
	for given, want := range map[string]string{
		"http://a:4318":                "http://a:4318/v1/traces map[X:mine]",
		"http://a:4318/":               "http://a:4318/v1/traces map[X:mine]",
		"https://a/otlp":               "https://a/otlp/v1/traces map[X:mine]",
		"https://a/otlp/v1/traces":     "https://a/otlp/v1/traces map[X:mine]",
		"https://a/x?k=v":              "https://a/x/v1/traces?k=v map[X:mine]",
		"https://ann:pass@a/v1/traces": "https://a/v1/traces map[Authorization:Basic YW5uOnBhc3M= X:mine]",
	} {
		u, headers, err := address(TracesOptions{Endpoint: given, Headers: map[string]secret.Value{"x": secret.NewValue("mine")}})
		if err != nil || fmt.Sprint(u, headers) != want {
			t.Errorf("%s: posted to %v with %v, %v; want %s", given, u, headers, err, want)
		}
	}
	if _, err := NewTraces(TracesOptions{Endpoint: "http://ann:planted@a:b/"}); err == nil || strings.Contains(err.Error(), "planted") {
		t.Errorf("got %v", err)
	}
}

// What an address holds besides host and path reaches the collector, and no log.
func TestSecretAddress(t *testing.T) {
	off(t)
	c := collect(t)
	host := strings.TrimPrefix(c.URL, "http://")
	for _, status := range []int{0, http.StatusForbidden} {
		c.status = status
		r := send(t, TracesOptions{Endpoint: "http://ann:planted-1@" + host + "/?key=planted-2"})
		r.spans(1)
		r.stop()
		if strings.Contains(r.log.String(), "planted") || (r.log.String() == "") != (status == 0) {
			t.Errorf("logs %s", r.log)
		}
	}
	for i, h := range c.heads {
		if user, password, _ := (&http.Request{Header: h}).BasicAuth(); user != "ann" || password != "planted-1" || c.paths[i] != "/v1/traces?key=planted-2" {
			t.Errorf("posted to %s by %s with %s", c.paths[i], user, password)
		}
	}
}

// Without an endpoint there is nothing at all.
func TestTracesAreOff(t *testing.T) {
	off(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, value := range map[string]string{"": "", "OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "none"} {
		opt := TracesOptions{}
		if name != "" {
			t.Setenv(name, value)
			opt.Endpoint = "http://127.0.0.1:1"
		}
		traces, err := NewTraces(opt)
		if traces != nil || err != nil || traces.Tracer() != nil || traces.Run(ended) != nil {
			t.Errorf("%s: got %v, %v", name, traces, err)
		}
		if name != "" {
			t.Setenv(name, "")
		}
	}
}

// The environment says where to, as OpenTelemetry has it.
func TestTracesByEnvironment(t *testing.T) {
	off(t)
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=planted")
	t.Setenv("OTEL_SERVICE_NAME", "mine")
	r := send(t, TracesOptions{})
	r.spans(1)
	r.stop()
	spans, about := c.spans()
	if len(spans) != 1 || about["service.name"] != "mine" || c.heads[0].Get("X-Api-Key") != "planted" || c.paths[0] != "/v1/traces" {
		t.Errorf("got %v of %v with %v at %v", spans, about, c.heads, c.paths)
	}
}

func TestSample(t *testing.T) {
	off(t)
	c := collect(t)
	none := 0.
	r := send(t, TracesOptions{Endpoint: c.URL, Sample: &none})
	r.spans(10)
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true})
	_, s := r.Tracer().Start(trace.ContextWithSpanContext(t.Context(), parent), "child")
	s.End()
	r.stop()
	if spans, _ := c.spans(); len(spans) != 1 || spans[0].GetName() != "child" {
		t.Errorf("got %v", spans)
	}
	if got := r.Spans(); got != (Spans{Sent: 1}) {
		t.Errorf("says %+v", got)
	}
}

// A collector that is not there, or does not take what it gets, costs the spans
// and one line of the log.
func TestCollectorAway(t *testing.T) {
	off(t)
	var d net.ListenConfig
	ln, err := d.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + ln.Addr().String()
	ln.Close()
	refusing := collect(t)
	refusing.status = http.StatusForbidden
	for _, endpoint := range []string{nobody, refusing.URL} {
		r := send(t, TracesOptions{Endpoint: endpoint, Headers: map[string]secret.Value{"X-Api-Key": secret.NewValue("planted-secret")}})
		r.spans(2*batch + 1)
		r.stop()
		if got := r.Spans(); got != (Spans{Lost: 2*batch + 1}) {
			t.Errorf("%s: says %+v", endpoint, got)
		}
		if text := r.log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=WARN") || strings.Contains(text, "planted") {
			t.Errorf("%s: logs %s", endpoint, text)
		}
	}
}

// That it is back is told too, and then that it is away again.
func TestCollectorComesBack(t *testing.T) {
	off(t)
	c := collect(t)
	c.status = http.StatusForbidden
	r := send(t, TracesOptions{Endpoint: c.URL})
	turn := func(status int, want Spans) {
		c.mu.Lock()
		c.status = status
		c.mu.Unlock()
		r.spans(batch)
		for limit := time.Now().Add(20 * time.Second); r.Spans() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("with the status %d it says %+v, want %+v", status, r.Spans(), want)
			}
		}
	}
	turn(http.StatusForbidden, Spans{Lost: batch})
	turn(http.StatusForbidden, Spans{Lost: 2 * batch})
	turn(0, Spans{Lost: 2 * batch, Sent: batch})
	turn(0, Spans{Lost: 2 * batch, Sent: 2 * batch})
	turn(http.StatusForbidden, Spans{Lost: 3 * batch, Sent: 2 * batch})
	r.stop()
	var levels []string
	for line := range strings.Lines(r.log.String()) {
		levels = append(levels, strings.Fields(line)[1])
	}
	if !slices.Equal(levels, []string{"level=WARN", "level=INFO", "level=WARN"}) {
		t.Errorf("logs %s", r.log)
	}
}

// What waits is bounded, every span that is dropped is counted, and the end
// waits for a collector that does not answer no longer than said.
func TestCollectorHangs(t *testing.T) {
	off(t)
	c := collect(t)
	c.hold = make(chan struct{})
	defer close(c.hold)
	r := send(t, TracesOptions{Endpoint: c.URL})
	const all = maxWaiting + batch + 500
	r.spans(all)
	if got := r.Spans(); got.Lost < 500 || got.Sent > 0 {
		t.Errorf("says %+v", got)
	}
	r.stop()
	if got := r.Spans(); got != (Spans{Lost: all}) {
		t.Errorf("at the end it says %+v", got)
	}
	if n := strings.Count(r.log.String(), "\n"); n != 1 {
		t.Errorf("logs %s", r.log)
	}
}

// A collector that sends elsewhere is not followed: what it is told is for it.
func TestCollectorRedirects(t *testing.T) {
	off(t)
	other := collect(t)
	door := httptest.NewServer(http.RedirectHandler(other.URL+"/v1/traces", http.StatusTemporaryRedirect))
	defer door.Close()
	r := send(t, TracesOptions{Endpoint: door.URL, Headers: map[string]secret.Value{"X-Api-Key": secret.NewValue("planted")}})
	r.spans(1)
	r.stop()
	if len(other.heads) > 0 || r.Spans() != (Spans{Lost: 1}) {
		t.Errorf("the other one got %v; says %+v", other.heads, r.Spans())
	}
}
