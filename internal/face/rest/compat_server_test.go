package rest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/preset"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// rowsOf are the rows of GET /mcp by their keys.
func (h *house) rowsOf() map[string]api.CompatServer {
	h.t.Helper()
	var list api.CompatServerList
	h.get("/mcp").into(http.StatusOK, &list)
	if !list.Success {
		h.t.Error("it is no success")
	}
	rows := make(map[string]api.CompatServer)
	for _, row := range list.Servers {
		rows[row.Key] = row
	}
	return rows
}

// refusedAs is refused, for a path that other programs know: it also says success
// and error.
func (a *answer) refusedAs(status int, code message.Code) api.Problem {
	a.t.Helper()
	p := a.refused(status, code)
	if p.Success == nil || *p.Success || p.Error == "" || p.Error != p.Detail {
		a.t.Errorf("%s: success and error do not fit: %s", a.asked, a.body)
	}
	return p
}

// members are the names of an object's members.
func membersOf(t *testing.T, raw []byte) []string {
	t.Helper()
	var m map[string]json.RawMessage
	must(t, json.Unmarshal(raw, &m))
	return slices.Sorted(maps.Keys(m))
}

// A fresh hub has its presets in this list and in no other, off, with all members
// of a row.
func TestCompatRows(t *testing.T) {
	h := open(t, "")
	var raw struct{ Servers []json.RawMessage }
	h.get("/mcp").into(http.StatusOK, &raw)
	want := []string{
		"args", "auth_config", "auth_type", "command", "description", "env", "health_check_path", "id", "is_preset", "name", "preset_key",
		"requires_node", "server_key", "server_url", "status", "tools", "transport",
	}
	for _, row := range raw.Servers {
		if diff := cmp.Diff(want, membersOf(t, row)); diff != "" {
			t.Errorf("the members are not those of a row\n%s", diff)
		}
	}
	rows := h.rowsOf()
	every := rows["everything"]
	if diff := cmp.Diff(api.CompatServer{
		ID: compatID("everything"), Key: "everything", PresetKey: "everything", Name: "Everything", Description: every.Description, Transport: "stdio",
		Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-everything@2026.8.31"}, Env: map[string]string{}, Tools: every.Tools,
		Status: "disabled", AuthType: "none", AuthConfig: map[string]string{}, IsPreset: true, RequiresNode: true,
	}, every); diff != "" || every.Description == "" || !slices.Contains(every.Tools, "echo") {
		t.Errorf("the row is wrong (-want +got)\n%s", diff)
	}
	for _, p := range preset.All() {
		row := rows[p.Key]
		if !row.IsPreset || row.PresetKey != p.Key || row.Status != "disabled" || row.RequiresNode != (p.Package != "") || row.ID < 1 || row.ID > 1<<31-1 {
			t.Errorf("%s: %+v", p.Key, row)
		}
	}
	if row := rows["calculator"]; row.Status != "enabled" || row.IsPreset || row.PresetKey != "" || row.RequiresNode || row.Transport != "stdio" {
		t.Errorf("calculator: %+v", row)
	}
	var list api.ServerList
	h.get("/servers").into(http.StatusOK, &list)
	for _, s := range list.Servers {
		if _, is := preset.Find(s.Key); is {
			t.Errorf("%s is a server", s.Key)
		}
	}
	chinese := h.do(ask{method: http.MethodGet, path: "/mcp", header: map[string]string{"Accept-Language": "zh"}})
	if !strings.Contains(string(chinese.body), "和风天气") {
		t.Errorf("the descriptions are %s", chinese.body)
	}
}

