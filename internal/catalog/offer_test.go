package catalog_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// A bad tool costs its server that tool and no other.
func TestAccept(t *testing.T) {
	annotated := `{"name":"annotated","inputSchema":{"type":"object","x-mcp-header":"P"}}`
	raw := [][]byte{
		[]byte(`{"name":"first","inputSchema":{"type":"object"}}`), []byte(annotated), []byte(`{"title":"nameless"}`), []byte(`7`),
		[]byte(`{"name":"bare"}`), []byte(`{"name":"loose","inputSchema":{"type":["object"]}}`),
		[]byte(`{"name":"numbered","inputSchema":{"type":5}}`), []byte(`{"name":"empty","inputSchema":{"type":""}}`),
		[]byte(`{"name":"last","inputSchema":{"ty\u0070e":"object"}}`),
	}
	for kind, want := range map[hub.Kind][]string{
		hub.KindStdio:   {"first", "annotated", "last"},
		hub.KindBuiltin: {"first", "annotated", "last"},
		hub.KindHTTP:    {"first", "last"},
	} {
		var log record
		o := catalog.Accept(hub.Server{Key: "a", Kind: kind}, hub.Lists{Tools: raw}, log.logger())
		var got []string
		for _, tool := range o.Tools {
			got = append(got, tool.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
		if n := log.lines("a tool is left out"); n != len(raw)-len(want) {
			t.Errorf("%s: %d lines in the log:\n%s", kind, n, log.text.String())
		}
		if kind == hub.KindHTTP && log.lines("tool=annotated") != 1 {
			t.Errorf("the log does not name the tool:\n%s", log.text.String())
		}
	}
	if o := catalog.Accept(server("a"), hub.Lists{}, (&record{}).logger()); o.Tools == nil || len(o.Tools) != 0 {
		t.Errorf("no tools are %v", o.Tools)
	}
	var log record
	long := `{"name":"` + strings.Repeat("x", 1<<20) + `","inputSchema":{"type":"object","x-mcp-header":"P"}}`
	catalog.Accept(hub.Server{Key: "a", Kind: hub.KindHTTP}, hub.Lists{Tools: [][]byte{[]byte(long)}}, log.logger())
	if n := log.text.Len(); n > 2000 {
		t.Errorf("%d bytes in the log", n)
	}
}

// So it is with the other lists.
func TestAcceptOthers(t *testing.T) {
	raw := func(member string) [][]byte {
		var all [][]byte
		for _, text := range []string{
			` {"MEMBER":"first"} `, `{"MEMBER":""}`, `{"MEMBER":1}`, `{"other":"x"}`, `["MEMBER"]`, `null`, ``, `{"MEMBER":"x","MEMBER":"y"}`,
			`{"MEMBER":"x","in":[{"d":1,"\u0064":2}]}`, `{"MEMBER":"x"}{}`, `{"MEMBER":"la\u0073t"}`,
		} {
			all = append(all, []byte(strings.ReplaceAll(text, "MEMBER", member)))
		}
		return all
	}
	var log record
	o := catalog.Accept(server("a"), hub.Lists{
		Resources: raw("uri"), Templates: raw("uriTemplate"), Prompts: raw("name"), Capabilities: []byte(`{"tools":{},"\u0074ools":{}}`),
	}, log.logger())
	want := hub.Offer{
		Tools:     []hub.Tool{},
		Resources: []hub.Resource{{URI: "first", Raw: []byte(`{"uri":"first"}`)}, {URI: "last", Raw: []byte(`{"uri":"la\u0073t"}`)}},
		Templates: []hub.Template{{URI: "first", Raw: []byte(`{"uriTemplate":"first"}`)}, {URI: "last", Raw: []byte(`{"uriTemplate":"la\u0073t"}`)}},
		Prompts:   []hub.Prompt{{Name: "first", Raw: []byte(`{"name":"first"}`)}, {Name: "last", Raw: []byte(`{"name":"la\u0073t"}`)}},
	}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Error(diff)
	}
	for _, kind := range []string{"resource", `"resource template"`, "prompt"} {
		if n := log.lines(`is left out" server=a kind=` + kind + " "); n != 9 {
			t.Errorf("%s: %d lines in the log:\n%s", kind, n, log.text.String())
		}
	}
	if n := log.lines("what a server declared is left out"); n != 1 {
		t.Errorf("the log is\n%s", log.text.String())
	}
	for _, good := range []string{"{}", ` {"tools":{"listChanged":true}, "x":[]} `} {
		if o := catalog.Accept(server("a"), hub.Lists{Capabilities: []byte(good)}, log.logger()); string(o.Capabilities) != strings.TrimSpace(good) {
			t.Errorf("%s became %s", good, o.Capabilities)
		}
	}
}

// Of several with one name the first counts.
func TestDuplicateOthers(t *testing.T) {
	var log record
	c := open(t, catalog.Options{Log: log.logger()})
	c.SetServers([]hub.Server{server("a")})
	c.Listed(server("a"), lists("resource r", "resource s", "resource r", "template t", "template t", "prompt p", "prompt p", "prompt p"))
	wantShown(t, c, hub.ListResources, "r", "s")
	wantShown(t, c, hub.ListTemplates, "t")
	wantShown(t, c, hub.ListPrompts, "a__p")
	for _, line := range []string{"kind=resource name=r dropped=1", `kind="resource template" name=t dropped=1`, "kind=prompt name=p dropped=2"} {
		if log.lines(line) != 1 {
			t.Errorf("no %s in the log:\n%s", line, log.text.String())
		}
	}
}

// FuzzParseOthers reads any bytes as a description. What is accepted has what
// it is known by, and is read the same again.
func FuzzParseOthers(f *testing.F) {
	for _, text := range []string{
		`{"uri":"x","uriTemplate":"{x}","name":"n"}`, ` {"\u0075ri":"\ud800"} `, `{"uri":""}`, `{"name":"x","name":"x"}`, `[]`, `"uri"`, "", "{",
		`{"name":"天","d":[{"a":1,"a":1}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		check := func(member, id string, raw []byte, err error) {
			t.Helper()
			if err != nil {
				if id != "" || raw != nil {
					t.Fatalf("%s of %q with an error", member, text)
				}
				return
			}
			if id == "" || !bytes.Equal(raw, bytes.TrimSpace(text)) {
				t.Fatalf("%s %q in %q", member, id, raw)
			}
			var all map[string]any
			if err := json.Unmarshal(raw, &all); err != nil || all[member] != id {
				t.Fatalf("%s is %q, and %v for others (%v)", member, id, all[member], err)
			}
		}
		r, err := catalog.ParseResource(text)
		check("uri", r.URI, r.Raw, err)
		u, err := catalog.ParseTemplate(text)
		check("uriTemplate", u.URI, u.Raw, err)
		p, err := catalog.ParsePrompt(text)
		check("name", p.Name, p.Raw, err)
	})
}
