package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// probe probes with a time limit that only matters when something is wrong.
func probe(t *testing.T, c *upstream.Conn, path string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return c.Probe(ctx, path)
}

// impatient is a time limit for what is not going to come.
const impatient = 50 * time.Millisecond

// unanswered probes and fails unless the probe is not answered within a moment.
func unanswered(t *testing.T, c *upstream.Conn, path, method string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), impatient)
	defer cancel()
	err := c.Probe(ctx, path)
	if e := hub.AsError(err); err == nil || e.Code != message.ServerSilent || e.Args["method"] != method {
		t.Errorf("the probe got %v, want no answer to %s", err, method)
	}
	select {
	case <-c.Done():
		t.Error("the connection has ended of it")
	default:
	}
}

// A server that is there is found to be, over every kind of connection, and
// that is the last that was heard of it.
func TestProbe(t *testing.T) {
	everyWay(t, func(t *testing.T, s hub.Server) {
		c := dial(t, options(s))
		before := c.Heard()
		for range 3 {
			if err := probe(t, c, ""); err != nil {
				t.Error(err)
			}
		}
		after := c.Heard()
		if !after.After(before) || time.Since(after) > limit {
			t.Errorf("heard of it at %v, and before that at %v", after, before)
		}
		do(t, c, "echo", `{"text":""}`)
		if !c.Heard().After(after) {
			t.Error("the answer to a call was not heard")
		}
	})
}

// A probe is a ping in the legacy era and the first page of the tools in the
// modern one; it never greets. An error is an answer like any other.
func TestProbeAsks(t *testing.T) {
	asked := make(chan note, 3)
	c := scripted(t, func(p *peer) {
		for range cap(asked) {
			n, _ := p.next()
			asked <- n
			p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, n.ID)
		}
		p.next() // it ends with the connection, and not before the last answer was seen
	})
	for range cap(asked) {
		if err := probe(t, c, "/health"); err != nil { // the path is of remote servers only
			t.Error(err)
		}
		if n := <-asked; n.Method != "ping" {
			t.Errorf("it was asked %s", n.Method)
		}
	}
	for _, fault := range []string{"notool", "endlessnew"} {
		c := dial(t, options(stdio(t, "-fault", "modernonly,"+fault)))
		if err := probe(t, c, ""); err != nil {
			t.Errorf("%s: %v", fault, err)
		}
	}
}

// A server that is silent is found to be so, and that ends nothing: it may
// answer the next time.
func TestProbeUnanswered(t *testing.T) {
	told := make(chan struct{})
	c := scripted(t, func(p *peer) {
		first, _ := p.next()
		left, _ := p.next()
		if first.Method != "ping" || left.Method != "notifications/cancelled" || string(left.Params.RequestID) != string(first.ID) {
			t.Errorf("the server was sent %s and %s", first.Method, left.Method)
		}
		close(told)
		next, _ := p.next()
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, next.ID)
		p.next()
	})
	before := c.Heard()
	unanswered(t, c, "", "ping")
	if !c.Heard().Equal(before) {
		t.Error("a silent server was heard")
	}
	<-told // that nobody waits for the answer any more
	if err := probe(t, c, ""); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Probe(ended, ""); !hub.IsCode(err, message.Cancelled) {
		t.Errorf("a probe that was given up got %v", err)
	}
	c.Close(t.Context())
	for _, path := range []string{"", "/health"} {
		if err := probe(t, c, path); err == nil {
			t.Error("a connection that is closed is healthy")
		}
	}
}

// What is no message does not show that a server is there, however much it looks
// like one.
func TestProbeAnsweredWithGarbage(t *testing.T) {
	c := scripted(t, func(p *peer) {
		n, _ := p.next()
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{}`, n.ID)
		p.send(`{garbage}`)
		p.next() // that the ping was given up
		p.next()
	})
	before := c.Heard()
	unanswered(t, c, "", "ping")
	if !c.Heard().Equal(before) {
		t.Error("garbage on a stream counts as a message")
	}
	c, _ = pinged(t, `{}`, func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{garbage}`)
	})
	before = c.Heard()
	if err := probe(t, c, ""); !hub.IsCode(err, message.ServerBadReply) {
		t.Errorf("over HTTP the probe got %v", err)
	}
	if !c.Heard().Equal(before) {
		t.Error("garbage over HTTP counts as a message")
	}
}

// silence passes TCP connections on to a server until it is told not to: then
// they stay open, new ones too, and nothing comes through any more, not even
// that they end. So does a peer whose machine or network is gone.
type silence struct {
	listener net.Listener
	to       string
	silent   atomic.Bool
	work     sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// between is a server as it is reached over a proxy that can be silenced.
func between(t *testing.T, s hub.Server) (hub.Server, *silence) {
	t.Helper()
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &silence{listener: l, to: at.Host}
	p.work.Go(p.accept)
	t.Cleanup(p.end)
	at.Host = l.Addr().String()
	s.URL = at.String()
	return s, p
}

func (p *silence) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.keep(near)
		if p.silent.Load() {
			continue
		}
		far, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		p.keep(far)
		p.work.Go(func() { p.carry(near, far) })
		p.work.Go(func() { p.carry(far, near) })
	}
}

