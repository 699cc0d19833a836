// Package telemetry shows the hub's figures to Prometheus. It counts nothing
// itself: every scrape reads what there is at that moment.
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
