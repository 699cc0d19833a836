package fleet_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// several is a server that runs as several instances.
func several(least, most, queue int) hub.Server {
	s := local()
	s.Kind, s.AutoRestart, s.IdleStop = hub.KindStdio, true, 5*time.Minute
	s.Instances = hub.Instances{Min: least, Max: most, Queue: queue}
	return s
}

// busy begins calls that end with the test, or by Done.
func busy(t *testing.T, f *fleet.Fleet, n int) []*fleet.Use {
	t.Helper()
	var uses []*fleet.Use
	for range n {
		use, err := f.Acquire(t.Context(), "s", nil)
		if err != nil {
			t.Fatal(err)
		}
		uses = append(uses, use)
		synctest.Wait() // what it has brought about
	}
	return uses
}

func done(uses []*fleet.Use, err error) {
	for _, use := range uses {
		use.Done(err)
	}
}

// counts fails the test unless so many instances are up, over so many
// connections so far.
func counts(t *testing.T, f *fleet.Fleet, h *host, up, starts int) {
	t.Helper()
	synctest.Wait()
	if st := f.Status()[0]; st.State != hub.StateReady || st.Instances != up || st.Starts != starts || len(h.times()) != starts {
		t.Errorf("it is %s with %d instances after %d starts; want %d after %d", st.State, st.Instances, st.Starts, up, starts)
	}
}

// Instances are as many as are kept, and more while all of them have calls
// enough; a call goes to the one with the fewest. Only the first is asked for the
// tools.
func TestInstancesGrowAndShrink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		f := run(t, fleet.Options{Servers: []hub.Server{several(2, 4, 2)}, Dial: h.dial})
		counts(t, f, h, 2, 2)
		four := busy(t, f, 4)
		counts(t, f, h, 2, 2) // they had room
		if a, b := four[0].Conn(), four[1].Conn(); a == b || four[2].Conn() == four[3].Conn() {
			t.Error("the calls are not spread")
		}
		more := busy(t, f, 1)
		counts(t, f, h, 3, 3)
		more = append(more, busy(t, f, 2)...) // on the new one
		if more[1].Conn() != more[2].Conn() || more[1].Conn() == more[0].Conn() {
			t.Error("the new one has no calls")
		}
		more = append(more, busy(t, f, 20)...)
		counts(t, f, h, 4, 4) // and no more than that
		if st := f.Status()[0]; st.Calls != 27 {
			t.Errorf("%d calls are under way", st.Calls)
		}
		done(four, nil)
		done(more, nil)
		if n := h.lists.Load(); n != 1 {
			t.Errorf("listed %d times", n)
		}
		leave := busy(t, f, 1)
		time.Sleep(5*time.Minute + time.Second)
		counts(t, f, h, 2, 4)
		done(leave, nil)
	})
}

// An instance that ends takes its own calls with it and no others; the server
// stays ready, and the instance is replaced after a pause. The last one to end
// is an end of the server.
func TestInstanceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		f := run(t, fleet.Options{Servers: []hub.Server{several(2, 2, 1)}, Dial: h.dial})
		synctest.Wait()
		uses := busy(t, f, 2)
		h.hangUp(0)
		synctest.Wait()
		ended := 0
		for _, use := range uses {
			select {
			case <-use.Conn().Done():
				ended++
			default:
			}
		}
		if ended != 1 {
			t.Errorf("%d connections have ended", ended)
		}
		done(uses, nil)
		counts(t, f, h, 1, 2)
		if err := callOnce(t.Context(), f, "s"); err != nil {
			t.Errorf("meanwhile: %v", err)
		}
		time.Sleep(5*time.Second + time.Millisecond)
		counts(t, f, h, 2, 3)
		if st := f.Status()[0]; st.Losses != 1 {
			t.Errorf("%d losses", st.Losses)
		}
		h.hangUp(1)
		h.hangUp(2)
		synctest.Wait()
		is(t, f, hub.StateCrashed, message.ServerExited)
		time.Sleep(5*time.Second + time.Millisecond)
		counts(t, f, h, 2, 5)
	})
}

// Calls that come while one more instance is being connected are no reason for yet
// another one: that is judged when it is there.
func TestInstancesGrowOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		h.each = func(n int, _ context.Context) error {
			if n > 0 {
				time.Sleep(time.Second)
			}
			return nil
		}
		f := run(t, fleet.Options{Servers: []hub.Server{several(1, 4, 2)}, Dial: h.dial})
		counts(t, f, h, 1, 1)
		burst := busy(t, f, 10)
		time.Sleep(10 * time.Second)
		counts(t, f, h, 2, 2)
		more := busy(t, f, 2)
		time.Sleep(10 * time.Second)
		counts(t, f, h, 2, 2) // it has taken them
		more = append(more, busy(t, f, 1)...)
		time.Sleep(10 * time.Second)
		counts(t, f, h, 3, 3)
		done(burst, nil)
		done(more, nil)
	})
}

