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

const ruled = `{"mcpServers":{},"policy":{"modes":{"mcp":"observe"},"defaults":{"medium":"ask"},"secondPerson":true,"rules":[
	{"id":"no","effect":"deny","tool":"lab__fail","risk":["low","medium"],"because":"never"},
	{"id":"big","effect":"ask","server":"lab","door":["rest","mcp"],"when":"has(call.args.n) && call.args.n > 10"},
	{"id":"ours","effect":"allow","role":"operator","tags":"x"}]}}`

// The rules are told as they are in the file, with what holds where none is met.
func TestPolicy(t *testing.T) {
	h := open(t, ruled)
	h.enforce()
	var v api.Policy
	h.change(http.MethodGet, "/policy", "").into(http.StatusOK, &v)
	if v.Version != h.rules.Load().Version() || !v.Given || !v.SecondPerson || v.Modes["mcp"] != "observe" || v.Modes["rest"] != "enforce" || v.Defaults["rest"]["medium"] != "ask" ||
		v.Defaults["rest"]["low"] != "allow" || len(v.Rules) != 3 {
		t.Fatalf("it is %+v", v)
	}
	if r := v.Rules[0]; r.ID != "no" || r.Effect != "deny" || r.Tools[0] != "lab__fail" || len(r.Risks) != 2 || r.Risks[1] != "medium" || r.Because != "never" {
		t.Errorf("it is %+v", r)
	}
	if r := v.Rules[1]; r.Servers[0] != "lab" || len(r.Doors) != 2 || r.When == "" || v.Rules[2].Roles[0] != "operator" || v.Rules[2].Tags[0] != "x" {
		t.Errorf("they are %+v", v.Rules)
	}
	h.do(ask{method: http.MethodGet, path: "/policy", token: h.caller}).refused(http.StatusForbidden, message.RoleRefused)
	h.get("/policy").refused(http.StatusUnauthorized, message.TokenRequired)
}

// What the rules would say to a call is told, and the call is not made.
func TestJudgeCall(t *testing.T) {
	h := open(t, ruled)
	h.enforce()
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	judge := func(body string) *answer { return h.change(http.MethodPost, "/policy/judge", body) }
	for body, want := range map[string]api.PolicyAnswer{
		`{"tool":"lab__fail"}`:                                             {Verdict: "deny", Mode: "enforce", Rule: "no", Because: "never"},
		`{"tool":"lab__echo","arguments":{"n":11}}`:                        {Verdict: "ask", Mode: "enforce", Rule: "big", Persons: 1},
		`{"tool":"lab__echo","arguments":{"n":11},"door":"mcp"}`:           {Verdict: "ask", Mode: "observe", Rule: "big", Persons: 1},
		`{"tool":"lab__echo","arguments":{"n":11},"door":"ws"}`:            {Verdict: "ask", Mode: "enforce", Persons: 1}, // by its risk
		`{"tool":"lab__echo","caller":"ann","role":"viewer"}`:              {Verdict: "ask", Mode: "enforce", Persons: 1},
		`{"tool":"lab__echo","arguments":{"command":"rm -rf /"}}`:          {Verdict: "ask", Mode: "enforce", Persons: 2, SecondPerson: true, Risk: "critical"},
		`{"tool":"calculator__calculator","arguments":{"expression":"1"}}`: {Verdict: "allow", Mode: "enforce", Risk: "low"},
	} {
		if body[9:13] == "calc" {
			h.change(http.MethodPost, "/servers/calculator/start", "").into(http.StatusOK, nil)
		}
		var v api.PolicyAnswer
		judge(body).into(http.StatusOK, &v)
		if v.Verdict != want.Verdict || v.Mode != want.Mode || v.Rule != want.Rule || v.Because != want.Because || v.Persons != want.Persons || v.SecondPerson != want.SecondPerson ||
			want.Risk != "" && v.Risk != want.Risk || v.Risk == "" || v.Version != h.rules.Load().Version() {
			t.Errorf("%s: it is %+v", body, v)
		}
	}
	for body, want := range map[string]struct {
		status int
		code   message.Code
	}{
		`{"tool":"nobody"}`:                           {http.StatusNotFound, message.ToolUnknown},
		`{"tool":"lab__echo","group":"nobody"}`:       {http.StatusNotFound, message.GroupUnknown},
		`{"tool":"lab__echo","arguments":[]}`:         {http.StatusUnprocessableEntity, message.ParamsInvalid},
		`{"tool":"lab__echo","role":"king"}`:          {http.StatusUnprocessableEntity, message.BodyInvalid},
		`{"tool":"lab__echo","door":"window"}`:        {http.StatusUnprocessableEntity, message.BodyInvalid},
		`{"tool":"lab__echo","arguments":{},"now":1}`: {http.StatusUnprocessableEntity, message.BodyInvalid},
	} {
		judge(body).refused(want.status, want.code)
	}
	h.do(ask{method: http.MethodPost, path: "/policy/judge", token: h.caller, body: `{"tool":"lab__echo"}`}).refused(http.StatusForbidden, message.RoleRefused)
	narrow := h.issue("dora", hub.RoleApprover, "server:other")
	h.do(ask{method: http.MethodPost, path: "/policy/judge", token: narrow, body: `{"tool":"lab__echo"}`}).refused(http.StatusNotFound, message.ToolUnknown)
	grouped := h.issue("emma", hub.RoleApprover, "group:other")
	h.do(ask{method: http.MethodPost, path: "/policy/judge", token: grouped, body: `{"tool":"lab__echo"}`}).refused(http.StatusForbidden, message.ScopeRefused)
	var calls api.CallList
	if h.change(http.MethodGet, "/calls?tool=echo", "").into(http.StatusOK, &calls); len(calls.Calls) != 0 {
		t.Errorf("on record is %+v", calls)
	}
}

