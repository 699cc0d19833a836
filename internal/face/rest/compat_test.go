package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// What comes with an agent is not there yet, and no stub either.
func TestCompatAgentIsAbsent(t *testing.T) {
	h := open(t, "")
	for _, path := range []string{"/host/sessions", "/host/sessions/1/chat"} {
		h.change(http.MethodPost, path, `{}`).refusedAs(http.StatusNotFound, message.PathUnknown)
	}
}

// Servers are started and stopped, and seen as they are.
func TestCompatHost(t *testing.T) {
	h := open(t, `{"mcpServers":{"fault":{"name":"Fault","command":`+quote(rig.FaultServer(t))+`},"gone":{"command":"/nowhere/gone"},"far":{"url":"http://127.0.0.1:9/mcp?key=secret","apiKey":"k"},"wttr":{}}}`)
	server := func(path, key string) api.CompatHostServer {
		t.Helper()
		var list api.CompatHostServers
		h.get(path).into(http.StatusOK, &list)
		i := slices.IndexFunc(list.Servers, func(s api.CompatHostServer) bool { return s.Key == key })
		if !list.Success || list.Total != len(list.Servers) || i < 0 {
			t.Fatalf("%s: %+v", path, list)
		}
		return list.Servers[i]
	}
	if s := server("/host/servers", "fault"); s.Status != "stopped" || s.Running || s.Initialized || !s.Enabled || s.ID != compatID("fault") || s.Name != "Fault" || s.Transport != "stdio" {
		t.Errorf("it is %+v", s)
	}
	var done api.CompatHostServerDone
	h.change(http.MethodPost, fmt.Sprintf("/host/servers/stdio/%d/start", compatID("fault")), "").into(http.StatusOK, &done)
	if !done.Success || done.Message != "The server is running." || !done.Server.Running || !slices.Contains(done.Tools, "echo") || done.Server.PID == 0 {
		t.Errorf("it is %+v", done)
	}
	if s := server("/host/servers", "far"); s.ServerURL != "http://127.0.0.1:9/mcp?${unchanged}" || s.AuthType != "api_key" || s.PresetKey != "" {
		t.Errorf("it is %+v", s)
	}
	if s := server("/host/servers", "wttr"); s.PresetKey != "wttr" || s.AuthType != "none" || s.ServerURL != "" {
		t.Errorf("it is %+v", s)
	}
	if s := server("/mcp-test/stdio/status", "fault"); s.Status != "running" || !s.Initialized || s.Tools == 0 {
		t.Errorf("it is %+v", s)
	}
	h.change(http.MethodPost, "/host/servers/stdio/fault/stop", "").into(http.StatusOK, &done)
	if s := server("/host/servers", "fault"); done.Server.Running || s.Status != "stopped" || s.PID != 0 {
		t.Errorf("it is %+v", s)
	}
	h.change(http.MethodPost, "/host/servers/stdio/gone/start", "").refusedAs(http.StatusBadGateway, message.CommandNotFound)
	if s := server("/host/servers", "gone"); s.Error == "" || s.Status != "error" {
		t.Errorf("it is %+v", s)
	}
	if row := h.rowsOf()["gone"]; row.Status != "error" || row.Error == "" {
		t.Errorf("the row is %+v", row)
	}
	h.change(http.MethodPost, "/host/servers/stdio/far/start", "").refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	h.change(http.MethodPost, "/host/servers/stdio/demo/start", "").refusedAs(http.StatusConflict, message.ServerDisabled)
	h.change(http.MethodPost, "/host/servers/stdio/nobody/start", "").refusedAs(http.StatusNotFound, message.ServerUnknown)
	for _, action := range []string{"start", "stop"} {
		h.do(ask{method: http.MethodPost, path: "/host/servers/stdio/fault/" + action}).refusedAs(http.StatusUnauthorized, message.TokenRequired)
		h.do(ask{method: http.MethodPost, path: "/host/servers/stdio/fault/" + action, token: h.caller}).refusedAs(http.StatusForbidden, message.RoleRefused)
	}
}

