package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// A bad tool costs its server that tool and no other.
func TestAccept(t *testing.T) {
	annotated := `{"name":"annotated","inputSchema":{"type":"object","x-mcp-header":"P"}}`
	raw := [][]byte{
		[]byte(`{"name":"first","inputSchema":{"type":"object"}}`), []byte(annotated), []byte(`{"title":"nameless"}`), []byte(`7`),
		[]byte(`{"name":"bare"}`), []byte(`{"name":"loose","inputSchema":{"type":["object"]}}`),
		[]byte(`{"name":"last","inputSchema":{"ty\u0070e":"object"}}`),
	}
	for kind, want := range map[hub.Kind][]string{
		hub.KindStdio:   {"first", "annotated", "last"},
		hub.KindBuiltin: {"first", "annotated", "last"},
		hub.KindHTTP:    {"first", "last"},
	} {
		var log record
		o := catalog.Accept(hub.Server{Key: "a", Kind: kind}, raw, log.logger())
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
	if o := catalog.Accept(server("a"), nil, (&record{}).logger()); o.Tools == nil || len(o.Tools) != 0 {
		t.Errorf("no tools are %v", o.Tools)
	}
	var log record
	long := `{"name":"` + strings.Repeat("x", 1<<20) + `","inputSchema":{"type":"object","x-mcp-header":"P"}}`
	catalog.Accept(hub.Server{Key: "a", Kind: hub.KindHTTP}, [][]byte{[]byte(long)}, log.logger())
	if n := log.text.Len(); n > 2000 {
		t.Errorf("%d bytes in the log", n)
	}
}
