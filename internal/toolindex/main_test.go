package toolindex_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/toolindex"
)

// server is an enabled server with a key and a priority.
func server(key string, priority int) hub.Server {
	return hub.Server{Key: key, Kind: hub.KindStdio, Command: key, Enabled: true, Priority: priority}
}

// open makes a catalog of the servers, none of which has given a list yet.
func open(t testing.TB, servers ...hub.Server) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Open(catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.SetServers(servers)
	return c
}

// tools parses descriptions that must be good.
func tools(t testing.TB, raw ...string) hub.Offer {
	t.Helper()
	var o hub.Offer
	for _, text := range raw {
		tool, err := catalog.ParseTool([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		o.Tools = append(o.Tools, tool)
	}
	return o
}

// names are the exposed names of what a query finds.
func names(s *catalog.Snapshot, q toolindex.Query) string {
	var all []string
	for _, e := range toolindex.Find(s, nil, q) {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}

func TestFind(t *testing.T) {
	low, high := server("low", 1), server("high", 9)
	c := open(t, low, high)
	c.Replace(low, tools(t,
		`{"name":"go","description":"Navigates the robot.","inputSchema":{"type":"object"}}`,
		`{"name":"see","annotations":{"readOnlyHint":true}}`))
	c.Replace(high, tools(t, `{"name":"go"}`, `{"name":"a.b"}`))
	s := c.Snapshot()
	odd := s.Entries()[1].Exposed
	for name, tt := range map[string]struct {
		q    toolindex.Query
		want string
	}{
		"all":                   {toolindex.Query{}, "high__go " + odd + " low__go low__see"},
		"by tag":                {toolindex.Query{Tag: toolindex.TagNavigation}, "low__go"},
		"by a tag of no tool":   {toolindex.Query{Tag: "nothing"}, ""},
		"by server":             {toolindex.Query{Server: "low"}, "low__go low__see"},
		"by its own name":       {toolindex.Query{Tool: "go"}, "high__go low__go"},
		"by its exposed name":   {toolindex.Query{Tool: "low__go"}, "low__go"},
		"by a name that is odd": {toolindex.Query{Tool: "a.b"}, odd},
		"with its server":       {toolindex.Query{Tool: "high__a.b"}, odd},
		"by an unknown name":    {toolindex.Query{Tool: "come"}, ""},
		"by all":                {toolindex.Query{Tool: "go", Server: "low", Tag: toolindex.TagNavigation}, "low__go"},
		"by what does not fit":  {toolindex.Query{Tool: "go", Server: "high", Tag: toolindex.TagNavigation}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := names(s, tt.q); got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
	// The first that has a tool is the one that a call of it reaches.
	reached, _ := s.Resolve("go")
	if first := toolindex.Find(s, nil, toolindex.Query{Tool: "go"})[0]; first.Name != reached.Exposed {
		t.Errorf("the first is %s, and a call reaches %s", first.Name, reached.Exposed)
	}
}

func TestEntry(t *testing.T) {
	s := server("s", 0)
	s.Rules.Override = map[string]hub.ToolOverride{"go": {Name: "walk", Description: "Walks to a waypoint."}}
	c := open(t, s)
	const schema = `{"type" : "object","properties":{"x":{"type":"number","maximum":1e400}}}`
	c.Replace(s, tools(t, `{"name":"go","description":"Goes.","inputSchema":`+schema+`,"annotations":{"openWorldHint":true,"idempotentHint":"true"}}`))
	all := toolindex.Find(c.Snapshot(), nil, toolindex.Query{})
	want := []toolindex.Entry{{
		Server: "s", Tool: "go", Name: "s__walk", Description: "Walks to a waypoint.", InputSchema: []byte(schema),
		Tags: []toolindex.Tag{toolindex.TagNavigation, toolindex.TagOpenWorld}, Cost: toolindex.CostMedium,
		LastUpdated: c.Snapshot().Entries()[0].ListedAt, Live: true,
	}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

// Before a tool was called it counts as neither fast nor slow.
func TestCost(t *testing.T) {
	s := server("s", 0)
	c := open(t, s)
	c.Replace(s, tools(t, `{"name":"x"}`))
	for took, want := range map[time.Duration]toolindex.Cost{
		-1:                       toolindex.CostMedium, // not known
		0:                        toolindex.CostLow,
		200*time.Millisecond - 1: toolindex.CostLow,
		200 * time.Millisecond:   toolindex.CostMedium,
		2*time.Second - 1:        toolindex.CostMedium,
		2 * time.Second:          toolindex.CostHigh,
		time.Hour:                toolindex.CostHigh,
	} {
		times := func(server, tool string) (time.Duration, bool) {
			if server != "s" || tool != "x" {
				t.Errorf("asked for %s of %s", tool, server)
			}
			return took, took >= 0
		}
		e := toolindex.Find(c.Snapshot(), times, toolindex.Query{})[0]
		if e.Cost != want || e.Blocking != (want == toolindex.CostHigh) {
			t.Errorf("%v: %s, blocking %t", took, e.Cost, e.Blocking)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	for _, many := range []int{10, 10_000} {
		var servers []hub.Server
		for i := range many / 10 {
			servers = append(servers, server(fmt.Sprint("server", i), 0))
		}
		c := open(b, servers...)
		var raw []string
		for j := range 10 {
			raw = append(raw, fmt.Sprintf(`{"name":"tool_%d","description":"Does something with files of a kind. %0300d","inputSchema":{"type":"object"}}`, j, j))
		}
		o := tools(b, raw...)
		var lists []catalog.Imported
		for _, s := range servers {
			lists = append(lists, catalog.Imported{Server: s.Key, Tools: o.Tools})
		}
		c.Import(lists, false)
		for name, q := range map[string]toolindex.Query{"all": {}, "tag": {Tag: "navigation"}, "tool": {Tool: "server0__tool_3"}} {
			b.Run(fmt.Sprintf("%s/%d", name, many), func(b *testing.B) {
				for b.Loop() {
					toolindex.Find(c.Snapshot(), nil, q)
				}
			})
		}
	}
}
