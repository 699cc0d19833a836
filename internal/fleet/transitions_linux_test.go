package fleet_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// way is a row of the table of states, without its text.
type way struct {
	from, to hub.State
	event    string
}

func (w way) String() string { return fmt.Sprintf("%s -> %s (%s)", w.from, w.to, w.event) }

// ways collects the rows that were seen.
type ways struct {
	mu   sync.Mutex
	seen map[way]bool
}

func (w *ways) add(one way) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[one] = true
}

// play is one server in a fleet of its own, whose ways are recorded.
type play struct {
	t      *testing.T
	ways   *ways
	f      *fleet.Fleet
	def    hub.Server // in force
	events *bus.Subscription
	last   hub.Status
	frozen rig.Proc
	stop   context.CancelFunc
	ended  chan struct{}
}

// with changes the options or the definition of a play.
type with func(def *hub.Server, opt *fleet.Options)

// known is of a server whose tools are known from before.
func known(_ *hub.Server, opt *fleet.Options) { opt.Known = func(hub.Server) bool { return true } }

// lazy is of one that waits for its first call.
func lazy(def *hub.Server, opt *fleet.Options) {
	def.AutoStart = false
	known(def, opt)
}

func off(def *hub.Server, _ *fleet.Options) { def.Enabled = false }

// probed is of one that is looked after closely.
func probed(def *hub.Server, _ *fleet.Options) {
	def.Health = hub.Health{Interval: 20 * time.Millisecond, Timeout: 150 * time.Millisecond, Misses: 2}
}

// last is of one whose next end is the last.
func last(_ *hub.Server, opt *fleet.Options) { opt.Budget.Ends = 1 }

// slow is of one that is not tried again while the test runs.
func slow(_ *hub.Server, opt *fleet.Options) {
	opt.Budget.Pause, opt.Budget.Backoff, opt.Budget.Ceiling = time.Hour, time.Hour, time.Hour
}

// stage makes a play, which run begins.
func (w *ways) stage(t *testing.T, def hub.Server, how ...with) *play {
	t.Helper()
	p := &play{t: t, ways: w, ended: make(chan struct{})}
	events := &bus.Bus{}
	opt := fleet.Options{
		Dial: upstream.Dial, Budget: quick(), Bus: events, Listed: func(hub.Server, hub.Lists) {},
		ClientInfo: []byte(`{"name":"test","version":"1"}`), Log: quiet(),
	}
	for _, h := range how {
		h(&def, &opt)
	}
	opt.Servers, p.def = []hub.Server{def}, def
	p.f = fleet.New(opt)
	p.events = events.Subscribe(1024)
	p.last = p.f.Status()[0]
	return p
}

// run has the fleet run until the test ends.
func (p *play) run() *play {
	ctx, stop := context.WithCancel(context.WithoutCancel(p.t.Context()))
	p.stop = stop
	go func() {
		defer close(p.ended)
		_ = p.f.Run(ctx)
	}()
	p.t.Cleanup(func() {
		stop()
		<-p.ended
		p.events.Close()
		for len(p.events.C()) > 0 {
			p.hear(<-p.events.C())
		}
		if n := p.events.Dropped(); n > 0 {
			p.t.Errorf("%d events were dropped", n)
		}
	})
	return p
}

// hear records what is told of the server.
func (p *play) hear(e hub.Event) {
	st := e.(hub.ServerChanged).Status
	if !st.Since.Equal(p.last.Since) || !st.Retry.Equal(p.last.Retry) { // the latter where it stays as it is
		p.ways.add(way{p.last.State, st.State, st.Event})
	}
	p.last = st
}

// until waits for the server to come into a state, however briefly, from the one
// that was heard of last.
func (p *play) until(state hub.State) hub.Status {
	p.t.Helper()
	p.await(string(state), func() bool { return p.last.State == state })
	return p.last
}

