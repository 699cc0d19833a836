package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/approval"
	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// pending has somebody ask for agreement to a call of the lab's echo, which costs
// as many agreements as that.
func (h *house) pending(subject, session, arguments string, persons int) approval.Request {
	h.t.Helper()
	h.change(http.MethodPost, "/servers/lab/start", "").into(http.StatusOK, nil)
	e, ok := h.catalog.Snapshot().Resolve("lab__echo")
	if !ok {
		h.t.Fatal("there is no lab__echo")
	}
	asking := approval.Asking{Arguments: []byte(arguments), Shown: arguments}
	asking.Subject, asking.Door, asking.Session, asking.Method, asking.Name = subject, hub.DoorMCP, session, "tools/call", "lab__echo"
	asking.Server, asking.Tool, asking.ToolHash = labKey, "echo", h.door.opt.Call.ToolHash(e)
	asking.Risk, asking.Persons = hub.RiskHigh, persons
	asking.Reasons = approval.TextsOf([]message.Phrase{message.Verbatim("one reason"), message.Verbatim("another")})
	asking.Warning = approval.TextOf(message.Verbatim("careful"))
	var err error
	asking.ArgumentsHash, err = h.door.opt.Call.Digest(asking.Arguments)
	must(h.t, err)
	q, err := h.door.opt.Approvals.Ask(context.Background(), asking)
	must(h.t, err)
	return q
}

