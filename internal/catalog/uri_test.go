package catalog_test

import (
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/catalog"
)

func TestPrefixed(t *testing.T) {
	for _, tt := range []struct{ server, uri, want string }{
		{"files", "file:///a b/天.txt?x=1#y", "toolcrib://files/file:///a b/天.txt?x=1#y"},
		{"files", "file:///{path}{?q*}", "toolcrib://files/file:///{path}{?q*}"},
		{"a/b c", "x", "toolcrib://a%2Fb%20c/x"},
		{"天", "/x", "toolcrib://%E5%A4%A9//x"},
		{"{x}", "toolcrib://inner/x", "toolcrib://%7Bx%7D/toolcrib://inner/x"},
	} {
		if got := catalog.Prefixed(tt.server, tt.uri); got != tt.want {
			t.Errorf("%q of %q is %q, want %q", tt.uri, tt.server, got, tt.want)
		}
		if server, own, ok := catalog.Unprefixed(tt.want); !ok || server != tt.server || own != tt.uri {
			t.Errorf("%q is %q of %q, %t", tt.want, own, server, ok)
		}
	}
	for _, no := range []string{
		"", "file:///x", "toolcrib:", "toolcrib://", "toolcrib://files", "TOOLCRIB://files/x",
		"toolcrib://%66iles/x", "toolcrib://a%2fb/x", "toolcrib://%/x", "toolcrib://a b/x",
	} {
		if server, own, ok := catalog.Unprefixed(no); ok {
			t.Errorf("%q is %q of %q", no, own, server)
		}
	}
}

// The prefixed form says which server and which URI, to the byte, and there is
// one only.
func FuzzPrefixed(f *testing.F) {
	f.Add("files", "file:///x")
	f.Add("a/b", "toolcrib://a/b")
	f.Add("", "")
	f.Add("\xff%2F", "{+x}")
	f.Fuzz(func(t *testing.T, server, uri string) {
		prefixed := catalog.Prefixed(server, uri)
		if s, u, ok := catalog.Unprefixed(prefixed); !ok || s != server || u != uri {
			t.Fatalf("%q of %q is %q, and back %q of %q, %t", uri, server, prefixed, u, s, ok)
		}
		if strings.ContainsAny(strings.TrimSuffix(prefixed, uri), "{}") {
			t.Fatalf("%q is another template than %q", prefixed, uri)
		}
		if s, u, ok := catalog.Unprefixed(uri); ok && catalog.Prefixed(s, u) != uri {
			t.Fatalf("%q is %q of %q, of which the form is another", uri, u, s)
		}
	})
}
