package catalog_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// stored writes an index in which the servers have a tool each that was listed
// at a time, and returns its path.
func stored(t *testing.T, at time.Time, servers ...hub.Server) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "index.json")
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(at))
		c := open(t, catalog.Options{IndexPath: path})
		stop := run(t, c)
		c.SetServers(servers)
		for _, s := range servers {
			c.Replace(s, offer(t, "x"))
		}
		stop()
	})
	return path
}

// clock is a time that the tests' own clock has not reached yet at their start.
var clock = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

// A list from the index is good enough for a while, and marked after that; one
// that a server gave since the start always is good enough.
func TestFreshness(t *testing.T) {
	s := server("a")
	path := stored(t, clock, s)
	for name, tt := range map[string]struct {
		ttl   time.Duration
		force bool
		age   time.Duration
		known bool
	}{
		"young":             {0, false, catalog.DefaultTTL - 1, true},
		"old":               {0, false, catalog.DefaultTTL, false},
		"old, long life":    {24 * time.Hour, false, 23 * time.Hour, true},
		"young, short life": {time.Minute, false, time.Minute, false},
		"no life":           {-1, false, 0, false},
		"forced":            {0, true, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(clock.Add(tt.age)))
				c := open(t, catalog.Options{IndexPath: path, TTL: tt.ttl, ForceRefresh: tt.force})
				check := func(when string, known bool) {
					t.Helper()
					if got := c.Known(s); got != known {
						t.Errorf("%s: known is %t", when, got)
					}
				}
				check("before it is said which servers there are", tt.known)
				c.SetServers([]hub.Server{s})
				check("then", tt.known)
				e, ok := c.Snapshot().Resolve("a__x")
				if !ok || e.Stale() == tt.known || e.Live {
					t.Fatalf("offered %t: %+v", ok, e)
				}
				// It is the same list whatever is thought of its age.
				id := c.Snapshot().ID()
				c.SetFreshness(tt.age+time.Hour, false)
				check("with a longer life", true)
				time.Sleep(time.Hour)
				check("after that", false)
				if e, _ := c.Snapshot().Resolve("a__x"); !e.Stale() || c.Snapshot().ID() != id {
					t.Errorf("stale is %t, and the list is another: %t", e.Stale(), c.Snapshot().ID() != id)
				}
				c.Replace(s, offer(t, "x"))
				c.SetFreshness(-1, true)
				check("given by itself", true)
				if e, _ := c.Snapshot().Resolve("a__x"); e.Stale() || !e.Live {
					t.Error("what the server gave is stale")
				}
			})
		})
	}
}

// A clock that was set back makes lists neither old nor young for ever.
func TestListFromTheFuture(t *testing.T) {
	s := server("a")
	path := stored(t, clock.AddDate(10, 0, 0), s)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(clock))
		c := open(t, catalog.Options{IndexPath: path})
		stop := run(t, c)
		c.SetServers([]hub.Server{s})
		if e, _ := c.Snapshot().Resolve("a__x"); !c.Known(s) || !e.ListedAt.Equal(clock) {
			t.Errorf("known %t, listed at %v", c.Known(s), e.ListedAt)
		}
		stop()
		// It ages from then on, also over the next start.
		time.Sleep(catalog.DefaultTTL)
		if c.Known(s) {
			t.Error("it is young for ever")
		}
		if open(t, catalog.Options{IndexPath: path}).Known(s) {
			t.Error("it is young for ever when the hub starts again")
		}
	})
}

// A server that is switched off for a while keeps its list, also over a restart
// and when others change meanwhile.
func TestDisabledKeepsList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.json")
	c := open(t, catalog.Options{IndexPath: path})
	stop := run(t, c)
	on, off := server("a"), server("a")
	off.Enabled = false
	c.SetServers([]hub.Server{on, server("b")})
	c.Replace(on, hub.Offer{Tools: offer(t, "x").Tools, Instructions: "Be brief."})
	c.Replace(server("b"), offer(t, "x"))
	c.SetServers([]hub.Server{off, server("b")})
	check := func(c *catalog.Catalog, want ...string) {
		t.Helper()
		snap := c.Snapshot()
		if diff := cmp.Diff(want, exposed(snap)); diff != "" {
			t.Error(diff)
		}
		if listed := len(want) == 2; snap.Listed("a") != listed || (snap.Offered("a") == 1) != listed || (len(instructions(snap)) == 1) != listed {
			t.Errorf("listed %t, %d offered, instructions %v", snap.Listed("a"), snap.Offered("a"), instructions(snap))
		}
	}
	check(c, "b__x")
	c.Replace(server("b"), offer(t, "y"))
	stop()
	again := open(t, catalog.Options{IndexPath: path})
	stop = run(t, again)
	again.SetServers([]hub.Server{off, server("b")})
	check(again, "b__y")
	again.Replace(server("b"), offer(t, "z"))
	again.SetServers([]hub.Server{on, server("b")})
	check(again, "a__x", "b__z")
	if !again.Known(on) {
		t.Error("it would be started to learn its list")
	}
	stop()
}