// A preset is switched on and off, by key and by id, and not deleted.
func TestCompatToggle(t *testing.T) {
	h := open(t, "")
	var done api.CompatServerDone
	h.change(http.MethodPost, "/mcp/demo/toggle", "").into(http.StatusOK, &done)
	if !done.Success || done.Server.Status != "enabled" || !strings.Contains(h.text(), `"demo"`) {
		t.Errorf("it is %+v, the file %s", done, h.text())
	}
	id := strconv.FormatInt(compatID("demo"), 10)
	h.change(http.MethodPost, "/mcp/"+id+"/toggle", `{"enabled":true}`).into(http.StatusOK, &done)
	if done.Server.Status != "enabled" {
		t.Errorf("it is %+v", done)
	}
	h.change(http.MethodPost, "/host/servers/stdio/demo/start", "").into(http.StatusOK, nil)
	if got := h.rowsOf()["demo"]; !slices.Equal(got.Tools, []string{"count", "delete_note", "list_notes", "show_result", "write_note"}) {
		t.Errorf("the tools are %q", got.Tools)
	}
	h.change(http.MethodPost, "/mcp/"+id+"/toggle", `{}`).into(http.StatusOK, &done)
	if done.Server.Status != "disabled" {
		t.Errorf("it is %+v", done)
	}
	h.change(http.MethodDelete, "/mcp/"+id, "").refusedAs(http.StatusConflict, message.PresetKept)
	h.change(http.MethodDelete, "/mcp/calculator", "").refusedAs(http.StatusConflict, message.PresetKept)
	h.change(http.MethodDelete, "/mcp/context7", "").refusedAs(http.StatusConflict, message.PresetKept)
	h.change(http.MethodPost, "/mcp/nobody/toggle", "").refusedAs(http.StatusNotFound, message.ServerUnknown)
	h.change(http.MethodPost, "/mcp/demo/toggle", `{"on":true}`).refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	for _, a := range []ask{
		{method: http.MethodPost, path: "/mcp/demo/toggle"},
		{method: http.MethodPost, path: "/mcp/config", body: `{"name":"x","command":"y"}`},
		{method: http.MethodPut, path: "/mcp/demo", body: `{}`},
		{method: http.MethodDelete, path: "/mcp/demo"},
		{method: http.MethodPost, path: "/mcp-test/stdio/start", body: `{"server_key":"x","command":"y"}`},
	} {
		h.do(a).refusedAs(http.StatusUnauthorized, message.AdminRequired)
		a.token = h.caller
		h.do(a).refusedAs(http.StatusForbidden, message.AdminRequired)
	}
	h.do(ask{method: http.MethodPatch, path: "/mcp/demo"}).refusedAs(http.StatusMethodNotAllowed, message.HTTPMethodRefused)
}

