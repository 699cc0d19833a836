package fleet

import (
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// end is the end of an attempt or a connection.
type end struct {
	after time.Duration // since the end before
	held  time.Duration // 0 for an attempt that failed
	code  message.Code
	// want is the least and the most that is to be waited; less than nothing
	// if the server is to be given up.
	least, most time.Duration
}

const never = -1

// The budget of design D9.
func TestCounter(t *testing.T) {
	const (
		s      = time.Second
		lost   = message.SessionLost
		exited = message.ServerExited
		away   = message.ServerUnreachable
	)
	for _, tt := range []struct {
		name  string
		local bool
		ends  []end
	}{
		{"the sixth exit within two minutes is the last", true, []end{
			{0, 0, exited, 5 * s, 5 * s},
			{5 * s, 0, exited, 5 * s, 5 * s},
			{5 * s, s, exited, 5 * s, 5 * s},
			{6 * s, 0, exited, 5 * s, 5 * s},
			{5 * s, 0, exited, 5 * s, 5 * s},
			{5 * s, 0, exited, never, never},
		}},
		{"exits that are further apart go on for ever", true, []end{
			{0, 0, exited, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, 5 * s, 5 * s}, // the first is 125 s ago
			{25 * s, 20 * s, exited, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, 5 * s, 5 * s},
		}},
		{"a healthy minute makes all good", true, []end{
			{0, 0, exited, 5 * s, 5 * s},
			{5 * s, 0, exited, 5 * s, 5 * s},
			{5 * s, 0, exited, 5 * s, 5 * s},
			{5 * s, 0, exited, 5 * s, 5 * s},
			{5 * s, 0, exited, 5 * s, 5 * s},
			{65 * s, 60 * s, exited, 5 * s, 5 * s},
			{5 * s, 0, exited, 5 * s, 5 * s},
		}},
		{"a remote server is tried for ever, ever more rarely", false, []end{
			{0, 0, away, 2 * s, 2 * s},
			{2 * s, 0, away, 4 * s, 4 * s},
			{4 * s, 0, away, 6 * s, 6 * s},
			{6 * s, 0, away, 9 * s, 12 * s},
			{12 * s, 0, away, 18 * s, 24 * s},
			{24 * s, 0, away, 36 * s, 48 * s},
			{48 * s, 0, away, 45 * s, 60 * s},
			{60 * s, 0, away, 45 * s, 60 * s},
			{60 * s, 0, away, 45 * s, 60 * s},
			{60 * s, 60 * s, away, 2 * s, 2 * s},
			{2 * s, 0, away, 4 * s, 4 * s},
		}},
		{"a lost session is opened again at once, the first time", false, []end{
			{0, 30 * s, lost, 0, 0},
			{0, s, lost, 4 * s, 4 * s},
			{4 * s, s, lost, 6 * s, 6 * s},
			{61 * s, 61 * s, lost, 0, 0},
		}},
		{"what a person has to mend is not tried again", true, []end{{0, 0, message.CommandNotFound, never, never}}},
		{"nor a command that cannot be run", true, []end{{0, 0, message.CommandUnusable, never, never}}},
		{"nor one without Node.js", true, []end{{0, 0, message.NodeMissing, never, never}}},
		{"nor one without uv", true, []end{{0, 0, message.UvMissing, never, never}}},
		{"nor a protocol that is not spoken here", false, []end{{0, 0, message.ServerProtocol, never, never}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := counter{budget: DefaultBudget(), local: tt.local}
			now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			for i, e := range tt.ends {
				now = now.Add(e.after)
				wait, ok := c.next(now, e.held, hub.E(e.code, nil))
				if !ok {
					wait = never
				}
				if wait < e.least || wait > e.most {
					t.Errorf("end %d: wait %v, want %v to %v", i+1, wait, e.least, e.most)
				}
			}
		})
	}
}

// Who is given up after several exits learns how many; every other reason
// stands as it is.
func TestLastReason(t *testing.T) {
	c := counter{budget: DefaultBudget(), local: true}
	reason := hub.E(message.ServerExited, nil, "exit", "exit status 3", "stderr", " Its last words: ouch")
	for now := time.Now(); ; now = now.Add(5 * time.Second) {
		if _, ok := c.next(now, 0, reason); !ok {
			break
		}
	}
	last := c.last(reason)
	const want = "The process ended 6 times within 2m0s, last with exit status 3. Its last words: ouch"
	if got := last.Text(message.English).What; last.Code != message.ServerCrashLoop || got != want {
		t.Errorf("got %s: %q, want %q", last.Code, got, want)
	}
	other := hub.E(message.NodeMissing, nil)
	if got := c.last(other); got != other {
		t.Errorf("got %v", got)
	}
}
