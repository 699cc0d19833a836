package upstream_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// short is for handshakes that nobody answers.
const short = 300 * time.Millisecond

// answering is an HTTP server that answers everything in the same way.
func answering(t *testing.T, status int, contentType, body string) hub.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	return at(srv.URL)
}

// nobody is an address where nobody listens.
func nobody(t *testing.T) hub.Server {
	t.Helper()
	return at("http://" + net.JoinHostPort("127.0.0.1", rig.DeadPort(t)) + "/mcp?key=secret")
}

// script is a program for the system's shell.
func script(t *testing.T, text string) hub.Server {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("NOT RUN: it needs a POSIX shell")
	}
	return hub.Server{Key: "s", Kind: hub.KindStdio, Command: "/bin/sh", Args: []string{"-c", text}}
}

// noNode is a PATH on which there is npx, and no node to run it.
func noNode(t *testing.T) hub.Server {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("NOT RUN: it needs interpreter lines")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "npx"), []byte("#!/usr/bin/env node\n"), 0o700); err != nil { //nolint:gosec // it has to be run
		t.Fatal(err)
	}
	return hub.Server{Key: "s", Kind: hub.KindStdio, Command: "npx", Args: []string{"some-server"}, Env: map[string]string{"PATH": dir}}
}

func command(name string) hub.Server {
	return hub.Server{Key: "s", Kind: hub.KindStdio, Command: name, Env: map[string]string{"PATH": "/nowhere"}}
}

// A connection that does not come about leaves nothing, and says why.
func TestDialFaults(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server hub.Server
		code   message.Code
		says   string // part of the text
	}{
		{"no such command", command("no-such-command"), message.CommandNotFound, "/nowhere"},
		{"no npx", command("npx"), message.NodeMissing, "/nowhere"},
		{"npx without node", noNode(t), message.NodeMissing, "npx"},
		{"no uvx", command("uvx"), message.UvMissing, "/nowhere"},
		{"no directory", hub.Server{Key: "s", Kind: hub.KindStdio, Command: "/bin/sh", Dir: "/nowhere"}, message.CommandUnusable, "/nowhere"},
		{"no program", hub.Server{Key: "s", Kind: hub.KindStdio, Command: "/etc/passwd"}, message.CommandUnusable, "not executable"},
		{"exits", stdio(t, "-fault", "crashstart"), message.ServerExited, "exit status 1). Its last words: faultserver: cannot find the database"},
		{"closes its input and exits", script(t, "exec <&-; echo why >&2; exit 7"), message.ServerExited, "exit status 7). Its last words: why"},
		{"exits after other output", script(t, "echo hello; exit 0"), message.ServerExited, "exit status 0"},
		{"is silent", stdio(t, "-fault", "neverinit"), message.ServerSilent, short.String()},
		{"is silent and complains", script(t, "echo no licence >&2; read a; read b"), message.ServerSilent, "no licence"},
		{"writes no JSON", stdio(t, "-fault", "garbage"), message.ServerNotMCP, "1 lines"},
		{"is of another time", stdio(t, "-fault", "badproto"), message.ServerProtocol, "1999-01-01"},

		{"nobody there", nobody(t), message.ServerUnreachable, "connection refused"},
		{"HTTP, is silent", remote(t, "-fault", "hang", "-on", "*"), message.ServerSilent, short.String()},
		{"HTTP, never answers initialize", remote(t, "-fault", "neverinit"), message.ServerSilent, short.String()},
		{"HTTP, accepts and says nothing", remote(t, "-fault", "noreply", "-on", "*"), message.ServerNotMCP, "did not answer"},
		{"HTTP, answers no JSON", remote(t, "-fault", "garbage"), message.ServerNotMCP, "initialize"},
		{"HTTP, is of another time", remote(t, "-fault", "badproto"), message.ServerProtocol, "1999-01-01"},
		{"HTTP, wants a key", answering(t, 401, "text/plain", "no"), message.ServerUnauthorized, "401"},
		{"HTTP, refuses the key", answering(t, 403, "text/plain", "no"), message.ServerUnauthorized, "403"},
		{"HTTP, another path", answering(t, 404, "text/plain", "no"), message.ServerHTTPStatus, "404"},
		{"HTTP, is broken", answering(t, 500, "text/plain", "no"), message.ServerHTTPStatus, "500"},
		{"HTTP, is a web page", answering(t, 200, "text/html; charset=utf-8", "<!doctype html>"), message.ServerNotMCP, "text/html"},
		{"HTTP, is another API", answering(t, 200, "application/json", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":7}}`), message.ServerNotMCP, "initialize"},
		{"HTTP, goes elsewhere", remote(t, "-fault", "redirect", "-on", "*"), message.ServerHTTPStatus, "307"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opt := options(tt.server)
			if tt.code == message.ServerSilent || tt.code == message.ServerNotMCP {
				opt.Handshake = short
			}
			c, err := upstream.Dial(t.Context(), opt)
			if err == nil {
				c.Close(t.Context())
				t.Fatal("it came about")
			}
			if !hub.IsCode(err, tt.code) {
				t.Errorf("got %s: %v, want %s", hub.AsError(err).Code, err, tt.code)
			}
			if text := hub.AsError(err).Text(message.English).String(); !strings.Contains(text, tt.says) || strings.Contains(text, "secret") {
				t.Errorf("it says %q, want %q in it", text, tt.says)
			}
		})
	}
	for _, p := range rig.Tree(t, os.Getpid()) {
		if p.Name != "faultserver" { // those over HTTP end with the test
			t.Errorf("process %d (%s) is left", p.PID, p.Name)
		}
	}
}

