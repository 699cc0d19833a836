package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/policy"
)

// state is what a session shows to whoever has the token.
func (h *house) state(session, token string) api.CallState {
	h.t.Helper()
	var s api.CallState
	h.do(ask{method: http.MethodGet, path: "/states/" + url.PathEscape(session), token: token}).into(http.StatusOK, &s)
	return s
}

func TestStates(t *testing.T) {
	h := open(t, "")
	var list api.CallStateList
	if h.get("/states").into(http.StatusOK, &list); len(list.States) != 0 {
		t.Errorf("before any call: %+v", list)
	}
	if s := h.state("mine", ""); s.Status != "idle" || s.Session != "mine" || s.Subject != "local" || s.Executing || s.CanRetry || s.Duration != nil {
		t.Errorf("before any call: %+v", s)
	}
	h.call(`{"tool":"lab__echo","arguments":{"a":1},"session":"mine","userMessage":"moment","maxRetries":1,"timeout":"20s"}`).into(http.StatusOK, nil)
	s := h.state("mine", "")
	if s.Status != "success" || s.Tool != "lab__echo" || s.Server != "lab" || s.Message != "moment" || s.MaxRetries != 1 || !s.Completed ||
		s.Duration == nil || *s.Duration <= 0 || s.Started == nil || s.Ended == nil || s.Resets == nil || !strings.Contains(string(s.Result), `{\"a\":1}`) || s.Call == "" {
		t.Errorf("after a call: %+v", s)
	}
	if by := h.state(s.Session, ""); by.Call != s.Call {
		t.Errorf("by its own name: %+v", by)
	}
	if theirs := h.state(s.Session, h.caller); theirs.Status != "idle" {
		t.Errorf("another caller sees %+v", theirs)
	}
	if admins := h.state(s.Session, h.admin); admins.Call != s.Call {
		t.Errorf("the administrator sees %+v", admins)
	}
	h.call(`{"tool":"lab__fail"}`).into(http.StatusOK, nil)
	if s := h.state("rest:local", ""); s.Status != "failed" || s.Error != "it did not work" || !s.CanRetry {
		t.Errorf("without a session: %+v", s)
	}
	if h.get("/states").into(http.StatusOK, &list); len(list.States) != 2 || list.States[0].Session != "rest:local" {
		t.Errorf("got %+v", list)
	}
	if h.do(ask{method: http.MethodGet, path: "/states", token: h.caller}).into(http.StatusOK, &list); len(list.States) != 0 {
		t.Errorf("another caller sees %+v", list)
	}
	if h.do(ask{method: http.MethodGet, path: "/states", token: h.admin}).into(http.StatusOK, &list); len(list.States) != 2 {
		t.Errorf("the administrator sees %+v", list)
	}
}

func TestStateUnderWay(t *testing.T) {
	h := open(t, "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.call(`{"tool":"lab__hold","session":"s"}`)
	}()
	<-h.began
	if s := h.state("s", ""); s.Status != "calling" || !s.Executing || s.Ended != nil {
		t.Errorf("got %+v", s)
	}
	h.do(ask{method: http.MethodDelete, path: "/states/s"}).refused(http.StatusConflict, message.StateUnderWay)
	h.do(ask{method: http.MethodPost, path: "/states/s/retry"}).refused(http.StatusConflict, message.StateNotFailed)
	close(h.release)
	<-done
	if a := h.do(ask{method: http.MethodDelete, path: "/states/s"}); a.status != http.StatusNoContent {
		t.Errorf("%d %s", a.status, a.body)
	}
	if s := h.state("s", ""); s.Status != "idle" {
		t.Errorf("got %+v", s)
	}
	if a := h.do(ask{method: http.MethodDelete, path: "/states/s"}); a.status != http.StatusNoContent {
		t.Errorf("of an idle session: %d %s", a.status, a.body)
	}
}

