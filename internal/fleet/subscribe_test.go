package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

func subscribe(t *testing.T, f *fleet.Fleet, uri string, callers ...*hub.Caller) {
	t.Helper()
	for _, caller := range callers {
		if err := f.Subscribe(t.Context(), "s", uri, caller); err != nil {
			t.Errorf("%s: %v", caller.ID, err)
		}
	}
}

func unsubscribe(t *testing.T, f *fleet.Fleet, uri string, callers ...*hub.Caller) {
	t.Helper()
	for _, caller := range callers {
		if err := f.Unsubscribe(t.Context(), "s", uri, caller); err != nil {
			t.Errorf("%s: %v", caller.ID, err)
		}
	}
}

// subscriptions fails the test unless the server has heard exactly these requests for
// subscriptions since the last time.
func (c *club) subscriptions(t *testing.T, want ...string) {
	t.Helper()
	if got := c.hears("subscribe"); !slices.Equal(got, want) {
		t.Errorf("the server heard %q, want %q", got, want)
	}
}

// The server is asked once for all who share a connection, and tells exactly
// those who have subscribed; when the last one has gone it is told.
func TestSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		f := c.fleet(t, member(hub.ConnectionShared))
		a, b, d := asker("a"), mute("b"), asker("d")
		subscribe(t, f, "x://1", b, a, a)
		subscribe(t, f, "x://2", d)
		c.subscriptions(t, "0 resources/subscribe x://1", "0 resources/subscribe x://2")
		stands(t, f, 0, 3, 3)
		c.updates(0, "x://1")
		c.updates(0, "x://2")
		c.updates(0, "x://3")
		c.expect(t, "a,b x://1", "d x://2", " x://3")
		unsubscribe(t, f, "x://1", a, a, d)
		c.subscriptions(t)
		c.updates(0, "x://1")
		c.expect(t, "b x://1")
		unsubscribe(t, f, "x://1", b)
		f.Leave("d")
		c.subscriptions(t, "0 resources/unsubscribe x://1", "0 resources/unsubscribe x://2")
		c.updates(0, "x://1")
		c.updates(0, "x://2")
		c.expect(t, " x://1", " x://2")
		stands(t, f, 0, 0, 0)
		if _, topics := f.Left("s"); topics != 0 {
			t.Errorf("%d resources are remembered", topics)
		}
		subscribe(t, f, "x://1", a)
		c.subscriptions(t, "0 resources/subscribe x://1")
	})
}

// A change of what nobody has subscribed to is told to those who have subscribed
// to what it is a part of; it is also passed on if that is nobody.
func TestUpdatedPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		f := c.fleet(t, member(hub.ConnectionShared))
		subscribe(t, f, "x://dir", mute("a"))
		subscribe(t, f, "x://dir/", mute("b"))
		subscribe(t, f, "x://dir/file", mute("c"))
		for _, uri := range []string{"x://dir/file", "x://dir/other", "x://dir?q", "x://dir/file#top", "x://directory", "x://di", ""} {
			c.updates(0, uri)
		}
		c.expect(t, "c x://dir/file", "a,b x://dir/other", "a x://dir?q", "a,b,c x://dir/file#top", " x://directory", " x://di", " ")
	})
}

// What the server refuses is an error to all who wait for it, and nothing is
// kept; it is asked again by the next one.
func TestSubscribeRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		c.refuses, c.slow = "x://no", time.Second
		f := c.fleet(t, member(hub.ConnectionShared))
		errs := make(chan error)
		for n := range 3 {
			go func() { errs <- f.Subscribe(t.Context(), "s", "x://no", mute(fmt.Sprint(n))) }()
		}
		for range 3 {
			if err := <-errs; !hub.IsCode(err, message.ServerRefused) {
				t.Errorf("got %v", err)
			}
		}
		c.subscriptions(t, "0 resources/subscribe x://no")
		stands(t, f, 0, 0, 0)
		if err := f.Subscribe(t.Context(), "s", "x://no", mute("a")); !hub.IsCode(err, message.ServerRefused) {
			t.Errorf("got %v", err)
		}
		c.subscriptions(t, "0 resources/subscribe x://no")
		if st := f.Status()[0]; st.Calls != 0 {
			t.Errorf("%d calls are under way", st.Calls)
		}
		for n := range 1000 {
			c.mu.Lock()
			c.slow = 0
			c.mu.Unlock()
			subscribe(t, f, fmt.Sprint("x://", n), mute("a"))
		}
		if err := f.Subscribe(t.Context(), "s", "x://more", mute("a")); !hub.IsCode(err, message.SubscriptionsTooMany) {
			t.Errorf("got %v", err)
		}
		subscribe(t, f, "x://1", mute("a"), mute("b"))
	})
}

