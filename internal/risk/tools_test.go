package risk_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/risk"
)

// labelled is a tool of which its author, or who labelled it, says what it does.
type labelled struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	Label       string          `json:"label"` // read, write or destructive
}

// rate is the risk of a tool with its annotations hidden.
func (l labelled) rate(t testing.TB) hub.Risk {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"name": l.Name, "description": l.Description, "inputSchema": l.InputSchema})
	if err != nil {
		t.Fatal(err)
	}
	return risk.Describe(risk.Description{Server: "test", Name: l.Name, Raw: raw}).Risk()
}

// tally is how the tools of a file were rated.
type tally struct {
	counts                        map[string]*[4]int // by label and risk
	destructive, low, read, alarm int
}

// rateFile rates all tools of a file.
func rateFile(t *testing.T, path string) tally {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := tally{counts: make(map[string]*[4]int)}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var tool labelled
		if err := json.Unmarshal(lines.Bytes(), &tool); err != nil {
			t.Fatal(err)
		}
		got := tool.rate(t)
		if all.counts[tool.Label] == nil {
			all.counts[tool.Label] = new([4]int)
		}
		all.counts[tool.Label][got]++
		switch {
		case tool.Label == "destructive":
			all.destructive++
			if got == hub.RiskLow {
				all.low++
			}
			if got < hub.RiskHigh {
				t.Logf("destructive, rated %s: %s", got, tool.Name)
			}
		case tool.Label == "write" && got < hub.RiskHigh:
			t.Logf("write, rated %s: %s", got, tool.Name)
		case tool.Label == "read":
			all.read++
			if got >= hub.RiskHigh {
				all.alarm++
				t.Logf("read, rated %s: %s", got, tool.Name)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// Tools are rated without their annotations: of 99 that are destructive at most 2 are
// rated low, and of 167 that read at most 15 high or critical. That holds of those that
// were labelled here, and of those of public servers, which their authors have
// labelled. TOOLCRIB_RISK_TOOLS names another file of the same shape.
func TestToolsWithoutAnnotations(t *testing.T) {
	const annotated = "testdata/tools-annotated.jsonl"
	paths := []string{"testdata/tools.jsonl", annotated}
	if path := os.Getenv("TOOLCRIB_RISK_TOOLS"); path != "" {
		paths = []string{path}
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			all := rateFile(t, path)
			for label, n := range all.counts {
				t.Logf("%-11s low %d, medium %d, high %d, critical %d", label, n[0], n[1], n[2], n[3])
			}
			if all.destructive == 0 || all.read == 0 || path == annotated && (all.destructive != 99 || all.read != 167) {
				t.Fatalf("there are %d destructive tools and %d that read", all.destructive, all.read)
			}
			if all.low*99 > 2*all.destructive {
				t.Errorf("%d of %d destructive tools are rated low", all.low, all.destructive)
			}
			if all.alarm*167 > 15*all.read {
				t.Errorf("%d of %d tools that read are rated high or critical", all.alarm, all.read)
			}
		})
	}
}
