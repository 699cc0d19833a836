package catalog_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// look looks through a view that there must be.
func look(t testing.TB, c *catalog.Catalog, v hub.Viewer) *catalog.View {
	t.Helper()
	view, err := c.View(v)
	if err != nil {
		t.Fatal(err)
	}
	return view
}

// pager gives lists page by page: a catalog, or a view of it.
type pager interface {
	List(era protocol.Era, which hub.ListSet, cursor string) ([]byte, error)
}

// listed are the names, or URIs, of all pages of a list.
func listed(t testing.TB, from pager, which hub.ListSet) []string {
	t.Helper()
	all := []string{}
	for cursor := ""; ; {
		text, err := from.List(protocol.Modern, which, cursor)
		if err != nil {
			t.Fatal(err)
		}
		var result struct {
			Tools, Prompts, Resources, ResourceTemplates []struct{ Name, URI, URITemplate string }
			NextCursor                                   string
		}
		if err := json.Unmarshal(text, &result); err != nil {
			t.Fatal(err)
		}
		for _, one := range slices.Concat(result.Tools, result.Prompts) {
			all = append(all, one.Name)
		}
		for _, one := range slices.Concat(result.Resources, result.ResourceTemplates) {
			all = append(all, one.URI+one.URITemplate)
		}
		if cursor = result.NextCursor; cursor == "" {
			return all
		}
	}
}

// wide is an offer of everything, with the names that are given.
func wide(t testing.TB, key string, names ...string) hub.Offer {
	t.Helper()
	o := offer(t, names...)
	o.Instructions = "Use " + key + " well."
	for _, name := range names {
		o.Resources = append(o.Resources, hub.Resource{URI: "file:///" + key + "/" + name, Raw: fmt.Appendf(nil, `{"uri":"file:///%s/%s","name":"x"}`, key, name)})
	}
	o.Templates = []hub.Template{{URI: key + ":///{x}", Raw: fmt.Appendf(nil, `{"uriTemplate":"%s:///{x}","name":"x"}`, key)}}
	o.Prompts = []hub.Prompt{{Name: "ask", Raw: []byte(`{"name":"ask"}`)}}
	o.Capabilities = []byte(`{"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{}}`)
	return o
}

// three is a catalog of the servers a, b and c with the tools x and y each.
func three(t testing.TB, b *bus.Bus) *catalog.Catalog {
	t.Helper()
	c := open(t, catalog.Options{Bus: b})
	var servers []hub.Server
	for i, key := range []string{"a", "b", "c"} {
		s := server(key)
		s.Order = i
		servers = append(servers, s)
	}
	c.SetServers(servers)
	for _, s := range servers {
		c.Replace(s, wide(t, s.Key, "x", "y"))
	}
	return c
}

// group sets one group, named g.
func group(c *catalog.Catalog, g hub.Group, profiles ...hub.Profile) {
	g.Name = "g"
	c.SetViews([]hub.Group{g}, profiles)
}

func TestPlainView(t *testing.T) {
	c := three(t, nil)
	v := look(t, c, hub.Viewer{Client: "anybody"})
	if v != look(t, c, hub.Viewer{}) {
		t.Error("two views where one does")
	}
	for _, which := range []hub.ListSet{hub.ListTools, hub.ListResources, hub.ListTemplates, hub.ListPrompts} {
		ours, err := v.List(protocol.Legacy, which, "")
		if err != nil {
			t.Fatal(err)
		}
		all, err := c.List(protocol.Legacy, which, "")
		if err != nil || &ours[0] != &all[0] {
			t.Errorf("%s are rendered twice, or %v", which, err)
		}
	}
	if e, ok := v.Tool("b__x"); !ok || e != c.Snapshot().Entries()[2] {
		t.Errorf("b__x is %v", e)
	}
	if p, ok := v.Prompt("b__ask"); !ok || p.Server.Key != "b" {
		t.Errorf("b__ask is %v", p)
	}
	if place, ok := v.Resource("file:///b/x"); !ok || place.Server.Key != "b" {
		t.Errorf("the resource is at %v", place)
	}
	if v.Meta("find_tool") != catalog.MetaNone || v.Meta("") != catalog.MetaNone || v.Profile() != (hub.Profile{}) {
		t.Error("the plain view is capped")
	}
	if got, want := v.Instructions(), "# a\nUse a well.\n\n# b\nUse b well.\n\n# c\nUse c well."; got != want {
		t.Errorf("instructions %q, want %q", got, want)
	}
}

