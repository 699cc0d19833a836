package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/builtin"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/callstate"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/events"
	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/face/xiaozhi"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/httpd"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/stats"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

func TestMain(m *testing.M) {
	// The race detector would keep every child for a second after its end.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	rig.Main(m)
}

// limit bounds every wait of the tests; it matters only when something is
// wrong.
const limit = 30 * time.Second

// house is the API with all that is behind it, and the guard in front, served
// over real HTTP. Besides the program's own built-in servers it has one named
// lab, whose tools the tests steer.
type house struct {
	t             testing.TB
	url           string // without a path
	door          *Door
	path          string // of the configuration file
	admin, caller string // tokens
	secrets       *secret.Store
	catalog       *catalog.Catalog
	calls         *call.Registry
	db            *store.DB
	record        *audit.Log
	book          *auth.Book
	client        *http.Client
	fleet         *fleet.Fleet
	endpoints     *xiaozhi.Endpoints
	backends      *xiaozhi.Backends
	devices       *device.Door
	deviceAddress string                        // at which they dial in
	shut          chan struct{}                 // closed by /shutdown
	rules         atomic.Pointer[policy.Policy] // by which calls are judged; see enforce

	began   chan struct{} // something for each call of hold that has begun
	ended   chan error    // why each of them has ended
	release chan struct{} // closed to have them answer
}

// labKey is the lab's.
const labKey = "lab"