// Giving up while a server is starting leaves nothing of it.
func TestDialCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := stdio(t, "-fault", "neverinit,nostop")
	s.Key = "given up"
	done := make(chan error, 1)
	go func() {
		_, err := upstream.Dial(ctx, options(s))
		done <- err
	}()
	rig.Await(t, "the server has started", func() bool { return len(rig.Tree(t, os.Getpid())) > 0 })
	cancel()
	if err := <-done; !hub.IsCode(err, message.Cancelled) {
		t.Errorf("got %v", err)
	}
	if left := rig.Tree(t, os.Getpid()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// The connection of a process that dies ends with it, and says how it died.
func TestProcessDies(t *testing.T) {
	c := dial(t, options(stdio(t)))
	_, err := c.Do(t.Context(), request(t, "crash", "{}", ""), &caller{})
	if !hub.IsCode(err, message.OutcomeUnknown) || errors.Is(err, transport.ErrNotSent) {
		t.Errorf("the call under way: %v", err)
	}
	<-c.Done()
	e := c.Explain(c.Err())
	if e.Code != message.ServerExited || e.Args["exit"] != "exit status 3" {
		t.Errorf("it ended with %s: %v", e.Code, e)
	}
}

// A server that has closed its input cannot be called any more: its connection
// ends though its process lives.
func TestDeaf(t *testing.T) {
	c := dial(t, options(script(t, `read a
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"deaf","version":"1"}}}'
read b
exec <&-
echo '{"jsonrpc":"2.0","method":"notifications/deaf"}'
exec sleep 1000`)))
	rig.Await(t, "a write fails", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := c.Do(ctx, request(t, "x", "{}", ""), &caller{})
		return errors.Is(err, transport.ErrNotSent) || c.Err() != nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if _, err := c.Do(ctx, request(t, "x", "{}", ""), &caller{}); !hub.IsCode(err, message.ServerDown) || !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("got %v", err)
	}
	<-c.Done()
}

// A POST that is answered with a redirect may have been carried out, unless the
// redirect says that it is to be sent again as it is.
func TestRedirectedOnce(t *testing.T) {
	for _, tt := range []struct {
		status int
		posts  int
	}{{301, 1}, {302, 1}, {303, 1}, {307, 4}, {308, 4}} {
		posts := 0
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			posts++
			http.Redirect(w, r, r.URL.Path, tt.status)
		}))
		client, err := transport.NewHTTP(transport.HTTPOptions{URL: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Post(t.Context(), &transport.Outbound{Body: []byte("{}")}, func([]byte) bool { return false })
		if bad, ok := errors.AsType[*transport.StatusError](err); !ok || bad.Status != tt.status {
			t.Errorf("%d: %v", tt.status, err)
		}
		client.Close()
		srv.Close()
		if posts != tt.posts {
			t.Errorf("%d: sent %d times, want %d", tt.status, posts, tt.posts)
		}
	}
}
