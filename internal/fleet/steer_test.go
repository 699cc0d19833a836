package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

func exited() error {
	return hub.E(message.ServerExited, nil, "exit", "exit status 1", "stderr", "")
}

// steps makes a dialer whose n-th attempt ends as given; those after the last
// connect.
func steps(errs ...error) *dialer {
	return &dialer{began: time.Now(), each: func(n int, _ context.Context) error {
		if n < len(errs) {
			return errs[n]
		}
		return nil
	}}
}

// is fails the test unless the one server is in the state, for the reason.
func is(t *testing.T, f *fleet.Fleet, state hub.State, code message.Code) {
	t.Helper()
	st := f.Status()[0]
	if st.State != state || (st.Reason == nil) != (code == "") || st.Reason != nil && st.Reason.Code != code {
		t.Errorf("it is %s, %v; want %s, %q", st.State, st.Reason, state, code)
	}
}

// A server that a person has stopped is gone, and stays so whoever calls, until
// it is started; then it is as new.
func TestStopAndStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var withheld []bool
		d := steps()
		f := run(t, fleet.Options{
			Servers: []hub.Server{local()}, Dial: d.dial,
			Withhold: func(_ string, yes bool) { withheld = append(withheld, yes) },
		})
		synctest.Wait()
		conn, err := f.Conn(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time there is nothing to do
			if err := f.Stop(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			select {
			case <-conn.Done():
			default:
				t.Error("the connection outlives Stop")
			}
			is(t, f, hub.StateStopped, message.ServerStopped)
		}
		time.Sleep(time.Hour)
		if _, err := f.Conn(t.Context(), "s"); !hub.IsCode(err, message.ServerStopped) || len(d.times()) != 1 {
			t.Errorf("a call got %v, and the server was started %d times", err, len(d.times()))
		}
		if err := f.Refresh(t.Context(), "s"); !hub.IsCode(err, message.ServerStopped) {
			t.Errorf("refresh: %v", err)
		}
		if err := f.Start(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		is(t, f, hub.StateReady, "")
		if err := f.Start(t.Context(), "s"); err != nil || len(d.times()) != 2 {
			t.Errorf("started once more: %v, %d connections", err, len(d.times()))
		}
		if !slices.Equal(withheld, []bool{true, false}) {
			t.Errorf("withheld %v", withheld)
		}
	})
}

// Stop ends what is under way, whatever that is.
func TestStopOnTheWay(t *testing.T) {
	for name, wait := range map[string]time.Duration{
		"an attempt": time.Second, "a pause": 4 * time.Second, "given up": time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &dialer{began: time.Now(), each: func(_ int, ctx context.Context) error {
					select {
					case <-time.After(2 * time.Second):
						return exited()
					case <-ctx.Done():
						time.Sleep(time.Second) // as closing a process may take
						return ctx.Err()
					}
				}}
				f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
				time.Sleep(wait)
				called := make(chan error, 1)
				go func() {
					_, err := f.Conn(t.Context(), "s")
					called <- err
				}()
				synctest.Wait()
				began := time.Now()
				if err := f.Stop(t.Context(), "s"); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("it took %v", took)
				}
				is(t, f, hub.StateStopped, message.ServerStopped)
				if err := <-called; !hub.IsCode(err, message.ServerStopped) && !hub.IsCode(err, message.ServerDown) {
					t.Errorf("who waited for it got %v", err)
				}
				n := len(d.times())
				time.Sleep(time.Hour)
				if len(d.times()) != n {
					t.Error("it was started again")
				}
			})
		})
	}
}