// Who leaves, or does not wait any more, while the server is being asked is not
// subscribed; those who wait with them are.
func TestSubscribeAndLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		c.slow = 3 * time.Second
		f := c.fleet(t, member(hub.ConnectionShared))
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		left, stays := make(chan error, 1), make(chan error, 1)
		go func() { left <- f.Subscribe(t.Context(), "s", "x://1", mute("left")) }()
		go func() { stays <- f.Subscribe(t.Context(), "s", "x://1", mute("stays")) }()
		if err := f.Subscribe(late, "s", "x://1", mute("late")); !hub.IsCode(err, message.Timeout) {
			t.Errorf("got %v", err)
		}
		f.Leave("left")
		if err := <-stays; err != nil {
			t.Error(err)
		}
		if err := <-left; !hub.IsCode(err, message.Cancelled) {
			t.Errorf("got %v", err)
		}
		c.updates(0, "x://1")
		c.expect(t, "stays x://1")
		stands(t, f, 0, 1, 1)
		// The only one to wait: the server is told again when it has answered.
		late, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.Subscribe(late, "s", "x://2", mute("late")); !hub.IsCode(err, message.Timeout) {
			t.Errorf("got %v", err)
		}
		time.Sleep(3 * time.Second)
		c.subscriptions(t, "0 resources/subscribe x://1", "0 resources/subscribe x://2", "0 resources/unsubscribe x://2")
		stands(t, f, 0, 1, 1)
	})
}

// A server that answers too late is asked not to tell, since it may do so.
func TestSubscribeTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		c.slow = 1500 * time.Millisecond
		s := member(hub.ConnectionShared)
		s.Timeout = time.Second
		f := c.fleet(t, s)
		if err := f.Subscribe(t.Context(), "s", "x://1", mute("a")); err == nil {
			t.Error("it was in time")
		}
		stands(t, f, 0, 0, 0)
		time.Sleep(5 * time.Second)
		c.subscriptions(t, "0 resources/subscribe x://1", "0 resources/unsubscribe x://1")
		if _, topics := f.Left("s"); topics != 0 {
			t.Errorf("%d resources are remembered", topics)
		}
	})
}

// Subscriptions hold the server and outlive its connections: with each new one it
// is asked again, until it is disabled, and who has subscribed is told what may
// have changed meanwhile.
func TestSubscriptionsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		s := member(hub.ConnectionShared)
		s.AutoStart = false
		f := c.fleet(t, s)
		subscribe(t, f, "x://1", mute("a"))
		subscribe(t, f, "x://2", mute("a"))
		time.Sleep(time.Hour)
		is(t, f, hub.StateReady, "")
		c.hears("")
		again := func(n int, told ...string) {
			t.Helper()
			c.expectAll(t, told...) // each resource is asked for by itself
			is(t, f, hub.StateReady, "")
			c.subscriptions(t, fmt.Sprintf("%d resources/subscribe x://1", n), fmt.Sprintf("%d resources/subscribe x://2", n))
			c.updates(n, "x://2")
			c.expect(t, "a x://2")
		}
		c.hangUp(0)
		time.Sleep(5*time.Second + time.Millisecond)
		again(1, "a x://1", "a x://2")
		if err := f.Restart(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		again(2, "a x://1", "a x://2")
		if err := f.Stop(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		stands(t, f, 0, 2, 1)
		if err := f.Start(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		again(3, "a x://1", "a x://2")
		s.Args = []string{"other"}
		f.Apply([]hub.Server{s}, nil)
		synctest.Wait()
		again(4, "a x://1", "a x://2")
		// One that is not had again is kept for the next time.
		c.mu.Lock()
		c.refuses = "x://1"
		c.mu.Unlock()
		c.hangUp(4)
		time.Sleep(5*time.Second + time.Millisecond)
		again(5, "a x://2")
		stands(t, f, 0, 2, 1)
		unsubscribe(t, f, "x://1", mute("a"))
		c.subscriptions(t)
		unsubscribe(t, f, "x://2", mute("a"))
		c.subscriptions(t, "5 resources/unsubscribe x://2")
		stands(t, f, 0, 0, 0)
		time.Sleep(6 * time.Minute)
		is(t, f, hub.StateIdle, "")
		subscribe(t, f, "x://2", mute("a"))
		s.Enabled = false
		f.Apply([]hub.Server{s}, nil)
		stands(t, f, 0, 0, 0)
	})
}

