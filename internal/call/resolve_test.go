package call

import (
	"slices"
	"strings"
	"testing"
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
