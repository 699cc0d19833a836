package control_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/preset"
)

// A preset is not there until it is switched on, which gives it an entry with the
// exact version; without one it is as if it had never been.
func TestPresets(t *testing.T) {
	s := open(t, "")
	for _, p := range preset.All() {
		if _, err := s.Server(p.Key); !hub.IsCode(err, message.ServerUnknown) {
			t.Errorf("%s is there: %v", p.Key, err)
		}
		wantCode(t, s.SetEnabled(t.Context(), p.Key, false), message.ServerUnknown)
	}
	if err := s.SetEnabled(t.Context(), "everything", true); err != nil {
		t.Fatal(err)
	}
	if err := s.SetEnabled(t.Context(), "demo", true); err != nil {
		t.Fatal(err)
	}
	every, err := s.Server("everything")
	if err != nil || !every.Definition.Enabled || every.Definition.Command != "npx" ||
		!slices.Equal(every.Definition.Args, []string{"-y", "@modelcontextprotocol/server-everything@2026.8.31"}) {
		t.Errorf("it is %+v, %v", every.Definition, err)
	}
	demo, err := s.Server("demo")
	if err != nil || demo.Definition.Kind != hub.KindBuiltin || demo.Definition.Priority != hub.PriorityBuiltin {
		t.Errorf("it is %+v, %v", demo.Definition, err)
	}
	if got := s.keys(); !slices.Equal(got, []string{"everything", "demo"}) {
		t.Errorf("the servers are %q", got)
	}
	if err := s.SetEnabled(t.Context(), "demo", false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.text(), `"demo"`) {
		t.Errorf("the file is %s", s.text())
	}
}

// What a preset runs stays what it is, and so does the preset; its settings change.
func TestPresetsStay(t *testing.T) {
	s := open(t, "")
	for _, key := range []string{"everything", "demo"} {
		if err := s.SetEnabled(t.Context(), key, true); err != nil {
			t.Fatal(err)
		}
	}
	before := s.text()
	for key, entries := range map[string][]string{
		"everything": {
			`{"command":"/nowhere/x"}`, `{"url":"https://h.example/mcp"}`,
			`{"command":"npx","args":["-y","@modelcontextprotocol/server-everything@latest"]}`,
			`{"command":"npx","args":["-y","@modelcontextprotocol/server-everything@2026.8.30"]}`,
			`{"command":"npx","args":["-y","@modelcontextprotocol/server-everything@2026.8.31","more"]}`,
			`{"command":"/tmp/npx","args":["-y","@modelcontextprotocol/server-everything@2026.8.31"]}`,
			`{"command":"npx","args":["-y","@modelcontextprotocol/server-everything@2026.8.31"],"cwd":"/tmp"}`,
		},
		"demo": {`{"command":"/nowhere/x"}`, `{"url":"https://h.example/mcp"}`},
	} {
		for _, entry := range entries {
			wantCode(t, s.Change(key, []byte(entry)), message.PresetFixed)
			_, err := s.Import([]byte(`{"mcpServers":{"`+key+`":`+entry+`}}`), control.ImportOptions{Replace: true})
			wantCode(t, err, message.PresetFixed)
		}
		wantCode(t, s.Remove(key), message.PresetKept)
	}
	if s.text() != before {
		t.Errorf("the file is %s", s.text())
	}
	for key, entry := range map[string]string{
		"everything": `{"command":"npx","args":["-y","@modelcontextprotocol/server-everything@2026.8.31"],"env":{"A":"b"},"enabled":false,"timeout":"9s","tools":["echo"]}`,
		"demo":       `{"name":"Mine","enabled":false}`,
	} {
		if err := s.Change(key, []byte(entry)); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		wantCode(t, s.Remove(key), message.PresetKept)
	}
	if every, err := s.Server("everything"); err != nil || every.Definition.Enabled || every.Definition.Env["A"] != "b" {
		t.Errorf("it is %+v, %v", every.Definition, err)
	}

	// Another server under the key of a preset is whoever's it is.
	s.add("wttr", `{"command":"/nowhere/wttr"}`)
	if err := s.Change("wttr", []byte(`{"command":"/nowhere/other"}`)); err != nil {
		t.Error(err)
	}
	if err := s.Remove("wttr"); err != nil {
		t.Error(err)
	}
}

// The key of a built-in weather server is sealed as any other, and reaches the
// server by its placeholder.
func TestPresetHasVariables(t *testing.T) {
	s := open(t, "")
	s.add("hefeng", `{"env":{"HEFENG_API_KEY":"k-0123456789","HEFENG_API_URL":"abc.qweatherapi.com"}}`)
	if text := s.text(); strings.Contains(text, "k-0123456789") || !strings.Contains(text, "${secret:hefeng.env.HEFENG_API_KEY}") {
		t.Errorf("the file is %s", text)
	}
	if got := s.sealed()["hefeng.env.HEFENG_API_KEY"]; got != "k-0123456789" {
		t.Errorf("sealed is %q", got)
	}
	if p, err := s.Test(t.Context(), "hefeng", nil); err != nil || p.Failed != "" || len(p.Tools) != 3 {
		t.Errorf("the test says %+v, %v", p, err)
	}
	if p, err := s.Test(t.Context(), "hefeng", []byte(`{"env":{"HEFENG_API_KEY":"${secret:nothing}"}}`)); err != nil || p.Fault == nil || p.Fault.Code != message.PlaceholderUnresolved {
		t.Errorf("the test says %+v, %v", p, err)
	}
}
