//go:build unix

package e2e

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// underWay makes a call of the tool sleep that is at the server when it returns;
// its answer comes later.
func underWay(t *testing.T, c *caller, server string, ms int) <-chan outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), callLimit)
	answered := make(chan outcome, 1)
	go func() {
		defer cancel()
		a, err := c.try(ctx, "last", "tools/call", map[string]any{"name": server + "__sleep", "arguments": map[string]any{"ms": ms}}, nil)
		if err != nil {
			answered <- outcome{err: err}
			return
		}
		list, err := a.all()
		if len(list) != 1 {
			answered <- outcome{err: err}
			return
		}
		answered <- outcome{list[0], err}
	}()
	rig.Await(t, "the call has reached the server", func() bool {
		var count map[string]int
		c.structured(server+"__calls_count", nil, &count)
		return count["sleep"] == 1
	})
	return answered
}

// outcome is an answer, or why there is none.
type outcome struct {
	message
	err error
}

// TestDrain: a hub that is told to stop refuses new calls, in words, and lets
// the one that is under way end.
func TestDrain(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t, healthy(t))
	hub.AwaitReady()
	c := connect(t, hub.MCP(), modernRevision)
	answered := underWay(t, c, "healthy", 3000)
	hub.Terminate()
	rig.Await(t, "a new call is refused, since the hub stops", func() bool {
		m := c.call("healthy__echo", map[string]any{"text": "late"})
		if m.Error != nil && m.Error.reason() != "shutting_down" {
			t.Fatalf("a new call is refused with %s", m)
		}
		return m.Error != nil
	})
	if got := <-answered; got.err != nil || got.Result == nil {
		t.Errorf("the call under way was answered with %s, %v", got.message, got.err)
	}
	if code := hub.Wait(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// TestSecondSignal: told twice, a hub ends at once, whoever calls, and leaves no
// process behind, also none that ignores what it is told.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t, rig.Stdio("stubborn", rig.FaultServer(t), "-fault", "nostop"))
	hub.AwaitReady()
	c := connect(t, hub.MCP(), modernRevision)
	var grandchild struct {
		PID int `json:"pid"`
	}
	c.structured("stubborn__fork", nil, &grandchild)
	tree := rig.Tree(t, hub.PID())
	if len(tree) != 2 {
		t.Fatalf("below the hub are %v, want a server and its child", tree)
	}
	answered := underWay(t, c, "stubborn", 600_000)
	hub.Terminate()
	rig.Await(t, "the hub stops", func() bool {
		m := c.call("stubborn__echo", map[string]any{"text": "late"})
		return m.Error != nil
	})
	hub.Terminate()
	hub.Wait() // which fails the test if it takes too long
	<-answered
	for _, p := range tree {
		rig.Await(t, p.Name+" has ended", func() bool { return !p.Alive() })
	}
}

// TestReloadBySignal: SIGHUP puts the file in force as it is then. A file that
// is wrong changes nothing, and /readyz tells the line, until it is right again.
func TestReloadBySignal(t *testing.T) {
	t.Parallel()
	config := rig.WriteConfig(t, healthy(t))
	hub := rig.Serve(t, nil, "--config", config, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	hub.AwaitReady()
	good, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(hub.PID(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	more, err := os.ReadFile(rig.WriteConfig(t, healthy(t), rig.Stdio("more", rig.FaultServer(t))))
	if err != nil {
		t.Fatal(err)
	}
	before := view(t, hub.API(), "healthy")
	beside(t, hub, func() {
		write(string(more))
		rig.Await(t, "the new server is there", func() bool { return hub.Health().State("more") != "" })

		write(strings.Replace(string(good), `"command"`, `"command": 1, "nothing"`, 1))
		rig.Await(t, "/readyz tells what is wrong with the file", func() bool {
			reasons := strings.Join(hub.Health().Config.Reasons, "\n")
			return strings.Contains(reasons, config+":2:")
		})
		if state := hub.Health().State("more"); state == "" || state == "stopping" {
			t.Errorf("with a file that is wrong, a server of the one before is %q", state)
		}

		write(string(good))
		rig.Await(t, "the file is in force again", func() bool {
			h := hub.Health()
			return len(h.Config.Reasons) == 0 && h.State("more") == ""
		})
	})
	if after := view(t, hub.API(), "healthy"); after.PID != before.PID || after.Starts != before.Starts {
		t.Errorf("the server that stayed the same was process %d and is %d", before.PID, after.PID)
	}
}

// disk mounts a file system of its own of so many KiB.
func disk(t *testing.T, kib string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size="+kib+"k,mode=700", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("NOT RUN: it needs to mount a file system: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v: %s", dir, err, out)
		}
	})
	return dir
}

