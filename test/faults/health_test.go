package faults

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

func posix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("NOT RUN: it needs a POSIX shell")
	}
}

// command is a process that the hub is to start, whatever it may be.
func command(name string, args ...string) hub.Server {
	return hub.Server{Key: "faulty", Kind: hub.KindStdio, Command: name, Args: args, Enabled: true, AutoStart: true, AutoRestart: true, Timeout: patience}
}

// /readyz says of each server what is wrong with it and what to do about it, in
// the language of who asks.
func TestHealthSaysWhatToDo(t *testing.T) {
	posix(t)
	// What the test machine has installed must not matter.
	program := faultServer(t)
	t.Setenv("PATH", "")
	npx := t.TempDir()
	if err := os.WriteFile(filepath.Join(npx, "npx"), []byte("#!/usr/bin/env node\n"), 0o700); err != nil { //nolint:gosec // it has to be run
		t.Fatal(err)
	}
	npxWithoutNode := command("npx", "-y", "some-server")
	npxWithoutNode.Env = map[string]string{"PATH": npx}
	noDir := command(program)
	noDir.Dir = "/nowhere"
	nobody := hub.Server{
		Key: "faulty", Kind: hub.KindHTTP, Enabled: true, AutoStart: true, AutoReconnect: true, Timeout: patience,
		URL: "http://" + net.JoinHostPort("127.0.0.1", rig.DeadPort(t)) + "/mcp?key=secret",
	}
	off := command(program)
	off.Enabled = false

	for _, tt := range []struct {
		name   string
		server hub.Server
		state  hub.State
		code   string
		reason string
		remedy string
	}{
		{"no such command", command("no-such-command"), hub.StateFailed, "command_not_found", `"no-such-command" was not found`, "full path"},
		{"no npx", command("npx", "-y", "some-server"), hub.StateFailed, "node_missing", "needs Node.js", "Install Node.js"},
		{"npx without node", npxWithoutNode, hub.StateFailed, "node_missing", "needs Node.js", "Install Node.js"},
		{"no uvx", command("uvx", "some-server"), hub.StateFailed, "uv_missing", "belongs to uv", "Install uv"},
		{"no program", command("/etc/passwd"), hub.StateFailed, "command_unusable", "cannot be run", "permissions"},
		{"no directory", noDir, hub.StateFailed, "command_unusable", "/nowhere", "cwd"},
		{"crash at the start", command(program, "-fault", "crashstart"), hub.StateFailed, "server_crash_loop", "cannot find the database", "toolcrib server restart faulty"},
		{"junk", command("/bin/sh", "-c", "echo Starting; echo Ready; read a; read b"), hub.StateCrashed, "server_not_mcp", "2 lines that are no messages", "Check the command"},
		{"not a word", command("/bin/sh", "-c", "read a; read b"), hub.StateCrashed, "server_silent", `"initialize" within 1s`, "by hand"},
		{"another protocol", command(program, "-fault", "badproto"), hub.StateFailed, "server_protocol", "1999-01-01", "2025-11-25"},
		{"nobody there", nobody, hub.StateReconnecting, "server_unreachable", "connection refused", "address is right"},
		{"disabled", off, hub.StateDisabled, "server_disabled", "disabled", `"enabled"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := budget()
			b.Handshake = time.Second
			if tt.state == hub.StateReconnecting || tt.state == hub.StateCrashed { // and stays so
				b.Pause, b.Backoff = time.Minute, time.Minute
			}
			h := start(t, b, tt.server)
			h.awaitCode("faulty", tt.code)
			s := h.await("faulty", tt.state)
			if !strings.Contains(s.Reason, tt.reason) || !strings.Contains(s.Remedy, tt.remedy) {
				t.Errorf("it says %q, %q; want %q and %q in it", s.Reason, s.Remedy, tt.reason, tt.remedy)
			}
			if strings.Contains(s.Reason+s.Remedy, "secret") {
				t.Errorf("it tells a secret: %q", s.Reason)
			}
			zh := h.statusIn("faulty", "zh-CN")
			for _, text := range []string{zh.Reason, zh.Remedy} {
				if !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
					t.Errorf("in Chinese it says %q", text)
				}
			}
		})
	}
}

// A server that writes more than messages works, and the rest is counted.
func TestHealthCountsJunk(t *testing.T) {
	h := start(t, budget(), stdio(t, "faulty", "-fault", "banner"))
	if s := h.await("faulty", hub.StateReady); s.Junk == 0 || s.Code != "" || s.Tools == 0 {
		t.Errorf("/readyz says %+v", s)
	}
}

// The hub is ready as soon as it is known of every server what it offers, or why
// it does not: a server that is away does not make the hub unready.
func TestHealthOfTheHub(t *testing.T) {
	b := budget()
	b.Handshake = time.Second
	h := start(t, b, stdio(t, "faulty", "-fault", "neverinit"))
	statusOf := func() int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL()+"/readyz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := h.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var body any
		_ = json.NewDecoder(res.Body).Decode(&body)
		return res.StatusCode
	}
	rig.Await(t, "the hub is ready", func() bool { return statusOf() == http.StatusOK })
	if s := h.status("faulty"); s.Code != "server_silent" {
		t.Errorf("it became ready while the server was %s, %q", s.State, s.Code)
	}
}

// A server whose tools are known from before stays listed while it is down, and
// who calls it is told why it is.
func TestKnownFromBefore(t *testing.T) {
	posix(t)
	for _, tt := range []struct{ name, mode, code, reason string }{
		{"crash at the start", "-fault crashstart", "server_crash_loop", "cannot find the database"},
		{"silent", "-fault neverinit", "server_silent", "did not answer"},
		{"another protocol", "-fault badproto", "server_protocol", "1999-01-01"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			mode := filepath.Join(dir, "mode")
			s := command("/bin/sh", "-c", `exec "$0" $(cat "$1")`, faultServer(t), mode)
			s.Timeout = 2 * impatience
			write := func(text string) {
				if err := os.WriteFile(mode, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			data := filepath.Join(dir, "data")
			write("")
			t.Run("before", func(t *testing.T) {
				startIn(t, data, budget(), s).await("faulty", hub.StateReady)
			})
			write(tt.mode)
			b := budget()
			b.Handshake = impatience
			h := startIn(t, data, b, s)
			h.awaitCode("faulty", tt.code)
			for _, e := range eras() {
				c := h.connect(e)
				if a, err := c.request("tools/list", "", ""); err != nil || !strings.Contains(string(a.Result), `"faulty__echo"`) {
					t.Errorf("%s: the list is %s, %v", e, a.raw, err)
				}
				a, err := c.call("faulty__echo", `{"text":"x"}`)
				if err != nil {
					t.Errorf("%s: %v", e, err)
				} else if code, number := a.codes(); code != "server_down" || number != codeFor(e, code) || !strings.Contains(a.Error.Data.Reason, tt.reason) {
					t.Errorf("%s: got %s", e, a.raw)
				}
			}
		})
	}
}