// A server of one's own is defined, changed member by member, sent back as it came,
// and deleted; its secrets are sealed and nowhere shown.
func TestCompatServersOfOnesOwn(t *testing.T) {
	const secret = "sk-0123456789abcdefghij"
	h := open(t, "")
	var added api.CompatServerAdded
	h.change(http.MethodPost, "/mcp/config", `{"name":"My Server (2)","description":"What it does","transport":"stdio","command":"npx","args":["-y","x@1","--token","`+secret+`"],`+
		`"env":{"API_KEY":"`+secret+`","MODE":"plain","REF":"${env:HOME}"},"status":"disabled","auth_type":"none","auth_config":null,"server_url":""}`).into(http.StatusOK, &added)
	row := added.Server
	want := api.CompatServer{
		ID: compatID("my-server-2"), Key: "my-server-2", Name: "My Server (2)", Description: "What it does", Transport: "stdio", Command: "npx",
		Args:  []string{"-y", "x@1", "--token", config.Unchanged},
		Env:   map[string]string{"API_KEY": "${secret:my-server-2.env.API_KEY}", "MODE": config.Unchanged, "REF": "${env:HOME}"},
		Tools: []string{}, Status: "disabled", AuthType: "none", AuthConfig: map[string]string{}, RequiresNode: true,
	}
	if diff := cmp.Diff(want, row); diff != "" || !added.Success || len(added.Servers) != 1 {
		t.Errorf("the row is wrong (-want +got)\n%s", diff)
	}
	if got, err := h.secrets.Get("my-server-2.env.API_KEY"); err != nil || got != secret {
		t.Errorf("sealed is %q, %v", got, err)
	}
	before := h.text()
	back, err := json.Marshal(row)
	must(t, err)
	var done api.CompatServerDone
	id := "/mcp/" + strconv.FormatInt(row.ID, 10)
	h.change(http.MethodPut, id, string(back)).into(http.StatusOK, &done)
	if diff := cmp.Diff(row, done.Server); diff != "" || h.text() != before {
		t.Errorf("sent back it is another one (-want +got)\n%s\n%s\n%s", diff, before, h.text())
	}
	h.change(http.MethodPut, id, `{"name":"Other","env":{"API_KEY":"${secret:my-server-2.env.API_KEY}","MODE":"${unchanged}","MORE":"x"}}`).into(http.StatusOK, &done)
	if done.Server.Name != "Other" || done.Server.Command != "npx" || len(done.Server.Env) != 3 || !strings.Contains(h.text(), `"MODE": "plain"`) || !strings.Contains(h.text(), secret) {
		t.Errorf("it is %+v, the file %s", done.Server, h.text())
	}
	h.change(http.MethodPut, "/mcp/my-server-2", `{"server_key":"other"}`).refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	h.change(http.MethodPut, "/mcp/my-server-2", `{"status":"on"}`).refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	h.change(http.MethodPut, "/mcp/my-server-2", `{"env":{"NEW":"${unchanged}"}}`).refusedAs(http.StatusUnprocessableEntity, message.ConfigInvalid)
	h.change(http.MethodPost, "/mcp/config", `{"name":"my server 2","command":"x"}`).refusedAs(http.StatusConflict, message.ServerExists)
	h.change(http.MethodDelete, id, "").into(http.StatusOK, nil)
	if _, there := h.rowsOf()["my-server-2"]; there || strings.Contains(h.text(), "my-server-2") {
		t.Errorf("the file is %s", h.text())
	}
	for _, body := range []string{
		`{}`, `{"command":"x"}`, `{"name":"x","transport":"carrier pigeon"}`, `{"name":"x","auth_type":"magic"}`, `{"name":"x","server_url":"https://h/mcp","auth_type":"api_key"}`,
		`{"name":"x","server_key":"a","preset_key":"b"}`, `{"name":"x","created_at":"2026"}`, `{"name":"x","args":"-y"}`, `{"name":null}`, `[]`,
		`{"name":"x","mcpServers":{"y":{"command":"z"}}}`, `{"name":"x","server_url":"https://h/mcp","auth_type":"api_key","auth_config":{"password":"p"}}`,
	} {
		h.change(http.MethodPost, "/mcp/config", body).refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	for _, body := range []string{`{"name":"x"}`, `{"name":"x","command":"y","server_url":"https://h"}`, `{"name":"x","server_url":"gopher://h"}`} {
		p := h.change(http.MethodPost, "/mcp/config", body).refusedAs(http.StatusUnprocessableEntity, message.ConfigInvalid)
		if len(p.Problems) == 0 {
			t.Errorf("%s: no problems", body)
		}
	}
}

// What the seeds have no word for stays when the login is set anew.
func TestCompatLogInKeeps(t *testing.T) {
	for _, c := range []struct {
		was  string
		said map[string]string
		want string
	}{
		{
			`{"oauth":{"grant":"client_credentials","shared":true,"clientId":"a","clientSecret":"x","scopes":["r"]}}`,
			map[string]string{"clientId": "b", "clientSecret": "y", "scope": "w"},
			`{"oauth":{"grant":"client_credentials","shared":true,"clientId":"b","clientSecret":"y","scope":"w"}}`,
		},
		{`{"auth":{"privateKey":"k","CLIENT_ID":"a"}}`, map[string]string{}, `{"auth":{"privateKey":"k"}}`},
		{`{"oauth":{"clientId":"a"}}`, nil, `{"oauth":true}`},
		{`{"oauth":true}`, map[string]string{"clientId": "b"}, `{"oauth":{"clientId":"b"}}`},
		{`{"url":"u"}`, nil, `{"url":"u","oauth":true}`},
	} {
		e := newEntry([]byte(c.was))
		e.logIn(c.said)
		if got := string(e.json()); got != c.want {
			t.Errorf("%s with %v: got %s, want %s", c.was, c.said, got, c.want)
		}
	}
}

// Remote servers are shown keys in each of the ways, which are shown to nobody.
func TestCompatAuth(t *testing.T) {
	const secret = "sk-0123456789abcdefghij"
	h := open(t, "")
	var added api.CompatServerAdded
	var done api.CompatServerDone
	h.change(http.MethodPost, "/mcp/config", `{"server_key":"far","name":"Far","transport":"http","server_url":"https://far.example/mcp?key=`+secret+`","health_check_path":"/health",`+
		`"status":"disabled","auth_type":"api_key","auth_config":{"api_key":"`+secret+`"}}`).into(http.StatusOK, &added)
	row := added.Server
	if row.Transport != "http" || row.ServerURL != "https://far.example/mcp?${unchanged}" || row.HealthCheckPath != "/health" || row.AuthType != "api_key" ||
		!maps.Equal(row.AuthConfig, map[string]string{"api_key": "${secret:far.apiKey}"}) || row.RequiresNode || row.Command != "" {
		t.Errorf("it is %+v", row)
	}
	back, err := json.Marshal(row)
	must(t, err)
	before := h.text()
	h.change(http.MethodPut, "/mcp/far", string(back)).into(http.StatusOK, &done)
	if h.text() != before {
		t.Errorf("sent back it is another one\n%s\n%s", before, h.text())
	}
	h.change(http.MethodPut, "/mcp/far", `{"auth_config":{"api_key":"`+secret+`2","header":"X-API-Key"}}`).into(http.StatusOK, &done)
	if got := done.Server; got.AuthType != "api_key" || got.AuthConfig["header"] != "X-API-Key" || strings.Contains(h.text(), "apiKey") {
		t.Errorf("it is %+v, the file %s", got, h.text())
	}
	h.change(http.MethodPut, "/mcp/far", `{"auth_type":"oauth"}`).into(http.StatusOK, &done)
	if got := done.Server; got.AuthType != "oauth" || strings.Contains(h.text(), "X-API-Key") {
		t.Errorf("it is %+v, the file %s", got, h.text())
	}
	// A secret is of a client at one authorization server, which stays what it was.
	config := map[string]string{"clientId": "me", "clientSecret": "${env:FAR}", "authorizationServer": "https://as.example"}
	for _, said := range []string{
		`{"clientId":"me","clientSecret":"${env:FAR}","authorizationServer":"https://as.example"}`, `{"clientId":"you","clientSecret":"${env:FAR}"}`,
		`{"clientId":"you","clientSecret":"${env:FAR}","authorizationServer":"https://other.example"}`,
		`{"clientId":"you","clientSecret":"${env:FAR}","authorizationServer":""}`,
	} {
		must(t, json.Unmarshal([]byte(said), &config))
		h.change(http.MethodPut, "/mcp/far", `{"auth_config":`+said+`}`).into(http.StatusOK, &done)
		if got := done.Server.AuthConfig; got["authorizationServer"] != config["authorizationServer"] || got["clientId"] != config["clientId"] ||
			config["authorizationServer"] != "" && !strings.Contains(h.text(), config["authorizationServer"]) {
			t.Errorf("%s: it is %v, the file %s", said, got, h.text())
		}
	}
	h.change(http.MethodPut, "/mcp/far", `{"auth_type":"none"}`).into(http.StatusOK, &done)
	if got := done.Server; got.AuthType != "none" || strings.Contains(h.text(), "oauth") || got.ServerURL != row.ServerURL {
		t.Errorf("it is %+v, the file %s", got, h.text())
	}
	h.change(http.MethodPut, "/mcp/far", `{"transport":"stdio","command":"node","args":["x.js"],"server_url":""}`).into(http.StatusOK, &done)
	if got := done.Server; got.Transport != "stdio" || got.ServerURL != "" || !got.RequiresNode {
		t.Errorf("it is %+v, the file %s", got, h.text())
	}
	for _, path := range []string{"/mcp", "/servers", "/servers/far/entry", "/host/servers", "/mcp-test/stdio/status"} {
		if a := h.get(path); strings.Contains(string(a.body), secret) {
			t.Errorf("%s shows it: %s", path, a.body)
		}
	}
	h.change(http.MethodPost, "/host/servers/stdio/far/start", "").refusedAs(http.StatusConflict, message.ServerDisabled)
}

// What presets need is set while they are off; and several servers come at once.
func TestCompatPresetIsSetUp(t *testing.T) {
	h := open(t, "")
	var done api.CompatServerDone
	h.change(http.MethodPut, "/mcp/hefeng", `{"env":{"HEFENG_API_KEY":"0123456789abcdef0123456789abcdef","HEFENG_API_URL":"http://127.0.0.1:9"}}`).into(http.StatusOK, &done)
	if done.Server.Status != "disabled" || !done.Server.IsPreset || done.Server.Env["HEFENG_API_KEY"] != "${secret:hefeng.env.HEFENG_API_KEY}" || done.Server.Description == "" {
		t.Errorf("it is %+v", done.Server)
	}
	h.change(http.MethodPost, "/mcp/hefeng/toggle", "").into(http.StatusOK, &done)
	var r api.CompatToolResult
	h.do(ask{method: http.MethodPost, path: "/mcp-test/stdio/tools/call", body: `{"server_key":"hefeng","tool_name":"get_weather","arguments":{"city":"北京"}}`}).into(http.StatusOK, &r)
	if r.Success || !strings.Contains(r.Error, "QWeather") || strings.Contains(r.Error, "0123456789") || len(r.Result) == 0 {
		t.Errorf("the result is %+v", r)
	}
	var added api.CompatServerAdded
	h.change(http.MethodPost, "/mcp/config", `{"preset_key":"everything","env":{"A":"b"}}`).into(http.StatusOK, &added)
	if got := added.Server; !got.IsPreset || got.Status != "disabled" || got.Command != "npx" || len(got.Env) != 1 {
		t.Errorf("it is %+v", got)
	}
	h.change(http.MethodPost, "/mcp/config", `{"mcpServers":{"one":{"command":"/nowhere/1","disabled":true},"two":{"url":"https://two.example/mcp","disabled":true}}}`).into(http.StatusOK, &added)
	if len(added.Servers) != 2 || added.Servers[1].Key != "two" || added.Servers[1].Status != "disabled" {
		t.Errorf("added were %+v", added.Servers)
	}
	// One that is there stays what it is, and is the same one.
	h.change(http.MethodPost, "/mcp/config", `{"mcpServers":{"one":{"command":"/nowhere/1"},"on":{"command":"/nowhere/on","enabled":true},"new":{"command":"/nowhere/new"},"not":{"command":"/nowhere/not","disabled":false}}}`).into(http.StatusOK, &added)
	var states []string
	for _, row := range added.Servers {
		states = append(states, row.Key+" "+row.Status)
	}
	if want := []string{"one disabled", "on enabled", "new disabled", "not enabled"}; !slices.Equal(states, want) {
		t.Errorf("they are %q", states)
	}
	for _, block := range []string{`[]`, `"x"`, `{"x":1}`} {
		if a := h.change(http.MethodPost, "/mcp/config", `{"mcpServers":`+block+`}`); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", block, a.status, a.body)
		}
	}
	h.change(http.MethodPost, "/mcp/config", `{"mcpServers":{"three":{"command":"x"},"one":{"command":"/nowhere/other"}}}`).refusedAs(http.StatusConflict, message.ServerExists)
	if strings.Contains(h.text(), "three") {
		t.Error("a part of them was defined")
	}
}

