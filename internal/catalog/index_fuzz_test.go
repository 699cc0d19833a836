package catalog

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// FuzzIndex reads any bytes as an index. What is accepted must come back the
// same from an index that is written with it.
func FuzzIndex(f *testing.F) {
	good := `{"version":1,"servers":{"a":{"identity":"sha256:00","listedAt":"2026-11-21T09:30:00Z","instructions":"\ud800","tools":[{"name":"x"}, {"name" : "y" }]},"":{"identity":"","listedAt":"9999-12-31T23:59:59.5-23:59","instructions":"","tools":[]}}}`
	more := strings.Replace(good, `"tools":[]`, `"capabilities":{"tools":{}, "x":[ 1.0]},"tools":[],"resources":[ {"uri":"x"},{"uri":"toolcrib:///x"}],"templates":[{"uriTemplate":"{+x}"}],"prompts":[{"name":"a.b"}]`, 1)
	for _, text := range []string{
		more, strings.Replace(more, `{"uri":"x"}`, `{"uri":""}`, 1), strings.Replace(more, `"tools":{}`, `"tools":1`, 1),
		strings.Replace(more, `"prompts":[`, `"prompts":null,"x":[`, 1),
		good, good[:60], "", "null", "[]", `{"version":1}`, `{"version":1,"servers":{}}`,
		strings.Replace(good, "1", "2", 1),
		strings.ReplaceAll(good, ",", "\r\n , "),
		strings.Replace(good, `"x"`, `"x","inputSchema":{"x-mcp-header":1}`, 1),
		strings.Replace(good, `"a"`, `""`, 1),
		strings.Replace(good, `"tools":[]`, `"tools":[[]]`, 1),
		strings.Repeat(`{"servers":`, 2000),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := decodeIndex(text)
		if err != nil {
			return
		}
		var parts []*part
		for key, s := range all {
			p := &part{server: hub.Server{Key: key, Enabled: true}, identity: s.identity, offering: s.offering}
			p.prepare()
			parts = append(parts, p)
		}
		s := assemble(parts)
		for _, e := range s.Entries() {
			if !plainRule.fits(e.Exposed) {
				t.Fatalf("exposed as %q", e.Exposed)
			}
		}
		for _, e := range s.Resources() {
			if place, ok := s.Resource(e.URI, nil); !ok || place.Server.Key != e.Server || place.URI != e.Own {
				t.Fatalf("%q of %q is found as %q of %q", e.URI, e.Server, place.URI, place.Server.Key)
			}
			if place, ok := s.Resource(Prefixed(e.Server, e.Own), nil); !ok || place.Server.Key != e.Server || place.URI != e.Own {
				t.Fatalf("the prefixed form of %q of %q is %q of %q", e.Own, e.Server, place.URI, place.Server.Key)
			}
		}
		again, err := decodeIndex(encodeIndex(parts))
		if err != nil {
			t.Fatalf("the index it makes is refused: %v", err)
		}
		same := func(a, b saved) bool {
			return a.identity == b.identity && a.offering.same(b.offering) &&
				a.offering.listedAt.Truncate(time.Second).Equal(b.offering.listedAt) &&
				slices.EqualFunc(a.offering.Tools, b.offering.Tools, func(a, b hub.Tool) bool { return cmp.Equal(a, b) })
		}
		if !maps.EqualFunc(all, again, same) {
			t.Fatalf("%d servers in, and not the same out", len(all))
		}
	})
}

// Lists that another version of the program has saved count as well: what a
// definition is known by stays the same.
func TestIdentityIsForGood(t *testing.T) {
	for want, s := range map[string]hub.Server{
		"sha256:e080c534afb1327e08f0ff420afa80fcfdd3bd9259aa84b72f60e8fd80d6b584": {
			Kind: hub.KindStdio, Command: "npx", Args: []string{"-y", "server"}, Env: map[string]string{"B": "1", "A": "2"}, Dir: "/srv",
		},
		"sha256:c653b645a6491661e02ab695760ad42b082b9dd7ce0151f195326d7396e6d7dd": {
			Kind: hub.KindHTTP, URL: "https://example.com/mcp",
		},
	} {
		if got := identify(s); got != want {
			t.Errorf("%s: got %s, want %s", s.Kind, got, want)
		}
	}
}
