package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// TestServeRefused: what keeps a hub from starting is said in words, with what
// to do, and with an exit code.
func TestServeRefused(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	running := rig.StartHub(t)
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte("{\n  // a comment\n  \"mcpServers\": {\n    \"x\": {\"command\": 1,},\n    \"y\": {}\n  }\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(dir, "half.json")
	if err := os.WriteFile(half, []byte("{\n  \"mcpServers\": {\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	for _, test := range []struct {
		name string
		args []string
		env  []string
		code int
		want []string // in standard error
	}{
		{
			"port taken",
			[]string{"--listen", taken.Addr().String()},
			nil, 1,
			[]string{taken.Addr().String() + " is already in use", "--listen"},
		},
		{
			"port taken, in Chinese",
			[]string{"--listen", taken.Addr().String()},
			[]string{"LC_ALL=zh_CN.UTF-8"},
			1,
			[]string{"已被占用", "--listen"},
		},
		{
			"data directory taken",
			[]string{"--data-dir", running.DataDir},
			nil, 1,
			[]string{running.DataDir, fmt.Sprintf("process %d", running.PID()), "--data-dir"},
		},
		{"data directory that is a file", []string{"--data-dir", file}, nil, 1, []string{file, "--data-dir"}},
		{"all interfaces", []string{"--listen", "0.0.0.0:0"}, nil, 1, []string{"0.0.0.0:0 is refused", "127.0.0.1"}},
		{"no interface named", []string{"--listen", ":0"}, nil, 1, []string{":0 is refused"}},
		{"no address", []string{"--listen", "127.0.0.1"}, nil, 1, []string{"127.0.0.1:8080"}},
		{"broken entries", []string{"--config", broken}, nil, 1, []string{broken + ":4:22", broken + ":5:5", "toolcrib: "}},
		{"broken file", []string{"--config", half}, nil, 1, []string{half + ":"}},
		{"no file", []string{"--config", filepath.Join(dir, "none.json")}, nil, 1, []string{"none.json", "there is no such file", "--config"}},
		{"unknown flag", []string{"--no-such-flag"}, nil, 2, []string{"--no-such-flag", "--help"}},
		{"unknown level", []string{"--log-level", "loud"}, nil, 2, []string{"--log-level"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			args := append([]string{"serve"}, test.args...)
			if !strings.Contains(strings.Join(args, " "), "--listen") {
				args = append(args, "--listen", "127.0.0.1:0")
			}
			if !strings.Contains(strings.Join(args, " "), "--data-dir") {
				args = append(args, "--data-dir", filepath.Join(t.TempDir(), "data"))
			}
			p := rig.Spawn(t, append([]string{"LC_ALL=C"}, test.env...), rig.HubBinary(t), args...)
			if line, ok := p.Line(); ok {
				t.Errorf("standard output has %q", line)
			}
			if code := p.Wait(); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for _, part := range test.want {
				if !strings.Contains(p.Stderr(), part) {
					t.Errorf("standard error does not say %q but:\n%s", part, p.Stderr())
				}
			}
			if n := strings.Count(p.Stderr(), "\n"); n > 8 {
				t.Errorf("standard error has %d lines, more than a person reads:\n%s", n, p.Stderr())
			}
		})
	}
	if running.Health().Status != "ready" {
		t.Error("the hub that runs has been disturbed")
	}
}

// TestTerminated: SIGTERM ends the hub and every process below it, also those
// that want to stay; a call under way is answered first.
func TestTerminated(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t,
		npmServer(t, "everything"),
		npmServer(t, "memory").With("env", map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}),
		rig.Stdio("parent", rig.FaultServer(t)),
		rig.Stdio("stubborn", rig.FaultServer(t), "-fault", "nostop"))
	hub.AwaitReady()
	c := connect(t, hub.MCP(), modernRevision)
	var grandchild struct {
		PID int `json:"pid"`
	}
	c.structured("parent__fork", nil, &grandchild)
	tree := rig.Tree(t, hub.PID())
	if len(tree) != 5 {
		t.Fatalf("below the hub are %v, want 4 servers and the child of one", tree)
	}

	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	type outcome struct {
		list []message
		err  error
	}
	answered := make(chan outcome, 1)
	go func() {
		a, err := c.try(ctx, "last", "tools/call", map[string]any{"name": "parent__sleep", "arguments": map[string]any{"ms": 1000}}, nil)
		if err != nil {
			answered <- outcome{err: err}
			return
		}
		list, err := a.all()
		answered <- outcome{list, err}
	}()
	rig.Await(t, "the last call has reached the server", func() bool {
		var count map[string]int
		c.structured("parent__calls_count", nil, &count)
		return count["sleep"] == 1
	})
	hub.Terminate()
	if got := <-answered; got.err != nil || len(got.list) != 1 || got.list[0].Result == nil {
		t.Errorf("the call under way was answered with %s, %v", got.list, got.err)
	}
	if code := hub.Wait(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	for _, p := range tree {
		if p.Alive() {
			t.Errorf("%s (process %d) has outlived the hub", p.Name, p.PID)
		}
	}
	// The data directory and the port are free again.
	rig.StartHubIn(t, hub.DataDir).AwaitReady()
}

// TestReady: /readyz says for each server that does not come up why, and what
// to do, and the others are none the worse.
func TestReady(t *testing.T) {
	t.Parallel()
	refused := "http://127.0.0.1:" + rig.DeadPort(t) + "/mcp"
	hub := rig.StartHub(t,
		rig.Stdio("nowhere", "no-such-command-anywhere"),
		rig.Stdio("crashes", rig.FaultServer(t), "-fault", "crashstart"),
		rig.Stdio("old", rig.FaultServer(t), "-fault", "badproto"),
		rig.Stdio("once", rig.FaultServer(t), "-fault", "crashstart").With("autoRestart", false),
		rig.HTTP("gone", refused),
		rig.HTTP("tried", refused).With("maxReconnectAttempts", 1),
		rig.Stdio("off", "anything").With("enabled", false),
		rig.Stdio("well", rig.FaultServer(t)))
	want := map[string]struct{ state, code, reason string }{
		"nowhere":    {"failed", "command_not_found", "no-such-command-anywhere"},
		"crashes":    {"crashed", "server_exited", "cannot find the database"},
		"once":       {"crashed", "server_not_restarted", "cannot find the database"},
		"old":        {"failed", "server_protocol", "1999-01-01"},
		"gone":       {"reconnecting", "server_unreachable", "connection refused"},
		"tried":      {"failed", "server_reconnect_limit", "connection refused"},
		"off":        {"disabled", "server_disabled", "off"},
		"well":       {"ready", "", ""},
		"calculator": {"ready", "", ""},
		"datetime":   {"ready", "", ""},
		"device":     {"ready", "", ""},
	}
	var health rig.Health
	rig.Await(t, "each server is as it is to be", func() bool {
		health = hub.Health()
		for key, w := range want {
			if health.State(key) != w.state { // such as between two crashes
				return false
			}
		}
		return true
	})
	if health.HTTPStatus != 200 || health.Status != "ready" {
		t.Errorf("/readyz says HTTP %d %s; servers that are down do not make the hub unready", health.HTTPStatus, health.Status)
	}
	for _, s := range health.Servers {
		w, ok := want[s.Key]
		if !ok || s.Code != w.code || !strings.Contains(s.Reason, w.reason) || (s.Remedy == "") != (w.code == "") {
			t.Errorf("/readyz says %+v, want %+v", s, w)
		}
	}
	if len(health.Servers) != len(want) {
		t.Errorf("/readyz tells of %d servers, want %d", len(health.Servers), len(want))
	}
	for _, revision := range eras() {
		c := connect(t, hub.MCP(), revision)
		if got := c.text("well__echo", map[string]any{"text": "fine"}); got != "fine" {
			t.Errorf("the server that is well answers %q", got)
		}
		list, err := json.Marshal(c.tools())
		if err != nil || strings.Contains(string(list), "off__") {
			t.Errorf("the list is %s, %v", list, err)
		}
	}
}
