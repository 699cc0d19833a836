package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
	"github.com/toolcrib/toolcrib/test/voice"
)

// form reads a file of testdata/forms, which are as their programs have them,
// with replacements.
func form(t *testing.T, name string, oldnew ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "forms", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(oldnew...).Replace(string(text))
}

// write writes a file with its directories and returns its path.
func write(t *testing.T, text string, elem ...string) string {
	t.Helper()
	path := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// remote is a web server that also is a proxy: whatever host is asked for, it
// answers, and keeps what it was asked.
type remote struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // "host path authorization", each once
}

// startRemote starts one whose /mcp is a server with the tools, which answer
// with their own names; "slow" only when its call is cancelled, or the test over.
func startRemote(t *testing.T, tools ...string) *remote {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "remote", Version: "1"}, nil)
	for _, name := range tools {
		mcp.AddTool(server, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			if name == "slow" {
				select {
				case <-ctx.Done():
				case <-t.Context().Done():
				}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil, nil
		})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{DisableLocalhostProtection: true})
	r := &remote{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		if one := req.Host + req.URL.Path + " " + req.Header.Get("Authorization"); !slices.Contains(r.seen, one) {
			r.seen = append(r.seen, one)
		}
		r.mu.Unlock()
		if req.URL.Path != "/mcp" {
			http.NotFound(w, req)
			return
		}
		handler.ServeHTTP(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

// asked is what it was asked so far.
func (r *remote) asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// inForce is what is in force of the servers that the file defines, a line
// each.
func inForce(t *testing.T, hub *rig.Hub) []string {
	t.Helper()
	list, err := hub.API().Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range list.Servers {
		if s.Defined {
			lines = append(lines, fmt.Sprintf("%s %q %s priority=%d timeout=%s enabled=%v autoStart=%v tools=%d-%d",
				s.Key, s.Name, s.Kind, s.Priority, s.Timeout, s.Enabled, s.AutoStart, s.Tools, s.Hidden))
		}
	}
	return lines
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// toolsOf are the tools that a caller sees of the servers with the keys.
func toolsOf(t *testing.T, hub *rig.Hub, keys ...string) []string {
	t.Helper()
	return slices.DeleteFunc(connect(t, hub.MCP(), latestLegacy).tools(), func(name string) bool {
		return !slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(name, key+"__") })
	})
}

// TestLumiFile has the file of Lumi Assistant as it is: its weather server,
// which is reached through a proxy here, gets the key and shows no other tools
// than those that are allowed.
func TestLumiFile(t *testing.T) {
	t.Parallel()
	web := startRemote(t, "get_weather", "get_forecast", "delete_everything")
	path := write(t, form(t, "mcp_config.json"), t.TempDir(), "mcp_config.json")
	hub := rig.Serve(t, nil, "--config", path, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--proxy", web.URL)
	hub.AwaitState("weather_service", "ready")
	hub.AwaitState("device", "ready")
	hub.AwaitState("file_operations", "disabled")
	check(t, "in force", inForce(t, hub), []string{
		`device "内置设备控制" builtin priority=100 timeout=30s enabled=true autoStart=true tools=5-0`,
		`weather_service "天气服务" http priority=50 timeout=30s enabled=true autoStart=true tools=2-1`,
		`file_operations "文件操作" stdio priority=10 timeout=30s enabled=false autoStart=false tools=0-0`,
	})
	check(t, "the tools", toolsOf(t, hub, "weather_service", "file_operations"),
		[]string{"weather_service__get_forecast", "weather_service__get_weather"})
	// In the order of their priorities.
	if got := toolsOf(t, hub, "device", "weather_service"); len(got) != 7 || !strings.HasPrefix(got[4], "device__") {
		t.Errorf("the tools of both are %q", got)
	}
	check(t, "the remote server was asked", web.asked(), []string{"localhost:3001/mcp Bearer your-api-key"})
	c := connect(t, hub.MCP(), modernRevision)
	if got := c.text("weather_service__get_weather", nil); got != "get_weather" {
		t.Errorf("the weather is %q", got)
	}
	if got := c.text("get_weather", nil); got != "get_weather" {
		t.Errorf("by its bare name the weather is %q", got)
	}
	if m := c.call("weather_service__delete_everything", nil); m.Error.reason() != "tool_unknown" {
		t.Errorf("a tool that is not allowed was answered with %s", m)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != form(t, "mcp_config.json") {
		t.Errorf("the file has changed to %s (%v)", text, err)
	}
}

// TestControllerFile has the controller's file as it is, whose server has a
// minute for a call, and then one second.
func TestControllerFile(t *testing.T) {
	t.Parallel()
	web := startRemote(t, "quick", "slow")
	start := func(oldnew ...string) *rig.Hub {
		path := write(t, form(t, "mcp_server.json", oldnew...), t.TempDir(), "mcp_server.json")
		hub := rig.Serve(t, nil, "--config", path, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--proxy", web.URL)
		hub.AwaitState("server_id", "ready")
		return hub
	}
	hub := start()
	check(t, "in force", inForce(t, hub), []string{
		`server_id "server_id" http priority=50 timeout=1m0s enabled=true autoStart=false tools=2-0`,
	})
	if got := connect(t, hub.MCP(), latestLegacy).text("server_id__quick", nil); got != "quick" {
		t.Errorf("the tool answers %q", got)
	}
	check(t, "the remote server was asked", web.asked(), []string{"server.example.com/mcp Bearer token_value"})

	hub = start(`"timeout": 60`, `"timeout": 1`)
	m := connect(t, hub.MCP(), modernRevision).call("server_id__slow", nil)
	if m.Error.reason() != "timeout" || !strings.Contains(m.Error.Message, "within 1s") {
		t.Errorf("a call that takes longer than the one second of the file was answered with %s", m)
	}
}

// TestXiaozhiFile has the file of xiaozhi-client as it is but for the host of its
// endpoint, beside programs at the places that it names, and then with another time
// limit.
func TestXiaozhiFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := fmt.Sprintf("import(%q);\n", rig.NPM(t, "@modelcontextprotocol", "server-everything", "dist", "index.js"))
	for _, name := range []string{"calculator.js", "datetime.js"} {
		write(t, program, dir, "templates", "hello-world", "mcpServers", name)
	}
	peer := &voice.Endpoint{}
	assistant := httptest.NewServer(peer)
	t.Cleanup(assistant.Close)
	start := func(oldnew ...string) *rig.Hub {
		oldnew = append(oldnew, "wss://xiaozhi.me", "ws"+strings.TrimPrefix(assistant.URL, "http"))
		path := write(t, form(t, "xiaozhi.config.json", oldnew...), dir, "xiaozhi.config.json")
		hub := rig.Serve(t, nil, "--config", path, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
		hub.AwaitReady()
		return hub
	}
	hub := start()
	check(t, "in force", inForce(t, hub), []string{
		`calculator "calculator" stdio priority=10 timeout=30s enabled=true autoStart=false tools=17-0`,
		`datetime "datetime" stdio priority=10 timeout=30s enabled=true autoStart=false tools=17-0`,
	})
	c := connect(t, hub.MCP(), latestLegacy)
	if got := c.text("calculator__echo", map[string]any{"message": "replaced"}); got != "Echo: replaced" {
		t.Errorf("the server that replaces a built-in one answers %q", got)
	}
	if m := c.call("calculator__calculator", map[string]any{"expression": "1"}); m.Error.reason() != "tool_unknown" {
		t.Errorf("the built-in server that was replaced answers %s", m)
	}
	st, err := hub.API().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if w := st.Config.Warnings; len(w) > 0 {
		t.Errorf("the warnings are %+v", w)
	}
	socket, err := peer.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, tools, err := voice.Cloud(t.Context(), socket); err != nil || !slices.ContainsFunc(tools, func(tool voice.Tool) bool { return tool.Name == "calculator__echo" }) {
		t.Errorf("the assistant sees %+v, %v", tools, err)
	}

	hub = start("30000", "700")
	m := connect(t, hub.MCP(), latestLegacy).call("datetime__trigger-long-running-operation", map[string]any{"duration": 20, "steps": 1})
	if m.Error.reason() != "timeout" || !strings.Contains(m.Error.Message, "within 700ms") {
		t.Errorf("a call that takes longer than the 700 milliseconds of the file was answered with %s", m)
	}
}

// TestVSCodeFile: an input that nobody has given is a state of the server, with
// the reason; the environment or the sealed store gives it.
func TestVSCodeFile(t *testing.T) {
	t.Parallel()
	web := startRemote(t, "issues")
	path := write(t, form(t, "vscode.json", "http://localhost:1/mcp", web.URL+"/mcp",
		"/PATH/everything.js", rig.NPM(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")), t.TempDir(), "mcp.json")
	start := func(env ...string) *rig.Hub {
		return rig.Serve(t, append(env, "LC_ALL=C"), "--config", path, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	}
	host := strings.TrimPrefix(web.URL, "http://")

	hub := start()
	hub.AwaitState("github", "failed")
	hub.AwaitState("local", "failed")
	for _, s := range hub.Health().Servers {
		want := map[string]string{"github": "${input:github-token}", "local": "${input:dir}"}[s.Key]
		if want != "" && (s.Code != "placeholder_unresolved" || !strings.Contains(s.Reason, want) || !strings.Contains(s.Remedy, "restart "+s.Key)) {
			t.Errorf("/readyz says %+v, want that %s is not filled in", s, want)
		}
	}
	if m := connect(t, hub.MCP(), latestLegacy).call("github__issues", nil); m.Error.reason() != "server_down" || !strings.Contains(m.Error.Message, "${input:github-token}") {
		t.Errorf("a call was answered with %s", m)
	}
	if got := web.asked(); len(got) > 0 {
		t.Errorf("the server was asked %q without its token", got)
	}
	// Sealed, it is there at the next start.
	hubAPI := hub.API()
	if err := hubAPI.SetSecret(t.Context(), "input.github-token", "sealed-token"); err != nil {
		t.Fatal(err)
	}
	if _, err := hubAPI.ServerAction(t.Context(), "github", api.ActionRestart); err != nil {
		t.Fatal(err)
	}
	check(t, "the server was asked", web.asked(), []string{host + "/mcp Bearer sealed-token"})

	hub = start("TOOLCRIB_INPUT_GITHUB_TOKEN=env-token", "TOOLCRIB_INPUT_DIR=from-env")
	hub.AwaitReady()
	check(t, "the server was asked", web.asked(), []string{host + "/mcp Bearer sealed-token", host + "/mcp Bearer env-token"})
	if got := connect(t, hub.MCP(), modernRevision).text("local__get-env", nil); !strings.Contains(got, `"DIR": "from-env"`) {
		t.Errorf("the environment of the local server is %s", got)
	}
}

// TestClientFiles has files of Claude Desktop and Cursor as they are, but for
// where the programs are.
func TestClientFiles(t *testing.T) {
	t.Parallel()
	web := startRemote(t, "search")
	everything := rig.NPM(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	for _, name := range []string{"claude_desktop_config.json", "cursor.json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := write(t, form(t, name, "/PATH/everything.js", everything, "http://localhost:1/mcp", web.URL+"/mcp"), dir, name)
			hub := rig.Serve(t, []string{"CURSOR_TEST_KEY=from-env"},
				"--config", path, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
			hub.AwaitReady()
			env := connect(t, hub.MCP(), modernRevision).text("everything__get-env", nil)
			for _, want := range map[string][]string{
				"claude_desktop_config.json": {`"PLAIN": "as it is"`},
				"cursor.json":                {`"KEY": "from-env"`, `"FOLDER": "` + dir + `"`},
			}[name] {
				if !strings.Contains(env, want) {
					t.Errorf("the server's environment has no %s: %s", want, env)
				}
			}
			if name == "cursor.json" && !slices.Contains(web.asked(), strings.TrimPrefix(web.URL, "http://")+"/mcp Bearer from-env") {
				t.Errorf("the remote server was asked %q", web.asked())
			}
		})
	}
}
