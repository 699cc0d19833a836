package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

// The index and what changed in it, in hubs that live as long as a command.
func TestIndexCommands(t *testing.T) {
	dir := emptyHome(t)
	file := func(path, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file(os.Getenv("TOOLCRIB_CONFIG"), `{"mcpServers":{"robot":{"command":"robot","pinned":true}}}`)
	file(filepath.Join(dir, "pins.json"), `{"version":1,"servers":{"robot":{"tools":[`+
		`{"name":"look","description":"Looks.","inputSchema":{"type":"object","properties":{}}},{"name":"stop"}]}}}`)
	index := file(filepath.Join(t.TempDir(), "index.json"), `{"version":"1.0.0","last_sync":"2026-01-07T10:00:00Z","servers":[`+
		`{"server_id":"robot","tools":[{"tool_name":"look","description":"Looks with its camera.","input_schema":{},"blocking":true,"cost_estimate":"high"}]},`+
		`{"server_id":"foreign","tools":[]}]}`)
	broken := file(filepath.Join(t.TempDir(), "broken.json"), "{\n")
	export := filepath.Join(t.TempDir(), "export.json")
	other := file(filepath.Join(t.TempDir(), "other.json"), "{}")
	for _, test := range []struct {
		args string
		code int
		want []string // in what is printed
	}{
		{"index import " + broken, exitFailure, []string{"line 2, column 1"}},
		{"index import " + broken + "x", exitFailure, []string{"cannot be read"}},
		{"index import " + index, exitOK, []string{"Took over the tools (1) of: robot", "foreign"}},
		{"index list --server robot", exitOK, []string{"no such tools"}},
		{"server drift robot", exitOK, []string{
			"look  changed", "  -| Looks.\n  +| Looks with its camera.\n", "stop  removed", "toolcrib server accept robot",
		}},
		{"--json server drift robot", exitOK, []string{`"change": "changed"`}},
		{"server accept robot nothing", exitFailure, []string{"nothing"}},
		{"server accept robot look", exitOK, []string{"Accepted: 1. Left: 1.\n  stop\n"}},
		{"index list --server robot", exitOK, []string{"robot__look", "high, blocking", "(stale)", "perception"}},
		// A command with another file forgets nothing of the usual one's servers.
		{"--config " + other + " index list --tool look", exitOK, []string{"no such tools"}},
		{"index --tool look --tag perception", exitOK, []string{"robot__look"}},
		{"index list --server nobody", exitFailure, []string{"nobody"}},
		{"--lang zh server accept robot", exitOK, []string{"已接受：1 项"}},
		{"server drift robot", exitOK, []string{"Nothing has changed"}},
		{"server drift nobody", exitFailure, []string{"nobody"}},
		{"server accept nobody", exitFailure, []string{"nobody"}},
		{"index export", exitOK, []string{`"last_sync": "2026-01-07T10:00:00Z"`, `"tool_name": "look"`}},
		{"index export " + export, exitOK, []string{"Wrote " + export}},
		{"--json index list --tag perception", exitOK, []string{`"tool_name": "look"`, `"live": false`}},
	} {
		code, out, errs := run(t, message.English, strings.Fields(test.args)...)
		for _, want := range test.want {
			if !strings.Contains(out+errs, want) {
				t.Errorf("%s: does not print %q but\n%s%s", test.args, want, out, errs)
			}
		}
		if code != test.code {
			t.Errorf("%s: exit code %d, %s", test.args, code, errs)
		}
	}
	if text, err := os.ReadFile(export); err != nil || !strings.Contains(string(text), `"server_id": "robot"`) {
		t.Errorf("exported %s, %v", text, err)
	}
	if _, out, _ := run(t, message.English, "index", "import", export); !strings.Contains(out, "Took over the tools (1) of: robot") {
		t.Errorf("taking over what was exported prints %q", out)
	}
}
