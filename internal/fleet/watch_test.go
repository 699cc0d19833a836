package fleet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

func watched() hub.Server {
	s := local()
	s.Health = hub.Health{Interval: 30 * time.Second, Timeout: 5 * time.Second}
	return s
}

// A server that does not answer three probes is degraded and still used; as soon
// as it answers it is ready. Three more, and it is connected anew.
func TestProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		f := run(t, fleet.Options{Servers: []hub.Server{watched()}, Dial: h.dial})
		time.Sleep(10*time.Minute + time.Second)
		is(t, f, hub.StateReady, "")
		if n := h.pings.Load(); n != 20 {
			t.Errorf("%d probes in ten minutes", n)
		}
		h.deaf.Store(true)
		time.Sleep(105 * time.Second) // misses at 35, 70 and 105 s
		is(t, f, hub.StateDegraded, message.ServerUnhealthy)
		if st := f.Status()[0]; st.Misses != 3 || st.Event != "probes missed" {
			t.Errorf("degraded: %+v", st)
		}
		if _, err := connect(t.Context(), f, "s"); err != nil {
			t.Errorf("a degraded server is not used: %v", err)
		}
		h.deaf.Store(false)
		time.Sleep(30 * time.Second)
		is(t, f, hub.StateReady, "")
		if n := f.Status()[0].Misses; n != 0 {
			t.Errorf("%d misses", n)
		}
		h.deaf.Store(true)
		time.Sleep(210*time.Second + 100*time.Millisecond)
		is(t, f, hub.StateCrashed, message.ServerUnhealthy)
		h.deaf.Store(false)
		time.Sleep(5 * time.Second)
		is(t, f, hub.StateReady, "")
		if n := len(h.times()); n != 2 {
			t.Errorf("%d connections", n)
		}
	})
}

// A server is not probed under a call, however long that takes, and not if it
// has just shown that it is there; what is not probed is not lost.
func TestProbesSpareTheBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		f := run(t, fleet.Options{Servers: []hub.Server{watched()}, Dial: h.dial})
		use, err := f.Acquire(t.Context(), "s", nil)
		if err != nil {
			t.Fatal(err)
		}
		h.deaf.Store(true)
		time.Sleep(time.Hour + time.Second)
		is(t, f, hub.StateReady, "")
		h.deaf.Store(false)
		use.Done(nil)
		for range 100 {
			time.Sleep(20 * time.Second)
			if err := callOnce(t.Context(), f, "s"); err != nil {
				t.Fatal(err)
			}
		}
		if n := h.pings.Load(); n != 0 {
			t.Errorf("%d probes", n)
		}
	})
}

// A probe starts nothing, and is over when the interval is taken away.
func TestProbesStartNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		idle, s := waiting(), watched()
		idle.Health, s.Key = s.Health, "runs"
		f := run(t, fleet.Options{Servers: []hub.Server{idle, s}, Dial: h.dial, Known: familiar})
		time.Sleep(time.Hour + time.Second)
		is(t, f, hub.StateIdle, "")
		before := h.pings.Load()
		if before < 100 || len(h.times()) != 1 {
			t.Errorf("%d probes, %d connections", before, len(h.times()))
		}
		s.Health.Interval = 0
		f.Apply([]hub.Server{idle, s}, nil)
		time.Sleep(time.Hour + time.Second)
		if n := h.pings.Load() - before; n != 0 {
			t.Errorf("%d probes without an interval", n)
		}
	})
}

// With several instances a server is degraded when none of them answers; until
// then the calls go to the others.
func TestProbesOfInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		s := several(2, 2, 1)
		s.AutoStart, s.Health = true, watched().Health
		f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: h.dial})
		synctest.Wait()
		h.deaf.Store(true)
		time.Sleep(106 * time.Second)
		is(t, f, hub.StateDegraded, message.ServerUnhealthy)
		time.Sleep(106 * time.Second)
		is(t, f, hub.StateCrashed, message.ServerUnhealthy)
	})
}

// The list of a server that does not announce changes is asked for again when it
// is old, while it runs.
func TestListsGrowOld(t *testing.T) {
	for _, announces := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost()
			h.announces = announces
			s := waiting()
			s.ListTTL, s.IdleStop = 5*time.Minute, 31*time.Minute
			f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: h.dial, Known: familiar})
			if _, err := connect(t.Context(), f, "s"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Hour)
			is(t, f, hub.StateIdle, "")
			want := int32(1)
			if !announces {
				want = 7
			}
			if n := h.lists.Load(); n != want {
				t.Errorf("announces %t: listed %d times", announces, n)
			}
		})
	}
}