// Nothing is known, and nobody gives anything: that is an empty list.
func TestNothingKnown(t *testing.T) {
	c := open(t, catalog.Options{IndexPath: filepath.Join(t.TempDir(), "none")})
	c.SetServers([]hub.Server{server("a")})
	if got := exposed(c.Snapshot()); len(got) > 0 || c.Known(server("a")) {
		t.Errorf("listed %q", got)
	}
}

// What is imported is for servers of which nothing else is known.
func TestImport(t *testing.T) {
	path := stored(t, clock, server("indexed"))
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(clock))
		c := open(t, catalog.Options{IndexPath: path})
		stop := run(t, c)
		all := []hub.Server{server("indexed"), server("live"), server("none"), server("off")}
		all[3].Enabled = false
		c.SetServers(all)
		c.Replace(all[1], offer(t, "x"))
		lists := func(tool string, age time.Duration) (lists []catalog.Imported) {
			for _, key := range []string{"foreign", "off", "none", "live", "indexed"} {
				lists = append(lists, catalog.Imported{Server: key, Tools: offer(t, tool).Tools, At: time.Now().Add(-age)})
			}
			return lists
		}
		want := func(taken []string, wantTaken []string, offered ...string) {
			t.Helper()
			if diff := cmp.Diff(wantTaken, taken); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(offered, exposed(c.Snapshot())); diff != "" {
				t.Error(diff)
			}
		}
		want(c.Import(lists("y", time.Minute), false), []string{"off", "none"}, "indexed__x", "live__x", "none__y")
		e, _ := c.Snapshot().Resolve("none__y")
		if e.Live || !e.Imported || e.Stale() || !c.Known(all[2]) {
			t.Errorf("%+v, known %t", e, c.Known(all[2]))
		}
		want(c.Import(lists("z", 2*time.Hour), true), []string{"off", "none", "indexed"}, "indexed__z", "live__x", "none__z")
		if e, _ := c.Snapshot().Resolve("none__z"); !e.Stale() || c.Known(all[2]) {
			t.Error("an old list that was imported is young")
		}
		stop()

		// It stays one that was imported, until the server gives its own.
		again := open(t, catalog.Options{IndexPath: path})
		again.SetServers(all)
		if e, _ := again.Snapshot().Resolve("none__z"); e == nil || !e.Imported {
			t.Errorf("it is %+v", e)
		}
		if got := again.Import(lists("y", 0), false); !cmp.Equal(got, []string{"off", "none", "indexed"}) {
			t.Errorf("took %q", got)
		}
		again.Replace(all[2], offer(t, "y"))
		if e, _ := again.Snapshot().Resolve("none__y"); e.Imported || !e.Live {
			t.Errorf("it is %+v", e)
		}
		if got := again.Import(lists("x", 0), true); !cmp.Equal(got, []string{"off", "live", "indexed"}) {
			t.Errorf("took %q", got)
		}
	})
}

// BenchmarkLookup prints how much longer a lookup takes among 10,000 tools than
// among 10.
func BenchmarkLookup(b *testing.B) {
	catalogs := make(map[int]*catalog.Snapshot)
	for _, many := range []int{10, 10_000} {
		servers, offers := fleet(b, many/10, 10)
		c := open(b, catalog.Options{})
		c.SetServers(servers)
		for i, o := range offers {
			c.Import([]catalog.Imported{{Server: servers[i].Key, Tools: o.Tools}}, false)
		}
		catalogs[many] = c.Snapshot()
	}
	for _, name := range []string{"server0__tool_9", "tool_9"} {
		b.Run(name, func(b *testing.B) {
			const rounds = 1000
			took := make(map[int]time.Duration)
			for b.Loop() {
				for many, s := range catalogs {
					start := time.Now()
					for range rounds {
						s.Resolve(name)
					}
					took[many] += time.Since(start)
				}
			}
			b.ReportMetric(float64(took[10_000])/float64(took[10]), "ratio")
			b.ReportMetric(float64(took[10_000].Nanoseconds())/float64(b.N*rounds), "ns/lookup")
		})
	}
}

// BenchmarkReplaceOne is another list of one server among 200 with 50 tools
// each, whose texts are short or long.
func BenchmarkReplaceOne(b *testing.B) {
	for _, length := range []int{300, 3000} {
		b.Run(fmt.Sprintf("texts of %d", length), func(b *testing.B) {
			c := open(b, catalog.Options{})
			var servers []hub.Server
			for i := range 200 {
				servers = append(servers, server(fmt.Sprint("server", i)))
			}
			c.SetServers(servers)
			var o hub.Offer
			for j := range 50 {
				o.Tools = append(o.Tools, parse(b, fmt.Sprintf(`{"name":"tool_%d","description":"%0*d"}`, j, length, j)))
			}
			for _, s := range servers {
				c.Replace(s, o)
			}
			offers := []hub.Offer{o, offer(b, "x")}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				c.Replace(servers[100], offers[n%2])
			}
		})
	}
}
