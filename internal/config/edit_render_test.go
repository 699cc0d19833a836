package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// reread is what the reader makes of a rendered server.
func reread(t *testing.T, s hub.Server) hub.Server {
	t.Helper()
	entry := Render(s)
	text, err := SetServer(nil, s.Key, entry)
	if err != nil {
		t.Fatalf("%s: %v", entry, err)
	}
	c, warnings, err := Parse("rendered.json", text, builtins())
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, w := range warnings {
		if !strings.Contains(w.Detail.String(), "cannot be filled in") { // a fault of the server that was given
			t.Errorf("%s: %v", text, w)
		}
	}
	for _, is := range c.Servers {
		if is.Key == s.Key {
			is.Order = s.Order
			return is
		}
	}
	t.Fatalf("%s holds no server %q", text, s.Key)
	return hub.Server{}
}

// TestRenderGolden writes every server of the reader's tests in our form, and
// reads it again.
func TestRenderGolden(t *testing.T) {
	servers := 0
	for path, text := range goldenFiles(t) {
		c, _, err := Parse(path, text, builtins())
		if err != nil {
			continue
		}
		for _, s := range c.Servers {
			servers++
			if diff := cmp.Diff(s, reread(t, s)); diff != "" {
				t.Errorf("%s, %s: %s (-want +got)\n%s", path, s.Key, Render(s), diff)
			}
		}
	}
	if servers < 20 {
		t.Errorf("only %d servers were tested", servers)
	}
}

func TestRender(t *testing.T) {
	on := usualServer()
	on.Key = "k"
	for _, test := range []struct {
		change func(*hub.Server)
		want   string
	}{
		{func(s *hub.Server) { *s = builtin("calculator") }, `{}`},
		{func(s *hub.Server) { *s = builtin("calculator"); s.AutoStart, s.Preload = false, true }, `{"autoStart":false,"preload":true}`},
		{
			func(s *hub.Server) { s.Kind, s.URL, s.Priority = hub.KindHTTP, "https://h/mcp", hub.PriorityRemote },
			`{"url":"https://h/mcp"}`,
		},
		{
			func(s *hub.Server) { s.Kind, s.URL, s.Priority = hub.KindHTTP, "https://h/sse", hub.PriorityRemote },
			`{"type":"http","url":"https://h/sse"}`,
		},
		{
			func(s *hub.Server) { s.Kind, s.URL, s.Priority = hub.KindSSE, "https://h/sse?k=1", hub.PriorityRemote },
			`{"url":"https://h/sse?k=1"}`,
		},
		{
			func(s *hub.Server) { s.Kind, s.URL, s.Priority = hub.KindWebSocket, "${env:URL}", hub.PriorityRemote },
			`{"type":"ws","url":"${env:URL}"}`,
		},
		{
			func(s *hub.Server) {
				s.Kind, s.URL, s.Priority = hub.KindHTTP, "https://h/mcp", hub.PriorityRemote
				s.AutoStart, s.Preload, s.IdleStop, s.Instances = true, true, 90*time.Second, hub.Instances{Min: 2, Max: 4, Queue: 3}
				s.MaxReconnects, s.Health.Interval, s.Health.Timeout, s.Health.Misses, s.Health.Path = 3, time.Second, time.Minute, 1, "/health"
				s.Breaker, s.ListTTL, s.Pinned = hub.Breaker{Failures: 2, Cooldown: time.Minute}, time.Hour, true
			},
			`{"url":"https://h/mcp","autoStart":true,"preload":true,"cleanupInterval":"1m30s","instances":{"min":2,"max":4,"queue":3},` +
				`"maxReconnectAttempts":3,"healthCheckInterval":"1s","healthCheckTimeout":"1m0s","healthCheckMisses":1,"healthCheckPath":"/health",` +
				`"circuitBreaker":{"failures":2,"cooldown":"1m0s"},"cacheTTL":"1h0m0s","pinned":true}`,
		},
		{
			func(s *hub.Server) {
				s.Kind, s.Command, s.Priority = hub.KindStdio, "c", hub.PriorityLocal
				s.IdleStop, s.Instances, s.Health, s.Breaker, s.ListTTL = 0, hub.Instances{Min: 1, Max: 8, Queue: 1}, hub.Health{}, hub.Breaker{}, 0
				s.Limits = hub.Limits{Memory: 512 << 20, CPU: 1.5, Processes: 20, Files: 256}
				s.Sandbox = &hub.Sandbox{Read: []string{"${userHome}/r"}, Write: []string{"w"}, Connect: []uint16{443, 80}, Bind: []uint16{0}}
				s.DirectNode = true
			},
			`{"command":"c","cleanupInterval":"off","instances":{"max":8},"healthCheckInterval":"off","circuitBreaker":false,"cacheTTL":"off",` +
				`"limits":{"memory":"512MB","cpu":1.5,"processes":20,"files":256},` +
				`"sandbox":{"read":["${userHome}/r"],"write":["w"],"connect":[443,80],"bind":[0]},"directNode":true}`,
		},
		{
			func(s *hub.Server) {
				s.Kind, s.Command, s.Priority, s.Sandbox, s.Breaker.Failures = hub.KindStdio, "c", hub.PriorityLocal, &hub.Sandbox{}, 1
				s.Limits.Memory = 1<<20 + 1
			},
			`{"command":"c","circuitBreaker":{"failures":1},"limits":{"memory":"1048577B"},"sandbox":{}}`,
		},
		{
			func(s *hub.Server) {
				s.Kind, s.Command, s.Priority, s.Pool, s.NoValidate, s.ToolCache = hub.KindStdio, "c", hub.PriorityLocal, "p", true, time.Minute
				s.Retry = hub.Retry{Max: 0, Delay: 0, MaxDelay: time.Minute, Jitter: 0.25}
				s.Gate = hub.Gate{Concurrency: 4, Queue: 0, Rate: 100. / 60, Burst: 2}
				s.Rules.Override = map[string]hub.ToolOverride{
					"a": {Retry: &hub.Retry{Max: 0, MaxDelay: time.Minute, Jitter: 0.25}, Cache: new(time.Duration)},
					"b": {
						Timeout: time.Second, Retry: &hub.Retry{Max: 3, Delay: 2 * time.Minute, MaxDelay: 2 * time.Minute},
						Gate: hub.Gate{Rate: 0.3, Burst: 5}, Messages: hub.CallMessages{Calling: "正在…", Failed: "no"},
					},
				}
			},
			`{"command":"c","pool":"p","retries":0,"retryDelay":"off","maxRetryDelay":"1m0s","retryJitter":0.25,` +
				`"callLimits":{"concurrency":4,"queue":0,"rate":"100/m"},"toolCache":"1m0s","validate":false,` +
				`"toolOverrides":{"a":{"retries":0,"cache":"off"},` +
				`"b":{"timeout":"1s","retries":3,"retryDelay":"2m0s","maxRetryDelay":"2m0s","retryJitter":0,` +
				`"callLimits":{"rate":"18/m","burst":5},"messages":{"calling":"正在…","failed":"no"}}}}`,
		},
		{
			func(s *hub.Server) {
				*s = hub.Server{
					IdleStop: on.IdleStop, Health: on.Health, Breaker: on.Breaker, ListTTL: on.ListTTL, Retry: on.Retry,
					Key: "k", Name: "名 \"n\"", Kind: hub.KindStdio, Command: "c", Args: []string{"<a>", ""}, Dir: "/d",
					Env: map[string]string{"B": "${env:B}", "A": ""}, EnvFile: ".env",
					Priority: 7, Timeout: 90 * time.Second, BareNames: true, PrefixURIs: true,
					Rules: hub.ToolRules{
						Allow: []string{"a"}, Deny: []string{"d"},
						Override: map[string]hub.ToolOverride{"a": {Name: "n", Description: "d"}, "b": {Description: "e"}},
					},
				}
			},
			`{"name":"名 \"n\"","command":"c","args":["<a>",""],"env":{"A":"","B":"${env:B}"},"envFile":".env","cwd":"/d",` +
				`"enabled":false,"autoRestart":false,"autoReconnect":false,"priority":7,"timeout":"1m30s",` +
				`"bareNames":true,"resources":"prefixed","tools":["a"],"denyTools":["d"],` +
				`"toolOverrides":{"a":{"name":"n","description":"d"},"b":{"description":"e"}}}`,
		},
	} {
		s := on
		test.change(&s)
		if got := string(Render(s)); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
		if diff := cmp.Diff(s, reread(t, s)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.want, diff)
		}
	}
}

