package catalog

import (
	"strings"
	"testing"
)

func TestPattern(t *testing.T) {
	for _, tt := range []struct {
		template string
		yes, no  []string
	}{
		{"file:///a.txt", []string{"file:///a.txt"}, []string{"file:///a_txt", "file:///a.txt/", "", "xfile:///a.txt"}},
		{"test://template/{id}/data", []string{"test://template/1/data", "test://template/a%2Fb/data", "test://template/天/data"}, []string{
			"test://template//data", "test://template/a/b/data", "test://template/1/data?x", "test://template/1/dat", "test://template/1?/data",
		}},
		{"file:///{+path}", []string{"file:///a/b.txt", "file:///a?b#c", "file:///a\nb"}, []string{"file:///", "file://a"}},
		{"x://{a}-{b}", []string{"x://1-2", "x://1-2-3"}, []string{"x://-", "x://1", "x://1/2-3"}},
		{"x://{a,b}", []string{"x://1,2", "x://1"}, []string{"x://"}},
		{"x://h{/a,b}", []string{"x://h/1/2", "x://h/1", "x://h"}, []string{"x://h1", "x://h/1?q"}},
		{"x://h{/a*}/end", []string{"x://h/1/2/3/end", "x://h/end"}, []string{"x://h/1/2"}},
		{"x://h{?q,page*}", []string{"x://h", "x://h?q=1&page=2", "x://h?z=/"}, []string{"x://h/1", "x://h&q=1", "x://h?q=1#f"}},
		{"x://h?fixed=1{&more}", []string{"x://h?fixed=1", "x://h?fixed=1&more=2"}, []string{"x://h?fixed=12", "x://h"}},
		{"x://h{#part}", []string{"x://h", "x://h#p/q?r"}, []string{"x://hp"}},
		{"x://h{.ext}", []string{"x://h.txt", "x://h"}, []string{"x://htxt"}},
		{"x://h{;m}", []string{"x://h;m=1", "x://h"}, []string{"x://h?m=1"}},
		{"x://{long:3}", []string{"x://abc"}, []string{"x://a/c"}},
		{"(.*)[a-z]+", []string{"(.*)[a-z]+"}, []string{"x", "(.*)a"}},
		// What is no template fits nothing.
		{"x://{a", nil, []string{"x://1", "x://{a"}},
		{"x://a}", nil, []string{"x://a}"}},
		{"x://{}", nil, []string{"x://", "x://{}"}},
		{"x://{+}", nil, []string{"x://+", "x://"}},
		{"x://{a{b}}", nil, []string{"x://1}", "x://1"}},
		{"x://{=a}", nil, []string{"x://1"}},
		{"x://" + strings.Repeat("{a}", maxVariables+1), nil, []string{"x://" + strings.Repeat("1", maxVariables+1)}},
		{"x://{+a}", []string{"x://" + strings.Repeat("y", maxExpanded-4)}, []string{"x://" + strings.Repeat("y", maxExpanded-3)}},
		{"x://" + strings.Repeat("y", maxTemplate), nil, []string{"x://" + strings.Repeat("y", maxTemplate)}},
	} {
		p := newPattern(tt.template)
		for _, uri := range tt.yes {
			if !p.matches(uri) {
				t.Errorf("%q is no %s", uri, tt.template)
			}
		}
		for _, uri := range tt.no {
			if p.matches(uri) {
				t.Errorf("%q is a %s", uri, tt.template)
			}
		}
	}
}

// Any text may be a template, and a text without braces fits itself only.
func FuzzPattern(f *testing.F) {
	for _, template := range []string{"x://{a}/{+b}{/c,d}{?e*}", "x://a", "{", "}", "{}", "\\E", "(?", "\xff{a}"} {
		f.Add(template, "x://1/2")
	}
	f.Fuzz(func(t *testing.T, template, uri string) {
		p := newPattern(template)
		fits := p.matches(uri)
		if fits && p.variables == 0 && uri != template {
			t.Fatalf("%q is a %q", uri, template)
		}
		if valid := strings.ToValidUTF8(template, ""); valid == template && len(template) <= maxTemplate &&
			!strings.ContainsAny(template, "{}") && !p.matches(template) {
			t.Fatalf("%q is not itself", template)
		}
	})
}
