package e2e

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// TestSecondStart: a hub that has seen its servers once lists their tools at
// once when it starts again, although none of them answers; whether it starts
// them itself or with the first call.
func TestSecondStart(t *testing.T) {
	t.Parallel()
	server, endpoint := rig.StartFaultServer(t, "127.0.0.1:0")
	program := filepath.Join(t.TempDir(), "server")
	if err := os.Symlink(rig.FaultServer(t), program); err != nil {
		t.Fatal(err)
	}
	dataDir := t.TempDir()
	servers := []rig.Server{rig.HTTP("remote", endpoint), rig.Stdio("local", program)}
	first := rig.StartHubIn(t, dataDir, servers...)
	first.AwaitReady()
	before := connect(t, first.MCP(), modernRevision).tools()
	if !slices.Contains(before, "remote__echo") || !slices.Contains(before, "local__echo") {
		t.Fatalf("the first start lists %q", before)
	}
	first.Stop()
	server.Stop()

	// Both are still there, and say nothing: one accepts connections, the other
	// is a program that does something else.
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", mustHost(t, endpoint))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	listsAtOnce(t, rig.StartHubIn(t, dataDir, servers...), before, "idle")
	for i := range servers {
		servers[i] = servers[i].With("autoStart", true)
	}
	listsAtOnce(t, rig.StartHubIn(t, dataDir, servers...), before, "starting")
}

// listsAtOnce ends a hub that lists the tools, with both servers in the state.
func listsAtOnce(t *testing.T, second *rig.Hub, before []string, state string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // less than any handshake may take
	defer cancel()
	for _, revision := range eras() {
		c := connect(t, second.MCP(), revision)
		var list struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		}
		if err := json.Unmarshal(c.response(c.send(ctx, "tools/list", nil, nil)).Result, &list); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if !slices.Equal(names, before) {
			t.Errorf("the second start lists %q to a caller of %s, the first had %q", names, revision, before)
		}
	}
	health := second.Health()
	if health.HTTPStatus != http.StatusOK || health.State("remote") != state || health.State("local") != state {
		t.Errorf("/readyz says HTTP %d %+v, want that it is ready, with both servers %s", health.HTTPStatus, health, state)
	}
	second.Stop()
}

func mustHost(t *testing.T, endpoint string) string {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// faultStats asks a fault server over HTTP what it has counted.
func faultStats(t *testing.T, endpoint string) (stats struct {
	SessionsOpened int            `json:"sessions_opened"`
	Calls          map[string]int `json:"calls"` // that arrived, refused ones as well
},
) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+mustHost(t, endpoint)+"/stats", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil {
		t.Fatal(err)
	}
	return stats
}

// TestForgottenSession: when a server has forgotten the session, the hub opens
// another one, and the call that found out succeeds.
func TestForgottenSession(t *testing.T) {
	t.Parallel()
	_, endpoint := rig.StartFaultServer(t, "127.0.0.1:0", "-fault", "status404session", "-session-calls", "3")
	hub := rig.StartHub(t, rig.HTTP("forgets", endpoint))
	hub.AwaitReady()
	const calls = 8
	for _, revision := range eras() {
		c := connect(t, hub.MCP(), revision)
		for range calls / 2 {
			if got := c.text("forgets__note", map[string]any{"text": "still here"}); got != "still here" {
				t.Errorf("the call answered %q", got)
			}
		}
	}
	// Each session but the last may have refused one call, if the hub had not
	// learned of its end from the session's stream before.
	stats := faultStats(t, endpoint)
	if n := stats.Calls["note"]; stats.SessionsOpened != 3 || n < calls || n > calls+2 {
		t.Errorf("the server got %d calls in %d sessions, want %d, or 2 more, in 3", n, stats.SessionsOpened, calls)
	}
}

// TestRestartedServer: while a remote server is away its callers are told so at
// once if their calls are not to be tried again, others notice nothing, and a
// call brings the connection back.
func TestRestartedServer(t *testing.T) {
	t.Parallel()
	server, endpoint := rig.StartFaultServer(t, "127.0.0.1:0")
	hub := rig.StartHub(t, rig.HTTP("remote", endpoint).With("retries", 0))
	hub.AwaitReady()
	c := connect(t, hub.MCP(), latestLegacy)
	c.text("remote__echo", map[string]any{"text": "before"})

	server.Kill()
	m := c.call("remote__echo", map[string]any{"text": "away"})
	for range 3 { // what goes out on a connection that was kept, before that is known to be broken, may have been sent
		if m.Error.reason() == "outcome_unknown" {
			m = c.call("remote__echo", map[string]any{"text": "away"})
		}
	}
	if m.Error.reason() != "server_down" || !strings.Contains(m.Error.Message, "connection refused") {
		t.Errorf("while the server is away a call is answered with %s", m)
	}
	if got := c.text("calculator__calculator", map[string]any{"expression": "6*7"}); !strings.Contains(got, "42") {
		t.Errorf("meanwhile another server answers %q", got)
	}
	hub.AwaitState("remote", "reconnecting")

	rig.StartFaultServer(t, mustHost(t, endpoint))
	// The first call succeeds, although the last attempt has only just failed.
	if m := c.call("remote__echo", map[string]any{"text": "back"}); m.Error != nil || resultText(t, "echo", m.Result) != "back" {
		t.Errorf("the first call to the server that is back is answered with %s", m)
	}
	hub.AwaitState("remote", "ready")
}

// TestKilledChild: a local server that is killed comes back, /readyz tells why
// it was away, and a call in between waits for it.
func TestKilledChild(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t, rig.Stdio("local", rig.FaultServer(t)))
	hub.AwaitReady()
	c := connect(t, hub.MCP(), latestLegacy)
	children := rig.Tree(t, hub.PID())
	if len(children) != 1 {
		t.Fatalf("the hub has the children %v, want one", children)
	}
	child, err := os.FindProcess(children[0].PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Kill(); err != nil {
		t.Fatal(err)
	}
	hub.AwaitState("local", "crashed")
	for _, s := range hub.Health().Servers {
		if s.Key == "local" && (s.Code != "server_exited" || !strings.Contains(s.Reason, "killed") || s.Remedy == "") {
			t.Errorf("/readyz says of the killed server %+v", s)
		}
	}
	if got := c.text("local__echo", map[string]any{"text": "back"}); got != "back" {
		t.Errorf("the call answered %q", got)
	}
	hub.AwaitState("local", "ready")
	if again := rig.Tree(t, hub.PID()); len(again) != 1 || again[0].PID == children[0].PID {
		t.Errorf("the hub has the children %v, want a new one", again)
	}
}
