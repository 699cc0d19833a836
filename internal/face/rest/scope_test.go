package rest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// tally is whose calls of which servers the record tells of to a token.
func (h *house) tally(token string) map[string]int {
	h.t.Helper()
	var list api.CallList
	h.do(ask{method: http.MethodGet, path: "/calls?limit=500", token: token}).into(http.StatusOK, &list)
	all := make(map[string]int)
	for _, c := range list.Calls {
		all[c.Subject+" "+c.Server]++
	}
	return all
}

// A token with a scope is told what is on record of the servers within it alone:
// in lists, by id, in figures, in exports, in states, in events and among requests.
func TestTheRecordWithinAScope(t *testing.T) {
	h := open(t, "")
	call := func(token, body string) { h.do(ask{method: http.MethodPost, path: "/calls", token: token, body: body}) }
	lab, sum := `{"tool":"lab__fail","session":"l","arguments":{}}`, `{"tool":"calculator__calculator","session":"c","arguments":{"expression":"1/0/"}}`
	ann, bob := h.issue("ann", hub.RoleCaller), h.issue("bob", hub.RoleCaller)
	for _, token := range []string{ann, bob} {
		for _, body := range []string{lab, sum, `{"tool":"none__such"}`} {
			call(token, body)
		}
	}
	for _, key := range []string{"lab", "calculator"} {
		h.change(http.MethodPost, "/servers/"+key+"/stop", "").into(http.StatusOK, nil)
	}
	for _, server := range []string{"lab", "calculator"} {
		asking := approval.Asking{Shown: `{}`}
		asking.Subject, asking.Door, asking.Method, asking.Name = "ann", hub.DoorREST, "tools/call", server+"__x"
		asking.Server, asking.Tool, asking.ToolHash, asking.ArgumentsHash, asking.Persons = server, "x", "h", "a", 1
		_, err := h.door.opt.Approvals.Ask(t.Context(), asking)
		must(t, err)
	}
	var outside api.CallList
	h.change(http.MethodGet, "/calls?server=calculator", "").into(http.StatusOK, &outside)
	if len(outside.Calls) != 2 {
		t.Fatalf("there are %d calls", len(outside.Calls))
	}
	annScoped, operator := h.issue("ann", hub.RoleCaller, "server:lab"), h.issue("olga", hub.RoleOperator, "server:lab")
	admin := h.issue("root", hub.RoleAdmin, "server:lab")
	for _, c := range []struct {
		name, token string
		calls       map[string]int
		states      int
	}{
		{"a caller", ann, map[string]int{"ann lab": 1, "ann calculator": 1, "ann ": 1}, 3},
		{"a caller within a scope", annScoped, map[string]int{"ann lab": 1}, 1},
		{"an operator within a scope", operator, map[string]int{"ann lab": 1, "bob lab": 1}, 2},
		{"an administrator within a scope", admin, map[string]int{"ann lab": 1, "bob lab": 1}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			get := func(path string) *answer { return h.do(ask{method: http.MethodGet, path: path, token: c.token}) }
			got, total := h.tally(c.token), 0
			for key, n := range c.calls {
				total += n
				if got[key] != n {
					t.Errorf("of %q there are %d calls, not %d", key, got[key], n)
				}
			}
			if len(got) != len(c.calls) {
				t.Errorf("the record tells of %v", got)
			}
			var a api.Analysis
			get("/analysis").into(http.StatusOK, &a)
			if a.Total.Calls != int64(total) {
				t.Errorf("the figures are of %d calls, not %d", a.Total.Calls, total)
			}
			var states api.CallStateList
			if get("/states").into(http.StatusOK, &states); len(states.States) != c.states {
				t.Errorf("there are %d states, not %d", len(states.States), c.states)
			}
			if c.token == ann {
				return
			}
			for _, one := range outside.Calls {
				get("/calls/"+one.ID).refused(http.StatusNotFound, message.CallUnknown)
			}
			for _, path := range []string{"/calls?server=calculator", "/approvals", "/analysis?by=hour", "/states"} {
				if got := get(path); got.status != http.StatusOK || strings.Contains(string(got.body), "calculator") {
					t.Errorf("%s: %d %s", path, got.status, got.body)
				}
			}
			resp := h.open(t.Context(), ask{method: http.MethodGet, path: "/events?after=1&kinds=call.ended,call.state,approval.changed,server.changed", token: c.token})
			events := read(t, resp)
			for {
				e, ok := events.next()
				if !ok {
					t.Fatal("the stream has ended")
				}
				if strings.Contains(e.data, "calculator") {
					t.Errorf("an event tells: %s", e.data)
				}
				if e.name == api.KindServerChanged && strings.Contains(e.data, "stopped") {
					break // the last of what has happened
				}
			}
			_ = resp.Body.Close()
		})
	}
	// Who may see what was done sees what was done to the server, and an export has
	// no more.
	for _, token := range []string{operator, admin} {
		var acts api.ActList
		h.do(ask{method: http.MethodGet, path: "/audit/acts", token: token}).into(http.StatusOK, &acts)
		if len(acts.Acts) != 1 || acts.Acts[0].Server != "lab" {
			t.Errorf("the acts are %+v", acts.Acts)
		}
	}
	for _, format := range []string{"jsonl", "csv"} {
		export := h.do(ask{method: http.MethodGet, path: "/audit/export?format=" + format, token: admin}).into(http.StatusOK, nil)
		if text := string(export.body); strings.Contains(text, "calculator") || strings.Contains(text, "none__such") || !strings.Contains(text, "lab") {
			t.Errorf("the export is %s", text)
		}
	}
	// What is not within it is made again for nobody.
	h.do(ask{method: http.MethodPost, path: "/states/c/retry", token: annScoped}).refused(http.StatusConflict, message.StateNotFailed)
	h.do(ask{method: http.MethodDelete, path: "/states/c", token: annScoped}).into(http.StatusNoContent, nil)
	if s := h.state("c", ann); s.Status == "idle" {
		t.Error("somebody has cleared a state that is not his to see")
	}
}

