package e2e

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// attached is a client that has started "toolcrib stdio".
type attached interface {
	// call calls a tool and returns the text of its result.
	call(t *testing.T, tool string, args map[string]any) string
}

// script is a client on one of the TypeScript SDKs, which is a process of its
// own.
type script struct{ *rig.Process }

type scriptLine struct {
	Protocol string   `json:"protocol"`
	Tools    []string `json:"tools"`
	Name     string   `json:"name"`
	Text     string   `json:"text"`
	Error    *struct {
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// startScript starts one, and does not wait for it.
func startScript(t *testing.T, home rig.Home, version string) script {
	t.Helper()
	return script{rig.Spawn(t, home.Env, rig.Node(t), "stdio.mjs", version, rig.HubBinary(t), "stdio", "--client", version)}
}

// ready waits until it knows the tools of all servers, which it may have to be
// told of after it has listed them, and returns the revision that it says it
// has negotiated.
func (s script) ready(t *testing.T) (revision string) {
	t.Helper()
	for {
		l := s.line(t)
		revision += l.Protocol
		if slices.Contains(l.Tools, "fault__echo") && slices.Contains(l.Tools, "everything__echo") {
			return revision
		}
	}
}

func (s script) line(t *testing.T) (l scriptLine) {
	t.Helper()
	text, ok := s.Line()
	if err := json.Unmarshal([]byte(text), &l); err != nil || !ok {
		t.Fatalf("the client printed %q (%v); its standard error:\n%s", text, err, s.Stderr())
	}
	return l
}

// outcome is that of the next call to end.
func (s script) outcome(t *testing.T) scriptLine {
	t.Helper()
	for {
		if l := s.line(t); l.Name != "" {
			return l
		}
	}
}

// begin has the client make a call, whose outcome is a line later on.
func (s script) begin(t *testing.T, tool string, args map[string]any) {
	t.Helper()
	line, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
	if err != nil {
		t.Fatal(err)
	}
	s.Send(string(line))
}

func (s script) call(t *testing.T, tool string, args map[string]any) string {
	t.Helper()
	s.begin(t, tool, args)
	l := s.outcome(t)
	if l.Error != nil {
		t.Fatalf("%s: %s", tool, l.Error.Message)
	}
	return l.Text
}

// goClient is a client on the Go SDK, in the process of the test.
type goClient struct {
	*mcp.ClientSession
	cmd *exec.Cmd
}

func startGo(t *testing.T, home rig.Home, revision string) goClient {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), rig.HubBinary(t), "stdio", "--client", "go")
	cmd.Env = append(os.Environ(), home.Env...)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // its process may be killed by then
	return goClient{session, cmd}
}

func (c goClient) call(t *testing.T, tool string, args map[string]any) string {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil || res.IsError || len(res.Content) == 0 {
		t.Fatalf("%s: %+v, %v", tool, res, err)
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s answered %+v", tool, res.Content[0])
	}
	return text.Text
}

// loner is a hub that was started for those who are attached to it. It is
// nobody's child.
type loner struct {
	datadir.HubInfo
	rig.Proc
	home rig.Home
}

// hubOf is the hub that serves the home. It is ended with the test, if that
// does not get as far as its end.
func hubOf(t *testing.T, home rig.Home) loner {
	t.Helper()
	info, err := datadir.ReadHub(home.Data())
	if err != nil {
		t.Fatal(err)
	}
	hub := loner{info, rig.Find(t, info.PID), home}
	t.Cleanup(func() {
		hub.Signal(t, syscall.SIGTERM)
		rig.Await(t, "the hub has ended", func() bool { return !hub.Alive() })
		log, err := os.ReadFile(filepath.Join(home.Data(), "hub.log"))
		if err != nil || strings.Contains(string(log), "WARNING: DATA RACE") {
			t.Errorf("the hub's log (%v):\n%s", err, log)
		}
	})
	return hub
}

// awaitEnd waits until the hub has gone by itself, and checks that nothing is
// left of it.
func (h loner) awaitEnd(t *testing.T, tree []rig.Proc) {
	t.Helper()
	rig.Await(t, "the hub has ended", func() bool { return !h.Alive() })
	for _, p := range tree {
		if p.Alive() {
			t.Errorf("%s (process %d) has outlived the hub", p.Name, p.PID)
		}
	}
	if held, _, err := datadir.Peek(h.home.Data()); err != nil || held {
		t.Errorf("the data directory is held: %v, %v", held, err)
	}
	for _, path := range []string{h.Socket, datadir.Layout(h.home.Data()).HubFile()} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left (%v)", path, err)
		}
	}
}