// Of several instances the first has the subscriptions, and when it ends the next.
func TestSubscriptionsMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		s := member(hub.ConnectionShared)
		s.Instances = hub.Instances{Min: 2, Max: 3, Queue: 1}
		f := c.fleet(t, s)
		use := take(t, f, nil) // so that the other one gets the call
		subscribe(t, f, "x://1", mute("a"), mute("b"))
		c.subscriptions(t, "0 resources/subscribe x://1")
		use.Done(nil)
		c.hangUp(0)
		c.subscriptions(t, "1 resources/subscribe x://1")
		c.expect(t, "a,b x://1") // it may have changed meanwhile
		c.updates(1, "x://1")
		c.expect(t, "a,b x://1")
	})
}

// A caller with a connection of its own subscribes on it: it is told alone, and
// the connection is there as long as the subscription.
func TestSubscribeOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		s := member(hub.ConnectionPerCaller)
		f := c.fleet(t, s)
		subscribe(t, f, "x://1", mute("m"), asker("a"), asker("b"))
		c.subscriptions(t, "0 resources/subscribe x://1", "1 resources/subscribe x://1", "2 resources/subscribe x://1")
		c.updates(0, "x://1")
		c.updates(1, "x://1/part")
		c.updates(2, "x://1")
		c.expect(t, "m x://1", "a x://1/part", "b x://1")
		time.Sleep(time.Hour)
		stands(t, f, 2, 3, 3)
		c.hears("")
		c.hangUp(1)
		stands(t, f, 1, 3, 3)
		time.Sleep(5*time.Second + time.Millisecond)
		stands(t, f, 2, 3, 3)
		c.subscriptions(t, "3 resources/subscribe x://1")
		if err := f.Restart(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		stands(t, f, 2, 3, 3)
		if got := c.hears("subscribe"); len(got) != 3 {
			t.Errorf("after a restart: %q", got)
		}
		f.Leave("b")
		stands(t, f, 1, 2, 2)
		unsubscribe(t, f, "x://1", mute("m"), asker("a"))
		if got := c.hears("subscribe"); len(got) != 2 {
			t.Errorf("at the end: %q", got)
		}
		time.Sleep(6 * time.Minute)
		stands(t, f, 0, 0, 0)
	})
}

// When callers have no connections of their own any more, their subscriptions go
// on on the shared one.
func TestSubscriptionsMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClub()
		s := member(hub.ConnectionAuto)
		f := c.fleet(t, s)
		c.asks(0)
		subscribe(t, f, "x://1", asker("a"), asker("b"), mute("m"))
		c.hears("")
		s.Connection = hub.ConnectionShared
		f.Apply([]hub.Server{s}, nil)
		c.subscriptions(t)
		stands(t, f, 0, 3, 3)
		c.updates(0, "x://1")
		c.expect(t, "a,b,m x://1")
		f.Leave("a")
		f.Leave("b")
		f.Leave("m")
		c.subscriptions(t, "0 resources/unsubscribe x://1")
		stands(t, f, 0, 0, 0)
	})
}
