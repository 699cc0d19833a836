package call

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// The log says no more of a URI than anybody may read.
func TestLabel(t *testing.T) {
	for own, want := range map[string]string{
		"tool": "tool", "mem:a": "mem:a", "a@b": "a@b", "x://host/p@q": "x://host/p@q", "mem:a?token=s3cr3t": "mem:a",
		"pg://ann:s3cr3t@host/db?x": "pg://host/db", "pg://ann:s3cr3t@host": "pg://host/", "x://h/#s3cr3t": "x://h/", "x://a@s3cr3t@h/p": "x://h/p",
	} {
		if got := (&run{own: own}).label(); got != want {
			t.Errorf("%s: got %s, want %s", own, got, want)
		}
	}
}

// A name that has parts without end is not taken for that of many servers.
func TestPrefixes(t *testing.T) {
	longest := strings.Repeat("𠀀", 128)
	for name, want := range map[string][]string{
		"": nil, "x": nil, "a__x": {"a"}, "a__b__x": {"a", "a__b"}, "a___x": {"a", "a_"}, "__x": {""},
		longest + "__x": {longest},
	} {
		if got := slices.Collect(prefixes(name)); !slices.Equal(got, want) {
			t.Errorf("%.20q: got %.20q", name, got)
		}
	}
	if n := len(slices.Collect(prefixes(strings.Repeat("_", 1<<20)))); n > maxKey+1 {
		t.Errorf("%d parts", n)
	}
}

// A call by the name of a pool of which no server has given its list yet waits for
// one that does.
func TestPoolBeforeTheFirstList(t *testing.T) {
	for name, want := range map[string]message.Code{"search__x": "", "a__x": "", "b__x": "", "search__y": message.ToolUnknown} {
		synctest.Test(t, func(t *testing.T) {
			a, b := builtin("a"), builtin("b")
			a.Pool, b.Pool = "search", "search"
			c := newCrib(t, map[string]func(p *peer){"a": offers(3*time.Second, "x"), "b": offers(time.Second, "x")}, a, b)
			synctest.Wait()
			if _, err := c.do(t.Context(), `"`+name+`"`); want == "" && err != nil || want != "" && !hub.IsCode(err, want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		})
	}
}
