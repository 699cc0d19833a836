package catalog_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

func TestProfiles(t *testing.T) {
	c := three(t, nil)
	c.SetViews(nil, []hub.Profile{
		{Client: "Cursor*", MaxTools: 40},
		{Client: "cursor-vscode", MaxTools: 7},
		{Client: "*agent*x", Deaf: true},
		{Client: "exact", EmbedLinks: true},
	})
	for client, want := range map[string]int{
		"cursor": 0, "CURSOR-vscode": 0, "Agent X": 2, "my agent 2 x": 2, "agentx": 2, "agent": -1, "xagent": -1,
		"exact": 3, "EXACT": 3, "exactly": -1, "": -1, "a cursor": -1,
	} {
		got := look(t, c, hub.Viewer{Client: client}).Profile()
		if at := slices.IndexFunc([]hub.Profile{{MaxTools: 40}, {MaxTools: 7}, {Deaf: true}, {EmbedLinks: true}}, func(p hub.Profile) bool {
			p.Client = got.Client
			return p == got
		}); at != want {
			t.Errorf("%q has %+v", client, got)
		}
	}
	c.SetViews(nil, []hub.Profile{{Client: "*", MaxTools: 1}})
	if look(t, c, hub.Viewer{}).Profile().MaxTools != 1 {
		t.Error("* does not fit a client without a name")
	}
}

func TestMaxName(t *testing.T) {
	long := "server-with-a-long-name"
	tools := []string{"short", "get_everything_there_is", "with.dots", strings.Repeat("x", 90)}
	c := open(t, catalog.Options{})
	c.SetServers([]hub.Server{server(long)})
	c.Replace(server(long), offer(t, tools...))
	plain := exposed(c.Snapshot())
	full := long + "__"
	for most, want := range map[int][]string{
		0:   plain,
		64:  plain,
		40:  {full + "short", (full + tools[1])[:31] + suffix(long, tools[1]), plain[2][:31] + suffix(long, tools[2]), plain[3][:31] + suffix(long, tools[3])},
		30:  {full + "short", (full + tools[1])[:21] + suffix(long, tools[1]), plain[2][:21] + suffix(long, tools[2]), plain[3][:21] + suffix(long, tools[3])},
		29:  {full[:20] + suffix(long, "short"), full[:20] + suffix(long, tools[1]), full[:20] + suffix(long, tools[2]), full[:20] + suffix(long, tools[3])},
		128: {full + tools[0], full + tools[1], full + tools[2], full + tools[3]},
		65:  {full + tools[0], full + tools[1], full + tools[2], plain[3]},
	} {
		c.SetViews(nil, []hub.Profile{{Client: "*", MaxName: most}})
		v := look(t, c, hub.Viewer{})
		got := listed(t, v, hub.ListTools)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at most %d: %s", most, diff)
		}
		for i, name := range got {
			if most > 0 && len(name) > most {
				t.Errorf("%s is longer than %d", name, most)
			}
			for _, by := range []string{name, plain[i], full + tools[i], tools[i]} {
				if e, ok := v.Tool(by); !ok || e.Tool.Name != tools[i] || e.Exposed != name {
					t.Errorf("at most %d: %q is %v", most, by, e)
				}
			}
		}
	}
}

// metaOf are the hub's own tools among those of a list.
func metaOf(t *testing.T, v *catalog.View) (names []string, find string) {
	t.Helper()
	text, err := v.List(protocol.Legacy, hub.ListTools, "")
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Tools []struct {
			Name, Description string
			InputSchema       struct {
				Type       string
				Required   []string
				Properties map[string]struct{ Type string }
			}
			Annotations struct{ ReadOnlyHint bool }
		}
	}
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
		switch v.Meta(tool.Name) {
		case catalog.MetaFind:
			find = tool.Description
			if !tool.Annotations.ReadOnlyHint || tool.InputSchema.Properties["query"].Type != "string" || tool.InputSchema.Properties["limit"].Type != "integer" || tool.InputSchema.Required[0] != "query" {
				t.Errorf("find_tool is %+v", tool)
			}
		case catalog.MetaCall:
			if find == "" {
				find = tool.Description
			}
			if tool.Annotations.ReadOnlyHint || tool.InputSchema.Properties["name"].Type != "string" || tool.InputSchema.Properties["arguments"].Type != "object" || tool.InputSchema.Required[0] != "name" {
				t.Errorf("call_tool is %+v", tool)
			}
		}
	}
	return names, find
}