// starts is how often the hub has started a server, by the server's log.
func (h loner) starts(t *testing.T, key string) int {
	t.Helper()
	c, err := apiclient.New(apiclient.Options{Socket: h.Socket})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	log, err := c.Log(t.Context(), key, 0)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, line := range log.Lines {
		if line.Source == "hub" && strings.HasPrefix(line.Text, "starting") {
			count++
		}
	}
	return count
}

// stdioHome is a home whose configuration has the fault server, as "fault",
// and server-everything.
func stdioHome(t *testing.T) rig.Home {
	t.Helper()
	home := rig.NewHome(t)
	text, err := os.ReadFile(rig.WriteConfig(t, rig.Stdio("fault", rig.FaultServer(t)), npmServer(t, "everything")))
	if err != nil {
		t.Fatal(err)
	}
	write(t, string(text), home.Config())
	return home
}

// TestThreeStdioClients: whatever starts "toolcrib stdio" shares one hub, which
// the first of them brings and the last takes with it.
func TestThreeStdioClients(t *testing.T) {
	t.Parallel()
	home := stdioHome(t)
	// All at once: which of them brings the hub is a matter of chance.
	v1, v2 := startScript(t, home, "v1"), startScript(t, home, "v2")
	goSDK := startGo(t, home, latestLegacy)
	v1.ready(t)
	if got := v2.ready(t); got != modernRevision {
		t.Errorf("the client of the modern era negotiated %q", got)
	}
	hub := hubOf(t, home)
	echo := func(clients ...attached) {
		t.Helper()
		for i, c := range clients {
			want := "from " + strconv.Itoa(i)
			if got := c.call(t, "fault__echo", map[string]any{"text": want}); got != want {
				t.Errorf("client %d got %q, want %q", i, got, want)
			}
			if got := c.call(t, "everything__echo", map[string]any{"message": want}); got != "Echo: "+want {
				t.Errorf("client %d got %q, want %q", i, got, want)
			}
		}
	}
	echo(v1, v2, goSDK)
	// server-everything asks for the roots, a moment after it was connected, and
	// the Go client is the only one that has any.
	var tree []rig.Proc
	rig.Await(t, "each server runs once, and everything once more for the Go client alone", func() bool {
		echo(goSDK)
		tree = rig.Tree(t, hub.Proc.PID)
		return len(tree) == 3
	})
	for _, key := range []string{"fault", "everything"} {
		if n := hub.starts(t, key); n != 1 {
			t.Errorf("the server %s was started %d times", key, n)
		}
	}

	// One after the other goes: killed with its call under way, by the end of
	// its input, and with the process killed that it has started.
	v1.begin(t, "fault__sleep", map[string]any{"ms": 60_000})
	rig.Await(t, "the call is under way", func() bool {
		return strings.Contains(goSDK.call(t, "fault__calls_count", nil), `"sleep":1`)
	})
	v1.Kill()
	echo(v2, goSDK)
	v2.CloseInput()
	if code := v2.Wait(); code != 0 {
		t.Errorf("the client ended with %d", code)
	}
	echo(goSDK)
	if now := hubOf(t, home); now.Proc != hub.Proc || now.starts(t, "fault") != 1 {
		t.Errorf("the hub is %v now, and was %v", now.Proc, hub.Proc)
	}
	if err := goSDK.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	hub.awaitEnd(t, tree)
}

// TestHubKilledUnderStdio: when the hub is killed, the call under way is
// answered with an error, and the next one as if nothing had been.
func TestHubKilledUnderStdio(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			home := stdioHome(t)
			client := startScript(t, home, version)
			client.ready(t)
			hub := hubOf(t, home)
			client.begin(t, "fault__sleep", map[string]any{"ms": 60_000})
			rig.Await(t, "the call is under way", func() bool {
				return strings.Contains(client.call(t, "fault__calls_count", nil), `"sleep":1`)
			})
			tree := rig.Tree(t, hub.Proc.PID)
			hub.Signal(t, syscall.SIGKILL)
			if l := client.outcome(t); l.Name != "fault__sleep" || l.Error == nil || !strings.Contains(string(l.Error.Data), `"hub_lost"`) {
				t.Errorf("the call under way was answered with %+v", l)
			}
			if got := client.call(t, "fault__echo", map[string]any{"text": "again"}); got != "again" {
				t.Errorf("the next call was answered with %q", got)
			}
			next := hubOf(t, home)
			if next.Proc == hub.Proc {
				t.Error("the hub was not killed")
			}
			// What a server's standard input has ended for, ends.
			for _, p := range tree {
				rig.Await(t, "the servers of the killed hub have ended", func() bool { return !p.Alive() })
			}
			tree = rig.Tree(t, next.Proc.PID)
			client.CloseInput()
			if code := client.Wait(); code != 0 {
				t.Errorf("the client ended with %d", code)
			}
			next.awaitEnd(t, tree)
		})
	}
}