// await hears what is told of the server until that is as wanted.
func (p *play) await(wanted string, is func() bool) {
	p.t.Helper()
	late := time.After(time.Minute)
	for !is() {
		select {
		case e := <-p.events.C():
			p.hear(e)
		case <-late:
			p.t.Fatalf("it is %s; waited for: %s", p.last.State, wanted)
		}
	}
}

// redefine puts another definition of the server in force.
func (p *play) redefine(change func(*hub.Server)) {
	p.def.Env = maps.Clone(p.def.Env)
	change(&p.def)
	p.f.Apply([]hub.Server{p.def}, nil)
}

// freeze has the server's process do nothing until thaw.
func (p *play) freeze() {
	p.frozen = rig.Find(p.t, p.last.PID)
	p.frozen.Signal(p.t, syscall.SIGSTOP)
}

func (p *play) thaw() {
	if p.frozen.PID != 0 {
		p.frozen.Signal(p.t, syscall.SIGCONT)
	}
}

// kill ends the server's process.
func (p *play) kill() { rig.Find(p.t, p.last.PID).Signal(p.t, syscall.SIGKILL) }

// degrade has a server that is ready become degraded, and stay so.
func (p *play) degrade() {
	p.until(hub.StateReady)
	p.freeze()
	p.until(hub.StateDegraded)
	p.redefine(func(def *hub.Server) { def.Health.Interval = 0 })
}

// call makes one call, whatever comes of it.
func (p *play) call() {
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	_ = callOnce(ctx, p.f, "s")
}

// remote is a server over HTTP, which listens on the address, or anywhere.
func remote(t *testing.T, address string) (*rig.Process, hub.Server) {
	t.Helper()
	p, url := rig.StartFaultServer(t, address)
	return p, hub.Server{Key: "s", Kind: hub.KindHTTP, URL: url, Enabled: true, AutoStart: true, AutoReconnect: true}
}

// nowhere is a remote server that is not there.
func nowhere(t *testing.T) hub.Server {
	t.Helper()
	return hub.Server{
		Key: "s", Kind: hub.KindHTTP, URL: "http://127.0.0.1:" + rig.DeadPort(t) + "/mcp", Enabled: true, AutoStart: true, AutoReconnect: true,
	}
}

// missing is a process that cannot be started.
func missing(t *testing.T) hub.Server {
	s := process(t)
	s.Command = "/nonexistent/server"
	return s
}

// ends is what ends a server, by the event.
func ends() map[string]func(p *play) {
	return map[string]func(p *play){
		"stop":    func(p *play) { _ = p.f.Stop(p.t.Context(), "s") },
		"restart": func(p *play) { p.within(p.f.Restart) },
		"configured": func(p *play) {
			p.redefine(func(def *hub.Server) { def.Args, def.URL = []string{"-fault", "notool"}, def.URL+"?" })
		},
		"disabled": func(p *play) { p.redefine(func(def *hub.Server) { def.Enabled = false }) },
		"removed":  func(p *play) { p.f.Apply(nil, nil) },
		"shutdown": func(p *play) { p.stop() },
	}
}

// within does something that need not come to an end.
func (p *play) within(do func(context.Context, string) error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), 50*time.Millisecond)
	defer cancel()
	_ = do(ctx, "s")
}

// Every row of the table of states happens to a real server, and nothing else
// does.
func TestTransitions(t *testing.T) {
	w := &ways{seen: map[way]bool{}}
	t.Run("plays", func(t *testing.T) {
		for name, act := range plays() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				act(t, w)
			})
		}
	})
	table := map[way]bool{}
	for _, row := range fleet.Transitions() {
		one := way{row.From, row.To, row.Event}
		if table[one] {
			t.Errorf("twice in the table: %v", one)
		}
		table[one] = true
		if !w.seen[one] {
			t.Errorf("not seen: %v", one)
		}
		if row.Doc == "" {
			t.Errorf("not explained: %v", one)
		}
	}
	for one := range w.seen {
		if !table[one] {
			t.Errorf("not in the table: %v", one)
		}
	}
}