func TestMaxTools(t *testing.T) {
	c := three(t, nil)
	for most, want := range map[int]struct {
		listed, dropped []string
		text            string
	}{
		0: {listed: []string{"a__x", "a__y", "b__x", "b__y", "c__x", "c__y"}},
		7: {listed: []string{"a__x", "a__y", "b__x", "b__y", "c__x", "c__y"}},
		6: {listed: []string{"a__x", "a__y", "b__x", "b__y", "c__x", "c__y"}},
		5: {[]string{"a__x", "a__y", "b__x", "find_tool", "call_tool"}, []string{"b__y", "c__x", "c__y"}, "3 of 6 tools are not in this list; they are of b (1), c (2)."},
		3: {[]string{"a__x", "find_tool", "call_tool"}, []string{"a__y", "b__x", "b__y", "c__x", "c__y"}, "5 of 6 tools are not in this list; they are of a (1), b (2), c (2)."},
		2: {[]string{"find_tool", "call_tool"}, []string{"a__x", "a__y", "b__x", "b__y", "c__x", "c__y"}, "6 of 6 tools are not in this list; they are of a (2), b (2), c (2)."},
		1: {[]string{"call_tool"}, []string{"a__x", "a__y", "b__x", "b__y", "c__x", "c__y"}, "6 of 6 tools are not in this list; they are of a (2), b (2), c (2)."},
	} {
		c.SetViews(nil, []hub.Profile{{Client: "*", MaxTools: most}})
		v := look(t, c, hub.Viewer{})
		names, text := metaOf(t, v)
		if diff := cmp.Diff(want.listed, names); diff != "" {
			t.Errorf("at most %d: %s", most, diff)
		}
		var dropped []string
		for _, e := range v.Tools() {
			if !slices.Contains(names, e.Exposed) {
				dropped = append(dropped, e.Exposed)
			}
		}
		if diff := cmp.Diff(want.dropped, dropped); diff != "" {
			t.Errorf("at most %d dropped: %s", most, diff)
		}
		if !strings.HasPrefix(text, want.text) || (text == "") != (want.text == "") {
			t.Errorf("at most %d: the description is %q", most, text)
		}
		// They are there for who has an older list.
		if (v.Meta("call_tool") == catalog.MetaCall) != (most > 0) || (v.MetaName(catalog.MetaCall) != "") != (most > 0) || (v.Meta("find_tool") == catalog.MetaFind) != (most > 1) {
			t.Errorf("at most %d: call_tool is %d", most, v.Meta("call_tool"))
		}
		// What is dropped can be called and found all the same.
		for _, name := range want.dropped {
			if _, ok := v.Tool(name); !ok {
				t.Errorf("at most %d: %s cannot be called", most, name)
			}
			if found := v.Find(name, 20); !slices.ContainsFunc(found, func(m catalog.Match) bool { return m.Entry.Exposed == name && m.Score > 0 }) {
				t.Errorf("at most %d: %s is not found", most, name)
			}
		}
	}
}

