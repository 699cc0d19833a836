package catalog_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a catalog and fails the test if it cannot.
func open(t testing.TB, opt catalog.Options) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// parse parses a description that must be good.
func parse(t testing.TB, raw string) hub.Tool {
	t.Helper()
	tool, err := catalog.ParseTool([]byte(raw))
	if err != nil {
		t.Fatalf("parse %.80s: %v", raw, err)
	}
	return tool
}

// offer makes an offer of small tools with these names.
func offer(t testing.TB, names ...string) hub.Offer {
	t.Helper()
	var o hub.Offer
	for _, name := range names {
		raw := append([]byte(`{"name":`), wire.AppendString(nil, name)...)
		raw = append(raw, `,"inputSchema":{"type":"object"}}`...)
		o.Tools = append(o.Tools, parse(t, string(raw)))
	}
	return o
}

// server is a stdio server with a key, and a command of that name.
func server(key string) hub.Server {
	return hub.Server{Key: key, Kind: hub.KindStdio, Command: key, Enabled: true}
}

// exposed are the exposed names of a snapshot, in order.
func exposed(s *catalog.Snapshot) []string {
	names := []string{}
	for _, e := range s.Entries() {
		names = append(names, e.Exposed)
	}
	return names
}

// instructions are those of the servers of a snapshot that have any, in order.
func instructions(s *catalog.Snapshot) []string {
	var all []string
	for _, share := range s.Shares() {
		if share.Instructions != "" {
			all = append(all, share.Server.Key+": "+share.Instructions)
		}
	}
	return all
}

// list is the decoded page at a cursor.
func list(t testing.TB, c *catalog.Catalog, era protocol.Era, cursor string) (names []string, next string) {
	t.Helper()
	page, err := c.List(era, hub.ListTools, cursor)
	if err != nil {
		t.Fatalf("list at %q: %v", cursor, err)
	}
	var result struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
		NextCursor string `json:"nextCursor"`
	}
	if err := json.Unmarshal(page, &result); err != nil {
		t.Fatalf("page %.100s: %v", page, err)
	}
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names, result.NextCursor
}

// events counts the events that are in a subscription now.
func events(sub *bus.Subscription) int {
	n := 0
	for {
		select {
		case <-sub.C():
			n++
		default:
			return n
		}
	}
}

// record is a log that can be read while it is written.
type record struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// lines counts the lines with a text.
func (r *record) lines(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for line := range strings.Lines(r.text.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (r *record) logger() *slog.Logger { return slog.New(slog.NewTextHandler(r, nil)) }