// A new server is tried out before it is written; one that does not work leaves
// nothing behind.
func TestCompatStart(t *testing.T) {
	h := open(t, `{"mcpServers":{}}`)
	start := func(body string) *answer { return h.change(http.MethodPost, "/mcp-test/stdio/start", body) }
	var done api.CompatHostServerDone
	body := `{"server_key":"fault","command":` + quote(rig.FaultServer(t)) + `,"env":{"API_TOKEN":"sk-0123456789abcdef"}}`
	start(body).into(http.StatusOK, &done)
	if !done.Server.Running || !slices.Contains(done.Tools, "echo") || !strings.Contains(h.text(), `"fault"`) || strings.Contains(h.text(), "sk-01") {
		t.Errorf("it is %+v, the file %s", done, h.text())
	}
	start(body).refusedAs(http.StatusConflict, message.ServerExists)
	start(`{"name":"My Fault","timeout":60,"command":`+quote(rig.FaultServer(t))+`}`).into(http.StatusOK, &done)
	if done.Server.Key != "my-fault" || done.Server.Name != "My Fault" || !done.Server.Running {
		t.Errorf("it is %+v", done)
	}
	start(`{"server_key":"fault","timeout":0}`).refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	start(`{"command":"x"}`).refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	start(`{"server_key":"fault","command":`+quote(rig.FaultServer(t))+`}`).into(http.StatusOK, nil) // the same one
	start(`{"server_key":"calculator"}`).into(http.StatusOK, &done)
	if !slices.Equal(done.Tools, []string{"calculator"}) {
		t.Errorf("it is %+v", done)
	}
	before := h.text()
	start(`{"server_key":"gone","command":"/nowhere/gone"}`).refusedAs(http.StatusBadGateway, message.CommandNotFound)
	start(`{"server_key":"","command":"x"}`).refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	start(`{"server_key":"nobody"}`).refusedAs(http.StatusNotFound, message.ServerUnknown)
	if h.text() != before {
		t.Errorf("the file is %s", h.text())
	}
}

