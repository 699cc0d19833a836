package control_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/builtin"
	"github.com/toolcrib/toolcrib/internal/config"
	"github.com/toolcrib/toolcrib/internal/control"
	"github.com/toolcrib/toolcrib/internal/message"
)

// From nothing: a server is added, changed, switched off and on, and removed.
// Each step is in the file and in the fleet.
func TestServerFromBeginningToEnd(t *testing.T) {
	s := open(t, "")
	s.add("time", `{"command":"uvx","args":["mcp-server-time"]}`)
	if got, want := s.keys(), []string{"time"}; !slices.Equal(got, want) {
		t.Errorf("the fleet has %q, want %q", got, want)
	}
	_, err := s.Add("time", []byte(`{"command":"other"}`))
	wantCode(t, err, message.ServerExists)
	if err := s.Change("time", []byte(`{"command":"uvx","args":["mcp-server-time","--utc"]}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.SetEnabled(t.Context(), "time", false); err != nil {
		t.Fatal(err)
	}
	v, err := s.Server("time")
	if err != nil || v.Status.State != "disabled" || !v.Defined || len(v.Definition.Args) != 2 {
		t.Errorf("the server is %+v, %v", v, err)
	}
	entry, _, err := s.Entry("time")
	if want := `{"command":"uvx","args":["mcp-server-time","--utc"],"enabled":false}`; err != nil || string(entry) != want {
		t.Errorf("the entry is %s, %v, want %s", entry, err, want)
	}
	if err := s.SetEnabled(t.Context(), "time", true); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove("time"); err != nil {
		t.Fatal(err)
	}
	if got := s.keys(); len(got) > 0 {
		t.Errorf("the fleet has %q", got)
	}
	for _, err := range []error{
		s.Remove("time"), s.SetEnabled(t.Context(), "time", true), s.Change("time", []byte(`{"command":"x"}`)), s.Start(t.Context(), "time"),
		func() error { _, err := s.Server("time"); return err }(),
		func() error { _, _, err := s.Entry("time"); return err }(),
		func() error { _, _, err := s.Log("time", 0); return err }(),
	} {
		wantCode(t, err, message.ServerUnknown)
	}
}

// What somebody has written by hand since the file was read is kept and put in
// force, comments and all.
func TestHandEditsAreKept(t *testing.T) {
	s := open(t, `{"mcpServers":{"a":{"command":"a"}}}`)
	s.write("{ // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"},\n    \"b\": {\"command\": \"b\", \"unknown\": 1} // and this\n  }\n}\n")
	s.add("c", `{"command":"c"}`)
	s.wantText("{ // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"},\n    \"b\": {\"command\": \"b\", \"unknown\": 1}, // and this\n" +
		"    \"c\": {\"command\": \"c\"}\n  }\n}\n")
	if got, want := s.keys(), []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("the fleet has %q, want %q", got, want)
	}
}

// What does not change anything is not written.
func TestNothingToChange(t *testing.T) {
	s := open(t, `{"mcpServers":{"a":{"command":"a","disabled":false}}}`)
	before := s.text()
	if err := s.SetEnabled(t.Context(), "a", true); err != nil {
		t.Fatal(err)
	}
	s.wantText(before)
	if err := s.Change("a", []byte(`{"command":"a","disabled":false}`)); err != nil {
		t.Fatal(err)
	}
	s.wantText(before)
	s.write(`{"mcpServers":{"a":{"command":"a","disabled":true}}}`)
	if err := s.SetEnabled(t.Context(), "a", false); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Server("a"); err != nil || v.Definition.Enabled {
		t.Errorf("what the file says by now is not in force: %v", err)
	}
}

func TestBadEntries(t *testing.T) {
	for _, test := range []struct{ name, key, entry, want string }{
		{"no object", "a", `[]`, "must be an object"},
		{"nothing to run", "a", `{}`, "needs"},
		{"not JSON", "a", `{"command"`, "ends too early"},
		{"a member twice", "a", `{"command":"x","command":"y"}`, "twice"},
		{"a member twice, nested", "a", `{"command":"x","env":{"A":"1","A":"2"}}`, "twice"},
		{"no name", "", `{"command":"x"}`, "empty"},
		{"a long name", strings.Repeat("x", 129), `{"command":"x"}`, "longer"},
		{"a control character", "a\nb", `{"command":"x"}`, "control character"},
		{"nothing that is unchanged", "a", `{"command":"x","args":["${unchanged}"]}`, "there is none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, "")
			_, err := s.Add(test.key, []byte(test.entry))
			wantCode(t, err, message.ConfigInvalid)
			if err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q in it", err, test.want)
			}
			if s.text() != "" || len(s.sealed()) > 0 || len(s.keys()) > 0 {
				t.Errorf("it left something: %q, %v, %q", s.text(), s.sealed(), s.keys())
			}
		})
	}
}

// The built-in servers need no entry, may have one, and have a second name in
// Lumi's files.
func TestBuiltins(t *testing.T) {
	s := open(t, "")
	wantCode(t, s.Remove("calculator"), message.ServerBuiltin)
	if entry, etag, err := s.Entry("calculator"); err != nil || string(entry) != "{}" || etag == "" {
		t.Errorf("the entry is %s, %q, %v", entry, etag, err)
	}
	if err := s.SetEnabled(t.Context(), "calculator", false); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Server("calculator"); err != nil || v.Definition.Enabled || !v.Defined {
		t.Errorf("the server is %+v, %v", v, err)
	}
	if err := s.Remove("calculator"); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Server("calculator"); err != nil || !v.Definition.Enabled || v.Defined {
		t.Errorf("the server is %+v, %v", v, err)
	}
	key, err := s.Add("builtin_device_control", []byte(`{"type":"embedded","simulated":true}`))
	if err != nil || key != "device" {
		t.Fatalf("added %q, %v", key, err)
	}
	if v, err := s.Server("device"); err != nil || !v.Definition.Simulated || !v.Defined {
		t.Errorf("the server is %+v, %v", v, err)
	}
}

func TestLumisNameOfTheDevice(t *testing.T) {
	s := open(t, `{"mcpServers":{"builtin_device_control":{"type":"embedded","timeout":5000}}}`)
	if src := s.Source(); !src.Defines("device") {
		t.Error("device is not defined")
	}
	_, err := s.Add("device", []byte(`{"simulated":true}`))
	wantCode(t, err, message.ServerExists)
	entry, _, err := s.Entry("device")
	if want := `{"type":"embedded","timeout":5000}`; err != nil || string(entry) != want {
		t.Errorf("the entry is %s, %v", entry, err)
	}
	if err := s.Change("device", []byte(`{"type":"embedded","timeout":6000}`)); err != nil {
		t.Fatal(err)
	}
	s.wantText(`{"mcpServers":{"builtin_device_control":{"type":"embedded","timeout":6000}}}`)
	if err := s.Remove("device"); err != nil {
		t.Fatal(err)
	}
	s.wantText(`{"mcpServers":{}}`)
}

// A file that is broken is told of, is not shown, and is never written to; what
// was in force before stays so.
func TestBrokenFile(t *testing.T) {
	s := open(t, `{"mcpServers":{"a":{"command":"a"}}}`)
	const broken = `{"mcpServers":{"a":{"command":"a","apiKey":"tell-nobody-4711"},}},`
	s.write(broken)
	edits := map[string]func() error{
		"add":    func() error { _, err := s.Add("b", []byte(`{"command":"b"}`)); return err },
		"change": func() error { return s.Change("a", []byte(`{"command":"b"}`)) },
		"remove": func() error { return s.Remove("a") },
		"enable": func() error { return s.SetEnabled(t.Context(), "a", false) },
		"put":    func() error { _, err := s.Put([]byte(`{}`), s.ETag()); return err },
		"import": func() error {
			_, err := s.Import([]byte(`{"mcpServers":{"c":{"command":"c"}}}`), control.ImportOptions{})
			return err
		},
		"text":  func() error { _, _, err := s.Text(); return err },
		"entry": func() error { _, _, err := s.Entry("a"); return err },
		"test":  func() error { _, err := s.Test(t.Context(), "a", []byte(`{"command":"b"}`)); return err },
	}
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		err := edits[name]()
		wantCode(t, err, message.ConfigBroken)
		if err != nil && strings.Contains(err.Error(), "4711") {
			t.Errorf("%s tells the secret: %v", name, err)
		}
	}
	s.wantText(broken)
	if src := s.Source(); src.Fault == nil || src.Config.Servers[len(builtin.Keys())].Key != "a" {
		t.Errorf("what is known of the file is %+v", src)
	}
	_, err := s.Reload()
	wantCode(t, err, message.ConfigInvalid)
	s.write(`{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}}}`)
	check, err := s.Reload()
	if err != nil {
		t.Fatal(err)
	}
	unchanged := append(builtin.Keys(), "a")
	if diff := cmp.Diff(config.Changes{Added: []string{"b"}, Unchanged: unchanged}, check.Diff); diff != "" {
		t.Errorf("the diff is wrong (-want +got)\n%s", diff)
	}
	if src := s.Source(); src.Fault != nil {
		t.Errorf("the fault is still known: %v", src.Fault)
	}
}

// Without a place for a file the hub runs, and nothing can be changed.
func TestNoFile(t *testing.T) {
	s := &shop{t: t}
	s.start(t.TempDir())
	_, err := s.Add("a", []byte(`{"command":"a"}`))
	wantCode(t, err, message.ConfigMissing)
	_, err = s.Put([]byte(`{}`), s.ETag())
	wantCode(t, err, message.ConfigMissing)
	_, err = s.Reload()
	wantCode(t, err, message.ConfigMissing)
	if text, etag, err := s.Text(); len(text) > 0 || etag == "" || err != nil {
		t.Errorf("the text is %q, %q, %v", text, etag, err)
	}
	if _, err := s.Check([]byte(`{}`)); err != nil {
		t.Error(err)
	}
}

func TestLoad(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.json")
	_, err := control.Load(missing, true, nil)
	wantCode(t, err, message.ConfigUnreadable)
	src, err := control.Load(missing, false, builtin.Keys())
	if err != nil || src.Fault != nil || src.Exists || len(src.Config.Servers) != len(builtin.Keys()) {
		t.Errorf("a missing file: %+v, %v", src, err)
	}
	dir := t.TempDir()
	src, err = control.Load(dir, false, builtin.Keys())
	if err != nil || len(src.Config.Servers) != len(builtin.Keys()) {
		t.Errorf("a directory: %+v, %v", src, err)
	}
	wantCode(t, src.Fault, message.ConfigUnreadable)
	_, err = control.Load(dir, true, nil)
	wantCode(t, err, message.ConfigUnreadable)
}

// Changes at the same time all take effect, and whoever looks meanwhile sees a
// whole configuration.
func TestChangesAtOnce(t *testing.T) {
	s := open(t, "")
	const many = 12
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			if _, err := s.Add(fmt.Sprint("s", i), []byte(`{"command":"x","env":{"API_KEY":"secret-value"}}`)); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			_, _ = s.Servers(), s.Source()
			if _, err := s.Secrets(); err != nil {
				t.Error(err)
			}
			if _, err := s.Check([]byte(`{"mcpServers":{}}`)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := len(s.keys()); got != many {
		t.Errorf("the fleet has %d servers, want %d", got, many)
	}
	if got := len(s.sealed()); got != many {
		t.Errorf("%d values are sealed, want %d", got, many)
	}
	cfg, _, err := config.Load(s.path, nil)
	if err != nil || len(cfg.Servers) != many {
		t.Errorf("the file has %v servers, %v", cfg, err)
	}
}

// readOnly makes the file one that its owner does not want to be written.
func (s *shop) readOnly() {
	s.t.Helper()
	if runtime.GOOS == "windows" {
		s.t.Skip("NOT RUN: Windows has no modes of files")
	}
	if err := os.Chmod(s.path, 0o400); err != nil {
		s.t.Fatal(err)
	}
}