// open makes a house with a configuration file of this text; none if it is
// empty. Nothing starts by itself in it.
func open(t testing.TB, text string, adjust ...func(*Door)) *house {
	t.Helper()
	dir := t.TempDir()
	h := &house{
		t: t, path: filepath.Join(dir, "config.json"), client: &http.Client{Transport: &http.Transport{}}, shut: make(chan struct{}),
		began: make(chan struct{}, 100), ended: make(chan error, 100), release: make(chan struct{}),
	}
	if text != "" {
		h.write(text)
	}
	log, news := slog.New(slog.DiscardHandler), &bus.Bus{}
	keys := append(builtin.Keys(), labKey)
	src, err := control.Load(h.path, false, keys)
	must(t, err)
	h.secrets, err = secret.OpenStore(filepath.Join(dir, "key"), filepath.Join(dir, "secrets"))
	must(t, err)
	db, err := store.Open(context.Background(), store.Options{Path: filepath.Join(dir, "toolcrib.db")})
	must(t, err)
	auditKeys, err := audit.LoadKeys(filepath.Join(dir, "audit.key"))
	must(t, err)
	record, err := audit.Open(context.Background(), audit.Options{DB: db, Dir: filepath.Join(dir, "audit"), Keys: auditKeys, Log: log, Settings: audit.Settings{KeepArguments: true}})
	must(t, err)
	h.catalog, err = catalog.Open(catalog.Options{Bus: news, Log: log})
	must(t, err)
	builtins := builtin.New(builtin.Options{})
	serve := func(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
		if key == labKey {
			return h.lab().Run(ctx, &sdk.IOTransport{Reader: r, Writer: w})
		}
		if s, ok := h.fleet.Server(key); ok && s.Kind == hub.KindDevice {
			return h.devices.Serve(ctx, key, r, w)
		}
		return builtins.Serve(ctx, key, r, w)
	}
	resolver := secret.New(secret.Options{Dir: dir, Store: h.secrets})
	resolve := func(s hub.Server) (hub.Server, []string, *hub.Error) { return config.Resolve(s, resolver) }
	info := []byte(`{"name":"test","version":"1"}`)
	h.fleet = fleet.New(fleet.Options{
		Servers: src.Config.Servers, Dial: upstream.Dial, Serve: serve, ClientInfo: info, Bus: news, Log: log, Resolve: resolve,
		Listed: h.catalog.Listed, Withhold: h.catalog.Withhold, OnDemand: true,
	})
	f := h.fleet
	figures := stats.New(stats.Options{
		Bus: news, Started: time.Now(), Servers: f.Status,
		Tools:   func() (known, embedded int) { return len(h.catalog.Snapshot().Entries()), 0 },
		Measure: func(map[string][]int) map[string]stats.Usage { return nil },
	})
	c := control.New(control.Options{
		Source: src, Builtins: keys, Fleet: f, Catalog: h.catalog, Secrets: h.secrets, Log: log, Views: h.catalog.SetViews,
		Settings: func(c *config.Config) {
			if h.endpoints != nil {
				h.endpoints.Apply(c.Endpoints)
				h.backends.Apply(c.Backends)
				h.devices.Apply(c.Devices)
			}
		},
		Redial: func(_ config.Dialled, name string) { h.endpoints.Reconnect(name) },
		Probe: func(ctx context.Context, s hub.Server) (*upstream.Conn, error) {
			return upstream.Dial(ctx, upstream.Options{Server: s, ClientInfo: info, Serve: serve, Log: log, Resolve: resolve})
		},
	})
	states := callstate.New(callstate.Options{Bus: news})
	happened, err := events.Open(context.Background(), events.Options{Buses: []*bus.Bus{news}, Log: log})
	must(t, err)
	desk, err := approval.Open(context.Background(), approval.Options{
		DB: db, Node: auditKeys.Node(), Seal: h.secrets, Bus: news, Log: log, Settings: func() hub.Approval { return hub.Approval{} },
		Made: func(token string, by hub.Principal) bool { return h.book.Made(token, by) },
	})
	must(t, err)
	h.book, err = auth.OpenBook(context.Background(), auth.BookOptions{DB: db, Log: log})
	must(t, err)
	admin, caller := filepath.Join(dir, "admin"), filepath.Join(dir, "caller")
	tokens, err := auth.OpenTokens(admin, caller)
	must(t, err)
	h.admin, err = auth.ReadToken(admin)
	must(t, err)
	h.caller, err = auth.ReadToken(caller)
	must(t, err)
	gate := auth.NewGate(auth.GateOptions{Tokens: tokens, Book: h.book, Log: log})
	usual, _ := policy.Compile(hub.Policy{})
	pipeline := call.New(call.Options{
		Catalog: h.catalog, Fleet: f, Bus: news, Log: log, States: states, Audit: record, Approvals: desk, Policy: h.rules.Load,
		Settings: func() call.Settings { return call.Settings{Approval: c.Source().Config.Approval} },
	})
	h.calls, h.db, h.record = pipeline.Calls(), db, record
	h.devices = device.New(device.Options{
		Devices: src.Config.Devices, Attach: c.Attach, Detach: c.Detach, Key: []byte("key"), ClientInfo: info, Bus: news, Log: log,
	})
	dialIn := httptest.NewServer(h.devices.Handler())
	h.deviceAddress = "ws" + strings.TrimPrefix(dialIn.URL, "http") + device.PathSocket
	dialling := xiaozhi.Options{Call: pipeline, Catalog: h.catalog, Bus: news, Log: log, ServerInfo: info, Resolve: resolver.Fill, Leases: c}
	h.endpoints, h.backends = xiaozhi.New(dialling), xiaozhi.NewBackends(dialling, filepath.Join(dir, "identities.json"))
	h.backends.Apply(src.Config.Backends)
	h.endpoints.Apply(src.Config.Endpoints)
	h.door = New(Options{
		Endpoints: Dialled{Statuses: h.endpoints.Statuses, Log: h.endpoints.Log, Reconnect: h.endpoints.Reconnect},
		Backends:  Dialled{Statuses: h.backends.Statuses, Log: h.backends.Log, Reconnect: h.backends.Reconnect},
		Devices: Devices{
			Statuses: h.devices.Statuses, Log: h.devices.Log, Token: h.devices.Token, Revoke: h.devices.Revoke, Identify: h.devices.Identify, Nameable: device.Nameable, Expires: device.TokenLife, Address: func() string { return h.deviceAddress },
		},
		Control: c, Call: pipeline, Catalog: h.catalog, Audit: record, Stats: figures, States: states, Events: happened, Version: "test", Started: time.Now(),
		Listen: func() string { return h.url }, DataDir: dir, Sessions: func() int { return 0 },
		Approvals: desk, Policy: func() *policy.Policy { return cmp.Or(h.rules.Load(), usual) }, Identity: gate,
		Shutdown: sync.OnceFunc(func() { close(h.shut) }),
		Phases:   func() []api.Phase { return []api.Phase{{Name: "parts", Duration: 1.5}} },
	})
	for _, one := range adjust {
		one(h.door)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = f.Run(ctx) })
	all.Go(func() {
		if err := record.Run(ctx); err != nil {
			t.Errorf("the record: %v", err)
		}
	})
	all.Go(func() { _ = figures.Run(ctx) })
	all.Go(func() { _ = states.Run(ctx) })
	all.Go(func() { _ = happened.Run(ctx) })
	all.Go(func() { _ = desk.Run(ctx) })
	all.Go(func() { _ = h.endpoints.Run(ctx) })
	all.Go(func() { _ = h.backends.Run(ctx) })
	all.Go(func() { _ = h.devices.Run(ctx) })
	stop := h.serve(gate)
	t.Cleanup(func() {
		h.client.CloseIdleConnections()
		h.door.Close()
		stop()
		cancel()
		all.Wait()
		dialIn.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// serve opens the door behind the guard.
func (h *house) serve(gate *auth.Gate) (stop func()) {
	t := h.t
	t.Helper()
	ln, err := httpd.Listen(context.Background(), "127.0.0.1:0", false)
	must(t, err)
	mux := http.NewServeMux()
	mux.Handle(api.Base+"/", h.door)
	s, err := httpd.New(httpd.Options{
		Listeners: []net.Listener{ln}, Doors: mux, Log: slog.New(slog.DiscardHandler), Gate: gate,
		Refuse: func(w http.ResponseWriter, r *http.Request, status int, e *hub.Error) {
			RefuseAt(w, r.URL.Path, message.FromHeader(r.Header.Get("Accept-Language")), status, e)
		},
	})
	must(t, err)
	h.url = s.URL()
	ran := make(chan error, 1)
	go func() { ran <- s.Run() }()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := errors.Join(s.Shutdown(ctx), <-ran); err != nil {
			t.Errorf("end: %v", err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lab serves tools that go wrong, ask, or wait for the test.
func (h *house) lab() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "lab", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object"}`)
	add := func(name string, do sdk.ToolHandler) { s.AddTool(&sdk.Tool{Name: name, InputSchema: schema}, do) }
	add("echo", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	add("fail", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "it did not work"}}}, nil
	})
	add("refuse", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: 1234, Message: "not today"}
	})
	add("hold", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		h.began <- struct{}{}
		select {
		case <-h.release:
		case <-ctx.Done():
		}
		h.ended <- ctx.Err()
		return &sdk.CallToolResult{Content: []sdk.Content{}}, nil
	})
	add("ask", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		_, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "sure?"})
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(err)}}}, nil
	})
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		if r.Params.URI == "lab://notes/gone" {
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: "what is in it"}}}, nil
	}
	s.AddResource(&sdk.Resource{URI: "lab://readme", Name: "readme", Title: "Read me", Description: "First.", MIMEType: "text/plain"}, read)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "lab://notes/{name}", Name: "notes", MIMEType: "text/plain"}, read)
	s.AddPrompt(&sdk.Prompt{Name: "greet", Title: "Greeting", Arguments: []*sdk.PromptArgument{
		{Name: "whom", Description: "To be greeted", Required: true}, {Name: "how"},
	}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Hello " + r.Params.Arguments["whom"]}}}}, nil
	})
	return s
}

