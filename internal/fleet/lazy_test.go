package fleet_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// When a server runs, by its definition: with the hub for good, with the hub
// until nobody needs it, once to learn its tools, or from the first call on.
func TestWhenItRuns(t *testing.T) {
	for name, tt := range map[string]struct {
		change      func(*hub.Server)
		known       bool
		first, then hub.State // at the start, and after an hour
		last        hub.State // an hour after one call
	}{
		"lazy":         {func(*hub.Server) {}, true, hub.StateIdle, hub.StateIdle, hub.StateIdle},
		"never seen":   {func(*hub.Server) {}, false, hub.StateReady, hub.StateIdle, hub.StateIdle},
		"preload":      {func(s *hub.Server) { s.Preload = true }, true, hub.StateReady, hub.StateIdle, hub.StateIdle},
		"auto start":   {func(s *hub.Server) { s.AutoStart = true }, true, hub.StateReady, hub.StateReady, hub.StateReady},
		"no idle stop": {func(s *hub.Server) { s.IdleStop = 0 }, true, hub.StateIdle, hub.StateIdle, hub.StateReady},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := waiting()
				tt.change(&s)
				h := newHost()
				f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: h.dial, Known: func(hub.Server) bool { return tt.known }})
				synctest.Wait()
				is(t, f, tt.first, "")
				time.Sleep(time.Hour)
				is(t, f, tt.then, "")
				if err := callOnce(t.Context(), f, "s"); err != nil {
					t.Error(err)
				}
				is(t, f, hub.StateReady, "")
				time.Sleep(time.Hour)
				is(t, f, tt.last, "")
			})
		})
	}
}

// A server is ended when its time without a call is over, not before: the end of
// a call counts, however long that took, and so does that of a lease.
func TestIdleStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		f := run(t, fleet.Options{Servers: []hub.Server{waiting()}, Dial: h.dial, Known: familiar})
		use, err := f.Acquire(t.Context(), "s", nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if st := f.Status()[0]; st.State != hub.StateReady || st.Calls != 1 || st.Instances != 1 || st.Event != "connected" {
			t.Errorf("under a call: %+v", st)
		}
		use.Done(nil)
		use.Done(nil)
		time.Sleep(5*time.Minute - time.Second)
		is(t, f, hub.StateReady, "")
		if started, err := f.Hold("s", "me", "echo"); started || err != nil {
			t.Errorf("a lease on a server that runs: %t, %v", started, err)
		}
		time.Sleep(time.Hour)
		is(t, f, hub.StateReady, "")
		f.Release("s", "me", "echo")
		time.Sleep(5*time.Minute - time.Second)
		is(t, f, hub.StateReady, "")
		time.Sleep(2 * time.Second)
		if st := f.Status()[0]; st.State != hub.StateIdle || st.Event != "ended" || st.Instances != 0 || st.Losses != 0 {
			t.Errorf("then: %+v", st)
		}
		if n := len(h.times()); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// Many cold calls share one start, and each waits within its own time.
func TestColdCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		h.each = func(_ int, ctx context.Context) error {
			select {
			case <-time.After(10 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		f := run(t, fleet.Options{Servers: []hub.Server{waiting()}, Dial: h.dial, Known: familiar})
		var all sync.WaitGroup
		for n := range 100 {
			all.Go(func() {
				limit := time.Minute
				if n%2 == 0 {
					limit = time.Second
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				err := callOnce(ctx, f, "s")
				if n%2 == 0 != errors.Is(err, context.DeadlineExceeded) || n%2 == 1 && err != nil {
					t.Errorf("call %d: %v", n, err)
				}
			})
		}
		all.Wait()
		if n := len(h.times()); n != 1 || time.Since(h.began) != 10*time.Second {
			t.Errorf("%d starts in %v", n, time.Since(h.began))
		}
	})
}

// Leases are counted for each holder and tool, start a server that is idle, and
// are refused for one that no call could start either.
func TestLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		off := waiting()
		off.Key, off.Enabled = "off", false
		f := run(t, fleet.Options{Servers: []hub.Server{waiting(), off}, Dial: h.dial, Known: familiar})
		hold := func(key, holder, tool string, want bool, code message.Code) {
			t.Helper()
			started, err := f.Hold(key, holder, tool)
			if started != want || (code == "") != (err == nil) || code != "" && !hub.IsCode(err, code) {
				t.Errorf("%s %s: %t, %v", holder, tool, started, err)
			}
		}
		hold("s", "b", "echo", true, "")
		synctest.Wait()
		is(t, f, hub.StateReady, "")
		hold("s", "b", "echo", false, "")
		hold("s", "b", "", false, "")
		hold("s", "a", "echo", false, "")
		hold("none", "a", "", false, message.ServerUnknown)
		hold("off", "a", "", false, message.ServerDisabled)
		want := []hub.Lease{{Holder: "a", Tool: "echo", Count: 1}, {Holder: "b", Count: 1}, {Holder: "b", Tool: "echo", Count: 2}}
		if got := f.Status()[0].Leases; !slices.Equal(got, want) {
			t.Errorf("held: %+v", got)
		}
		for range 3 { // more often than it is held
			f.Release("s", "b", "echo")
			f.Release("s", "b", "")
			f.Release("none", "b", "")
		}
		time.Sleep(time.Hour)
		if st := f.Status()[0]; st.State != hub.StateReady || !slices.Equal(st.Leases, want[:1]) {
			t.Errorf("left: %+v", st)
		}
		if err := f.Stop(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		hold("s", "a", "echo", false, message.ServerStopped)
		f.Release("s", "a", "echo")
		if got := f.Status()[0].Leases; len(got) != 0 {
			t.Errorf("held: %+v", got)
		}
	})
}

