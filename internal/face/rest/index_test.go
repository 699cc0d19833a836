package rest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// robotIndex is an index that another program wrote.
const robotIndex = `{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":[{"server_id":"robot","tools":[` +
	`{"tool_name":"navigate_to","description":"Navigate robot to target position","input_schema":{"x":"float"},"tags":["robot"],"blocking":true,"cost_estimate":"high"}]}]}`

func TestIndex(t *testing.T) {
	h := open(t, `{"mcpServers":{"robot":{"command":"robot"}}}`)
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	var done api.IndexImport
	h.change(http.MethodPost, "/index/import", `{"text":`+quote(strings.Replace(robotIndex, "robot", "lab", 1))+`,"force":true}`).into(http.StatusOK, &done)
	if len(done.Servers) != 0 || !slices.Equal(done.Skipped, []string{"lab"}) {
		t.Errorf("imported %+v", done)
	}
	h.change(http.MethodPost, "/index/import", `{"text":`+quote(robotIndex)+`}`).into(http.StatusOK, &done)
	if !slices.Equal(done.Servers, []string{"robot"}) || len(done.Skipped) != 0 || done.Tools != 1 {
		t.Errorf("imported %+v", done)
	}
	for query, want := range map[string]string{
		"":                              "robot__navigate_to",
		"?server=robot":                 "robot__navigate_to",
		"?tag=robot":                    "robot__navigate_to",
		"?tag=navigation&server=robot":  "robot__navigate_to",
		"?tool=navigate_to":             "robot__navigate_to",
		"?tool=robot__navigate_to":      "robot__navigate_to",
		"?tool=echo":                    "lab__echo",
		"?tool=echo&server=robot":       "",
		"?tag=nothing":                  "",
		"?server=none&tool=navigate_to": "",
	} {
		var index api.Index
		h.get("/index"+query).into(http.StatusOK, &index)
		if found := slices.ContainsFunc(index.Entries, func(e api.IndexEntry) bool { return e.Name == want }); found != (want != "") {
			t.Errorf("%s: found %+v", query, index)
		}
		if query != "" && len(index.Entries) > 1 || index.Entries == nil {
			t.Errorf("%s: found %+v", query, index)
		}
	}
	var index api.Index
	h.get("/index?server=robot").into(http.StatusOK, &index)
	e := index.Entries[0]
	if e.ServerID != "robot" || e.ToolName != "navigate_to" || !slices.Equal(e.Tags, []string{"navigation", "robot"}) || !e.Blocking || e.CostEstimate != "high" ||
		!e.Stale || e.Live || e.LastUpdated.Month() != 1 || string(e.InputSchema) != `{"type":"object","properties":{"x":{"type":"number"}}}` {
		t.Errorf("the entry is %+v", e)
	}
	a := h.get("/index/export").into(http.StatusOK, nil)
	var file struct {
		Version string
		Servers []struct {
			ServerID string `json:"server_id"`
		}
	}
	must(t, json.Unmarshal(a.body, &file))
	if kind := a.header.Get("Content-Type"); kind != "application/json" || file.Version != "1.0.0" || len(file.Servers) < 2 {
		t.Errorf("exported as %s: %s", kind, a.body)
	}

	h.change(http.MethodPost, "/index/import", `{"text":"{}"}`).refused(http.StatusUnprocessableEntity, message.IndexInvalid)
	h.do(ask{method: http.MethodPost, path: "/index/import", body: `{"text":"{}"}`, token: h.caller}).refused(http.StatusForbidden, message.AdminRequired)
	h.get("/index?tag=").refused(http.StatusUnprocessableEntity, message.BodyInvalid)
}

func TestDrift(t *testing.T) {
	h := open(t, `{"mcpServers":{"a":{"command":"a","pinned":true}}}`)
	server, err := h.door.opt.Control.Server("a")
	must(t, err)
	list := func(text string) {
		h.catalog.Listed(server.Definition, hub.Lists{Asked: hub.ListTools, Tools: [][]byte{[]byte(`{"name":"x","description":` + quote(text) + `,"inputSchema":{"type":"object"}}`)}})
	}
	list("reads")
	var drift api.Drift
	h.get("/servers/a/drift").into(http.StatusOK, &drift)
	if drift.Server != "a" || drift.Tools == nil || len(drift.Tools) != 0 {
		t.Errorf("the drift is %+v", drift)
	}
	list("reads all")
	h.get("/servers/a/drift").into(http.StatusOK, &drift)
	if len(drift.Tools) != 1 || drift.Tools[0].Tool != "x" || drift.Tools[0].Change != "changed" || !strings.Contains(drift.Tools[0].Diff, "+| reads all\n") {
		t.Errorf("the drift is %+v", drift)
	}
	h.call(`{"tool":"a__x","arguments":{}}`).refused(http.StatusConflict, message.ToolChanged)
	h.do(ask{method: http.MethodPost, path: "/servers/a/accept", body: `{}`, token: h.caller}).refused(http.StatusForbidden, message.RoleRefused)
	h.change(http.MethodPost, "/servers/a/accept", `{"tools":["y"]}`).refused(http.StatusNotFound, message.ToolUnknown)
	h.change(http.MethodPost, "/servers/a/accept", `{"tools":["x"]}`).into(http.StatusOK, &drift)
	if len(drift.Tools) != 0 {
		t.Errorf("left is %+v", drift)
	}
	h.change(http.MethodPost, "/servers/a/accept", `{}`).into(http.StatusOK, &drift)
	h.get("/servers/none/drift").refused(http.StatusNotFound, message.ServerUnknown)
	h.change(http.MethodPost, "/servers/none/accept", `{}`).refused(http.StatusNotFound, message.ServerUnknown)
}
