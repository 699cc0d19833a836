package catalog_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// suffix is the suffix that the tool's exposed name must have if it has one.
func suffix(server, tool string) string {
	return fmt.Sprintf("_%x", sha256.Sum256([]byte(server+"\x00"+tool)))[:9]
}

func TestNames(t *testing.T) {
	long := strings.Repeat("l", 200)
	tests := []struct {
		server, tool string
		bare         bool
		want         string
	}{
		{"files", "read", false, "files__read"},
		{"files", "read", true, "read"},
		{"my-files", "Read_All-2", false, "my-files__Read_All-2"},
		{"files", "admin.list", false, "files__admin_list" + suffix("files", "admin.list")},
		{"files", "admin.list", true, "admin_list" + suffix("files", "admin.list")},
		{"files", "two words", false, "files__two_words" + suffix("files", "two words")},
		{"天气", "查询", false, "______" + suffix("天气", "查询")},
		{"weather", "查询", true, "__" + suffix("weather", "查询")},
		{"e", "smile 😀", false, "e__smile__" + suffix("e", "smile 😀")},
		{"e", "\x00\u202e\"", false, "e_____" + suffix("e", "\x00\u202e\"")},
		{"s", long[:61], false, "s__" + long[:61]},
		{"s", long[:62], false, "s__" + long[:52] + suffix("s", long[:62])},
		{"s", long, false, "s__" + long[:52] + suffix("s", long)},
		{long, "t", false, long[:55] + suffix(long, "t")},
		{"s", long[:64], true, long[:64]},
		{"s", long[:65], true, long[:55] + suffix("s", long[:65])},
		{"s", strings.Repeat("长", 200), true, strings.Repeat("_", 55) + suffix("s", strings.Repeat("长", 200))},
	}
	for _, tt := range tests {
		c := open(t, catalog.Options{})
		s := server(tt.server)
		s.BareNames = tt.bare
		c.SetServers([]hub.Server{s})
		c.Replace(s, offer(t, tt.tool))
		snap := c.Snapshot()
		if got := exposed(snap); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%q of %q is exposed as %q, want %q", tt.tool, tt.server, got, tt.want)
			continue
		}
		for _, name := range []string{tt.want, tt.tool, tt.server + "__" + tt.tool} {
			if e, ok := snap.Resolve(name); !ok || e.Tool.Name != tt.tool || e.Server.Key != tt.server {
				t.Errorf("%q of %q is not found as %q", tt.tool, tt.server, name)
			}
		}
	}
}

func TestResolveUnknown(t *testing.T) {
	c := open(t, catalog.Options{})
	c.SetServers([]hub.Server{server("a")})
	c.Replace(server("a"), offer(t, "x"))
	for _, name := range []string{"", "a", "a__", "__x", "a__X", "A__x", "X", "b__x", "a__x\x00"} {
		if e, ok := c.Snapshot().Resolve(name); ok {
			t.Errorf("%q is %s", name, e.Exposed)
		}
	}
	if got := c.Snapshot().Providers("y"); len(got) != 0 {
		t.Errorf("%d providers of y", len(got))
	}
}

func TestBareNamesByPriority(t *testing.T) {
	c := open(t, catalog.Options{})
	low, first, second, high := server("low"), server("first"), server("second"), server("high")
	low.Priority, first.Priority, second.Priority, high.Priority = 10, 50, 50, 100
	low.Order, first.Order, second.Order, high.Order = 0, 1, 2, 3
	c.SetServers([]hub.Server{low, second, first, high})
	for _, key := range []string{"low", "second", "first"} {
		c.Replace(server(key), offer(t, "b", "a"))
	}
	want := []string{"first__b", "first__a", "second__b", "second__a", "low__b", "low__a"}
	if diff := cmp.Diff(want, exposed(c.Snapshot())); diff != "" {
		t.Error(diff)
	}
	if e, _ := c.Snapshot().Resolve("a"); e.Exposed != "first__a" {
		t.Errorf("a is %s", e.Exposed)
	}
	c.Replace(server("high"), offer(t, "a"))
	if e, _ := c.Snapshot().Resolve("a"); e.Exposed != "high__a" {
		t.Errorf("a is %s", e.Exposed)
	}
	var providers []string
	for _, e := range c.Snapshot().Providers("a") {
		providers = append(providers, e.Server.Key)
	}
	if diff := cmp.Diff([]string{"high", "first", "second", "low"}, providers); diff != "" {
		t.Error(diff)
	}
}

