package fleet_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Calls that fail keep later ones away until one has gone well; an answer, of
// whatever kind, and a caller who left are no failures.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events bus.Bus
		sub := events.Subscribe(256)
		defer sub.Close()
		h := newHost()
		s := local()
		s.Breaker = hub.Breaker{Failures: 3, Cooldown: 30 * time.Second}
		f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: h.dial, Bus: &events})
		use := func(err error) {
			t.Helper()
			u, refused := f.Acquire(t.Context(), "s", nil)
			if refused != nil {
				t.Fatalf("refused: %v", refused)
			}
			u.Done(err)
		}
		shut := func(state hub.BreakerState) {
			t.Helper()
			_, err := f.Acquire(t.Context(), "s", nil)
			if !hub.IsCode(err, message.ServerBroken) || hub.AsError(err).Args["count"] == "" {
				t.Errorf("not refused: %v", err)
			}
			if got := f.Status()[0].Breaker; got != state {
				t.Errorf("it is %s, want %s", got, state)
			}
		}
		late := hub.E(message.Timeout, nil)
		for _, harmless := range []error{
			nil, hub.E(message.Cancelled, nil), hub.E(message.ServerDown, nil), hub.E(message.ToolUnknown, nil), hub.E(message.ServerUnauthorized, nil),
		} {
			use(late)
			use(late)
			use(harmless)
			use(nil)
		}
		use(late)
		use(hub.E(message.OutcomeUnknown, nil))
		use(hub.E(message.ServerBadReply, nil))
		shut(hub.BreakerOpen)
		time.Sleep(30 * time.Second)
		trial, err := f.Acquire(t.Context(), "s", nil)
		if err != nil {
			t.Fatal(err)
		}
		shut(hub.BreakerHalfOpen)
		trial.Done(late)
		shut(hub.BreakerOpen)
		time.Sleep(30 * time.Second)
		use(nil)
		use(nil)
		if got := f.Status()[0].Breaker; got != hub.BreakerClosed {
			t.Errorf("it is %s", got)
		}
		var heard []hub.BreakerState
		for len(sub.C()) > 0 {
			if st := (<-sub.C()).(hub.ServerChanged).Status; len(heard) == 0 || heard[len(heard)-1] != st.Breaker {
				heard = append(heard, st.Breaker)
			}
		}
		if len(heard) != 6 { // closed, open, half-open, open, half-open, closed
			t.Errorf("heard of %v", heard)
		}
		// A person who starts it has seen to that.
		use(late)
		use(late)
		use(late)
		shut(hub.BreakerOpen)
		if err := f.Start(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		use(nil)
		// What was stopped says so first.
		use(late)
		use(late)
		use(late)
		if err := f.Stop(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		if _, err := f.Acquire(t.Context(), "s", nil); !hub.IsCode(err, message.ServerStopped) {
			t.Errorf("stopped: %v", err)
		}
	})
}

// Calls that end with the connection because the hub has ended it say nothing
// against the server.
func TestBreakerAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		s := local()
		s.Breaker = hub.Breaker{Failures: 1, Cooldown: time.Hour}
		f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: h.dial})
		use, err := f.Acquire(t.Context(), "s", nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Args = []string{"other"}
		f.Apply([]hub.Server{s}, nil)
		<-use.Conn().Done()
		use.Done(hub.E(message.OutcomeUnknown, nil))
		if err := callOnce(t.Context(), f, "s"); err != nil {
			t.Error(err)
		}
	})
}

// A definition that is reached otherwise gets no new calls on the old connection,
// and those under way have time to end.
func TestDrain(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(f *fleet.Fleet, s hub.Server)
		ends   time.Duration // the call
		closed time.Duration // the connection, from the change on
	}{
		"a call that ends":      {func(f *fleet.Fleet, s hub.Server) { other(f, s) }, 3 * time.Second, 3 * time.Second},
		"a call that does not":  {func(f *fleet.Fleet, s hub.Server) { other(f, s) }, time.Hour, 10 * time.Second},
		"disabled":              {func(f *fleet.Fleet, s hub.Server) { s.Enabled = false; f.Apply([]hub.Server{s}, nil) }, 3 * time.Second, 3 * time.Second},
		"removed":               {func(f *fleet.Fleet, _ hub.Server) { f.Apply(nil, nil) }, 3 * time.Second, 3 * time.Second},
		"removed and added":     {func(f *fleet.Fleet, s hub.Server) { f.Apply(nil, nil); f.Apply([]hub.Server{s}, nil) }, 3 * time.Second, 3 * time.Second},
		"stopped by a person":   {func(f *fleet.Fleet, _ hub.Server) { _ = f.Stop(context.Background(), "s") }, time.Hour, 0},
		"restarted by a person": {func(f *fleet.Fleet, _ hub.Server) { _ = f.Restart(context.Background(), "s") }, time.Hour, 0},
		"stopped while it waits": {func(f *fleet.Fleet, s hub.Server) {
			other(f, s)
			time.Sleep(time.Second)
			_ = f.Stop(context.Background(), "s")
		}, time.Hour, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost()
				s := local()
				s.Timeout = time.Minute
				f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: h.dial})
				use, err := f.Acquire(t.Context(), "s", nil)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				time.AfterFunc(tt.ends, func() { use.Done(nil) })
				tt.change(f, s)
				if fresh, err := connect(t.Context(), f, "s"); err == nil && fresh == use.Conn() {
					t.Error("a new call has got the old connection")
				}
				<-use.Conn().Done()
				if took := time.Since(began); took != tt.closed {
					t.Errorf("the connection has ended after %v, want %v", took, tt.closed)
				}
			})
		})
	}
}

// other has a server be reached otherwise.
func other(f *fleet.Fleet, s hub.Server) {
	s.Dir = "/"
	f.Apply([]hub.Server{s}, nil)
}

// A server that is ready costs a call next to nothing.
func BenchmarkAcquire(b *testing.B) {
	for name, n := range map[string]int{"1 instance": 1, "10 instances": 10} {
		b.Run(name, func(b *testing.B) {
			h := newHost()
			s := several(n, n, 1)
			s.Breaker = hub.Breaker{Failures: 5, Cooldown: time.Second}
			f := fleet.New(fleet.Options{
				Servers: []hub.Server{s}, Dial: h.dial, Bus: &bus.Bus{}, ClientInfo: []byte(`{}`), Log: quiet(),
				Listed: func(hub.Server, hub.Lists) {},
			})
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = f.Run(ctx)
			}()
			for f.Status()[0].Instances < n {
				if err := f.Wait(ctx, "s"); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				use, err := f.Acquire(ctx, "s", nil)
				if err != nil {
					b.Fatal(err)
				}
				use.Done(nil)
			}
			stop()
			<-ended
		})
	}
}