// The hub's own tools leave servers' tools their names.
func TestMetaNamesClash(t *testing.T) {
	c := open(t, catalog.Options{})
	s := server("a")
	s.BareNames = true
	c.SetServers([]hub.Server{s})
	c.Replace(s, offer(t, "find_tool", "x", "y", "call_tool"))
	for _, profile := range []hub.Profile{{Client: "*", MaxTools: 3}, {Client: "*", MaxTools: 3, MaxName: 20}} {
		c.SetViews(nil, []hub.Profile{profile})
		v := look(t, c, hub.Viewer{})
		want := []string{"find_tool", "find_tool" + suffix("", "find_tool"), "call_tool" + suffix("", "call_tool")}
		if diff := cmp.Diff(want, listed(t, v, hub.ListTools)); diff != "" {
			t.Error(diff)
		}
		if e, ok := v.Tool("call_tool"); !ok || e.Server.Key != "a" || v.Meta("call_tool") != catalog.MetaNone || v.Meta(want[1]) != catalog.MetaFind {
			t.Errorf("call_tool is %v", e)
		}
	}
}

func TestFind(t *testing.T) {
	c := open(t, catalog.Options{})
	c.SetServers([]hub.Server{server("files"), server("weather")})
	c.Replace(server("files"), hub.Offer{Tools: []hub.Tool{
		parse(t, `{"name":"readFile","title":"Open","description":"Reads a file","inputSchema":{"type":"object","properties":{"encoding":{"description":"such as utf-8"}}}}`),
		parse(t, `{"name":"remove","description":"Deletes for good","inputSchema":{"type":"object","properties":{"recursive":true}}}`),
	}})
	c.Replace(server("weather"), hub.Offer{Tools: []hub.Tool{
		parse(t, `{"name":"now","description":"查询某个城市的天气","inputSchema":{"type":"object"}}`),
	}})
	group(c, hub.Group{Servers: []string{"files", "weather"}, Rename: map[string]string{"weather__now": "tianqi"}})
	v := look(t, c, hub.Viewer{Group: "g"})
	for query, want := range map[string]string{
		"read": "files__readFile", "FILE reading": "files__readFile", "utf": "files__readFile", "encoding": "files__readFile", "open": "files__readFile",
		"recursively delete recursive": "files__remove",
		"今天天气怎么样":                      "tianqi", "now": "tianqi", "tianqi": "tianqi", "weather forecast": "tianqi",
	} {
		if found := v.Find(query, 1); len(found) != 1 || found[0].Entry.Exposed != want {
			t.Errorf("%q finds %v", query, found)
		}
	}
	if found := v.Find("nothing like that", 5); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	for name, want := range map[string][]string{
		"files__redFile": {"files__readFile", "files__remove"}, "TIANQI": {"tianqi"}, "file_reader": {"files__readFile", "files__remove"}, "qqq": nil,
		strings.Repeat("z", 1<<20): nil,
	} {
		if got := v.Like(name); !slices.Equal(got, want) {
			t.Errorf("like %.20q are %v, want %v", name, got, want)
		}
	}
	// The index follows what there is.
	c.Replace(server("files"), offer(t, "telescope"))
	v = look(t, c, hub.Viewer{Group: "g"})
	if len(v.Find("telescope", 1)) != 1 || len(v.Find("utf", 1)) != 0 {
		t.Error("an old index is asked")
	}
}

func BenchmarkFind(b *testing.B) {
	c := open(b, catalog.Options{})
	c.SetServers([]hub.Server{server("a"), server("b")})
	var o hub.Offer
	for i := range 1000 {
		o.Tools = append(o.Tools, parse(b, fmt.Sprintf(`{"name":"create_thing_%d","description":"Creates the thing number %d in a repository, and says where it is.","inputSchema":{"type":"object","properties":{"owner":{"type":"string","description":"Who owns the repository"},"path":{"type":"string","description":"Where it is, from the root on"}}}}`, i, i)))
	}
	c.Replace(server("a"), o)
	b.Run("first", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			c.Replace(server("b"), offer(b, fmt.Sprint("x", n)))
			look(b, c, hub.Viewer{}).Find("create a thing", 5)
		}
	})
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			look(b, c, hub.Viewer{}).Find("create a thing", 5)
		}
	})
}