// Rules about tenants can be tried by who sees all of them, with what the tenant has;
// anybody else asks about the own one.
func TestJudgeCallOfATenant(t *testing.T) {
	h := share(t)
	h.addTenants(acme)
	rules, _, err := h.door.draft([]byte(`{"rules":[{"id":"rivals","effect":"deny","tenant":"zzrival"},{"id":"grouped","effect":"ask","tenant":"acme","group":"acme-group","client":"bot"}]}`))
	must(t, err)
	h.rules.Store(rules)
	for _, test := range []struct {
		as         hub.Role
		of         string // whose
		body, want string
	}{
		{hub.RoleAdmin, "", `{"tool":"hubs__common"}`, `"verdict":"allow"`},
		{hub.RoleOperator, "", `{"tool":"both__common","tenant":"zzrival"}`, `"rule":"rivals"`},
		{hub.RoleAdmin, "", `{"tool":"all__common","tenant":"zzrival"}`, `"rule":"rivals"`},
		{hub.RoleAdmin, "", `{"tool":"all__common","tenant":"zzrival","group":"zzrival-group"}`, `"tool_unknown"`},
		{hub.RoleAdmin, "", `{"tool":"all__common","tenant":"zzrival","group":"acme-group"}`, `"group_unknown"`},
		{hub.RoleAdmin, "", `{"tool":"acmes__common","tenant":"acme"}`, `"verdict":"allow"`},
		{hub.RoleAdmin, "", `{"tool":"acmes__common","tenant":"acme","group":"acme-group","client":"Bot"}`, `"rule":"grouped"`},
		{hub.RoleAdmin, "", `{"tool":"acmes__common","tenant":"zzrival"}`, `"tool_unknown"`},
		{hub.RoleAdmin, "", `{"tool":"hubs__common","tenant":"zzrival"}`, `"tool_unknown"`},
		{hub.RoleAdmin, "", `{"tool":"all__common","tenant":"zznobod"}`, `"tenant_unknown"`},
		{hub.RoleApprover, "", `{"tool":"both__common","tenant":"zzrival"}`, `"role_refused"`},
		{hub.RoleAdmin, acme, `{"tool":"both__common","tenant":"zzrival"}`, `"hubwide_required"`},
		{hub.RoleAdmin, acme, `{"tool":"all__common","tenant":"zznobod"}`, `"hubwide_required"`},
		{hub.RoleApprover, acme, `{"tool":"acmes__common","tenant":"acme"}`, `"verdict":"allow"`},
		{hub.RoleApprover, rival, `{"tool":"both__common"}`, `"rule":"rivals"`},
	} {
		if a := h.ask(who(test.as, test.of), http.MethodPost, "/policy/judge", []byte(test.body), false); !strings.Contains(a.text, test.want) {
			t.Errorf("%s of %q, %s: %+v", test.as, test.of, test.body, a)
		}
	}
}