func TestGroup(t *testing.T) {
	tools := func(names ...string) []string { return append([]string{}, names...) }
	for name, test := range map[string]struct {
		group hub.Group
		want  []string
		rest  string // keys of the servers whose resources and prompts are there
	}{
		"nothing":            {hub.Group{}, tools(), ""},
		"servers":            {hub.Group{Servers: []string{"c", "a", "nobody"}}, tools("a__x", "a__y", "c__x", "c__y"), "ac"},
		"tools":              {hub.Group{Tools: []string{"b__y", "a__x"}}, tools("a__x", "b__y"), ""},
		"both":               {hub.Group{Servers: []string{"a"}, Tools: []string{"b__y"}}, tools("a__x", "a__y", "b__y"), "a"},
		"a pattern":          {hub.Group{Tools: []string{"*__x"}}, tools("a__x", "b__x", "c__x"), ""},
		"all":                {hub.Group{Tools: []string{"*"}, Exclude: []string{"*y", "b*"}}, tools("a__x", "c__x"), ""},
		"excluded":           {hub.Group{Servers: []string{"a"}, Exclude: []string{"a__y"}}, tools("a__x"), "a"},
		"everything but all": {hub.Group{Servers: []string{"a"}, Exclude: []string{"*"}}, tools(), "a"},
		"renamed":            {hub.Group{Servers: []string{"a"}, Rename: map[string]string{"a__y": "go", "b__x": "other"}}, tools("a__x", "go"), "a"},
		"exchanged":          {hub.Group{Servers: []string{"a"}, Rename: map[string]string{"a__y": "a__x", "a__x": "a__y"}}, tools("a__y", "a__x"), "a"},
	} {
		c := three(t, nil)
		group(c, test.group)
		v := look(t, c, hub.Viewer{Group: "g"})
		if diff := cmp.Diff(test.want, listed(t, v, hub.ListTools)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		var prompts, resources, templates []string
		for key := range strings.SplitSeq(test.rest, "") {
			prompts = append(prompts, key+"__ask")
			resources = append(resources, "file:///"+key+"/x", "file:///"+key+"/y")
			templates = append(templates, key+":///{x}")
		}
		for which, want := range map[hub.ListSet][]string{hub.ListPrompts: prompts, hub.ListResources: resources, hub.ListTemplates: templates} {
			if got := listed(t, v, which); !slices.Equal(got, want) {
				t.Errorf("%s: the %s are %v, want %v", name, which, got, want)
			}
		}
		for _, key := range []string{"a", "b", "c"} {
			in := strings.Contains(test.rest, key)
			_, resource := v.Resource("file:///" + key + "/x")
			_, prefixed := v.Resource(catalog.Prefixed(key, "file:///new"))
			_, fitting := v.Resource(key + ":///new")
			_, template := v.Template(key + ":///{x}")
			_, prompt := v.Prompt(key + "__ask")
			if resource != in || prefixed != in || fitting != in || template != in || prompt != in || v.Has(key) != in || slices.Contains(v.ResourceServers(), key) != in {
				t.Errorf("%s: of %s is reached: %t %t %t %t %t", name, key, resource, prefixed, fitting, template, prompt)
			}
		}
		if c := v.Capabilities(); !c.Tools || !c.Logging || c.Resources != (test.rest != "") || c.Prompts != c.Resources || c.Subscribe != c.Resources || c.Completions != c.Resources {
			t.Errorf("%s: capabilities %+v", name, c)
		}
	}
}

// Pages of results are resources, also where no server has any; a client that
// cannot read them gets none.
func TestCapabilityOfPages(t *testing.T) {
	c := open(t, catalog.Options{})
	a, b := server("a"), server("b")
	a.Spill = 1 << 10
	c.SetServers([]hub.Server{a, b})
	c.Replace(a, offer(t, "x"))
	c.Replace(b, offer(t, "x"))
	c.SetViews([]hub.Group{{Name: "b", Servers: []string{"b"}}, {Name: "single", Servers: []string{"b"}, Tools: []string{"a__x"}}},
		[]hub.Profile{{Client: "linky", EmbedLinks: true}})
	for viewer, want := range map[hub.Viewer]bool{
		{}: true, {Group: "single"}: true, {Group: "b"}: false, {Client: "linky"}: false,
	} {
		if c := look(t, c, viewer).Capabilities(); c.Resources != want || c.Subscribe {
			t.Errorf("%+v: %+v", viewer, c)
		}
	}
}

// In a group a name stands for nothing outside of it.
func TestGroupNames(t *testing.T) {
	c := three(t, nil)
	group(c, hub.Group{Servers: []string{"c"}, Tools: []string{"b__y"}, Rename: map[string]string{"c__x": "a__x"}})
	v := look(t, c, hub.Viewer{Group: "g"})
	for name, want := range map[string]string{
		"a__x": "c x", // the group says so
		"a__y": "", "b__x": "", "nobody": "", "": "",
		"c__x": "c x", "x": "c x", // by its other names as well
		"b__y": "b y", "y": "b y", "c__y": "c y",
	} {
		got := ""
		if e, ok := v.Tool(name); ok {
			got = e.Server.Key + " " + e.Tool.Name
		}
		if got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	if e, _ := v.Tool("x"); e.Exposed != "a__x" || string(e.Raw) != `{"name":"a__x","inputSchema":{"type":"object"}}` {
		t.Errorf("the renamed tool is %s, %s", e.Exposed, e.Raw)
	}
	if p, ok := v.Prompt("ask"); !ok || p.Server.Key != "c" {
		t.Errorf("ask is %v", p)
	}
	for key, want := range map[string]bool{"a": false, "b": true, "c": true} {
		if v.MayHave(key) != want || v.Has(key) != (key == "c") {
			t.Errorf("may have %s: %t", key, !want)
		}
	}
	if _, err := c.View(hub.Viewer{Group: "other"}); !hub.IsCode(err, message.GroupUnknown) {
		t.Errorf("error %v", err)
	}
}

// What is renamed to a name that is there gets a suffix, and always the same.
func TestRenameClash(t *testing.T) {
	c := three(t, nil)
	group(c, hub.Group{Servers: []string{"a", "b"}, Rename: map[string]string{"a__y": "go", "b__y": "go", "b__x": "a__x", "a__x": "", "c__x": "go"}})
	v := look(t, c, hub.Viewer{Group: "g"})
	want := []string{"a__x", "go", "a__x" + suffix("b", "x"), "go" + suffix("b", "y")}
	if diff := cmp.Diff(want, listed(t, v, hub.ListTools)); diff != "" {
		t.Error(diff)
	}
	group(c, hub.Group{Servers: []string{"a"}, Rename: map[string]string{"a__x": "not a name!"}})
	v = look(t, c, hub.Viewer{Group: "g"})
	if diff := cmp.Diff([]string{"not_a_name_" + suffix("a", "x"), "a__y"}, listed(t, v, hub.ListTools)); diff != "" {
		t.Error(diff)
	}
}

// What is meant for a tool that is withheld reaches no other by its name.
func TestRenamedAndBlocked(t *testing.T) {
	c := open(t, catalog.Options{})
	a, b := server("a"), server("b")
	a.Pinned = true
	c.SetServers([]hub.Server{a, b})
	c.Replace(a, offer(t, "read"))
	c.Replace(b, offer(t, "read"))
	group(c, hub.Group{Servers: []string{"a", "b"}, Rename: map[string]string{"a__read": "read"}})
	if e, ok := look(t, c, hub.Viewer{Group: "g"}).Tool("read"); !ok || e.Server.Key != "a" {
		t.Fatalf("read is %v", e)
	}
	c.Replace(a, hub.Offer{Tools: []hub.Tool{parse(t, `{"name":"read","description":"other","inputSchema":{"type":"object"}}`)}})
	v := look(t, c, hub.Viewer{Group: "g"})
	if e, ok := v.Tool("read"); ok {
		t.Errorf("read is now %s", e.Exposed)
	}
	if e, ok := v.Blocked("read"); !ok || e.Server.Key != "a" {
		t.Errorf("blocked is %v", e)
	}
	group(c, hub.Group{Servers: []string{"b"}})
	v = look(t, c, hub.Viewer{Group: "g"})
	if _, ok := v.Blocked("a__read"); ok {
		t.Error("a tool outside of the group is told of")
	}
	if e, ok := v.Tool("read"); !ok || e.Server.Key != "b" {
		t.Errorf("read is %v", e)
	}
}

func TestViewsChange(t *testing.T) {
	var b bus.Bus
	c := three(t, &b)
	sub := b.Subscribe(16)
	defer sub.Close()
	g := hub.Group{Servers: []string{"a"}}
	group(c, g)
	if n := events(sub); n != 3 {
		t.Errorf("%d events for new views", n)
	}
	group(c, g)
	if n := events(sub); n != 0 {
		t.Errorf("%d events for the same views", n)
	}
	first := look(t, c, hub.Viewer{Group: "g"})
	if look(t, c, hub.Viewer{Group: "g"}) != first {
		t.Error("the view is made twice")
	}
	c.Replace(server("b"), offer(t, "z"))
	second := look(t, c, hub.Viewer{Group: "g"})
	if second == first || second.Snapshot() != c.Snapshot() {
		t.Error("the view is not made anew")
	}
	before, _ := first.List(protocol.Legacy, hub.ListTools, "")
	after, _ := second.List(protocol.Legacy, hub.ListTools, "")
	if &before[0] != &after[0] {
		t.Error("the same list is rendered twice")
	}
	c.Replace(server("a"), offer(t, "z"))
	if got := listed(t, look(t, c, hub.Viewer{Group: "g"}), hub.ListTools); !slices.Equal(got, []string{"a__z"}) {
		t.Errorf("listed %v", got)
	}
	if got := listed(t, first, hub.ListTools); !slices.Equal(got, []string{"a__x", "a__y"}) {
		t.Errorf("the old view lists %v", got)
	}
	c.SetViews(nil, nil)
	if n := events(sub); n == 0 {
		t.Error("no events when groups go")
	}
	if _, err := c.View(hub.Viewer{Group: "g"}); !hub.IsCode(err, message.GroupUnknown) {
		t.Errorf("error %v", err)
	}
}

func TestViewCursors(t *testing.T) {
	c := open(t, catalog.Options{})
	c.SetServers([]hub.Server{server("a"), server("b")})
	c.Replace(server("a"), wide(t, "a", names("x", 2500)...))
	c.SetViews([]hub.Group{{Name: "g", Servers: []string{"a"}}, {Name: "h", Servers: []string{"a"}}}, []hub.Profile{{Client: "c", MaxTools: 2400}, {Client: "deaf", Deaf: true}})
	next := func(v *catalog.View, which hub.ListSet, cursor string) string {
		text, err := v.List(protocol.Legacy, which, cursor)
		if err != nil {
			t.Fatal(err)
		}
		var page struct{ NextCursor string }
		if err := json.Unmarshal(text, &page); err != nil || page.NextCursor == "" {
			t.Fatalf("no cursor, %v", err)
		}
		return page.NextCursor
	}
	plain, g, h := look(t, c, hub.Viewer{}), look(t, c, hub.Viewer{Group: "g"}), look(t, c, hub.Viewer{Group: "h"})
	capped, deaf := look(t, c, hub.Viewer{Client: "c"}), look(t, c, hub.Viewer{Client: "deaf"})
	views := []*catalog.View{plain, g, h, capped}
	lists := []hub.ListSet{hub.ListTools, hub.ListResources}
	for i, from := range views {
		for _, of := range lists {
			cursor := next(from, of, "")
			for j, to := range views {
				for _, which := range lists {
					// The cap of tools leaves resources as they are.
					same := which == of && (i == j || which == hub.ListResources && i%3 == 0 && j%3 == 0)
					if _, err := to.List(protocol.Legacy, which, cursor); hub.IsCode(err, message.CursorUnknown) == same {
						t.Errorf("a cursor of view %d's %s in view %d's %s: %v", i, of, j, which, err)
					}
				}
			}
		}
	}
	if _, err := deaf.List(protocol.Legacy, hub.ListTools, next(plain, hub.ListTools, "")); err != nil {
		t.Errorf("a view that shows the same: %v", err)
	}
	// A client that is paging sees one list, whatever happens meanwhile.
	cursor := next(g, hub.ListTools, "")
	c.Replace(server("a"), wide(t, "a", "z"))
	if text, err := look(t, c, hub.Viewer{Group: "g"}).List(protocol.Legacy, hub.ListTools, cursor); err != nil || !strings.Contains(string(text), `"a__x1000"`) {
		t.Errorf("after a change: %.80s, %v", text, err)
	}
}

// However many views there are, a bounded number of them is kept; any is there
// for who asks.
func TestManyViews(t *testing.T) {
	c := three(t, nil)
	var groups []hub.Group
	for i := range 200 {
		groups = append(groups, hub.Group{Name: fmt.Sprint(i), Servers: []string{"a"}})
	}
	c.SetViews(groups, nil)
	first := look(t, c, hub.Viewer{Group: "0"})
	for _, g := range groups {
		look(t, c, hub.Viewer{Group: g.Name})
		if look(t, c, hub.Viewer{Group: "0"}) != first {
			t.Fatal("a view that is in use was not kept")
		}
	}
	second := look(t, c, hub.Viewer{Group: "1"})
	for _, g := range groups[2:] {
		look(t, c, hub.Viewer{Group: g.Name})
	}
	if look(t, c, hub.Viewer{Group: "1"}) == second {
		t.Error("all views are kept")
	}
}

func TestConcurrentViews(t *testing.T) {
	c := three(t, nil)
	group(c, hub.Group{Servers: []string{"a"}}, hub.Profile{Client: "capped", MaxTools: 1})
	viewers := []hub.Viewer{{}, {Group: "g"}, {Client: "capped"}, {Group: "g", Client: "capped"}}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 200 {
				v := look(t, c, viewers[(i+n)%len(viewers)])
				if len(listed(t, v, hub.ListTools)) == 0 || len(v.Find("x", 5)) == 0 {
					t.Error("a view of nothing")
				}
			}
		})
	}
	for n := range 50 {
		c.Replace(server("a"), offer(t, "x", fmt.Sprint("y", n)))
	}
	all.Wait()

	// Of many who ask at once all get the same.
	c.Replace(server("a"), offer(t, "x", "last"))
	got := make([]*catalog.View, 16)
	for i := range got {
		all.Go(func() { got[i] = look(t, c, hub.Viewer{Group: "g"}) })
	}
	all.Wait()
	for _, v := range got {
		if v != got[0] {
			t.Error("the view was made several times")
		}
	}
}

