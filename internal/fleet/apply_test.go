package fleet_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// What is not about how a server is reached changes nothing for a connection;
// everything else ends it, and makes another one.
func TestApplyKeepsConnections(t *testing.T) {
	base := func() hub.Server {
		s := local()
		s.Command, s.Args, s.Dir, s.URL = "run", []string{"x"}, "/srv", "http://localhost"
		s.Env, s.Headers = map[string]string{"A": "1"}, map[string]string{"B": "2"}
		return s
	}
	for name, tt := range map[string]struct {
		change func(*hub.Server)
		keeps  bool
	}{
		"nothing":            {func(*hub.Server) {}, true},
		"name":               {func(s *hub.Server) { s.Name = "n" }, true},
		"order":              {func(s *hub.Server) { s.Order = 7 }, true},
		"priority":           {func(s *hub.Server) { s.Priority = 7 }, true},
		"rules":              {func(s *hub.Server) { s.Rules.Deny = []string{"t"} }, true},
		"bare names":         {func(s *hub.Server) { s.BareNames = true }, true},
		"prefixed resources": {func(s *hub.Server) { s.PrefixURIs = true }, true},
		"timeout":            {func(s *hub.Server) { s.Timeout = time.Hour }, true},
		"auto start":         {func(s *hub.Server) { s.AutoStart = false }, true},
		"auto restart":       {func(s *hub.Server) { s.AutoRestart = true }, true},
		"auto reconnect":     {func(s *hub.Server) { s.AutoReconnect = true }, true},
		"kind":               {func(s *hub.Server) { s.Kind = hub.KindHTTP }, false},
		"command":            {func(s *hub.Server) { s.Command = "y" }, false},
		"arguments":          {func(s *hub.Server) { s.Args = []string{"y"} }, false},
		"environment":        {func(s *hub.Server) { s.Env = map[string]string{"A": "2"} }, false},
		"directory":          {func(s *hub.Server) { s.Dir = "/" }, false},
		"url":                {func(s *hub.Server) { s.URL = "http://[::1]" }, false},
		"headers":            {func(s *hub.Server) { s.Headers = nil }, false},
		"simulated":          {func(s *hub.Server) { s.Simulated = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var last hub.Server
				d := steps()
				f := run(t, fleet.Options{
					Servers: []hub.Server{base()}, Dial: d.dial, Listed: func(s hub.Server, _ hub.Lists) { last = s },
				})
				before, err := connect(t.Context(), f, "s")
				if err != nil {
					t.Fatal(err)
				}
				s := base()
				tt.change(&s)
				f.Apply([]hub.Server{s}, nil)
				after, err := connect(t.Context(), f, "s")
				if err != nil || (before == after) != tt.keeps || len(d.times()) == 1 != tt.keeps {
					t.Errorf("kept %t over %d connections, %v", before == after, len(d.times()), err)
				}
				if err := f.Refresh(t.Context(), "s"); err != nil {
					t.Error(err)
				}
				if now, ok := f.Server("s"); !ok || !equal(now, s) || !equal(last, s) {
					t.Errorf("the definition is %+v, and was listed as %+v", now, last)
				}
			})
		})
	}
}

func equal(a, b hub.Server) bool {
	return a.Name == b.Name && a.Order == b.Order && a.Priority == b.Priority && a.Timeout == b.Timeout && a.Kind == b.Kind &&
		a.Command == b.Command && slices.Equal(a.Args, b.Args) && len(a.Rules.Deny) == len(b.Rules.Deny)
}

