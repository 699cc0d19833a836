package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

var update = flag.Bool("update", false, "write the expected files from what is got")

func builtins() []string { return []string{"calculator", "datetime", "device"} }

// TestGolden loads every file of testdata and compares what comes of it with
// the .txt file next to it. Secrets in the files hold the word SECRET.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			c, warnings, err := Load(path, builtins())
			if (c == nil) == (err == nil) {
				t.Fatalf("Config %v with error %v", c, err)
			}
			told := told(t, warnings, err)
			if strings.Contains(told, "SECRET") {
				t.Errorf("a secret is told:\n%s", told)
			}
			got := told + show(c)
			got = strings.ReplaceAll(got, filepath.ToSlash(path), filepath.Base(path))
			got = strings.ReplaceAll(got, path, filepath.Base(path))
			got = strings.ReplaceAll(got, dir, "<dir>")

			golden := strings.TrimSuffix(path, ".json") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// told is everything that a person is told about a file.
func told(t *testing.T, warnings []Warning, err error) string {
	t.Helper()
	var b strings.Builder
	if err != nil {
		problems, ok := errors.AsType[Problems](err)
		if !ok || len(problems) == 0 {
			t.Fatalf("error %#v, want Problems", err)
		}
		for _, p := range problems {
			if p.Code != message.ConfigInvalid {
				t.Errorf("code %q", p.Code)
			}
			fmt.Fprintf(&b, "problem %v\n", p)
		}
	}
	for _, w := range warnings {
		fmt.Fprintf(&b, "warning %v\n", w)
	}
	return b.String()
}

// show is a configuration in a form that is easy to read and compare.
func show(c *Config) string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "form %s\n", c.Form)
	for _, e := range c.Endpoints {
		fmt.Fprintf(&b, "endpoint %+v\n", e)
	}
	for _, e := range c.Backends {
		fmt.Fprintf(&b, "backend %+v\n", e)
	}
	if c.CacheTTL != time.Hour || c.ForceRefresh {
		fmt.Fprintf(&b, "cache-ttl %s force-refresh %v\n", c.CacheTTL, c.ForceRefresh)
	}
	showSettings(&b, c)
	for _, g := range c.Groups {
		fmt.Fprintf(&b, "group %+v\n", g)
	}
	for _, p := range c.Profiles {
		fmt.Fprintf(&b, "client %+v\n", p)
	}
	for _, s := range c.Servers {
		fmt.Fprintf(&b, "%d %q %s priority=%d timeout=%s", s.Order, s.Key, s.Kind, s.Priority, s.Timeout)
		for _, f := range []struct {
			set  bool
			name string
		}{
			{!s.Enabled, "disabled"},
			{s.AutoStart && s.Kind != hub.KindBuiltin, "auto-start"},
			{!s.AutoStart && s.Kind == hub.KindBuiltin, "on-demand"},
			{s.Preload, "preload"},
			{s.Pinned, "pinned"},
			{!s.AutoRestart, "no-restart"},
			{!s.AutoReconnect, "no-reconnect"},
			{s.BareNames, "bare-names"},
			{s.PrefixURIs, "prefixed"},
			{s.Simulated, "simulated"},
		} {
			if f.set {
				fmt.Fprintf(&b, " %s", f.name)
			}
		}
		b.WriteByte('\n')
		showLife(&b, s)
		if s.Name != "" {
			fmt.Fprintf(&b, "  name %q\n", s.Name)
		}
		if s.Command != "" {
			fmt.Fprintf(&b, "  command %q %q\n", s.Command, s.Args)
		}
		if s.EnvFile != "" {
			fmt.Fprintf(&b, "  envFile %q\n", s.EnvFile)
		}
		if s.Dir != "" {
			fmt.Fprintf(&b, "  cwd %q\n", s.Dir)
		}
		if s.URL != "" {
			fmt.Fprintf(&b, "  url %q\n", s.URL)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			fmt.Fprintf(&b, "  env %q=%q\n", name, s.Env[name])
		}
		for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
			fmt.Fprintf(&b, "  header %q=%q\n", name, s.Headers[name])
		}
		if s.Rules.Allow != nil {
			fmt.Fprintf(&b, "  allow %q\n", s.Rules.Allow)
		}
		if s.Rules.Deny != nil {
			fmt.Fprintf(&b, "  deny %q\n", s.Rules.Deny)
		}
		for _, tool := range slices.Sorted(maps.Keys(s.Rules.Override)) {
			showOverride(&b, tool, s.Rules.Override[tool])
		}
	}
	return b.String()
}