// Whoever has another one's call made once more has set it off, and does not decide
// about it.
func TestStateRetryIsBoths(t *testing.T) {
	h := open(t, `{"mcpServers":{},"policy":{"defaults":{"medium":"allow","high":"allow"},"rules":[{"id":"never","effect":"deny","server":"lab","caller":"watch"}]}}`)
	h.call(`{"tool":"lab__fail","arguments":{"a":1},"session":"s","maxRetries":3}`).into(http.StatusOK, nil)
	first := h.state("s", "")
	retry := func(token string) *answer {
		return h.do(ask{method: http.MethodPost, path: "/states/" + first.Session + "/retry", token: token})
	}
	h.enforce()
	var result api.CallResult
	retry(h.issue("watch", hub.RoleOperator)).into(http.StatusOK, &result)
	if result.Code != string(message.PolicyDenied) {
		t.Errorf("somebody who may not call it had it called: %+v", result)
	}
	rules, faults := policy.Compile(hub.Policy{Given: true, Rules: []hub.Rule{{ID: "ask", Effect: hub.VerdictAsk, Servers: []string{"lab"}}}})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	h.rules.Store(rules)
	boss := h.issue("boss", hub.RoleOperator)
	answered := make(chan *answer, 1)
	go func() { answered <- retry(boss) }()
	var list api.ApprovalList
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for len(list.Approvals) == 0 {
		<-tick.C
		h.change(http.MethodGet, "/approvals", "").into(http.StatusOK, &list)
	}
	v := list.Approvals[0]
	if v.Subject != "local" || v.Retrier != "boss" {
		t.Errorf("asked by %q and %q", v.Subject, v.Retrier)
	}
	h.decide(boss, v.ID, "approve", "").refused(http.StatusForbidden, message.ApprovalOwn)
	h.decide(h.issue("other", hub.RoleApprover), v.ID, "approve", "").into(http.StatusOK, nil)
	if (<-answered).into(http.StatusOK, &result); result.Tool != "fail" {
		t.Errorf("got %+v", result)
	}
}

func TestStateRetry(t *testing.T) {
	h := open(t, "")
	retry := func(session, token string) *answer {
		return h.do(ask{method: http.MethodPost, path: "/states/" + session + "/retry", token: token})
	}
	retry("s", "").refused(http.StatusConflict, message.StateNotFailed)
	h.call(`{"tool":"lab__fail","arguments":{"a":1},"session":"s","maxRetries":2}`).into(http.StatusOK, nil)
	first := h.state("s", "")
	retry("s", h.caller).refused(http.StatusConflict, message.StateNotFailed) // has none of that name
	var result api.CallResult
	if retry("s", "").into(http.StatusOK, &result); !result.IsError || result.Tool != "fail" {
		t.Errorf("got %+v", result)
	}
	if s := h.state("s", ""); s.Status != "failed" || s.Retries != 1 || s.Call == first.Call || s.Session != first.Session || !s.CanRetry {
		t.Errorf("got %+v, was %+v", s, first)
	}
	retry(first.Session, h.admin).into(http.StatusOK, nil)
	if s := h.state("s", ""); s.Subject != "local" || s.Retries != 2 || s.CanRetry {
		t.Errorf("got %+v", s)
	}
	retry("s", "").refused(http.StatusConflict, message.StateExhausted)

	h.call(`{"tool":"lab__fail","arguments":{"long":`+quote(strings.Repeat("x", 70<<10))+`},"session":"s"}`).into(http.StatusOK, nil)
	retry("s", "").refused(http.StatusConflict, message.StateNotKept)

	// A retry that gets no answer is a failure too.
	h.call(`{"tool":"lab__refuse"}`).refused(http.StatusBadGateway, message.ServerRefused)
	h.change(http.MethodPost, "/servers/lab/stop", "").into(http.StatusOK, nil)
	retry("rest:local", "").refused(http.StatusConflict, message.ServerStopped)
	if s := h.state("rest:local", ""); s.Status != "failed" || s.Code != "server_stopped" || s.Session != "rest:local" || s.Retries != 1 {
		t.Errorf("got %+v", s)
	}
}

func TestCallLimitsRefused(t *testing.T) {
	h := open(t, "")
	for _, member := range []string{
		`"timeout":"soon"`, `"timeout":"-1s"`, `"maxRetries":-1`, `"maxRetries":11`, `"session":"` + strings.Repeat("长", 129) + `"`,
		`"userMessage":"` + strings.Repeat("x", 501) + `"`,
	} {
		h.call(fmt.Sprintf(`{"tool":"lab__echo",%s}`, member)).refused(http.StatusUnprocessableEntity, message.BodyInvalid)
	}
	h.call(`{"tool":"lab__hold","timeout":"50ms"}`).refused(http.StatusGatewayTimeout, message.Timeout)
	h.call(`{"tool":"lab__echo","session":"`+strings.Repeat("长", 128)+`"}`).into(http.StatusOK, nil)
}