func TestClashes(t *testing.T) {
	type def struct {
		key   string
		bare  bool
		tools []string
	}
	tests := map[string]struct {
		servers []def
		want    []string
	}{
		"two servers with bare names": {
			[]def{{"a", true, []string{"x", "y"}}, {"b", true, []string{"x", "z"}}},
			[]string{"x", "y", "x" + suffix("b", "x"), "z"},
		},
		"the separator in a name": {
			[]def{{"a", false, []string{"b__c"}}, {"a__b", false, []string{"c"}}},
			[]string{"a__b__c", "a__b__c" + suffix("a__b", "c")},
		},
		"a bare tool named like another's exposed name, first": {
			[]def{{"a", true, []string{"b__x"}}, {"b", false, []string{"x"}}},
			[]string{"b__x", "b__x" + suffix("b", "x")},
		},
		"a bare tool named like another's exposed name, last": {
			[]def{{"b", false, []string{"x"}}, {"a", true, []string{"b__x"}}},
			[]string{"b__x", "b__x" + suffix("a", "b__x")},
		},
		"a tool named like the name with a suffix of one before it": {
			[]def{{"a", true, []string{"x.y", "x_y" + suffix("a", "x.y")}}},
			[]string{"x_y" + suffix("a", "x.y"), "x_y" + suffix("a", "x.y") + suffix("a", "x_y"+suffix("a", "x.y"))},
		},
		"a tool named like the name with a suffix of one after it": {
			[]def{{"a", true, []string{"x_y" + suffix("a", "x.y"), "x.y"}}},
			[]string{
				"x_y" + suffix("a", "x.y"),
				// Its own suffix is taken, so that it gets that of the next attempt.
				"x_y" + fmt.Sprintf("_%x", sha256.Sum256([]byte("a\x00x.y\x001")))[:9],
			},
		},
		"names that differ in what does not fit": {
			[]def{{"a", false, []string{"x y", "x.y", "x_y"}}},
			[]string{"a__x_y" + suffix("a", "x y"), "a__x_y" + suffix("a", "x.y"), "a__x_y"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := open(t, catalog.Options{})
			var servers []hub.Server
			for _, d := range tt.servers {
				s := server(d.key)
				s.BareNames = d.bare
				servers = append(servers, s)
			}
			c.SetServers(servers)
			for _, d := range tt.servers {
				c.Replace(server(d.key), offer(t, d.tools...))
			}
			if diff := cmp.Diff(tt.want, exposed(c.Snapshot())); diff != "" {
				t.Fatal(diff)
			}
			names, _ := list(t, c, 0, "")
			if diff := cmp.Diff(tt.want, names); diff != "" {
				t.Errorf("listed otherwise: %s", diff)
			}
			i := 0
			for _, d := range tt.servers {
				for _, tool := range d.tools {
					e, _ := c.Snapshot().Resolve(tt.want[i])
					if e.Server.Key != d.key || e.Tool.Name != tool {
						t.Errorf("%s leads to %q of %s", tt.want[i], e.Tool.Name, e.Server.Key)
					}
					i++
				}
			}
		})
	}
}

// A server that an operator named beats a tool that a server named.
func TestQualifiedBeatsBare(t *testing.T) {
	c := open(t, catalog.Options{})
	evil, git := server("evil"), server("git")
	evil.Priority = 1000
	git.BareNames = true
	c.SetServers([]hub.Server{evil, git})
	c.Replace(server("evil"), offer(t, "git__push"))
	c.Replace(server("git"), offer(t, "push"))
	if e, ok := c.Snapshot().Resolve("git__push"); !ok || e.Server.Key != "git" {
		t.Errorf("git__push is a tool of %s", e.Server.Key)
	}
}