func (p *silence) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
}

func (p *silence) carry(from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if p.silent.Load() {
			if err != nil {
				return
			}
			continue
		}
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			_ = to.Close()
			return
		}
	}
}

func (p *silence) end() {
	_ = p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
}

// A peer that is gone without having ended its connections is noticed by probes
// that are not answered, over every kind of connection that can be half open.
func TestProbeHalfOpen(t *testing.T) {
	for name, server := range map[string]func(*testing.T) hub.Server{
		"http legacy": func(t *testing.T) hub.Server { return remote(t) },
		"http modern": func(t *testing.T) hub.Server { return remote(t, "-fault", "modernonly") },
		"sse":         func(t *testing.T) hub.Server { return overSSE(t) },
		"ws":          func(t *testing.T) hub.Server { return overWebSocket(t) },
	} {
		t.Run(name, func(t *testing.T) {
			s, line := between(t, server(t))
			c := dial(t, options(s))
			if err := probe(t, c, ""); err != nil {
				t.Fatal(err)
			}
			line.silent.Store(true)
			method := "ping"
			if strings.HasSuffix(name, "modern") {
				method = "tools/list"
			}
			for range 3 {
				unanswered(t, c, "", method)
				unanswered(t, c, "/health", "GET")
			}
			line.end()
		})
	}
}

// healthy is a remote server of some kind whose host answers GET requests for
// anything else than the server itself as check says.
func healthy(t *testing.T, kind hub.Kind, start func(http.Handler) *httptest.Server, check http.HandlerFunc) (hub.Server, *httptest.Server) {
	t.Helper()
	mcp := map[hub.Kind]func(*testing.T, ...string) hub.Server{hub.KindHTTP: remote, hub.KindSSE: overSSE, hub.KindWebSocket: overWebSocket}[kind](t)
	at, err := url.Parse("http" + mcp.URL[strings.Index(mcp.URL, ":"):])
	if err != nil {
		t.Fatal(err)
	}
	front := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path != "/mcp" {
			check(w, r)
			return
		}
		pass(t, w, r, at)
	}))
	t.Cleanup(front.Close)
	mcp.URL = front.URL + "/mcp"
	if kind == hub.KindWebSocket {
		mcp.URL = "ws" + strings.TrimPrefix(mcp.URL, "http")
	}
	mcp.Headers = map[string]string{"X-Key": "the-secret"}
	return mcp, front
}