// What a new definition says of when the server runs holds from then on, for the
// connection that there is.
func TestWhenItRunsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		s := waiting()
		f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: h.dial, Known: familiar})
		apply := func(wait time.Duration, state hub.State) {
			t.Helper()
			f.Apply([]hub.Server{s}, nil)
			time.Sleep(wait)
			is(t, f, state, "")
		}
		s.Preload = true
		apply(time.Minute, hub.StateReady)
		s.AutoStart, s.Preload = true, false
		apply(time.Hour, hub.StateReady)
		s.AutoStart = false // unused for long
		apply(time.Second, hub.StateIdle)
		s.AutoStart = true
		apply(time.Second, hub.StateReady)
		s.AutoStart, s.IdleStop = false, 0
		apply(time.Hour, hub.StateReady)
		s.IdleStop = 2 * time.Hour
		apply(30*time.Minute, hub.StateReady)
		apply(30*time.Minute, hub.StateIdle)
		if n := len(h.times()); n != 2 {
			t.Errorf("%d connections", n)
		}
	})
}

// A new definition that comes while the server is being ended for want of use
// says what comes after that, as it would of one that is idle.
func TestWhenItRunsChangesAtItsEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*hub.Server)
		then   hub.State
	}{
		"to run with the hub":  {func(s *hub.Server) { s.AutoStart = true }, hub.StateReady},
		"another name":         {func(s *hub.Server) { s.Name = "other" }, hub.StateIdle},
		"reached otherwise":    {func(s *hub.Server) { s.Dir = "/" }, hub.StateIdle},
		"both":                 {func(s *hub.Server) { s.AutoStart, s.Dir = true, "/" }, hub.StateReady},
		"not to be used again": {func(s *hub.Server) { s.Enabled = false }, hub.StateDisabled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost()
				h.serve = func(ctx context.Context, key string, r io.ReadCloser, w io.WriteCloser) error {
					err := h.talk(ctx, key, r, w)
					time.Sleep(2 * time.Second) // it takes its time to end
					return err
				}
				s := waiting()
				f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: h.dial, Known: familiar})
				if _, err := connect(t.Context(), f, "s"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(s.IdleStop + time.Second)
				is(t, f, hub.StateStopping, "")
				tt.change(&s)
				f.Apply([]hub.Server{s}, nil)
				time.Sleep(5 * time.Second)
				code := message.Code("")
				if tt.then == hub.StateDisabled {
					code = message.ServerDisabled
				}
				is(t, f, tt.then, code)
			})
		})
	}
}

// A connection is never ended for want of use under a call that has just got it.
func TestIdleStopNeverMeetsACall(t *testing.T) {
	s := waiting()
	s.Kind, s.IdleStop, s.Instances = hub.KindHTTP, time.Microsecond, hub.Instances{Max: 3, Queue: 1}
	h := newHost()
	f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: h.dial, Known: familiar, Budget: quick()})
	var all sync.WaitGroup
	var calls atomic.Int32
	caller := func() {
		all.Go(func() {
			for range 50 {
				use, err := f.Acquire(t.Context(), "s", nil)
				if err != nil {
					t.Error(err)
					return
				}
				runtime.Gosched()
				select {
				case <-use.Conn().Done():
					t.Error("the connection has ended under a call")
				default:
				}
				calls.Add(1)
				use.Done(nil)
			}
		})
	}
	for range 10 {
		for range 4 {
			caller()
		}
		all.Wait()
		await(t, f, hub.StateIdle)
	}
	t.Logf("%d calls over %d connections", calls.Load(), len(h.times()))
	if len(h.times()) < 2 {
		t.Error("it was never ended")
	}
	if n := f.Status()[0].Calls; n != 0 {
		t.Errorf("%d calls are left", n)
	}
}

// Processes that nobody waits for start a few at a time; one that a call waits
// for starts at once.
func TestStartsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		var order []string
		var mu sync.Mutex
		dial := func(ctx context.Context, opt upstream.Options) (*upstream.Conn, error) {
			mu.Lock()
			order = append(order, opt.Server.Key)
			mu.Unlock()
			time.Sleep(time.Second)
			return h.dial(ctx, opt)
		}
		begun := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(order)
		}
		var servers []hub.Server
		for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
			s := local()
			s.Key, s.Kind = key, hub.KindStdio
			servers = append(servers, s)
		}
		f := run(t, fleet.Options{Servers: servers, Dial: dial, Starts: 2})
		synctest.Wait()
		if n := begun(); n != 2 {
			t.Errorf("%d start at once", n)
		}
		mu.Lock()
		late := ""
		for _, s := range servers {
			if !slices.Contains(order, s.Key) {
				late = s.Key
			}
		}
		mu.Unlock()
		began := time.Now()
		if err := f.Wait(t.Context(), late); err != nil || time.Since(began) != time.Second {
			t.Errorf("the call waited for %v, %v", time.Since(began), err)
		}
		time.Sleep(2 * time.Second)
		if n := begun(); n != 6 {
			t.Errorf("%d have started", n)
		}
	})
}