// showLife shows what is said about the life of a server.
func showLife(b *strings.Builder, s hub.Server) {
	usual := usualOf(s.Kind)
	for _, f := range []struct {
		name    string
		is, was any
	}{
		{"idle-stop", s.IdleStop, usual.IdleStop},
		{"instances", s.Instances, usual.Instances},
		{"max-reconnects", s.MaxReconnects, usual.MaxReconnects},
		{"health", s.Health, usual.Health},
		{"breaker", s.Breaker, usual.Breaker},
		{"limits", s.Limits, usual.Limits},
		{"direct-node", s.DirectNode, usual.DirectNode},
		{"list-ttl", s.ListTTL, usual.ListTTL},
		{"connection", s.Connection, usual.Connection},
		{"max-callers", s.MaxCallers, usual.MaxCallers},
		{"resource-cache", s.ResourceCache, usual.ResourceCache},
		{"spill", s.Spill, usual.Spill},
		{"pool", s.Pool, usual.Pool},
		{"retry", s.Retry, usual.Retry},
		{"gate", s.Gate, usual.Gate},
		{"tool-cache", s.ToolCache, usual.ToolCache},
		{"no-validate", s.NoValidate, usual.NoValidate},
		{"trusted", s.Trusted, usual.Trusted},
		{"tags", fmt.Sprintf("%q", s.Tags), fmt.Sprintf("%q", usual.Tags)},
		{"tenants", fmt.Sprintf("%q", s.Tenants), fmt.Sprintf("%q", usual.Tenants)},
	} {
		if f.is != f.was {
			fmt.Fprintf(b, "  %s %+v\n", f.name, f.is)
		}
	}
	if s.Sandbox != nil {
		fmt.Fprintf(b, "  sandbox read=%q write=%q connect=%d bind=%d\n", s.Sandbox.Read, s.Sandbox.Write, s.Sandbox.Connect, s.Sandbox.Bind)
	}
}

// showOverride shows what holds for a tool.
func showOverride(b *strings.Builder, tool string, o hub.ToolOverride) {
	fmt.Fprintf(b, "  override %q name=%q description=%q", tool, o.Name, o.Description)
	if o.Timeout != 0 {
		fmt.Fprintf(b, " timeout=%s", o.Timeout)
	}
	if o.Retry != nil {
		fmt.Fprintf(b, " retry=%+v", *o.Retry)
	}
	if o.Gate != (hub.Gate{}) {
		fmt.Fprintf(b, " gate=%+v", o.Gate)
	}
	if o.Cache != nil {
		fmt.Fprintf(b, " cache=%s", *o.Cache)
	}
	if o.Messages != (hub.CallMessages{}) {
		fmt.Fprintf(b, " messages=%q", o.Messages)
	}
	b.WriteByte('\n')
}

// showSettings shows what is said about the hub itself.
func showSettings(b *strings.Builder, c *Config) {
	usual := Default(nil)
	for _, f := range []struct {
		name    string
		is, was any
	}{
		{"language", c.Language, usual.Language},
		{"callers", c.Callers, usual.Callers},
		{"store", c.Store, usual.Store},
		{"audit", c.Audit, usual.Audit},
		{"events", c.Events, usual.Events},
		{"traces", c.Traces, usual.Traces},
		{"policy", head(c.Policy), head(usual.Policy)},
		{"approval", c.Approval, usual.Approval},
		{"devices", c.Devices, usual.Devices},
	} {
		if !reflect.DeepEqual(f.is, f.was) {
			fmt.Fprintf(b, "%s %+v\n", f.name, f.is)
		}
	}
	for _, r := range c.Policy.Rules {
		fmt.Fprintf(b, "  %+v\n", r)
	}
}

// head is a policy without its rules.
func head(p hub.Policy) hub.Policy {
	p.Rules = nil
	return p
}

