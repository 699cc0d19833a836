package rest

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
)

// enforce has calls be judged by the policy of the configuration.
func (h *house) enforce() {
	h.t.Helper()
	rules, faults := policy.Compile(h.door.opt.Control.Source().Config.Policy)
	if len(faults) > 0 {
		h.t.Fatal(faults)
	}
	h.rules.Store(rules)
}

// issue makes a token of the hub itself.
func (h *house) issue(subject string, role hub.Role, scope ...string) string {
	h.t.Helper()
	text, _, err := h.book.Issue(context.Background(), hub.Principal{Subject: "admin", Role: hub.RoleAdmin}, auth.Wanted{Subject: subject, Role: role, Scopes: scope})
	must(h.t, err)
	return text
}

// decide decides about a request with a token.
func (h *house) decide(token, id, how, body string) *answer {
	h.t.Helper()
	return h.do(ask{method: http.MethodPost, path: "/approvals/" + id + "/" + how, token: token, body: body})
}

// A request is told in all its members to who may decide, without its arguments in
// lists, and to who has asked; to nobody else.
func TestApprovalsAreTold(t *testing.T) {
	h := open(t, "")
	q := h.pending("ann", hub.SessionRef("s"), `{"path":"/tmp/a"}`, 2)
	h.pending("bob", "", `{}`, 1)
	var list api.ApprovalList
	get := func(token, query string) []api.Approval {
		t.Helper()
		h.do(ask{method: http.MethodGet, path: "/approvals?" + query, token: token}).into(http.StatusOK, &list)
		return list.Approvals
	}
	all := get(h.admin, "")
	if len(all) != 2 || all[0].Subject != "bob" || all[1].ID != q.ID || all[1].Arguments != nil || string(all[1].Shown) != `{"path":"/tmp/a"}` {
		t.Fatalf("there are %+v", all)
	}
	for query, n := range map[string]int{
		"status=pending": 2, "status=approved,edited,rejected": 0, "server=lab": 2, "server=other": 0, "tool=echo": 2, "tool=lab__echo": 0,
		"subject=ann": 1, "subject=nobody": 0, "limit=1": 1,
	} {
		if got := get(h.admin, query); len(got) != n {
			t.Errorf("%s: %d, want %d", query, len(got), n)
		}
	}
	get(h.admin, "limit=1")
	if next := get(h.admin, "limit=1&cursor="+list.Next); len(next) != 1 || next[0].ID != q.ID || list.Next != "" {
		t.Errorf("after the first there are %+v", list)
	}
	for _, wrong := range []string{"status=maybe", "limit=0", "limit=501", "what=1"} {
		h.change(http.MethodGet, "/approvals?"+wrong, "").refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	}

	var one api.Approval
	h.change(http.MethodGet, "/approvals/"+q.ID, "").into(http.StatusOK, &one)
	if one.Status != "pending" || one.Subject != "ann" || one.Door != "mcp" || one.Session != hub.SessionRef("s") || one.Method != "tools/call" || one.Name != "lab__echo" ||
		one.Server != "lab" || one.Tool != "echo" || one.ToolHash != q.ToolHash || one.Hash != q.Hash || one.Risk != "high" || strings.Join(one.Reasons, ",") != "one reason,another" ||
		one.Warning != "careful" || one.Persons != 2 || one.Confirmations != 0 || len(one.Decisions) != 0 || !one.Expires.After(one.Created) {
		t.Errorf("it is %+v", one)
	}
	if string(one.Arguments) != `{"path":"/tmp/a"}` || !strings.Contains(string(one.Definition), `"name":"echo"`) || one.ToolChanged || one.Hidden || one.Edited != nil {
		t.Errorf("it is %+v", one)
	}

	ann, carl := h.issue("ann", hub.RoleCaller), h.issue("carl", hub.RoleViewer)
	if own := get(ann, ""); len(own) != 1 || own[0].ID != q.ID {
		t.Errorf("ann sees %+v", own)
	}
	h.do(ask{method: http.MethodGet, path: "/approvals/" + q.ID, token: ann}).into(http.StatusOK, &one)
	if string(one.Arguments) != `{"path":"/tmp/a"}` {
		t.Errorf("ann is told %+v", one)
	}
	if others := get(carl, ""); len(others) != 0 {
		t.Errorf("carl sees %+v", others)
	}
	h.do(ask{method: http.MethodGet, path: "/approvals/" + q.ID, token: carl}).refused(http.StatusNotFound, message.ApprovalUnknown)
	// A token that is for another server is for no call of this one.
	narrow := h.issue("dora", hub.RoleApprover, "server:other")
	if others := get(narrow, ""); len(others) != 0 {
		t.Errorf("dora sees %+v", others)
	}
	h.decide(narrow, q.ID, "approve", "").refused(http.StatusNotFound, message.ApprovalUnknown)
}