func plays() map[string]func(t *testing.T, w *ways) {
	all := map[string]func(t *testing.T, w *ways){
		"disabled": func(t *testing.T, w *ways) {
			enable := func(def *hub.Server) { def.Enabled = true }
			p := w.stage(t, process(t), off).run()
			p.redefine(enable)
			p.until(hub.StateReady)
			q := w.stage(t, process(t), lazy, off).run()
			q.redefine(enable)
			q.until(hub.StateIdle)
			r := w.stage(t, process(t), off).run()
			r.f.Apply(nil, nil)
			r.until(hub.StateStopped)
		},
		"idle": func(t *testing.T, w *ways) {
			for _, need := range []func(p *play){
				(*play).call,
				func(p *play) { _, _ = p.f.Hold("s", "me", "") },
				func(p *play) { p.within(p.f.Refresh) },
				func(p *play) { p.within(p.f.Start) },
				func(p *play) { p.within(p.f.Restart) },
				func(p *play) { p.redefine(func(def *hub.Server) { def.Preload = true }) },
			} {
				p := w.stage(t, process(t), lazy).run()
				need(p)
				p.until(hub.StateReady)
			}
			for _, event := range []string{"stop", "disabled", "removed", "shutdown"} {
				ends()[event](w.stage(t, process(t), lazy).run())
			}
		},
		"unused": func(t *testing.T, w *ways) {
			brief := func(def *hub.Server, opt *fleet.Options) {
				lazy(def, opt)
				def.IdleStop = 10 * time.Millisecond
			}
			p := w.stage(t, process(t), brief).run()
			p.call()
			p.until(hub.StateReady)
			p.until(hub.StateIdle)
			q := w.stage(t, process(t), lazy, probed).run()
			q.call()
			q.degrade()
			q.redefine(func(def *hub.Server) { def.IdleStop = time.Millisecond })
			q.until(hub.StateStopping)
			q.thaw()
			q.until(hub.StateIdle)
		},
		"stopped": func(t *testing.T, w *ways) {
			p := w.stage(t, process(t)).run()
			p.until(hub.StateReady)
			for _, again := range []func(context.Context, string) error{p.f.Start, p.f.Restart} {
				_ = p.f.Stop(t.Context(), "s")
				p.until(hub.StateStopped)
				_ = again(t.Context(), "s")
				p.until(hub.StateReady)
			}
			_ = p.f.Stop(t.Context(), "s")
			p.until(hub.StateStopped)
			ends()["disabled"](p)
			p.until(hub.StateDisabled)
		},
		"before the hub runs": func(t *testing.T, w *ways) {
			for _, event := range []string{"stop", "disabled", "removed"} {
				p := w.stage(t, process(t))
				ends()[event](p)
				p.run()
			}
			p := w.stage(t, process(t), known)
			p.redefine(func(def *hub.Server) { def.AutoStart, def.Args = false, []string{"-fault", "notool"} })
			p.run().until(hub.StateIdle)
			q := w.stage(t, process(t))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = q.f.Run(ctx)
			close(q.ended)
			q.until(hub.StateStopped)
		},
		"a process": func(t *testing.T, w *ways) {
			p := w.stage(t, process(t)).run()
			p.until(hub.StateReady)
			p.kill()
			p.until(hub.StateCrashed)
			p.until(hub.StateReady)
			q := w.stage(t, process(t, "-fault", "crashstart"), slow).run()
			q.until(hub.StateCrashed)
			q.within(q.f.Start)
			q.until(hub.StateStarting)
			r := w.stage(t, process(t), last).run()
			r.until(hub.StateReady)
			r.kill()
			r.until(hub.StateFailed)
			w.stage(t, missing(t)).run().until(hub.StateFailed)
		},
		"a frozen process": func(t *testing.T, w *ways) {
			p := w.stage(t, process(t), probed).run()
			p.until(hub.StateReady)
			p.freeze()
			p.until(hub.StateDegraded)
			p.thaw()
			p.until(hub.StateReady)
			p.freeze()
			p.until(hub.StateDegraded)
			p.until(hub.StateCrashed)
			p.thaw()
			p.until(hub.StateReady)
			p.degrade()
			p.kill()
			p.until(hub.StateCrashed)
			q := w.stage(t, process(t), probed, last).run()
			q.degrade()
			q.kill()
			q.until(hub.StateFailed)
		},
		"a remote server": func(t *testing.T, w *ways) {
			server, def := remote(t, "127.0.0.1:0")
			p := w.stage(t, def, probed).run()
			p.until(hub.StateReady)
			far := rig.Find(t, server.PID())
			far.Signal(t, syscall.SIGSTOP)
			p.until(hub.StateDegraded)
			p.until(hub.StateReconnecting)
			far.Signal(t, syscall.SIGCONT)
			p.until(hub.StateReady)
			server.Kill()
			p.until(hub.StateReconnecting)
			first := p.last
			p.await("another attempt", func() bool { return !p.last.Retry.Equal(first.Retry) })
			if !p.last.Since.Equal(first.Since) {
				t.Error("it is not away since it was lost")
			}
			p.redefine(func(def *hub.Server) { def.MaxReconnects = 1 })
			p.until(hub.StateFailed)
		},
		"a remote server that ends while it is frozen": func(t *testing.T, w *ways) {
			server, def := remote(t, "127.0.0.1:0")
			p := w.stage(t, def, probed).run()
			p.until(hub.StateReady)
			rig.Find(t, server.PID()).Signal(t, syscall.SIGSTOP)
			p.until(hub.StateDegraded)
			server.Kill()
			p.until(hub.StateReconnecting)
		},
	}
	// What has no life.
	for event, end := range ends() {
		all["crashed "+event] = func(t *testing.T, w *ways) {
			once := func(def *hub.Server, _ *fleet.Options) { def.AutoRestart = false }
			p := w.stage(t, process(t, "-fault", "crashstart"), once).run()
			p.until(hub.StateCrashed)
			end(p)
		}
		all["failed "+event] = func(t *testing.T, w *ways) {
			p := w.stage(t, missing(t)).run()
			p.until(hub.StateFailed)
			end(p)
		}
	}
	for state, command := range map[hub.State]string{hub.StateFailed: "/nonexistent/server", hub.StateCrashed: ""} {
		all[string(state)+" for good"] = func(t *testing.T, w *ways) {
			def := process(t, "-fault", "crashstart")
			def.AutoRestart, def.Command = false, cmp.Or(command, def.Command)
			p := w.stage(t, def, known).run()
			p.until(state)
			for _, again := range []func(context.Context, string) error{p.f.Start, p.f.Restart} {
				_ = again(t.Context(), "s")
				p.until(hub.StateStarting)
				p.until(state)
			}
			p.redefine(func(def *hub.Server) { def.AutoStart, def.Args = false, nil })
			p.until(hub.StateIdle)
		}
	}
	// What has one.
	for event, end := range ends() {
		all["starting "+event] = func(t *testing.T, w *ways) {
			p := w.stage(t, process(t, "-fault", "neverinit")).run()
			rig.Await(t, "it has begun", func() bool { return p.f.Status()[0].Starts == 1 })
			end(p)
		}
		all["ready "+event] = func(t *testing.T, w *ways) {
			p := w.stage(t, process(t)).run()
			p.until(hub.StateReady)
			end(p)
		}
		all["degraded "+event] = func(t *testing.T, w *ways) {
			p := w.stage(t, process(t), probed).run()
			p.degrade()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				end(p)
			}()
			p.until(hub.StateStopping)
			p.thaw()
			<-ended
		}
		all["reconnecting "+event] = func(t *testing.T, w *ways) {
			p := w.stage(t, nowhere(t), slow).run()
			p.until(hub.StateReconnecting)
			end(p)
		}
		all["crashing "+event] = func(t *testing.T, w *ways) {
			p := w.stage(t, process(t, "-fault", "crashstart"), slow).run()
			p.until(hub.StateCrashed)
			end(p)
		}
	}
	return all
}
