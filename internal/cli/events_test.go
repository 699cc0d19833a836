package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
)

// So may what it says of its calls, its sessions, its servers and its file.
func TestOtherThingsOfAnotherHub(t *testing.T) {
	const bad = "a\x1b[2Jb"
	call := api.CallRecord{
		ID: bad, Method: bad, Subject: bad, Door: bad, Session: bad, Client: bad, Group: bad, Name: bad, Server: bad, Tool: bad, Arguments: []byte(bad),
		Verdict: bad, Outcome: bad, Code: bad, Reason: bad, Attempts: []api.EventAttempt{{Server: bad, Code: bad}}, Trace: bad, Node: bad,
	}
	for name, show := range map[string]func(*session){
		"calls": func(s *session) { s.out.records([]api.CallRecord{call}) },
		"call":  func(s *session) { s.record(&call) },
		"figures": func(s *session) {
			s.out.analysis(&api.Analysis{
				Total: api.CallFigures{Calls: 1}, Servers: []api.ServerFigures{{Server: bad}},
				Tools:    []api.ToolFigures{{Server: bad, Tool: bad}, {Server: bad, Method: bad}},
				Failures: []api.CallFailure{{Outcome: bad, Code: bad, Server: bad, Tool: bad}},
			})
		},
		"state": func(s *session) {
			s.callState(api.CallState{
				Session: bad, Subject: bad, Status: bad, Server: bad, Tool: bad, Arguments: []byte(bad), Code: bad, Error: bad, Message: bad,
			})
		},
		"report": func(s *session) {
			s.report(&api.AuditReport{Chains: []api.AuditChain{{Node: bad}}, Problems: []api.AuditProblem{{Detail: bad}}})
		},
		"server": func(s *session) { s.server(api.Server{Pool: bad, ToolCache: bad}) },
		"diff":   func(s *session) { s.diff(api.ConfigDiff{NextStart: []string{bad}}) },
	} {
		var b strings.Builder
		show(&session{out: &printer{w: &b}})
		if text := b.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, `\u001b`) {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// A hub elsewhere may say anything: an event is one line, without control
// characters.
func TestEventOfAnotherHub(t *testing.T) {
	const bad = "a\x1b[2J\nb"
	for _, e := range []api.Event{
		{Kind: bad},
		{Gap: &api.EventGap{Reason: bad}},
		{Gap: &api.EventGap{Reason: bad, Missed: 2}},
		{Server: &api.EventServer{Key: bad, State: bad, Reason: bad}},
		{Drift: &api.EventDrift{Server: bad, Tools: []string{bad}}},
		{Call: &api.EventCall{Name: bad, Subject: bad, Outcome: bad, Reason: bad}},
		{Approval: &api.EventApproval{ID: bad, Status: bad, Tool: bad, Risk: bad, Subject: bad, By: bad}},
		{State: &api.CallState{Session: bad, Status: bad, Message: bad}},
	} {
		var b strings.Builder
		e.Time = time.Now()
		s := &session{out: &printer{w: &b}}
		if err := s.event(e); err != nil {
			t.Error(err)
		}
		if line := b.String(); strings.Contains(line, "\x1b") || strings.Count(line, "\n") != 1 || !strings.Contains(line, `\u001b`) {
			t.Errorf("%+v: %q", e, line)
		}
	}
}
