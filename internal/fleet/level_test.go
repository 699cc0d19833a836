package fleet

import (
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Lines as servers and what runs them write them.
func TestLevelOf(t *testing.T) {
	const (
		debug = hub.LevelDebug
		info  = hub.LevelInfo
		warn  = hub.LevelWarning
		fault = hub.LevelError
	)
	for line, want := range map[string]hub.LogLevel{
		"": info, "   ": info, "Server running on stdio": info, "0": info, "{": info, "[": info, "=": info, "npm": info,

		// JSON: pino, bunyan, zap, slog, Google Cloud, Python, ECS, hclog, Serilog.
		`{"level":10,"msg":"x"}`: debug, `{"level":20,"time":1}`: debug, `{"level":30}`: info, `{"time":1,"level": 40,"msg":"x"}`: warn,
		`{"level":50}`: fault, `{"level":60}`: fault, `{"level":3}`: info, `{"level":"warn"}`: warn, `{"level":"30"}`: info,
		`{"time":"2026-11-21T10:00:00Z","level":"ERROR","msg":"x"}`: fault, `{"level":"WARN+2"}`: warn, `{"severity":"WARNING"}`: warn,
		`{"levelname": "CRITICAL"}`: fault, `{"@timestamp":"x","log.level":"error"}`: fault, `{"@level":"debug"}`: debug, `{"@l":"Warning"}`: warn,
		`{"msg":"a \"level\":\"error\" in it","severity":"info"}`: info, `{"level":null,"severity":"error"}`: fault, `{"levels":["error"]}`: info,
		`{"level":"error","message":"cut in the mid`: fault, `{"msg":"ERROR"}`: info, `{"level":99999999999999999999}`: info,

		// Key and value: logrus, slog, go-kit, go-ethereum.
		`time="2026-11-21T10:00:00Z" level=warning msg="low"`: warn, `time=2026-11-21T10:00:00Z level=INFO msg="no ERROR here"`: info,
		`ts=1 caller=a.go:1 level=error err="x"`: fault, `level=debug`: debug, `lvl=eror msg=x`: fault, `msg="a b" level="error"`: fault,
		`a=b sublevel=error`: info, `level=`: info,

		// Before the message: in brackets, in capitals, before a colon.
		"[ERROR] x": fault, "[error] x": fault, "[Warning] x": warn, "[debug] x": debug, "<warn> x": warn, "[ERROR]: x": fault, "[INFO][x] y": info,
		"ERROR: x": fault, "WARN x": warn, "INFO x": info, "DEBUG x": debug, "TRACE x": debug, "error: x": fault, "Warning: x": warn, "CRITICAL x": fault,
		"2026/11/21 10:00:00 ERROR x": fault, "2026-11-21 10:00:00,123 - weather - ERROR - x": fault, "2026-11-21 10:00:00,123 | WARNING | x": warn,
		"2026-11-21T10:00:00.123456Z  WARN rmcp::service: x": warn, "[2026-11-21T10:00:00Z ERROR crate::main] x": fault,
		"2026-11-21T10:00:00.000Z\tERROR\tmain.go:1\tx": fault, "2026-11-21 10:00:00 [main] ERROR com.example.App - x": fault,
		"[11/21/26 10:00:00] WARNING  a warning           server.py:5": warn, "10:00AM WRN x": warn, "10:00AM DBG x": debug, "WARN[0000] x": warn,
		"Sat Nov 21 10:00:00 2026 error: x": fault, "2026/11/21 10:00:00 [crit] 12#0: x": fault, "[10:00:00.123] ERROR (42): x": fault,
		"INFO:     Started server process [1]": info, "WARNING:root:x": warn, "ERROR:mcp.server:x": fault, "DEBUG:asyncio:Using selector": debug,
		"fail: Microsoft.Hosting[0]": fault, "dbug: x": debug, "app: error: x": fault, "❌ Error: x": fault, "[E 2026-11-21 10:00:00 App] x": fault,
		"[W] x": warn, "WARN+1 x": warn,

		// glog.
		"E1121 10:00:00.123456       1 a.go:1] x": fault, "W1121 10:00:00.1 1 a.go:1] x": warn, "I20261121 10:00:00.1 1 a.cc:1] x": info,
		"F1121 10:00:00.1 1 a.go:1] x": fault, "E1121 is a number": info, "X1121 10:00:00": info,

		// npm, uv, Node.js, Python, Go, Rust.
		"npm warn deprecated x": warn, "npm WARN x": warn, "npm ERR! code E404": fault, "npm error code E404": fault, "npm notice x": info,
		"npm http fetch": info, "error: Failed to fetch": fault, "warning: `VIRTUAL_ENV` is ignored": warn, "error An unexpected error": fault,
		"(node:42) Warning: x": warn, "(node:42) [DEP0040] DeprecationWarning: x": warn, "TypeError: x is not a function": fault,
		"Error [ERR_MODULE_NOT_FOUND]: x": fault, "TypeError [ERR_X]: x": fault, "Traceback (most recent call last):": fault,
		"requests.exceptions.ConnectionError: x": fault, "/a/b.py:3: UserWarning: x": warn, "java.lang.RuntimeException: x": fault,
		"panic: x": fault, "fatal error: all goroutines are asleep": fault, "thread 'main' panicked at src/main.rs:1:1:": fault,

		// What only speaks of errors.
		"no ERROR found": info, "Errors: 0": info, "error_count 0": info, "INFO.md is read": info, "ERROR_LOG is unset": info, "debug mode": info,
		"0 errors, 0 warnings": info, "connected to error.example": info, "Listening, warn: later": info, "DEBUG=1 ERROR": info,
		"information is power": info, "verbose output is off": info,
	} {
		if got := levelOf(hub.LogStderr, line); got != want {
			t.Errorf("%q is %s, want %s", line, got, want)
		}
	}
	for line, want := range map[string]hub.LogLevel{
		"starting": info, "ready, 3 tools": info, "stopped": info, "given up: x": fault, "crashed: x": fault,
		"away: x Tried again in 5s.": warn, "degraded": warn, "warning: x": warn,
	} {
		if got := levelOf(hub.LogHub, line); got != want {
			t.Errorf("the hub's %q is %s, want %s", line, got, want)
		}
	}
	if got := levelOf(hub.LogJunk, "DEBUG x"); got != warn {
		t.Errorf("junk is %s", got)
	}
	if got := levelOf(hub.LogServer, "odd: x"); got != info {
		t.Errorf("what says nothing is %s", got)
	}
}

// A line has the level that it was noted with or else, as one of the hub's own
// always, the one that it speaks of.
func TestLevelsAreKept(t *testing.T) {
	var b book
	b.note(hub.LogServer, hub.LevelError, "info: x")
	b.note(hub.LogStderr, "", "WARN x")
	b.add("given up: x")
	lines, _ := b.after(0)
	for i, want := range []hub.LogLevel{hub.LevelError, hub.LevelWarning, hub.LevelError} {
		if lines[i].Level != want {
			t.Errorf("%q is kept as %s, want %s", lines[i].Text, lines[i].Level, want)
		}
	}
}

// Whatever a server writes has one of the levels, and what follows the head of a
// line does not change it.
func FuzzLevelOf(f *testing.F) {
	for _, line := range []string{
		"", "[E", "E1121 1:", `{"level":`, `{"level":"`, "level=", "npm ERR!", "\x00\xff ERROR", strings.Repeat("[", 300), strings.Repeat("1 ", 300) + "ERROR",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, source := range []hub.LogSource{hub.LogStderr, hub.LogServer, hub.LogHub, hub.LogJunk} {
			switch got := levelOf(source, line); got {
			case hub.LevelDebug, hub.LevelInfo, hub.LevelWarning, hub.LevelError:
			default:
				t.Errorf("%s: %q is %q", source, line, got)
			}
		}
		head := strings.TrimSpace(line)
		if len(head) < headBytes || head[0] == '{' || strings.Contains(head, "=") || strings.HasPrefix(head, "thread '") {
			return
		}
		if a, b := levelOf(hub.LogStderr, head), levelOf(hub.LogStderr, head+" ERROR: x"); a != b {
			t.Errorf("%q is %s, and with more behind it %s", head, a, b)
		}
	})
}

func BenchmarkLevelOf(b *testing.B) {
	line := `{"time":"2026-11-21T10:00:00Z","msg":"` + strings.Repeat("x", 4<<10) + `"}`
	for b.Loop() {
		levelOf(hub.LogStderr, line)
	}
}
