package upstream_test

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

func serverAt(kind hub.Kind, url string) hub.Server {
	if kind == hub.KindWebSocket {
		url = "ws" + strings.TrimPrefix(url, "http")
	}
	return hub.Server{Key: "s", Kind: kind, URL: url}
}

// sdkSSE is a server of the official SDK over HTTP with server-sent events.
func sdkSSE(t *testing.T) hub.Server {
	t.Helper()
	s := sdkServer()
	srv := httptest.NewServer(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(srv.Close)
	return serverAt(hub.KindSSE, srv.URL)
}

// sdkWebSocket is one of the official SDK over a WebSocket.
func sdkWebSocket(t *testing.T) hub.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		ctx := context.WithoutCancel(r.Context())
		pipe := websocket.NetConn(ctx, c, websocket.MessageText)
		_ = sdkServer().Run(ctx, &mcp.IOTransport{Reader: pipe, Writer: pipe})
	}))
	t.Cleanup(srv.Close)
	return serverAt(hub.KindWebSocket, srv.URL)
}

// greet answers what a legacy server is asked when a connection opens; false
// for everything else.
func greet(n note, send func(string)) bool {
	switch n.Method {
	case "initialize":
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, n.ID))
	case "notifications/initialized", "notifications/cancelled":
	default:
		return false
	}
	return true
}

// sse is a server of the test's own over HTTP with server-sent events: call
// answers what is not part of the handshake. To return true is to accept the
// POST; hangUp ends the event stream.
func sse(t *testing.T, call func(w http.ResponseWriter, n note, send func(string), hangUp func()) bool) hub.Server {
	t.Helper()
	events, end := make(chan string, 16), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			var n note
			if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
				t.Error(err)
			}
			send := func(msg string) { events <- msg }
			if greet(n, send) || call(w, n, send, func() { close(end) }) {
				w.WriteHeader(http.StatusAccepted)
			}
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: ?post\n\n")
		for {
			w.(http.Flusher).Flush()
			select {
			case msg := <-events:
				fmt.Fprintf(w, "data: %s\n\n", msg)
			case <-end:
				return
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	return serverAt(hub.KindSSE, srv.URL)
}

// socket is the same over a WebSocket.
func socket(t *testing.T, call func(c *websocket.Conn, n note)) hub.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		ctx := context.WithoutCancel(r.Context())
		for {
			_, msg, err := c.Read(ctx)
			if err != nil {
				return
			}
			var n note
			if err := json.Unmarshal(msg, &n); err != nil {
				t.Error(err)
			}
			if !greet(n, func(msg string) { _ = c.Write(ctx, websocket.MessageText, []byte(msg)) }) {
				call(c, n)
			}
		}
	}))
	t.Cleanup(srv.Close)
	return serverAt(hub.KindWebSocket, srv.URL)
}

func textReply(id json.RawMessage, s string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, id, s)
}