// A new server is disabled unless it is said to be enabled.
func TestCompatNewIsDisabled(t *testing.T) {
	h := open(t, "")
	for body, want := range map[string]string{
		`{"name":"a","command":"/nowhere/a"}`:                                "disabled",
		`{"name":"b","command":"/nowhere/b","status":null}`:                  "disabled",
		`{"name":"c","command":"/nowhere/c","status":"disabled"}`:            "disabled",
		`{"name":"d","command":"/nowhere/d","status":"enabled"}`:             "enabled",
		`{"preset_key":"demo"}`:                                              "disabled",
		`{"preset_key":"wttr","status":"enabled"}`:                           "enabled",
		`{"name":"f","server_url":"https://f.example/mcp","status":"error"}`: "disabled",
	} {
		var added api.CompatServerAdded
		h.change(http.MethodPost, "/mcp/config", body).into(http.StatusOK, &added)
		if got := added.Server.Status; got != want && (want != "enabled" || got != "error") { // which it is once it was tried
			t.Errorf("%s: it is %s", body, got)
		}
	}
}

// What a preset runs stays what it is, by every path, and so does the preset; what
// it is set up with changes.
func TestCompatPresetsStay(t *testing.T) {
	h := open(t, `{"mcpServers":{}}`)
	bodies := []string{
		`{"command":"/nowhere/x"}`, `{"args":["-y","@modelcontextprotocol/server-everything@latest"]}`, `{"args":[]}`,
		`{"transport":"http","server_url":"https://h.example/mcp"}`, `{"command":""}`,
	}
	refused := func() {
		t.Helper()
		before := h.text()
		for _, body := range bodies {
			h.change(http.MethodPut, "/mcp/everything", body).refusedAs(http.StatusConflict, message.PresetFixed)
		}
		h.change(http.MethodPut, "/mcp/demo", `{"command":"/nowhere/x"}`).refusedAs(http.StatusConflict, message.PresetFixed)
		if h.text() != before {
			t.Errorf("the file is %s", h.text())
		}
	}
	refused() // while they are off
	h.change(http.MethodPost, "/mcp/config", `{"preset_key":"everything","command":"/nowhere/x"}`).refusedAs(http.StatusConflict, message.PresetFixed)
	h.change(http.MethodPost, "/mcp/config", `{"server_key":"everything","args":["x"]}`).refusedAs(http.StatusConflict, message.PresetFixed)
	for _, key := range []string{"everything", "demo"} {
		h.change(http.MethodPut, "/mcp/"+key, `{"status":"disabled"}`).into(http.StatusOK, nil)
	}
	refused() // and once they have an entry
	h.change(http.MethodPut, "/servers/everything", `{"entry":{"command":"npx","args":["-y","@modelcontextprotocol/server-everything@latest"]}}`).refused(http.StatusConflict, message.PresetFixed)
	h.change(http.MethodPut, "/servers/demo", `{"entry":{"command":"/nowhere/x"}}`).refused(http.StatusConflict, message.PresetFixed)
	for _, key := range []string{"everything", "demo"} {
		h.change(http.MethodDelete, "/servers/"+key, "").refused(http.StatusConflict, message.PresetKept)
	}
	var done api.CompatServerDone
	h.change(http.MethodPut, "/mcp/everything", `{"name":"Mine","env":{"A":"b"},"command":"npx"}`).into(http.StatusOK, &done)
	if got := done.Server; !got.IsPreset || got.PresetKey != "everything" || got.Name != "Mine" || len(got.Env) != 1 || got.Args[1] != "@modelcontextprotocol/server-everything@2026.8.31" {
		t.Errorf("it is %+v", got)
	}
}

