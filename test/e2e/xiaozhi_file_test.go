package e2e

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
	"github.com/toolcrib/toolcrib/test/voice"
)

// scriptServer is an MCP server for Node: of each tool the text of its result, or "" for
// one that never answers.
func scriptServer(tools string) string {
	return `const tools = ` + tools + `;
const rl = require('readline').createInterface({input: process.stdin});
const send = (id, result) => process.stdout.write(JSON.stringify({jsonrpc: '2.0', id, result}) + '\n');
rl.on('line', line => {
  const m = JSON.parse(line);
  if (m.id === undefined) return;
  if (m.method === 'initialize') send(m.id, {protocolVersion: '2024-11-05', capabilities: {tools: {}}, serverInfo: {name: 'script', version: '1'}});
  else if (m.method === 'tools/list') send(m.id, {tools: Object.keys(tools).map(name => ({name, description: name, inputSchema: {type: 'object'}, annotations: {readOnlyHint: true}}))});
  else if (m.method !== 'tools/call') send(m.id, {});
  else if (tools[m.params.name]) send(m.id, {content: [{type: 'text', text: tools[m.params.name]}]});
});
`
}

// TestReq8XiaozhiConfigUnchanged runs the program with the file of the XiaoZhi client, as
// it stands in that program's directory: its endpoints are connected, its servers called,
// what holds for all of them holds, and nothing of it is lost when it is written.
func TestReq8XiaozhiConfigUnchanged(t *testing.T) {
	t.Parallel()
	rig.Node(t)
	peer := &voice.Endpoint{}
	web := httptest.NewServer(peer)
	t.Cleanup(web.Close)
	link := "ws" + strings.TrimPrefix(web.URL, "http") + "/mcp/?token="
	dir := t.TempDir()
	write(t, scriptServer(`{calculator: '9', slow: ''}`), dir, "mcpServers", "calculator.js")
	write(t, scriptServer(`{get_current_time: 'noon', format_datetime: 'hidden'}`), dir, "mcpServers", "datetime.js")
	text := fmt.Sprintf(`{
  "mcpEndpoint": ["%[1]sone-0123456789", "", "%[1]stwo-0123456789", "%[1]sone-0123456789"],
  "mcpServers": {
    "calculator": {
      "command": "node",
      "args": ["./mcpServers/calculator.js"]
    },
    "datetime": {
      "command": "node",
      "args": ["./mcpServers/datetime.js"]
    }
  },
  "mcpServerConfig": {
    "datetime": {"tools": {"format_datetime": {"description": "", "enable": false, "usageCount": 3, "lastUsedTime": "2026-01-01 00:00:00"}}}
  },
  "mcpServiceManager": {
    "port": 8080,
    "autoStart": true,
    "serviceTimeout": 2000,
    "cleanupInterval": 300000,
    "preloadServices": ["datetime"]
  },
  "connection": {"heartbeatInterval": 30000, "heartbeatTimeout": 10000, "reconnectInterval": 100},
  "modelscope": {"apiKey": "theirs"},
  "webUI": {
    "port": 9999
  }
}
`, link)
	path := write(t, text, dir, "xiaozhi.config.json")
	// The first time each is started to learn its tools, and from then on the one that
	// is preloaded.
	data := t.TempDir()
	hub := rig.Serve(t, nil, "--config", path, "--listen", "127.0.0.1:0", "--data-dir", data)
	hub.AwaitState("datetime", "ready")
	hub.AwaitState("calculator", "ready")
	for range 2 {
		if _, err := peer.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if code := hub.Stop(); code != 0 {
		t.Fatalf("it ended with %d: %s", code, hub.Stderr())
	}
	hub = rig.Serve(t, nil, "--config", path, "--listen", "127.0.0.1:0", "--data-dir", data)
	hub.AwaitState("datetime", "ready")
	hub.AwaitState("calculator", "idle")

	sockets := make(map[string]*voice.Socket)
	for range 2 {
		s, err := peer.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, tools, err := voice.Cloud(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Name)
		}
		for _, want := range []string{"calculator__calculator", "datetime__get_current_time"} {
			if !slices.Contains(names, want) {
				t.Errorf("there is no %s among %q", want, names)
			}
		}
		if slices.Contains(names, "datetime__format_datetime") {
			t.Error("a tool that is switched off is offered")
		}
		sockets[s.Query] = s
	}
	for tool, want := range map[string]string{
		"calculator__calculator": `"text":"9"`, "datetime__get_current_time": `"text":"noon"`, "calculator__slow": "2s",
	} {
		for query, s := range sockets {
			got, err := s.Ask(t.Context(), "10", "tools/call", `{"name":"`+tool+`","arguments":{},"serialNumber":null}`)
			if err != nil || !strings.Contains(got, want) {
				t.Errorf("%s by %s: %s, %v", tool, query, got, err)
			}
		}
	}

	// reconnectInterval is the first pause.
	first := sockets["token=one-0123456789"]
	if first == nil || len(sockets) != 2 {
		t.Fatalf("connected are %v", sockets)
	}
	first.Close(1011, "oops")
	if s, err := peer.Next(t.Context()); err != nil || s.Query != first.Query {
		t.Errorf("%v, %v", s, err)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != text {
		t.Errorf("the file is another one by now: %s, %v", now, err)
	}
	all, err := hub.API().Dialled(t.Context(), apiclient.Endpoints)
	if err != nil || len(all) != 2 || all[0].Name != "endpoint" || all[1].Name != "endpoint-3" || all[1].State != "connected" {
		t.Errorf("%+v, %v", all, err)
	}
	if err := hub.API().RemoveDialled(t.Context(), apiclient.Endpoints, "endpoint-3"); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(text, link+"two-0123456789", "", 1)
	if now, err := os.ReadFile(filepath.Join(dir, "xiaozhi.config.json")); err != nil || string(now) != want {
		t.Errorf("written is %s, %v", now, err)
	}
}
