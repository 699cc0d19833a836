package control_test

import (
	"slices"
	"strings"
	"testing"

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
	if err := s.Remove("demo"); err != nil {
		t.Fatal(err)
	}
	if got := s.keys(); !slices.Equal(got, []string{"everything"}) {
		t.Errorf("the servers are %q", got)
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
