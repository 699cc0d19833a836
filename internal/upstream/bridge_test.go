package upstream_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// program is the fault-injecting server as a process behind a door of the
// test's, for one connection.
type program struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func startProgram(t *testing.T, args []string) *program {
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), rig.FaultServer(t), args...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Error(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
	}
	return &program{in, bufio.NewReader(out), cmd}
}

// lines gives each line of the program's output to on, until it ends.
func (p *program) lines(on func(line []byte)) {
	for {
		line, err := p.out.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			on(line)
		}
		if err != nil {
			return
		}
	}
}

func (p *program) end() {
	_ = p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// overWebSocket is the fault-injecting server behind a WebSocket.
func overWebSocket(t *testing.T, args ...string) hub.Server {
	t.Helper()
	var all sync.WaitGroup
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all.Add(1)
		defer all.Done()
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"mcp"}})
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(-1)
		p := startProgram(t, args)
		defer p.end()
		all.Go(func() {
			p.lines(func(line []byte) { _ = c.Write(context.WithoutCancel(r.Context()), websocket.MessageText, line) })
			_ = c.CloseNow()
		})
		for {
			_, msg, err := c.Read(context.WithoutCancel(r.Context()))
			if err != nil {
				return
			}
			if _, err := p.in.Write(append(msg, '\n')); err != nil {
				return
			}
		}
	}))
	t.Cleanup(func() { srv.Close(); all.Wait() })
	return hub.Server{Key: "s", Kind: hub.KindWebSocket, URL: "ws" + strings.TrimPrefix(srv.URL, "http")}
}

// overSSE is the fault-injecting server behind HTTP with server-sent events.
func overSSE(t *testing.T, args ...string) hub.Server {
	t.Helper()
	var mu sync.Mutex
	sessions := map[string]*program{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			msg, _ := io.ReadAll(r.Body)
			mu.Lock()
			p := sessions[r.URL.RawQuery]
			if p != nil {
				_, _ = p.in.Write(append(msg, '\n'))
			}
			mu.Unlock()
			if p == nil {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.WriteHeader(http.StatusAccepted)
			return
		}
		p := startProgram(t, args)
		session := fmt.Sprint("s=", p.cmd.Process.Pid)
		mu.Lock()
		sessions[session] = p
		mu.Unlock()
		defer func() {
			mu.Lock()
			delete(sessions, session)
			mu.Unlock()
			p.end()
		}()
		defer context.AfterFunc(r.Context(), func() { _ = p.cmd.Process.Kill() })()
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(format string, args ...any) {
			fmt.Fprintf(w, format, args...)
			w.(http.Flusher).Flush()
		}
		send("event: endpoint\ndata: /messages?%s\n\n", session)
		p.lines(func(line []byte) { send("event: message\ndata: %s\n\n", line) })
	}))
	t.Cleanup(srv.Close)
	return hub.Server{Key: "s", Kind: hub.KindSSE, URL: srv.URL + "/sse"}
}
