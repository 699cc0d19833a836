package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// The client scenarios have servers of their own, and judge what comes to those.
// The client that they start is a driver: it starts a hub whose one server is
// theirs, and lets the client of the Go SDK, which knows each scenario, talk to
// the hub. In the scenarios of authorization it is the hub that logs in: the driver
// opens the addresses that the hub gives it, as a person would in a browser.

// drivenBy is the variable that makes the test's program the driver. Its value
// is the hub and the client, as JSON.
const drivenBy = "TOOLCRIB_CONFORMANCE_DRIVER"

// driver is what the driver starts.
type driver struct{ Hub, Client string }

func TestMain(m *testing.M) {
	if said := os.Getenv(drivenBy); said != "" {
		var d driver
		err := json.Unmarshal([]byte(said), &d)
		if err == nil {
			err = d.run(os.Args[len(os.Args)-1])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	rig.Main(m)
}

// driveLimit bounds one scenario; the suite gives each half a minute.
const driveLimit = 25 * time.Second

// run has the client talk to the server at the URL through a hub.
func (d driver) run(url string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), driveLimit)
	defer cancel()
	dir, err := os.MkdirTemp("", "toolcrib-conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	entry := map[string]any{"url": url, "bareNames": true, "autoStart": true}
	if authorizes() {
		if entry["oauth"], err = oauthEntry(ctx, url); err != nil {
			return err
		}
	}
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"suite": entry}})
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "toolcrib.json")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return err
	}
	hub := exec.CommandContext(ctx, d.Hub, "serve", "--config", path, "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"))
	hub.Stderr = os.Stderr
	hub.Cancel = func() error { return hub.Process.Signal(os.Interrupt) }
	said, err := hub.StdoutPipe()
	if err != nil {
		return err
	}
	if err := hub.Start(); err != nil {
		return fmt.Errorf("start the hub: %w", err)
	}
	defer func() {
		_ = hub.Process.Signal(os.Interrupt)
		err = errors.Join(err, hub.Wait())
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	at := readyLine.FindStringSubmatch(line)
	if at == nil {
		return fmt.Errorf("the hub said %q: %w", line, err)
	}
	if authorizes() {
		return authorize(ctx, at[1], filepath.Join(dir, "data", "admin.token"))
	}
	if err := awaitReady(ctx, at[1]); err != nil {
		return err
	}
	if tool, legacy := legacyDeeds()[os.Getenv("MCP_CONFORMANCE_SCENARIO")]; legacy && os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION") < "2026-07-28" {
		return callLegacy(ctx, at[1]+"/mcp", tool)
	}
	client := exec.CommandContext(ctx, d.Client, at[1]+"/mcp")
	client.Stdout, client.Stderr = os.Stdout, os.Stderr
	return client.Run()
}

// legacyDeeds are the tools that the legacy scenarios want called. The client of
// the Go SDK would do as much, but speaks the newest revision to whoever knows it,
// as the hub does: the scenario would be one of two eras.
func legacyDeeds() map[string]mcp.CallToolParams {
	return map[string]mcp.CallToolParams{
		"tools_call":                          {Name: "add_numbers", Arguments: map[string]any{"a": 5, "b": 3}},
		"elicitation-sep1034-client-defaults": {Name: "test_client_elicitation_defaults", Arguments: map[string]any{}},
		"sse-retry":                           {Name: "test_reconnection", Arguments: map[string]any{}},
	}
}

// callLegacy calls a tool as a client of 2025-11-25 that accepts whatever it is
// asked to fill in, as it stands.
func callLegacy(ctx context.Context, url string, tool mcp.CallToolParams) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1.0.0"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer session.Close()
	if _, err := session.ListTools(ctx, nil); err != nil {
		return fmt.Errorf("list the tools: %w", err)
	}
	if _, err := session.CallTool(ctx, &tool); err != nil {
		return fmt.Errorf("call %s: %w", tool.Name, err)
	}
	return nil
}

var readyLine = regexp.MustCompile(`MCP: (http://\S+)/mcp `)

// awaitReady waits until the hub's servers are ready, or are known not to be.
func awaitReady(ctx context.Context, hub string) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, hub+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return nil
		}
		time.Sleep(20 * time.Millisecond) // of the driver, which is no test
	}
}

// clientScenarios are those that have nothing to do with authorization, by the
// revision in which they are run.
func clientScenarios() map[string][]string {
	return map[string][]string{
		"2025-11-25": {"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "json-schema-2020-12-preservation"},
		"2026-07-28": {
			"tools_call", "request-metadata", "sep-2322-client-request-state", "http-standard-headers",
			"http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref", "json-schema-2020-12-preservation",
		},
	}
}

// The official suite's servers find nothing wrong with what reaches them from a
// client that talks to the hub.
func TestClient(t *testing.T) {
	rig.Long(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said, err := json.Marshal(driver{rig.HubBinary(t), rig.ConformanceClient(t)})
	if err != nil {
		t.Fatal(err)
	}
	for revision, scenarios := range clientScenarios() {
		for _, scenario := range scenarios {
			t.Run(revision+" "+scenario, func(t *testing.T) {
				t.Parallel()
				judge(t, self, said, "conformance-0.2", scenario, "--spec-version", revision)
			})
		}
	}
}

// judge runs a scenario, in which nothing must be found wrong.
func judge(t *testing.T, self string, said []byte, suite, scenario string, flags ...string) {
	t.Helper()
	out := t.TempDir()
	args := append([]string{rig.NPM(t, suite, "dist", "index.js"), "client", "--command", self, "--scenario", scenario, "-o", out}, flags...)
	cmd := exec.CommandContext(t.Context(), rig.NewNode(t), args...)
	cmd.Env = append(os.Environ(), drivenBy+"="+string(said))
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, text)
	}
	if of, _, below := strings.Cut(scenario, "/"); below {
		out = filepath.Join(out, of)
	}
	for name, s := range read(t, out) {
		t.Logf("%s: %d checks passed", name, s.passed)
		for check, fault := range s.faults {
			t.Errorf("%s: %s", check, fault)
		}
		if s.passed == 0 {
			t.Errorf("no check has passed:\n%s", text)
		}
	}
}
