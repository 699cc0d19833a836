package conformance

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

var update = flag.Bool("update", false, "write the table of the documents anew")

// table is what the runs came to, direct and through the hub, for the documents.
type table struct {
	mu   sync.Mutex
	rows map[string]map[string]row // by run and scenario
}

type row struct{ direct, through string }

func (t *table) add(run string, direct, through map[string]scenario) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows == nil {
		t.rows = make(map[string]map[string]row)
	}
	t.rows[run] = make(map[string]row)
	for name, s := range through {
		t.rows[run][name] = row{direct[name].verdict(), s.verdict()}
	}
}

// verdict is what the suite says of a scenario.
func (s scenario) verdict() string {
	switch {
	case s.failed > 0:
		return "fails"
	case len(s.faults) > 0:
		return "warning"
	case s.passed == 0:
		return "nothing checked"
	}
	return "passes"
}

// String is the table as it stands in the documents.
func (t *table) String() string {
	var b strings.Builder
	for _, run := range slices.Sorted(maps.Keys(t.rows)) {
		rows := t.rows[run]
		count := func(of func(row) string) (n int) {
			for _, r := range rows {
				if of(r) == "passes" {
					n++
				}
			}
			return n
		}
		b.WriteString("\n### " + run + "\n\n| scenario | direct | through Toolcrib |\n|---|---|---|\n")
		for _, name := range slices.Sorted(maps.Keys(rows)) {
			b.WriteString("| " + name + " | " + rows[name].direct + " | " + rows[name].through + " |\n")
		}
		total := len(rows)
		b.WriteString("| **passed** | **" + of(count(func(r row) string { return r.direct }), total) + "** | **" +
			of(count(func(r row) string { return r.through }), total) + "** |\n")
	}
	return b.String() + "\n"
}

func of(n, total int) string { return strconv.Itoa(n) + " of " + strconv.Itoa(total) }

// Where the table stands in the documents.
const (
	tableBegin = "<!-- generated: go test ./test/conformance -update -->\n"
	tableEnd   = "<!-- end -->\n"
)

// compare fails if the documents say something else, or writes them.
func (t *table) compare(tb testing.TB) {
	tb.Helper()
	if tb.Failed() || len(t.rows) != len(runs()) {
		return // it is incomplete, and something else is to be mended first
	}
	for _, name := range []string{"conformance.md", "conformance.zh-CN.md"} {
		path := filepath.Join(rig.Root(), "docs", name)
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		before, rest, begun := strings.Cut(string(text), tableBegin)
		old, after, ended := strings.Cut(rest, tableEnd)
		switch {
		case !begun || !ended:
			tb.Errorf("%s has no place for the table", name)
		case old == t.String():
		case *update:
			if err := os.WriteFile(path, []byte(before+tableBegin+t.String()+tableEnd+after), 0o600); err != nil {
				tb.Fatal(err)
			}
		default:
			tb.Errorf("%s is not what came out; if it should be: go test ./test/conformance -update", name)
		}
	}
}
