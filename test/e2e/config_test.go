package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/apiclient"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// pids are the processes of the servers that have one.
func pids(t *testing.T, c *apiclient.Client) map[string]int {
	t.Helper()
	list, err := c.Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for _, s := range list.Servers {
		if s.PID > 0 {
			all[s.Key] = s.PID
		}
	}
	return all
}

// TestConfigurationInForce: a new configuration is in force as soon as it is
// written, and who does not differ in it does not notice.
func TestConfigurationInForce(t *testing.T) {
	t.Parallel()
	fault := rig.FaultServer(t)
	text := func(b, more string) string {
		return fmt.Sprintf("{\n  // by hand\n  \"mcpServers\": {\n    \"a\": {\"command\": %q, \"env\": {\"A_TOKEN\": \"planted\"}},\n    \"b\": {\"command\": %q%s},%s\n  },\n  \"mine\": 1\n}\n",
			fault, fault, b, more)
	}
	path := write(t, text("", fmt.Sprintf("\n    \"c\": {\"command\": %q}", fault)), t.TempDir(), "toolcrib.json")
	hub := rig.Serve(t, nil, "--config", path, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	hub.AwaitReady()
	client := hub.API()
	before := pids(t, client)
	if len(before) != 3 {
		t.Fatalf("the processes are %v", before)
	}
	get := func() api.ConfigText {
		t.Helper()
		now, err := client.Config(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return now
	}

	// Calls run on a server that stays as it is, all the time.
	callers := []*caller{connect(t, hub.MCP(), latestLegacy), connect(t, hub.MCP(), modernRevision)}
	changed := make(chan struct{})
	var group errgroup.Group
	for _, c := range callers {
		for range 4 {
			group.Go(func() error {
				for n := 0; ; n++ {
					a, err := c.try(t.Context(), c.ids.Add(1), "tools/call",
						map[string]any{"name": "a__sleep", "arguments": map[string]any{"ms": 100}}, nil)
					if err != nil {
						return err
					}
					list, err := a.all()
					if err != nil || len(list) != 1 || list[0].Error != nil || !strings.Contains(string(list[0].Result), "text") {
						return fmt.Errorf("call %d was answered with %v, %w", n, list, err)
					}
					select {
					case <-changed:
						return nil
					default:
					}
				}
			})
		}
	}
	for i := range 10 {
		b := fmt.Sprintf(`, "args": ["-lifetime", "%dm"]`, i+5)
		check, err := client.SetConfig(t.Context(), api.ConfigUpload{Text: text(b, "")}, get().ETag, false)
		if err != nil || !check.Valid {
			t.Fatalf("change %d: %+v, %v", i, check, err)
		}
		if i == 0 && (fmt.Sprint(check.Diff.Changed) != "[b]" || fmt.Sprint(check.Diff.Removed) != "[c]" || !strings.Contains(fmt.Sprint(check.Diff.Unchanged), "a")) {
			t.Errorf("the first change is %+v", check.Diff)
		}
	}
	hub.AwaitState("b", "ready")
	close(changed)
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	after := pids(t, client)
	if after["a"] != before["a"] || after["b"] == before["b"] || after["b"] == 0 || after["c"] != 0 {
		t.Errorf("the processes were %v and are %v", before, after)
	}
	if m := callers[0].call("c__echo", map[string]any{"text": "x"}); m.Error.reason() != "tool_unknown" {
		t.Errorf("the server that was removed answers %s", m)
	}

	// What was shown masked comes back as it was.
	now := get()
	if strings.Contains(now.Text, "planted") || !strings.Contains(now.Text, "// by hand") {
		t.Errorf("the text is %s", now.Text)
	}
	onDisk := read(t, path)
	for _, dry := range []bool{true, false} {
		check, err := client.SetConfig(t.Context(), api.ConfigUpload{Text: now.Text}, now.ETag, dry)
		if err != nil || len(check.Diff.Changed)+len(check.Diff.Added)+len(check.Diff.Removed) > 0 {
			t.Errorf("the same text again: %+v, %v", check, err)
		}
	}
	if got := read(t, path); got != onDisk {
		t.Errorf("the same text again made %s", got)
	}

	// Refused, and nothing has happened.
	for _, test := range []struct{ what, text, etag, code string }{
		{"an old version", now.Text, `"old"`, "config_stale"},
		{"no version", now.Text, "", "etag_missing"},
		{"a broken text", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": 1}\n  }\n}\n", now.ETag, "config_invalid"},
		{"no JSON", "{", now.ETag, "config_invalid"},
		{"a mark without a value", `{"mcpServers": {"new": {"command": "${unchanged}"}}}`, now.ETag, "config_invalid"},
	} {
		_, err := client.SetConfig(t.Context(), api.ConfigUpload{Text: test.text}, test.etag, false)
		if problem := problemOf(err); problem.Code != test.code {
			t.Errorf("%s: %v, want %s", test.what, err, test.code)
		} else if test.code == "config_invalid" && (len(problem.Problems) == 0 || problem.Problems[0].Line == 0) {
			t.Errorf("%s: the problem has no place: %+v", test.what, problem)
		}
	}
	// Somebody edits the file meanwhile: whoever has not seen that is refused,
	// and a change of one entry keeps it.
	byHand := strings.Replace(onDisk, "// by hand", "// by hand, twice", 1)
	write(t, byHand, path)
	if _, err := client.SetConfig(t.Context(), api.ConfigUpload{Text: now.Text}, now.ETag, false); problemOf(err).Code != "config_stale" {
		t.Errorf("over an edit by hand: %v", err)
	}
	if got := read(t, path); got != byHand {
		t.Errorf("the edit by hand was lost: %s", got)
	}
	if _, err := client.ServerAction(t.Context(), "b", api.ActionDisable); err != nil {
		t.Error(err)
	}
	if got := read(t, path); !strings.Contains(got, "// by hand, twice") || !strings.Contains(got, `"mine": 1`) || !strings.Contains(got, `"enabled": false`) {
		t.Errorf("after a change of one entry the file is %s", got)
	}
	if got := pids(t, client); got["a"] != before["a"] || got["b"] != 0 {
		t.Errorf("the processes are %v", got)
	}
}

// problemOf is the document of an error, empty if it has none.
func problemOf(err error) api.Problem {
	if e, ok := err.(*apiclient.Error); ok {
		return e.Problem
	}
	return api.Problem{}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestBrokenConfiguration: a file at the usual place that cannot be used leaves
// the built-in servers, is told with line and column, and is written to by
// nothing. Once it is mended, it is in force.
func TestBrokenConfiguration(t *testing.T) {
	t.Parallel()
	const broken = "{\n  \"mcpServers\": {\n    \"a\": {\"command\": 1},\n    \"b\": {\"command\": \"true\", \"env\": {\"B_TOKEN\": \"planted\"}}\n  }\n}\n"
	home := rig.NewHome(t)
	path := write(t, broken, home.Config())
	hub := rig.Serve(t, home.Env, "--listen", "127.0.0.1:0")
	hub.AwaitReady()
	if got := connect(t, hub.MCP(), modernRevision).text("calculator__calculator", map[string]any{"expression": "6*7"}); got != "42" {
		t.Errorf("the calculator says %s", got)
	}
	health := hub.Health()
	if health.HTTPStatus != 200 || len(health.Servers) != 3 || health.Config.Path != path ||
		len(health.Config.Reasons) != 1 || !strings.HasPrefix(health.Config.Reasons[0], path+":3:22: ") {
		t.Errorf("/readyz says %+v", health)
	}
	client := hub.API()
	st, err := client.Status(t.Context())
	if err != nil || st.Config.Writable || len(st.Config.Problems) != 1 || st.Config.Problems[0].Line != 3 || st.Config.Problems[0].Column != 22 {
		t.Errorf("the status of the file is %+v, %v", st.Config, err)
	}

	entry := json.RawMessage(`{"command":"true","env":{"C_TOKEN":"value"}}`)
	for what, change := range map[string]func() error{
		"add": func() error {
			_, err := client.AddServer(t.Context(), api.ServerAdd{Key: "c", Entry: entry})
			return err
		},
		"change": func() error {
			_, err := client.ChangeServer(t.Context(), "b", api.ServerChange{Entry: entry})
			return err
		},
		"remove":  func() error { return client.RemoveServer(t.Context(), "b") },
		"disable": func() error { _, err := client.ServerAction(t.Context(), "calculator", api.ActionDisable); return err },
		"import": func() error {
			_, err := client.Import(t.Context(), api.Import{Text: `{"mcpServers":{"x":{"command":"true"}}}`}, false)
			return err
		},
		"replace": func() error {
			_, err := client.SetConfig(t.Context(), api.ConfigUpload{Text: "{}"}, st.Config.ETag, false)
			return err
		},
		"show": func() error { _, err := client.Config(t.Context()); return err },
	} {
		err := change()
		if problemOf(err).Code != "config_broken" {
			t.Errorf("%s: %v", what, err)
		}
		if got := read(t, path); got != broken {
			t.Fatalf("after %s the file is %s", what, got)
		}
	}
	if sealed, err := client.Secrets(t.Context()); err != nil || len(sealed.Secrets) > 0 {
		t.Errorf("sealed were %+v, %v", sealed, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside the file are %v, %v", entries, err)
	}

	// Mended, it is in force; broken again, what is in force stays.
	write(t, strings.NewReplacer(`"command": 1`, fmt.Sprintf(`"command": %q`, rig.FaultServer(t)), `"command": "true"`, `"command": "true", "enabled": false`).Replace(broken), path)
	if _, err := client.ReloadConfig(t.Context()); err != nil {
		t.Error(err)
	}
	hub.AwaitState("a", "ready")
	pid := pids(t, client)["a"]
	write(t, broken, path)
	if _, err := client.ReloadConfig(t.Context()); problemOf(err).Code != "config_invalid" {
		t.Errorf("the reload of a broken file: %v", err)
	}
	if got := hub.Health(); got.State("a") != "ready" || len(got.Config.Reasons) != 1 || pids(t, client)["a"] != pid {
		t.Errorf("after the reload of a broken file /readyz says %+v", got)
	}
}
