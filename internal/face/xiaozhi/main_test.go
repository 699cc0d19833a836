package xiaozhi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
	"github.com/toolcrib/toolcrib/test/voice"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// house is a hub with scripted servers, and endpoints that dial a peer within the
// process.
type house struct {
	t       testing.TB
	set     *Endpoints
	peer    *voice.Endpoint
	catalog *catalog.Catalog
	call    *call.Pipeline
	fleet   *fleet.Fleet
	control *control.Control
	bus     *bus.Bus
	servers []hub.Server
	logging sync.Mutex
	log     strings.Builder
	quit    context.CancelFunc
	parts   sync.WaitGroup

	mu     sync.Mutex
	tools  map[string]string                     // of each server, as JSON
	answer func(name string, args string) string // the member of a tool's answer
	began  map[string]int                        // calls by tool
	down   bool                                  // no server comes up
	out    map[string]map[io.Writer]*sync.Mutex  // of connected servers
}

// lazy is how keys of servers begin that start when they are needed, and end a minute
// later.
const lazy = "lazy"

const calculator = `{"name":"add","description":"Adds two numbers.","inputSchema":{"type":"object"}}`

// open makes a house with the servers, each with the tools that are given for it as
// JSON. It is for a synctest bubble, or for none.
func open(t testing.TB, tools map[string]string, change ...func(*Options)) *house {
	t.Helper()
	return openWith(t, tools, nil, change...)
}

func openWith(t testing.TB, tools map[string]string, callOptions func(*call.Options), change ...func(*Options)) *house {
	t.Helper()
	h := &house{
		t: t, peer: &voice.Endpoint{}, bus: &bus.Bus{}, tools: tools,
		began: make(map[string]int), out: make(map[string]map[io.Writer]*sync.Mutex),
	}
	h.answer = func(name, args string) string { return `"result":{"content":[{"type":"text","text":"` + name + `"}]}` }
	log := slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
		h.logging.Lock()
		defer h.logging.Unlock()
		return h.log.Write(p)
	}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	h.catalog, err = catalog.Open(catalog.Options{Bus: h.bus, Log: log})
	must(t, err)
	for key := range tools {
		s := hub.Server{Key: key, Kind: hub.KindBuiltin, Enabled: true, AutoStart: true, Timeout: time.Hour}
		if strings.HasPrefix(key, lazy) {
			s.AutoStart, s.IdleStop = false, time.Minute
		}
		h.servers = append(h.servers, s)
	}
	h.catalog.SetServers(h.servers)
	f := fleet.New(fleet.Options{
		Servers: h.servers, Dial: upstream.Dial, ClientInfo: []byte(`{"name":"hub"}`), Bus: h.bus, Log: log,
		Serve: h.serve, Listed: h.catalog.Listed,
	})
	opt := call.Options{Catalog: h.catalog, Fleet: f, Bus: &bus.Bus{}, Log: log}
	if callOptions != nil {
		callOptions(&opt)
	}
	h.call, h.fleet = call.New(opt), f
	ln := rig.NewListener(net.Pipe)
	h.control = control.New(control.Options{Source: &control.Source{Config: &config.Config{Servers: h.servers}}, Fleet: f, Catalog: h.catalog, Log: log})
	options := Options{
		Leases: h.control,
		Call:   h.call, Catalog: h.catalog, Bus: h.bus, Log: log, ServerInfo: []byte(`{"name":"toolcrib","version":"1"}`), Dial: ln.Dial,
	}
	for _, f := range change {
		f(&options)
	}
	h.set = New(options)
	web := &http.Server{Handler: h.peer}
	ctx, quit := context.WithCancel(context.Background())
	stopFleet, quitFleet := context.WithCancel(context.Background())
	h.quit = quit
	h.parts.Go(func() { _ = f.Run(stopFleet) })
	h.parts.Go(func() { _ = web.Serve(ln) })
	var set sync.WaitGroup
	set.Go(func() { must(t, h.set.Run(ctx)) })
	t.Cleanup(func() {
		quit()
		set.Wait()
		drained, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if h.call.Calls().Drain(drained) != nil {
			h.call.Calls().CancelAll(hub.E("shutting_down", nil))
			_ = h.call.Calls().Drain(context.Background())
		}
		_ = web.Close()
		quitFleet()
		h.parts.Wait()
	})
	return h
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// serve is a server: it lists its tools, and each call has a goroutine.
func (h *house) serve(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
	h.mu.Lock()
	down := h.down
	h.mu.Unlock()
	if down {
		return io.ErrUnexpectedEOF
	}
	var writing sync.Mutex
	send := func(format string, args ...any) {
		writing.Lock()
		defer writing.Unlock()
		_, _ = fmt.Fprintf(w, format+"\n", args...)
	}
	h.mu.Lock()
	if h.out[key] == nil {
		h.out[key] = make(map[io.Writer]*sync.Mutex)
	}
	h.out[key][w] = &writing
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.out[key], w)
	}()
	var calls sync.WaitGroup
	defer w.Close()
	defer calls.Wait()
	in := bufio.NewScanner(r)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "initialize":
			send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
		case "tools/list":
			h.mu.Lock()
			tools := h.tools[key]
			h.mu.Unlock()
			send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, m.ID, tools)
		case "tools/call":
			h.mu.Lock()
			h.began[m.Params.Name]++
			answer := h.answer
			h.mu.Unlock()
			calls.Go(func() { send(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer(m.Params.Name, string(m.Params.Arguments))) })
		default:
			send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		}
	}
	return nil
}

