//go:build linux

package record

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/datadir"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// What the caller of a call may have been told, besides the code of an error.
const (
	told    = "ok"
	toldCut = "cut" // nothing: the connection ended
)

// lab is a data directory, in which one hub lives after the other, and the servers
// that they call.
type lab struct {
	t      *testing.T
	data   datadir.Layout
	config string
	tally  string        // in which the servers count what they do
	store  store.Options // where the record is
	client *http.Client

	mu   sync.Mutex
	told map[string]string // what a caller was told, by the text of its call
	book book
}

// newLab makes a lab with two servers that do their work and count it: "far",
// which outlives the hubs, and "near", which each hub starts. more are members of
// the configuration.
func newLab(t *testing.T, opt store.Options, more map[string]any, servers ...rig.Server) *lab {
	t.Helper()
	rig.Long(t)
	l := &lab{
		t: t, data: datadir.Layout(t.TempDir()), tally: filepath.Join(t.TempDir(), "tally"), store: opt, told: make(map[string]string),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute},
	}
	t.Cleanup(l.client.CloseIdleConnections)
	must(t, os.WriteFile(l.tally, nil, 0o600))
	_, url := rig.StartFaultServer(t, "127.0.0.1:0", "-tally", l.tally)
	servers = append(servers, rig.HTTP("far", url), rig.Stdio("near", rig.FaultServer(t), "-tally", l.tally).With("env", map[string]string{"GORACE": "atexit_sleep_ms=0"}))
	l.configure(more, servers...)
	l.book = newBook()
	return l
}

// configure writes the configuration file.
func (l *lab) configure(more map[string]any, servers ...rig.Server) {
	l.t.Helper()
	entries := make(map[string]any, len(servers))
	for _, s := range servers {
		entries[s.Key] = s.Entry
	}
	all := map[string]any{"mcpServers": entries, "policy": json.RawMessage(rig.Observed)}
	maps.Copy(all, more)
	if l.store.URL != "" && all["store"] == nil {
		all["store"] = map[string]any{"url": l.store.URL}
	}
	if l.store.URL == "" {
		l.store.Path = l.data.Store()
	}
	text, err := json.MarshalIndent(all, "", "  ")
	must(l.t, err)
	if l.config == "" {
		l.config = filepath.Join(l.t.TempDir(), "toolcrib.json")
	}
	must(l.t, os.WriteFile(l.config, text, 0o600))
}

// start starts a hub.
func (l *lab) start() *rig.Hub {
	l.t.Helper()
	return rig.Serve(l.t, nil, "--config", l.config, "--listen", "127.0.0.1:0", "--data-dir", l.data.Path())
}

// call makes a call and returns what its caller is told: "ok", a code, or "cut".
// Callers of both doors are alike.
func (l *lab) call(url string, overMCP bool, tool string, arguments map[string]any) string {
	answer, _ := l.ask(context.Background(), url, overMCP, tool, arguments)
	if text, ok := arguments["text"].(string); ok {
		l.mu.Lock()
		l.told[text] = answer
		l.mu.Unlock()
	}
	return answer
}

// ask is call for those who want to read the answer, and tell nobody.
func (l *lab) ask(ctx context.Context, url string, overMCP bool, tool string, arguments map[string]any) (answer, body string) {
	path, params := "/api/v1/calls", map[string]any{"tool": tool, "arguments": arguments, "session": "with " + tool}
	if overMCP {
		path, params = "/mcp", map[string]any{
			"jsonrpc": "2.0", "id": 1, "method": "tools/call",
			"params": map[string]any{"name": tool, "arguments": arguments, "_meta": map[string]any{
				"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
				"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "record", "version": "1"},
				"io.modelcontextprotocol/clientCapabilities": map[string]any{},
			}},
		}
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return err.Error(), ""
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, bytes.NewReader(raw))
	if err != nil {
		return err.Error(), ""
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if overMCP {
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", "tools/call")
		req.Header.Set("Mcp-Name", tool)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return toldCut, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return toldCut, err.Error()
	}
	return reading(text), string(text)
}

// reading is what an answer tells.
func reading(text []byte) string {
	if _, data, ok := bytes.Cut(text, []byte("data: ")); ok { // an event stream
		text, _, _ = bytes.Cut(data, []byte("\n"))
	}
	var m struct {
		Code   string          `json:"code"` // of a problem document
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Message string
			Data    struct{ Code string }
		} `json:"error"`
	}
	switch err := json.Unmarshal(text, &m); {
	case err != nil:
		return toldCut // half of an answer is none
	case m.Error != nil && m.Error.Data.Code != "":
		return m.Error.Data.Code
	case m.Error != nil:
		return m.Error.Message
	case m.Result == nil && m.Code == "":
		return fmt.Sprintf("%.200s", text)
	case m.Result == nil:
		return m.Code
	}
	return told
}

// done is how often each text was worked at.
func (l *lab) done() map[string]int {
	l.t.Helper()
	text, err := os.ReadFile(l.tally)
	must(l.t, err)
	all := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		if work, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "work "); ok {
			all[work]++
		}
	}
	return all
}

// work are the arguments of the tool that counts.
func work(text string, ms int) map[string]any { return map[string]any{"text": text, "ms": ms} }

// whatWasTold is what the caller of a text was told, "" if nothing yet.
func (l *lab) whatWasTold(text string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.told[text]
}
