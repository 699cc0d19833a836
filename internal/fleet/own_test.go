package fleet_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Each caller that can be asked has one connection of its own, which declares
// what the caller declared; all others share one, which declares all that there
// is, because it is the one that lists.
func TestOwnConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		f := c.fleet(t, member(hub.ConnectionPerCaller))
		if got := c.hears("initialize {"); len(got) != 1 || !strings.HasPrefix(got[0], `0 initialize {"sampling":`) {
			t.Errorf("the shared one: %q", got)
		}
		a := take(t, f, asker("a"))
		var all sync.WaitGroup
		uses := make([]*fleet.Use, 10)
		for n := range uses {
			all.Go(func() { uses[n] = take(t, f, asker("b")) })
		}
		all.Wait()
		for _, use := range uses {
			if use.Conn() != uses[0].Conn() || use.Conn() == a.Conn() {
				t.Error("a caller has several connections, or another one's")
			}
		}
		want := []string{`1 initialize {"roots":{},"experimental":{"a":{}}}`, `2 initialize {"roots":{},"experimental":{"b":{}}}`}
		if got := c.hears("initialize {"); !slices.Equal(got, want) {
			t.Errorf("declared %q", got)
		}
		shared := visit(t, f, mute("c")).Conn()
		if other := visit(t, f, nil).Conn(); other != shared || shared == a.Conn() {
			t.Error("who cannot be asked has a connection of its own")
		}
		stands(t, f, 2, 0, 2)
		if st := f.Status()[0]; st.Calls != 11 || st.Instances != 1 || st.Starts != 3 {
			t.Errorf("%d calls on %d instances after %d starts", st.Calls, st.Instances, st.Starts)
		}
		f.SetLevel("debug")
		if got := c.hears("setLevel"); len(got) != 3 {
			t.Errorf("the log level: %q", got)
		}
		for _, text := range []string{"1", "2", "3"} {
			f.Tell("a", "notifications/x", []byte(`{"jsonrpc":"2.0","method":"notifications/x","params":{"uri":"`+text+`"}}`))
		}
		f.Tell("nobody", "notifications/x", []byte(`{}`))
		if got := c.hears("notifications/x"); !slices.Equal(got, []string{"1 notifications/x 1", "1 notifications/x 2", "1 notifications/x 3"}) {
			t.Errorf("told %q", got)
		}
		f.Leave("a")
		synctest.Wait()
		if !ended(a) {
			t.Error("the connection of one who left is there")
		}
		stands(t, f, 1, 0, 1)
		a.Done(nil)
		done(uses, nil)
		time.Sleep(5*time.Minute - time.Second)
		visit(t, f, nil) // keeps the server
		stands(t, f, 1, 0, 1)
		time.Sleep(2 * time.Second)
		stands(t, f, 0, 0, 0)
		if got := visit(t, f, asker("b")); !ended(uses[0]) || ended(got) {
			t.Error("it is not a new one")
		}
		if got := c.hears("setLevel"); !slices.Equal(got, []string{"3 logging/setLevel debug"}) {
			t.Errorf("the log level of a new one: %q", got)
		}
	})
}

// A server that asks is found out by its first question, once and for all until
// it is another one.
func TestAskingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		s := member("")
		f := c.fleet(t, s)
		own := func(want bool) {
			t.Helper()
			if got := visit(t, f, asker("a")).Conn() != visit(t, f, nil).Conn(); got != want {
				t.Errorf("a connection of its own: %v", got)
			}
		}
		if got := c.hears("initialize {"); len(got) != 1 || got[0] == "0 initialize {}" {
			t.Errorf("declared %q", got)
		}
		own(false)
		stands(t, f, 0, 0, 0)
		c.asks(0)
		own(true)
		if err := f.Restart(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		own(true)
		s.Priority = 3
		f.Apply([]hub.Server{s}, nil)
		own(true)
		s.Connection = hub.ConnectionShared
		f.Apply([]hub.Server{s}, nil)
		own(false)
		stands(t, f, 0, 0, 0)
		s.Connection = hub.ConnectionAuto
		f.Apply([]hub.Server{s}, nil)
		own(true)
		s.Args = []string{"other"}
		f.Apply([]hub.Server{s}, nil)
		if err := f.Wait(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		own(false)
	})
}

// A caller's own connection outlives the shared one, and its end is its own.
func TestOwnOutlivesShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		f := c.fleet(t, member(hub.ConnectionPerCaller))
		a := take(t, f, asker("a"))
		c.hangUp(0)
		is(t, f, hub.StateCrashed, message.ServerExited)
		if again := visit(t, f, asker("a")); again.Conn() != a.Conn() || ended(a) {
			t.Error("it has ended with the shared one")
		}
		time.Sleep(5*time.Second + time.Millisecond)
		if again := visit(t, f, asker("a")); again.Conn() != a.Conn() {
			t.Error("it is another one")
		}
		stands(t, f, 1, 0, 1)
		c.hangUp(1)
		stands(t, f, 0, 0, 1)
		a.Done(nil)
		if st := f.Status()[0]; st.State != hub.StateReady || st.Losses != 2 {
			t.Errorf("it is %s after %d losses", st.State, st.Losses)
		}
		began := time.Now()
		visit(t, f, asker("a"))
		if took := time.Since(began); took != time.Second {
			t.Errorf("connected again after %v", took)
		}
		c.hangUp(3)
		time.Sleep(time.Second + time.Millisecond)
		stands(t, f, 0, 0, 0) // nobody needs it
	})
}

