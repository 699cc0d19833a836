package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// counted is a faulty process of which every start is counted.
func counted(t *testing.T, args ...string) (s hub.Server, starts func() int) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("NOT RUN: it needs a POSIX shell")
	}
	log := filepath.Join(t.TempDir(), "starts")
	s = stdio(t, "faulty")
	program := s.Command
	s.Command = "/bin/sh"
	s.Args = append([]string{"-c", `echo start >>"$0"; exec "$@"`, log, program}, args...)
	return s, func() int {
		all, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Count(string(all), "\n")
	}
}

// A process that dies of a call is started again, and the call is not: it would
// die once more (design D6).
func TestProcessThatDiesOfACall(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		tool string
		want string // stable code
	}{
		{"before the answer", nil, "crash", "outcome_unknown"},
		{"after the answer", []string{"-fault", "crashafter", "-on", onlyDeed}, deed, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, starts := counted(t, tt.args...)
			h := start(t, budget(), s)
			h.await("faulty", hub.StateReady)
			h.beside(func() {
				for n, e := range eras() {
					a, err := h.connect(e).call("faulty__"+tt.tool, `{"text":"done"}`)
					if err != nil {
						t.Errorf("%s: %v", e, err)
						continue
					}
					if code, number := a.codes(); code != tt.want || code != "" && number != codeFor(e, code) {
						t.Errorf("%s: got %s, want %q", e, a.raw, tt.want)
					}
					// A call that reaches the process while it is dying would be lost
					// with it, which nobody could know.
					rig.Await(t, "it is started again", func() bool { return starts() == n+2 })
					// The next call waits for the restart, and works.
					if a, err := h.connect(e).call("faulty__echo", `{"text":"back"}`); err != nil || a.text() != "back" {
						t.Errorf("%s: the next call got %s, %v", e, a.raw, err)
					}
					if calls := h.calls(s)[tt.tool]; calls != 0 {
						t.Errorf("%s: the new process got the call again, %d times", e, calls)
					}
					if got, want := starts(), n+2; got != want {
						t.Errorf("%s: then the process was started %d times, want %d", e, got, want)
					}
				}
			})
		})
	}
}

// counter is a legacy HTTP server in this process that counts what reaches it,
// and whose calls end as the test says.
type counter struct {
	*httptest.Server
	calls atomic.Int32
}

// newCounter starts such a server; spoil answers a call on its connection, which
// is then closed.
func newCounter(t *testing.T, spoil func(conn net.Conn, id json.RawMessage)) *counter {
	t.Helper()
	c := &counter{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(body, &m) // GET and DELETE have none
		reply := func(result string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}
		switch m.Method {
		case "initialize":
			reply(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"counter","version":"1"}}`)
		case "tools/list":
			reply(`{"tools":[{"name":"note","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			c.calls.Add(1)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			spoil(conn, m.ID)
		case "server/discover":
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *counter) server() hub.Server {
	return hub.Server{Key: "faulty", Kind: hub.KindHTTP, URL: c.URL + "/mcp", Enabled: true, AutoStart: true, AutoReconnect: true, Timeout: patience}
}

// However an HTTP server breaks off, it gets a call once, and the caller learns
// that the outcome is not known.
func TestBrokenOffHTTP(t *testing.T) {
	write := func(format string) func(net.Conn, json.RawMessage) {
		return func(conn net.Conn, id json.RawMessage) {
			fmt.Fprintf(conn, strings.ReplaceAll(format, "ID", "%s"), id)
		}
	}
	for _, tt := range []struct {
		name  string
		spoil func(net.Conn, json.RawMessage)
	}{
		{"without a word", func(net.Conn, json.RawMessage) {}},
		{"by a reset", func(conn net.Conn, _ json.RawMessage) {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
		}},
		{"in the status line", func(conn net.Conn, _ json.RawMessage) { _, _ = io.WriteString(conn, "HTTP/1.1 2") }},
		{"in the header", func(conn net.Conn, _ json.RawMessage) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: appl")
		}},
		{"in the body", write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{")},
		{"in a chunk", write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"jsonrpc\":\"2.0\",\"id\":ID,")},
		{"in an event", write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":ID,")},
		{"before the first event", write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-ID: ID\r\n\r\n")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCounter(t, tt.spoil)
			h := start(t, budget(), c.server())
			h.await("faulty", hub.StateReady)
			for n, e := range eras() {
				a, err := h.connect(e).call("faulty__"+deed, `{}`)
				if err != nil {
					t.Errorf("%s: %v", e, err)
					continue
				}
				if code, number := a.codes(); code != "outcome_unknown" || number != codeFor(e, code) {
					t.Errorf("%s: got %s", e, a.raw)
				}
				if got := int(c.calls.Load()); got != n+1 {
					t.Errorf("%s: the server got %d calls, want %d", e, got, n+1)
				}
			}
		})
	}
}

// A call that provably did not leave is made over another connection: a server
// that closes connections between calls costs nobody a call.
func TestIdleConnectionsThatAreClosed(t *testing.T) {
	c := newCounter(t, func(conn net.Conn, id json.RawMessage) {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, id)
		// Not a word of that the connection ends with it.
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	})
	h := start(t, budget(), c.server())
	h.await("faulty", hub.StateReady)
	caller := h.connect(legacy)
	for n := range 20 {
		a, err := caller.call("faulty__"+deed, `{}`)
		if err != nil {
			t.Fatal(err)
		}
		// Whether the end was seen before the next call is a matter of luck; a
		// call is never sent twice for it.
		if code, _ := a.codes(); a.text() != "done" && code != "outcome_unknown" {
			t.Errorf("call %d: %s", n+1, a.raw)
		}
		if got := int(c.calls.Load()); got > n+1 {
			t.Fatalf("the server got %d calls for %d", got, n+1)
		}
	}
}

// A server that is not there any more is said to be so to every caller, at once,
// and the first call after it is back works.
func TestServerGoneAndBack(t *testing.T) {
	address := net.JoinHostPort("127.0.0.1", rig.FreePort(t))
	p, url := spawn(t, address)
	s := hub.Server{Key: "faulty", Kind: hub.KindHTTP, URL: url, Enabled: true, AutoStart: true, AutoReconnect: true, Timeout: patience}
	s.Retry = hub.Retry{Delay: time.Second, MaxDelay: time.Second} // none
	h := start(t, fleet.DefaultBudget(), s)
	h.await("faulty", hub.StateReady)
	callers := []*caller{h.connect(legacy), h.connect(modern)}
	p.Kill()
	for _, c := range callers {
		h.beside(func() {
			a, err := c.call("faulty__"+deed, `{"text":"done"}`)
			if err != nil {
				t.Error(err)
			} else if code, number := a.codes(); code != "server_down" || number != codeFor(c.era, code) || !strings.Contains(a.Error.Data.Reason, "connection refused") {
				t.Errorf("%s: while it is gone: %s", c.era, a.raw)
			}
		})
	}
	if st := h.await("faulty", hub.StateReconnecting); st.Code != "server_unreachable" || !strings.Contains(st.Reason, address) {
		t.Errorf("/readyz says %+v", st)
	}
	spawn(t, address)
	// Calls come at most once a second through to a server that is away.
	rig.Await(t, "a call works again", func() bool {
		a, err := callers[0].call("faulty__"+deed, `{"text":"done"}`)
		if err != nil {
			t.Fatal(err)
		}
		return a.text() == "done"
	})
	if n := stats(t, s).Calls[deed]; n != 1 {
		t.Errorf("it got %d calls", n)
	}
}