// A server that takes its time to list its tools is looked after meanwhile: what
// has ended is noticed and replaced, and there are more instances if calls need
// them. Nobody who waits for the list waits for anything else.
func TestInstancesWhileListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		s := several(2, 3, 1)
		s.ListTTL = time.Minute
		f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: h.dial})
		counts(t, f, h, 2, 2)
		h.deaf.Store(true)
		time.Sleep(time.Minute + time.Second)
		if n := h.lists.Load(); n != 2 {
			t.Errorf("listed %d times", n)
		}
		h.deaf.Store(false) // for those that come
		h.hangUp(1)
		counts(t, f, h, 1, 2)
		time.Sleep(5 * time.Second)
		counts(t, f, h, 2, 3)
		done(busy(t, f, 3), nil)
		counts(t, f, h, 3, 4)
		if st := f.Status()[0]; st.Losses != 1 || h.lists.Load() != 2 {
			t.Errorf("%d losses, %d lists", st.Losses, h.lists.Load())
		}
		if err := f.Refresh(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		if n := h.lists.Load(); n != 3 { // the one that was not answered, and after it this one
			t.Errorf("listed %d times", n)
		}
	})
}

// An instance that keeps ending is not started without end, while the others go
// on.
func TestInstanceCrashLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		h.each = func(n int, _ context.Context) error {
			if n > 0 {
				return exited()
			}
			return nil
		}
		f := run(t, fleet.Options{Servers: []hub.Server{several(2, 2, 1)}, Dial: h.dial})
		time.Sleep(2 * time.Minute)
		counts(t, f, h, 1, 7) // the first, and six
	})
}

// Another number of instances holds at once, for the connections that there
// are; one that is too many ends when its calls have ended.
func TestInstancesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		s := several(1, 1, 1)
		s.Timeout = time.Minute
		f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: h.dial})
		first := busy(t, f, 1)
		counts(t, f, h, 1, 1)
		s.Instances = hub.Instances{Min: 3, Max: 3, Queue: 1}
		f.Apply([]hub.Server{s}, nil)
		counts(t, f, h, 3, 3)
		uses := busy(t, f, 2)
		s.Instances = hub.Instances{Min: 1, Max: 1}
		f.Apply([]hub.Server{s}, nil)
		counts(t, f, h, 1, 3)
		time.Sleep(9 * time.Second)
		for n, use := range append(first, uses...) {
			select {
			case <-use.Conn().Done():
				t.Errorf("connection %d has ended under a call", n)
			default:
			}
		}
		done(uses, nil)
		synctest.Wait()
		for n, use := range uses {
			select {
			case <-use.Conn().Done():
			default:
				t.Errorf("connection %d is still there", n+1)
			}
		}
		done(first, nil)
	})
}

// A built-in server is there once, whatever is said.
func TestBuiltinIsThereOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		s := several(3, 5, 1)
		s.Kind = hub.KindBuiltin
		f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: h.dial})
		done(busy(t, f, 10), nil)
		counts(t, f, h, 1, 1)
	})
}

// What a server has to do are the calls that have a connection of it, a caller's
// own too, and those that wait for one.
func TestLoadCounts(t *testing.T) {
	check := func(t *testing.T, f *fleet.Fleet, when string, want fleet.Load) {
		t.Helper()
		synctest.Wait()
		if got := f.Load("s"); got != want {
			t.Errorf("%s: %+v, want %+v", when, got, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		h, s := newHost(), several(2, 4, 3)
		h.each = func(int, context.Context) error { time.Sleep(time.Second); return nil }
		s.AutoStart = false
		f := run(t, fleet.Options{Servers: []hub.Server{s}, Dial: h.dial, Known: familiar})
		check(t, f, "at rest", fleet.Load{Start: 3})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = callOnce(ctx, f, "s") }()
		got := make(chan *fleet.Use, 2)
		for range 2 {
			go func() {
				use, err := f.Acquire(t.Context(), "s", nil)
				if err != nil {
					t.Error(err)
				}
				got <- use
			}()
		}
		check(t, f, "on its way", fleet.Load{Calls: 3, Start: 3})
		cancel()
		check(t, f, "one waits no more", fleet.Load{Calls: 2, Start: 3})
		uses := []*fleet.Use{<-got, <-got}
		time.Sleep(2 * time.Second)
		check(t, f, "ready", fleet.Load{Ready: true, Calls: 2, Connections: 2})
		done(uses, nil)
		done(uses, nil) // which counts once
		check(t, f, "at the end", fleet.Load{Ready: true, Connections: 2})
	})
	synctest.Test(t, func(t *testing.T) {
		f := newClub().fleet(t, member(hub.ConnectionPerCaller))
		use := take(t, f, asker("a"))
		check(t, f, "on a connection of its own", fleet.Load{Ready: true, Calls: 1, Connections: 1})
		use.Done(nil)
	})
}
