package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
)

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
