package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// A grant is given for a tool, told to who may decide, and ended once.
func TestGrants(t *testing.T) {
	h := open(t, "")
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	h.addTenants(acme)
	give := func(body string) *answer { return h.change(http.MethodPost, "/grants", body) }
	for body, want := range map[string]struct {
		status int
		code   message.Code
	}{
		`{"tool":"lab__echo","for":"1h","tenant":"acme"}`:                  {http.StatusNotFound, message.ToolUnknown}, // the lab is the hub's alone
		`{"tool":"lab__echo","for":"1h","tenant":"acmé"}`:                  {http.StatusNotFound, message.TenantUnknown},
		`{"tool":"nobody","for":"1h"}`:                                     {http.StatusNotFound, message.ToolUnknown},
		`{"tool":"lab__echo"}`:                                             {http.StatusUnprocessableEntity, message.BodyInvalid},
		`{"tool":"lab__echo","for":"1 h"}`:                                 {http.StatusUnprocessableEntity, message.BodyInvalid},
		`{"tool":"lab__echo","for":"0d"}`:                                  {http.StatusUnprocessableEntity, message.BodyInvalid},
		`{"tool":"lab__echo","for":"721h"}`:                                {http.StatusUnprocessableEntity, message.GrantInvalid},
		`{"tool":"lab__echo","for":"1h","maxRisk":"critical"}`:             {http.StatusUnprocessableEntity, message.GrantInvalid},
		`{"tool":"lab__echo","for":"1h","maxRisk":"none"}`:                 {http.StatusUnprocessableEntity, message.BodyInvalid},
		`{"tool":"lab__echo","for":"1h","members":{}}`:                     {http.StatusUnprocessableEntity, message.BodyInvalid},
		`{"tool":"lab__echo","for":"1h","arguments":{},"members":{"a":1}}`: {http.StatusUnprocessableEntity, message.BodyInvalid},
		`{"tool":"lab__echo","for":"1h","arguments":7}`:                    {http.StatusUnprocessableEntity, message.ParamsInvalid},
		`{"tool":"lab__echo","for":"1h","subject":"admin"}`:                {http.StatusForbidden, message.ApprovalOwn},
	} {
		give(body).refused(want.status, want.code)
		h.change(http.MethodPost, "/grants/preview", body).refused(want.status, want.code)
	}
	h.do(ask{method: http.MethodPost, path: "/grants", token: h.caller, body: `{"tool":"lab__echo","for":"1h"}`}).refused(http.StatusForbidden, message.RoleRefused)

	var g api.Grant
	give(`{"tool":"lab__echo","for":"8h","subject":"ann","members":{"a":{"b":[1]}},"maxRisk":"medium","note":"why"}`).into(http.StatusCreated, &g)
	if g.ID == "" || g.Server != "lab" || g.Tool != "echo" || g.ToolHash == "" || g.Subject != "ann" || string(g.Members["a"]) != `{"b":[1]}` || g.MaxRisk != "medium" ||
		g.Note != "why" || g.By != "admin" || time.Until(g.Expires) > 8*time.Hour || time.Until(g.Expires) < 7*time.Hour || g.Revoked != nil || g.Used != nil {
		t.Errorf("it is %+v", g)
	}
	var exact, anyone api.Grant
	give(`{"tool":"lab__echo","for":"30d","arguments":{"x":1,"y":2}}`).into(http.StatusCreated, &exact)
	give(`{"tool":"lab__echo","for":"1h"}`).into(http.StatusCreated, &anyone)
	if want, err := h.door.opt.Call.Digest([]byte(`{"y":2, "x":1}`)); err != nil || exact.ArgumentsHash != want || exact.Subject != "" || exact.MaxRisk != "high" || anyone.ArgumentsHash != "" {
		t.Errorf("they are %+v and %+v", exact, anyone)
	}
	var list api.GrantList
	h.change(http.MethodGet, "/grants?limit=2", "").into(http.StatusOK, &list)
	if len(list.Grants) != 2 || list.Grants[0].ID != anyone.ID || list.Next != exact.ID {
		t.Errorf("there are %+v", list)
	}
	h.change(http.MethodGet, "/grants?limit=2&cursor="+list.Next, "").into(http.StatusOK, &list)
	if len(list.Grants) != 1 || list.Grants[0].ID != g.ID || list.Next != "" {
		t.Errorf("there are %+v", list)
	}
	h.do(ask{method: http.MethodGet, path: "/grants", token: h.caller}).refused(http.StatusForbidden, message.RoleRefused)

	h.change(http.MethodDelete, "/grants/"+g.ID, "").into(http.StatusNoContent, nil)
	h.change(http.MethodDelete, "/grants/"+g.ID, "").refused(http.StatusNotFound, message.GrantUnknown)
	h.change(http.MethodDelete, "/grants/nothing", "").refused(http.StatusNotFound, message.GrantUnknown)
	narrow := h.issue("dora", hub.RoleApprover, "server:other")
	h.do(ask{method: http.MethodDelete, path: "/grants/" + exact.ID, token: narrow}).refused(http.StatusNotFound, message.GrantUnknown)
	if h.change(http.MethodGet, "/grants", "").into(http.StatusOK, &list); len(list.Grants) != 2 {
		t.Errorf("there are %+v", list)
	}
	h.change(http.MethodGet, "/grants?all=true", "").into(http.StatusOK, &list)
	if len(list.Grants) != 3 || list.Grants[2].Revoked == nil || list.Grants[2].Revoker != "admin" {
		t.Errorf("there are %+v", list)
	}
}

