// Package telemetry shows what the hub does to those who watch it: its figures
// to Prometheus, its traces to a collector of OpenTelemetry, and in each line of
// the log on whose behalf it was written. It counts nothing but what it finds in
// the records of calls: every scrape reads what there is at that moment.
package telemetry

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/stats"
)

// Options are what the metrics are of. The functions may be called from any
// goroutine.
type Options struct {
	Version string
	Stats   *stats.Stats
	Log     *slog.Logger // gets what is wrong with a scrape

	Servers     func() []hub.Status
	Tools       func() int // that are offered
	Sessions    func() int // of MCP callers
	ConfigValid func() bool
	Phases      func() []Phase

	// The metrics of those that are nil are left out.
	Errors    func() Errors
	Verdicts  func() map[Verdict]int64
	Approvals func() Approvals
	Queues    func() []Queue // of servers that have limits, and under "" of callers
	Cache     func() []Cache // of servers of which something was kept or might have been
	Checks    func() Checks
	Record    func() Record
	Events    func() Events
	Spans     func() Spans

	Endpoints, Backends func() []hub.EndpointStatus
	Devices             func() []hub.DeviceStatus
}

// Phase is one step of the hub's start.
type Phase struct {
	Name string
	Took time.Duration
}

// Telemetry is the hub's registry of metrics. Safe for concurrent use.
type Telemetry struct {
	registry *prometheus.Registry
	log      *slog.Logger
}

// New returns a registry of its own, with the hub's metrics and those of the Go
// runtime and of the process.
func New(opt Options) *Telemetry {
	t := &Telemetry{registry: prometheus.NewRegistry(), log: opt.Log}
	t.registry.MustRegister(
		newCollector(opt),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return t
}

// Handler answers a scrape, in the text format of Prometheus or in OpenMetrics.
// It does not look at who asks.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{
		ErrorLog: complaints{t.log}, ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true,
	})
}

// complaints logs what is wrong with a scrape.
type complaints struct{ log *slog.Logger }

func (c complaints) Println(v ...any) { c.log.Error("metrics", "error", fmt.Sprint(v...)) }
