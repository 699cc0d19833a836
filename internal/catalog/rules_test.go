package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// ruled is a server with rules.
func ruled(key string, rules hub.ToolRules) hub.Server {
	s := server(key)
	s.Rules = rules
	return s
}

// Rules say which tools are listed, and as what; of a description only what
// they name is another, to the byte.
func TestRules(t *testing.T) {
	tools := [][]byte{
		[]byte(`{"name":"read","description":"old \u0041","inputSchema":{"type":"object","description":"inner"}}`),
		[]byte(`{ "inputSchema" : {"type":"object","x":1e400} , "name":"write" }`),
		[]byte(`{"name":"drop","inputSchema":{"type":"object"}}`),
	}
	const (
		read  = `{"name":"a__read","description":"old \u0041","inputSchema":{"type":"object","description":"inner"}}`
		write = `{ "inputSchema" : {"type":"object","x":1e400} , "name":"a__write" }`
		drop  = `{"name":"a__drop","inputSchema":{"type":"object"}}`
	)
	for name, tt := range map[string]struct {
		rules  hub.ToolRules
		bare   bool
		want   []string
		hidden int
	}{
		"none":               {hub.ToolRules{}, false, []string{read, write, drop}, 0},
		"allowed":            {hub.ToolRules{Allow: []string{"drop", "read", "nothing"}}, false, []string{read, drop}, 1},
		"denied":             {hub.ToolRules{Deny: []string{"drop"}}, false, []string{read, write}, 1},
		"allowed and denied": {hub.ToolRules{Allow: []string{"drop", "read"}, Deny: []string{"drop"}}, false, []string{read}, 2},
		"all denied":         {hub.ToolRules{Deny: []string{"drop", "read", "write"}}, false, nil, 3},
		"renamed": {
			hub.ToolRules{Override: map[string]hub.ToolOverride{"drop": {Name: "delete"}}},
			false,
			[]string{read, write, strings.Replace(drop, "a__drop", "a__delete", 1)},
			0,
		},
		"renamed, with bare names": {
			hub.ToolRules{Override: map[string]hub.ToolOverride{"drop": {Name: "delete"}}, Allow: []string{"drop"}},
			true,
			[]string{strings.Replace(drop, "a__drop", "delete", 1)},
			2,
		},
		"the new name denied, which is nobody's": {
			hub.ToolRules{Override: map[string]hub.ToolOverride{"drop": {Name: "delete"}}, Deny: []string{"delete"}, Allow: []string{"drop"}},
			false,
			[]string{strings.Replace(drop, "a__drop", "a__delete", 1)},
			2,
		},
		"described": {
			hub.ToolRules{Override: map[string]hub.ToolOverride{"read": {Description: "new \"text\"\n"}, "write": {Description: "w"}}},
			false,
			[]string{
				`{"name":"a__read","description":"new \"text\"\n","inputSchema":{"type":"object","description":"inner"}}`,
				`{"description":"w", "inputSchema" : {"type":"object","x":1e400} , "name":"a__write" }`,
				drop,
			},
			0,
		},
		"described under its own name": {
			hub.ToolRules{Override: map[string]hub.ToolOverride{"drop": {Description: "d"}}, Allow: []string{"drop"}},
			true,
			[]string{`{"description":"d","name":"drop","inputSchema":{"type":"object"}}`},
			2,
		},
		"swapped": {
			hub.ToolRules{Override: map[string]hub.ToolOverride{"read": {Name: "write"}, "write": {Name: "read"}}, Deny: []string{"drop"}},
			false,
			[]string{strings.Replace(read, "a__read", "a__write", 1), strings.Replace(write, "a__write", "a__read", 1)},
			1,
		},
		"two with one name": {
			hub.ToolRules{Override: map[string]hub.ToolOverride{"write": {Name: "read"}}, Deny: []string{"drop"}},
			false,
			[]string{read, strings.Replace(write, "a__write", "a__read"+suffix("a", "write"), 1)},
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, catalog.Options{})
			s := ruled("a", tt.rules)
			s.BareNames = tt.bare
			c.SetServers([]hub.Server{s})
			c.Listed(s, hub.Lists{Asked: hub.ListTools, Tools: tools})
			want := `{"tools":[` + strings.Join(tt.want, ",") + `]}`
			if got := page(t, c, protocol.Legacy, ""); got != want {
				t.Errorf("listed\n%s\nwant\n%s", got, want)
			}
			snap := c.Snapshot()
			if snap.Offered("a") != len(tt.want) || snap.Hidden("a") != tt.hidden || !snap.Listed("a") {
				t.Errorf("%d offered, %d hidden", snap.Offered("a"), snap.Hidden("a"))
			}
			// Nothing of it was done to the server's own bytes.
			for i, e := range snap.Entries() {
				if tool := parse(t, string(e.Tool.Raw)); tool.Name != e.Tool.Name {
					t.Errorf("entry %d is called as %q, and the server says %s", i, e.Tool.Name, e.Tool.Raw)
				}
			}
		})
	}
}

