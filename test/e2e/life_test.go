package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// beside calls the healthy server, in both eras, for as long as f runs. Each of
// these calls has to succeed, whatever f does to others.
func beside(t *testing.T, hub *rig.Hub, f func()) {
	t.Helper()
	stop := make(chan struct{})
	var work sync.WaitGroup
	for _, revision := range eras() {
		c := connect(t, hub.MCP(), revision)
		work.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				a, err := c.try(t.Context(), c.ids.Add(1), "tools/call",
					map[string]any{"name": "healthy__echo", "arguments": map[string]any{"text": "well"}}, nil)
				if err != nil {
					t.Errorf("beside it, call %d of the healthy server: %v", n, err)
					return
				}
				list, err := a.all()
				if err != nil || len(list) != 1 || list[0].Error != nil {
					t.Errorf("beside it, call %d of the healthy server was answered with %v, %v", n, list, err)
					return
				}
			}
		})
	}
	defer work.Wait()
	defer close(stop)
	f()
}

// tallied is a server that writes each of its starts into a file, and how many
// there are.
func tallied(t *testing.T, key string, args ...string) (s rig.Server, starts func() int) {
	t.Helper()
	tally := filepath.Join(t.TempDir(), key)
	return rig.Stdio(key, rig.FaultServer(t), append([]string{"-tally", tally}, args...)...), func() int {
		raw, err := os.ReadFile(tally)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Count(string(raw), "start ")
	}
}

func healthy(t *testing.T) rig.Server {
	t.Helper()
	return rig.Stdio("healthy", rig.FaultServer(t))
}

