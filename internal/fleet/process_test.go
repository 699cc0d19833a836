package fleet_test

import (
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// quick is a budget for tests that wait for real processes.
func quick() fleet.Budget {
	b := fleet.DefaultBudget()
	b.Pause, b.Backoff, b.Spacing = 20*time.Millisecond, 20*time.Millisecond, 0
	return b
}

func process(t *testing.T, args ...string) hub.Server {
	t.Helper()
	return hub.Server{
		Key: "s", Kind: hub.KindStdio, Enabled: true, AutoStart: true, AutoRestart: true, Command: rig.FaultServer(t), Args: args,
		Env: map[string]string{"GORACE": "atexit_sleep_ms=0"},
	}
}

// lists collects what a fleet has listed.
type lists struct {
	mu   sync.Mutex
	last [][]byte
	n    int
}

func (l *lists) listed(_ hub.Server, offered hub.Lists) {
	tools := offered.Tools
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.n = tools, l.n+1
}

func (l *lists) now() (tools, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.last), l.n
}

// call makes one call over a connection of the fleet.
func call(t *testing.T, f *fleet.Fleet, tool, arguments string) error {
	t.Helper()
	use, err := f.Acquire(t.Context(), "s", nil)
	if err != nil {
		return err
	}
	defer func() { use.Done(err) }()
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = use.Conn().Do(t.Context(), &upstream.Request{Message: &m, Name: tool}, nil)
	return err
}

func await(t *testing.T, f *fleet.Fleet, state hub.State) hub.Status {
	t.Helper()
	var st hub.Status
	rig.Await(t, "it is "+string(state), func() bool {
		st = f.Status()[0]
		return st.State == state
	})
	return st
}

// A process that is killed comes back, and meanwhile says how it ended.
func TestKilledProcessComesBack(t *testing.T) {
	budget := quick()
	budget.Pause = time.Second // to be seen
	f := run(t, fleet.Options{Servers: []hub.Server{process(t)}, Dial: upstream.Dial, Budget: budget})
	first := await(t, f, hub.StateReady)
	p, err := os.FindProcess(first.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	lost := await(t, f, hub.StateCrashed)
	if lost.Reason.Code != message.ServerExited || lost.Reason.Args["exit"] != "killed by signal 9" || lost.Retry.IsZero() || lost.PID != 0 {
		t.Errorf("meanwhile: %+v", lost)
	}
	if err := call(t, f, "echo", `{"text":""}`); err != nil {
		t.Errorf("the first call: %v", err)
	}
	if again := await(t, f, hub.StateReady); again.PID == first.PID || again.PID == 0 || again.Reason != nil {
		t.Errorf("then: %+v", again)
	}
}

// Of two processes, one that is killed takes nobody with it: the server stays
// ready, and there are two again.
func TestKilledInstance(t *testing.T) {
	s := process(t)
	s.Instances = hub.Instances{Min: 2, Max: 2}
	f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: upstream.Dial, Budget: quick()})
	two := func() bool { return len(f.Status()[0].PIDs) == 2 }
	rig.Await(t, "there are two", two)
	before := f.Status()[0]
	rig.Find(t, before.PIDs[0]).Signal(t, os.Kill)
	rig.Await(t, "it is noticed", func() bool { return f.Status()[0].Losses == 1 })
	if err := call(t, f, "echo", `{"text":""}`); err != nil {
		t.Errorf("meanwhile: %v", err)
	}
	rig.Await(t, "there are two again", two)
	after := f.Status()[0]
	if after.State != hub.StateReady || after.Since != before.Since || slices.Contains(after.PIDs, before.PIDs[0]) || !slices.Contains(after.PIDs, before.PIDs[1]) {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// A process that ends at every start is given up, and leaves no other.
func TestCrashLoop(t *testing.T) {
	f := run(t, fleet.Options{Servers: []hub.Server{process(t, "-fault", "crashstart")}, Dial: upstream.Dial, Budget: quick()})
	st := await(t, f, hub.StateFailed)
	if st.Reason.Code != message.ServerCrashLoop || st.Reason.Args["count"] != "6" || st.Reason.Args["exit"] != "exit status 1" {
		t.Errorf("given up for %v", st.Reason)
	}
	if left := rig.Tree(t, os.Getpid()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// When a server says that its tools have changed, they are listed again, and
// once more for each change, by whatever way it says so.
func TestChangedToolsAreListed(t *testing.T) {
	for name, server := range map[string]func(t *testing.T) hub.Server{
		"stdio":        func(t *testing.T) hub.Server { return process(t) },
		"stdio modern": func(t *testing.T) hub.Server { return process(t, "-fault", "modernonly") },
		"http": func(t *testing.T) hub.Server {
			_, url := rig.StartFaultServer(t, "127.0.0.1:0")
			return hub.Server{Key: "s", Kind: hub.KindHTTP, URL: url, Enabled: true, AutoStart: true, AutoReconnect: true}
		},
		"http modern": func(t *testing.T) hub.Server {
			_, url := rig.StartFaultServer(t, "127.0.0.1:0", "-fault", "modernonly")
			return hub.Server{Key: "s", Kind: hub.KindHTTP, URL: url, Enabled: true, AutoStart: true, AutoReconnect: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got lists
			f := run(t, fleet.Options{Servers: []hub.Server{server(t)}, Dial: upstream.Dial, Listed: got.listed, Budget: quick()})
			await(t, f, hub.StateReady)
			if n, times := got.now(); n < 10 || times != 1 {
				t.Errorf("at first %d tools were listed %d times", n, times)
			}
			for _, arguments := range []string{`{"n":7,"only":true}`, `{"n":300,"only":true}`} {
				want := 7
				if len(arguments) > len(`{"n":7,"only":true}`) {
					want = 300
				}
				// Asked for again and again: the stream that tells of changes is
				// opened beside the first list.
				rig.Await(t, "the new list", func() bool {
					if err := call(t, f, "set_tools", arguments); err != nil {
						t.Fatal(err)
					}
					n, _ := got.now()
					return n == want && f.Status()[0].Tools == want
				})
			}
		})
	}
}

// A remote server that forgets its sessions is greeted again, and no call fails
// for it.
func TestForgottenSession(t *testing.T) {
	_, url := rig.StartFaultServer(t, "127.0.0.1:0", "-fault", "status404session", "-session-calls", "1")
	s := hub.Server{Key: "s", Kind: hub.KindHTTP, URL: url, Enabled: true, AutoStart: true, AutoReconnect: true}
	f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: upstream.Dial, Budget: fleet.DefaultBudget()})
	await(t, f, hub.StateReady)
	for n := range 5 { // each of them forgets its session
		err := call(t, f, "echo", `{"text":""}`)
		if errors.Is(err, transport.ErrNotSent) { // unless the connection was found ended before
			err = call(t, f, "echo", `{"text":""}`)
		}
		if err != nil {
			t.Fatalf("call %d: %v", n+1, err)
		}
	}
}

// Stopping ends a server that does not want to end, and one that is just being
// started.
func TestStop(t *testing.T) {
	t.Cleanup(func() { // after the fleet has ended
		if left := rig.Tree(t, os.Getpid()); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	stubborn, starting := process(t, "-fault", "nostop"), process(t, "-fault", "neverinit")
	starting.Key = "starting"
	f := run(t, fleet.Options{Servers: []hub.Server{stubborn, starting}, Dial: upstream.Dial, Budget: quick()})
	await(t, f, hub.StateReady)
	rig.Await(t, "both have started", func() bool { return len(rig.Tree(t, os.Getpid())) == 2 })
}