// A tool is found under the name that it was given, with and without its
// server's, and not under the one that it had.
func TestRenamedResolves(t *testing.T) {
	c := open(t, catalog.Options{})
	a := ruled("a", hub.ToolRules{Override: map[string]hub.ToolOverride{"x": {Name: "y"}}})
	c.SetServers([]hub.Server{a, server("b")})
	c.Replace(a, offer(t, "x"))
	c.Replace(server("b"), offer(t, "x"))
	for name, want := range map[string]string{"a__y": "a", "y": "a", "x": "b", "b__x": "b", "a__x": ""} {
		e, ok := c.Snapshot().Resolve(name)
		if ok != (want != "") || ok && (e.Server.Key != want || e.Tool.Name != "x") {
			t.Errorf("%s is %+v", name, e)
		}
	}
	if got := len(c.Snapshot().Providers("y")); got != 1 {
		t.Errorf("%d providers of y", got)
	}
	if got := len(c.Snapshot().Providers("x")); got != 1 {
		t.Errorf("%d providers of x", got)
	}
}

// Other rules need no server: all its tools are kept, also over a restart. One
// change is one event.
func TestRulesChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.json")
	var b bus.Bus
	sub := b.Subscribe(10)
	defer sub.Close()
	c := open(t, catalog.Options{IndexPath: path, Bus: &b})
	stop := run(t, c)
	strict := ruled("a", hub.ToolRules{Allow: []string{"x"}})
	c.SetServers([]hub.Server{strict, server("b")})
	c.Replace(strict, offer(t, "x", "y", "z"))
	c.Replace(server("b"), offer(t, "x"))
	events(sub)
	before := c.Snapshot()
	loose := ruled("a", hub.ToolRules{Deny: []string{"z"}, Override: map[string]hub.ToolOverride{"x": {Name: "w", Description: "d"}}})
	c.SetServers([]hub.Server{loose, server("b")})
	if n := events(sub); n != 1 {
		t.Errorf("%d events", n)
	}
	want := []string{"a__w", "a__y", "b__x"}
	if diff := cmp.Diff(want, exposed(c.Snapshot())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a__x", "b__x"}, exposed(before)); diff != "" {
		t.Errorf("the snapshot of before has changed: %s", diff)
	}
	c.SetServers([]hub.Server{loose, server("b")})
	if n := events(sub); n != 0 {
		t.Errorf("%d events for the same rules", n)
	}
	stop()
	again := open(t, catalog.Options{IndexPath: path})
	again.SetServers([]hub.Server{server("a"), server("b")})
	if diff := cmp.Diff([]string{"a__x", "a__y", "a__z", "b__x"}, exposed(again.Snapshot())); diff != "" {
		t.Error(diff)
	}
}

// The tools of a server that is withheld are not listed, and not lost.
func TestWithhold(t *testing.T) {
	var b bus.Bus
	sub := b.Subscribe(10)
	defer sub.Close()
	c := open(t, catalog.Options{Bus: &b})
	all := []hub.Server{ruled("a", hub.ToolRules{Deny: []string{"y"}}), server("b")}
	c.SetServers(all)
	c.Replace(all[0], hub.Offer{Tools: offer(t, "x", "y").Tools, Instructions: "Be brief."})
	c.Replace(all[1], offer(t, "x"))
	events(sub)
	for _, yes := range []bool{true, true, false, false} {
		before := c.Snapshot().ID()
		c.Withhold("a", yes)
		c.SetServers(all) // which changes nothing
		want, told := []string{"a__x", "b__x"}, 0
		if yes {
			want = want[1:]
		}
		if c.Snapshot().ID() != before {
			told = 1
		}
		snap := c.Snapshot()
		if diff := cmp.Diff(want, exposed(snap)); diff != "" {
			t.Error(diff)
		}
		if snap.Listed("a") == yes || (snap.Offered("a") == 0) != yes || (snap.Hidden("a") == 0) != yes || (len(instructions(snap)) == 0) != yes {
			t.Errorf("withheld %t: listed %t, %d offered, %d hidden", yes, snap.Listed("a"), snap.Offered("a"), snap.Hidden("a"))
		}
		if n := events(sub); n != told {
			t.Errorf("%d events", n)
		}
		if !c.Known(all[0]) {
			t.Error("the tools are forgotten")
		}
	}
	c.Withhold("none", true)
}

