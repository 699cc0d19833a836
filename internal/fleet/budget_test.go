package fleet

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

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
	// if the server is to be given up: minus what comes then.
	least, most time.Duration
}

const (
	never    = -time.Duration(inVain)
	tooOften = -time.Duration(spent)
)

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
		most int // attempts
		ends []end
	}{
		{"the sixth exit within two minutes is the last", hub.KindStdio, 0, []end{
			{0, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, s, exited, nil, 5 * s, 5 * s},
			{6 * s, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, tooOften, tooOften},
		}},
		{"exits that are further apart go on for ever", hub.KindStdio, 0, []end{
			{0, 0, exited, nil, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s}, // the first is 125 s ago
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s},
			{25 * s, 20 * s, exited, nil, 5 * s, 5 * s},
		}},
		{"a healthy minute makes all good", hub.KindStdio, 0, []end{
			{0, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
			{65 * s, 60 * s, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
		}},
		{"a remote server is tried for ever, ever more rarely", hub.KindHTTP, 0, []end{
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
		{"unless it says how often: three times, for which the first end does not count", hub.KindHTTP, 3, []end{
			{0, 0, away, nil, 2 * s, 2 * s},
			{2 * s, 0, away, nil, 4 * s, 4 * s},
			{4 * s, 0, away, nil, 6 * s, 6 * s},
			{6 * s, 0, away, nil, tooOften, tooOften},
		}},
		{"and neither does the loss of a connection", hub.KindWebSocket, 3, []end{
			{0, 5 * s, away, nil, 2 * s, 2 * s},
			{2 * s, 0, away, nil, 4 * s, 4 * s},
			{4 * s, 0, away, nil, 6 * s, 6 * s},
			{6 * s, 0, away, nil, tooOften, tooOften},
		}},
		{"only a connection that held for a minute makes that good", hub.KindSSE, 2, []end{
			{0, 5 * s, away, nil, 5 * s, 5 * s},
			{5 * s, 0, away, nil, 10 * s, 10 * s},
			{70 * s, 60 * s, away, nil, 5 * s, 5 * s},
			{5 * s, 0, away, nil, 10 * s, 10 * s},
			{40 * s, 30 * s, away, nil, 20 * s, 20 * s},
			{20 * s, 0, away, nil, tooOften, tooOften},
		}},
		{"one that is reached each time and lost again is not given up", hub.KindHTTP, 1, []end{
			{0, s, away, nil, 2 * s, 2 * s},
			{2 * s, s, lost, nil, 4 * s, 4 * s},
			{4 * s, s, lost, nil, 6 * s, 6 * s},
			{6 * s, s, away, nil, 9 * s, 12 * s},
		}},
		{"the bound is of remote servers only", hub.KindStdio, 1, []end{
			{0, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
			{5 * s, 0, exited, nil, 5 * s, 5 * s},
		}},
		{"a lost session is opened again at once, the first time", hub.KindHTTP, 0, []end{
			{0, 30 * s, lost, nil, 0, 0},
			{0, s, lost, nil, 4 * s, 4 * s},
			{4 * s, s, lost, nil, 6 * s, 6 * s},
			{61 * s, 61 * s, lost, nil, 0, 0},
		}},
		{"what a person has to mend is not tried again", hub.KindStdio, 0, []end{{0, 0, message.CommandNotFound, nil, never, never}}},
		{"nor a command that cannot be run", hub.KindStdio, 0, []end{{0, 0, message.CommandUnusable, nil, never, never}}},
		{"nor one without Node.js", hub.KindStdio, 0, []end{{0, 0, message.NodeMissing, nil, never, never}}},
		{"nor one without uv", hub.KindStdio, 0, []end{{0, 0, message.UvMissing, nil, never, never}}},
		{"nor one whose placeholders cannot be filled in", hub.KindStdio, 0, []end{{0, 0, message.PlaceholderUnresolved, nil, never, never}}},
		{"nor one whose sandbox this system does not have", hub.KindStdio, 0, []end{{0, 0, message.SandboxMissing, nil, never, never}}},
		{"nor one whose sandbox cannot be made", hub.KindStdio, 0, []end{{0, 0, message.SandboxUnusable, nil, never, never}}},
		{"a WebSocket is tried like any remote server", hub.KindWebSocket, 0, []end{
			{0, 0, away, nil, 2 * s, 2 * s},
			{2 * s, 0, away, nil, 4 * s, 4 * s},
		}},
		{"an event stream is opened again 5 s after an error, then ever more rarely", hub.KindSSE, 0, []end{
			{0, 30 * s, away, nil, 5 * s, 5 * s},
			{5 * s, 0, away, nil, 10 * s, 10 * s},
			{10 * s, 0, away, nil, 20 * s, 20 * s},
			{20 * s, 0, away, nil, 30 * s, 40 * s},
			{40 * s, 0, away, nil, 45 * s, 60 * s},
			{60 * s, 60 * s, away, nil, 5 * s, 5 * s},
		}},
		{"and 1 s after it was silent for too long", hub.KindSSE, 0, []end{
			{0, 65 * s, away, fmt.Errorf("read: %w", transport.ErrIdle), s, s},
			{s, 65 * s, away, transport.ErrIdle, s, s},
			{s, 10 * s, away, transport.ErrIdle, 2 * s, 2 * s},
			{2 * s, 0, away, nil, 20 * s, 20 * s},
		}},
		{"nor a protocol that is not spoken here", hub.KindHTTP, 0, []end{{0, 0, message.ServerProtocol, nil, never, never}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := counter{budget: DefaultBudget()}
			def := hub.Server{Kind: tt.kind, AutoRestart: true, AutoReconnect: true, MaxReconnects: tt.most}
			now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			for i, e := range tt.ends {
				now = now.Add(e.after)
				wait, then := c.next(now, e.held, hub.E(e.code, e.cause), &def)
				if then != tryAgain {
					wait = -time.Duration(then)
				}
				if wait < e.least || wait > e.most {
					t.Errorf("end %d: wait %v, want %v to %v", i+1, wait, e.least, e.most)
				}
			}
		})
	}
}

// Who is given up learns why it came to that: after how many exits, after how
// many attempts, or because that was asked for. Every other reason stands as it
// is.
func TestLastReason(t *testing.T) {
	exit := hub.E(message.ServerExited, nil, "exit", "exit status 3", "stderr", " Its last words: ouch")
	away := hub.E(message.ServerUnreachable, nil, "url", "http://h", "detail", "connection refused")
	silent := hub.E(message.ServerUnhealthy, nil, "count", "6")
	for _, tt := range []struct {
		def    hub.Server
		reason *hub.Error
		code   message.Code
		ends   int
		what   string
		remedy string
	}{
		{
			hub.Server{Kind: hub.KindStdio, AutoRestart: true},
			exit, message.ServerCrashLoop, 6,
			"The process ended 6 times within 2m0s, last with exit status 3. Its last words: ouch", "toolcrib server restart files",
		},
		{
			hub.Server{Kind: hub.KindHTTP, AutoReconnect: true, MaxReconnects: 3},
			away, message.ServerReconnects, 4,
			"The server was not reached in 3 attempts in a row, as many as \"maxReconnectAttempts\" allows. The last time: " + away.Text(message.English).String(), "toolcrib server start files",
		},
		{
			hub.Server{Kind: hub.KindStdio},
			exit, message.ServerNotRestarted, 1,
			"The server has ended and is not started again by itself: " + exit.Text(message.English).String(), "toolcrib server start files",
		},
		{
			hub.Server{Kind: hub.KindHTTP},
			away, message.ServerNotRestarted, 1,
			"The server has ended and is not started again by itself: " + away.Text(message.English).String(), "toolcrib server start files",
		},
		{hub.Server{Kind: hub.KindStdio, AutoRestart: true}, silent, message.ServerUnhealthy, 6, silent.Text(message.English).What, ""},
		{hub.Server{Kind: hub.KindStdio}, hub.E(message.NodeMissing, nil), message.NodeMissing, 1, hub.E(message.NodeMissing, nil).Text(message.English).What, ""},
	} {
		c := counter{budget: DefaultBudget()}
		now, ends, then := time.Now(), 0, tryAgain
		for then == tryAgain {
			_, then = c.next(now, 0, tt.reason, &tt.def)
			now = now.Add(5 * time.Second)
			ends++
		}
		last := c.last("files", tt.reason, then)
		if zh := last.Text(message.Chinese).What; last.Code == message.ServerNotRestarted && !strings.HasSuffix(zh, tt.reason.Text(message.Chinese).String()) {
			t.Errorf("the reason in Chinese is in %q", zh)
		}
		if got := last.Text(message.English); last.Code != tt.code || ends != tt.ends || got.What != tt.what || !strings.Contains(got.Remedy, tt.remedy) {
			t.Errorf("after %d ends got %s: %q, want %q", ends, last.Code, got, tt.what)
		}
		if last != tt.reason && !errors.Is(last, tt.reason) {
			t.Errorf("%s has lost its cause", last.Code)
		}
	}
}

// What is not to be tried again is given up at its first end; but a session that
// was lost is opened again, since the server is there.
func TestOnce(t *testing.T) {
	for _, tt := range []struct {
		def    hub.Server
		reason message.Code
		want   sequel
	}{
		{hub.Server{Kind: hub.KindStdio}, message.ServerExited, notAgain},
		{hub.Server{Kind: hub.KindStdio, AutoReconnect: true}, message.ServerSilent, notAgain},
		{hub.Server{Kind: hub.KindStdio, AutoRestart: true}, message.ServerExited, tryAgain},
		{hub.Server{Kind: hub.KindStdio}, message.CommandNotFound, inVain},
		{hub.Server{Kind: hub.KindHTTP, AutoRestart: true}, message.ServerUnreachable, notAgain},
		{hub.Server{Kind: hub.KindHTTP}, message.SessionLost, tryAgain},
		{hub.Server{Kind: hub.KindSSE}, message.ServerUnreachable, notAgain},
		{hub.Server{Kind: hub.KindWebSocket, AutoReconnect: true}, message.ServerUnreachable, tryAgain},
		{hub.Server{Kind: hub.KindBuiltin}, message.ServerExited, tryAgain},
	} {
		c := counter{budget: DefaultBudget()}
		if _, then := c.next(time.Now(), 0, hub.E(tt.reason, nil), &tt.def); then != tt.want {
			t.Errorf("%+v, %s: %d", tt.def, tt.reason, then)
		}
	}
	c := counter{budget: DefaultBudget()}
	lost, def := hub.E(message.SessionLost, nil), hub.Server{Kind: hub.KindHTTP}
	if _, then := c.next(time.Now(), 0, lost, &def); then != tryAgain {
		t.Error("the first lost session is the last")
	}
	if _, then := c.next(time.Now(), 0, lost, &def); then != notAgain {
		t.Error("a server that forgets at once is tried for ever")
	}
}

// Settings that change while a server is away count from then on.
func TestCounterFollowsTheDefinition(t *testing.T) {
	c := counter{budget: DefaultBudget()}
	away, def := hub.E(message.ServerUnreachable, nil), hub.Server{Kind: hub.KindHTTP, AutoReconnect: true}
	for range 5 {
		if _, then := c.next(time.Now(), 0, away, &def); then != tryAgain {
			t.Fatal("given up without a bound")
		}
	}
	def.MaxReconnects = 3
	if _, then := c.next(time.Now(), 0, away, &def); then != spent {
		t.Error("the bound that was set is not kept")
	}
	def.AutoReconnect = false
	if _, then := c.next(time.Now(), 0, away, &def); then != notAgain {
		t.Error("it is tried again though it is not to be")
	}
}

// Setting the clock of the machine, by a day in either direction, neither
// forgets the ends of a process nor adds to them.
func TestCounterKeepsItsOwnTime(t *testing.T) {
	c := counter{budget: DefaultBudget()}
	def, exit := hub.Server{Kind: hub.KindStdio, AutoRestart: true}, hub.E(message.ServerExited, nil)
	now := time.Now()
	for n, shift := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour, 0, 48 * time.Hour, -time.Minute} {
		want := tryAgain
		if n == 5 {
			want = spent
		}
		if _, then := c.next(clockSet(now, shift), 0, exit, &def); then != want {
			t.Fatalf("end %d: %d, want %d", n+1, then, want)
		}
		now = now.Add(5 * time.Second)
	}
}

// clockSet is the time t as it is read after the clock of the machine was set
// forward by d: another date, and the same monotonic reading, which t must have
// (within synctest no time has one). Package time has no way to make such a time,
// so that the date is changed in its place within [time.Time]: whole seconds from
// bit 30 of the first word on.
func clockSet(t time.Time, d time.Duration) time.Time {
	set := t
	*(*uint64)(unsafe.Pointer(&set)) += uint64(d/time.Second) << 30
	if set.Sub(t) != 0 || !set.Round(0).Equal(t.Round(0).Add(d)) {
		panic("time.Time is built otherwise")
	}
	return set
}
