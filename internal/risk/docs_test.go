package risk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Each word by which the documentation says what a call of a risk may do stands at the
// risk that it has where it is the name of a tool, and at no other one.
func TestWordsOfTheDocumentation(t *testing.T) {
	words := map[hub.Risk]string{
		hub.RiskLow:      "get read describe show",
		hub.RiskMedium:   "list search query fetch download generate convert translate build test",
		hub.RiskHigh:     "write update create add send install close restart",
		hub.RiskCritical: "delete destroy",
	}
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "policy.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[hub.Risk]string)
	for line := range strings.Lines(string(raw)) {
		for _, r := range hub.Risks {
			if row, ok := strings.CutPrefix(line, "| `"+r.String()+"` |"); ok && rows[r] == "" {
				// What is said of command lines is not about names.
				name, _, _ := strings.Cut(row, "in a command line")
				rows[r] = " " + strings.Join(strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune(" ,;:|()\n", c) }), " ") + " "
			}
		}
	}
	for risk, list := range words {
		for word := range strings.FieldsSeq(list) {
			if got := named(word).risk; got != risk {
				t.Errorf("%s is %s, and not %s", word, got, risk)
			}
			for r, row := range rows {
				if strings.Contains(row, " "+word+" ") != (r == risk) {
					t.Errorf("%s: at %s stands\n%s", word, r, row)
				}
			}
		}
	}
}