// A list is that of the definition by which the server was asked. It may come
// before the definition is known here, and after it is of no use any more.
func TestListsOfOtherDefinitions(t *testing.T) {
	c := open(t, catalog.Options{})
	was, is := server("a"), server("a")
	is.Args = []string{"new"}
	c.SetServers([]hub.Server{was})
	c.Replace(was, offer(t, "old"))
	c.Replace(is, offer(t, "new"))
	if diff := cmp.Diff([]string{"a__old"}, exposed(c.Snapshot())); diff != "" {
		t.Errorf("too early: %s", diff)
	}
	if !c.Known(was) || !c.Known(is) || c.Known(server("b")) {
		t.Error("what is known is not")
	}
	c.SetServers([]hub.Server{is})
	c.Replace(was, offer(t, "late"))
	if diff := cmp.Diff([]string{"a__new"}, exposed(c.Snapshot())); diff != "" {
		t.Errorf("too late: %s", diff)
	}
	c.SetServers(nil)
	c.SetServers([]hub.Server{was})
	if got := exposed(c.Snapshot()); len(got) > 0 || c.Known(was) {
		t.Errorf("left: %q", got)
	}
}

// Whatever the rules: names are valid and unique, lead back to exactly their
// tools, and none leads to a tool that is hidden.
func TestRulesProperty(t *testing.T) {
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	random := rand.New(rand.NewPCG(3, 4))
	words := []string{"a", "b", "a__b", "c.d", "天", "x_y", strings.Repeat("z", 63), "b__a", "_"}
	word := func() string { return words[random.IntN(len(words))] }
	some := func() (list []string) {
		for range random.IntN(4) {
			list = append(list, word())
		}
		return list
	}
	for round := range 300 {
		c := open(t, catalog.Options{})
		var servers []hub.Server
		tools := map[string][]string{}
		for _, key := range words[:1+random.IntN(4)] {
			s := ruled(key, hub.ToolRules{Allow: some(), Deny: some(), Override: map[string]hub.ToolOverride{}})
			for _, tool := range some() {
				s.Rules.Override[tool] = hub.ToolOverride{Name: []string{"", "a", "b", "a__b", "new"}[random.IntN(5)], Description: word()}
			}
			s.BareNames, s.Priority, s.Order = random.IntN(2) == 0, random.IntN(2), len(servers)
			tools[key] = slices.Compact(slices.Sorted(slices.Values(append(some(), some()...))))
			servers = append(servers, s)
		}
		c.SetServers(servers)
		for _, s := range servers {
			c.Replace(s, offer(t, tools[s.Key]...))
		}
		snap := c.Snapshot()
		seen, listed := map[string]bool{}, map[string]bool{}
		for _, e := range snap.Entries() {
			back, ok := snap.Resolve(e.Exposed)
			if !ok || back != e || !valid.MatchString(e.Exposed) || seen[e.Exposed] {
				t.Fatalf("round %d: %q is not valid, not unique or leads elsewhere", round, e.Exposed)
			}
			seen[e.Exposed] = true
			listed[e.Server.Key+"\x00"+e.Tool.Name] = true
			shown := parse(t, string(e.Raw))
			if shown.Name != e.Exposed || parse(t, string(e.Tool.Raw)).Name != e.Tool.Name {
				t.Fatalf("round %d: %s is shown as %s", round, e.Exposed, e.Raw)
			}
			if text := e.Server.Rules.Override[e.Tool.Name].Description; text != "" && !strings.Contains(string(e.Raw), fmt.Sprintf(`"description":"%s"`, text)) {
				t.Fatalf("round %d: %s lacks its text %q", round, e.Raw, text)
			}
		}
		for _, s := range servers {
			n := 0
			for _, tool := range tools[s.Key] {
				if offered := s.Rules.Offers(tool); offered != listed[s.Key+"\x00"+tool] {
					t.Fatalf("round %d: %q of %q is listed: %t", round, tool, s.Key, !offered)
				} else if offered {
					n++
				}
			}
			if snap.Offered(s.Key) != n || snap.Hidden(s.Key) != len(tools[s.Key])-n {
				t.Fatalf("round %d: %d of %q offered, %d hidden", round, snap.Offered(s.Key), s.Key, snap.Hidden(s.Key))
			}
		}
	}
}
