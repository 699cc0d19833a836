package telemetry

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hubOf is a hub with two servers, of which one has processes, and calls of
// them, of a server that is gone and of a tool that nobody knows.
func hubOf(t *testing.T) (opt Options, log *bytes.Buffer) {
	t.Helper()
	servers := []hub.Status{
		{
			Key: "files", State: hub.StateReady, PIDs: []int{7}, Instances: 2, Calls: 3, Starts: 5, Losses: 4,
			Leases: []hub.Lease{{Holder: "x", Count: 2}, {Holder: "y", Tool: "t", Count: 1}}, Breaker: hub.BreakerClosed,
		},
		{Key: "remote", State: hub.StateFailed, Breaker: hub.BreakerOpen},
	}
	log = &bytes.Buffer{}
	figures := stats.New(stats.Options{
		Bus: &bus.Bus{}, Started: time.Now(),
		Servers: func() []hub.Status { return servers },
		Tools:   func() (int, int) { return 2, 1 },
		Measure: func(map[string][]int) map[string]stats.Usage {
			return map[string]stats.Usage{"files": {Processes: 4, RSS: 1 << 20, CPU: 1.5}}
		},
	})
	for _, c := range []hub.CallRecord{
		{Server: "files", Tool: "read", Outcome: hub.OutcomeOK, Duration: 30 * time.Millisecond},
		{Server: "files", Tool: "read", Outcome: hub.OutcomeOK, Duration: 300 * time.Millisecond},
		{Server: "files", Tool: "a \"tool\"\n 天气", Outcome: hub.OutcomeToolError, Duration: time.Millisecond},
		{Server: "remote", Tool: "x", Outcome: hub.OutcomeFailed, Duration: 2 * time.Minute},
		{Server: "remote", Tool: "x", Outcome: hub.OutcomeCancelled, Duration: time.Second},
		{Server: "remote", Tool: "x", Outcome: hub.OutcomeUnknown, Duration: time.Second},
		{Server: "gone", Tool: "y", Outcome: hub.OutcomeOK, Duration: time.Second},
		{Name: "made-up", Outcome: hub.OutcomeFailed},
	} {
		figures.Observe(c)
	}
	return Options{
		Version: "v1", Stats: figures, Log: slog.New(slog.NewTextHandler(log, nil)),
		Servers: func() []hub.Status { return servers }, Tools: func() int { return 12 }, Sessions: func() int { return 6 },
		ConfigValid: func() bool { return true },
		Phases:      func() []Phase { return []Phase{{"configuration", 1500 * time.Microsecond}} },
		Errors: func() Errors {
			return Errors{
				Codes:   map[message.Code]int64{message.Timeout: 3, message.ParamsInvalid: 1},
				Retries: map[string]int64{"files": 4, "gone": 9}, Failovers: map[string]int64{"remote": 2},
				Waited: map[string]time.Duration{"files": 2500 * time.Millisecond}, Refused: map[string]int64{"files": 8, "gone": 1},
			}
		},
		Verdicts: func() map[Verdict]int64 {
			return map[Verdict]int64{{hub.VerdictAsk, hub.PolicyEnforce}: 4, {hub.VerdictDeny, hub.PolicyObserve}: 1}
		},
		Approvals: func() Approvals { return Approvals{Statuses: map[string]int64{"pending": 9, "expired": 2}, Pending: 3} },
		Queues:    func() []Queue { return []Queue{{"files", 2, 5, 7}, {"gone", 1, 1, 1}, {"", 6, 7, 8}} },
		Cache:     func() []Cache { return []Cache{{"files", 10, 30, 3, 4096}, {Server: "gone", Hits: 1}} },
		Checks:    func() Checks { return Checks{Accepted: 90, Refused: 2, Unchecked: 3} },
		Record: func() Record {
			return Record{
				Up: true, Written: 100, Waiting: 2, Lost: 1,
				Commits: Histogram{Count: 4, Sum: 20 * time.Millisecond, Buckets: map[float64]uint64{.005: 3, .05: 4}},
			}
		},
		Events: func() Events { return Events{Published: 50, Listeners: 3, Missed: 6} },
		Spans:  func() Spans { return Spans{Sent: 11, Lost: 12} },
		Endpoints: func() []hub.EndpointStatus {
			return []hub.EndpointStatus{{
				Name: "home", URL: "wss://made-up", State: hub.EndpointConnected, Connects: 2, Calls: 3, Truncated: 4, TimedOut: 5, Junk: 6, Running: 7, Tools: 8,
				TokenExpires: time.Unix(1000, 0), Since: time.Unix(900, 0), LastPing: time.Unix(950, 0), Callers: 9, CloseCode: 4004,
			}, {Name: "other", State: hub.EndpointAuthFailed}}
		},
		Backends: func() []hub.EndpointStatus { return []hub.EndpointStatus{{Name: "school", State: hub.EndpointWaiting}} },
		Devices: func() []hub.DeviceStatus {
			return []hub.DeviceStatus{{ID: "made-up", Online: true, Calls: 1, Late: 2, Junk: 3, Audio: 4}, {Calls: 10, Late: 10, Junk: 10, Audio: 10}}
		},
	}, log
}

