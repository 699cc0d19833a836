package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// collector reads the hub's figures when it is asked for them.
type collector struct {
	opt  Options
	desc map[string]*prometheus.Desc
	kind map[string]prometheus.ValueType
}

func newCollector(opt Options) *collector {
	c := &collector{opt: opt, desc: map[string]*prometheus.Desc{}, kind: map[string]prometheus.ValueType{}}
	for _, m := range Metrics() {
		c.desc[m.Name] = prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
		c.kind[m.Name] = prometheus.GaugeValue
		if m.Kind == Counter {
			c.kind[m.Name] = prometheus.CounterValue
		}
	}
	return c
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.desc {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(to chan<- prometheus.Metric) {
	put := func(name string, value float64, labels ...string) {
		m, err := prometheus.NewConstMetric(c.desc[name], c.kind[name], value, labels...)
		if err != nil {
			m = prometheus.NewInvalidMetric(c.desc[name], err)
		}
		to <- m
	}
	put("toolcrib_build_info", 1, c.opt.Version)
	put("toolcrib_config_valid", truth(c.opt.ConfigValid()))
	for _, p := range c.opt.Phases() {
		put("toolcrib_start_phase_seconds", p.Took.Seconds(), p.Name)
	}
	put("toolcrib_sessions", float64(c.opt.Sessions()))
	put("toolcrib_tools", float64(c.opt.Tools()))
	known := map[string]bool{}
	for _, st := range c.opt.Servers() {
		known[st.Key] = true
		server(put, st)
	}
	c.trees(put, known)
	c.calls(put, to, known)
	c.errors(put, known)
	c.queues(put, known)
	c.judged(put)
	c.voice(put)
	c.rest(put, known, to)
}

// put hands a value over.
type put = func(name string, value float64, labels ...string)

// server is what one server's status says.
func server(put put, st hub.Status) {
	for _, s := range states() {
		put("toolcrib_server_state", truth(st.State == s), st.Key, string(s))
	}
	leases := 0
	for _, l := range st.Leases {
		leases += l.Count
	}
	put("toolcrib_server_starts_total", float64(st.Starts), st.Key)
	put("toolcrib_server_losses_total", float64(st.Losses), st.Key)
	put("toolcrib_server_instances", float64(st.Instances), st.Key)
	put("toolcrib_server_calls_in_flight", float64(st.Calls), st.Key)
	put("toolcrib_server_leases", float64(leases), st.Key)
	put("toolcrib_server_breaker_open", truth(st.Breaker == hub.BreakerOpen || st.Breaker == hub.BreakerHalfOpen), st.Key)
}

// trees is what the processes of servers take.
func (c *collector) trees(put put, known map[string]bool) {
	_, trees := c.opt.Stats.Resources()
	for _, t := range trees {
		if !known[t.Server] {
			continue
		}
		put("toolcrib_server_processes", float64(t.Processes), t.Server)
		put("toolcrib_server_resident_memory_bytes", float64(t.RSS), t.Server)
		put("toolcrib_server_cpu_seconds_total", t.Spent, t.Server)
	}
}

// calls is how calls ended. Servers that are not configured any more are left
// out, so that there are only as many series as there are servers and tools.
func (c *collector) calls(put put, to chan<- prometheus.Metric, known map[string]bool) {
	known[""] = true // where the calls of unknown tools are counted
	tools, servers := c.opt.Stats.Calls()
	for _, t := range tools {
		if !known[t.Server] {
			continue
		}
		put("toolcrib_calls_total", float64(t.OK), t.Server, t.Tool, string(hub.OutcomeOK))
		put("toolcrib_calls_total", float64(t.ToolError), t.Server, t.Tool, string(hub.OutcomeToolError))
		put("toolcrib_calls_total", float64(t.Failed), t.Server, t.Tool, string(hub.OutcomeFailed))
		put("toolcrib_calls_total", float64(t.Cancelled), t.Server, t.Tool, string(hub.OutcomeCancelled))
		put("toolcrib_calls_total", float64(t.Unknown), t.Server, t.Tool, string(hub.OutcomeUnknown))
	}
	for _, s := range servers {
		if known[s.Server] {
			c.histogram(to, "toolcrib_call_duration_seconds", Histogram{s.Count, s.Sum, s.Buckets}, s.Server)
		}
	}
}

// states are all that a server can be in.
func states() []hub.State {
	return []hub.State{
		hub.StateDisabled, hub.StateIdle, hub.StateStopped, hub.StateStarting, hub.StateReady,
		hub.StateDegraded, hub.StateReconnecting, hub.StateCrashed, hub.StateFailed, hub.StateStopping,
	}
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