// A tool that is described otherwise by now is told of.
func TestApprovalOfAChangedTool(t *testing.T) {
	h := open(t, "")
	q := h.pending("ann", "", `{}`, 1)
	s, err := h.door.opt.Control.Server(labKey)
	must(t, err)
	h.catalog.Listed(s.Definition, hub.Lists{Asked: hub.ListTools, Tools: [][]byte{[]byte(`{"name":"echo","description":"now it deletes","inputSchema":{"type":"object"}}`)}})
	var one api.Approval
	h.change(http.MethodGet, "/approvals/"+q.ID, "").into(http.StatusOK, &one)
	if !one.ToolChanged || !strings.Contains(string(one.Definition), "now it deletes") {
		t.Errorf("it is %+v", one)
	}
	h.decide(h.admin, q.ID, "edit", `{"arguments":{}}`).refused(http.StatusConflict, message.ApprovalStale)
	h.catalog.Listed(s.Definition, hub.Lists{Asked: hub.ListTools})
	h.change(http.MethodGet, "/approvals/"+q.ID, "").into(http.StatusOK, &one)
	if !one.ToolChanged || one.Definition != nil || one.Status != "pending" {
		t.Errorf("it is %+v", one)
	}
}

// Who may decide decides, once, and not about calls of their own.
func TestDecide(t *testing.T) {
	h := open(t, "")
	ann, approver := h.issue("ann", hub.RoleApprover), h.issue("ada", hub.RoleApprover)
	q := h.pending("ann", "", `{"a":1}`, 1)
	for _, how := range []string{"approve", "reject"} {
		h.decide("", q.ID, how, "").refused(http.StatusUnauthorized, message.TokenRequired)
		h.decide(h.caller, q.ID, how, "").refused(http.StatusForbidden, message.RoleRefused)
		h.decide(ann, q.ID, how, "").refused(http.StatusForbidden, message.ApprovalOwn)
		h.decide(approver, nobody, how, "").refused(http.StatusNotFound, message.ApprovalUnknown)
		h.decide(approver, q.ID, how, `{"note":"`+strings.Repeat("x", 2001)+`"}`).refused(http.StatusUnprocessableEntity, message.ApprovalInvalid)
		h.decide(approver, q.ID, how, `{"because":"x"}`).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	h.decide(approver, q.ID, "approve", `{"saw":"others"}`).refused(http.StatusConflict, message.ApprovalChanged)
	h.decide(approver, q.ID, "approve", `{"confirmation":2}`).refused(http.StatusConflict, message.ApprovalConfirm)
	var one api.Approval
	h.decide(approver, q.ID, "approve", `{"note":"fine","saw":"`+q.Hash+`"}`).into(http.StatusOK, &one)
	if one.Status != "approved" || one.Confirmations != 1 || len(one.Decisions) != 1 || one.Decisions[0].By != "ada" || one.Decisions[0].Kind != "approve" ||
		one.Decisions[0].Note != "fine" || one.Decisions[0].Door != "rest" || one.Decisions[0].Hash != q.Hash || one.Taken != "" {
		t.Errorf("it is %+v", one)
	}
	p := h.decide(h.admin, q.ID, "reject", "").refused(http.StatusConflict, message.ApprovalDecided)
	if !strings.Contains(p.Detail, "ada") {
		t.Errorf("it is told %s", p.Detail)
	}

	q = h.pending("ann", "", `{"a":2}`, 1)
	h.decide(approver, q.ID, "reject", `{"note":"not today"}`).into(http.StatusOK, &one)
	if one.Status != "rejected" || one.Confirmations != 0 || one.Decisions[0].Note != "not today" {
		t.Errorf("it is %+v", one)
	}
	for _, how := range []string{"approve", "reject"} {
		h.decide(approver, q.ID, how, "").refused(http.StatusConflict, message.ApprovalDecided)
	}
	h.decide(approver, q.ID, "edit", `{"arguments":{}}`).refused(http.StatusConflict, message.ApprovalDecided)
}

// Of several that decide at once one wins, and the others are told.
func TestFirstDecisionWins(t *testing.T) {
	h := open(t, "")
	q := h.pending("ann", "", `{}`, 1)
	const deciders = 8
	var all sync.WaitGroup
	answers := make([]*answer, deciders)
	for i := range deciders {
		all.Go(func() {
			answers[i] = h.decide(h.admin, q.ID, []string{"approve", "reject", "edit"}[i%3], []string{"", "", `{"arguments":{"b":1}}`}[i%3])
		})
	}
	all.Wait()
	won := 0
	for _, a := range answers {
		if a.status == http.StatusOK {
			won++
			continue
		}
		a.refused(http.StatusConflict, message.ApprovalDecided)
	}
	if won != 1 {
		t.Errorf("%d have won", won)
	}
}

// A critical call needs two agreements, each of which is meant as such, to the same
// arguments.
func TestDecideTwice(t *testing.T) {
	h := open(t, "")
	q := h.pending("ann", "", `{"a":1}`, 2)
	var one api.Approval
	h.decide(h.admin, q.ID, "approve", "").into(http.StatusOK, &one)
	if one.Status != "pending" || one.Confirmations != 1 {
		t.Errorf("it is %+v", one)
	}
	h.decide(h.admin, q.ID, "approve", "").refused(http.StatusConflict, message.ApprovalConfirm)
	h.decide(h.admin, q.ID, "approve", `{"confirmation":2}`).refused(http.StatusConflict, message.ApprovalChanged)
	h.decide(h.admin, q.ID, "approve", `{"confirmation":3}`).refused(http.StatusConflict, message.ApprovalConfirm)
	// Other arguments begin anew: the edit is the first agreement to them.
	h.decide(h.admin, q.ID, "edit", `{"arguments":{"a":2},"confirmation":2}`).into(http.StatusOK, &one)
	if one.Status != "pending" || one.Confirmations != 1 || len(one.Decisions) != 2 || one.Hash == q.Hash || string(one.Edited) != `{"a":2}` || string(one.Arguments) != `{"a":1}` {
		t.Errorf("it is %+v", one)
	}
	h.decide(h.admin, q.ID, "approve", `{"confirmation":2,"saw":"`+q.Hash+`"}`).refused(http.StatusConflict, message.ApprovalChanged)
	h.decide(h.admin, q.ID, "approve", `{"confirmation":2,"saw":"`+one.Hash+`"}`).into(http.StatusOK, &one)
	if one.Status != "edited" || one.Confirmations != 2 {
		t.Errorf("it is %+v", one)
	}
}

// strict is a server whose tool takes a path, and a rule that forbids one.
const strict = `{"mcpServers":{"box":{"command":"./none"}},
	"policy":{"rules":[{"id":"etc","effect":"deny","server":"box","when":"call.args.path.startsWith('/etc')","because":"not there"}]}}`

// boxed is a house with a request for a call of the strict server's tool.
func boxed(t *testing.T) (*house, approval.Request) {
	t.Helper()
	h := open(t, strict)
	h.enforce()
	s, err := h.door.opt.Control.Server("box")
	must(t, err)
	h.catalog.Listed(s.Definition, hub.Lists{Asked: hub.ListTools, Tools: [][]byte{
		[]byte(`{"name":"write_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}`),
	}})
	e, ok := h.catalog.Snapshot().Resolve("box__write_file")
	if !ok {
		t.Fatal("there is no box__write_file")
	}
	asking := approval.Asking{Arguments: []byte(`{"path":"/tmp/a"}`), Shown: `{"path":"/tmp/a"}`}
	asking.Subject, asking.Door, asking.Method, asking.Name, asking.Server, asking.Tool = "caller", hub.DoorREST, "tools/call", "box__write_file", "box", "write_file"
	asking.ToolHash, asking.Risk, asking.Persons, asking.Policy = h.door.opt.Call.ToolHash(e), hub.RiskHigh, 1, h.rules.Load().Version()
	asking.ArgumentsHash, err = h.door.opt.Call.Digest(asking.Arguments)
	must(t, err)
	q, err := h.door.opt.Approvals.Ask(t.Context(), asking)
	must(t, err)
	return h, q
}

// Other arguments that the tool would not take, or that a rule denies, decide
// nothing.
func TestEditIsChecked(t *testing.T) {
	h, q := boxed(t)
	for body, want := range map[string]struct {
		status int
		code   message.Code
	}{
		`{}`:                 {http.StatusUnprocessableEntity, message.BodyInvalid},
		`{"arguments":[]}`:   {http.StatusUnprocessableEntity, message.ParamsInvalid},
		`{"arguments":null}`: {http.StatusUnprocessableEntity, message.BodyInvalid},
		`{"arguments":{"path":"/a","path":"/b"}}`:   {http.StatusUnprocessableEntity, message.ParamsInvalid},
		`{"arguments":{"path":7}}`:                  {http.StatusUnprocessableEntity, message.ArgumentsInvalid},
		`{"arguments":{}}`:                          {http.StatusUnprocessableEntity, message.ArgumentsInvalid},
		`{"arguments":{"path":"/etc/passwd"}}`:      {http.StatusForbidden, message.PolicyDenied},
		`{"arguments":{"path":"/tmp/b"},"saw":"x"}`: {http.StatusConflict, message.ApprovalChanged},
	} {
		h.decide(h.admin, q.ID, "edit", body).refused(want.status, want.code)
	}
	var one api.Approval
	h.change(http.MethodGet, "/approvals/"+q.ID, "").into(http.StatusOK, &one)
	if one.Status != "pending" || len(one.Decisions) != 0 || one.Edited != nil || one.Hash != q.Hash {
		t.Errorf("it is %+v", one)
	}
	h.decide(h.admin, q.ID, "edit", `{"arguments":{"path":"/tmp/b"},"note":"there"}`).into(http.StatusOK, &one)
	if one.Status != "edited" || string(one.Edited) != `{"path":"/tmp/b"}` || string(one.Shown) != `{"path":"/tmp/b"}` || one.Decisions[0].Kind != "edit" || one.Decisions[0].Hash != one.Hash {
		t.Errorf("it is %+v", one)
	}
	// The same arguments once more are an agreement, and no edit.
	asking := approval.Asking{Details: q.Details, Judged: q.Judged, Arguments: []byte(`{"path":"/tmp/c"}`)}
	asking.ArgumentsHash, _ = h.door.opt.Call.Digest(asking.Arguments)
	q, err := h.door.opt.Approvals.Ask(t.Context(), asking)
	must(t, err)
	h.decide(h.admin, q.ID, "edit", `{"arguments":{ "path" : "/tmp/c" }}`).into(http.StatusOK, &one)
	if one.Status != "approved" || one.Edited != nil {
		t.Errorf("it is %+v", one)
	}
}

// Who has asked withdraws a request, or an operator; nobody else, and only once.
func TestCancelApproval(t *testing.T) {
	h := open(t, "")
	ann, ada := h.issue("ann", hub.RoleCaller), h.issue("ada", hub.RoleApprover)
	q := h.pending("ann", "", `{}`, 1)
	h.decide(h.caller, q.ID, "cancel", "").refused(http.StatusNotFound, message.ApprovalUnknown)
	h.decide(ada, q.ID, "cancel", "").refused(http.StatusForbidden, message.RoleRefused)
	var one api.Approval
	h.decide(ann, q.ID, "cancel", "").into(http.StatusOK, &one)
	if one.Status != "cancelled" || !strings.Contains(one.Note, "ann") {
		t.Errorf("it is %+v", one)
	}
	h.decide(ann, q.ID, "cancel", "").refused(http.StatusConflict, message.ApprovalDecided)
	h.decide(ada, q.ID, "approve", "").refused(http.StatusConflict, message.ApprovalDecided)
	q = h.pending("ann", "", `{}`, 1) // it is asked anew
	h.decide(h.admin, q.ID, "approve", "").into(http.StatusOK, nil)
	h.decide(h.admin, q.ID, "cancel", "").into(http.StatusOK, &one)
	if one.Status != "cancelled" {
		t.Errorf("an agreement that is withdrawn is %+v", one)
	}
}

// Whoever withdraws what somebody else has asked for does something to the hub: it is
// on record, also if it is refused or comes too late, and not done if it cannot be
// recorded. Who withdraws a request of one's own only makes no call.
func TestCancelApprovalIsAnAct(t *testing.T) {
	h := open(t, "")
	ann, ada := h.issue("ann", hub.RoleCaller), h.issue("ada", hub.RoleApprover)
	olga, oscar := h.issue("olga", hub.RoleOperator), h.issue("oscar", hub.RoleOperator)
	own := h.pending("ann", "", `{"a":1}`, 1)
	h.decide(ann, own.ID, "cancel", "").into(http.StatusOK, nil)
	h.decide(ann, own.ID, "cancel", "").refused(http.StatusConflict, message.ApprovalDecided)
	operators := h.pending("oscar", "", `{"a":2}`, 1)
	h.decide(oscar, operators.ID, "cancel", "").into(http.StatusOK, nil)
	other := h.pending("ann", "", `{"a":3}`, 1)
	h.decide(h.caller, other.ID, "cancel", "").refused(http.StatusNotFound, message.ApprovalUnknown)
	h.decide(ada, other.ID, "cancel", "").refused(http.StatusForbidden, message.RoleRefused)
	h.decide(olga, nobody, "cancel", "").refused(http.StatusNotFound, message.ApprovalUnknown)
	h.decide(h.admin, other.ID, "approve", "").into(http.StatusOK, nil)
	h.decide(olga, other.ID, "cancel", "").into(http.StatusOK, nil) // what was agreed to
	h.decide(oscar, other.ID, "cancel", "").refused(http.StatusConflict, message.ApprovalDecided)

	type seen struct {
		Target, Subject, Role, Outcome, Code string
		Status                               int
	}
	want := []seen{
		{"id=" + other.ID, "oscar", "operator", "failed", "approval_decided", http.StatusConflict},
		{"id=" + other.ID, "olga", "operator", "ok", "", http.StatusOK},
		{"id=" + other.ID, "ada", "approver", "failed", "role_refused", http.StatusForbidden},
	}
	var list api.ActList
	a := h.change(http.MethodGet, "/audit/acts?operation=cancelApproval", "").into(http.StatusOK, &list)
	if len(list.Acts) != len(want) {
		t.Fatalf("on record: %s", a.body)
	}
	for i, one := range list.Acts {
		got := seen{one.Target, one.Subject, one.Role, one.Outcome, one.Code, one.Status}
		if got != want[i] || one.ID == "" || one.Ended == nil || one.Door != "rest" || one.Token == "" {
			t.Errorf("act %d is %+v", i, one)
		}
	}
	// Who tries on and on fills no disk.
	other = h.pending("ann", "", `{"a":4}`, 1)
	for range 2 * mostRefusals {
		h.decide(ada, other.ID, "cancel", "").refused(http.StatusForbidden, message.RoleRefused)
	}
	h.change(http.MethodGet, "/audit/acts?operation=cancelApproval&subject=ada", "").into(http.StatusOK, &list)
	if len(list.Acts) != mostRefusals || list.Acts[0].Target != "id="+other.ID+" more=unrecorded" {
		t.Errorf("%d are on record: %+v", len(list.Acts), list.Acts)
	}
	h.change(http.MethodPost, "/audit/verify", "").into(http.StatusOK, nil)

	own = h.pending("ann", "", `{"a":5}`, 1)
	h.spoil("ALTER TABLE audit_entry RENAME TO audit_gone")
	t.Cleanup(func() { h.spoil("ALTER TABLE audit_gone RENAME TO audit_entry") }) // before the record ends
	h.change(http.MethodPut, "/secrets/other", `{"value":"x"}`)                   // of which it is found out
	h.change(http.MethodGet, "/audit/head", "").refused(http.StatusServiceUnavailable, message.AuditUnreadable)
	h.decide(olga, other.ID, "cancel", "").refused(http.StatusServiceUnavailable, message.AuditUnwritable)
	var one api.Approval
	h.change(http.MethodGet, "/approvals/"+other.ID, "").into(http.StatusOK, &one)
	if one.Status != "pending" {
		t.Errorf("what could not be recorded was done: %+v", one)
	}
	h.decide(ann, own.ID, "cancel", "").into(http.StatusOK, nil)
}

// What cannot be remembered is not agreed to either; what is, is a grant of just
// that.
func TestRemember(t *testing.T) {
	h := open(t, "")
	q := h.pending("ann", "", `{"a":1,"b":2}`, 1)
	for body, code := range map[string]message.Code{
		`{"for":"soon"}`:                    message.BodyInvalid,
		`{"for":"-1h"}`:                     message.BodyInvalid,
		`{}`:                                message.BodyInvalid,
		`{"for":"31d"}`:                     message.GrantInvalid,
		`{"for":"1h","arguments":"none"}`:   message.BodyInvalid,
		`{"for":"1h","arguments":null}`:     message.BodyInvalid,
		`{"for":"1h","arguments":{}}`:       message.BodyInvalid,
		`{"for":"1h","arguments":7}`:        message.BodyInvalid,
		`{"for":"1h","maxRisk":"critical"}`: message.GrantInvalid,
		`{"for":"1h","maxRisk":"some"}`:     message.BodyInvalid,
	} {
		h.decide(h.admin, q.ID, "approve", `{"remember":`+body+`}`).refused(http.StatusUnprocessableEntity, code)
	}
	for i, test := range []struct {
		remember string
		want     approval.Grant
	}{
		{`{"for":"1h"}`, approval.Grant{Subject: "ann", ArgumentsHash: "exact", MaxRisk: hub.RiskHigh}},
		{`{"for":"2d","arguments":"exact","maxRisk":"medium"}`, approval.Grant{Subject: "ann", ArgumentsHash: "exact", MaxRisk: hub.RiskMedium}},
		{`{"for":"1h","arguments":"any","anyone":true}`, approval.Grant{MaxRisk: hub.RiskHigh}},
		{`{"for":"1h","arguments":{"a":1}}`, approval.Grant{Subject: "ann", MaxRisk: hub.RiskHigh}},
	} {
		q := h.pending("ann", "", `{"i":`+string(rune('0'+i))+`}`, 1)
		h.decide(h.admin, q.ID, "approve", `{"note":"n","remember":`+test.remember+`}`).into(http.StatusOK, nil)
		var list api.GrantList
		h.change(http.MethodGet, "/grants", "").into(http.StatusOK, &list)
		if len(list.Grants) != i+1 {
			t.Fatalf("%s: there are %d grants", test.remember, len(list.Grants))
		}
		g := list.Grants[0]
		want := test.want.ArgumentsHash
		if want != "" {
			want = q.Hash
		}
		if g.Subject != test.want.Subject || g.ArgumentsHash != want || g.MaxRisk != test.want.MaxRisk.String() || g.Request != q.ID || g.By != "admin" || g.Note != "n" ||
			g.Server != "lab" || g.Tool != "echo" || g.ToolHash != q.ToolHash || strings.Contains(test.remember, "{\"a\"") != (len(g.Members) == 1) {
			t.Errorf("%s: it is %+v", test.remember, g)
		}
	}
	// What decides nothing yet is not remembered.
	q = h.pending("ann", "", `{"two":1}`, 2)
	var one api.Approval
	h.decide(h.admin, q.ID, "approve", `{"remember":{"for":"1h"}}`).into(http.StatusOK, &one)
	var list api.GrantList
	if h.change(http.MethodGet, "/grants", "").into(http.StatusOK, &list); len(list.Grants) != 4 || one.Status != "pending" {
		t.Errorf("there are %d grants, and it is %s", len(list.Grants), one.Status)
	}
	h.decide(h.admin, q.ID, "approve", `{"confirmation":2,"remember":{"for":"1h"}}`).refused(http.StatusConflict, message.ApprovalChanged)
}

// A call that has to be agreed to is held by the API, made once that is so, and
// found with that in the record.
func TestHeldCall(t *testing.T) {
	h := open(t, `{"mcpServers":{},"policy":{"rules":[{"id":"ask","effect":"ask","server":"lab"}]}}`)
	h.enforce()
	answered := make(chan *answer, 1)
	go func() { answered <- h.call(`{"tool":"lab__echo","arguments":{"a":1}}`) }()
	var list api.ApprovalList
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for len(list.Approvals) == 0 {
		<-tick.C
		h.change(http.MethodGet, "/approvals", "").into(http.StatusOK, &list)
	}
	if v := list.Approvals[0]; v.Rule != "ask" || v.Subject != "local" || v.Door != "rest" || v.Policy != h.rules.Load().Version() {
		t.Errorf("it is %+v", v)
	}
	var status api.Status
	h.change(http.MethodGet, "/status", "").into(http.StatusOK, &status)
	if status.Approvals != 1 || status.Policy["rest"] != "enforce" {
		t.Errorf("the status is %+v", status)
	}
	h.decide(h.admin, list.Approvals[0].ID, "edit", `{"arguments":{"a":2}}`).into(http.StatusOK, nil)
	var result api.CallResult
	(<-answered).into(http.StatusOK, &result)
	if !strings.Contains(string(result.Result), `{\"a\":2}`) {
		t.Errorf("the result is %s", result.Result)
	}
	var one api.Approval
	h.change(http.MethodGet, "/approvals/"+list.Approvals[0].ID, "").into(http.StatusOK, &one)
	var calls api.CallList
	h.change(http.MethodGet, "/calls?tool=echo", "").into(http.StatusOK, &calls)
	if len(calls.Calls) != 1 || one.Taken != calls.Calls[0].ID || calls.Calls[0].Approval != one.ID || calls.Calls[0].Verdict != "ask" {
		t.Errorf("it was taken by %q, and on record is %+v", one.Taken, calls.Calls)
	}
}