// write is what somebody else does to the file.
func (h *house) write(text string) {
	h.t.Helper()
	must(h.t, os.WriteFile(h.path, []byte(text), 0o600))
}

// text is the file's.
func (h *house) text() string {
	h.t.Helper()
	text, err := os.ReadFile(h.path)
	must(h.t, err)
	return string(text)
}

// ask is a request of the API.
type ask struct {
	method, path string
	token        string
	body         string // JSON; none if it is empty
	header       map[string]string
	endless      bool // an answer that is given is not read
}

// answer is what came of one.
type answer struct {
	t      testing.TB
	asked  string
	status int
	header http.Header
	body   []byte
}

// do makes a request and reads the whole answer.
func (h *house) do(a ask) *answer {
	h.t.Helper()
	resp := h.open(h.t.Context(), a)
	defer resp.Body.Close()
	if a.endless && resp.StatusCode == http.StatusOK {
		return &answer{h.t, a.method + " " + a.path, resp.StatusCode, resp.Header, nil}
	}
	body, err := io.ReadAll(resp.Body)
	must(h.t, err)
	return &answer{h.t, a.method + " " + a.path, resp.StatusCode, resp.Header, body}
}

// open makes a request, whose answer the caller reads and closes.
func (h *house) open(ctx context.Context, a ask) *http.Response {
	h.t.Helper()
	var body io.Reader
	if a.body != "" {
		body = strings.NewReader(a.body)
	}
	req, err := http.NewRequestWithContext(ctx, a.method, h.url+api.Base+a.path, body)
	must(h.t, err)
	if a.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	for name, value := range a.header {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := h.client.Do(req)
	must(h.t, err)
	return resp
}

// get asks without a token.
func (h *house) get(path string) *answer {
	h.t.Helper()
	return h.do(ask{method: http.MethodGet, path: path})
}

// addTenants makes tenants.
func (h *house) addTenants(names ...string) {
	h.t.Helper()
	for _, name := range names {
		_, err := h.book.AddTenant(h.t.Context(), hub.Principal{Subject: "admin", Role: hub.RoleAdmin}, name, "")
		must(h.t, err)
	}
}

// change asks as the administrator.
func (h *house) change(method, path, body string) *answer {
	h.t.Helper()
	return h.do(ask{method: method, path: path, token: h.admin, body: body})
}

// call calls a tool without a token.
func (h *house) call(body string) *answer {
	h.t.Helper()
	return h.do(ask{method: http.MethodPost, path: "/calls", body: body})
}

// into fails the test unless the status is that, and decodes the body; nothing
// of what v was before is left.
func (a *answer) into(status int, v any) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: %d %s, want %d", a.asked, a.status, a.body, status)
	}
	if v != nil {
		if kind := a.header.Get("Content-Type"); kind != "application/json" {
			a.t.Errorf("%s: the content type is %q", a.asked, kind)
		}
		reflect.ValueOf(v).Elem().SetZero()
		must(a.t, json.Unmarshal(a.body, v))
	}
	return a
}

