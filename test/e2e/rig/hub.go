package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Server is one entry of a configuration's "mcpServers".
type Server struct {
	Key   string
	Entry map[string]any
}

// Stdio is a server that the hub starts.
func Stdio(key, command string, args ...string) Server {
	return Server{key, map[string]any{"command": command, "args": append([]string{}, args...)}}
}

// HTTP is a server that the hub reaches.
func HTTP(key, url string) Server {
	return Server{key, map[string]any{"url": url}}
}

// With returns the server with one more member in its entry.
func (s Server) With(name string, value any) Server {
	entry := map[string]any{name: value}
	for k, v := range s.Entry {
		if k != name {
			entry[k] = v
		}
	}
	return Server{s.Key, entry}
}

// Observed is the policy of tests that are not about it: calls are judged at every
// door, and none waits for a person.
const Observed = `{"modes": {"rest": "observe", "mcp": "observe", "sse": "observe", "ws": "observe", "stdio": "observe"}}`

// WriteConfig writes a configuration file with the servers, in that order, and with
// the policy [Observed], and returns its path.
func WriteConfig(tb testing.TB, servers ...Server) string {
	tb.Helper()
	var b bytes.Buffer
	b.WriteString(`{"mcpServers": {`)
	for i, s := range servers {
		if i > 0 {
			b.WriteByte(',')
		}
		entry, err := json.Marshal(s.Entry)
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintf(&b, "\n  %q: %s", s.Key, entry)
	}
	b.WriteString("\n},\n\"policy\": " + Observed + "}\n")
	path := filepath.Join(tb.TempDir(), "toolcrib.json")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Hub is a hub that runs as a process of its own.
type Hub struct {
	*Process
	Door
	DataDir string
}

// Door is where a hub serves.
type Door struct {
	tb  testing.TB
	URL string // without a path
}

// NewDoor returns the door of a hub that serves at the URL.
func NewDoor(tb testing.TB, url string) Door { return Door{tb, url} }

// readyLine is what the hub prints once it serves. Scripts wait for it as
// well, so that its form is part of what is tested.
var readyLine = regexp.MustCompile(
	`^Toolcrib \S+ is ready\.(?: MCP: (https?://\S+)/mcp  Health: \S+/readyz )? Servers: \d+  Data: (.+)$`)

// StartHub starts a hub with the servers, on a free port and with a data
// directory of its own, and returns as soon as it serves: its servers may
// still be on their way.
func StartHub(tb testing.TB, servers ...Server) *Hub {
	tb.Helper()
	return StartHubIn(tb, tb.TempDir(), servers...)
}

// StartHubIn is StartHub with a given data directory.
func StartHubIn(tb testing.TB, dataDir string, servers ...Server) *Hub {
	tb.Helper()
	return Serve(tb, nil, "--config", WriteConfig(tb, servers...), "--listen", "127.0.0.1:0", "--data-dir", dataDir)
}

// Serve starts a hub with the environment and flags, and returns as soon as it
// serves. It logs everything.
func Serve(tb testing.TB, env []string, flags ...string) *Hub {
	tb.Helper()
	p := Spawn(tb, env, HubBinary(tb), append([]string{"serve", "--log-level", "debug"}, flags...)...)
	line, _ := p.Line()
	m := readyLine.FindStringSubmatch(line)
	if m == nil {
		p.Stop()
		tb.Fatalf("the hub did not say that it is ready but %q; its standard error:\n%s", line, tail(p.Stderr()))
	}
	return &Hub{Process: p, Door: NewDoor(tb, m[1]), DataDir: m[2]}
}

// MCP is the hub's endpoint.
func (d Door) MCP() string { return d.URL + "/mcp" }

// WebSocket is the hub's endpoint for WebSockets.
func (d Door) WebSocket() string { return "ws" + strings.TrimPrefix(d.URL, "http") + "/ws/mcp" }

// Health is what /readyz says.
type Health struct {
	HTTPStatus int    `json:"-"`
	Status     string `json:"status"`
	Config     struct {
		Path    string   `json:"path"`
		Reasons []string `json:"reasons"`
	} `json:"config"` // only if the configuration file is not in force
	Servers []struct {
		Key    string    `json:"key"`
		State  string    `json:"state"`
		Since  time.Time `json:"since"`
		Tools  int       `json:"tools"`
		Code   string    `json:"code"`
		Reason string    `json:"reason"`
		Remedy string    `json:"remedy"`
	} `json:"servers"`
}

// State is the state of one server, "" if there is none with the key.
func (h Health) State(key string) string {
	for _, s := range h.Servers {
		if s.Key == key {
			return s.State
		}
	}
	return ""
}

// Health asks the hub for /readyz.
func (d Door) Health() Health {
	d.tb.Helper()
	req, err := http.NewRequestWithContext(d.tb.Context(), http.MethodGet, d.URL+"/readyz", http.NoBody)
	if err != nil {
		d.tb.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.tb.Fatal(err)
	}
	defer resp.Body.Close()
	health := Health{HTTPStatus: resp.StatusCode}
	if err := json.NewDecoder(resp.Body).Decode(&health); err != nil {
		d.tb.Fatalf("read /readyz: %v", err)
	}
	return health
}

// AwaitState waits until the server is in the state.
func (d Door) AwaitState(key, state string) {
	d.tb.Helper()
	last := ""
	Await(d.tb, fmt.Sprintf("server %s is %s", key, state), func() bool {
		if now := d.Health().State(key); now != last {
			d.tb.Logf("server %s is %s", key, now)
			last = now
		}
		return last == state
	})
}

// AwaitReady waits until every server is ready that is enabled.
func (d Door) AwaitReady() {
	d.tb.Helper()
	Await(d.tb, "every server is ready", func() bool {
		for _, s := range d.Health().Servers {
			if s.State != "ready" && s.State != "disabled" {
				return false
			}
		}
		return true
	})
}
