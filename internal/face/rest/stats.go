package rest

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
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
	}, func(ctx context.Context, _ *struct{}) (*statsOutput, error) {
		see, err := d.sight(ctx)
		if err != nil {
			return nil, err
		}
		v := statsView(source)
		d.narrowStats(see, &v)
		return &statsOutput{v}, nil
	})
}

// narrowStats leaves of the figures those of servers that whoever asks sees, and to
// a tenant those of its own: in all others are the calls of others.
func (d *Door) narrowStats(see *sight, v *api.Stats) {
	if see.who.Hubwide() && (!see.view.Narrow() || see.all && see.who.Scope == "") {
		return // nothing is anybody else's, or all is for it
	}
	own, running := make(map[string]bool), 0
	servers := d.seen(see)
	for i := range servers {
		s := &servers[i]
		own[s.Definition.Key] = see.owns(&s.Definition)
		if s.Status.State.Running() {
			running++
		}
	}
	inScope := hub.Scope(see.who.Scope).Servers()
	maps.DeleteFunc(v.Operations, func(name string, _ api.Operation) bool {
		_, of, named := strings.Cut(strings.TrimSuffix(name, ".error"), " ")
		if !named {
			return !see.who.Hubwide() || inScope != nil
		}
		for key := range own {
			if own[key] && (of == key || strings.HasPrefix(of, key+"/")) {
				return false
			}
		}
		return true
	})
	v.Processes = slices.DeleteFunc(v.Processes, func(t api.ProcessTree) bool { return !own[t.Server] })
	v.Resources.TotalServers, v.Resources.RunningServers = len(servers), running
	v.Resources.ActiveProcesses, v.Resources.EmbeddedTools, v.Resources.CacheSize = len(v.Processes), 0, len(see.view.Tools())
	if !see.who.Hubwide() {
		v.Resources.Memory, v.Resources.CPU, v.Resources.Goroutines, v.Resources.OpenFiles = 0, 0, 0, 0
	}
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
