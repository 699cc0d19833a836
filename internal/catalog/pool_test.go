package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// pooled is a catalog of the servers of one pool, a and b, and of c, which has
// the same tools. The last has tools described by it; b comes before a.
func pooled(t testing.TB, change func(a, b, c *hub.Server)) (*catalog.Catalog, []hub.Server) {
	t.Helper()
	cat := open(t, catalog.Options{})
	a, b, c := server("a"), server("b"), server("c")
	a.Order, b.Order, c.Order, b.Priority = 0, 1, 2, 1
	a.Pool, b.Pool = "search", "search"
	if change != nil {
		change(&a, &b, &c)
	}
	servers := []hub.Server{a, b, c}
	cat.SetServers(servers)
	for _, s := range servers {
		cat.Replace(s, described(t, "x", "by "+s.Key))
	}
	return cat, servers
}

// providers are the servers to which a name may go, and under which name.
func providers(v *catalog.View, name string) string {
	var all []string
	for _, e := range v.Providers(name) {
		all = append(all, e.Server.Key+":"+e.Exposed)
	}
	return strings.Join(all, " ")
}

// wantProviders checks where names go, and that a tool that is found is the first
// of them.
func wantProviders(t *testing.T, v *catalog.View, want map[string]string) {
	t.Helper()
	for name, to := range want {
		if got := providers(v, name); got != to {
			t.Errorf("%q goes to %q, want %q", name, got, to)
		}
		e, ok := v.Tool(name)
		if all := v.Providers(name); ok != (len(all) > 0) || ok && e != all[0] {
			t.Errorf("%q is %v, and not the first of %q", name, e, to)
		}
	}
}

func TestPool(t *testing.T) {
	c, servers := pooled(t, nil)
	wantShown(t, c, hub.ListTools, "search__x", "c__x")
	v := look(t, c, hub.Viewer{})
	if e, _ := v.Tool("search__x"); !strings.Contains(string(e.Raw), "by b") {
		t.Errorf("the tool is described as %s", e.Raw)
	}
	wantProviders(t, v, map[string]string{
		"search__x": "b:search__x a:search__x",
		"a__x":      "a:search__x", "b__x": "b:search__x", "c__x": "c:c__x",
		"x": "b:search__x a:search__x c:c__x",
		"y": "", "search__y": "", "": "", "search": "",
	})
	s := c.Snapshot()
	for _, key := range []string{"a", "b", "c"} {
		if s.Offered(key) != 1 || !v.Offers(key, "x") || v.Offers(key, "y") {
			t.Errorf("%s offers %d tools", key, s.Offered(key))
		}
	}
	if got := s.Pool("search"); !slices.Equal(got, []string{"b", "a"}) || s.Pool("a") != nil {
		t.Errorf("the pool is %v", got)
	}

	// What only one of them has is there all the same, in its place.
	c.Replace(servers[0], described(t, "y", "by a", "x", "by a"))
	wantShown(t, c, hub.ListTools, "search__x", "search__y", "c__x")
	wantProviders(t, look(t, c, hub.Viewer{}), map[string]string{"search__y": "a:search__y", "b__y": ""})

	// Without the first the name stays, and another describes the tool.
	c.Withhold("b", true)
	wantShown(t, c, hub.ListTools, "search__y", "search__x", "c__x")
	wantProviders(t, look(t, c, hub.Viewer{}), map[string]string{"search__x": "a:search__x", "b__x": "", "x": "a:search__x c:c__x"})
	if got := c.Snapshot().Pool("search"); len(got) != 2 {
		t.Errorf("the pool without its first is %v", got)
	}
	c.Withhold("b", false)
	wantShown(t, c, hub.ListTools, "search__x", "search__y", "c__x")
}