// A server that somebody runs under the key of a preset is theirs.
func TestCompatKeyOfPresetIsTaken(t *testing.T) {
	h := open(t, `{"mcpServers":{"everything":{"command":`+quote(rig.FaultServer(t))+`},"demo":{"command":"/nowhere/demo"}}}`)
	rows := h.rowsOf()
	for _, key := range []string{"everything", "demo"} {
		if row := rows[key]; row.IsPreset || row.PresetKey != "" {
			t.Errorf("%+v", row)
		}
	}
	h.change(http.MethodDelete, "/mcp/everything", "").into(http.StatusOK, nil)
	if row := h.rowsOf()["everything"]; !row.IsPreset || row.Status != "disabled" {
		t.Errorf("%+v", row)
	}
	// A key that is the id of another stands for neither.
	clash := strconv.FormatInt(compatID("demo"), 10)
	h.change(http.MethodPost, "/mcp/config", `{"server_key":"`+clash+`","command":"/nowhere"}`).into(http.StatusOK, nil)
	h.change(http.MethodDelete, "/mcp/"+clash, "").refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	h.change(http.MethodDelete, "/mcp/demo", "").into(http.StatusOK, nil)
}

// FuzzKeyOfName holds that every name makes a key, and the same one each time.
func FuzzKeyOfName(f *testing.F) {
	for _, name := range []string{"", "My Server", "天气", "..", "---", "a__b", strings.Repeat("x", 500), "É!1"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		key := keyOfName(name)
		if key == "" || len(key) > 60 || key != keyOfName(name) || strings.ContainsFunc(key, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			t.Errorf("%q: %q", name, key)
		}
	})
}

// FuzzEntry holds that an entry which is read and written says the same.
func FuzzEntry(f *testing.F) {
	f.Add([]byte(`{"command":"x","args":["y"],"env":{"A":"b"}}`), "new")
	f.Add([]byte(`{"disabled":true,"url":"https://x"}`), "")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		var was map[string]json.RawMessage
		if json.Unmarshal(raw, &was) != nil || was == nil {
			t.Skip()
		}
		e := newEntry(raw)
		on := "enabled"
		if err := e.change(&api.CompatServer{Name: text, Status: "disabled"}, &api.CompatServerSet{Name: &text, Status: &on}); err != nil {
			t.Fatal(err)
		}
		var is map[string]json.RawMessage
		if err := json.Unmarshal(e.json(), &is); err != nil {
			t.Fatalf("%s: %v", e.json(), err)
		}
		if string(is["enabled"]) != "true" || is["disabled"] != nil {
			t.Errorf("%s", e.json())
		}
	})
}