// setTools has a server have other tools, and say so.
func (h *house) setTools(key, tools string) {
	h.mu.Lock()
	h.tools[key] = tools
	for w, writing := range h.out[key] {
		writing.Lock()
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n")
		writing.Unlock()
	}
	h.mu.Unlock()
}

// logged is what the hub has logged.
func (h *house) logged() string {
	h.logging.Lock()
	defer h.logging.Unlock()
	return h.log.String()
}

func (h *house) calls(tool string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.began[tool]
}

// having is a definition of one at the peer.
func having(name string, change ...func(*hub.Endpoint)) hub.Endpoint {
	e := hub.Endpoint{Name: name, URL: "ws://peer/mcp/?token=" + name + "-0123456789abcdef", Enabled: true}
	for _, f := range change {
		f(&e)
	}
	return e
}

// wait bounds a wait; it matters only when something is wrong.
func wait(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	t.Cleanup(cancel)
	return ctx
}

// next is the next connection that the peer gets.
func (h *house) next() *voice.Socket {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	s, err := h.peer.Next(ctx)
	if err != nil {
		h.t.Fatalf("the endpoint did not connect: %v; %+v", err, h.set.Statuses())
	}
	return s
}

// ask asks on a socket, and returns the whole response.
func (h *house) ask(s *voice.Socket, id, method, params string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	text, err := s.Ask(ctx, id, method, params)
	must(h.t, err)
	return text
}

func (h *house) callTool(s *voice.Socket, id, name, arguments string) string {
	h.t.Helper()
	return h.ask(s, id, "tools/call", `{"name":"`+name+`","arguments":`+arguments+`}`)
}

func (h *house) status(name string) hub.EndpointStatus {
	h.t.Helper()
	s, ok := h.set.Status(name)
	if !ok {
		h.t.Fatalf("there is no endpoint %q", name)
	}
	return s
}

// journal is the text of an endpoint's log.
func (h *house) journal(name string) string {
	lines, _ := h.set.Log(name, 0)
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

// text is the text of a result, and its error.
func text(t testing.TB, raw string) (text, fault string, isError bool) {
	t.Helper()
	var m struct {
		Result struct {
			IsError bool
			Error   string
			Content []struct{ Type, Text string }
		}
	}
	must(t, json.Unmarshal([]byte(raw), &m))
	if len(m.Result.Content) != 1 || m.Result.Content[0].Type != "text" {
		t.Fatalf("the content is not one text: %.500s", raw)
	}
	return m.Result.Content[0].Text, m.Result.Error, m.Result.IsError
}

// bubble runs a test in which time is not real, once all servers have told what they
// have.
func bubble(t *testing.T, tools map[string]string, f func(t *testing.T, h *house), change ...func(*Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := open(t, tools, change...)
		synctest.Wait()
		f(t, h)
	})
}
