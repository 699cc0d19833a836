package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/builtin"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/face/mcp"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit bounds every wait of the tests; it matters only when something is
// wrong.
const limit = 20 * time.Second

// house is a hub with a door, served over real HTTP: the calculator, and the
// servers "lab" with tools and "shelf" with resources that tests steer.
type house struct {
	*httptest.Server
	client  *http.Client
	door    *mcp.Door
	catalog *catalog.Catalog
	calls   *call.Registry
	lab     hub.Server
	began   chan struct{} // something for each call of lab__hold that has begun
	ended   chan error    // why each of them has ended
	release chan struct{} // closed to have them answer
}

type stepsInput struct {
	Steps int `json:"steps"`
}

func open(t testing.TB) *house { return openAt(t, nil) }

// openAt is open on a line of the test's own; nil for real sockets.
func openAt(t testing.TB, ln *rig.Listener) *house {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	events := &bus.Bus{}
	cat, err := catalog.Open(catalog.Options{Bus: events, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	server := func(key string) hub.Server {
		return hub.Server{Key: key, Kind: hub.KindBuiltin, Enabled: true, AutoStart: true, Timeout: time.Hour}
	}
	h := &house{
		catalog: cat, lab: server("lab"),
		began: make(chan struct{}, 1000), ended: make(chan error, 1000), release: make(chan struct{}),
	}
	servers := []hub.Server{server("calculator"), h.lab, server("shelf")}
	cat.SetServers(servers)
	var listed sync.WaitGroup
	listed.Add(len(servers))
	own := builtin.New(builtin.Options{})
	f := fleet.New(fleet.Options{
		Servers: servers, Dial: upstream.Dial, ClientInfo: []byte(`{"name":"hub"}`), Bus: events, Log: log,
		Serve: func(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
			switch key {
			case "lab":
				return h.serveLab(ctx, r, w)
			case "shelf":
				return h.serveShelf(ctx, r, w)
			}
			return own.Serve(ctx, key, r, w)
		},
		Listed: func(server hub.Server, lists hub.Lists) {
			cat.Listed(server, lists)
			listed.Done()
		},
	})
	pipeline := call.New(call.Options{Catalog: cat, Fleet: f, Bus: events, Log: log})
	h.calls = pipeline.Calls()
	g := gateway.New(gateway.Options{Call: pipeline, Catalog: cat, Bus: events, Log: log, ServerInfo: []byte(`{"name":"hub","version":"1"}`)})
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = f.Run(ctx) })
	all.Go(func() { _ = g.Run(ctx) })
	listed.Wait()

	h.door = mcp.New(g)
	mux := http.NewServeMux()
	mux.Handle("/mcp", h.door)
	mux.Handle("/mcp/{group}", h.door)
	mux.Handle("/sse", h.door.SSE())
	mux.Handle("/sse/{group}", h.door.SSE())
	mux.Handle("/messages", h.door.Messages())
	mux.Handle("/ws/mcp", h.door.WebSocket())
	h.Server = httptest.NewUnstartedServer(guarded(mux))
	transport := &http.Transport{}
	h.client = &http.Client{Transport: transport}
	if ln != nil {
		_ = h.Listener.Close()
		h.Listener, transport.DialContext = ln, ln.Dial
	}
	h.Start()
	t.Cleanup(func() {
		h.client.CloseIdleConnections()
		_ = h.door.Close(t.Context()) // which has ended by now
		h.Close()
		cancel()
		all.Wait()
	})
	return h
}

// guarded is the guard at the entrance, in the least form: the header "who" has
// the caller's subject.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who := r.Header.Get("who"); who != "" {
			r = r.WithContext(auth.With(r.Context(), hub.Principal{Subject: who, Role: hub.RoleCaller}))
		}
		next.ServeHTTP(w, r)
	})
}

// serveLab serves three tools: steps sends progress so many times and answers
// then, hold answers when it is told to, and ask then asks its caller and answers
// with what it is told.
func (h *house) serveLab(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "lab", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "steps"}, func(ctx context.Context, req *sdk.CallToolRequest, in stepsInput) (*sdk.CallToolResult, any, error) {
		for i := range in.Steps {
			if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1),
			}); err != nil {
				return nil, nil, err
			}
		}
		return nil, nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "hold"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		h.began <- struct{}{}
		select {
		case <-h.release:
		case <-ctx.Done():
		}
		h.ended <- ctx.Err()
		return nil, nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "ask"}, func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		h.began <- struct{}{}
		<-h.release
		res, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: "really?"})
		if err != nil {
			return nil, nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "to " + res.Action}}}, nil, nil
	})
	_ = server.Run(ctx, &sdk.IOTransport{Reader: r, Writer: w})
	return nil
}