// Tools are called by their server's key and name.
func TestCompatToolCall(t *testing.T) {
	h := open(t, `{"mcpServers":{"every":{"command":`+quote(rig.FaultServer(t))+`,"tools":{"override":{"echo":{"name":"say"}}}},"off":{"command":"x","enabled":false}}}`)
	call := func(body string) *answer { return h.post("/mcp-test/stdio/tools/call", body) }
	var r api.CompatToolResult
	for _, body := range []string{
		`{"server_key":"lab","tool_name":"echo","arguments":{"a":1}}`, `{"server_key":"lab","tool_name":"lab__echo","arguments":{"a":1}}`,
	} {
		call(body).into(http.StatusOK, &r)
		if !r.Success || firstText(message.English, r.Result) != `{"a":1}` || r.Duration <= 0 || r.Error != "" {
			t.Errorf("%s: %+v", body, r)
		}
	}
	call(`{"server_key":"lab","tool_name":"fail"}`).into(http.StatusOK, &r)
	if r.Success || r.Error != "it did not work" || len(r.Result) == 0 {
		t.Errorf("it is %+v", r)
	}
	call(`{"server_key":"calculator","tool_name":"calculator","arguments":{"expression":"2+3"}}`).into(http.StatusOK, &r)
	if !r.Success || !strings.Contains(firstText(message.English, r.Result), "5") {
		t.Errorf("it is %+v", r)
	}
	if p := call(`{"server_key":"lab","tool_name":"refuse"}`).refusedAs(http.StatusBadGateway, message.ServerRefused); !strings.Contains(p.Error, "not today") {
		t.Errorf("it is %+v", p)
	}
	call(`{"server_key":"lab","tool_name":"nothing"}`).refusedAs(http.StatusNotFound, message.ToolUnknown)
	call(`{"server_key":"nobody","tool_name":"x"}`).refusedAs(http.StatusNotFound, message.ServerUnknown)
	call(`{"server_key":"demo","tool_name":"count"}`).refusedAs(http.StatusConflict, message.ServerDisabled)
	call(`{"server_key":"calculator","tool_name":"lab__echo"}`).refusedAs(http.StatusNotFound, message.ToolUnknown)
	call(`{"server_key":"calculator","tool_name":"calculator","arguments":{}}`).into(http.StatusOK, &r)
	if r.Success || !strings.Contains(r.Error, "/expression") || r.Code != "arguments_invalid" || len(r.Result) == 0 {
		t.Errorf("it is %+v", r)
	}
	for _, body := range []string{
		`{"server_key":"lab","name":"echo","arguments":{"a":1}}`, `{"server_key":"lab","tool_name":"echo","name":"echo","arguments":{"a":1},"session_id":"s","timeout":30}`,
	} {
		call(body).into(http.StatusOK, &r)
		if !r.Success || firstText(message.English, r.Result) != `{"a":1}` {
			t.Errorf("%s: %+v", body, r)
		}
	}
	call(`{"server_key":"lab","tool_name":"hold","timeout":0.05}`).refusedAs(http.StatusGatewayTimeout, message.Timeout)
	for _, body := range []string{
		`{}`, `{"server_key":"lab"}`, `{"server_key":"lab","tool_name":"echo","arguments":[1]}`, `{"server_key":1,"tool_name":"echo"}`,
		`{"server_key":"lab","tool_name":"echo","name":"fail"}`, `{"server_key":"lab","tool_name":"echo","timeout":0}`, `{"server_key":"lab","tool_name":"echo","timeout":3601}`,
		`{"server_key":"lab","tool_name":"echo","timeout":"30"}`, `{"server_key":"lab","tool_name":"echo","session_id":"` + strings.Repeat("x", 129) + `"}`,
	} {
		call(body).refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
}

// A batch tells of each call, and is bounded.
func TestCompatBatch(t *testing.T) {
	h := open(t, "")
	batch := func(calls ...string) *answer {
		return h.post("/mcp-test/stdio/tools/batch", `{"calls":[`+strings.Join(calls, ",")+`]}`)
	}
	const good, bad = `{"server_key":"lab","tool_name":"echo","arguments":{"n":1}}`, `{"server_key":"lab","tool_name":"fail"}`
	var r api.CompatBatchResult
	batch(good, bad, `{"server_key":"lab","tool_name":"refuse"}`, `{"server_key":"nobody","tool_name":"x"}`, good, `{"server_key":"calculator","name":"calculator","arguments":{}}`).into(http.StatusOK, &r)
	if r.Success || r.Total != 6 || r.Passed != 2 || r.Failed != 4 || r.Duration <= 0 || r.Error != "4 of 6 calls failed." {
		t.Errorf("it is %+v", r)
	}
	var codes []string
	for _, one := range r.Results {
		codes = append(codes, fmt.Sprint(one.Success, " ", one.Code, " ", one.Error != ""))
	}
	if want := []string{"true  false", "false  true", "false server_refused true", "false server_unknown true", "true  false", "false arguments_invalid true"}; !slices.Equal(codes, want) {
		t.Errorf("they are %q", codes)
	}
	r = api.CompatBatchResult{}
	batch(good).into(http.StatusOK, &r)
	if !r.Success || r.Error != "" || r.Results[0].ServerKey != "lab" || r.Results[0].ToolName != "echo" || firstText(message.English, r.Results[0].Result) != `{"n":1}` {
		t.Errorf("it is %+v", r)
	}
	batch(slices.Repeat([]string{good}, maxBatch)...).into(http.StatusOK, &r)
	if r.Passed != maxBatch {
		t.Errorf("it is %+v", r)
	}
	batch(slices.Repeat([]string{good}, maxBatch+1)...).refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	batch().refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	var room sizes
	if !room.take(batchResults) || room.take(1) || !room.take(0) {
		t.Error("results are not bounded")
	}
}

// The tools are told in each format, by the names by which they can be called.
func TestCompatContext(t *testing.T) {
	h := open(t, `{"mcpServers":{"fault":{"name":"Fault server","command":`+quote(rig.FaultServer(t))+`},"中文":{"command":`+quote(rig.FaultServer(t))+`}}}`)
	for _, key := range []string{"fault", "%E4%B8%AD%E6%96%87", "calculator", labKey} {
		h.change(http.MethodPost, "/servers/"+key+"/start", "").into(http.StatusOK, nil)
	}
	var tools api.ToolList
	h.get("/tools").into(http.StatusOK, &tools)
	var raw api.CompatTools
	h.get("/host/tools").into(http.StatusOK, &raw)
	if !raw.Success || raw.Total != len(raw.Tools) || len(raw.Tools) != len(tools.Tools) || !tools.Success {
		t.Fatalf("%d tools, %d of them here", len(tools.Tools), raw.Total)
	}
	var openai struct {
		Success bool
		Format  string
		Tools   []api.OpenAITool
		Total   int
	}
	var anthropic struct {
		Format string
		Tools  []api.AnthropicTool
	}
	var plain struct {
		Format string
		Tools  []api.CompatTool
	}
	a := h.get("/mcp-context/tools").into(http.StatusOK, &openai)
	h.get("/mcp-context/tools?format=anthropic").into(http.StatusOK, &anthropic)
	h.get("/mcp-context/tools?format=raw").into(http.StatusOK, &plain)
	for _, format := range []string{"openai", "anthropic", "raw", "system_prompt", "system-prompt"} {
		some, whole := h.get("/mcp-context?format="+format), h.get("/mcp-context/tools?format="+format)
		if some.status != http.StatusOK || string(some.body) != string(whole.body) {
			t.Errorf("%s: %d %.200s, and %.200s", format, some.status, some.body, whole.body)
		}
	}
	if diff := cmp.Diff(raw.Tools, plain.Tools); diff != "" || plain.Format != "raw" || anthropic.Format != "anthropic" || openai.Format != "openai" || openai.Total != raw.Total {
		t.Errorf("the formats differ\n%s", diff)
	}
	callable := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	for i, tool := range tools.Tools {
		want := "[" + raw.Tools[i].ServerName + "] " + tool.Description
		o, n, r := openai.Tools[i], anthropic.Tools[i], raw.Tools[i]
		if o.Type != "function" || o.Function.Name != tool.Name || o.Function.Description != want || n.Name != tool.Name || n.Description != want || r.Name != tool.Name || r.ToolName != tool.Tool {
			t.Errorf("%s: %+v %+v %+v", tool.Name, o, n, r)
		}
		if !callable.MatchString(tool.Name) || string(o.Function.Parameters) != string(n.InputSchema) || string(r.InputSchema) != string(tool.InputSchema) || !json.Valid(n.InputSchema) || n.InputSchema[0] != '{' {
			t.Errorf("%s: %s %s", tool.Name, o.Function.Parameters, n.InputSchema)
		}
	}
	if !strings.Contains(string(a.body), `{"type":"function","function":{"name":"calculator__calculator","description":"[calculator] Evaluates`) {
		t.Errorf("it is %.500s", a.body)
	}
	// Each can be called by its name.
	var result api.ProxyCallResult
	i := slices.IndexFunc(raw.Tools, func(one api.CompatTool) bool { return one.ServerKey == "中文" && one.ToolName == "echo" })
	h.post("/tools/call", `{"toolName":`+quote(raw.Tools[i].Name)+`,"arguments":{"text":"x"}}`).into(http.StatusOK, &result)

	var whole api.CompatContext
	h.get("/mcp-context").into(http.StatusOK, &whole)
	if !whole.Success || len(whole.OpenAI) != whole.Total || len(whole.Anthropic) != whole.Total || len(whole.Tools) != whole.Total {
		t.Errorf("it has %d, %d and %d of %d", len(whole.OpenAI), len(whole.Anthropic), len(whole.Tools), whole.Total)
	}
	markdown := h.do(ask{method: http.MethodGet, path: "/mcp-context/system-prompt", token: h.caller, header: map[string]string{"Accept": "text/markdown, */*"}})
	if kind := markdown.header.Get("Content-Type"); !strings.HasPrefix(kind, "text/markdown") || string(markdown.body) != whole.SystemPrompt {
		t.Errorf("%s: %.300s", kind, markdown.body)
	}
	for _, want := range []string{"# Available tools\n", "\n## Fault server\n", "\n- `calculator__calculator`: Evaluates", "    - `expression` (string, required)"} {
		if !strings.Contains(whole.SystemPrompt, want) {
			t.Errorf("the prompt has no %q:\n%.2000s", want, whole.SystemPrompt)
		}
	}
	var prompt api.CompatPrompt
	h.do(ask{method: http.MethodGet, path: "/mcp-context/system-prompt", header: map[string]string{"Accept": "application/json, text/plain, */*", "Accept-Language": "zh-CN"}}).into(http.StatusOK, &prompt)
	if !prompt.Success || prompt.Total != whole.Total || !strings.Contains(prompt.SystemPrompt, "# 可用工具") || !strings.Contains(prompt.SystemPrompt, "必填") {
		t.Errorf("it is %.500s", prompt.SystemPrompt)
	}
	for _, header := range []map[string]string{nil, {"Accept": "*/*"}} {
		var same api.CompatPrompt
		h.do(ask{method: http.MethodGet, path: "/mcp-context/system-prompt", token: h.caller, header: header}).into(http.StatusOK, &same)
		if !same.Success || same.SystemPrompt != whole.SystemPrompt {
			t.Errorf("%v: it is %.500s", header, same.SystemPrompt)
		}
	}
	h.get("/mcp-context?format=system_prompt").into(http.StatusOK, &prompt)
	if !prompt.Success || prompt.SystemPrompt != whole.SystemPrompt {
		t.Errorf("it is %.500s", prompt.SystemPrompt)
	}
	for _, path := range []string{"/mcp-context/tools?format=xml", "/mcp-context?format=xml"} {
		h.get(path).refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	if got := oneLine("a\n# b\u2028c\r\n\x00" + strings.Repeat("x", 2000)); strings.ContainsAny(got, "\n\r\u2028\x00") || len([]rune(got)) != 1001 {
		t.Errorf("it is %q", got)
	}
	if got := systemPrompt(message.English, nil); !strings.Contains(got, "no tools") {
		t.Errorf("it is %q", got)
	}
}

// A proxy registers, calls, registers something else, and leaves.
func TestProxies(t *testing.T) {
	h := open(t, "")
	register := func(body string) *answer { return h.post("/proxies/register", body) }
	var got api.ProxyRegistered
	a := register(`{"proxyId":"proxy-uuid-1","requiredTools":["datetime__get_current_time","calculator__calculator","nobody__nothing"]}`).into(http.StatusOK, &got)
	if !got.Success || !slices.Equal(got.RegisteredTools, []string{"datetime__get_current_time", "calculator__calculator"}) ||
		!slices.Equal(got.StartedServices, []string{"datetime", "calculator"}) || !slices.Equal(got.UnknownTools, []string{"nobody__nothing"}) {
		t.Errorf("it is %s", a.body)
	}
	var result api.ProxyCallResult
	a = h.post("/tools/call", `{"toolName":"calculator__calculator","arguments":{"expression":"6*7"},"proxyId":"proxy-uuid-1"}`).into(http.StatusOK, &result)
	if !result.Success || !strings.Contains(firstText(message.English, result.Result), "42") || !slices.Equal(membersOf(t, a.body), []string{"result", "success"}) {
		t.Errorf("it is %s", a.body)
	}
	h.post("/tools/call", `{"toolName":"lab__fail","proxyId":"nobody-knows-it"}`).into(http.StatusOK, &result)
	if !result.Success || !strings.Contains(string(result.Result), `"isError":true`) {
		t.Errorf("it is %+v", result)
	}
	// What the hub refuses is no success, and says why for programs, too.
	h.post("/tools/call", `{"toolName":"calculator__calculator","arguments":{},"proxyId":"proxy-uuid-1","timeout":30.5}`).into(http.StatusOK, &result)
	if result.Success || result.Code != "arguments_invalid" || !strings.Contains(result.Error, "/expression") || !strings.Contains(string(result.Result), `"isError":true`) {
		t.Errorf("it is %+v", result)
	}
	register(`{"proxyId":"proxy-uuid-1","requiredTools":["calculator__calculator"]}`).into(http.StatusOK, &got)
	if len(got.StartedServices) != 0 || got.UnknownTools == nil {
		t.Errorf("it is %+v", got)
	}
	var list api.LeaseList
	h.get("/leases").into(http.StatusOK, &list)
	if len(list.Leases) != 1 || list.Leases[0].Server != "calculator" || list.Leases[0].Holder != "proxy:proxy-uuid-1" {
		t.Errorf("the leases are %+v", list.Leases)
	}
	h.post("/proxies/unregister", `{"proxyId":"proxy-uuid-1"}`).into(http.StatusOK, nil)
	var done api.CompatDone
	h.post("/proxies/unregister", `{"proxyId":"proxy-uuid-1"}`).into(http.StatusOK, &done) // once more, and it is as before
	if !done.Success {
		t.Error("it is no success")
	}
	for _, body := range []string{
		`{"requiredTools":[]}`, `{"proxyId":"x"}`, `{"proxyId":"","requiredTools":[]}`, `{"proxyId":"` + strings.Repeat("x", 101) + `","requiredTools":[]}`,
		`{"proxyId":"a\nb","requiredTools":[]}`, `{"proxyId":"x","requiredTools":[""]}`, `{"proxyId":"x","requiredTools":` + tooMany() + `}`,
	} {
		register(body).refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	for _, body := range []string{`{}`, `{"toolName":"lab__echo","arguments":"x"}`, `{"toolName":"lab__echo","proxyId":"a\nb"}`, `{"toolName":"lab__echo","timeout":-1}`, `{"tool":"lab__echo"}`} {
		h.post("/tools/call", body).refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	if p := h.post("/tools/call", `{"toolName":"lab__nothing"}`).refusedAs(http.StatusNotFound, message.ToolUnknown); p.Remedy == "" {
		t.Errorf("it is %+v", p)
	}
	h.do(ask{method: http.MethodPost, path: "/tools/call", body: `{"toolName":"lab__echo"}`, header: map[string]string{"Host": "evil.example"}}).refusedAs(http.StatusForbidden, message.HostRefused)
	// A tool called call is asked for as others are.
	h.get("/tools/call").refused(http.StatusNotFound, message.ToolUnknown)
}

// tooMany is a list of more tools than a proxy may need.
func tooMany() string {
	return `["` + strings.Join(slices.Repeat([]string{"x"}, 1001), `","`) + `"]`
}

// What the rules say to a call is said for programs, too, by each of the paths; the
// result that a model reads is there all the same.
func TestCompatRefusals(t *testing.T) {
	h := open(t, `{"mcpServers":{},"policy":{"rules":[{"effect":"deny","tool":"lab__fail","because":"never"},{"effect":"ask","tool":"lab__echo"}]},"approval":{"hold":"1s"}}`)
	h.enforce()
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	for tool, code := range map[string]message.Code{"fail": message.PolicyDenied, "echo": message.ApprovalPending} {
		var proxied api.ProxyCallResult
		h.post("/tools/call", `{"toolName":"lab__`+tool+`"}`).into(http.StatusOK, &proxied)
		if proxied.Success || proxied.Code != string(code) || proxied.Error == "" || !strings.Contains(string(proxied.Result), `"isError":true`) {
			t.Errorf("%s: a proxy is told %+v", tool, proxied)
		}
		one := `{"server_key":"lab","tool_name":"` + tool + `"}`
		var r api.CompatToolResult
		h.post("/mcp-test/stdio/tools/call", one).into(http.StatusOK, &r)
		if r.Success || r.Code != string(code) || r.Error != proxied.Error || len(r.Result) == 0 {
			t.Errorf("%s: a trial is told %+v", tool, r)
		}
		var all api.CompatBatchResult
		h.post("/mcp-test/stdio/tools/batch", `{"calls":[`+one+`]}`).into(http.StatusOK, &all)
		if got := all.Results[0]; all.Success || all.Error == "" || got.Code != string(code) || got.Error != proxied.Error {
			t.Errorf("%s: a batch is told %+v", tool, all)
		}
		var c api.CallResult
		h.call(`{"tool":"lab__`+tool+`"}`).into(http.StatusOK, &c)
		if c.Code != string(code) || !c.IsError {
			t.Errorf("%s: it is %+v", tool, c)
		}
	}
}

// A tool that failed without a word has an error to be told all the same.
func TestFirstText(t *testing.T) {
	for raw, want := range map[string]string{
		`{"content":[{"type":"image","data":"","mimeType":"x"},{"type":"text","text":""},{"type":"text","text":"so"}],"isError":true}`: "so",
		`{"content":[],"isError":true}`:                 "The tool says that it failed, and does not say why.",
		`{"isError":true}`:                              "The tool says that it failed, and does not say why.",
		`{"content":[{"type":"image"}],"isError":true}`: "The tool says that it failed, and does not say why.",
	} {
		if got := firstText(message.English, []byte(raw)); got != want {
			t.Errorf("%s: %q", raw, got)
		}
	}
}

// What there is none of is empty in every answer, and not null.
func TestCompatHasNoNulls(t *testing.T) {
	h := open(t, `{"mcpServers":{"far":{"url":"https://far.example/mcp","enabled":false},"off":{"command":"x","enabled":false}}}`)
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	for _, path := range []string{
		"/mcp", "/host/servers", "/host/tools", "/host/sessions/-/confirmations", "/mcp-test/stdio/status", "/mcp-context", "/mcp-context/tools",
		"/mcp-context?format=raw", "/mcp-context?format=anthropic", "/tools",
	} {
		if a := h.get(path); a.status != http.StatusOK || strings.Contains(string(a.body), ":null") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for path, body := range map[string]string{
		"/proxies/register": `{"proxyId":"p","requiredTools":[]}`, "/mcp-test/stdio/tools/batch": `{"calls":[{"server_key":"x","tool_name":"y"}]}`,
		"/mcp/config": `{"name":"a","command":"b"}`, "/mcp/off/toggle": `{"enabled":false}`, "/host/servers/stdio/lab/stop": "", "/mcp-test/stdio/start": `{"server_key":"lab"}`,
	} {
		if a := h.change(http.MethodPost, path, body); a.status != http.StatusOK || strings.Contains(string(a.body), ":null") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