// Confirmations are seen in all their members, and decided once: agreed to, with
// other arguments, or refused.
func TestCompatConfirmations(t *testing.T) {
	h := open(t, "")
	session := hub.SessionRef("s")
	q := h.pending("somebody", session, `{"path":"/tmp/a"}`, 1)
	list := func(session string) []api.CompatConfirmation {
		t.Helper()
		var got api.CompatConfirmations
		h.do(ask{method: http.MethodGet, path: "/host/sessions/" + session + "/confirmations", token: h.admin}).into(http.StatusOK, &got)
		if !got.Success || got.Confirmations == nil {
			t.Errorf("it is %+v", got)
		}
		return got.Confirmations
	}
	got := list(session)
	if len(got) != 1 || len(list("-")) != 1 || len(list("other")) != 0 {
		t.Fatalf("there are %+v", got)
	}
	one := got[0]
	if one.ID != q.ID || one.SessionID != session || one.RiskLevel != "high" || one.Status != "pending" || one.RiskDescription != "one reason; another" ||
		one.WarningMessage != "careful" || one.ExpiresAt.IsZero() || string(one.ModifiedArguments) != "null" || one.Needed != 1 || one.Hash != q.Hash {
		t.Errorf("it is %+v", one)
	}
	if c := one.ToolCall; c.Name != "lab__echo" || c.ServerKey != labKey || c.ToolName != "echo" || string(c.Arguments) != `{"path":"/tmp/a"}` {
		t.Errorf("it is %+v", c)
	}
	a := h.do(ask{method: http.MethodGet, path: "/host/sessions/-/confirmations/", token: h.admin})
	a.refusedAs(http.StatusNotFound, message.PathUnknown)
	// Who may not decide sees those of others not at all.
	var none api.CompatConfirmations
	h.get("/host/sessions/-/confirmations").into(http.StatusOK, &none)
	if len(none.Confirmations) != 0 {
		t.Errorf("there are %+v", none)
	}
	decide := func(session, id, body string) *answer {
		return h.change(http.MethodPost, "/host/sessions/"+session+"/confirmations/"+id, body)
	}
	for _, body := range []string{
		`{}`, `{"approved":true,"confirmed":false}`, `{"approved":"yes"}`, `{"approve":true}`,
	} {
		decide(session, q.ID, body).refusedAs(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	decide("other", q.ID, `{"approved":true}`).refusedAs(http.StatusNotFound, message.ApprovalUnknown)
	decide(session, nobody, `{"approved":true}`).refusedAs(http.StatusNotFound, message.ApprovalUnknown)
	h.do(ask{method: http.MethodPost, path: "/host/sessions/-/confirmations/" + q.ID, body: `{"approved":true}`}).refusedAs(http.StatusUnauthorized, message.TokenRequired)
	h.do(ask{method: http.MethodPost, path: "/host/sessions/-/confirmations/" + q.ID, body: `{"approved":true}`, token: h.caller}).refusedAs(http.StatusForbidden, message.RoleRefused)

	var done api.CompatConfirmed
	decide(session, q.ID, `{"approved":true,"modified_arguments":{"path":"/tmp/b"},"reason":"there is better"}`).into(http.StatusOK, &done)
	if c := done.Confirmation; !done.Success || c.Status != "approved" || c.State != "edited" || string(c.ModifiedArguments) != `{"path":"/tmp/b"}` || c.Confirmations != 1 {
		t.Errorf("it is %+v", done)
	}
	decide(session, q.ID, `{"approved":false}`).refusedAs(http.StatusConflict, message.ApprovalDecided)
	if got := list("-"); len(got) != 0 {
		t.Errorf("there are %+v", got)
	}
	q = h.pending("somebody", "", `{"n":2}`, 1)
	decide("mcp:somebody", q.ID, `{"confirmed":false,"modified_arguments":{},"comment":"no","session_id":"s"}`).into(http.StatusOK, &done)
	if c := done.Confirmation; c.Status != "rejected" || c.SessionID != "mcp:somebody" {
		t.Errorf("it is %+v", c)
	}
	if a := h.do(ask{method: http.MethodGet, path: "/approvals/" + q.ID, token: h.admin}); !strings.Contains(string(a.body), `"note":"no"`) {
		t.Errorf("it is %s", a.body)
	}
}

// A critical call is agreed to twice, and the second time what was seen is said.
func TestCompatConfirmsTwice(t *testing.T) {
	h := open(t, "")
	q := h.pending("somebody", "", `{}`, 2)
	path := "/host/sessions/-/confirmations/" + q.ID
	var done api.CompatConfirmed
	h.change(http.MethodPost, path, `{"approved":true}`).into(http.StatusOK, &done)
	if c := done.Confirmation; c.Status != "pending" || c.Confirmations != 1 || c.Needed != 2 {
		t.Errorf("it is %+v", c)
	}
	h.change(http.MethodPost, path, `{"approved":true}`).refusedAs(http.StatusConflict, message.ApprovalConfirm)
	h.change(http.MethodPost, path, `{"approved":true,"confirmation":2,"saw":`+quote(done.Confirmation.Hash)+`}`).into(http.StatusOK, &done)
	if c := done.Confirmation; c.Status != "approved" || c.Confirmations != 2 {
		t.Errorf("it is %+v", c)
	}
}

// What another tenant is asked about is neither seen nor decided by these paths, by
// whatever session it is looked for; whom it is for, and who looks after the whole,
// see and decide it.
func TestCompatConfirmationsOfATenant(t *testing.T) {
	h := share(t)
	id, session := h.things["approval"], h.things["session"]
	list := func(as auth.Shown, session string) []api.CompatConfirmation {
		t.Helper()
		var got api.CompatConfirmations
		a := h.ask(as, http.MethodGet, "/host/sessions/"+session+"/confirmations", nil, false)
		if a.status != http.StatusOK {
			t.Fatalf("it is %+v", a)
		}
		must(t, json.Unmarshal([]byte(a.text[strings.Index(a.text, "{"):]), &got))
		return got.Confirmations
	}
	confirm := func(as auth.Shown, session, body string) asked {
		return h.ask(as, http.MethodPost, "/host/sessions/"+session+"/confirmations/"+id, []byte(body), false)
	}
	pending := func() approval.Request {
		t.Helper()
		q, err := h.door.opt.Approvals.Look(t.Context(), id, who(hub.RoleApprover, rival).Principal)
		must(t, err)
		return q
	}
	before, decided := pending(), 0
	for _, as := range outsiders() {
		for _, session := range []string{anySession, session} {
			if got := list(as, session); len(got) != 0 {
				t.Errorf("%+v sees %+v", as.Principal, got)
			}
			if !as.Principal.Role.May(hub.MayDecide) {
				continue
			}
			decided++
			for _, body := range []string{`{"approved":true}`, `{"approved":true,"modified_arguments":{}}`, `{"approved":false}`} {
				if a := confirm(as, session, body); a.status != http.StatusNotFound || a.code != string(message.ApprovalUnknown) || strings.Contains(a.text, rival) {
					t.Errorf("%s by %+v: %+v", body, as.Principal, a)
				}
			}
		}
	}
	if after := pending(); decided == 0 || after.Status != approval.Pending || after.Hash != before.Hash || len(after.Decisions) != 0 || after.Edited != nil {
		t.Errorf("%d have tried, and it is %+v, was %+v", decided, after, before)
	}
	for _, as := range []auth.Shown{who(hub.RoleApprover, rival), who(hub.RoleAdmin, "")} {
		for _, session := range []string{anySession, session} {
			if got := list(as, session); len(got) != 1 || got[0].ID != id {
				t.Errorf("%+v sees %+v", as.Principal, got)
			}
		}
	}
	if a := confirm(who(hub.RoleApprover, rival), session, `{"approved":false}`); a.status != http.StatusOK || pending().Status != approval.Rejected {
		t.Errorf("its own approver is told %+v", a)
	}
}

// The four statuses of these paths stand for all that there are.
func TestConfirmationStatuses(t *testing.T) {
	known := []string{"pending", "approved", "rejected", "expired"}
	for _, status := range approval.Statuses {
		v := confirmationView(message.Chinese, &approval.Request{Status: status, Judged: approval.Judged{
			Reasons: []approval.Text{{EN: "a", ZH: "甲"}, {EN: "b", ZH: "乙"}},
		}})
		if !slices.Contains(known, v.Status) || v.State != string(status) || v.RiskDescription != "甲；乙" || string(v.ToolCall.Arguments) != "{}" {
			t.Errorf("%s: %+v", status, v)
		}
	}
}