func TestRelocate(t *testing.T) {
	root := t.TempDir()
	project, err := filepath.Abs(filepath.Join(root, "pro${ject"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(project, ".vscode", "mcp.json")
	s := hub.Server{
		Command: "${workspaceFolder}/run", Args: []string{"${workspaceFolderBasename}", "$${workspaceFolder}", "${input:key}"},
		Env: map[string]string{"F": "${file:key}", "H": "${file:~/key}"}, EnvFile: ".env",
		Dir: "sub", Headers: map[string]string{"A": "Bearer ${file:key}"}, URL: "http://h/${env:X}",
		Sandbox: &hub.Sandbox{Read: []string{"${workspaceFolder}/data", "rel"}, Write: []string{"~/w"}, Connect: []uint16{1}},
	}
	before := fmt.Sprint(s, s.Sandbox)
	got := Relocate(s, path)
	escaped := literal(project)
	want := hub.Server{
		Command: escaped + "/run", Args: []string{literal(filepath.Base(project)), "$${workspaceFolder}", "${input:key}"},
		Env: map[string]string{
			"F": "${file:" + filepath.Join(project, ".vscode", "key") + "}", "H": "${file:~/key}",
		},
		EnvFile: filepath.Join(project, ".env"),
		Dir:     filepath.Join(project, "sub"), Headers: map[string]string{"A": "Bearer ${file:" + filepath.Join(project, ".vscode", "key") + "}"},
		URL:     "http://h/${env:X}",
		Sandbox: &hub.Sandbox{Read: []string{escaped + "/data", "rel"}, Write: []string{"~/w"}, Connect: []uint16{1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if fmt.Sprint(s, s.Sandbox) != before {
		t.Error("the server that was given was changed")
	}
	if diff := cmp.Diff(s, Relocate(s, "mcp.json")); diff != "" {
		t.Errorf("of a file whose place is not known (-want +got)\n%s", diff)
	}
}
