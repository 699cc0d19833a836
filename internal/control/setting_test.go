package control_test

import (
	"fmt"
	"testing"

	"github.com/toolcrib/toolcrib/internal/message"
)

// What is said about the hub itself is in force at once, but for what can only
// hold from the next start on: that is told as long as it is so.
func TestSettings(t *testing.T) {
	s := open(t, `{"mcpServers":{"a":{"command":"x"}}}`)
	if got := s.inForce.Load(); got == nil || got.Language != message.English || got.Callers.Concurrency != 0 {
		t.Fatalf("in force at the start: %+v", got)
	}
	const other = `{"mcpServers":{"a":{"command":"x"}},"language":"zh","callers":{"callLimits":{"concurrency":3}},` +
		`"store":{"url":"postgres://h/d"},"telemetry":{"traces":{"sample":0.5}}}`
	for _, step := range []struct {
		text, want string // settings, at the next start, changed, restarted
	}{
		{other, "true [store telemetry] [] []"},
		{other, "false [store telemetry] [] []"},
		{`{"mcpServers":{"a":{"command":"x","retries":1}},"language":"zh","store":{"url":"postgres://h/d"}}`, "true [store] [a] []"},
		{`{"mcpServers":{"a":{"command":"x","retries":1}},"language":"en"}`, "true [] [] []"},
	} {
		s.write(step.text)
		check, err := s.Reload()
		if err != nil {
			t.Fatal(err)
		}
		d := check.Diff
		if got := fmt.Sprint(d.Settings, d.NextStart, d.Changed, d.Restarted); got != step.want {
			t.Errorf("%s: %s, want %s", step.text, got, step.want)
		}
		if s.inForce.Load() != s.Source().Config {
			t.Error("another configuration was told than the one in force")
		}
	}
	if server, err := s.Server("a"); err != nil || server.Definition.Retry.Max != 1 {
		t.Errorf("%+v, %v", server.Definition, err)
	}
	s.write(`{"audit":{"retention":90}}`)
	_, err := s.Reload()
	wantCode(t, err, message.ConfigInvalid)
	if got := s.inForce.Load(); got != s.Source().Config {
		t.Errorf("a broken file is in force: %+v", got)
	}
}

// TestWatchNextStart tells whoever reads the log what a change by hand has no
// effect on yet.
func TestWatchNextStart(t *testing.T) {
	s := open(t, `{"mcpServers":{}}`)
	s.watch(s.WatchByGlances)
	s.write(`{"mcpServers":{},"store":{"url":"postgres://u:hidden@h/d"}}`)
	if line := s.told("takes effect at the next start"); line != "WARN a part of the configuration takes effect at the next start members=store" {
		t.Errorf("told %q", line)
	}
}

// TestSecretsOfSettings keeps a value that the address of the database refers to.
func TestSecretsOfSettings(t *testing.T) {
	s := open(t, "")
	s.add("a", `{"command":"x","env":{"API_KEY":"shared-secret"}}`)
	text, etag, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	put := `{"store":{"url":"postgres://u:${secret:a.env.API_KEY}@h/d"},` + string(text[1:])
	if _, err := s.Put([]byte(put), etag); err != nil {
		t.Fatalf("%s: %v", put, err)
	}
	list, err := s.Secrets()
	if err != nil || len(list) != 1 || fmt.Sprint(list[0].Used) != "[a store]" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := s.Remove("a"); err != nil {
		t.Fatal(err)
	}
	wantSealed(t, s, map[string]string{"a.env.API_KEY": "shared-secret"})
}
