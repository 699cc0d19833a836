package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// lists makes lists of all kinds, with small descriptions, of what is named
// "tool x", "resource x", "template x" or "prompt x".
func lists(named ...string) hub.Lists {
	l := hub.Lists{Asked: hub.ListAll}
	for _, n := range named {
		kind, name, _ := strings.Cut(n, " ")
		text, _ := json.Marshal(name)
		switch kind {
		case "tool":
			l.Tools = append(l.Tools, fmt.Appendf(nil, `{"name":%s,"inputSchema":{"type":"object"}}`, text))
		case "resource":
			l.Resources = append(l.Resources, fmt.Appendf(nil, `{"uri":%s,"name":"n"}`, text))
		case "template":
			l.Templates = append(l.Templates, fmt.Appendf(nil, `{"uriTemplate":%s,"name":"n"}`, text))
		case "prompt":
			l.Prompts = append(l.Prompts, fmt.Appendf(nil, `{"name":%s}`, text))
		default:
			panic(n)
		}
	}
	return l
}

func wantShown(t *testing.T, c *catalog.Catalog, which hub.ListSet, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), listed(t, c, which)); diff != "" {
		t.Errorf("%s: %s", which, diff)
	}
}

// Every byte but those of a URI that is not the server's own stays.
func TestResourceText(t *testing.T) {
	c := open(t, catalog.Options{})
	a, b := server("a"), server("b")
	b.PrefixURIs = true
	c.SetServers([]hub.Server{a, b})
	const resource = "{ \"u\\u0072i\" :\t\"x:\\/\\u0041\", \"size\":1.0e3,\"uriTemplate\":\"{y}\" ,\"\":{} }"
	const template = "{\"uri\":\"y\",\"uriTemplate\" : \"x:\\u002f{z}\"}"
	const prompt = "{ \"arguments\":[{\"name\":\"n\"}],\"name\":\"p\\u0071\" }"
	l := hub.Lists{Asked: hub.ListAll, Resources: [][]byte{[]byte(" " + resource + "\n")}, Templates: [][]byte{[]byte(template)}, Prompts: [][]byte{[]byte(prompt)}}
	c.Listed(a, l)
	c.Listed(b, l)
	const modern = `,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`
	for which, want := range map[hub.ListSet]string{
		hub.ListTools: `{"tools":[]`,
		hub.ListResources: `{"resources":[` + resource + `,` +
			strings.Replace(resource, `"x:\/\u0041"`, `"toolcrib://b/x:/A"`, 1) + `]`,
		hub.ListTemplates: `{"resourceTemplates":[` + template + `,` +
			strings.Replace(template, `"x:\u002f{z}"`, `"toolcrib://b/x:/{z}"`, 1) + `]`,
		hub.ListPrompts: `{"prompts":[` + strings.Replace(prompt, `"p\u0071"`, `"a__pq"`, 1) + `,` +
			strings.Replace(prompt, `"p\u0071"`, `"b__pq"`, 1) + `]`,
	} {
		for era, end := range map[protocol.Era]string{protocol.Legacy: "}", protocol.Modern: modern} {
			got, err := c.List(era, which, "")
			if err != nil || string(got) != want+end {
				t.Errorf("%s: got  %s, %v\nwant %s", which, got, err, want+end)
			}
		}
	}
}