// refused fails the test unless the answer is a problem with the code, and
// returns it.
func (a *answer) refused(status int, code message.Code) api.Problem {
	a.t.Helper()
	var p api.Problem
	if err := json.Unmarshal(a.body, &p); err != nil || a.status != status || p.Code != string(code) {
		a.t.Errorf("%s: %d %s, want %d %s", a.asked, a.status, a.body, status, code)
		return p
	}
	if kind := a.header.Get("Content-Type"); kind != "application/problem+json" {
		a.t.Errorf("%s: the content type is %q", a.asked, kind)
	}
	if p.Status != status || p.Type != "urn:toolcrib:"+p.Code || p.Title == "" || !strings.HasPrefix(p.Detail, p.Title) {
		a.t.Errorf("%s: the document does not fit: %s", a.asked, a.body)
	}
	return p
}

// quote is a JSON string.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// event is one event of a stream; its name is "" if it is a comment.
type event struct{ id, name, data string }

// reader reads the events of a stream.
type reader struct {
	t    testing.TB
	body io.ReadCloser
	buf  bytes.Buffer
}

func read(t testing.TB, resp *http.Response) *reader {
	t.Helper()
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" || resp.StatusCode != http.StatusOK {
		t.Fatalf("no stream: %d %s", resp.StatusCode, kind)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return &reader{t: t, body: resp.Body}
}

// next returns the next event; false at the end of the stream.
func (r *reader) next() (event, bool) {
	r.t.Helper()
	for {
		if text, rest, ok := bytes.Cut(r.buf.Bytes(), []byte("\n\n")); ok {
			e := parseEvent(string(text))
			rest = bytes.Clone(rest)
			r.buf.Reset()
			r.buf.Write(rest)
			return e, true
		}
		chunk := make([]byte, 4096)
		n, err := r.body.Read(chunk)
		r.buf.Write(chunk[:n])
		if err == io.EOF && n == 0 {
			if r.buf.Len() > 0 {
				r.t.Errorf("the stream ends with %q", r.buf.String())
			}
			return event{}, false
		}
		if err != nil && err != io.EOF {
			r.t.Fatalf("read the stream: %v", err)
		}
	}
}

func parseEvent(text string) (e event) {
	for line := range strings.SplitSeq(text, "\n") {
		switch name, value, _ := strings.Cut(line, ": "); name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data += value
		}
	}
	return e
}
