package app_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/app"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kept is what several goroutines write.
type kept struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Write(p)
}

func (k *kept) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.String()
}

// talkative is a remote server that tells what it was shown to whoever listens,
// and fails when it is called.
func talkative(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m) // a GET has none
		shown := r.Header.Get("Authorization") + " " + r.URL.RawQuery
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "planted-upstream-session")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":%q,"version":"1"}}}`, m.ID, shown)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"tell","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}`, m.ID)
		case "tools/call":
			http.Error(w, "refused "+shown, http.StatusForbidden)
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// get is an answer of the hub.
func get(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// files is all that is in a directory.
func files(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil || all.Len() == 0 {
		t.Errorf("%s: %v", dir, err)
	}
	return all.String()
}

// Of what is secret in the configuration, in requests and in what servers say,
// nothing is in the log, whatever its level, and nothing in the traces; and what
// is there says on whose behalf.
func TestNoSecretIsTold(t *testing.T) {
	for _, name := range []string{"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_TRACES_SAMPLER"} {
		t.Setenv(name, "")
	}
	t.Setenv("PLANTED_ENV", "planted-by-variable")
	traces := &kept{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(body)
		}
		_, _ = io.Copy(traces, body)
		fmt.Fprintf(traces, "\nshown %s\n", r.Header.Get("X-Api-Key"))
	}))
	t.Cleanup(collector.Close)

	dir, log := t.TempDir(), &kept{}
	file := filepath.Join(dir, "toolcrib.json")
	config := `{
  "mcpServers": {
    "far": {"type": "http", "url": "` + talkative(t) + `/?token=planted-in-url", "headers": {"Authorization": "Bearer planted-in-header"}, "retries": 0},
    "near": {"command": "/nowhere/at/all", "args": ["--token=planted-in-args"], "env": {"API_KEY": "planted-in-env", "OTHER_KEY": "${env:PLANTED_ENV}"}}
  },
  "telemetry": {"traces": {"endpoint": "` + collector.URL + `", "headers": {"X-Api-Key": "planted-for-collector"}}}
}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), app.Options{
		Config: file, Strict: true, Listen: "127.0.0.1:0", DataDir: filepath.Join(dir, "data"), Version: "v1",
		Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true})),
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	const traced = "0af7651916cd43dd8448eb211c80319c"
	call := func(id, tool, arguments string) string {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `,"_meta":{
			"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{},
			"traceparent":"00-` + traced + `-b7ad6b7169203331-01"}}}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL()+"/mcp?secret=planted-in-query", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "X-Request-Id": id,
			"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool, "Cookie": "planted-in-cookie",
		} {
			r.Header.Set(name, value)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		if resp.Header.Get("X-Request-Id") != id {
			t.Errorf("the answer is to %q", resp.Header.Get("X-Request-Id"))
		}
		return string(text)
	}
	if got := call("request-1", "calculator__calculator", `{"expression":"6*7"}`); !strings.Contains(got, "42") {
		t.Errorf("calculator: %s", got)
	}
	if got := call("request-2", "far__tell", `{"password":"planted-in-arguments"}`); !strings.Contains(got, "error") {
		t.Errorf("far: %s", got)
	}
	call("request-3", "near__x", `{}`)
	figures := get(t, client, a.URL()+"/metrics")
	for _, want := range []string{
		`toolcrib_record_up 1`, `toolcrib_record_lost_total 0`, `toolcrib_event_listeners 0`, `toolcrib_trace_spans_total{result="lost"} 0`,
		`toolcrib_calls_total{outcome="ok",server="calculator",tool="calculator"} 1`, `toolcrib_call_retries_total{server="far"} 0`,
		`toolcrib_arguments_total{result="accepted"} 1`,
	} {
		if !strings.Contains(figures, "\n"+want+"\n") {
			t.Errorf("%s is missing in\n%s", want, regexp.MustCompile(`(?m)^toolcrib_(record|event|trace|call|arg).*`).FindAllString(figures, -1))
		}
	}
	if !regexp.MustCompile(`(?m)^toolcrib_call_errors_total\{class="[a-z]+",code="[a-z_]+"\} [12]$`).MatchString(figures) {
		t.Error("no error was counted")
	}
	answers := figures + get(t, client, a.URL()+"/api/v1/servers") + get(t, client, a.URL()+"/api/v1/calls") + get(t, client, a.URL()+"/readyz")
	stop()

	for what, text := range map[string]string{
		"log": log.String(), "traces": strings.ReplaceAll(traces.String(), "shown planted-for-collector\n", ""), "answers": answers,
		"data": files(t, filepath.Join(dir, "data")),
	} {
		if found := regexp.MustCompile(`.{0,200}planted.{0,60}`).FindString(text); found != "" {
			t.Errorf("the %s: %s", what, found)
		}
	}
	if !strings.Contains(traces.String(), "shown planted-for-collector") || !strings.Contains(traces.String(), "tools/call far__tell") ||
		!strings.Contains(traces.String(), "tools/call calculator__calculator") {
		t.Errorf("the collector got nothing of the calls, or not with its header: %q", traces)
	}
	var seen []string
	for line := range strings.Lines(log.String()) {
		var said struct{ Msg, Request, Call, Trace, Level string }
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if said.Msg == "request" {
			seen = append(seen, said.Request)
		}
		if said.Msg == "a call failed" && (said.Request != "request-2" || said.Call == "" || said.Trace != traced) {
			t.Errorf("a call failed for nobody: %s", line)
		}
	}
	if !slices.Contains(seen, "request-1") || !slices.Contains(seen, "request-2") || !strings.Contains(log.String(), `"a call failed"`) {
		t.Errorf("requests %q are in the log:\n%s", seen, log)
	}
}