// Whoever asks for something waits within its own time; what was asked for goes
// on.
func TestSteeringWithinTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{began: time.Now(), each: func(n int, ctx context.Context) error {
			if n == 0 {
				return hub.E(message.CommandNotFound, nil)
			}
			select {
			case <-time.After(10 * time.Second):
				return nil
			case <-ctx.Done():
				time.Sleep(5 * time.Second)
				return ctx.Err()
			}
		}}
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		synctest.Wait()
		brief := func() context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			t.Cleanup(cancel)
			return ctx
		}
		if err := f.Start(brief(), "s"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("start: %v", err)
		}
		if err := f.Stop(brief(), "s"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stop: %v", err)
		}
		is(t, f, hub.StateStopping, "")
		// A start while it stops: it stops, and starts.
		if err := f.Start(t.Context(), "s"); err != nil {
			t.Errorf("start: %v", err)
		}
		if got, want := d.times(), seconds(0, 0, 6); !slices.Equal(got, want) {
			t.Errorf("started after %v, want %v", got, want)
		}
		gone, cancel := context.WithCancelCause(t.Context())
		cancel(hub.E(message.ShuttingDown, nil))
		if err := f.Restart(gone, "s"); !hub.IsCode(err, message.ShuttingDown) {
			t.Errorf("restart: %v", err)
		}
	})
}

// A server that was given up is started afresh, with its whole budget, by hand
// only; the one who starts it learns how the attempt went.
func TestStartRevives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs []error
		for range 12 {
			errs = append(errs, exited())
		}
		d := steps(errs...)
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		time.Sleep(time.Hour)
		is(t, f, hub.StateFailed, message.ServerCrashLoop)
		if err := f.Refresh(t.Context(), "s"); !hub.IsCode(err, message.ServerCrashLoop) || len(d.times()) != 6 {
			t.Errorf("refresh: %v", err)
		}
		began := time.Now()
		if err := f.Start(t.Context(), "s"); !hub.IsCode(err, message.ServerExited) || time.Since(began) != 0 {
			t.Errorf("start: %v after %v", err, time.Since(began))
		}
		is(t, f, hub.StateReconnecting, message.ServerExited)
		time.Sleep(time.Hour)
		is(t, f, hub.StateFailed, message.ServerCrashLoop)
		if n := len(d.times()); n != 12 {
			t.Errorf("%d attempts, want twice the budget", n)
		}
		if err := f.Restart(t.Context(), "s"); err != nil {
			t.Errorf("restart: %v", err)
		}
		is(t, f, hub.StateReady, "")
	})
}

// What a person has to mend first is tried again when the person says so.
func TestStartAfterHopeless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := steps(hub.E(message.PlaceholderUnresolved, nil, "server", "s", "placeholder", "${env:X}", "reason", "it is not set"))
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		time.Sleep(time.Hour)
		is(t, f, hub.StateFailed, message.PlaceholderUnresolved)
		if err := f.Start(t.Context(), "s"); err != nil {
			t.Error(err)
		}
	})
}

// An operator does not wait for the next attempt: it is made now, and the budget
// starts anew.
func TestStartHurries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := func() error { return hub.E(message.ServerUnreachable, nil, "url", "u", "detail", "d") }
		d := steps(away(), away(), away(), away(), away(), away())
		s := local()
		s.Kind, s.AutoReconnect = hub.KindWebSocket, true
		f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: d.dial})
		time.Sleep(13 * time.Second) // attempts at 0, 2, 6 and 12 s
		if err := f.Start(t.Context(), "s"); !hub.IsCode(err, message.ServerUnreachable) {
			t.Errorf("start: %v", err)
		}
		time.Sleep(time.Minute)
		if got, want := d.times(), seconds(0, 2, 6, 12, 13, 15, 19); !slices.Equal(got, want) {
			t.Errorf("tried after %v, want %v", got, want)
		}
		is(t, f, hub.StateReady, "")
	})
	synctest.Test(t, func(t *testing.T) {
		d := steps(exited())
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		time.Sleep(time.Second)
		if err := f.Start(t.Context(), "s"); err != nil || !slices.Equal(d.times(), seconds(0, 1)) {
			t.Errorf("start: %v, tried after %v", err, d.times())
		}
	})
}

