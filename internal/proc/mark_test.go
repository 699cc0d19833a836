package proc

import (
	"slices"
	"testing"
)

func TestMarksIn(t *testing.T) {
	for environ, want := range map[string][]string{
		"":                                    nil,
		"A=b\x00":                             nil,
		"TOOLCRIB_TREE=x\x00A=b\x00":          {"x"},
		"A=b\x00TOOLCRIB_TREE=x:y\x00C=d":     {"x", "y"},
		"A=b\x00TOOLCRIB_TREE=x":              {"x"},
		"A=TOOLCRIB_TREE=x\x00":               nil,
		"MY_TOOLCRIB_TREE=x\x00":              nil,
		"A=TOOLCRIB_TREE=\x00TOOLCRIB_TREE=x": {"x"},
		"TOOLCRIB_TREE=\x00":                  {""},
	} {
		if got := marksIn([]byte(environ)); !slices.Equal(got, want) {
			t.Errorf("%q: %q", environ, got)
		}
	}
}

func TestMarked(t *testing.T) {
	t.Setenv(MarkVariable, "")
	if got := marked([]string{"A=b", MarkVariable + "=mine"}, "x"); !slices.Equal(got, []string{"A=b", MarkVariable + "=x"}) {
		t.Errorf("%q", got)
	}
	// What runs in a tree of another hub belongs to that tree too.
	t.Setenv(MarkVariable, "outer")
	if got := marked(nil, "x"); !slices.Equal(got, []string{MarkVariable + "=outer:x"}) {
		t.Errorf("%q", got)
	}
}

func TestRunOf(t *testing.T) {
	run := randomHex()
	if got := runOf(newMark(run)); got != run {
		t.Errorf("%q is not %q", got, run)
	}
	for _, bad := range []string{"", "-", run, run + "-", run + "-" + run + "0", run + "-../../../../../../", "X" + run[1:] + "-" + run} {
		if got := runOf(bad); got != "" {
			t.Errorf("%q is taken for a mark, of %q", bad, got)
		}
	}
}