// What cannot be connected is an error to all who wait, and those who come then
// wait for the next attempt.
func TestOwnIsNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		c.each = func(n int, _ context.Context) error {
			if n == 1 || n == 2 {
				return exited()
			}
			return nil
		}
		f := c.fleet(t, member(hub.ConnectionPerCaller))
		for range 2 {
			if _, err := f.Acquire(t.Context(), "s", asker("a")); !hub.IsCode(err, message.ServerDown) {
				t.Errorf("got %v", err)
			}
		}
		visit(t, f, asker("a"))
		if got := c.times(); got[2]-got[1] != time.Second || got[3]-got[2] != time.Second {
			t.Errorf("tried after %v", got)
		}
		stands(t, f, 1, 0, 1)
	})
}

// Nobody waits for ever for a connection that ends as soon as it is there.
func TestOwnEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		c.dies = true
		f := c.fleet(t, member(hub.ConnectionPerCaller))
		for range 3 {
			use, err := f.Acquire(t.Context(), "s", asker("a"))
			switch {
			case err == nil:
				<-use.Conn().Done()
				use.Done(hub.E(message.OutcomeUnknown, nil))
			case !hub.IsCode(err, message.ServerDown):
				t.Errorf("got %v", err)
			}
		}
		if n := len(c.times()); n != 4 {
			t.Errorf("%d connections were made", n)
		}
		time.Sleep(time.Second + time.Millisecond)
		stands(t, f, 0, 0, 0)
	})
}

// There are only so many: the one that was idle for longest goes, and if all are
// needed the next caller is told.
func TestOwnAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		s := member(hub.ConnectionPerCaller)
		s.MaxCallers = 2
		f := c.fleet(t, s)
		a, b := take(t, f, asker("a")), take(t, f, asker("b"))
		if _, err := f.Acquire(t.Context(), "s", asker("c")); !hub.IsCode(err, message.CallersTooMany) || hub.AsError(err).Args["limit"] != "2" {
			t.Errorf("got %v", err)
		}
		stands(t, f, 2, 0, 2)
		b.Done(nil)
		time.Sleep(time.Second)
		a.Done(nil)
		d := visit(t, f, asker("d"))
		stands(t, f, 2, 0, 2)
		if ended(a) || !ended(b) {
			t.Error("the wrong one has gone")
		}
		if err := f.Subscribe(t.Context(), "s", "x://a", asker("a")); err != nil {
			t.Error(err)
		}
		visit(t, f, asker("e"))
		if ended(a) || !ended(d) {
			t.Error("one with a subscription has gone")
		}
		if err := f.Subscribe(t.Context(), "s", "x://a", asker("e")); err != nil {
			t.Error(err)
		}
		if _, err := f.Acquire(t.Context(), "s", asker("f")); !hub.IsCode(err, message.CallersTooMany) {
			t.Errorf("got %v", err)
		}
	})
}

// An attempt that is ended to make room for another caller is no failure of the
// server's to who has come meanwhile.
func TestOwnAttemptMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		back := make(chan struct{})
		c.each = func(n int, ctx context.Context) error {
			if n != 1 {
				return nil
			}
			<-ctx.Done()
			<-back
			return ctx.Err()
		}
		s := member(hub.ConnectionPerCaller)
		s.MaxCallers = 1
		f := c.fleet(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = f.Acquire(ctx, "s", asker("a")) }()
		synctest.Wait()
		cancel() // so that nobody waits for the attempt
		synctest.Wait()
		got := make(chan *fleet.Use, 1)
		go func() { got <- take(t, f, asker("b")) }()
		synctest.Wait()
		ends := make(chan error, 1)
		go func() {
			_, err := f.Acquire(t.Context(), "s", asker("a"))
			ends <- err
		}()
		synctest.Wait()
		close(back)
		if err := <-ends; !hub.IsCode(err, message.CallersTooMany) {
			t.Errorf("got %v", err)
		}
		(<-got).Done(nil)
		stands(t, f, 1, 0, 1)
	})
}

