package telemetry

// Kind is what a metric's value does.
type Kind string

// The kinds.
const (
	Gauge     Kind = "gauge"     // goes up and down
	Counter   Kind = "counter"   // goes up, or begins again at 0
	Histogram Kind = "histogram" // counts, by upper bounds
)

// Metric describes one metric.
type Metric struct {
	Name   string
	Kind   Kind
	Help   string
	Labels []string
}

// Metrics are the hub's own metrics, in the order in which they are best read.
// Their names and labels stay. Units are base units; the values of labels are
// keys of servers and names of tools that are configured or known, and words
// that are listed in the help.
func Metrics() []Metric {
	server := []string{"server"}
	return []Metric{
		{"toolcrib_build_info", Gauge, "1, with the version of this program.", []string{"version"}},
		{"toolcrib_config_valid", Gauge, "1 if the configuration file is in force, 0 if it has faults.", nil},
		{"toolcrib_start_phase_seconds", Gauge, "How long a phase of the hub's start took.", []string{"phase"}},
		{"toolcrib_sessions", Gauge, "Open MCP sessions of callers.", nil},
		{"toolcrib_tools", Gauge, "Tools that are offered.", nil},
		{"toolcrib_server_state", Gauge, "1 for the state in which a server is, 0 for the others.", []string{"server", "state"}},
		{"toolcrib_server_starts_total", Counter, "Attempts to connect to a server.", server},
		{"toolcrib_server_losses_total", Counter, "Connections to a server that ended by themselves.", server},
		{"toolcrib_server_instances", Gauge, "Connections to a server that are up.", server},
		{"toolcrib_server_calls_in_flight", Gauge, "Calls under way on a server.", server},
		{"toolcrib_server_leases", Gauge, "Leases that keep a server running.", server},
		{"toolcrib_server_breaker_open", Gauge, "1 while calls are kept away from a server, as its last ones failed.", server},
		{"toolcrib_server_processes", Gauge, "Processes of a server, with those that they started.", server},
		{"toolcrib_server_resident_memory_bytes", Gauge, "Resident memory of a server's processes.", server},
		{"toolcrib_server_cpu_seconds_total", Counter, "Processor time of a server's processes, as far as it was there to be seen.", server},
		{
			"toolcrib_calls_total", Counter,
			"Calls that ended, by outcome: ok, tool_error, failed or cancelled. Those of unknown tools have neither server nor tool.",
			[]string{"server", "tool", "outcome"},
		},
		{"toolcrib_call_duration_seconds", Histogram, "How long the calls of a server took, however they ended.", server},
	}
}