// A token that was revoked with another one is an act of its own.
func TestRevokedWithItsMaker(t *testing.T) {
	h := open(t, "")
	made := func(token, body string) api.TokenGrant {
		t.Helper()
		var grant api.TokenGrant
		h.do(ask{method: http.MethodPost, path: "/tokens", token: token, body: body}).into(http.StatusCreated, &grant)
		return grant
	}
	first := made(h.admin, `{"subject":"boss","role":"admin","expires":"1d"}`)
	h.do(ask{method: http.MethodPost, path: "/tokens", token: first.Secret, body: `{"subject":"x","expires":"2d"}`}).refused(http.StatusForbidden, message.GrantRefused)
	second := made(first.Secret, `{"subject":"deputy","role":"admin"}`)
	third := made(second.Secret, `{"subject":"third"}`)
	if second.Token.Parent != first.Token.ID || first.Token.Expires.Sub(*third.Token.Expires).Abs() > time.Millisecond {
		t.Errorf("made by it is %+v", second.Token)
	}
	h.change(http.MethodDelete, "/tokens/"+first.Token.ID, "").into(http.StatusNoContent, nil)
	h.do(ask{method: http.MethodGet, path: "/me", token: third.Secret}).refused(http.StatusUnauthorized, message.TokenExpired)
	var acts api.ActList
	h.change(http.MethodGet, "/audit/acts?operation=revokeToken", "").into(http.StatusOK, &acts)
	told := make(map[string]bool)
	for _, a := range acts.Acts {
		told[a.Target] = true
	}
	with := " with=" + first.Token.ID
	if len(acts.Acts) != 3 || !told["id="+first.Token.ID] || !told["id="+second.Token.ID+with] || !told["id="+third.Token.ID+with] {
		text, _ := json.Marshal(acts.Acts)
		t.Errorf("on record is %s", text)
	}
}

// Nobody agrees to a call of their own by a token under another name that they have
// made themselves, whichever of their tokens they asked with.
func TestOwnByAnotherName(t *testing.T) {
	h := open(t, "")
	boss, again := h.issue("boss", hub.RoleAdmin), h.issue("boss", hub.RoleAdmin)
	var grant api.TokenGrant
	h.do(ask{method: http.MethodPost, path: "/tokens", token: boss, body: `{"subject":"mask","role":"approver"}`}).into(http.StatusCreated, &grant)
	for _, with := range []string{boss, again} {
		var me api.Me
		h.do(ask{method: http.MethodGet, path: "/me", token: with}).into(http.StatusOK, &me)
		asking := approval.Asking{Shown: `{}`}
		asking.Subject, asking.Token, asking.Door, asking.Method, asking.Name = "boss", me.Token, hub.DoorREST, "tools/call", "lab__echo"
		asking.Server, asking.Tool, asking.ToolHash, asking.ArgumentsHash, asking.Persons = "lab", "echo", "h", me.Token, 1
		q, err := h.door.opt.Approvals.Ask(t.Context(), asking)
		must(t, err)
		h.decide(grant.Secret, q.ID, "approve", "").refused(http.StatusForbidden, message.ApprovalOwn)
		h.decide(h.issue("ada", hub.RoleApprover), q.ID, "approve", "").into(http.StatusOK, nil)
	}
}