// What a grant lets pass asks nobody, and is found with that in the record.
func TestGranted(t *testing.T) {
	h := open(t, `{"mcpServers":{},"policy":{"rules":[{"id":"ask","effect":"ask","server":"lab"}]}}`)
	h.enforce()
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	var g api.Grant
	h.change(http.MethodPost, "/grants", `{"tool":"lab__echo","for":"1h","members":{"a":1}}`).into(http.StatusCreated, &g)
	var result api.CallResult
	h.call(`{"tool":"lab__echo","arguments":{"a":1,"b":2}}`).into(http.StatusOK, &result)
	if result.IsError {
		t.Errorf("it is %s", result.Result)
	}
	var calls api.CallList
	h.change(http.MethodGet, "/calls?tool=echo", "").into(http.StatusOK, &calls)
	if len(calls.Calls) != 1 || calls.Calls[0].Grant != g.ID || calls.Calls[0].Approval != "" {
		t.Errorf("on record is %+v", calls.Calls)
	}
	// No grant covers calls of who gave it.
	h.do(ask{method: http.MethodPost, path: "/calls", token: h.admin, body: `{"tool":"lab__echo","arguments":{"a":1},"timeout":"50ms"}`}).into(http.StatusOK, &result)
	if !result.IsError || !strings.Contains(string(result.Result), "approve") {
		t.Errorf("it is %s", result.Result)
	}
}

// A preview counts what a grant would have covered, and apart from that of what the
// record cannot tell.
func TestPreviewGrant(t *testing.T) {
	h := open(t, "")
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	n := 0
	enter := func(change func(*hub.CallRecord), arguments string) {
		t.Helper()
		n++
		r := hub.CallRecord{
			ID: fmt.Sprintf("019ab3c4-0000-7000-8000-%012d", n), Time: time.Now(), Method: "tools/call", Subject: "ann", Door: hub.DoorMCP,
			Name: "lab__echo", Server: "lab", Tool: "echo", Verdict: "ask", Risk: "high", Outcome: hub.OutcomeOK,
		}
		r.Arguments, r.Digest = h.record.Arguments([]byte(arguments))
		if change != nil {
			change(&r)
		}
		must(t, h.record.Finish(t.Context(), &r))
	}
	enter(nil, `{"path":"/tmp/a","n":1}`)
	enter(nil, `{"n": 1, "path": "/tmp/a"}`)
	enter(func(r *hub.CallRecord) { r.Risk = "critical" }, `{"path":"/tmp/a","n":1}`)
	enter(func(r *hub.CallRecord) { r.Risk = "" }, `{"path":"/tmp/a","n":1}`)
	enter(func(r *hub.CallRecord) { r.Subject = "admin" }, `{"path":"/tmp/a","n":1}`) // who gives it
	enter(func(r *hub.CallRecord) { r.Subject, r.Risk = "bob", "low" }, `{"path":"/tmp/b"}`)
	enter(func(r *hub.CallRecord) { r.Arguments = "" }, `{"path":"/tmp/a","n":1}`) // not kept
	enter(nil, `{"path":"/tmp/c","password":"hunter2"}`)
	enter(nil, `{}`)
	enter(func(r *hub.CallRecord) { r.Tool = "fail" }, `{"path":"/tmp/a","n":1}`)
	enter(func(r *hub.CallRecord) { r.Tenant = "acme" }, `{"path":"/tmp/a","n":1}`)

	type counts struct{ calls, covered, absent, hidden, risk int }
	for body, want := range map[string]counts{
		`{"tool":"lab__echo","for":"1h"}`:                                            {9, 6, 0, 0, 1},
		`{"tool":"lab__echo","for":"1h","maxRisk":"low"}`:                            {9, 1, 0, 0, 1},
		`{"tool":"lab__echo","for":"1h","subject":"ann"}`:                            {7, 5, 0, 0, 1},
		`{"tool":"lab__echo","for":"1h","subject":"nobody"}`:                         {0, 0, 0, 0, 0},
		`{"tool":"lab__echo","for":"1h","arguments":{"path":"/tmp/a","n":1}}`:        {9, 3, 0, 0, 1},
		`{"tool":"lab__echo","for":"1h","arguments":{}}`:                             {9, 1, 0, 0, 0},
		`{"tool":"lab__echo","for":"1h","members":{"path":"/tmp/a"}}`:                {9, 2, 1, 0, 1},
		`{"tool":"lab__echo","for":"1h","members":{"password":"hunter2"}}`:           {9, 0, 1, 1, 0},
		`{"tool":"lab__echo","for":"1h","members":{"password":"x","path":"/tmp/b"}}`: {9, 0, 1, 0, 0},
	} {
		var v api.GrantPreview
		h.change(http.MethodPost, "/grants/preview", body).into(http.StatusOK, &v)
		got := counts{v.Calls, v.Covered, v.CannotTell["absent"], v.CannotTell["hidden"], v.CannotTell["risk"]}
		if got != want || len(v.Examples) != want.covered || v.Cut || time.Since(v.Since) < 6*24*time.Hour {
			t.Errorf("%s: %+v, want %+v; examples %d", body, got, want, len(v.Examples))
		}
	}
	var list api.GrantList
	if h.change(http.MethodGet, "/grants", "").into(http.StatusOK, &list); len(list.Grants) != 0 {
		t.Errorf("a preview gives %+v", list)
	}
}
