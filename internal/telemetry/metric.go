package telemetry

// Kind is what a metric's value does.
type Kind string

// The kinds.
const (
	Gauge        Kind = "gauge"     // goes up and down
	Counter      Kind = "counter"   // goes up, or begins again at 0
	Distribution Kind = "histogram" // counts, by upper bounds
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
	endpoint := []string{"kind", "endpoint"}
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
			"Calls that ended, by outcome: ok, tool_error, failed, cancelled or unknown. Those of unknown tools have neither server nor tool.",
			[]string{"server", "tool", "outcome"},
		},
		{"toolcrib_call_duration_seconds", Distribution, "How long the calls of a server took, however they ended.", server},
		{"toolcrib_call_errors_total", Counter, "Calls that ended without an answer of a server, by the error's class and stable code.", []string{"class", "code"}},
		{
			"toolcrib_calls_refused_total", Counter,
			"Calls of a server that failed without its doing: their arguments were not valid, a limit refused them, or they could not be recorded.",
			server,
		},
		{"toolcrib_call_retries_total", Counter, "Times that a call was sent to the same server again.", server},
		{"toolcrib_call_failovers_total", Counter, "Times that a call went on to another server, by the one that failed.", server},
		{"toolcrib_queue_running", Gauge, "Calls under way that passed a limit of a server or its tools; those that passed a caller's limit have no server.", server},
		{"toolcrib_queue_waiting", Gauge, "Calls that wait for their turn, by the server whose limit it is.", server},
		{"toolcrib_queue_refused_total", Counter, "Calls that were refused as too many, by the server whose limit it is.", server},
		{"toolcrib_queue_wait_seconds_total", Counter, "How long calls that ended had waited for their turn, all together.", server},
		{"toolcrib_tool_cache_hits_total", Counter, "Calls that were answered with a result that was kept.", server},
		{"toolcrib_tool_cache_misses_total", Counter, "Calls whose result may be kept and was not there.", server},
		{"toolcrib_tool_cache_entries", Gauge, "Results of a server's tools that are kept.", server},
		{"toolcrib_tool_cache_bytes", Gauge, "Bytes of these results.", server},
		{
			"toolcrib_arguments_total", Counter,
			"Calls whose arguments were held against the tool's schema, by what came of it: accepted, refused, or unchecked if the schema cannot be used.",
			[]string{"result"},
		},
		{
			"toolcrib_policy_verdicts_total", Counter,
			"Calls that ended and were judged, by what the rules said (allow, ask or deny) and whether that was enforced or only observed.",
			[]string{"verdict", "mode"},
		},
		{
			"toolcrib_approvals_total", Counter,
			"Requests for approval that came to a status by this hub's doing: pending when they were made, and then approved, edited, rejected, expired, cancelled or superseded. An agreement that nobody used expires as well.",
			[]string{"status"},
		},
		{"toolcrib_approvals_pending", Gauge, "Calls that wait for somebody to agree, over all hubs that share the database.", nil},
		{"toolcrib_endpoint_state", Gauge, "1 for the state in which a voice assistant's endpoint is, or a backend to which the hub is a device, 0 for the others.", []string{"kind", "endpoint", "state"}},
		{"toolcrib_endpoint_state_since_timestamp_seconds", Gauge, "When an endpoint came into its state.", endpoint},
		{"toolcrib_endpoint_connects_total", Counter, "Connections to an endpoint so far.", endpoint},
		{"toolcrib_endpoint_callers", Gauge, "Conversations that were opened on the present connection of an endpoint.", endpoint},
		{"toolcrib_endpoint_last_close_code", Gauge, "With which code of the WebSocket an endpoint was closed last, if it was.", endpoint},
		{"toolcrib_endpoint_last_ping_timestamp_seconds", Gauge, "When an endpoint sent its last MCP ping, if it did.", endpoint},
		{"toolcrib_endpoint_calls_total", Counter, "Calls that came from an endpoint.", endpoint},
		{"toolcrib_endpoint_calls_in_flight", Gauge, "Calls of an endpoint that are under way.", endpoint},
		{"toolcrib_endpoint_truncated_total", Counter, "Answers to an endpoint that were cut.", endpoint},
		{"toolcrib_endpoint_timeouts_total", Counter, "Calls of an endpoint that reached their deadline.", endpoint},
		{"toolcrib_endpoint_junk_total", Counter, "Frames of an endpoint that were no messages.", endpoint},
		{"toolcrib_endpoint_tools", Gauge, "Tools that an endpoint is offered.", endpoint},
		{"toolcrib_endpoint_token_expiry_timestamp_seconds", Gauge, "When the token of an endpoint ends, if it says so.", endpoint},
		{"toolcrib_devices_online", Gauge, "Devices that have dialled in and are there.", nil},
		{"toolcrib_device_calls_total", Counter, "Calls of devices' tools, since the hub started, as all that follow.", nil},
		{"toolcrib_device_late_answers_total", Counter, "Answers of devices that came when nobody waited for them any more.", nil},
		{"toolcrib_device_junk_total", Counter, "Frames of devices that were no messages.", nil},
		{"toolcrib_device_audio_frames_total", Counter, "Binary frames of devices that were dropped.", nil},
		{"toolcrib_record_up", Gauge, "1 while the record can be written, 0 if the last attempt failed.", nil},
		{"toolcrib_record_entries_total", Counter, "Entries that were written to the record.", nil},
		{"toolcrib_record_waiting", Gauge, "Entries that wait to be written to the record.", nil},
		{"toolcrib_record_lost_total", Counter, "Entries that could not be written to the record and were dropped.", nil},
		{"toolcrib_record_commit_duration_seconds", Distribution, "How long it took to write a group of entries to the record.", nil},
		{"toolcrib_events_total", Counter, "Events that were published.", nil},
		{"toolcrib_event_listeners", Gauge, "Who listens to the stream of events.", nil},
		{"toolcrib_events_missed_total", Counter, "Events that a listener was too slow for, or that came too fast to be kept.", nil},
		{
			"toolcrib_trace_spans_total", Counter,
			"Spans of sampled traces, by what became of them: sent to the collector, or lost.",
			[]string{"result"},
		},
	}
}