// scrape gets the metrics over HTTP.
func scrape(t *testing.T, tel *Telemetry, accept string) string {
	t.Helper()
	s := httptest.NewServer(tel.Handler())
	defer s.Close()
	defer s.Client().CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v: %s", resp.StatusCode, err, text)
	}
	return string(text)
}

func TestScrape(t *testing.T) {
	opt, log := hubOf(t)
	text := scrape(t, New(opt), "text/plain")
	for _, want := range []string{
		`toolcrib_build_info{version="v1"} 1`,
		`toolcrib_config_valid 1`,
		`toolcrib_start_phase_seconds{phase="configuration"} 0.0015`,
		`toolcrib_sessions 6`,
		`toolcrib_policy_verdicts_total{mode="enforce",verdict="ask"} 4`,
		`toolcrib_policy_verdicts_total{mode="observe",verdict="deny"} 1`,
		`toolcrib_approvals_total{status="expired"} 2`,
		`toolcrib_approvals_pending 3`,
		`toolcrib_tools 12`,
		`toolcrib_server_state{server="files",state="ready"} 1`,
		`toolcrib_server_state{server="files",state="failed"} 0`,
		`toolcrib_server_state{server="remote",state="failed"} 1`,
		`toolcrib_server_starts_total{server="files"} 5`,
		`toolcrib_server_losses_total{server="files"} 4`,
		`toolcrib_server_instances{server="files"} 2`,
		`toolcrib_server_calls_in_flight{server="files"} 3`,
		`toolcrib_server_leases{server="files"} 3`,
		`toolcrib_server_leases{server="remote"} 0`,
		`toolcrib_server_breaker_open{server="files"} 0`,
		`toolcrib_server_breaker_open{server="remote"} 1`,
		`toolcrib_server_processes{server="files"} 4`,
		`toolcrib_server_resident_memory_bytes{server="files"} 1.048576e+06`,
		`toolcrib_server_cpu_seconds_total{server="files"} 1.5`,
		`toolcrib_calls_total{outcome="ok",server="files",tool="read"} 2`,
		`toolcrib_calls_total{outcome="failed",server="files",tool="read"} 0`,
		`toolcrib_calls_total{outcome="tool_error",server="files",tool="a \"tool\"\n 天气"} 1`,
		`toolcrib_calls_total{outcome="cancelled",server="remote",tool="x"} 1`,
		`toolcrib_calls_total{outcome="failed",server="",tool=""} 1`,
		`toolcrib_call_duration_seconds_bucket{server="files",le="0.02"} 1`,
		`toolcrib_call_duration_seconds_bucket{server="files",le="0.05"} 2`,
		`toolcrib_call_duration_seconds_bucket{server="files",le="+Inf"} 3`,
		`toolcrib_call_duration_seconds_sum{server="files"} 0.331`,
		`toolcrib_call_duration_seconds_count{server="files"} 3`,
		`toolcrib_call_duration_seconds_bucket{server="remote",le="60"} 2`,
		`toolcrib_call_duration_seconds_bucket{server="remote",le="+Inf"} 3`,
		`toolcrib_calls_total{outcome="unknown",server="remote",tool="x"} 1`,
		`toolcrib_call_errors_total{class="network",code="timeout"} 3`,
		`toolcrib_call_errors_total{class="params",code="params_invalid"} 1`,
		`toolcrib_calls_refused_total{server="files"} 8`,
		`toolcrib_calls_refused_total{server="remote"} 0`,
		`toolcrib_call_retries_total{server="files"} 4`,
		`toolcrib_call_retries_total{server="remote"} 0`,
		`toolcrib_call_failovers_total{server="remote"} 2`,
		`toolcrib_queue_running{server="files"} 2`,
		`toolcrib_queue_waiting{server="files"} 5`,
		`toolcrib_queue_refused_total{server="files"} 7`,
		`toolcrib_queue_wait_seconds_total{server="files"} 2.5`,
		`toolcrib_tool_cache_hits_total{server="files"} 10`,
		`toolcrib_tool_cache_misses_total{server="files"} 30`,
		`toolcrib_tool_cache_entries{server="files"} 3`,
		`toolcrib_tool_cache_bytes{server="files"} 4096`,
		`toolcrib_queue_waiting{server=""} 7`,
		`toolcrib_arguments_total{result="refused"} 2`,
		`toolcrib_arguments_total{result="unchecked"} 3`,
		`toolcrib_arguments_total{result="accepted"} 90`,
		`toolcrib_record_up 1`,
		`toolcrib_record_entries_total 100`,
		`toolcrib_record_waiting 2`,
		`toolcrib_record_lost_total 1`,
		`toolcrib_record_commit_duration_seconds_bucket{le="0.005"} 3`,
		`toolcrib_record_commit_duration_seconds_bucket{le="+Inf"} 4`,
		`toolcrib_record_commit_duration_seconds_sum 0.02`,
		`toolcrib_events_total 50`,
		`toolcrib_event_listeners 3`,
		`toolcrib_events_missed_total 6`,
		`toolcrib_trace_spans_total{result="sent"} 11`,
		`toolcrib_trace_spans_total{result="lost"} 12`,
		`toolcrib_endpoint_state{endpoint="home",kind="endpoint",state="connected"} 1`,
		`toolcrib_endpoint_state{endpoint="home",kind="endpoint",state="auth_failed"} 0`,
		`toolcrib_endpoint_state{endpoint="other",kind="endpoint",state="auth_failed"} 1`,
		`toolcrib_endpoint_state{endpoint="school",kind="backend",state="waiting"} 1`,
		`toolcrib_endpoint_state_since_timestamp_seconds{endpoint="home",kind="endpoint"} 900`,
		`toolcrib_endpoint_callers{endpoint="home",kind="endpoint"} 9`,
		`toolcrib_endpoint_callers{endpoint="other",kind="endpoint"} 0`,
		`toolcrib_endpoint_last_close_code{endpoint="home",kind="endpoint"} 4004`,
		`toolcrib_endpoint_last_ping_timestamp_seconds{endpoint="home",kind="endpoint"} 950`,
		`toolcrib_endpoint_connects_total{endpoint="home",kind="endpoint"} 2`,
		`toolcrib_endpoint_calls_total{endpoint="home",kind="endpoint"} 3`,
		`toolcrib_endpoint_truncated_total{endpoint="home",kind="endpoint"} 4`,
		`toolcrib_endpoint_timeouts_total{endpoint="home",kind="endpoint"} 5`,
		`toolcrib_endpoint_junk_total{endpoint="home",kind="endpoint"} 6`,
		`toolcrib_endpoint_calls_in_flight{endpoint="home",kind="endpoint"} 7`,
		`toolcrib_endpoint_tools{endpoint="home",kind="endpoint"} 8`,
		`toolcrib_endpoint_token_expiry_timestamp_seconds{endpoint="home",kind="endpoint"} 1000`,
		`toolcrib_devices_online 1`,
		`toolcrib_device_calls_total 11`,
		`toolcrib_device_late_answers_total 12`,
		`toolcrib_device_junk_total 13`,
		`toolcrib_device_audio_frames_total 14`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	for _, other := range []string{"gone", "made-up", `toolcrib_server_processes{server="remote"}`} {
		if strings.Contains(text, other) {
			t.Errorf("there is something about %s", other)
		}
	}
	for _, key := range []string{"files", "remote"} {
		found := regexp.MustCompile(fmt.Sprintf(`(?m)^toolcrib_server_state{server=%q,state="[a-z]+"} 1$`, key)).FindAllString(text, -1)
		if len(found) != 1 {
			t.Errorf("%s is in several states, or in none: %q", key, found)
		}
	}
	for _, runtime := range []string{"go_goroutines", "process_cpu_seconds_total"} {
		if !strings.Contains(text, "# TYPE "+runtime+" ") {
			t.Errorf("%s is missing", runtime)
		}
	}
	if log.Len() > 0 {
		t.Errorf("logs %s", log)
	}
	if !strings.HasSuffix(scrape(t, New(opt), "application/openmetrics-text"), "# EOF\n") {
		t.Error("does not speak OpenMetrics")
	}
}

func TestEveryStateHasAName(t *testing.T) {
	opt, _ := hubOf(t)
	servers := make([]hub.Status, len(states()))
	for i, s := range states() {
		servers[i] = hub.Status{Key: string(s), State: s}
	}
	opt.Servers = func() []hub.Status { return servers }
	text := scrape(t, New(opt), "text/plain")
	for _, s := range states() {
		if want := fmt.Sprintf(`toolcrib_server_state{server=%q,state=%q} 1`, s, s); !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// What is documented is what there is, in the form that Prometheus asks for.
func TestNames(t *testing.T) {
	opt, _ := hubOf(t)
	text := scrape(t, New(opt), "text/plain")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	var said []string
	for _, m := range Metrics() {
		said = append(said, fmt.Sprintf("# HELP %s %s\n# TYPE %s %s\n", m.Name, m.Help, m.Name, m.Kind))
	}
	slices.Sort(said)
	found := regexp.MustCompile(`(?m)^# HELP toolcrib_.*\n# TYPE .*\n`).FindAllString(text, -1)
	slices.Sort(found)
	if !slices.Equal(said, found) {
		t.Errorf("documented:\n%s\nthere:\n%s", strings.Join(said, ""), strings.Join(found, ""))
	}
	for _, m := range Metrics() {
		for _, label := range m.Labels {
			if !regexp.MustCompile(`(?m)^` + m.Name + `[a-z_]*{[^}]*` + label + `="`).MatchString(text) {
				t.Errorf("%s has no label %s", m.Name, label)
			}
		}
	}
}

// A label that no text format can carry costs that one metric.
func TestUnusableLabel(t *testing.T) {
	opt, log := hubOf(t)
	opt.Phases = func() []Phase { return []Phase{{"\xff", time.Second}} }
	text := scrape(t, New(opt), "text/plain")
	if strings.Contains(text, "toolcrib_start_phase_seconds") || !strings.Contains(text, "toolcrib_tools 12") {
		t.Errorf("got %s", text)
	}
	if !strings.Contains(log.String(), "toolcrib_start_phase_seconds") && !strings.Contains(log.String(), "UTF-8") {
		t.Errorf("logs %q", log)
	}
}

// Parts that there are not have no metrics.
func TestLeftOut(t *testing.T) {
	opt, log := hubOf(t)
	opt.Errors, opt.Queues, opt.Cache, opt.Checks, opt.Record, opt.Events, opt.Spans = nil, nil, nil, nil, nil, nil, nil
	opt.Endpoints, opt.Backends, opt.Devices = nil, nil, nil
	text := scrape(t, New(opt), "text/plain")
	for _, name := range []string{"call_errors", "call_retries", "queue_", "tool_cache_", "arguments", "record_", "event", "trace_", "endpoint", "device"} {
		if strings.Contains(text, "toolcrib_"+name) {
			t.Errorf("there is something about %s", name)
		}
	}
	if !strings.Contains(text, "toolcrib_tools 12") || log.Len() > 0 {
		t.Errorf("got %s, logs %s", text, log)
	}
}