// serveShelf serves two resources. Who subscribes to shelf:/held is answered as
// the tool hold is.
func (h *house) serveShelf(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "shelf", Version: "1"}, &sdk.ServerOptions{
		SubscribeHandler: func(ctx context.Context, req *sdk.SubscribeRequest) error {
			if req.Params.URI != "shelf:/held" {
				return nil
			}
			h.began <- struct{}{}
			select {
			case <-h.release:
			case <-ctx.Done():
			}
			return nil
		},
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	for _, name := range []string{"free", "held"} {
		server.AddResource(&sdk.Resource{URI: "shelf:/" + name, Name: name}, nil)
	}
	_ = server.Run(ctx, &sdk.IOTransport{Reader: r, Writer: w})
	return nil
}

// ws is the address of the WebSocket.
func (h *house) ws(query string) string { return h.URL + "/ws/mcp" + query }

// socket is a client that is spoken by hand over a WebSocket.
type socket struct {
	tb   testing.TB
	conn *websocket.Conn
}

func (h *house) dial(t testing.TB, query string) *socket {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, h.ws(query), &websocket.DialOptions{HTTPClient: h.client, Subprotocols: []string{"mcp"}})
	if err != nil {
		t.Fatal(err)
	}
	if conn.Subprotocol() != "mcp" {
		t.Errorf("the subprotocol is %q", conn.Subprotocol())
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { conn.CloseNow() })
	return &socket{t, conn}
}

func (s *socket) send(format string, args ...any) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(s.tb.Context(), limit)
	defer cancel()
	if err := s.conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, format, args...)); err != nil {
		s.tb.Fatal(err)
	}
}

// next returns the next message that does not tell of changed lists, as may
// come at any time after the start.
func (s *socket) next() string {
	s.tb.Helper()
	for {
		if raw := s.any(); !strings.Contains(raw, listChanged) {
			return raw
		}
	}
}

func (s *socket) any() string {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(s.tb.Context(), limit)
	defer cancel()
	_, raw, err := s.conn.Read(ctx)
	if err != nil {
		s.tb.Fatal(err)
	}
	return string(raw)
}

// ask sends a message and returns what comes next.
func (s *socket) ask(format string, args ...any) string {
	s.tb.Helper()
	s.send(format, args...)
	return s.next()
}

// want fails the test unless the next message is this one.
func (s *socket) want(want string) {
	s.tb.Helper()
	if got := s.next(); got != want {
		s.tb.Errorf("got %s, want %s", got, want)
	}
}

const (
	toolsChanged = `"method":"notifications/tools/list_changed"`
	listChanged  = `/list_changed"`

	initialize  = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	add         = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"calculator__calculator","arguments":{"expression":"%d+1"}}}`
	hold        = `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"lab__hold","arguments":{}}}`
	ping        = `{"jsonrpc":"2.0","id":%s,"method":"ping"}`
	pong        = `{"jsonrpc":"2.0","id":%s,"result":{}}`
	// modern is the params._meta of a modern request.
	modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

// greet opens the conversation.
func (s *socket) greet() *socket {
	s.tb.Helper()
	if got := s.ask(initialize); !strings.Contains(got, `"protocolVersion":"2025-06-18"`) {
		s.tb.Fatalf("initialize was answered with %s", got)
	}
	s.send(initialized)
	return s
}

// code is the stable code of an error response.
func code(raw string) string {
	var m struct {
		Error struct {
			Data struct {
				Code string `json:"code"`
			} `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		return err.Error()
	}
	return m.Error.Data.Code
}

// wsTransport lets the official SDK's client speak over a WebSocket.
type wsTransport struct{ url string }

func (w wsTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, _, err := websocket.Dial(ctx, w.url, nil)
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(-1)
	return &wsConnection{conn}, nil
}

type wsConnection struct{ conn *websocket.Conn }

func (c *wsConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	_, raw, err := c.conn.Read(ctx)
	if websocket.CloseStatus(err) >= 0 || err != nil && strings.Contains(err.Error(), net.ErrClosed.Error()) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, err
	}
	return jsonrpc.DecodeMessage(raw)
}

func (c *wsConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	raw, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return c.conn.Write(ctx, websocket.MessageText, bytes.TrimSpace(raw))
}

func (c *wsConnection) Close() error {
	_ = c.conn.Close(websocket.StatusNormalClosure, "")
	return nil
}

func (c *wsConnection) SessionID() string { return "" }