func TestInstructionsAreBounded(t *testing.T) {
	c := three(t, nil)
	big := offer(t, "x")
	big.Instructions = strings.Repeat("说明 ", 5000)
	c.Replace(server("a"), big)
	c.Replace(server("b"), big)
	for _, description := range []string{"", "What it is for.", strings.Repeat("é", 10000)} {
		group(c, hub.Group{Description: description, Servers: []string{"a", "b"}, Tools: []string{"c__x"}})
		text := look(t, c, hub.Viewer{Group: "g"}).Instructions()
		if len(text) > 8<<10 || len(text) < 8<<10-16 || strings.ToValidUTF8(text, "") != text {
			t.Errorf("%.20q: %d bytes", description, len(text))
		}
		if len(description) < 100 && (!strings.HasPrefix(text, description) || !strings.HasSuffix(text, "# c\nUse c well.") && !strings.HasSuffix(text, "…") || strings.Count(text, "# ") != 3) {
			t.Errorf("%q: the text is %.60q ... %q", description, text, text[len(text)-40:])
		}
	}
	group(c, hub.Group{Servers: []string{"nobody"}})
	if text := look(t, c, hub.Viewer{Group: "g"}).Instructions(); text != "" {
		t.Errorf("of nothing: %q", text)
	}
}

func BenchmarkView(b *testing.B) {
	c := three(b, nil)
	group(c, hub.Group{Servers: []string{"a"}}, hub.Profile{Client: "cursor*"})
	for name, v := range map[string]hub.Viewer{"plain": {Client: "other"}, "group": {Group: "g", Client: "Cursor 1.2"}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				look(b, c, v).Tool("a__x")
			}
		})
	}
}
