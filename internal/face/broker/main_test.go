package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/builtin"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/face/broker"
	"github.com/toolcrib/toolcrib/internal/face/device"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
	"github.com/toolcrib/toolcrib/test/voice"
)

func TestMain(m *testing.M) {
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	rig.Main(m)
}

const (
	mac = "aa:bb:cc:dd:ee:01"
	key = "tools-device-aabbccddee01"
)

// house is the hub as far as it has to do with endpoint pairs.
type house struct {
	t       *testing.T
	broker  *broker.Broker
	devices *device.Door // whose tokens count
	catalog *catalog.Catalog
	call    *call.Pipeline
	client  *http.Client
	rules   atomic.Pointer[policy.Policy] // by which calls are judged; nil for none

	configured []hub.Server
	ran        atomic.Int32 // calls of these

	mu    sync.Mutex
	ended []hub.CallRecord
}

// open makes a house with these servers in its configuration, which have the same tools.
func open(t *testing.T, configured ...hub.Server) *house {
	t.Helper()
	h := &house{t: t, configured: configured}
	events, log := &bus.Bus{}, slog.New(slog.DiscardHandler)
	src, err := control.Load("", false, builtin.Keys())
	if err != nil {
		t.Fatal(err)
	}
	src.Config.Servers = append(src.Config.Servers, configured...)
	dir := t.TempDir()
	secrets, err := secret.OpenStore(dir+"/key", dir+"/secrets")
	if err != nil {
		t.Fatal(err)
	}
	if h.catalog, err = catalog.Open(catalog.Options{Bus: events, Log: log}); err != nil {
		t.Fatal(err)
	}
	h.catalog.SetServers(src.Config.Servers)
	var steer *control.Control
	h.devices = device.New(device.Options{Key: []byte("a key of thirty-two bytes, or so"), Log: log})
	h.broker = broker.New(broker.Options{
		Devices: hub.Devices{Keep: 10 * time.Minute}, Verify: h.devices.Verify, Log: log,
		Attach: func(ctx context.Context, def hub.Server) error { return steer.Attach(ctx, def) },
		Detach: func(key, name string) { steer.Detach(key, name) },
		Call: func(ctx context.Context, req *call.Request, by call.Deadline) (*call.Result, error) {
			return h.call.DoBy(ctx, req, by)
		},
		View: h.catalog.View,
	})
	servers := fleet.New(fleet.Options{
		Servers: src.Config.Servers, Dial: upstream.Dial, Serve: h.serve, ClientInfo: []byte(`{"name":"hub","version":"1"}`),
		Bus: events, Log: log, Listed: h.catalog.Listed, Withhold: h.catalog.Withhold, OnDemand: true,
	})
	steer = control.New(control.Options{
		Source: src, Builtins: builtin.Keys(), Fleet: servers, Catalog: h.catalog, Secrets: secrets, Log: log, Views: h.catalog.SetViews,
	})
	h.call = call.New(call.Options{
		Catalog: h.catalog, Fleet: servers, Bus: &bus.Bus{}, Log: log, Policy: h.rules.Load,
		Observe: func(r hub.CallRecord) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.ended = append(h.ended, r)
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = servers.Run(ctx) })
	all.Go(func() { _ = h.broker.Run(ctx) })
	ln := rig.NewListener(net.Pipe)
	server := &http.Server{Handler: h.broker.Handler(), ReadHeaderTimeout: time.Minute}
	all.Go(func() { _ = server.Serve(ln) })
	pool := &http.Transport{DialContext: ln.Dial}
	h.client = &http.Client{Transport: pool}
	t.Cleanup(func() {
		cancel()
		pool.CloseIdleConnections()
		_ = server.Close()
		all.Wait()
	})
	return h
}

// serve serves a server of the configuration, or a tool at its endpoint.
func (h *house) serve(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
	if !slices.ContainsFunc(h.configured, func(s hub.Server) bool { return s.Key == key }) {
		return h.broker.Serve(ctx, key, r, w)
	}
	in := json.NewDecoder(r)
	for {
		var m voice.Request
		if err := in.Decode(&m); err != nil {
			return nil
		}
		said := `"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"configured","version":"1"}}`
		switch m.Method {
		case "tools/list":
			said = `"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			h.ran.Add(1)
			said = says("configured ")(m)
		}
		if m.ID != nil {
			if _, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, said); err != nil {
				return err
			}
		}
	}
}

// in runs a test in which time is not real.
func in(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// dial connects to a side of the pair by a query.
func (h *house) dial(path, query string) *voice.Socket {
	h.t.Helper()
	s, err := voice.Dial(h.t.Context(), h.client, "ws://192.0.2.7:8090"+path+"?"+query)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(s.Drop)
	return s
}

// token is the query of whoever has a good token.
func (h *house) token() string { return "token=" + mac + "." + h.devices.Token(mac, "") }

// caller connects one who calls.
func (h *house) caller() *voice.Socket {
	h.t.Helper()
	return h.dial(broker.PathCall, h.token())
}

// tool connects a tool, which runs calls so.
func (h *house) tool(run func(r voice.Request) string) *voice.Socket {
	h.t.Helper()
	s := h.dial(broker.PathTool, h.token())
	go s.Serve(tools(), run)
	synctest.Wait()
	return s
}

func tools() []voice.DeviceTool {
	return []voice.DeviceTool{{Name: "add", Description: "Adds."}, {Name: "wait", Description: "Waits."}}
}

// says is the result of a call that repeats its arguments.
func says(who string) func(r voice.Request) string {
	return func(r voice.Request) string {
		text, err := json.Marshal(who + string(r.Params.Arguments))
		if err != nil {
			panic(err) // a string
		}
		return `"result":{"content":[{"type":"text","text":` + string(text) + `}],"isError":false}`
	}
}

// call is a call of a caller's.
func callOf(id, name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s}}`, id, name, arguments)
}

// listed are the exposed names of all that is listed of the tool.
func (h *house) listed() []string {
	h.t.Helper()
	view, err := h.catalog.View(hub.Viewer{})
	if err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for _, e := range view.Tools() {
		if e.Server.Key == key {
			names = append(names, e.Exposed)
		}
	}
	return names
}

// ask calls a tool through the hub.
func (h *house) ask(name, arguments string) (string, *hub.Error) {
	h.t.Helper()
	m, err := wire.Scan([]byte(callOf("1", name, arguments)), wire.Limits{})
	if err != nil {
		h.t.Fatal(err)
	}
	res, err := h.call.Do(context.Background(), &call.Request{
		Principal: hub.Principal{Subject: "test", Door: hub.DoorREST, Role: hub.RoleCaller}, Session: "s", Message: &m, Exchange: nobody{},
	})
	if err != nil {
		return "", hub.AsError(err)
	}
	return string(wire.Splice(res.Message.Raw, res.Edits...)), nil
}

// nobody is the way back to a caller who does not listen.
type nobody struct{}

func (nobody) Notify([]byte) {}

func (nobody) Ask(_ context.Context, q hub.Question) { q.Answer(nil, hub.E(message.NotAskable, nil)) }

// hear is the first message with the part.
func hear(t *testing.T, s *voice.Socket, part string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	text, err := s.Hear(ctx, part)
	if err != nil {
		t.Fatalf("%v; heard %.300q", err, strings.Join(s.Heard(), "\n"))
	}
	return text
}

func send(t *testing.T, s *voice.Socket, text string) {
	t.Helper()
	if err := s.Send(text); err != nil {
		t.Fatal(err)
	}
}