// TestFullDisk: a hub whose disk is full goes on with all it does, but for what
// it would have kept there, and what must not be done without being recorded.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dataDir := disk(t, "768")
	late := rig.Stdio("late", rig.FaultServer(t))
	config := rig.WriteConfig(t, healthy(t), late.With("enabled", false))
	hub := rig.Serve(t, nil, "--config", config, "--listen", "127.0.0.1:0", "--data-dir", dataDir)
	hub.AwaitState("healthy", "ready")
	filler, err := os.Create(filepath.Join(dataDir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	block := make([]byte, 4096)
	for err == nil {
		_, err = filler.Write(block)
	}
	beside(t, hub, func() {
		c := connect(t, hub.MCP(), latestLegacy)
		for range 50 {
			c.text("healthy__echo", map[string]any{"text": "well"})
		}
		refused := c.call("healthy__set_tools", map[string]any{"n": 400})
		if refused.Error == nil || refused.Error.reason() != "audit_unwritable" {
			t.Errorf("what may change something is answered with %s", refused)
		}
		if _, err := hub.API().ServerAction(t.Context(), "late", api.ActionEnable); !apiclient.IsCode(err, "audit_unwritable") {
			t.Errorf("what an administrator changes is answered with %v", err)
		}
		// The configuration is elsewhere, so that it can be changed by hand.
		text, err := os.ReadFile(rig.WriteConfig(t, healthy(t), late.With("enabled", true)))
		if err == nil {
			err = os.WriteFile(config, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		hub.AwaitState("late", "ready")
		if got := c.text("late__echo", map[string]any{"text": "well"}); got != "well" {
			t.Errorf("a server that is started on a full disk answers %q", got)
		}
	})
	if h := hub.Health(); h.HTTPStatus != http.StatusOK {
		t.Errorf("/readyz says %+v", h)
	}
	// The record of the last calls is lost, and that is not passed over.
	if code := hub.Stop(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// TestReadOnlyConfig: a configuration that cannot be written to is used, and who
// wants to change it is told why that cannot be.
func TestReadOnlyConfig(t *testing.T) {
	t.Parallel()
	dir := disk(t, "64")
	raw, err := os.ReadFile(rig.WriteConfig(t, healthy(t)))
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "toolcrib.json")
	if err := os.WriteFile(config, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "remount,ro", dir).CombinedOutput(); err != nil {
		t.Skipf("NOT RUN: it needs a file system that cannot be written to: %v: %s", err, out)
	}
	hub := rig.Serve(t, nil, "--config", config, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	hub.AwaitReady()
	beside(t, hub, func() {
		_, err := hub.API().AddServer(t.Context(), api.ServerAdd{Key: "more", Entry: []byte(`{"command":"true"}`)})
		if !apiclient.IsCode(err, "config_unwritable") {
			t.Errorf("a server that is added is answered with %v", err)
		}
	})
	if h := hub.Health(); h.HTTPStatus != http.StatusOK || len(h.Config.Reasons) != 0 {
		t.Errorf("/readyz says %+v", h)
	}
}
