package rest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/stats"
)

// What was measured has the names and the units that programs know.
func TestStats(t *testing.T) {
	figures := stats.New(stats.Options{
		Bus: &bus.Bus{}, Started: time.Now().Add(-time.Hour),
		Servers: func() []hub.Status {
			return []hub.Status{{Key: "files", State: hub.StateReady, PIDs: []int{7, 8}}, {Key: "off", State: hub.StateDisabled}}
		},
		Tools: func() (int, int) { return 9, 4 },
		Measure: func(map[string][]int) map[string]stats.Usage {
			return map[string]stats.Usage{"files": {Processes: 3, RSS: 4096, CPU: 1.5}}
		},
	})
	for _, took := range []time.Duration{1500 * time.Microsecond, 2 * time.Second} {
		figures.Observe(hub.CallRecord{Server: "files", Tool: "read", Outcome: hub.OutcomeOK, Duration: took})
	}
	figures.Observe(hub.CallRecord{Server: "files", Tool: "read", Outcome: hub.OutcomeToolError, Duration: time.Millisecond})

	everything, err := catalog.Open(catalog.Options{})
	must(t, err)
	door := httptest.NewServer(New(Options{Stats: figures, Catalog: everything}))
	defer door.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, door.URL+api.Base+"/stats", http.NoBody)
	must(t, err)
	resp, err := door.Client().Do(req)
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	var v api.Stats
	must(t, json.Unmarshal(text, &v))
	good := api.Operation{Count: 2, Total: 2, Avg: 1000.75, Min: 1.5, Max: 2000, P50: 1.5, P95: 2000, P99: 2000}
	bad := api.Operation{Count: 1, Total: 1, Avg: 1, Min: 1, Max: 1, P50: 1, P95: 1, P99: 1}
	if want := map[string]api.Operation{
		"tools/call": good, "tools/call files": good, "tools/call files/read": good,
		"tools/call.error": bad, "tools/call files.error": bad, "tools/call files/read.error": bad,
	}; !reflect.DeepEqual(v.Operations, want) {
		t.Errorf("got  %+v\nwant %+v", v.Operations, want)
	}
	if want := []api.ProcessTree{{Server: "files", PIDs: []int{7, 8}, Processes: 3, Memory: 4096, CPU: 1.5}}; !reflect.DeepEqual(v.Processes, want) {
		t.Errorf("got %+v", v.Processes)
	}
	var names struct {
		Operations map[string]map[string]any `json:"operations"`
		Resources  map[string]float64        `json:"resources"`
	}
	must(t, json.Unmarshal(text, &names))
	for _, name := range []string{"count", "avg", "min", "max", "p50", "p95", "p99"} {
		if names.Operations["tools/call"][name] == nil {
			t.Errorf("an operation has no %s: %s", name, text)
		}
	}
	for name, want := range map[string]float64{
		"total_servers": 2, "running_servers": 1, "active_processes": 3, "embedded_tools": 4, "cache_size": 9,
	} {
		if got, ok := names.Resources[name]; !ok || got != want {
			t.Errorf("%s is %v, %v", name, got, ok)
		}
	}
	if up := names.Resources["uptime"]; up < 3600 || up > 3660 {
		t.Errorf("the uptime is %v s", up)
	}
	if names.Resources["memory_bytes"] < 1<<20 || names.Resources["goroutines"] < 2 || names.Resources["open_files"] < -1 {
		t.Errorf("of itself the hub says %v", names.Resources)
	}
}
