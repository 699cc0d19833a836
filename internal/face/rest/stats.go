package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/stats"
)

type statsOutput struct{ Body api.Stats }

// stats registers what was measured.
func (d *Door) stats(source *stats.Stats) {
	add(d, operation{
		id: "getStats", method: http.MethodGet, path: "/stats", group: aboutHub, summary: "What was measured",
		about: "How long operations take, by the last hundred of each, and what the hub and the processes of its servers take. " +
			"The operations are `tools/call` (all), `tools/call {server}`, `tools/call {server}/{tool}` and `server/start {server}`; " +
			"those that did not succeed are apart, under the name with `.error`. Percentiles are by nearest rank. " +
			"Processes are looked at once a second at most.",
	}, func(context.Context, *struct{}) (*statsOutput, error) { return &statsOutput{statsView(source)}, nil })
}

func statsView(source *stats.Stats) api.Stats {
	r, trees := source.Resources()
	v := api.Stats{
		Operations: map[string]api.Operation{},
		Resources: api.Resources{
			TotalServers: r.Servers, RunningServers: r.Running, ActiveProcesses: r.Processes,
			EmbeddedTools: r.Embedded, CacheSize: r.Known, Uptime: int64(r.Uptime / time.Second),
			Memory: r.RSS, CPU: r.CPU, Goroutines: r.Goroutines, OpenFiles: r.OpenFiles,
		},
		Processes: []api.ProcessTree{},
	}
	for name, o := range source.Operations() {
		v.Operations[name] = api.Operation{
			Count: o.Count, Total: o.Total, Avg: milliseconds(o.Avg), Min: milliseconds(o.Min), Max: milliseconds(o.Max),
			P50: milliseconds(o.P50), P95: milliseconds(o.P95), P99: milliseconds(o.P99),
		}
	}
	for _, t := range trees {
		v.Processes = append(v.Processes, api.ProcessTree{
			Server: t.Server, PIDs: t.PIDs, Processes: t.Processes, Memory: t.RSS, CPU: t.CPU,
		})
	}
	return v
}