// Own connections end with the life of the server, and calls on them have the
// time that those on shared ones have.
func TestOwnEndsWithTheServer(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(f *fleet.Fleet, s hub.Server, c *club)
		closed time.Duration
	}{
		"stop":      {func(f *fleet.Fleet, _ hub.Server, _ *club) { _ = f.Stop(context.Background(), "s") }, 0},
		"restart":   {func(f *fleet.Fleet, _ hub.Server, _ *club) { _ = f.Restart(context.Background(), "s") }, 0},
		"redefined": {func(f *fleet.Fleet, s hub.Server, _ *club) { other(f, s) }, 10 * time.Second},
		"disabled":  {func(f *fleet.Fleet, s hub.Server, _ *club) { s.Enabled = false; f.Apply([]hub.Server{s}, nil) }, 10 * time.Second},
		"removed":   {func(f *fleet.Fleet, _ hub.Server, _ *club) { f.Apply(nil, nil) }, 10 * time.Second},
		"shared": {func(f *fleet.Fleet, s hub.Server, _ *club) {
			s.Connection = hub.ConnectionShared
			f.Apply([]hub.Server{s}, nil)
		}, 10 * time.Second},
		"given up": {func(_ *fleet.Fleet, _ hub.Server, c *club) {
			c.mu.Lock()
			c.each = func(int, context.Context) error { return hub.E(message.CommandNotFound, nil) }
			c.mu.Unlock()
			c.hangUp(0)
			time.Sleep(5 * time.Second)
		}, 15 * time.Second},
		"given up and started": {func(f *fleet.Fleet, _ hub.Server, c *club) {
			c.mu.Lock()
			c.each = func(int, context.Context) error { return hub.E(message.CommandNotFound, nil) }
			c.mu.Unlock()
			c.hangUp(0)
			time.Sleep(6 * time.Second)
			_ = f.Start(context.Background(), "s")
		}, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClub()
				s := member(hub.ConnectionPerCaller)
				s.Timeout = time.Minute
				f := c.fleet(t, s)
				a := take(t, f, asker("a"))
				began := time.Now()
				go tt.change(f, s, c)
				<-a.Conn().Done()
				if took := time.Since(began); took != tt.closed {
					t.Errorf("closed after %v, want %v", took, tt.closed)
				}
				a.Done(hub.E(message.OutcomeUnknown, nil))
				synctest.Wait()
				if len(f.Status()) > 0 {
					stands(t, f, 0, 0, 0)
				}
			})
		})
	}
}

// A caller that leaves while its connection is being made leaves nothing.
func TestLeaveWhileDialling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		c.each = func(n int, ctx context.Context) error {
			if n == 0 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		f := c.fleet(t, member(hub.ConnectionPerCaller))
		got := make(chan error)
		go func() {
			_, err := f.Acquire(t.Context(), "s", asker("a"))
			got <- err
		}()
		synctest.Wait()
		f.Leave("a")
		if err := <-got; !hub.IsCode(err, message.Cancelled) {
			t.Errorf("got %v", err)
		}
		stands(t, f, 0, 0, 0)
	})
}

// What a caller tells while its own connection is being made reaches the server,
// which may have asked already; what it told before does not.
func TestTellBeforeTheFirstCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		c.slow = time.Second / 2
		f := c.fleet(t, member(hub.ConnectionPerCaller))
		tell := func(text string) {
			f.Tell("a", "notifications/x", []byte(`{"jsonrpc":"2.0","method":"notifications/x","params":{"uri":"`+text+`"}}`))
		}
		tell("early")
		got := make(chan *fleet.Use)
		go func() { got <- take(t, f, asker("a")) }()
		synctest.Wait()
		tell("meanwhile")
		defer (<-got).Done(nil)
		tell("later")
		if got := c.hears("notifications/x"); !slices.Equal(got, []string{"1 notifications/x meanwhile", "1 notifications/x later"}) {
			t.Errorf("told %q", got)
		}
	})
}

// A server that a caller's connection is made to may first make up its mind, but
// not for most of the time that the first call has.
func TestSettleLeavesTime(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{2 * time.Second: time.Second / 2, time.Minute: 700 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			c := newClub()
			c.slow = 700 * time.Millisecond
			s := member(hub.ConnectionPerCaller)
			s.Timeout = limit
			f := c.fleet(t, s)
			began := time.Now()
			visit(t, f, asker("a"))
			if took := time.Since(began); took != want {
				t.Errorf("within %v the connection took %v, want %v", limit, took, want)
			}
		})
	}
}

// Of several log levels in a row the server is told the last one last.
func TestLevelsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		f := c.fleet(t, member(hub.ConnectionPerCaller))
		visit(t, f, asker("a"))
		for _, level := range []string{"debug", "error", "info", "warning"} {
			f.SetLevel(level)
		}
		last := map[string]string{}
		for _, line := range c.hears("setLevel") {
			of, level, _ := strings.Cut(line, " ")
			last[of] = level
		}
		if want := "logging/setLevel warning"; last["0"] != want || last["1"] != want {
			t.Errorf("told %q last", last)
		}
	})
}

// An idle server ends with its callers' connections, and not while one of them is
// used.
func TestOwnKeepsTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		f := c.fleet(t, func() hub.Server { s := member(hub.ConnectionPerCaller); s.AutoStart = false; return s }())
		a := take(t, f, asker("a"))
		time.Sleep(time.Hour)
		if ended(a) || f.Status()[0].State != hub.StateReady {
			t.Fatal("it has ended under a call")
		}
		a.Done(nil)
		time.Sleep(11 * time.Minute)
		is(t, f, hub.StateIdle, "")
		stands(t, f, 0, 0, 0)
		visit(t, f, asker("a"))
		stands(t, f, 1, 0, 1)
	})
}
