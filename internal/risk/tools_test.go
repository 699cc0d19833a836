package risk_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
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

// Tools are rated without their annotations. By default they are those of
// testdata; TOOLCRIB_RISK_TOOLS names another file of the same shape.
func TestToolsWithoutAnnotations(t *testing.T) {
	path := os.Getenv("TOOLCRIB_RISK_TOOLS")
	if path == "" {
		path = "testdata/tools.jsonl"
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]*[4]int)
	var low, alarms, destructive, reads int
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var tool labelled
		if err := json.Unmarshal(lines.Bytes(), &tool); err != nil {
			t.Fatal(err)
		}
		got := tool.rate(t)
		if counts[tool.Label] == nil {
			counts[tool.Label] = new([4]int)
		}
		counts[tool.Label][got]++
		switch {
		case tool.Label == "destructive":
			destructive++
			if got == hub.RiskLow {
				low++
			}
			if got < hub.RiskHigh {
				t.Logf("destructive, rated %s: %s", got, tool.Name)
			}
		case tool.Label == "write" && got < hub.RiskHigh:
			t.Logf("write, rated %s: %s", got, tool.Name)
		case tool.Label == "read":
			reads++
			if got >= hub.RiskHigh {
				alarms++
				t.Logf("read, rated %s: %s", got, tool.Name)
			}
		}
	}
	for label, n := range counts {
		t.Logf("%-11s low %d, medium %d, high %d, critical %d", label, n[0], n[1], n[2], n[3])
	}
	if destructive == 0 || reads == 0 {
		t.Fatal("there are no tools to rate")
	}
	if low*99 > 2*destructive {
		t.Errorf("%d of %d destructive tools are rated low", low, destructive)
	}
	if alarms*167 > 15*reads {
		t.Errorf("%d of %d tools that read are rated high or critical", alarms, reads)
	}
}
