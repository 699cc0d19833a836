package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/message"
)

// What is done to the hub is on record, with whoever did it and how it ended, and
// with nothing of what was sent; what only asks is not held up by a record that
// cannot be written, and what changes something is not done then.
func TestActs(t *testing.T) {
	h := open(t, "")
	h.change(http.MethodPut, "/secrets/mine", `{"value":"PLANTED-1234"}`).into(http.StatusNoContent, nil)
	h.change(http.MethodPost, "/servers", `{"key":"new","entry":{"command":"./none"}}`).into(http.StatusCreated, nil)
	h.change(http.MethodPost, "/servers", `{"key":"new","entry":{"command":"./none"}}`).refused(http.StatusConflict, message.ServerExists)
	h.change(http.MethodDelete, "/servers/new", "").into(http.StatusNoContent, nil)
	h.do(ask{method: http.MethodPost, path: "/servers/lab/stop"}).refused(http.StatusUnauthorized, message.TokenRequired)
	h.do(ask{method: http.MethodPost, path: "/servers/lab/stop", token: h.caller}).refused(http.StatusForbidden, message.RoleRefused)
	h.change(http.MethodPut, "/groups/g", `{"servers":5}`).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	h.change(http.MethodPost, "/config/check", `{"text":"{}"}`).into(http.StatusOK, nil)
	h.get("/servers").into(http.StatusOK, nil)

	var list api.ActList
	a := h.change(http.MethodGet, "/audit/acts", "").into(http.StatusOK, &list)
	if strings.Contains(string(a.body), "PLANTED") {
		t.Errorf("a secret is told: %s", a.body)
	}
	type seen struct {
		Operation, Target, Server, Subject, Outcome, Code string
		Status                                            int
	}
	want := []seen{
		{"checkConfig", "", "", "admin", "ok", "", 200},
		{"setGroup", "name=g", "", "admin", "failed", "body_invalid", 422},
		{"stopServer", "key=lab", "lab", "caller", "failed", "role_refused", 403},
		{"removeServer", "key=new", "new", "admin", "ok", "", 204},
		{"addServer", "", "", "admin", "failed", "server_exists", 409},
		{"addServer", "key=new", "new", "admin", "ok", "", 201},
		{"setSecret", "name=mine", "", "admin", "ok", "", 204},
	}
	if len(list.Acts) != len(want) {
		t.Fatalf("on record: %s", a.body)
	}
	for i, one := range list.Acts {
		got := seen{one.Operation, one.Target, one.Server, one.Subject, one.Outcome, one.Code, one.Status}
		if got != want[i] || one.ID == "" || one.Ended == nil || one.Door != "rest" || one.Role == "" || one.Node != h.record.Node() || one.Duration < 0 {
			t.Errorf("act %d is %+v", i, one)
		}
	}
	for query, n := range map[string]int{
		"operation=addServer": 2, "subject=caller": 1, "server=new": 2, "outcome=failed": 3, "code=role_refused": 1, "outcome=failed,ok&operation=addServer": 2,
		"door=file": 0, "since=1h": 7, "until=1h": 0, "id=" + list.Acts[3].ID: 1, "id=" + list.Acts[3].ID + "0": 0, "tenant=acme": 0, "limit=3": 3,
	} {
		h.change(http.MethodGet, "/audit/acts?"+query, "").into(http.StatusOK, &list)
		if len(list.Acts) != n {
			t.Errorf("%s: %d acts, want %d", query, len(list.Acts), n)
		}
	}
	if list.Next != "" {
		h.change(http.MethodGet, "/audit/acts?limit=3&cursor="+list.Next, "").into(http.StatusOK, &list)
	}
	h.change(http.MethodGet, "/audit/acts?since=x", "").refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	h.get("/audit/acts").refused(http.StatusUnauthorized, message.TokenRequired)
	var calls api.CallList
	if h.get("/calls").into(http.StatusOK, &calls); len(calls.Calls) != 0 {
		t.Errorf("acts are among the calls: %+v", calls)
	}
	h.change(http.MethodPost, "/audit/verify", "").into(http.StatusOK, nil)

	h.spoil("ALTER TABLE audit_entry RENAME TO audit_gone")
	t.Cleanup(func() { h.spoil("ALTER TABLE audit_gone RENAME TO audit_entry") }) // before the record ends
	h.change(http.MethodPut, "/secrets/other", `{"value":"x"}`)                   // of which it is found out
	h.change(http.MethodGet, "/audit/head", "").refused(http.StatusServiceUnavailable, message.AuditUnreadable)
	h.change(http.MethodPut, "/secrets/third", `{"value":"x"}`).refused(http.StatusServiceUnavailable, message.AuditUnwritable)
	var secrets api.SecretList
	h.change(http.MethodGet, "/secrets", "").into(http.StatusOK, &secrets)
	for _, s := range secrets.Secrets {
		if s.Name == "third" {
			t.Error("what could not be recorded was done")
		}
	}
	h.change(http.MethodPost, "/config/check", `{"text":"{}"}`).into(http.StatusOK, nil)
}

// Whoever is refused on and on fills no disk; the others' refusals are recorded all
// the same, and the last one of his says that there may be more.
func TestRefusalsAreBounded(t *testing.T) {
	h := open(t, "")
	for range 3 * mostRefusals {
		h.do(ask{method: http.MethodPost, path: "/servers/lab/stop", token: h.caller}).refused(http.StatusForbidden, message.RoleRefused)
	}
	var list api.ActList
	h.change(http.MethodGet, "/audit/acts?code=role_refused", "").into(http.StatusOK, &list)
	if len(list.Acts) != mostRefusals || list.Acts[0].Target != "key=lab more=unrecorded" || list.Acts[1].Target != "key=lab" {
		t.Errorf("%d are on record: %+v", len(list.Acts), list.Acts)
	}
}