// While a server is away, what is called by its name goes to no other server,
// whatever that calls its tools.
func TestNobodyTakesTheNamesOfAnother(t *testing.T) {
	files, other := server("files"), server("other")
	other.Priority = 50
	for name, leave := range map[string]func(c *catalog.Catalog){
		"not listed yet": func(*catalog.Catalog) {},
		"stopped": func(c *catalog.Catalog) {
			c.Replace(files, offer(t, "read"))
			c.Withhold("files", true)
		},
		"removed": func(c *catalog.Catalog) { c.SetServers([]hub.Server{other}) },
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, catalog.Options{})
			c.SetServers([]hub.Server{files, other})
			c.Replace(other, offer(t, "files__read"))
			leave(c)
			if e, ok := c.Snapshot().Resolve("files__read"); ok {
				t.Errorf("files__read is the tool of %q", e.Server.Key)
			}
			if e, ok := c.Snapshot().Resolve("other__files__read"); !ok || e.Server.Key != "other" {
				t.Error("the tool is not found under its whole name")
			}
		})
	}
}

// A name does not depend on which other servers there are.
func TestNamesAreStable(t *testing.T) {
	c := open(t, catalog.Options{})
	c.SetServers([]hub.Server{server("b")})
	c.Replace(server("b"), offer(t, "天气", "x", strings.Repeat("y", 100)))
	before := exposed(c.Snapshot())
	c.SetServers([]hub.Server{server("a"), server("b"), server("c")})
	c.Replace(server("a"), offer(t, "天气", "x", strings.Repeat("y", 100)))
	c.Replace(server("c"), offer(t, "天气", "x"))
	if diff := cmp.Diff(before, exposed(c.Snapshot())[3:6]); diff != "" {
		t.Error(diff)
	}
}

// Whatever servers and tools are called: names are valid and unique, lead back
// to their tools, and come in the same order for the same input.
func TestNamesProperty(t *testing.T) {
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "b", "_", "__", "-", ".", " ", "天", "😀", "\x00", "é", "x_12345678", strings.Repeat("z", 30)}
	word := func(most int) string {
		var w strings.Builder
		for range 1 + random.IntN(most) {
			w.WriteString(pieces[random.IntN(len(pieces))])
		}
		return w.String()
	}
	for round := range 60 {
		var servers []hub.Server
		offers := map[string]hub.Offer{}
		for range 1 + random.IntN(6) {
			s := server(word(3))
			if _, twice := offers[s.Key]; twice {
				continue
			}
			s.Order, s.Priority, s.BareNames = len(servers), random.IntN(3), random.IntN(2) == 0
			servers = append(servers, s)
			var names []string
			for range random.IntN(12) {
				names = append(names, word(4))
			}
			// Names that others were given before are the nastiest.
			if snap := exposedOf(t, servers, offers); len(snap) > 0 {
				names = append(names, snap[random.IntN(len(snap))])
			}
			slices.Sort(names)
			offers[s.Key] = offer(t, slices.Compact(names)...)
		}
		c := build(t, servers, offers)
		snap := c.Snapshot()
		seen := map[string]bool{}
		for i, e := range snap.Entries() {
			if !valid.MatchString(e.Exposed) || seen[e.Exposed] {
				t.Fatalf("round %d: %q is not valid or not unique", round, e.Exposed)
			}
			seen[e.Exposed] = true
			if back, ok := snap.Resolve(e.Exposed); !ok || back != e {
				t.Fatalf("round %d: %q does not lead back", round, e.Exposed)
			}
			if parse(t, string(e.Raw)).Name != e.Exposed {
				t.Fatalf("round %d: %s is shown as %s", round, e.Exposed, e.Raw)
			}
			if i > 0 {
				before := snap.Entries()[i-1].Server
				if before.Priority < e.Server.Priority || before.Priority == e.Server.Priority && before.Order > e.Server.Order {
					t.Fatalf("round %d: %q comes after %q", round, e.Server.Key, before.Key)
				}
			}
		}
		total := 0
		for _, o := range offers {
			total += len(o.Tools)
		}
		if len(seen) != total {
			t.Fatalf("round %d: %d of %d tools", round, len(seen), total)
		}
		// The order in which lists arrive is of no account.
		slices.Reverse(servers)
		if diff := cmp.Diff(exposed(snap), exposedOf(t, servers, offers)); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
	}
}

// build makes a catalog, with the offers in the order of the servers.
func build(t *testing.T, servers []hub.Server, offers map[string]hub.Offer) *catalog.Catalog {
	t.Helper()
	c := open(t, catalog.Options{})
	c.SetServers(servers)
	for _, s := range servers {
		c.Replace(s, offers[s.Key])
	}
	return c
}

func exposedOf(t *testing.T, servers []hub.Server, offers map[string]hub.Offer) []string {
	t.Helper()
	return exposed(build(t, servers, offers).Snapshot())
}
