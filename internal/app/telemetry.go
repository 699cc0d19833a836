package app

import (
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/secret"
	"github.com/toolcrib/toolcrib/internal/telemetry"
)

// openTraces makes what traces are sent by, if they are to be sent. The error is
// a [*hub.Error], about the configuration; what is wrong with the environment
// costs the traces and no more.
func (a *App) openTraces(resolver *secret.Resolver) error {
	set := a.source.Config.Traces
	endpoint, headers, fault := set.Resolve(resolver)
	if fault != nil {
		return fault
	}
	opt := telemetry.TracesOptions{
		Endpoint: endpoint, Headers: headers, Version: a.opt.Version, Node: a.keys.Node(), Log: a.log,
		Proxy: a.network.Proxy, RootCAs: a.network.RootCAs,
	}
	if set.Sample != 1 { // or the environment may say something else
		opt.Sample = &set.Sample
	}
	traces, err := telemetry.NewTraces(opt)
	if err != nil {
		a.log.Error("traces are not sent", "error", err)
	}
	a.traces = traces
	return nil
}

// observe counts a call that ended, before its caller has the answer.
func (a *App) observe(r hub.CallRecord) {
	a.stats.Observe(r)
	a.tally.Observe(&r)
}

// asking is how requests for approval stand.
func (a *App) asking() telemetry.Approvals {
	f := telemetry.Approvals{Statuses: make(map[string]int64), Pending: -1}
	for status, n := range a.desk.Counted() {
		f.Statuses[string(status)] = n
	}
	ctx, cancel := context.WithTimeout(context.Background(), countLimit)
	defer cancel()
	if n, err := a.desk.Waiting(ctx, nil); err == nil { // or the database is away, of which other metrics tell
		f.Pending = n
	}
	return f
}

// countLimit is how long a scrape waits for the database.
const countLimit = 2 * time.Second

// queues is how the limits of calls stand.
func (a *App) queues() []telemetry.Queue {
	var all []telemetry.Queue
	for _, l := range a.call.Limits() {
		all = append(all, telemetry.Queue{Server: l.Server, Running: l.Running, Waiting: l.Waiting, Refused: int64(l.Refused)})
	}
	return all
}

// caches is of what use the cache of results is.
func (a *App) caches() []telemetry.Cache {
	var all []telemetry.Cache
	for _, c := range a.call.Cached() {
		all = append(all, telemetry.Cache{
			Server: c.Server, Hits: int64(c.Hits), Misses: int64(c.Misses), Entries: c.Results, Bytes: int64(c.Bytes),
		})
	}
	return all
}

// checks is what came of holding arguments against schemas.
func (a *App) checks() telemetry.Checks {
	v := a.call.Validations()
	return telemetry.Checks{Accepted: int64(v.Judged - v.Refused), Refused: int64(v.Refused), Unchecked: int64(v.Unjudged)}
}

// recording is how writing the record of calls goes.
func (a *App) recording() telemetry.Record {
	m := a.audit.Measured()
	return telemetry.Record{
		Up: m.Up, Written: m.Written, Waiting: a.audit.Waiting(), Lost: a.audit.Lost(),
		Commits: telemetry.Histogram{Count: m.Commits, Sum: m.Took, Buckets: m.Within},
	}
}

// publishing is how the stream of events goes.
func (a *App) publishing() telemetry.Events {
	f := a.events.Figures()
	return telemetry.Events{Published: f.Published, Listeners: f.Listeners, Missed: f.Missed}
}