// A server that is disabled or removed ends; one that is enabled or added starts
// as its settings say.
func TestApplyStartsAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := steps()
		f := run(t, fleet.Options{Dial: d.dial, Known: func(s hub.Server) bool { return s.Key == "lazy" }})
		check := func(want map[string]hub.State) {
			t.Helper()
			synctest.Wait()
			got := map[string]hub.State{}
			for _, st := range f.Status() {
				got[st.Key] = st.State
			}
			if len(got) != len(want) {
				t.Errorf("there are %v, want %v", got, want)
			}
			for key, state := range want {
				if got[key] != state {
					t.Errorf("%s is %s, want %s", key, got[key], state)
				}
			}
		}
		server := func(key string, autoStart bool) hub.Server {
			s := local()
			s.Key, s.AutoStart = key, autoStart
			return s
		}
		a, lazy, unknown, off := server("a", true), server("lazy", false), server("unknown", false), server("off", true)
		off.Enabled = false
		f.Apply([]hub.Server{a, lazy, unknown, off}, nil)
		check(map[string]hub.State{"a": hub.StateReady, "lazy": hub.StateIdle, "unknown": hub.StateReady, "off": hub.StateDisabled})

		conn, err := connect(t.Context(), f, "a")
		if err != nil {
			t.Fatal(err)
		}
		a.Enabled, off.Enabled, lazy.AutoStart = false, true, true
		f.Apply([]hub.Server{off, lazy, a}, nil)
		// At once, before anything has ended.
		if _, err := connect(t.Context(), f, "a"); !hub.IsCode(err, message.ServerDisabled) {
			t.Errorf("a call of a disabled server got %v", err)
		}
		if _, err := connect(t.Context(), f, "unknown"); !hub.IsCode(err, message.ServerUnknown) {
			t.Errorf("a call of a removed server got %v", err)
		}
		if err := f.Settle(t.Context(), "a"); err != nil {
			t.Errorf("waiting for its end: %v", err)
		}
		select {
		case <-conn.Done():
		default:
			t.Error("the server has not ended")
		}
		if err := f.Settle(t.Context(), "unknown"); !hub.IsCode(err, message.ServerUnknown) {
			t.Errorf("waiting for a removed server's end: %v", err)
		}
		check(map[string]hub.State{"a": hub.StateDisabled, "lazy": hub.StateReady, "off": hub.StateReady})
		if _, _, ok := f.Log("unknown", 0); ok {
			t.Error("a removed server has a log")
		}
		f.Apply(nil, nil)
		check(nil)
	})
}

// A server that a person has stopped stays so when its definition changes, but
// not when it is disabled and enabled again.
func TestApplyToStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := steps()
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		synctest.Wait()
		if err := f.Stop(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		s := local()
		s.Args = []string{"other"}
		f.Apply([]hub.Server{s}, nil)
		time.Sleep(time.Hour)
		is(t, f, hub.StateStopped, message.ServerStopped)
		s.Enabled = false
		f.Apply([]hub.Server{s}, nil)
		is(t, f, hub.StateDisabled, message.ServerDisabled)
		s.Enabled = true
		f.Apply([]hub.Server{s}, nil)
		synctest.Wait()
		is(t, f, hub.StateReady, "")
		if n := len(d.times()); n != 2 {
			t.Errorf("%d connections", n)
		}
	})
}

// Another definition is another chance, with the whole budget.
func TestApplyRevives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := steps(hub.E(message.CommandNotFound, nil))
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		time.Sleep(time.Hour)
		f.Apply([]hub.Server{local()}, nil)
		synctest.Wait()
		is(t, f, hub.StateFailed, message.CommandNotFound)
		s := local()
		s.Command = "there"
		f.Apply([]hub.Server{s}, nil)
		synctest.Wait()
		is(t, f, hub.StateReady, "")
	})
}

// A server that is removed and added again does not run twice: the new one waits
// until nothing is left of the old one. So does one that is reached otherwise.
func TestApplyNeverRunsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := steps()
		d.serve = serve(func(p *peer) {
			p.drain()
			time.Sleep(3 * time.Second) // as closing a process may take
		})
		f := run(t, fleet.Options{Servers: []hub.Server{local()}, Dial: d.dial})
		time.Sleep(time.Second)
		f.Apply(nil, nil)
		f.Apply([]hub.Server{local()}, nil)
		f.Apply(nil, nil)
		f.Apply([]hub.Server{local()}, nil)
		if _, err := connect(t.Context(), f, "s"); err != nil {
			t.Error(err)
		}
		s := local()
		s.Args = []string{"x"}
		f.Apply([]hub.Server{s}, nil)
		if _, err := connect(t.Context(), f, "s"); err != nil {
			t.Error(err)
		}
		if got, want := d.times(), seconds(0, 4, 7); !slices.Equal(got, want) {
			t.Errorf("connected after %v, want %v", got, want)
		}
	})
}

// Before Run a set is put in force as well, and nothing starts.
func TestApplyBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := steps()
		gone := local()
		gone.Key = "gone"
		f := fleet.New(fleet.Options{
			Servers: []hub.Server{local(), gone}, Dial: d.dial, Bus: &bus.Bus{}, ClientInfo: []byte("{}"), Log: quiet(),
			Listed: func(hub.Server, hub.Lists) {},
		})
		changed := local()
		changed.Args = []string{"x"}
		f.Apply([]hub.Server{changed}, nil)
		f.Apply([]hub.Server{changed, gone}, nil)
		f.SetLevel("info")
		if err := f.Stop(t.Context(), "gone"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if n := len(d.times()); n != 0 {
			t.Errorf("%d connections before Run", n)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = f.Run(ctx)
		}()
		time.Sleep(time.Minute)
		if st := f.Status(); st[0].State != hub.StateReady || st[1].State != hub.StateStopped {
			t.Errorf("then: %+v", st)
		}
		stop()
		<-done
	})
}
