package e2e

import (
	"bytes"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // to write the database past the hub

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// audit runs "toolcrib audit" on a data directory.
func audit(t *testing.T, dir string, want int, args ...string) string {
	t.Helper()
	args = append([]string{"audit"}, append(args, "--data-dir", dir)...)
	cmd := exec.CommandContext(t.Context(), rig.HubBinary(t), args...)
	cmd.Env = append(os.Environ(), rig.NewHome(t).Env...)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != want {
		t.Errorf("toolcrib %s: exit code %d (%v), want %d:\n%s", strings.Join(args, " "), code, err, want, out)
	}
	return string(out)
}

// TestTheRecord: calls through every door are in the record, which can be
// exported and proved, and in which every change is found.
func TestTheRecord(t *testing.T) {
	t.Parallel()
	dir, away := t.TempDir(), t.TempDir()
	hub := rig.StartHubIn(t, dir, rig.Stdio("well", rig.FaultServer(t)))
	hub.AwaitReady()
	connect(t, hub.MCP(), modernRevision).call("well__echo", map[string]any{"text": "over-mcp", "apiKey": "sk-secret-0123456789"})
	if _, err := hub.APIAs("").Call(t.Context(), api.Call{Tool: "well__echo", Arguments: []byte(`{"text":"over-rest"}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := hub.API().Call(t.Context(), api.Call{Tool: "calculator__calculator", Arguments: []byte(`{"expression":"6*7"}`)}); err != nil {
		t.Fatal(err)
	}
	list, err := hub.API().Calls(t.Context(), apiclient.CallQuery{Tool: "echo"})
	if err != nil || len(list.Calls) != 2 {
		t.Fatalf("in the record: %+v, %v", list, err)
	}
	first, second := list.Calls[1], list.Calls[0]
	if first.Door != "mcp" || second.Door != "rest" || first.Outcome != "ok" || first.Server != "well" || second.Subject != "local" ||
		!strings.Contains(string(first.Arguments), "over-mcp") || strings.Contains(string(first.Arguments), "sk-secret") {
		t.Errorf("in the record: %+v", list.Calls)
	}
	if said := audit(t, dir, 0, "verify"); !strings.Contains(said, "what was written") {
		t.Errorf("the hub says %s", said)
	}
	export, head := filepath.Join(away, "export.jsonl"), filepath.Join(away, "head.json")
	audit(t, dir, 0, "export", "--out", export)
	audit(t, dir, 0, "verify", "--file", export)
	text, err := os.ReadFile(export)
	if err != nil || !bytes.Contains(text, []byte("over-rest")) || bytes.Contains(text, []byte("sk-secret")) {
		t.Errorf("the export is %s, %v", text, err)
	}
	hub.Stop()

	// With the checkpoint of its end, but without a hub.
	audit(t, dir, 0, "head", "--out", head)
	audit(t, dir, 0, "verify", "--head", head)
	db, err := sql.Open("sqlite", datadir.Layout(dir).Store())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE kept AS SELECT * FROM audit_entry")
	restore := func() {
		t.Helper()
		exec("DELETE FROM audit_entry")
		exec("INSERT INTO audit_entry SELECT * FROM kept")
		audit(t, dir, 0, "verify", "--head", head)
	}
	exec("UPDATE audit_entry SET body = REPLACE(body, 'over-rest', 'over-resu')")
	if said := audit(t, dir, 1, "verify"); !strings.Contains(said, "was changed") || !strings.Contains(said, "NOT what was written") {
		t.Errorf("a byte that was changed: %s", said)
	}
	restore()
	exec("DELETE FROM audit_entry WHERE seq = (SELECT MAX(seq) FROM audit_entry)")
	audit(t, dir, 0, "verify") // which cannot know
	if said := audit(t, dir, 1, "verify", "--head", head); !strings.Contains(said, "the end was cut off") {
		t.Errorf("the end that was cut off: %s", said)
	}
	restore()
	exec("DELETE FROM audit_entry WHERE seq = 2")
	if said := audit(t, dir, 1, "verify", "--lang", "zh"); !strings.Contains(said, "缺少第 2 至 2 条记录") {
		t.Errorf("an entry that was removed: %s", said)
	}
	exec("DROP TABLE kept")
}