// A server that is not to be started again by itself is given up at its first
// end. A call does not start it, a person does.
func TestOnceOnly(t *testing.T) {
	for name, change := range map[string]func(*hub.Server){
		"a process":       func(s *hub.Server) { s.Kind, s.AutoReconnect = hub.KindStdio, true },
		"a remote server": func(s *hub.Server) { s.Kind, s.AutoRestart = hub.KindHTTP, true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := steps()
				d.serve = serve(func(p *peer) {
					if len(d.times()) == 1 {
						time.Sleep(time.Hour) // then it ends
						return
					}
					p.drain()
				})
				s := local()
				change(&s)
				f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: d.dial})
				time.Sleep(30 * time.Minute)
				is(t, f, hub.StateReady, "")
				time.Sleep(time.Hour)
				if st := f.Status()[0]; st.State != hub.StateFailed || st.Reason == nil || st.Reason.Code == message.ServerCrashLoop {
					t.Errorf("it is %s, %v", st.State, st.Reason)
				}
				if _, err := f.Conn(t.Context(), "s"); !hub.IsCode(err, message.ServerDown) || len(d.times()) != 1 {
					t.Errorf("a call got %v", err)
				}
				if err := f.Start(t.Context(), "s"); err != nil {
					t.Error(err)
				}
				is(t, f, hub.StateReady, "")
			})
		})
	}
}

// A restart is a new connection.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := steps()
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		first, err := f.Conn(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Restart(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		second, err := f.Conn(t.Context(), "s")
		if err != nil || second == first {
			t.Errorf("the connection is the same, %v", err)
		}
	})
}

// Refresh asks a server for its tools once, over the connection that it has; an
// idle one is started, and stays.
func TestRefresh(t *testing.T) {
	for _, autoStart := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var lists atomic.Int32
			d := steps()
			s := local()
			s.AutoStart = autoStart
			f := run(t, fleet.Options{
				Servers: []hub.Server{s}, Dial: d.dial, Known: func(hub.Server) bool { return true },
				Listed: func(hub.Server, [][]byte) { lists.Add(1) },
			})
			synctest.Wait()
			want := lists.Load() + 1
			var all sync.WaitGroup
			all.Go(func() {
				if err := f.Refresh(t.Context(), "s"); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			if got := lists.Load(); got != want || len(d.times()) != 1 {
				t.Errorf("autoStart %t: listed %d times over %d connections", autoStart, got, len(d.times()))
			}
			is(t, f, hub.StateReady, "")
		})
	}
}

// What is asked of a server that is not to be had is refused.
func TestSteeringWhatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		off := local()
		off.Enabled = false
		d := steps()
		f := fleet.New(fleet.Options{
			Servers: []hub.Server{off}, Dial: d.dial, Bus: &bus.Bus{}, Log: quiet(), ClientInfo: []byte("{}"),
			Listed: func(hub.Server, [][]byte) {},
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = f.Run(ctx)
		}()
		verbs := map[string]func(context.Context, string) error{"start": f.Start, "stop": f.Stop, "restart": f.Restart, "refresh": f.Refresh}
		all := func(key string, want message.Code) {
			t.Helper()
			for name, verb := range verbs {
				if err := verb(t.Context(), key); !hub.IsCode(err, want) {
					t.Errorf("%s: %v, want %s", name, err, want)
				}
			}
		}
		all("none", message.ServerUnknown)
		all("s", message.ServerDisabled)
		f.Apply([]hub.Server{local()})
		if err := f.Start(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		stop()
		<-done
		all("s", message.ShuttingDown)
		f.Apply([]hub.Server{local(), off})
		if st := f.Status(); len(st) != 1 || st[0].State != hub.StateStopped || len(d.times()) != 1 {
			t.Errorf("after the end: %+v", st)
		}
	})
}

