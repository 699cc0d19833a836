package bridge_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/bridge"
	"github.com/toolcrib/toolcrib/internal/builtin"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/call"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/face/mcp"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/gateway"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit bounds every wait of the tests; it matters only when something is
// wrong.
const limit = 20 * time.Second

// exchange is where hubs come and go: a listener within the process, so that
// the tests work in time that is not real as well.
type exchange struct {
	calls chan net.Conn
	lang  message.Lang // of what bridges say themselves

	mu    sync.Mutex
	conns []net.Conn
	over  chan struct{} // closed when there is no hub
}

func newExchange() *exchange {
	x := &exchange{calls: make(chan net.Conn), over: make(chan struct{})}
	close(x.over)
	return x
}

// serve puts a hub there, until the returned function cuts all its connections.
func (x *exchange) serve(h http.Handler) (kill func()) {
	over := make(chan struct{})
	x.mu.Lock()
	x.over = over
	x.mu.Unlock()
	server := &http.Server{Handler: h, ReadHeaderTimeout: limit}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(&listener{x, over}) })
	return sync.OnceFunc(func() {
		x.mu.Lock()
		close(over)
		for _, c := range x.conns {
			_ = c.Close()
		}
		x.conns = nil
		x.mu.Unlock()
		_ = server.Close()
		served.Wait()
	})
}

type listener struct {
	x    *exchange
	over chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.x.calls:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (*listener) Close() error { return nil }

func (*listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// dial is [bridge.Options.Dial].
func (x *exchange) dial(ctx context.Context) (*bridge.Conn, error) {
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		x.mu.Lock()
		over := x.over
		x.mu.Unlock()
		near, far := net.Pipe()
		select {
		case <-over:
			return nil, fmt.Errorf("there is no hub: %w", net.ErrClosed)
		case x.calls <- far:
		}
		x.mu.Lock()
		x.conns = append(x.conns, near, far)
		x.mu.Unlock()
		return near, nil
	}}
	defer transport.CloseIdleConnections()
	return bridge.Connect(ctx, &http.Client{Transport: transport}, "ws://hub/ws/mcp?client=stdio", nil)
}

// client is a client whose standard input and output are bridged.
type client struct {
	tb   testing.TB
	in   *io.PipeWriter // what it sends
	out  *io.PipeReader // what it gets
	scan *bufio.Scanner
	end  chan error // gets what Run returns
	stop context.CancelFunc
}

func (x *exchange) bridge(t testing.TB) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	c := &client{tb: t, in: inW, out: outR, scan: bufio.NewScanner(outR), end: make(chan error, 1), stop: cancel}
	c.scan.Buffer(nil, 1<<20)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.end <- bridge.Run(ctx, bridge.Options{In: inR, Out: outW, Dial: x.dial, Lang: x.lang, Log: slog.New(slog.DiscardHandler)})
	}()
	t.Cleanup(func() {
		cancel()
		_ = outR.Close()
		<-done
	})
	return c
}

func (c *client) send(format string, args ...any) {
	c.tb.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		c.tb.Fatal(err)
	}
}

func (c *client) next() string {
	c.tb.Helper()
	if !c.scan.Scan() {
		c.tb.Fatalf("the bridge has ended: %v", c.scan.Err())
	}
	return c.scan.Text()
}

// want fails the test unless the next message is this one.
func (c *client) want(want string) {
	c.tb.Helper()
	if got := c.next(); got != want {
		c.tb.Errorf("got %s, want %s", got, want)
	}
}

// script is a hub of the test's own, which says just what a test wants it to.
type script struct {
	tb    testing.TB
	conns chan *websocket.Conn // those that were opened, in order
}

func newScript(t testing.TB) *script { return &script{t, make(chan *websocket.Conn, 16)} }

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		s.tb.Error(err)
		return
	}
	conn.SetReadLimit(-1)
	s.conns <- conn
}

// line is one connection of a script.
type line struct {
	tb   testing.TB
	conn *websocket.Conn
}

func (s *script) answer() line { return line{s.tb, <-s.conns} }

func (l line) want(want string) {
	l.tb.Helper()
	_, raw, err := l.conn.Read(l.tb.Context())
	if err != nil {
		l.tb.Fatal(err)
	}
	if string(raw) != want {
		l.tb.Errorf("the hub got %s, want %s", raw, want)
	}
}

func (l line) send(raw string) {
	l.tb.Helper()
	if err := l.conn.Write(l.tb.Context(), websocket.MessageText, []byte(raw)); err != nil {
		l.tb.Fatal(err)
	}
}

// house is a real hub with the calculator and the tool lab__hold, which answers
// when it is told to.
type house struct {
	door    *mcp.Door
	began   chan struct{}
	release chan struct{}
}

func open(t testing.TB) *house {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	events := &bus.Bus{}
	cat, err := catalog.Open(catalog.Options{Bus: events, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	var servers []hub.Server
	for _, key := range []string{"calculator", "lab"} {
		servers = append(servers, hub.Server{Key: key, Kind: hub.KindBuiltin, Enabled: true, AutoStart: true, Timeout: time.Hour})
	}
	cat.SetServers(servers)
	h := &house{began: make(chan struct{}, 100), release: make(chan struct{})}
	var listed sync.WaitGroup
	listed.Add(len(servers))
	own := builtin.New(builtin.Options{})
	f := fleet.New(fleet.Options{
		Servers: servers, Dial: upstream.Dial, ClientInfo: []byte(`{"name":"hub"}`), Bus: events, Log: log,
		Serve: func(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
			if key == "lab" {
				return h.serveLab(ctx, r, w)
			}
			return own.Serve(ctx, key, r, w)
		},
		Listed: func(server hub.Server, lists hub.Lists) {
			cat.Listed(server, lists)
			listed.Done()
		},
	})
	g := gateway.New(gateway.Options{
		Call: call.New(call.Options{Catalog: cat, Fleet: f, Bus: events, Log: log}), Catalog: cat, Bus: events, Log: log,
		ServerInfo: []byte(`{"name":"hub","version":"1"}`),
	})
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = f.Run(ctx) })
	all.Go(func() { _ = g.Run(ctx) })
	listed.Wait()
	h.door = mcp.New(g)
	t.Cleanup(func() {
		_ = h.door.Close(t.Context()) // which has ended by now
		cancel()
		all.Wait()
	})
	return h
}

func (h *house) serveLab(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "lab", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "hold"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		h.began <- struct{}{}
		select {
		case <-h.release:
		case <-ctx.Done():
		}
		return nil, nil, nil
	})
	_ = server.Run(ctx, &sdk.IOTransport{Reader: r, Writer: w})
	return nil
}
