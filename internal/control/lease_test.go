package control_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// wantLeases compares what is held, each as "server holder tool".
func (s *shop) wantLeases(want ...string) {
	s.t.Helper()
	var got []string
	for _, l := range s.Leases() {
		if l.Count != 1 {
			s.t.Errorf("%s is held %d times for %s", l.Server, l.Count, l.Holder)
		}
		got = append(got, strings.TrimSpace(l.Server+" "+l.Holder+" "+l.Tool))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("the leases are wrong (-want +got)\n%s", diff)
	}
}

func (s *shop) lease(holder string, ttl time.Duration, names ...string) control.Grant {
	s.t.Helper()
	g, err := s.Lease(hub.Principal{}, holder, names, ttl)
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

// A lease starts what it names and keeps it until it is replaced or released.
func TestLease(t *testing.T) {
	s := open(t, `{"mcpServers":{"a":`+faultServer(t)+`,"b":`+faultServer(t)+`,"off":`+faultServer(t, `"enabled":false`)+`}}`)
	before := time.Now()
	g := s.lease("one", 0, "a__echo", "b", "nobody__echo", "a__echo", "off", "off__echo", "a__")
	if left := g.Expires.Sub(before); left < control.DefaultTTL || left > control.DefaultTTL+time.Minute {
		t.Errorf("it expires in %s", left)
	}
	g.Expires = time.Time{}
	want := control.Grant{
		Holder: "one", Tools: []string{"a__echo", "b"}, Unknown: []string{"nobody__echo", "off", "off__echo", "a__"}, Started: []string{"a", "b"},
	}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Errorf("the grant is wrong (-want +got)\n%s", diff)
	}
	s.wantLeases("a one echo", "b one")
	for _, key := range []string{"a", "b"} {
		if err := s.Start(t.Context(), key); err != nil { // waits for the start that is under way
			t.Fatal(err)
		}
	}

	// Its tools are known now, and so are those that it has not.
	g = s.lease("two", time.Hour, "a__echo", "a__nothing")
	if !slices.Equal(g.Tools, []string{"a__echo"}) || !slices.Equal(g.Unknown, []string{"a__nothing"}) || len(g.Started) > 0 {
		t.Errorf("the grant is %+v", g)
	}
	s.lease("one", 0, "b", "b__echo")
	s.wantLeases("a two echo", "b one", "b one echo")
	s.lease("two", 0)
	s.wantLeases("b one", "b one echo")
	if err := s.Release(hub.Principal{}, "one"); err != nil {
		t.Fatal(err)
	}
	s.wantLeases()
	wantCode(t, s.Release(hub.Principal{}, "one"), message.LeaseUnknown)
	if err := s.Release(hub.Principal{}, "two"); err != nil { // who holds nothing is known all the same
		t.Fatal(err)
	}
}

// Leases follow the configuration: nothing is held of what is gone, and what
// comes back is held again.
func TestLeaseFollowsConfiguration(t *testing.T) {
	s := open(t, one("a"))
	s.lease("h", 0, "a", "b__tool")
	s.wantLeases("a h")
	s.add("b", `{"command":"b"}`)
	s.wantLeases("a h", "b h tool")
	if err := s.Change("a", []byte(`{"command":"other"}`)); err != nil {
		t.Fatal(err)
	}
	s.wantLeases("a h", "b h tool")
	if err := s.Remove("a"); err != nil {
		t.Fatal(err)
	}
	s.wantLeases("b h tool")
	if err := s.SetEnabled(t.Context(), "b", false); err != nil {
		t.Fatal(err)
	}
	s.wantLeases()
	s.add("a", `{"command":"a"}`)
	if err := s.SetEnabled(t.Context(), "b", true); err != nil {
		t.Fatal(err)
	}
	s.wantLeases("b h tool", "a h")
	if err := s.Release(hub.Principal{}, "h"); err != nil {
		t.Fatal(err)
	}
	s.wantLeases()
}

// A lease that nobody asks for again ends by itself, and only then.
func TestLeaseExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, `{"mcpServers":{"a":{"command":"/nowhere/a"},"b":{"command":"/nowhere/b"}}}`)
		s.watch(func(ctx context.Context) { _ = s.ExpireLeases(ctx) })
		s.lease("long", time.Hour, "a")
		s.lease("short", time.Second, "b")
		s.lease("again", time.Minute, "a", "b")
		for _, step := range []struct {
			after time.Duration
			want  []string
		}{
			{time.Second - 1, []string{"a again", "a long", "b again", "b short"}},
			{time.Nanosecond, []string{"a again", "a long", "b again"}},
			{time.Minute - time.Second - 1, []string{"a again", "a long", "b again"}},
		} {
			time.Sleep(step.after)
			synctest.Wait()
			s.wantLeases(step.want...)
		}
		s.lease("again", time.Minute, "b")
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		s.wantLeases("a long", "b again")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		s.wantLeases("a long")
		time.Sleep(time.Hour)
		synctest.Wait()
		s.wantLeases()
		wantCode(t, s.Release(hub.Principal{}, "long"), message.LeaseUnknown)
	})
}

