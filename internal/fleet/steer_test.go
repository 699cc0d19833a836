package fleet_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
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
		conn, err := connect(t.Context(), f, "s")
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
		if _, err := connect(t.Context(), f, "s"); !hub.IsCode(err, message.ServerStopped) || len(d.times()) != 1 {
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
					_, err := connect(t.Context(), f, "s")
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
		is(t, f, hub.StateCrashed, message.ServerExited)
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
	for name, tt := range map[string]struct {
		change func(*hub.Server)
		state  hub.State
	}{
		"a process":       {func(s *hub.Server) { s.Kind, s.AutoReconnect = hub.KindStdio, true }, hub.StateCrashed},
		"a remote server": {func(s *hub.Server) { s.Kind, s.AutoRestart = hub.KindHTTP, true }, hub.StateFailed},
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
				tt.change(&s)
				f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: d.dial})
				time.Sleep(30 * time.Minute)
				is(t, f, hub.StateReady, "")
				time.Sleep(time.Hour)
				is(t, f, tt.state, message.ServerNotRestarted)
				if st := f.Status()[0]; !st.Retry.IsZero() || st.Losses != 1 || st.Starts != 1 {
					t.Errorf("then: %+v", st)
				}
				if _, err := connect(t.Context(), f, "s"); !hub.IsCode(err, message.ServerDown) || len(d.times()) != 1 {
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

// Who starts a server that is not started again by itself is told how that went,
// not to start it.
func TestStartOnceOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := steps(exited(), exited())
		s := local()
		s.Kind = hub.KindStdio
		f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: d.dial})
		synctest.Wait()
		if err := f.Start(t.Context(), "s"); !hub.IsCode(err, message.ServerExited) {
			t.Errorf("start: %v", err)
		}
		is(t, f, hub.StateCrashed, message.ServerNotRestarted)
		if err := f.Restart(t.Context(), "s"); err != nil {
			t.Errorf("restart: %v", err)
		}
	})
}

// A restart is a new connection.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := steps()
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		first, err := connect(t.Context(), f, "s")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Restart(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		second, err := connect(t.Context(), f, "s")
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
				Listed: func(hub.Server, hub.Lists) { lists.Add(1) },
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

// A refresh that a stop, or another definition, cuts off ends as the server does:
// it tells of no fault of the server's.
func TestRefreshCutOff(t *testing.T) {
	for _, stop := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var lists atomic.Int32
			d := steps()
			d.serve = func(_ context.Context, _ string, r io.ReadCloser, w io.WriteCloser) error {
				defer w.Close()
				p := &peer{in: bufio.NewScanner(r), out: w}
				for {
					n, ok := p.next()
					switch {
					case !ok:
						return nil
					case n.Method == "initialize":
						p.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, n.ID)
					case n.Method == "tools/list" && lists.Add(1) != 2:
						p.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, n.ID)
					}
				}
			}
			f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
			synctest.Wait()
			refreshed := make(chan error, 1)
			go func() { refreshed <- f.Refresh(t.Context(), "s") }()
			synctest.Wait()
			want := message.Code("")
			if stop {
				want = message.ServerStopped
				if err := f.Stop(t.Context(), "s"); err != nil {
					t.Error(err)
				}
			} else {
				other := local()
				other.Dir = "/"
				f.Apply([]hub.Server{other}, nil)
			}
			if err := <-refreshed; want == "" && err != nil || want != "" && !hub.IsCode(err, want) {
				t.Errorf("stop %t: the refresh got %v", stop, err)
			}
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
			Listed: func(hub.Server, hub.Lists) {},
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
		f.Apply([]hub.Server{local()}, nil)
		if err := f.Start(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		stop()
		<-done
		all("s", message.ShuttingDown)
		f.Apply([]hub.Server{local(), off}, nil)
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
		if _, err := connect(t.Context(), f, "call"); err != nil {
			t.Error(err)
		}
		if err := errors.Join(f.Start(t.Context(), "start"), f.Refresh(t.Context(), "refresh")); err != nil {
			t.Error(err)
		}
		added := local()
		added.Key = "added"
		servers[0].Args = []string{"other"}
		f.Apply(append(servers, added), nil)
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