func TestDefault(t *testing.T) {
	var want []hub.Server
	for i, key := range []string{"calculator", "datetime"} {
		want = append(want, hub.Server{
			Key: key, Order: i, Kind: hub.KindBuiltin, Priority: 100, Timeout: 30 * time.Second,
			Enabled: true, AutoStart: true, AutoRestart: true, AutoReconnect: true,
			Retry: hub.Retry{Max: 2, Delay: 2 * time.Second, MaxDelay: 30 * time.Second},
		})
	}
	whole := &Config{
		Servers: want, CacheTTL: time.Hour, Language: message.English,
		Audit:  Audit{Retention: 90 * 24 * time.Hour, Arguments: true, MaxArguments: 4096},
		Events: Events{Retention: 24 * time.Hour}, Traces: Traces{Sample: 1},
		Approval: hub.Approval{Expires: 5 * time.Minute, Hold: 45 * time.Second, Pending: 100},
		Devices:  hub.Devices{Keep: 10 * time.Minute, Timeout: 30 * time.Second, Queue: 16},
	}
	if diff := cmp.Diff(whole, Default([]string{"calculator", "datetime"})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if c := Default(nil); len(c.Servers) != 0 {
		t.Errorf("Default(nil) = %v", c)
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, bytes.Repeat([]byte(" "), maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "there is no such file",
		dir:                        "it is a directory",
		large:                      "it is larger than 8 MiB",
	} {
		c, _, err := Load(path, nil)
		if c != nil || !hub.IsCode(err, message.ConfigUnreadable) {
			t.Errorf("%s: %v, %v", path, c, err)
			continue
		}
		if got := hub.AsError(err).Args; got["path"] != path || got["detail"] != want {
			t.Errorf("%s: args %q, want the path and %q", path, got, want)
		}
	}
}

// TestLargest is a file of just the size that is let through.
func TestLargest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	text := `{"mcpServers":{"a":{"command":"x"}}}`
	text += strings.Repeat(" ", maxFile-len(text))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := Load(path, nil)
	if err != nil || len(c.Servers) != 1 {
		t.Errorf("%v, %v", c, err)
	}
}

func TestDepth(t *testing.T) {
	nested := func(n int) []byte {
		// The strings and comments must neither count nor hide what counts.
		return []byte(`{"x":` + strings.Repeat(`["]]\"]",/*]*/`, n) + strings.Repeat("]", n) + "}")
	}
	if _, _, err := Parse("f", nested(maxDepth-1), nil); err != nil {
		t.Errorf("the deepest: %v", err)
	}
	_, _, err := Parse("f", nested(maxDepth), nil)
	if err == nil || !strings.Contains(err.Error(), "nested more than 64 deep") {
		t.Errorf("one deeper: %v", err)
	}
	if _, _, err := Parse("f", bytes.Repeat([]byte("["), maxFile), nil); err == nil {
		t.Error("eight million brackets were accepted")
	}
}

// TestMany is a file with more to say than anybody reads, in one line, where
// finding each place anew would take minutes.
func TestMany(t *testing.T) {
	text := `{"mcpServers":{"a":{` + strings.Repeat(`"unknwn":1,"unknwn2":1,`, 30_000) + `}}}`
	_, warnings, err := Parse("f", []byte(text), nil)
	problems, ok := errors.AsType[Problems](err)
	if !ok || len(problems) != maxNotes || len(warnings) != 2 {
		t.Fatalf("%d problems, %d warnings", len(problems), len(warnings))
	}
	if last := problems[maxNotes-1].Args["detail"]; !strings.Contains(last, "more problems") {
		t.Errorf("the last problem is %q", last)
	}
}

// TestProblems checks what programs rely on: the values of the error's text,
// and that every problem is found by errors.Is and errors.As.
func TestProblems(t *testing.T) {
	_, _, err := Parse("dir/f.json", []byte("{\"mcpServers\": {\n \"名\": {}, \"b\": 1}}"), nil)
	problems, ok := errors.AsType[Problems](err)
	if !ok || len(problems) != 2 {
		t.Fatalf("%v", err)
	}
	want := message.Args{
		"path": "dir/f.json", "line": "2", "column": "16", // in characters
		"detail": `server "b" must be an object, but is a number`,
	}
	if diff := cmp.Diff(want, problems[1].Args); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, p := range problems {
		if !errors.Is(err, p) {
			t.Errorf("errors.Is does not find %v", p)
		}
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 2 {
		t.Errorf("Error() = %q", err.Error())
	}
}

// TestSecretsInBrokenFiles breaks a good file at every byte in several ways.
// Whatever is then said must not hold the secrets.
func TestSecretsInBrokenFiles(t *testing.T) {
	const secret = "hunter2"
	good := []byte(`{
  // comment
  "mcpServers": {
    "a": {"command": "x", "args": ["-k", "hunter2"], "env": {"K": "hunter2\\x", "L": "${L:-hunter2}"}, "cwd": "/a"},
    "b": {"url": "https://b/?hunter2", "headers": {"H": "hunter2"}, "timeout": "5s"},
    "c": {"type": "external", "command": "https://c/?hunter2", "apiKey": "hunter2", "toolOverrides": {"t": {"description": "hunter2"}}},
    "d": {"command": ["x", "--key=hunter2"], "environment": {"K": "hunter2"}},
  },
  "mcpEndpoint": ["wss://e/?token=hunter2"],
  "xiaozhi": {"endpoints": {"e": {"url": "ws://e/?hunter2"}}, "backends": {"f": {"url": "ws://e/?hunter2", "ota": "http://e/?hunter2", "token": "hunter2"}}},
  "devices": {"websocket": "ws://e/?hunter2", "vision": "http://e/?hunter2", "relay": {"*": "ws://e/?hunter2"}},
  "modelscope": {"apiKey": "hunter2"},
}`)
	if _, warnings, err := Parse("f", good, nil); err != nil || len(warnings) != 0 {
		t.Fatalf("%v, %v", warnings, err)
	}
	check := func(text []byte) {
		_, warnings, err := Parse("f", text, nil)
		if said := fmt.Sprint(warnings, err); strings.Contains(said, secret) {
			t.Errorf("%s\nsays %s", text, said)
		}
	}
	for at := range good {
		check(good[:at])
		check(slices.Concat(good[:at], good[at+1:]))
		for _, c := range []byte("\"\\{}[],:/'\n\x00\xff1a") {
			check(slices.Concat(good[:at], []byte{c}, good[at+1:]))
			check(slices.Concat(good[:at], []byte{c}, good[at:]))
		}
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"comand": "command", "cmd": "cwd", "Command": "command", "URL": "url", "urls": "url", "arg": "args",
		"autostart": "autoStart", "header": "headers", "timeOut": "timeout", "env_file": "envFile", "x": "", "": "",
		"active": "enabled", "servers": "", "enabledd": "enabled", "tpye": "", strings.Repeat("url", 1000): "",
	} {
		if got := nearest(name, ourMembers()); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
	if got := nearest("mcpservers", topMembers()); got != "mcpServers" {
		t.Errorf("nearest(mcpservers) = %q", got)
	}
}

func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, warnings, err := Parse("f", raw, builtins())
		lines := bytes.Count(raw, []byte("\n")) + 1
		for _, w := range warnings {
			if w.Line < 1 || w.Line > lines || w.Column < 1 || w.Detail.String() == "" {
				t.Errorf("warning %v in %d lines", w, lines)
			}
		}
		if err != nil {
			problems, ok := errors.AsType[Problems](err)
			if c != nil || !ok || len(problems) == 0 || len(problems) > maxNotes {
				t.Fatalf("%v, %#v", c, err)
			}
			return
		}
		keys := make(map[string]bool)
		for i, s := range c.Servers {
			if s.Order != i || s.Key == "" || keys[s.Key] || s.Timeout <= 0 || s.Timeout > maxTimeout {
				t.Errorf("server %d: %+v", i, s)
			}
			keys[s.Key] = true
			checkCalls(t, s)
			switch {
			case s.Kind == hub.KindBuiltin:
				if s.Command+s.URL != "" || !slices.Contains(builtins(), s.Key) {
					t.Errorf("%+v", s)
				}
			case s.Kind == hub.KindStdio:
				if s.Command == "" || s.URL != "" || s.Headers != nil || s.Simulated {
					t.Errorf("%+v", s)
				}
			case s.Kind.Remote():
				if s.URL == "" || s.Command != "" || s.Args != nil || s.Env != nil || s.Dir != "" || s.Simulated {
					t.Errorf("%+v", s)
				}
			default:
				t.Errorf("kind %q", s.Kind)
			}
			for tool, o := range s.Rules.Override {
				if o.Name != "" && !isToolName(o.Name) {
					t.Errorf("%s is renamed to %q", tool, o.Name)
				}
			}
		}
		checkGate(t, c.Callers)
		if a := c.Audit; a.Retention < 0 || a.Retention > maxAuditRetention || a.MaxArguments < minMaxArguments || c.Events.Retention <= 0 ||
			c.Traces.Sample < 0 || c.Traces.Sample > 1 || c.Language != message.English && c.Language != message.Chinese {
			t.Errorf("%+v", c)
		}
		for _, key := range builtins() {
			if !keys[key] {
				t.Errorf("no server %q", key)
			}
		}
	})
}

// The names that the hub gives devices and endpoint pairs itself are no aliases.
func TestAliasIsNotTheHubs(t *testing.T) {
	for alias, fits := range map[string]bool{"kitchen": true, "tools": true, "tools-desk": false, "device-ddee01": false} {
		_, _, err := Parse("f.json", []byte(`{"devices":{"aliases":{"aa:bb":"`+alias+`"}}}`), nil)
		if (err == nil) != fits {
			t.Errorf("%s: %v", alias, err)
		}
	}
}