// The name of a pool's tool is the same whichever server describes it, also where
// it is no name as it is, or taken.
func TestPoolNames(t *testing.T) {
	long := strings.Repeat("long", 20)
	for name, test := range map[string]struct {
		change func(a, b, c *hub.Server)
		tool   string
		want   []string
		named  map[string]string
	}{
		"a name that does not fit": {
			nil, "a.x",
			[]string{"search__a_x" + suffix("search", "a.x"), "c__a_x" + suffix("c", "a.x")},
			map[string]string{"a__a.x": "a", "b__a.x": "b", "search__a_x" + suffix("search", "a.x"): "b a", "a.x": "b a c"},
		},
		"a long one": {
			nil, long,
			[]string{("search__" + long)[:55] + suffix("search", long), ("c__" + long)[:55] + suffix("c", long)},
			map[string]string{"a__" + long: "a"},
		},
		"named as one of its servers": {
			func(a, b, _ *hub.Server) { a.Pool, b.Pool = "a", "a" }, "x",
			[]string{"a__x", "c__x"},
			map[string]string{"a__x": "b a", "b__x": "b"},
		},
		"named as another server": {
			func(a, b, _ *hub.Server) { a.Pool, b.Pool = "c", "c" }, "x",
			[]string{"c__x", "c__x" + suffix("c", "x")},
			map[string]string{"c__x": "b a", "a__x": "a", "c__x" + suffix("c", "x"): "c"},
		},
		"taken": {
			func(_, _, c *hub.Server) { c.Key, c.Priority = "search", 9 }, "x",
			[]string{"search__x", "search__x" + suffix("search", "x")},
			map[string]string{"search__x": "search", "search__x" + suffix("search", "x"): "b a", "a__x": "a", "x": "search b a"},
		},
		"bare names": {
			func(a, b, c *hub.Server) { a.BareNames, b.BareNames, c.BareNames = true, true, true }, "x",
			[]string{"search__x", "x"},
			map[string]string{"search__x": "b a", "x": "c"},
		},
		"called otherwise": {
			func(a, _, _ *hub.Server) { a.Rules.Override = map[string]hub.ToolOverride{"x": {Name: "y"}} }, "x",
			[]string{"search__x", "search__y", "c__x"},
			map[string]string{"search__x": "b", "search__y": "a", "a__y": "a", "a__x": ""},
		},
		"of one server": {
			func(_, b, _ *hub.Server) { b.Pool = "" }, "x",
			[]string{"b__x", "search__x", "c__x"},
			map[string]string{"search__x": "a", "x": "b a c"},
		},
	} {
		c, servers := pooled(t, test.change)
		for _, s := range servers {
			c.Replace(s, offer(t, test.tool))
		}
		v := look(t, c, hub.Viewer{})
		if diff := cmp.Diff(test.want, listed(t, v, hub.ListTools)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for called, want := range test.named {
			var got []string
			for _, e := range v.Providers(called) {
				got = append(got, e.Server.Key)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %q goes to %v, want %q", name, called, got, want)
			}
		}
	}
}

// Two tools that one server has under one name are two.
func TestPoolWithTwoOfOneName(t *testing.T) {
	c, servers := pooled(t, func(a, _, _ *hub.Server) {
		a.Rules.Override = map[string]hub.ToolOverride{"y": {Name: "x"}}
	})
	c.Replace(servers[0], offer(t, "y", "x"))
	other := "search__x" + suffix("search", "x")
	wantShown(t, c, hub.ListTools, "search__x", other, "c__x")
	v := look(t, c, hub.Viewer{})
	wantProviders(t, v, map[string]string{"search__x": "b:search__x a:search__x", other: "a:" + other})
	if all := v.Providers("search__x"); all[1].Tool.Name != "y" || v.Providers(other)[0].Tool.Name != "x" {
		t.Errorf("%s is in the pool", all[1].Tool.Name)
	}
}

// A group may have one server of a pool only, which then describes the tool, and
// a group's own name is that of all in it.
func TestPoolInGroup(t *testing.T) {
	for name, test := range map[string]struct {
		group hub.Group
		want  []string
		named map[string]string
	}{
		"the second": {
			hub.Group{Servers: []string{"a"}},
			[]string{"search__x"},
			map[string]string{"search__x": "a:search__x", "a__x": "a:search__x", "b__x": "", "x": "a:search__x", "c__x": ""},
		},
		"by the name of the pool": {
			hub.Group{Tools: []string{"search__*"}},
			[]string{"search__x"},
			map[string]string{"search__x": "b:search__x a:search__x", "x": "b:search__x a:search__x"},
		},
		"all but one": {
			hub.Group{Tools: []string{"*"}, Exclude: []string{"b__x"}},
			[]string{"search__x", "c__x"},
			map[string]string{"search__x": "a:search__x", "x": "a:search__x c:c__x", "b__x": ""},
		},
		"renamed": {
			hub.Group{Servers: []string{"a", "b", "c"}, Rename: map[string]string{"search__x": "find"}},
			[]string{"find", "c__x"},
			map[string]string{"find": "b:find a:find", "search__x": "b:find a:find", "a__x": "a:find", "x": "b:find a:find c:c__x"},
		},
		"to the name of another": {
			hub.Group{Servers: []string{"a", "b", "c"}, Rename: map[string]string{"search__x": "c__x"}},
			[]string{"c__x" + suffix("search", "x"), "c__x"},
			map[string]string{"c__x": "c:c__x"},
		},
	} {
		c, _ := pooled(t, nil)
		group(c, test.group)
		v := look(t, c, hub.Viewer{Group: "g"})
		if diff := cmp.Diff(test.want, listed(t, v, hub.ListTools)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		wantProviders(t, v, test.named)
	}
	c, _ := pooled(t, nil)
	group(c, hub.Group{Servers: []string{"a"}})
	if e, _ := look(t, c, hub.Viewer{Group: "g"}).Tool("search__x"); !strings.Contains(string(e.Raw), "by a") {
		t.Errorf("in the group the tool is described as %s", e.Raw)
	}
	group(c, hub.Group{Tools: []string{"search__*"}})
	if v := look(t, c, hub.Viewer{Group: "g"}); !v.MayHave("a") || !v.MayHave("b") || v.MayHave("c") {
		t.Error("what may be in the group does not go by the pool")
	}
}

// What one server describes otherwise than it was accepted goes to the others;
// where all do, the name stands for nothing else.
func TestPoolPinned(t *testing.T) {
	c, servers := pooled(t, func(a, b, _ *hub.Server) { a.Pinned, b.Pinned = true, true })
	c.Replace(servers[1], described(t, "x", "other"))
	wantShown(t, c, hub.ListTools, "search__x", "c__x")
	wantProviders(t, look(t, c, hub.Viewer{}), map[string]string{"search__x": "a:search__x", "b__x": "", "a__x": "a:search__x"})
	v := look(t, c, hub.Viewer{})
	if e, ok := v.Blocked("b__x"); !ok || e.Server.Key != "b" {
		t.Errorf("b__x is %v", e)
	}
	if _, ok := v.Blocked("search__x"); ok {
		t.Error("the tool of the pool is blocked")
	}
	group(c, hub.Group{Servers: []string{"b"}})
	v = look(t, c, hub.Viewer{Group: "g"})
	wantProviders(t, v, map[string]string{"search__x": "", "x": ""})
	if e, ok := v.Blocked("search__x"); !ok || e.Server.Key != "b" {
		t.Errorf("in the group search__x is %v", e)
	}

	c.Replace(servers[0], described(t, "x", "other"))
	wantShown(t, c, hub.ListTools, "c__x")
	v = look(t, c, hub.Viewer{})
	wantProviders(t, v, map[string]string{"search__x": "", "x": "c:c__x"})
	if e, ok := v.Blocked("search__x"); !ok || e.Server.Key != "b" {
		t.Errorf("search__x is %v", e)
	}
}

// TestPoolsProperty: whatever servers, pools and groups there are, each name that
// is listed is one tool's or one pool's, and leads where its server__tool does.
func TestPoolsProperty(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		c := open(t, catalog.Options{})
		var servers []hub.Server
		for i := range 1 + random.IntN(6) {
			s := server(string(rune('a' + i)))
			s.Order, s.Priority = i, random.IntN(3)
			s.Pool = []string{"", "", "a", "p", "q"}[random.IntN(5)]
			s.BareNames, s.Pinned = random.IntN(4) == 0, random.IntN(3) == 0
			servers = append(servers, s)
		}
		c.SetServers(servers)
		for round := range 2 {
			for _, s := range servers {
				var all []string
				for _, name := range []string{"x", "y", "z.z", "a__x"} {
					if random.IntN(3) > 0 {
						all = append(all, name, fmt.Sprint(round*random.IntN(2)))
					}
				}
				c.Replace(s, described(t, all...))
			}
		}
		group(c, hub.Group{Servers: []string{"a", "c"}, Tools: []string{"p__*", "b__x"}, Exclude: []string{"c__y"}, Rename: map[string]string{"p__x": "go"}},
			hub.Profile{Client: "short", MaxName: 16})
		for _, viewer := range []hub.Viewer{{}, {Group: "g"}, {Client: "short"}, {Group: "g", Client: "short"}} {
			v := look(t, c, viewer)
			seen := make(map[string]bool)
			for _, e := range v.Tools() {
				if seen[e.Exposed] {
					t.Fatalf("seed %d, %+v: %s is there twice", seed, viewer, e.Exposed)
				}
				seen[e.Exposed] = true
				all := v.Providers(e.Exposed)
				if tool, _ := v.Tool(e.Exposed); tool != e || len(all) == 0 || all[0] != e {
					t.Fatalf("seed %d, %+v: %s leads elsewhere", seed, viewer, e.Exposed)
				}
				for _, other := range all {
					if other.Exposed != e.Exposed || (len(all) > 1 && (other.Server.Pool != e.Server.Pool || e.Server.Pool == "")) || !v.Offers(other.Server.Key, other.Tool.Name) {
						t.Fatalf("seed %d, %+v: %s leads to %s of %s too", seed, viewer, e.Exposed, other.Tool.Name, other.Server.Key)
					}
				}
			}
			for _, name := range []string{"x", "y", "z.z", "a__x", "b__x", "p__x", "p__a__x", "go"} {
				e, ok := v.Tool(name)
				if all := v.Providers(name); ok != (len(all) > 0) || ok && all[0] != e {
					t.Fatalf("seed %d, %+v: %s is %v, and goes to %v", seed, viewer, name, e, all)
				}
			}
		}
	}
}
