package app

import (
	"context"
	"net/http"
	"time"

	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/proc"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/stats"
	"github.com/toolcrib/toolcrib/internal/telemetry"
)

// remembered is how many of the calls of before the start tell how long a tool
// usually takes.
const remembered = 500

// measure makes the figures of what there is.
func (a *App) measure(ctx context.Context) *stats.Stats {
	return stats.New(stats.Options{
		Bus: a.bus, Started: a.started, History: a.history(ctx), Servers: a.fleet.Status,
		Tools: func() (known, embedded int) {
			for _, e := range a.catalog.Snapshot().Entries() {
				known++
				if e.Server.Kind == hub.KindBuiltin {
					embedded++
				}
			}
			return known, embedded
		},
		Measure: func(leaders map[string][]int) map[string]stats.Usage {
			all := make(map[string]stats.Usage, len(leaders))
			for server, u := range proc.Measure(leaders) {
				all[server] = stats.Usage(u)
			}
			return all
		},
	})
}

// history is this hub's calls of before the start, newest first. Without them
// the figures begin with nothing.
func (a *App) history(ctx context.Context) []hub.CallRecord {
	page, err := a.audit.Query(ctx, audit.Filter{
		Method: protocol.MethodToolsCall, Node: a.audit.Node(),
		Outcomes: []hub.Outcome{hub.OutcomeOK, hub.OutcomeToolError, hub.OutcomeFailed, hub.OutcomeCancelled, hub.OutcomeUnknown},
	}, "", remembered)
	if err != nil {
		a.log.WarnContext(ctx, "calls of before the start cannot be read; how long tools take is not known yet", "error", err)
		return nil
	}
	all := make([]hub.CallRecord, len(page.Calls))
	for i := range page.Calls {
		all[i] = page.Calls[i].CallRecord
	}
	return all
}

// metrics is the page that Prometheus reads.
func (a *App) metrics() http.Handler {
	opt := telemetry.Options{
		Errors: a.tally.Errors, Verdicts: a.tally.Verdicts, Approvals: a.asking, Queues: a.queues, Cache: a.caches, Checks: a.checks,
		Record: a.recording, Events: a.publishing, Endpoints: a.endpoints.Statuses, Backends: a.backends.Statuses, Devices: a.devices.Statuses,
		Version: a.opt.Version, Stats: a.stats, Log: a.log, Servers: a.fleet.Status, Sessions: a.gateway.Sessions,
		Tools:       func() int { return len(a.catalog.Snapshot().Entries()) },
		ConfigValid: func() bool { return a.control.Source().Fault == nil },
		Phases: func() []telemetry.Phase {
			var all []telemetry.Phase
			for _, p := range a.phases.list() {
				all = append(all, telemetry.Phase{Name: p.Name, Took: time.Duration(p.Duration * float64(time.Millisecond))})
			}
			return all
		},
	}
	if a.traces != nil {
		opt.Spans = a.traces.Spans
	}
	return telemetry.New(opt).Handler()
}