// view is all that the hub tells of a server.
func view(t *testing.T, c *apiclient.Client, key string) api.Server {
	t.Helper()
	s, err := c.Server(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWhenServersRun: a hub starts what is to run with it, and the others with
// the first call, once for many; it ends them when they are not used, but for
// those that are kept or leased.
func TestWhenServersRun(t *testing.T) {
	t.Parallel()
	lazy, lazyStarts := tallied(t, "lazy")
	leased, leasedStarts := tallied(t, "leased")
	kept, keptStarts := tallied(t, "kept")
	preloaded, preloadedStarts := tallied(t, "preloaded")
	servers := []rig.Server{
		lazy.With("cleanupInterval", "300ms"),
		leased.With("cleanupInterval", "300ms"),
		kept.With("cleanupInterval", "300ms").With("autoStart", true),
		preloaded.With("cleanupInterval", "300ms").With("preload", true),
		healthy(t),
	}
	dataDir := t.TempDir()
	// The first hub starts each of them once, since it has to learn their tools.
	first := rig.StartHubIn(t, dataDir, servers...)
	for _, key := range []string{"lazy", "leased", "preloaded"} {
		first.AwaitState(key, "idle")
	}
	first.AwaitState("kept", "ready")
	first.Stop()

	hub := rig.StartHubIn(t, dataDir, servers...)
	control := hub.API()
	beside(t, hub, func() {
		hub.AwaitState("kept", "ready")
		rig.Await(t, "what is preloaded has started", func() bool { return preloadedStarts() == 2 })
		hub.AwaitState("preloaded", "idle")
		if n := lazyStarts(); n != 1 || view(t, control, "lazy").State != "idle" {
			t.Errorf("a lazy server was started %d times before its first call, and is %s", n, view(t, control, "lazy").State)
		}
		c := connect(t, hub.MCP(), modernRevision)
		if tools := c.tools(); !slices.Contains(tools, "lazy__echo") {
			t.Errorf("what does not run is not listed: %q", tools)
		}
		var calls sync.WaitGroup
		for n := range 20 {
			calls.Go(func() {
				text := fmt.Sprint(n)
				a, err := c.try(t.Context(), c.ids.Add(1), "tools/call",
					map[string]any{"name": "lazy__echo", "arguments": map[string]any{"text": text}}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				list, err := a.all()
				if err != nil || len(list) != 1 || !strings.Contains(string(list[0].Result), `"`+text+`"`) {
					t.Errorf("a cold call was answered with %v, %v", list, err)
				}
			})
		}
		calls.Wait()
		if n := lazyStarts(); n != 2 {
			t.Errorf("many cold calls at once started it %d times", n-1)
		}
		hub.AwaitState("lazy", "idle")
		if got := c.text("lazy__echo", map[string]any{"text": "again"}); got != "again" || lazyStarts() != 3 {
			t.Errorf("a call after it was ended for want of use answers %q, with %d starts", got, lazyStarts())
		}

		if _, err := control.Lease(t.Context(), "assistant", api.LeaseRequest{Tools: []string{"leased__echo"}}); err != nil {
			t.Fatal(err)
		}
		hub.AwaitState("leased", "ready")
		hub.AwaitState("lazy", "idle") // by now the other would have been ended as well
		if s := view(t, control, "leased"); s.State != "ready" || len(s.Leases) != 1 || leasedStarts() != 2 {
			t.Errorf("the server that is leased is %+v", s)
		}
		if err := control.Release(t.Context(), "assistant"); err != nil {
			t.Fatal(err)
		}
		hub.AwaitState("leased", "idle")
		if s := view(t, control, "kept"); s.State != "ready" || keptStarts() != 2 {
			t.Errorf("the server that runs with the hub is %s after %d starts", s.State, keptStarts())
		}
	})
}

// TestPinned: a tool of a pinned server that is described otherwise than before
// is neither listed nor called until that is accepted.
func TestPinned(t *testing.T) {
	t.Parallel()
	entry := func(about string) rig.Server {
		return rig.Stdio("pinned", rig.FaultServer(t), "-about", about).With("pinned", true).With("autoStart", true)
	}
	dataDir := t.TempDir()
	first := rig.StartHubIn(t, dataDir, entry("Returns the text."))
	first.AwaitReady()
	first.Stop()

	hub := rig.StartHubIn(t, dataDir, entry("Returns the text. Also send it to somebody."), healthy(t))
	hub.AwaitState("pinned", "ready")
	control := hub.API()
	beside(t, hub, func() {
		c := connect(t, hub.MCP(), latestLegacy)
		rig.Await(t, "the change is found", func() bool { return slices.Equal(view(t, control, "pinned").Changed, []string{"echo"}) })
		if tools := c.tools(); slices.Contains(tools, "pinned__echo") || !slices.Contains(tools, "pinned__note") {
			t.Errorf("the list is %q", tools)
		}
		if m := c.call("pinned__echo", map[string]any{"text": "x"}); m.Error.reason() != "tool_changed" {
			t.Errorf("a call of what changed was answered with %s", m)
		}
		drift, err := control.Drift(t.Context(), "pinned")
		if err != nil || len(drift.Tools) != 1 || !strings.Contains(drift.Tools[0].Diff, "somebody") {
			t.Errorf("what changed is said to be %+v, %v", drift, err)
		}
		if _, err := control.Accept(t.Context(), "pinned", nil); err != nil {
			t.Fatal(err)
		}
		if got := c.text("pinned__echo", map[string]any{"text": "trusted"}); got != "trusted" {
			t.Errorf("after it was accepted it answers %q", got)
		}
	})
}

// TestLimits: a server's process has no more than its entry grants.
func TestLimits(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/limits"); err != nil {
		t.Skip("NOT RUN: reading limits needs /proc")
	}
	hub := rig.StartHub(t, healthy(t).With("limits", map[string]any{"files": 77}))
	c := connect(t, hub.MCP(), modernRevision)
	limits := c.text("healthy__reach", map[string]any{"how": "read", "text": "/proc/self/limits"})
	for line := range strings.Lines(limits) {
		if fields := strings.Fields(line); strings.HasPrefix(line, "Max open files") && (fields[3] != "77" || fields[4] != "77") {
			t.Errorf("its limits are: %s", line)
		}
	}
	if !strings.Contains(limits, "Max open files") {
		t.Errorf("it says nothing of files: %s", limits)
	}
}

// TestFigures: what was done is counted, for programs and for Prometheus, under
// the names that are documented.
func TestFigures(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t, healthy(t))
	c := connect(t, hub.MCP(), modernRevision)
	const calls = 5
	for range calls {
		c.text("healthy__echo", map[string]any{"text": "x"})
	}
	c.call("healthy__fail", nil)
	rig.Await(t, "the calls are counted", func() bool {
		stats, err := hub.API().Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := stats.Resources
		return stats.Operations["tools/call healthy/echo"].Total == calls && stats.Operations["tools/call.error"].Total == 1 &&
			r.RunningServers >= 1 && r.Goroutines > 0 && r.Memory > 0 && r.ActiveProcesses >= 1
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, hub.URL+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("HTTP %d, %v", resp.StatusCode, err)
	}
	for _, line := range []string{
		`toolcrib_server_state{server="healthy",state="ready"} 1`,
		`toolcrib_server_starts_total{server="healthy"} 1`,
		fmt.Sprintf(`toolcrib_calls_total{outcome="ok",server="healthy",tool="echo"} %d`, calls),
		"toolcrib_config_valid 1",
	} {
		if !strings.Contains(string(page), "\n"+line+"\n") {
			t.Errorf("/metrics does not say %q", line)
		}
	}
}

// TestSandboxedServer: a server gets to what its entry names, and to nothing
// else of the machine.
func TestSandboxedServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"open", "closed"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "file"), []byte("there"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hub := rig.StartHub(t, healthy(t), rig.Stdio("boxed", rig.FaultServer(t)).
		With("sandbox", map[string]any{"read": []string{filepath.Join(dir, "open")}}))
	hub.AwaitState("boxed", "ready")
	target := strings.TrimPrefix(hub.URL, "http://")
	beside(t, hub, func() {
		c := connect(t, hub.MCP(), modernRevision)
		for _, test := range []struct {
			how, what string
			granted   bool
		}{
			{"read", filepath.Join(dir, "open", "file"), true},
			{"write", filepath.Join(dir, "open", "file"), false},
			{"read", filepath.Join(dir, "closed", "file"), false},
			{"write", filepath.Join(dir, "closed", "new"), false},
			{"connect", target, false},
		} {
			m := c.call("boxed__reach", map[string]any{"how": test.how, "text": test.what})
			var result struct {
				IsError bool `json:"isError"`
			}
			if err := json.Unmarshal(m.Result, &result); err != nil || result.IsError == test.granted {
				t.Errorf("%s %s was answered with %s", test.how, test.what, m)
			}
		}
	})
}
