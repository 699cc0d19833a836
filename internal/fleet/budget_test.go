package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
)

// end is the end of an attempt or a connection.
type end struct {
	after time.Duration // since the end before
	held  time.Duration // 0 for an attempt that failed
	code  message.Code
	cause error
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
		name string
		kind hub.Kind
		ends []end
	}{
		{"the sixth exit within two minutes is the last", hub.KindStdio, []end{
			{0, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, s, exited, nil, 5 * s, 5 * s},
			{6 * s, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, never, never},
		}},
		{"exits that are further apart go on for ever", hub.KindStdio, []end{
			{0, 0, exited, nil, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s}, // the first is 125 s ago
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s},
		}},
		{"a healthy minute makes all good", hub.KindStdio, []end{
			{0, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
			{65 * s, 60 * s, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
		}},
		{"a remote server is tried for ever, ever more rarely", hub.KindHTTP, []end{
			{0, 0, away, nil, 2 * s, 2 * s},
			{2 * s, 0, away, nil, 4 * s, 4 * s},
			{4 * s, 0, away, nil, 6 * s, 6 * s},
			{6 * s, 0, away, nil, 9 * s, 12 * s},
			{12 * s, 0, away, nil, 18 * s, 24 * s},
			{24 * s, 0, away, nil, 36 * s, 48 * s},
			{48 * s, 0, away, nil, 45 * s, 60 * s},
			{60 * s, 0, away, nil, 45 * s, 60 * s},
			{60 * s, 0, away, nil, 45 * s, 60 * s},
			{60 * s, 60 * s, away, nil, 2 * s, 2 * s},
			{2 * s, 0, away, nil, 4 * s, 4 * s},
		}},
		{"a lost session is opened again at once, the first time", hub.KindHTTP, []end{
			{0, 30 * s, lost, nil, 0, 0},
			{0, s, lost, nil, 4 * s, 4 * s},
			{4 * s, s, lost, nil, 6 * s, 6 * s},
			{61 * s, 61 * s, lost, nil, 0, 0},
		}},
		{"what a person has to mend is not tried again", hub.KindStdio, []end{{0, 0, message.CommandNotFound, nil, never, never}}},
		{"nor a command that cannot be run", hub.KindStdio, []end{{0, 0, message.CommandUnusable, nil, never, never}}},
		{"nor one without Node.js", hub.KindStdio, []end{{0, 0, message.NodeMissing, nil, never, never}}},
		{"nor one without uv", hub.KindStdio, []end{{0, 0, message.UvMissing, nil, never, never}}},
		{"nor one whose placeholders cannot be filled in", hub.KindStdio, []end{{0, 0, message.PlaceholderUnresolved, nil, never, never}}},
		{"a WebSocket is tried like any remote server", hub.KindWebSocket, []end{
			{0, 0, away, nil, 2 * s, 2 * s},
			{2 * s, 0, away, nil, 4 * s, 4 * s},
		}},
		{"an event stream is opened again 5 s after an error, then ever more rarely", hub.KindSSE, []end{
			{0, 30 * s, away, nil, 5 * s, 5 * s},
			{5 * s, 0, away, nil, 10 * s, 10 * s},
			{10 * s, 0, away, nil, 20 * s, 20 * s},
			{20 * s, 0, away, nil, 30 * s, 40 * s},
			{40 * s, 0, away, nil, 45 * s, 60 * s},
			{60 * s, 60 * s, away, nil, 5 * s, 5 * s},
		}},
		{"and 1 s after it was silent for too long", hub.KindSSE, []end{
			{0, 65 * s, away, fmt.Errorf("read: %w", transport.ErrIdle), s, s},
			{s, 65 * s, away, transport.ErrIdle, s, s},
			{s, 10 * s, away, transport.ErrIdle, 2 * s, 2 * s},
			{2 * s, 0, away, nil, 20 * s, 20 * s},
		}},
		{"nor a protocol that is not spoken here", hub.KindHTTP, []end{{0, 0, message.ServerProtocol, nil, never, never}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := counter{budget: DefaultBudget(), kind: tt.kind}
			now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			for i, e := range tt.ends {
				now = now.Add(e.after)
				wait, ok := c.next(now, e.held, hub.E(e.code, e.cause), true)
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
	c := counter{budget: DefaultBudget(), kind: hub.KindStdio}
	reason := hub.E(message.ServerExited, nil, "exit", "exit status 3", "stderr", " Its last words: ouch")
	for now := time.Now(); ; now = now.Add(5 * time.Second) {
		if _, ok := c.next(now, 0, reason, true); !ok {
			break
		}
	}
	last := c.last("files", reason)
	const want = "The process ended 6 times within 2m0s, last with exit status 3. Its last words: ouch"
	if got := last.Text(message.English); last.Code != message.ServerCrashLoop || got.What != want || !strings.Contains(got.Remedy, "toolcrib server restart files") {
		t.Errorf("got %s: %q, want %q", last.Code, got, want)
	}
	other := hub.E(message.NodeMissing, nil)
	if got := c.last("files", other); got != other {
		t.Errorf("got %v", got)
	}
}

// What is not to be tried again is given up at its first end, for the reason
// that it had; but a session that was lost is opened again, since the server is
// there.
func TestOnce(t *testing.T) {
	for _, tt := range []struct {
		def    hub.Server
		again  bool
		reason message.Code
		want   bool
	}{
		{hub.Server{Kind: hub.KindStdio}, false, message.ServerExited, false},
		{hub.Server{Kind: hub.KindStdio, AutoReconnect: true}, false, message.ServerSilent, false},
		{hub.Server{Kind: hub.KindStdio, AutoRestart: true}, true, message.ServerExited, true},
		{hub.Server{Kind: hub.KindHTTP, AutoRestart: true}, false, message.ServerUnreachable, false},
		{hub.Server{Kind: hub.KindHTTP}, false, message.SessionLost, true},
		{hub.Server{Kind: hub.KindSSE}, false, message.ServerUnreachable, false},
		{hub.Server{Kind: hub.KindWebSocket, AutoReconnect: true}, true, message.ServerUnreachable, true},
		{hub.Server{Kind: hub.KindBuiltin}, true, message.ServerExited, true},
	} {
		again := triesAgain(&tt.def)
		c := counter{budget: DefaultBudget(), kind: tt.def.Kind}
		reason := hub.E(tt.reason, nil)
		if _, ok := c.next(time.Now(), 0, reason, again); again != tt.again || ok != tt.want || c.last("s", reason) != reason {
			t.Errorf("%+v, %s: again %t, %t", tt.def, tt.reason, again, ok)
		}
	}
	c := counter{budget: DefaultBudget(), kind: hub.KindHTTP}
	lost := hub.E(message.SessionLost, nil)
	if _, ok := c.next(time.Now(), 0, lost, false); !ok {
		t.Error("the first lost session is the last")
	}
	if _, ok := c.next(time.Now(), 0, lost, false); ok {
		t.Error("a server that forgets at once is tried for ever")
	}
}