// Where a URI leads: what the answer is for each is KEY URI, with "~" before it
// if the caller is answered in the prefixed form.
func TestResourceLookup(t *testing.T) {
	servers := []hub.Server{server("first"), server("second"), server("apart"), server("off")}
	for i := range servers {
		servers[i].Order = i
	}
	servers[1].Priority = 1 // is listed first, and gets no URI by that
	servers[2].PrefixURIs = true
	servers[3].Enabled = false
	var log record
	c := open(t, catalog.Options{Log: log.logger()})
	c.SetServers(servers)
	c.Listed(servers[1], lists("resource both", "resource 2", "resource toolcrib://first/x", "resource toolcrib://unknown/x",
		"template t/{x}", "template u/{x}/{y}", "template u/{+x}/long"))
	c.Listed(servers[0], lists("resource both", "resource 1", "template t/{x}", "template u/{x}"))
	c.Listed(servers[2], lists("resource both", "resource 3", "template 3/{x}", "template u/{x}"))
	c.Listed(servers[3], lists("resource 4", "template 4/{x}"))

	wantShown(t, c, hub.ListResources, "toolcrib://second/both", "2", "toolcrib://second/toolcrib://first/x", "toolcrib://unknown/x",
		"both", "1", "toolcrib://apart/both", "toolcrib://apart/3")
	wantShown(t, c, hub.ListTemplates, "toolcrib://second/t/{x}", "u/{x}/{y}", "u/{+x}/long", "t/{x}", "u/{x}",
		"toolcrib://apart/3/{x}", "toolcrib://apart/u/{x}")
	s := c.Snapshot()
	if diff := cmp.Diff([]string{"both", "toolcrib://first/x", "t/{x}"}, s.Clashes("second")); diff != "" {
		t.Error(diff)
	}
	if len(s.Clashes("first")) > 0 || len(s.Clashes("apart")) > 0 {
		t.Error("servers that have their way clash")
	}
	if log.lines("server=second resources=1") != 1 || log.lines("server=second resources=3") != 1 || log.lines("key before") != 2 {
		t.Errorf("the log is\n%s", log.text.String())
	}

	show := func(p catalog.Place, ok bool) string {
		if !ok {
			return ""
		}
		if p.Prefixed {
			return "~" + p.Server.Key + " " + p.URI
		}
		return p.Server.Key + " " + p.URI
	}
	notFirst := func(server string) bool { return server != "first" }
	for _, tt := range []struct{ uri, all, group string }{
		{"both", "first both", "second both"},
		{"1", "first 1", ""},
		{"2", "second 2", "second 2"},
		{"3", "apart 3", "apart 3"}, // as its results may name it
		{"4", "", ""},
		{"toolcrib://first/both", "~first both", ""},
		{"toolcrib://second/both", "~second both", "~second both"},
		{"toolcrib://apart/3", "~apart 3", "~apart 3"},
		{"toolcrib://second/unlisted", "~second unlisted", "~second unlisted"},
		{"toolcrib://off/4", "", ""},
		{"toolcrib://first/x", "~first x", ""},
		{"toolcrib://second/toolcrib://first/x", "~second toolcrib://first/x", "~second toolcrib://first/x"},
		{"toolcrib://unknown/x", "second toolcrib://unknown/x", "second toolcrib://unknown/x"},
		{"toolcrib://unknown/y", "", ""},
		{"t/1", "first t/1", "second t/1"},
		{"u/1", "first u/1", "apart u/1"},
		{"u/1/2", "second u/1/2", "second u/1/2"},
		{"u/1/long", "second u/1/long", "second u/1/long"},
		{"3/1", "apart 3/1", "apart 3/1"},
		{"toolcrib://apart/3/1", "~apart 3/1", "~apart 3/1"},
		{"4/1", "", ""},
		{"", "", ""},
	} {
		if got := show(s.Resource(tt.uri, nil)); got != tt.all {
			t.Errorf("%q is %q, want %q", tt.uri, got, tt.all)
		}
		if got := show(s.Resource(tt.uri, notFirst)); got != tt.group {
			t.Errorf("%q is %q in a group, want %q", tt.uri, got, tt.group)
		}
	}
	for _, tt := range []struct{ uri, all, group string }{
		{"t/{x}", "first t/{x}", "second t/{x}"},
		{"3/{x}", "apart 3/{x}", "apart 3/{x}"},
		{"toolcrib://apart/3/{x}", "~apart 3/{x}", "~apart 3/{x}"},
		{"t/1", "", ""},
		{"both", "", ""},
	} {
		if got := show(s.Template(tt.uri, nil)); got != tt.all {
			t.Errorf("%q is %q, want %q", tt.uri, got, tt.all)
		}
		if got := show(s.Template(tt.uri, notFirst)); got != tt.group {
			t.Errorf("%q is %q in a group, want %q", tt.uri, got, tt.group)
		}
	}

	// It is told again when something else clashes, and when all is well not at all.
	c.Listed(servers[0], lists("resource both"))
	c.Listed(servers[1], lists("tool x"))
	if n := log.lines("key before"); n != 3 {
		t.Errorf("%d lines in the log:\n%s", n, log.text.String())
	}
}

