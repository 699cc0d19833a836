package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/app"
	"github.com/toolcrib/toolcrib/internal/message"
)

// twoLooks are at a hub whose servers did something in the two seconds between.
func twoLooks() (before, now *sight) {
	began := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	server := func(key, state string) api.Server {
		return api.Server{Key: key, State: state, Since: time.Now().Add(-90 * time.Minute), Instances: 1}
	}
	now = &sight{
		at:      began.Add(time.Hour),
		status:  api.Status{Version: "v1", Started: began, Tools: 12, Sessions: 3, Record: api.RecordStatus{Up: true}},
		servers: []api.Server{server("files", "ready"), server("new", "starting"), server("wait", "idle")},
		stats: api.Stats{
			Operations: map[string]api.Operation{
				"tools/call":             {Count: 100, Total: 507, P50: 4.25, P95: 1500},
				"tools/call.error":       {Count: 5, Total: 5, P50: 1},
				"tools/call files":       {Count: 100, Total: 500, P50: 3.14, P95: 120},
				"tools/call files.error": {Count: 5, Total: 5, P50: 1},
				"tools/call wait":        {Count: 7, Total: 7, P50: 61_000, P95: 3_700_000},
			},
			Resources: api.Resources{
				TotalServers: 3, RunningServers: 1, ActiveProcesses: 6, Uptime: 3600, Memory: 64 << 20, CPU: 10.5, Goroutines: 40, OpenFiles: 21, CacheSize: 12, EmbeddedTools: 10,
			},
		},
		trees: map[string]api.ProcessTree{
			"files": {Server: "files", PIDs: []int{1, 2}, Processes: 5, Memory: 100 << 20, CPU: 13},
			"new":   {Server: "new", PIDs: []int{9}, Processes: 1, Memory: 1 << 20, CPU: 1},
		},
	}
	before = &sight{
		at: now.at.Add(-2 * time.Second), status: now.status, servers: now.servers,
		stats: api.Stats{
			Operations: map[string]api.Operation{"tools/call": {Total: 502}, "tools/call files": {Total: 495}, "tools/call files.error": {Total: 5}},
			Resources:  api.Resources{CPU: 10.25},
		},
		trees: map[string]api.ProcessTree{"files": {PIDs: []int{1, 2}, CPU: 10}, "new": {PIDs: []int{8}, CPU: 0.5}},
	}
	return before, now
}

func TestActivity(t *testing.T) {
	before, now := twoLooks()
	anew := *before
	anew.status.Started = anew.status.Started.Add(-time.Hour)
	for _, test := range []struct {
		before *sight
		width  int
		lang   message.Lang
		want   string
	}{
		{before, 0, message.English, `
Toolcrib v1  up 1h00m, 1 of 3 servers running, 12 tools, 3 sessions
Hub    CPU 12.5%, 64.0 MiB, 40 goroutines, 21 files open, 6 processes of servers
Calls  512, 5.0/s, p50 4.2ms, p95 1.5s, 5 failed
Index  12 tools, 10 of built-in servers

SERVER  STATE         FOR  CALLS  CALLS/S    P50    P95  FAILED     CPU     MEMORY  PROC  INST
files   ● ready     1h30m    505      2.5  3.1ms  120ms       5  150.0%  100.0 MiB     5     1
new     ◐ starting  1h30m      0      0.0      -      -       0       -    1.0 MiB     1     1
wait    ○ idle      1h30m      7      3.5  1m01s  1h01m       0                              1
`},
		{before, 70, message.English, `
Toolcrib v1  up 1h00m, 1 of 3 servers running, 12 tools, 3 sessions
Hub    CPU 12.5%, 64.0 MiB, 40 goroutines, 21 files open, 6 processes of servers
Calls  512, 5.0/s, p50 4.2ms, p95 1.5s, 5 failed
Index  12 tools, 10 of built-in servers

SERVER  STATE       CALLS  CALLS/S    P95  FAILED     CPU     MEMORY
files   ● ready       505      2.5  120ms       5  150.0%  100.0 MiB
new     ◐ starting      0      0.0      -       0       -    1.0 MiB
wait    ○ idle          7      3.5  1h01m       0
`},
		{nil, 34, message.Chinese, `
Toolcrib v1  已运行 1h00m, 1/3 个服务器在运行, 12 个工具, 3 个会话
本体  CPU -, 64.0 MiB, 40 个协程, 打开 21 个文件, 服务器共 6 个进程
调用  512, -/s, p50 4.2ms, p95 1.5s, 5 次失败
索引  12 个工具, 内置服务器 10 个

服务器  状态      CPU       内存
files   ● 就绪      -  100.0 MiB
new     ◐ 启动中    -    1.0 MiB
wait    ○ 待命
`},
		{&anew, 42, message.English, `
Toolcrib v1  up 1h00m, 1 of 3 servers running, 12 tools, 3 sessions
Hub    CPU -, 64.0 MiB, 40 goroutines, 21 files open, 6 processes of servers
Calls  512, -/s, p50 4.2ms, p95 1.5s, 5 failed
Index  12 tools, 10 of built-in servers

SERVER  STATE         P95  CPU     MEMORY
files   ● ready     120ms    -  100.0 MiB
new     ◐ starting      -    -    1.0 MiB
wait    ○ idle      1h01m
`},
	} {
		var out bytes.Buffer
		p := &printer{w: &out, width: test.width, lang: test.lang}
		(&top{}).show(p, now, test.before)
		if got := "\n" + out.String(); got != test.want {
			t.Errorf("in %d columns:\n%s\nwant\n%s", test.width, got, test.want)
		}
	}
}