// The reference server of the protocol's authors works over its own legacy
// transport.
func TestEverythingOverSSE(t *testing.T) {
	path := rig.NPM(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	port := rig.FreePort(t)
	p := rig.Spawn(t, []string{"PORT=" + port}, "node", path, "sse")
	rig.Await(t, "the server listens", func() bool { return strings.Contains(p.Stderr(), "running on port") })
	opt := options(serverAt(hub.KindSSE, "http://127.0.0.1:"+port+"/sse"))
	var who caller
	c := dial(t, opt)
	tools, err := c.Tools(t.Context())
	if err != nil || len(tools) < 5 || c.Protocol() != "2025-11-25" {
		t.Errorf("%d tools in %s, %v", len(tools), c.Protocol(), err)
	}
	r, err := c.Do(t.Context(), request(t, "trigger-long-running-operation", `{"duration":0.2,"steps":4}`, `"mine"`), &who)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(who.notes("notifications/progress")); n != 4 || !strings.Contains(text(r), "completed") {
		t.Errorf("%d steps, %s", n, text(r))
	}
}

// What was found out about a server is there to be shown, and no more of it
// than fits.
func TestInfo(t *testing.T) {
	c := dial(t, options(sdkSSE(t)))
	if c.Info() != "sdk 1" || c.Protocol() != "2025-11-25" {
		t.Errorf("it is %q, in %q", c.Info(), c.Protocol())
	}
	opt := options(hub.Server{Key: "s", Kind: hub.KindBuiltin, Env: map[string]string{"K": "the-secret"}})
	opt.Serve = func(_ context.Context, _ string, r io.ReadCloser, w io.WriteCloser) error {
		p := &peer{t: t, in: bufio.NewScanner(r), out: w}
		hello, _ := p.next()
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"the-secret\n%s","version":"2"}}}`, hello.ID, strings.Repeat("x", 1000))
		_, _ = io.Copy(io.Discard, r)
		return w.Close()
	}
	if got := dial(t, opt).Info(); len([]rune(got)) > 210 || strings.ContainsAny(got, "\n") || strings.Contains(got, "secret") {
		t.Errorf("it is %q", got)
	}
}

// A server that answers a POST only when it has answered what was posted holds
// up nobody.
func TestHeldPost(t *testing.T) {
	who := caller{hears: make(chan struct{}, 1)}
	c := dial(t, options(sse(t, func(_ http.ResponseWriter, n note, send func(string), _ func()) bool {
		send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, n.Params.Meta.ProgressToken))
		<-who.hears
		send(textReply(n.ID, "done"))
		return true
	})))
	r, err := c.Do(t.Context(), request(t, "x", "{}", `"mine"`), &who)
	if err != nil || text(r) != "done" || len(who.notes("notifications/progress")) != 1 {
		t.Errorf("got %v, %v", r, err)
	}
}

// A POST that is refused is one call's, unless the session is gone.
func TestRefusedPost(t *testing.T) {
	status, held := http.StatusInternalServerError, make(chan note, 1)
	var reply func(string)
	c := dial(t, options(sse(t, func(w http.ResponseWriter, n note, send func(string), _ func()) bool {
		if reply == nil {
			reply = send
			held <- n
			return true
		}
		w.WriteHeader(status)
		return false
	})))
	done := make(chan string, 1)
	go func() {
		r, err := c.Do(t.Context(), request(t, "x", "{}", ""), &caller{})
		if err != nil {
			done <- err.Error()
			return
		}
		done <- text(r)
	}()
	first := <-held
	_, err := c.Do(t.Context(), request(t, "x", "{}", ""), &caller{})
	if !hub.IsCode(err, message.ServerHTTPStatus) || errors.Is(err, transport.ErrNotSent) {
		t.Errorf("500: %v", err)
	}
	reply(textReply(first.ID, "first"))
	if got := <-done; got != "first" {
		t.Errorf("the call beside it: %s", got)
	}
	status = http.StatusNotFound
	_, err = c.Do(t.Context(), request(t, "x", "{}", ""), &caller{})
	if !errors.Is(err, transport.ErrNotSent) || !hub.IsCode(c.Err(), message.SessionLost) {
		t.Errorf("404: %v; the connection: %v", err, c.Err())
	}
}

// A call is of unknown outcome when its connection ends under it, and the
// connection says why it did.
func TestLostUnderCalls(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server hub.Server
		code   message.Code
		says   string
	}{
		{"the event stream ends", sse(t, func(_ http.ResponseWriter, _ note, _ func(string), hangUp func()) bool {
			hangUp()
			return true
		}), message.ServerClosed, "no reason"},
		{"a POST is cut off", sse(t, func(w http.ResponseWriter, _ note, _ func(string), _ func()) bool {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.Close()
			}
			return false
		}), message.ServerClosed, "no reason"},
		{"the WebSocket is closed", socket(t, func(c *websocket.Conn, _ note) { _ = c.Close(1000, "") }), message.ServerClosed, "no reason"},
		{"it is closed for a reason", socket(t, func(c *websocket.Conn, _ note) { _ = c.Close(4001, "token the-secret expired") }), message.ServerClosed, "code 4001: token *** expired"},
		{"it is cut off", socket(t, func(c *websocket.Conn, _ note) { _ = c.CloseNow() }), message.ServerClosed, "no reason"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.server.Headers = map[string]string{"X-Key": "the-secret"}
			c := dial(t, options(tt.server))
			_, err := c.Do(t.Context(), request(t, "x", "{}", ""), &caller{})
			if !hub.IsCode(err, message.OutcomeUnknown) || errors.Is(err, transport.ErrNotSent) || strings.Contains(err.Error(), "secret") {
				t.Errorf("the call: %v", err)
			}
			<-c.Done()
			e := c.Explain(c.Err())
			if e.Code != tt.code || !strings.Contains(e.Text(message.English).String(), tt.says) || strings.Contains(e.Error(), "secret") {
				t.Errorf("it ended with %s: %v", e.Code, e)
			}
			if _, err := c.Do(t.Context(), request(t, "x", "{}", ""), &caller{}); !errors.Is(err, transport.ErrNotSent) {
				t.Errorf("a call after that: %v", err)
			}
		})
	}
}

// A server that has nothing to say is asked whether it is there, and given up
// if it does not answer.
func TestIdle(t *testing.T) {
	opt := options(sse(t, func(http.ResponseWriter, note, func(string), func()) bool { return true }))
	opt.Idle = 150 * time.Millisecond
	c := dial(t, opt)
	<-c.Done()
	if e := c.Explain(c.Err()); e.Code != message.ServerIdle || !errors.Is(e, transport.ErrIdle) {
		t.Errorf("it ended with %v", e)
	}

	pings := make(chan struct{}, 8)
	opt = options(sse(t, func(_ http.ResponseWriter, n note, send func(string), _ func()) bool {
		send(textReply(n.ID, "here"))
		pings <- struct{}{}
		return true
	}))
	opt.Idle = 300 * time.Millisecond
	c = dial(t, opt)
	for range cap(pings) { // more than two times Idle
		select {
		case <-pings:
		case <-c.Done():
			t.Fatalf("it ended with %v", c.Err())
		}
	}
}

// A message over the limit is one call's, and the stream goes on.
func TestTooLargeOverStream(t *testing.T) {
	c := dial(t, options(socket(t, func(c *websocket.Conn, n note) {
		answer := textReply(n.ID, "small")
		if n.Params.Meta.ProgressToken != nil {
			answer = "{" + strings.Repeat(" ", transport.DefaultMaxMessage)
		}
		_ = c.Write(context.WithoutCancel(t.Context()), websocket.MessageText, []byte(answer))
	})))
	if _, err := c.Do(t.Context(), request(t, "x", "{}", "1"), &caller{}); !hub.IsCode(err, message.ServerReplyTooBig) {
		t.Errorf("got %v", err)
	}
	if got := do(t, c, "x", "{}"); got != "small" {
		t.Errorf("then %s", got)
	}
}

// Every way in which a remote server can be out of reach is told in words, and
// by the code of what a person has to look at.
func TestRemoteFaults(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := answering(t, 200, "text/html", "<html>").URL
	endpoint := func(text string) string { return answering(t, 200, "text/event-stream", text).URL }
	dead := net.JoinHostPort("127.0.0.1", rig.DeadPort(t))
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	for _, tt := range []struct {
		name string
		kind hub.Kind
		url  string
		code message.Code
		says string
	}{
		{"wants a key", hub.KindSSE, answering(t, 401, "text/plain", "no").URL, message.ServerUnauthorized, "401"},
		{"refuses the key", hub.KindSSE, answering(t, 403, "text/plain", "no").URL, message.ServerUnauthorized, "403"},
		{"is broken", hub.KindSSE, answering(t, 500, "text/plain", "no").URL, message.ServerHTTPStatus, "500"},
		{"is a web page", hub.KindSSE, plain, message.ServerNotMCP, "text/html"},
		{"ends at once", hub.KindSSE, endpoint(""), message.ServerClosed, "no reason"},
		{"points elsewhere", hub.KindSSE, endpoint("event: endpoint\ndata: https://example.org/m?key=secret\n\n"), message.ServerEndpoint, "https://example.org,"},
		{"is silent", hub.KindSSE, silent.URL, message.ServerSilent, "GET"},
		{"nobody there", hub.KindSSE, "http://" + dead + "/sse?key=secret", message.ServerUnreachable, "connection refused"},
		{"no such host", hub.KindSSE, "http://nowhere.invalid/sse?key=secret", message.ServerUnreachable, "the host name nowhere.invalid"},
		{"another authority", hub.KindSSE, secure.URL, message.ServerCertificate, "--ca-cert"},
		{"no TLS", hub.KindSSE, strings.Replace(plain, "http:", "https:", 1), message.ServerUnreachable, "is it http"},

		{"wants a key", hub.KindWebSocket, answering(t, 401, "text/plain", "no").URL, message.ServerUnauthorized, "401"},
		{"refuses the key", hub.KindWebSocket, answering(t, 403, "text/plain", "no").URL, message.ServerUnauthorized, "403"},
		{"is a web page", hub.KindWebSocket, plain, message.ServerHTTPStatus, "200"},
		{"is silent", hub.KindWebSocket, silent.URL, message.ServerSilent, "GET"},
		{"nobody there", hub.KindWebSocket, "http://" + dead + "/ws?key=secret", message.ServerUnreachable, "connection refused"},
		{"no such host", hub.KindWebSocket, "http://nowhere.invalid/ws?key=secret", message.ServerUnreachable, "the host name nowhere.invalid"},
		{"another authority", hub.KindWebSocket, secure.URL, message.ServerCertificate, "--ca-cert"},
		{"closes at once", hub.KindWebSocket, closing(t), message.ServerClosed, "code 1008: who are you"},

		{"another authority", hub.KindHTTP, secure.URL, message.ServerCertificate, "Acme"},
		{"no such host", hub.KindHTTP, "http://nowhere.invalid/mcp?key=secret", message.ServerUnreachable, "the host name nowhere.invalid"},
	} {
		t.Run(string(tt.kind)+", "+tt.name, func(t *testing.T) {
			opt := options(serverAt(tt.kind, tt.url))
			if tt.code == message.ServerSilent {
				opt.Handshake = short
			}
			c, err := upstream.Dial(t.Context(), opt)
			if err == nil {
				c.Close(t.Context())
				t.Fatal("it came about")
			}
			e := hub.AsError(err)
			if text := e.Text(message.English).String(); e.Code != tt.code || !strings.Contains(text, tt.says) || strings.Contains(e.Error(), "secret") {
				t.Errorf("got %s: %v; it says %q", e.Code, err, text)
			}
		})
	}

	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	opt := options(serverAt(hub.KindHTTP, secure.URL))
	opt.Network = transport.Network{RootCAs: roots}
	if _, err := upstream.Dial(t.Context(), opt); !hub.IsCode(err, message.ServerHTTPStatus) {
		t.Errorf("with the authority: %v", err)
	}
}

// closing is a WebSocket server that lets nobody in, and says so by closing.
func closing(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := websocket.Accept(w, r, nil); err == nil {
			_ = c.Close(websocket.StatusPolicyViolation, "who are you")
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