func TestLeaseBounds(t *testing.T) {
	s := open(t, one("a"))
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, c := range map[string]struct {
		holder string
		tools  []string
		ttl    time.Duration
	}{
		"no holder":      {"", []string{"a"}, 0},
		"no path":        {"..", []string{"a"}, 0},
		"long holder":    {strings.Repeat("名", 129), []string{"a"}, 0},
		"control":        {"a\nb", []string{"a"}, 0},
		"many tools":     {"h", many, 0},
		"empty tool":     {"h", []string{"a", ""}, 0},
		"long tool":      {"h", []string{strings.Repeat("x", 513)}, 0},
		"short ttl":      {"h", []string{"a"}, time.Second - 1},
		"long ttl":       {"h", []string{"a"}, 24*time.Hour + 1},
		"ttl of the day": {"h", []string{"a"}, -time.Second},
	} {
		_, err := s.Lease(hub.Principal{}, c.holder, c.tools, c.ttl)
		if !hub.IsCode(err, message.BodyInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.wantLeases()
	s.lease(strings.Repeat("名", 128), 24*time.Hour, many[1:]...)
	for i := range 199 {
		s.lease(fmt.Sprint(i), time.Second)
	}
	_, err := s.Lease(hub.Principal{}, "one more", nil, 0)
	wantCode(t, err, message.BodyInvalid)
	s.lease("0", 0, "a")
	if err := s.Release(hub.Principal{}, "1"); err != nil {
		t.Fatal(err)
	}
	s.lease("one more", 0)
}

// However holders and changes of the configuration meet, nothing is held in the
// end.
func TestLeasesAndChangesMeet(t *testing.T) {
	s := open(t, `{"mcpServers":{"a":{"command":"/nowhere/a"},"b":{"command":"/nowhere/b"}}}`)
	const rounds = 30
	var all sync.WaitGroup
	for _, holder := range []string{"one", "two"} {
		all.Go(func() {
			for range rounds {
				for _, names := range [][]string{{"a", "b__t"}, {"b"}} {
					if _, err := s.Lease(hub.Principal{}, holder, names, 0); err != nil {
						t.Error(err)
					}
				}
				if err := s.Release(hub.Principal{}, holder); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range rounds {
		if err := s.Remove("b"); err != nil {
			t.Fatal(err)
		}
		s.add("b", `{"command":"/nowhere/b"}`)
	}
	all.Wait()
	s.wantLeases()
}

// A lease that is used is kept until the use ends, however long that takes, and then
// holds as long as a new one does; one that has expired does not come back.
func TestLeaseIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, one("a"))
		s.watch(func(ctx context.Context) { _ = s.ExpireLeases(ctx) })
		is := func(want ...string) {
			t.Helper()
			synctest.Wait()
			s.wantLeases(want...)
		}
		s.Use(hub.Principal{}, "nobody")()
		s.lease("proxy", 0, "a")
		for range 3 {
			time.Sleep(control.DefaultTTL - time.Second)
			s.Use(hub.Principal{}, "proxy")()
		}
		first, second := s.Use(hub.Principal{}, "proxy"), s.Use(hub.Principal{}, "proxy")
		time.Sleep(3 * control.DefaultTTL)
		first()
		time.Sleep(3 * control.DefaultTTL)
		is("a proxy")
		second()
		time.Sleep(control.DefaultTTL - 1)
		is("a proxy")
		time.Sleep(time.Nanosecond)
		is()
		s.Use(hub.Principal{}, "proxy")()
		is()

		s.lease("proxy", time.Hour, "a")
		s.Use(hub.Principal{}, "proxy")() // which ends it no sooner
		time.Sleep(time.Hour - 1)
		is("a proxy")

		// What is released is gone, whoever uses it.
		done := s.Use(hub.Principal{}, "proxy")
		if err := s.Release(hub.Principal{}, "proxy"); err != nil {
			t.Fatal(err)
		}
		is()
		done()
		is()

		// Another registration during the use is the same holder's.
		s.lease("proxy", 0, "a")
		done = s.Use(hub.Principal{}, "proxy")
		s.lease("proxy", time.Second, "a")
		time.Sleep(time.Minute)
		is("a proxy")
		done()
		is("a proxy")
	})
}

// What somebody stops is told to who holds it and asks again, and held again, once, when
// it is started.
func TestLeaseOfWhatIsStopped(t *testing.T) {
	s := open(t, `{"mcpServers":{"a":`+faultServer(t)+`}}`)
	s.lease("h", 0, "a")
	if err := s.Start(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if g := s.lease("h", 0, "a"); !slices.Equal(g.Unknown, []string{"a"}) || len(g.Tools) > 0 {
		t.Errorf("the grant is %+v", g)
	}
	if err := s.Start(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if g := s.lease("h", 0, "a"); len(g.Unknown) > 0 || !slices.Equal(g.Tools, []string{"a"}) {
			t.Errorf("the grant is %+v", g)
		}
		s.wantLeases("a h")
	}
	s.lease("h", 0)
	s.wantLeases()
}