// On demand nothing starts but what is needed.
func TestOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var servers []hub.Server
		for _, key := range []string{"call", "start", "refresh", "none"} {
			s := local()
			s.Key = key
			servers = append(servers, s)
		}
		d := steps()
		f := run(t, fleet.Options{Servers: servers, Dial: d.dial, OnDemand: true})
		time.Sleep(time.Hour)
		if _, err := f.Conn(t.Context(), "call"); err != nil {
			t.Error(err)
		}
		if err := errors.Join(f.Start(t.Context(), "start"), f.Refresh(t.Context(), "refresh")); err != nil {
			t.Error(err)
		}
		added := local()
		added.Key = "added"
		servers[0].Args = []string{"other"}
		f.Apply(append(servers, added))
		time.Sleep(time.Hour)
		want := map[string]hub.State{
			"call": hub.StateIdle, "start": hub.StateReady, "refresh": hub.StateReady, "none": hub.StateIdle, "added": hub.StateIdle,
		}
		for _, st := range f.Status() {
			if st.State != want[st.Key] {
				t.Errorf("%s is %s, want %s", st.Key, st.State, want[st.Key])
			}
		}
		if n := len(d.times()); n != 3 {
			t.Errorf("%d connections", n)
		}
	})
}

// The log of a server tells its story, goes on over its lives, and wakes who
// waits for more.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := steps(exited())
		dial := func(ctx context.Context, opt upstream.Options) (*upstream.Conn, error) {
			opt.Note(hub.LogStderr, "hello")
			return d.dial(ctx, opt)
		}
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: dial})
		_, more, _ := f.Log("s", 0)
		synctest.Wait()
		select {
		case <-more:
		default:
			t.Error("nobody was woken")
		}
		time.Sleep(time.Minute)
		if err := f.Stop(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		lines, more, ok := f.Log("s", 0)
		var got []string
		for i, l := range lines {
			if l.Seq != uint64(i+1) || l.Time.IsZero() {
				t.Errorf("line %d: %+v", i, l)
			}
			got = append(got, string(l.Source)+": "+l.Text)
		}
		want := []string{
			"hub: starting", "stderr: hello",
			"hub: away: The process ended (exit status 1). Run the command by hand to see more. Tried again in 5s.",
			"stderr: hello", "hub: ready, 0 tools", "hub: stopping",
			`hub: stopped: The server "s" was stopped by an operator. Start it with "toolcrib server start s".`,
		}
		if !ok || !slices.Equal(got, want) {
			t.Errorf("got\n%s", strings.Join(got, "\n"))
		}
		select {
		case <-more:
			t.Error("woken for nothing")
		default:
		}
		if rest, _, _ := f.Log("s", 6); len(rest) != 1 || rest[0].Seq != 7 {
			t.Errorf("after 6: %+v", rest)
		}
		if rest, _, _ := f.Log("s", 7); len(rest) != 0 {
			t.Errorf("after the last: %+v", rest)
		}
		if rest, _, _ := f.Log("s", 1000); len(rest) != 7 {
			t.Errorf("after a line of another log: %d lines", len(rest))
		}
		if _, _, ok := f.Log("none", 0); ok {
			t.Error("there is a log of no server")
		}
	})
}

// A log is bounded, in lines and in bytes; its numbers go on.
func TestLogIsBounded(t *testing.T) {
	for size, least := range map[int]int{10: 500, 1000: 64} {
		d := &dialer{began: time.Now()}
		dial := func(ctx context.Context, opt upstream.Options) (*upstream.Conn, error) {
			for n := range 2000 {
				opt.Note(hub.LogStderr, fmt.Sprintf("%0*d", size, n))
			}
			return d.dial(ctx, opt)
		}
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: dial})
		if _, err := f.Conn(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		lines, _, _ := f.Log("s", 0)
		bytes := 0
		for _, l := range lines {
			bytes += len(l.Text)
		}
		if last := lines[len(lines)-1]; len(lines) > 500 || len(lines) < least || bytes > 64<<10 || last.Seq != 2002 || last.Text != "ready, 0 tools" {
			t.Errorf("%d lines of %d bytes, the last is %+v", len(lines), bytes, last)
		}
		for i, l := range lines[1:] {
			if l.Seq != lines[i].Seq+1 {
				t.Fatalf("%d comes after %d", l.Seq, lines[i].Seq)
			}
		}
	}
}