// pass passes a request on to the server behind, a WebSocket frame by frame.
func pass(t *testing.T, w http.ResponseWriter, r *http.Request, at *url.URL) {
	if r.Header.Get("Upgrade") == "" {
		req := r.Clone(r.Context())
		req.URL.Scheme, req.URL.Host, req.RequestURI = at.Scheme, at.Host, ""
		if r.URL.Path == "/mcp" {
			req.URL.Path = at.Path
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		maps.Copy(w.Header(), res.Header)
		w.WriteHeader(res.StatusCode)
		buf := make([]byte, 4<<10)
		for {
			w.(http.Flusher).Flush()
			n, err := res.Body.Read(buf)
			_, _ = w.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}
	ctx := context.WithoutCancel(r.Context())
	near, err := websocket.Accept(w, r, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer near.CloseNow()
	far, _, err := websocket.Dial(ctx, at.String(), nil)
	if err != nil {
		t.Error(err)
		return
	}
	a, b := websocket.NetConn(ctx, near, websocket.MessageText), websocket.NetConn(ctx, far, websocket.MessageText)
	var work sync.WaitGroup
	work.Go(func() { _, _ = io.Copy(a, b); _ = a.Close() })
	_, _ = io.Copy(b, a)
	_ = b.Close()
	work.Wait()
}

// The path of a remote server is asked for on its host, with its headers, by a
// GET that says nothing else, over the same network as everything; a status of
// success is health, and only that.
func TestProbeOfAPath(t *testing.T) {
	for _, kind := range []hub.Kind{hub.KindHTTP, hub.KindSSE, hub.KindWebSocket} {
		for name, start := range map[string]func(http.Handler) *httptest.Server{"plain": httptest.NewServer, "tls": httptest.NewTLSServer} {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
				var asked []string
				var strangers atomic.Int32
				elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers.Add(1) }))
				defer elsewhere.Close()
				s, front := healthy(t, kind, start, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					asked = append(asked, fmt.Sprintf("%s %s %s %q %q %q", r.Method, r.URL, r.Header.Get("X-Key"), body, r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Method")))
					switch r.URL.Path {
					case "/ok":
						w.WriteHeader(http.StatusNoContent)
					case "/moved":
						http.Redirect(w, r, "/ok", http.StatusTemporaryRedirect)
					case "/away":
						http.Redirect(w, r, elsewhere.URL+"/ok", http.StatusTemporaryRedirect)
					case "/endless":
						for r.Context().Err() == nil {
							_, _ = w.Write(make([]byte, 64<<10))
						}
					case "/silent":
						<-r.Context().Done()
					case "/denied":
						w.WriteHeader(http.StatusUnauthorized)
					default:
						w.WriteHeader(http.StatusServiceUnavailable)
					}
				})
				opt := options(s)
				if front.TLS != nil {
					opt.Network.RootCAs = front.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
				}
				c := dial(t, opt)
				for path, want := range map[string]message.Code{
					"/ok": "", "/ok?a=b": "", "/moved": "", "/endless": "", "/away": message.ServerHTTPStatus,
					"/unwell": message.ServerHTTPStatus, "/denied": message.ServerUnauthorized,
					"//" + strings.TrimPrefix(elsewhere.URL, "http://"): message.ServerHTTPStatus,
				} {
					asked = nil
					err := probe(t, c, path)
					if want == "" && err != nil || want != "" && !hub.IsCode(err, want) {
						t.Errorf("%s: got %v, want %q", path, err, want)
					}
					if want := fmt.Sprintf(`GET %s the-secret "" "" ""`, path); len(asked) == 0 || !strings.HasSuffix(asked[0], want) && !strings.Contains(path, "//") {
						t.Errorf("it was asked %q, want %s", asked, want)
					}
				}
				for _, path := range []string{elsewhere.URL, "ok", "http:", " /ok"} {
					asked = nil
					if err := probe(t, c, path); err == nil || len(asked) > 0 {
						t.Errorf("%s: got %v, it was asked %q", path, err, asked)
					}
				}
				unanswered(t, c, "/silent", "GET")
				if strangers.Load() > 0 {
					t.Error("another host was asked")
				}
				if err := probe(t, c, ""); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// What a server says to a probe over HTTP is an answer unless it is somebody
// else's, or refuses to let the hub in; a session that it has forgotten, or that
// nobody listens any more, ends the connection as it does after a call.
func TestProbeStatus(t *testing.T) {
	for status, want := range map[int]message.Code{
		http.StatusBadRequest: "", http.StatusMethodNotAllowed: "", http.StatusTooManyRequests: "",
		http.StatusInternalServerError: message.ServerHTTPStatus, http.StatusBadGateway: message.ServerHTTPStatus,
		http.StatusUnauthorized: message.ServerUnauthorized, http.StatusForbidden: message.ServerUnauthorized,
		http.StatusNotFound: message.SessionLost,
	} {
		c, _ := pinged(t, `{"tools":{}}`, func(w http.ResponseWriter) { w.WriteHeader(status) })
		err := probe(t, c, "")
		if want == "" && err != nil || want != "" && !hub.IsCode(err, want) {
			t.Errorf("%d: got %v, want %q", status, err, want)
		}
		if lost := c.Err(); (lost != nil) != (want == message.SessionLost) {
			t.Errorf("%d: the connection ended with %v", status, lost)
		}
	}
	c, srv := pinged(t, `{"tools":{}}`, func(http.ResponseWriter) {})
	srv.Close()
	// The first one may still be sent over a connection that the server has left.
	if first, err := probe(t, c, ""), probe(t, c, ""); first == nil || !hub.IsCode(err, message.ServerUnreachable) {
		t.Errorf("nobody is there: %v, then %v", first, err)
	}
	if err := c.Err(); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("the connection ended with %v", err)
	}
}

// pinged is a legacy server over HTTP with some capabilities which answers pings
// as the test says, and which has no stream of its own news.
func pinged(t *testing.T, capabilities string, ping func(http.ResponseWriter)) (*upstream.Conn, *httptest.Server) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case strings.Contains(string(body), `"initialize"`):
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", "the-session")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":%s,"serverInfo":{"name":"s","version":"1"}}}`, capabilities)
		case strings.Contains(string(body), `"ping"`):
			ping(w)
		case strings.Contains(string(body), "notifications/"):
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(srv.Close)
	return dial(t, options(at(srv.URL))), srv
}

// A server announces changes if it has declared so, unless it refuses the stream
// on which it would.
func TestAnnounces(t *testing.T) {
	everyWay(t, func(t *testing.T, s hub.Server) {
		if c := dial(t, options(s)); !c.Announces() {
			t.Error("it does not")
		}
	})
	for capabilities, want := range map[string]bool{`{"tools":{"listChanged":true}}`: true, `{"tools":{}}`: false} {
		p := scripted(t, func(p *peer) { p.next() })
		if p.Announces() {
			t.Error("over a pipe it does, undeclared")
		}
		c, _ := pinged(t, capabilities, func(http.ResponseWriter) {})
		if want { // until the stream was asked for
			rig.Await(t, "the stream is refused", func() bool { return !c.Announces() })
		} else if c.Announces() {
			t.Error("over HTTP it does, undeclared")
		}
	}
}

// The process is known before it has answered anything.
func TestStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	opt := options(script(t, "read a; exec sleep 1000"))
	var pid int
	opt.Started = func(id int) {
		pid = id
		cancel()
	}
	if _, err := upstream.Dial(ctx, opt); !hub.IsCode(err, message.Cancelled) || pid <= 0 {
		t.Errorf("the process %d, %v", pid, err)
	}
}
