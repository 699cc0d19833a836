package telemetry

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Histogram is how many took how long.
type Histogram struct {
	Count   uint64 // of all
	Sum     time.Duration
	Buckets map[float64]uint64 // by an upper bound in seconds: those that took no longer
}

// Errors is how calls failed since the hub started, and what was done about it.
// [Tally] makes it of the records of calls.
type Errors struct {
	Codes     map[message.Code]int64
	Refused   map[string]int64         // by server: calls that the hub has refused itself
	Retries   map[string]int64         // by server
	Failovers map[string]int64         // by the server that failed
	Waited    map[string]time.Duration // by server
}

// Verdict is what the rules said to a call, and whether that was enforced.
type Verdict struct {
	Verdict hub.Verdict
	Mode    hub.PolicyMode
}

// Approvals is how requests for approval stand.
type Approvals struct {
	Statuses map[string]int64 // how many have come to each, by this hub's doing
	Pending  int              // over all hubs that share the database; less than 0 if it is not known
}

// Queue is how the limits of one server and its tools stand.
type Queue struct {
	Server  string // "" for the limits of callers, all together
	Running int    // calls under way
	Waiting int    // calls that wait for their turn
	Refused int64
}

// Cache is what is kept of the results of a server's tools.
type Cache struct {
	Server       string
	Hits, Misses int64
	Entries      int
	Bytes        int64
}

// Checks is what came of holding arguments against schemas.
type Checks struct {
	Accepted, Refused, Unchecked int64
}

// Record is how writing the record of calls goes.
type Record struct {
	Up      bool  // the last attempt went well, or there was none
	Written int64 // entries
	Waiting int   // entries
	Lost    int64 // entries
	Commits Histogram
}

// Events is how the stream of events goes.
type Events struct {
	Published int64
	Listeners int
	Missed    int64 // events that somebody was told of as a gap
}

// Spans is what became of the spans of sampled traces.
type Spans struct {
	Sent, Lost int64
}

// histogram hands a histogram over.
func (c *collector) histogram(to chan<- prometheus.Metric, name string, h Histogram, labels ...string) {
	m, err := prometheus.NewConstHistogram(c.desc[name], h.Count, h.Sum.Seconds(), h.Buckets, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(c.desc[name], err)
	}
	to <- m
}

// errors is how calls failed. There are as many series as there are codes and
// servers.
func (c *collector) errors(put put, known map[string]bool) {
	if c.opt.Errors == nil {
		return
	}
	e := c.opt.Errors()
	for _, code := range slices.Sorted(maps.Keys(e.Codes)) {
		put("toolcrib_call_errors_total", float64(e.Codes[code]), string(message.ClassOf(code)), string(code))
	}
	for server := range known {
		if server == "" {
			continue
		}
		put("toolcrib_calls_refused_total", float64(e.Refused[server]), server)
		put("toolcrib_call_retries_total", float64(e.Retries[server]), server)
		put("toolcrib_call_failovers_total", float64(e.Failovers[server]), server)
		put("toolcrib_queue_wait_seconds_total", e.Waited[server].Seconds(), server)
	}
}

// judged is what the rules said, and what people did.
func (c *collector) judged(put put) {
	if c.opt.Verdicts != nil {
		for v, n := range c.opt.Verdicts() {
			put("toolcrib_policy_verdicts_total", float64(n), v.Verdict, string(v.Mode))
		}
	}
	if c.opt.Approvals != nil {
		f := c.opt.Approvals()
		for status, n := range f.Statuses {
			put("toolcrib_approvals_total", float64(n), status)
		}
		if f.Pending >= 0 {
			put("toolcrib_approvals_pending", float64(f.Pending))
		}
	}
}

// queues is how the limits of servers stand.
func (c *collector) queues(put put, known map[string]bool) {
	if c.opt.Queues == nil {
		return
	}
	for _, q := range c.opt.Queues() {
		if !known[q.Server] {
			continue
		}
		put("toolcrib_queue_running", float64(q.Running), q.Server)
		put("toolcrib_queue_waiting", float64(q.Waiting), q.Server)
		put("toolcrib_queue_refused_total", float64(q.Refused), q.Server)
	}
}

// rest is how the cache, the record, the events and the traces go.
func (c *collector) rest(put put, known map[string]bool, to chan<- prometheus.Metric) {
	if c.opt.Cache != nil {
		for _, f := range c.opt.Cache() {
			if known[f.Server] {
				put("toolcrib_tool_cache_hits_total", float64(f.Hits), f.Server)
				put("toolcrib_tool_cache_misses_total", float64(f.Misses), f.Server)
				put("toolcrib_tool_cache_entries", float64(f.Entries), f.Server)
				put("toolcrib_tool_cache_bytes", float64(f.Bytes), f.Server)
			}
		}
	}
	if c.opt.Checks != nil {
		f := c.opt.Checks()
		put("toolcrib_arguments_total", float64(f.Accepted), "accepted")
		put("toolcrib_arguments_total", float64(f.Refused), "refused")
		put("toolcrib_arguments_total", float64(f.Unchecked), "unchecked")
	}
	if c.opt.Record != nil {
		f := c.opt.Record()
		put("toolcrib_record_up", truth(f.Up))
		put("toolcrib_record_entries_total", float64(f.Written))
		put("toolcrib_record_waiting", float64(f.Waiting))
		put("toolcrib_record_lost_total", float64(f.Lost))
		c.histogram(to, "toolcrib_record_commit_duration_seconds", f.Commits)
	}
	if c.opt.Events != nil {
		f := c.opt.Events()
		put("toolcrib_events_total", float64(f.Published))
		put("toolcrib_event_listeners", float64(f.Listeners))
		put("toolcrib_events_missed_total", float64(f.Missed))
	}
	if c.opt.Spans != nil {
		f := c.opt.Spans()
		put("toolcrib_trace_spans_total", float64(f.Sent), "sent")
		put("toolcrib_trace_spans_total", float64(f.Lost), "lost")
	}
}