// Prompts have the names that tools would have, and do not get in their way.
func TestPrompts(t *testing.T) {
	c := open(t, catalog.Options{})
	a, b := server("a"), server("b")
	a.Order, b.Order, b.Priority, b.BareNames = 0, 1, 1, true
	c.SetServers([]hub.Server{a, b})
	c.Listed(a, lists("tool x", "prompt x", "prompt a.b", "prompt b__y"))
	c.Listed(b, lists("tool x", "prompt x", "prompt a__x", "prompt y"))
	// What is listed first has the name; the other keeps away from it.
	wantShown(t, c, hub.ListPrompts, "x", "a__x", "y", "a__x"+suffix("a", "x"), "a__a_b"+suffix("a", "a.b"), "a__b__y")
	wantShown(t, c, hub.ListTools, "x", "a__x")
	s, v := c.Snapshot(), look(t, c, hub.Viewer{})
	for name, want := range map[string]string{
		"x": "b x", "y": "b y", "b__x": "b x", "b__y": "b y", "a__b__y": "a b__y", "a.b": "a a.b", "a__a.b": "a a.b", "a__x": "b a__x",
		"a__x" + suffix("a", "x"): "a x", "z": "", "": "", "a__y": "",
	} {
		got := ""
		if e, ok := v.Prompt(name); ok {
			got = e.Server.Key + " " + e.Prompt.Name
		}
		if got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	if _, ok := s.Resolve("y"); ok {
		t.Error("a prompt is a tool")
	}
	if e, ok := s.Resolve("a__x"); !ok || e.Server.Key != "a" {
		t.Error("a prompt has taken the name of a tool")
	}
}

// Lists that were not asked for stay, and so does what is said of the others.
func TestListedByAsked(t *testing.T) {
	var b bus.Bus
	sub := b.Subscribe(10)
	defer sub.Close()
	c := open(t, catalog.Options{Bus: &b})
	a := server("a")
	c.SetServers([]hub.Server{a})
	step := func(what string, asked hub.ListSet, l hub.Lists, want ...hub.Event) {
		t.Helper()
		l.Asked = asked
		c.Listed(a, l)
		var got []hub.Event
		for more := true; more; {
			select {
			case e := <-sub.C():
				if _, ok := e.(hub.ToolsChanged); ok {
					e = hub.ToolsChanged{}
				}
				got = append(got, e)
			default:
				more = false
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	everything := lists("tool x", "resource r", "template t{x}", "prompt p")
	step("resources of a server that is not known", hub.ListResources|hub.ListTemplates, everything)
	if c.Known(a) || c.Snapshot().Listed("a") {
		t.Error("a server is known without its tools")
	}
	step("all", hub.ListAll, everything, hub.ToolsChanged{}, hub.ResourcesChanged{}, hub.PromptsChanged{})
	step("all again", hub.ListAll, everything)
	step("no prompts", hub.ListPrompts, hub.Lists{}, hub.PromptsChanged{})
	step("prompts", hub.ListPrompts, everything, hub.PromptsChanged{})
	step("other resources", hub.ListResources|hub.ListTemplates, lists("resource s", "template t{x}"), hub.ResourcesChanged{})
	step("other templates", hub.ListResources|hub.ListTemplates, lists("resource s", "template u{x}"), hub.ResourcesChanged{})
	step("other tools", hub.ListTools, lists("tool y"), hub.ToolsChanged{})
	wantShown(t, c, hub.ListTools, "a__y")
	wantShown(t, c, hub.ListResources, "s")
	wantShown(t, c, hub.ListTemplates, "u{x}")
	wantShown(t, c, hub.ListPrompts, "a__p")

	// A list that nobody waits for yet is completed as well.
	early := server("early")
	c.Listed(early, lists("tool x"))
	part := lists("prompt p")
	part.Asked = hub.ListPrompts
	c.Listed(early, part)
	c.SetServers([]hub.Server{a, early})
	wantShown(t, c, hub.ListTools, "a__y", "early__x")
	wantShown(t, c, hub.ListPrompts, "a__p", "early__p")

	// Neither list is shown of a server that is withheld or not enabled.
	off := early
	off.Enabled = false
	c.SetServers([]hub.Server{a, off})
	c.Withhold("a", true)
	for _, which := range []hub.ListSet{hub.ListTools, hub.ListResources, hub.ListTemplates, hub.ListPrompts} {
		wantShown(t, c, which)
	}
	if _, ok := c.Snapshot().Resource("s", nil); ok {
		t.Error("a resource of a server that is withheld is found")
	}
	if got := c.Snapshot().Capabilities(); got != (protocol.Capabilities{}) {
		t.Errorf("nobody's capabilities are %+v", got)
	}
	c.Withhold("a", false)
	wantShown(t, c, hub.ListResources, "s")
}

// Rules and pins are about tools.
func TestRulesLeaveOthersAlone(t *testing.T) {
	c := open(t, catalog.Options{})
	a := server("a")
	a.Pinned = true
	a.Rules = hub.ToolRules{Deny: []string{"*"}}
	c.SetServers([]hub.Server{a})
	c.Listed(a, lists("tool x", "prompt p", "resource r"))
	c.Listed(a, lists("tool y", "prompt q", "resource s"))
	wantShown(t, c, hub.ListTools)
	wantShown(t, c, hub.ListPrompts, "a__q")
	wantShown(t, c, hub.ListResources, "s")
}

func TestShares(t *testing.T) {
	c := open(t, catalog.Options{})
	a, b, old := server("a"), server("b"), server("old")
	b.Priority, b.Order = 1, 1
	c.SetServers([]hub.Server{a, b, old, server("unknown")})
	l := lists("tool x", "resource r", "resource r2", "template t", "prompt p")
	l.Capabilities, l.Instructions = []byte(`{"tools":{"listChanged":true},"resources":{"subscribe":true},"completions":{}}`), "Be brief."
	c.Listed(a, l)
	l = lists("resource r")
	l.Capabilities = []byte(`{"resources":{"listChanged":true},"logging":{}}`)
	c.Listed(b, l)
	c.Listed(old, lists("prompt p"))
	s := c.Snapshot()
	want := protocol.Capabilities{Resources: true, ResourcesListChanged: true, Logging: true}
	if share, ok := s.Share("b"); !ok || share.Capabilities != want || share != s.Shares()[0] || share.Resources[0].URI != "toolcrib://b/r" {
		t.Errorf("b is %+v", share)
	}
	share, ok := s.Share("a")
	if !ok || share.Server.Key != "a" || share.Instructions != "Be brief." || !share.Capabilities.Subscribe || share.Capabilities.Logging {
		t.Errorf("a is %+v", share)
	}
	if len(share.Tools) != 1 || len(share.Resources) != 2 || len(share.Templates) != 1 || len(share.Prompts) != 1 || share.Resources[0].Own != "r" {
		t.Errorf("a is %+v", share)
	}
	if share, _ := s.Share("old"); share.Capabilities != (protocol.Capabilities{Prompts: true}) {
		t.Errorf("of a server that did not say it: %+v", share.Capabilities)
	}
	if _, ok := s.Share("unknown"); ok || len(s.Shares()) != 3 {
		t.Error("a server of which nothing is known has a share")
	}
	want = protocol.Capabilities{
		Tools: true, ToolsListChanged: true, Resources: true, ResourcesListChanged: true, Subscribe: true,
		Prompts: true, Completions: true, Logging: true,
	}
	if got := s.Capabilities(); got != want {
		t.Errorf("together %+v", got)
	}
}

// Each list has pages of its own, and a cursor leads on in that list only.
func TestCursorsOfLists(t *testing.T) {
	c := open(t, catalog.Options{})
	a := server("a")
	c.SetServers([]hub.Server{a})
	var all []string
	for _, kind := range []string{"tool", "resource", "template", "prompt"} {
		all = append(all, names(kind+" n", 1500)...)
	}
	c.Listed(a, lists(all...))
	which := []hub.ListSet{hub.ListTools, hub.ListResources, hub.ListTemplates, hub.ListPrompts}
	cursors := make(map[hub.ListSet]string)
	for _, w := range which {
		if n := len(listed(t, c, w)); n != 1500 {
			t.Errorf("%s: %d", w, n)
		}
		var page struct{ NextCursor string }
		if text, err := c.List(protocol.Modern, w, ""); err != nil {
			t.Fatal(err)
		} else if err := json.Unmarshal(text, &page); err != nil {
			t.Fatal(err)
		}
		cursors[w] = page.NextCursor
	}
	for _, w := range which {
		for of, cursor := range cursors {
			_, err := c.List(protocol.Legacy, w, cursor)
			if of == w && err != nil || of != w && !hub.IsCode(err, message.CursorUnknown) {
				t.Errorf("a cursor of %s in %s: %v", of, w, err)
			}
		}
	}
	// Changes of one list do not age the cursors of another.
	for i := range 20 {
		l := lists(fmt.Sprint("prompt p", i))
		l.Asked = hub.ListPrompts
		c.Listed(a, l)
	}
	if _, err := c.List(protocol.Legacy, hub.ListResources, cursors[hub.ListResources]); err != nil {
		t.Error(err)
	}
	if _, err := c.List(protocol.Legacy, hub.ListPrompts, cursors[hub.ListPrompts]); !hub.IsCode(err, message.CursorUnknown) {
		t.Errorf("after 20 changes: error %v", err)
	}
}
