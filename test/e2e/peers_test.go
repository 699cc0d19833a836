package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// toolCall is a call that every peer makes, and what must come of it.
type toolCall struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`

	want     string // part of the result's text
	progress []float64
}

// calls are what every peer calls. entity is its own: all share one memory.
func calls(file, entity string) []toolCall {
	return []toolCall{
		{Name: "everything__echo", Arguments: map[string]any{"message": "Grüße 世界"}, want: "Echo: Grüße 世界"},
		{Name: "everything__get-sum", Arguments: map[string]any{"a": 2, "b": 40}, want: "The sum of 2 and 40 is 42."},
		{
			Name: "everything__trigger-long-running-operation", Arguments: map[string]any{"duration": 0.2, "steps": 10},
			want: "Steps: 10.", progress: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		},
		{Name: "filesystem__read_text_file", Arguments: map[string]any{"path": file}, want: "the content\nof a file"},
		{
			Name: "memory__create_entities", Arguments: map[string]any{"entities": []any{map[string]any{
				"name": entity, "entityType": "peer", "observations": []string{"it calls"},
			}}}, want: entity,
		},
		{Name: "memory__read_graph", Arguments: map[string]any{}, want: entity},
		{Name: "calculator__calculator", Arguments: map[string]any{"expression": "6*7"}, want: "42"},
		{Name: "datetime__format_datetime", Arguments: map[string]any{"datetime": "2026-11-21T10:00:00Z", "format": "date"}, want: "2026-11-21"},
	}
}

// listed are tools that every peer must find, in this order. The versions of
// the servers are pinned.
func listed() []string {
	var names []string
	add := func(server string, tools ...string) {
		for _, tool := range tools {
			names = append(names, server+"__"+tool)
		}
	}
	add("calculator", "calculator")
	add("datetime", "add_time", "format_datetime", "get_current_date", "get_current_time")
	add("everything", "echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference",
		"get-structured-content", "get-sum", "get-tiny-image", "gzip-file-as-resource", "toggle-simulated-logging",
		"toggle-subscriber-updates", "trigger-long-running-operation")
	add("filesystem", "read_file", "read_text_file", "read_media_file", "read_multiple_files", "write_file", "edit_file",
		"create_directory", "list_directory", "list_directory_with_sizes", "directory_tree", "move_file", "search_files",
		"get_file_info", "list_allowed_directories")
	add("memory", "create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations",
		"delete_relations", "read_graph", "search_nodes", "open_nodes")
	return names
}

func checkListed(t *testing.T, got []string) {
	t.Helper()
	at := 0
	for _, name := range listed() {
		i := slices.Index(got[at:], name)
		if i < 0 {
			t.Errorf("%s is not in the list, or out of order: %q", name, got)
			return
		}
		at += i + 1
	}
}

// seen is what a TypeScript client prints.
type seen struct {
	Protocol string   `json:"protocol"`
	Tools    []string `json:"tools"`
	Answers  []struct {
		Result   json.RawMessage `json:"result"`
		Error    json.RawMessage `json:"error"`
		Progress []float64       `json:"progress"`
	} `json:"answers"`
	Server struct {
		Name string `json:"name"`
	} `json:"server"`
}

// npmServer is one of the npm servers as the hub starts it.
func npmServer(t *testing.T, name string, args ...string) rig.Server {
	t.Helper()
	path := rig.NPM(t, "@modelcontextprotocol", "server-"+name, "dist", "index.js")
	return rig.Stdio(name, rig.Node(t), append([]string{path}, args...)...)
}

// TestPeers has every kind of client use the npm servers and the built-in ones
// through one hub.
func TestPeers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file.txt")
	if err := os.WriteFile(file, []byte("the content\nof a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hub := rig.StartHub(t,
		npmServer(t, "everything"),
		npmServer(t, "filesystem", dir),
		npmServer(t, "memory").With("env", map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")}),
	)
	hub.AwaitReady()
	// One after the other: the memory server loses what two callers write at
	// the same time.
	t.Run("TypeScript v1", func(t *testing.T) {
		typeScript(t, "legacy.mjs", hub.MCP(), latestLegacy, calls(file, "ts-v1"))
	})
	t.Run("TypeScript v2", func(t *testing.T) {
		typeScript(t, "modern.mjs", hub.MCP(), modernRevision, calls(file, "ts-v2"))
	})
	t.Run("Go SDK legacy", func(t *testing.T) {
		goSDK(t, hub.MCP(), latestLegacy, calls(file, "go-legacy"))
	})
	t.Run("Go SDK modern", func(t *testing.T) {
		goSDK(t, hub.MCP(), modernRevision, calls(file, "go-modern"))
	})
	t.Run("TypeScript v1 over SSE", func(t *testing.T) {
		typeScript(t, "legacy.mjs", hub.URL+"/sse", latestLegacy, calls(file, "ts-sse"))
	})
	t.Run("TypeScript v1 over WebSocket", func(t *testing.T) {
		typeScript(t, "legacy.mjs", hub.WebSocket(), latestLegacy, calls(file, "ts-ws"))
	})
	t.Run("Inspector legacy", func(t *testing.T) {
		inspector(t, hub.MCP(), "legacy", calls(file, "inspector-legacy"))
	})
	t.Run("Inspector modern", func(t *testing.T) {
		inspector(t, hub.MCP(), "modern", calls(file, "inspector-modern"))
	})
}

// typeScript runs one of the TypeScript clients. WebSockets come with newer
// versions of Node.js only.
func typeScript(t *testing.T, script, url, revision string, calls []toolCall) {
	t.Helper()
	if _, err := os.Stat(script); err != nil {
		t.Fatal(err)
	}
	steps, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	var got seen
	if err := json.Unmarshal(output(t, rig.NewNode(t), script, url, string(steps)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Protocol != revision {
		t.Errorf("the client negotiated %s, want %s", got.Protocol, revision)
	}
	if got.Server.Name != "toolcrib" {
		t.Errorf("the server calls itself %q", got.Server.Name)
	}
	checkListed(t, got.Tools)
	for i, c := range calls {
		a := got.Answers[i]
		if a.Error != nil {
			t.Errorf("%s: %s", c.Name, a.Error)
			continue
		}
		if text := resultText(t, c.Name, a.Result); !strings.Contains(text, c.want) {
			t.Errorf("%s answered %q, want %q in it", c.Name, text, c.want)
		}
		// What came after the result does not count.
		if !slices.Equal(a.Progress, c.progress) {
			t.Errorf("%s made progress %v, want %v", c.Name, a.Progress, c.progress)
		}
	}
}

// goSDK is the official Go client.
func goSDK(t *testing.T, url, revision string, calls []toolCall) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		t.Errorf("the client negotiated %s, want %s", got, revision)
	}
	var names []string
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	checkListed(t, names)
	for _, c := range calls {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: c.Name, Arguments: c.Arguments})
		if err != nil || res.IsError || len(res.Content) == 0 {
			t.Errorf("%s: %+v, %v", c.Name, res, err)
			continue
		}
		if text, ok := res.Content[0].(*mcp.TextContent); !ok || !strings.Contains(text.Text, c.want) {
			t.Errorf("%s answered %+v, want %q in it", c.Name, res.Content[0], c.want)
		}
	}
}

// inspector is the command line of the MCP Inspector: a process for each step.
func inspector(t *testing.T, url, era string, calls []toolCall) {
	t.Helper()
	run := func(args ...string) json.RawMessage {
		t.Helper()
		args = append([]string{
			rig.NPM(t, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"),
			"--cli", url, "--transport", "http", "--protocol-era", era, "--format", "json", "--quiet",
		}, args...)
		var envelope struct {
			Result json.RawMessage `json:"result"`
		}
		raw := output(t, rig.NewNode(t), args...)
		if err := json.Unmarshal(raw, &envelope); err != nil || envelope.Result == nil {
			t.Fatalf("the Inspector printed %s (%v)", raw, err)
		}
		return envelope.Result
	}

	var list struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(run("--method", "tools/list"), &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	checkListed(t, names)
	for _, c := range calls {
		args, err := json.Marshal(c.Arguments)
		if err != nil {
			t.Fatal(err)
		}
		result := run("--method", "tools/call", "--tool-name", c.Name, "--tool-args-json", string(args))
		if text := resultText(t, c.Name, result); !strings.Contains(text, c.want) {
			t.Errorf("%s answered %q, want %q in it", c.Name, text, c.want)
		}
	}
}

// output runs a program to its end and returns what it printed.
func output(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir()) // the Inspector keeps files
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, out, stderr.String()))
	}
	return out
}