// A draft is held against the record: what would be judged as before, more strictly
// or less, and of what that cannot be told.
func TestPolicyTest(t *testing.T) {
	h := open(t, "")
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	n := 0
	enter := func(tool, arguments, verdict string, change func(*hub.CallRecord)) {
		t.Helper()
		n++
		r := hub.CallRecord{
			ID: fmt.Sprintf("019ab3c4-0000-7000-8000-%012d", n), Time: time.Now(), Method: "tools/call", Subject: "ann", Door: hub.DoorREST,
			Name: "lab__" + tool, Server: "lab", Tool: tool, Verdict: verdict, Risk: "medium", Outcome: hub.OutcomeOK,
		}
		r.Arguments, r.Digest = h.record.Arguments([]byte(arguments))
		if change != nil {
			change(&r)
		}
		must(t, h.record.Finish(t.Context(), &r))
	}
	enter("echo", `{"n":1}`, "allow", nil)
	enter("echo", `{"n":11}`, "allow", nil)
	enter("echo", `{"n":12}`, "deny", nil)
	enter("fail", `{}`, "ask", nil)
	enter("echo", `{"n":1}`, "", nil)
	enter("gone", `{}`, "allow", nil)
	enter("echo", `{"n":1}`, "allow", func(r *hub.CallRecord) { r.Arguments = "" })

	const draft = `{"defaults":{"medium":"allow"},"rules":[
		{"id":"no","effect":"deny","tool":"lab__fail"},{"id":"big","effect":"ask","server":"lab","when":"call.args.n > 10"},{"id":"gone","effect":"deny","tool":"lab__gone","role":"viewer"}]}`
	var v api.PolicyTestResult
	test := func(body string) *answer { return h.change(http.MethodPost, "/policy/test", body) }
	test(`{"policy":`+draft+`}`).into(http.StatusOK, &v)
	if v.Calls != 7 || v.Same != 1 || v.Stricter != 2 || v.Laxer != 1 || v.Unjudged != 1 || v.CannotTell["absent"] != 1 || v.CannotTell["gone"]+v.CannotTell["role"] != 1 || v.Cut || v.Version == "" {
		t.Errorf("it is %+v", v)
	}
	if v.Now["allow"] != 2 || v.Now["ask"] != 2 || v.Now["deny"] != 1 || len(v.Changes) != 3 {
		t.Errorf("it is %+v", v)
	}
	if c := v.Changes[0]; c.Before != "ask" || c.Now != "deny" || c.Rule != "no" || c.Name != "lab__fail" || c.Subject != "ann" || c.Door != "rest" || c.Mode != "enforce" {
		t.Errorf("the newest change is %+v", c)
	}
	test(`{"limit":2}`).into(http.StatusOK, &v)
	if v.Calls != 2 || !v.Cut || v.Version == "" {
		t.Errorf("two of them: %+v", v)
	}
	test(`{"limit":7}`).into(http.StatusOK, &v)
	if v.Calls != 7 || v.Cut {
		t.Errorf("all of them: %+v", v)
	}
	for body, code := range map[string]message.Code{
		`{"policy":7}`: message.ConfigInvalid,
		`{"policy":{"rules":[{"effect":"deny","when":"call.args.x =="}]}}`: message.ConfigInvalid,
		`{"policy":{"rules":[{"effect":"maybe"}]}}`:                        message.ConfigInvalid,
		`{"since":"yesterday"}`:                                            message.BodyInvalid,
		`{"limit":-1}`:                                                     message.BodyInvalid,
		`{"limit":100001}`:                                                 message.BodyInvalid,
	} {
		test(body).refused(http.StatusUnprocessableEntity, code)
	}
	h.do(ask{method: http.MethodPost, path: "/policy/test", token: h.issue("ada", hub.RoleApprover), body: `{}`}).refused(http.StatusForbidden, message.RoleRefused)
}