// That the record cannot be written stands above the servers.
func TestTopTellsOfTheRecord(t *testing.T) {
	_, now := twoLooks()
	now.status.Record.Up = false
	var out bytes.Buffer
	(&top{}).show(&printer{w: &out, lang: message.English}, now, nil)
	if lines := strings.Split(out.String(), "\n"); len(lines) < 6 || !strings.Contains(lines[4], "record of calls cannot be written") || lines[5] != "" {
		t.Errorf("it shows\n%s", out.String())
	}
}

// Connections of callers' own and subscriptions have columns where there are any.
func TestActivityOfCallers(t *testing.T) {
	_, now := twoLooks()
	now.servers[0].Callers, now.servers[2].Subscriptions = 12, 3
	for width, want := range map[int]string{
		0: `
SERVER  STATE         FOR  CALLS  CALLS/S    P50    P95  FAILED  CPU     MEMORY  PROC  INST  OWN  SUBS
files   ● ready     1h30m    505        -  3.1ms  120ms       5    -  100.0 MiB     5     1   12
new     ◐ starting  1h30m      0        -      -      -       0    -    1.0 MiB     1     1
wait    ○ idle      1h30m      7        -  1m01s  1h01m       0                           1          3
`,
		95: `
SERVER  STATE         FOR  CALLS  CALLS/S    P50    P95  FAILED  CPU     MEMORY  PROC  INST
files   ● ready     1h30m    505        -  3.1ms  120ms       5    -  100.0 MiB     5     1
new     ◐ starting  1h30m      0        -      -      -       0    -    1.0 MiB     1     1
wait    ○ idle      1h30m      7        -  1m01s  1h01m       0                           1
`,
	} {
		var out bytes.Buffer
		p := &printer{w: &out, width: width, lang: message.English}
		p.grid(p.columns(now, nil))
		if got := "\n" + out.String(); got != want {
			t.Errorf("in %d columns:%s\nwant%s", width, got, want)
		}
	}
}

// screen is a terminal that tells of each frame.
type screen struct {
	text   bytes.Buffer
	frames chan struct{}
}

func (s *screen) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte(toBegin)) {
		s.frames <- struct{}{}
	}
	return s.text.Write(b)
}

func TestTop(t *testing.T) {
	dir := emptyHome(t)
	a, err := app.New(t.Context(), app.Options{DataDir: dir, Version: "v7", Log: slog.New(slog.DiscardHandler), OnDemand: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := run(t, message.English, "call", "calculator__calculator", "expression=6*7"); code != exitOK {
		t.Fatalf("call: %s", errs)
	}

	t.Run("once", func(t *testing.T) {
		s, out, _ := newTest(t, message.English, "")
		if err := (&top{Interval: time.Second}).Run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Toolcrib v7  up ", "\nCalls  1, -/s, p50 ", "\ncalculator "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing in\n%s", want, out)
			}
		}
	})
	t.Run("operations", func(t *testing.T) {
		s, out, _ := newTest(t, message.English, "")
		if err := (&top{Interval: time.Second, Operations: true}).Run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{" P99\n", "\nserver/start calculator ", "\ntools/call calculator/calculator      1  "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing in\n%s", want, out)
			}
		}
	})
	t.Run("json", func(t *testing.T) {
		s, out, _ := newTest(t, message.English, "")
		s.JSON, s.out.width = true, 80
		if err := (&top{Interval: time.Second}).Run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		var v api.Stats
		if err := json.Unmarshal(out.Bytes(), &v); err != nil || v.Operations["tools/call calculator/calculator"].Total != 1 || v.Resources.Memory == 0 {
			t.Errorf("%v: %s", err, out)
		}
	})
	// Ctrl-C ends it, and the terminal is as it was.
	t.Run("again and again", func(t *testing.T) {
		t.Setenv("TERM", "xterm")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		shown := &screen{frames: make(chan struct{})}
		s := newSession(globals{LogFormat: "text"}, Env{Stdout: shown, Width: 60, Lang: message.English})
		ended := make(chan error, 1)
		go func() { ended <- (&top{Interval: time.Second}).Run(ctx, s) }()
		<-shown.frames
		<-shown.frames
		cancel()
		if err := errors.Join(<-ended, s.stdout.err); err != nil {
			t.Errorf("ends with %v", err)
		}
		text := shown.text.String()
		if !strings.HasPrefix(text, enterScreen+toBegin) || !strings.HasSuffix(text, clearBelow+leaveScreen) {
			t.Errorf("got %q", text)
		}
		frames := strings.Split(text, toBegin)
		if first, second := frames[1], frames[2]; !strings.Contains(first, ", -/s, ") || !strings.Contains(second, ", 0.0/s, ") {
			t.Errorf("got %q and then %q", first, second)
		}
		for line := range strings.SplitSeq(frames[2], "\n") {
			if text, _, ok := strings.Cut(line, clearLine); !ok || width(text) > 60 {
				t.Errorf("the line %q", line)
			}
		}
	})
	t.Run("too often", func(t *testing.T) {
		s, _, _ := newTest(t, message.English, "")
		if err := (&top{Interval: time.Millisecond}).Run(t.Context(), s); ExitCode(err) != exitUsage {
			t.Errorf("got %v", err)
		}
	})
}

func TestTopWithoutAHub(t *testing.T) {
	emptyHome(t)
	s, out, _ := newTest(t, message.English, "")
	s.out.width = 80
	if err := (&top{Interval: time.Second}).Run(t.Context(), s); ExitCode(err) != exitNoHub || out.Len() > 0 {
		t.Errorf("got %v, printed %q", err, out)
	}
}
