package stats

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// none is no server.
func none() []hub.Status { return nil }

func begin(history ...hub.CallRecord) *Stats {
	return New(Options{Bus: &bus.Bus{}, History: history, Servers: none})
}

func ended(server, tool string, o hub.Outcome, took time.Duration) hub.CallRecord {
	return hub.CallRecord{Server: server, Tool: tool, Name: "as the caller put it", Outcome: o, Duration: took}
}

// upTo is so many calls that took 1 ms, 2 ms and so on, in an order that is not
// theirs.
func upTo(n int) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[(i*37+11)%n] = time.Duration(i+1) * ms
	}
	return all
}

func TestFigures(t *testing.T) {
	for _, test := range []struct {
		took []time.Duration
		want Operation
	}{
		{[]time.Duration{7 * ms}, Operation{Count: 1, Avg: 7 * ms, Min: 7 * ms, Max: 7 * ms, P50: 7 * ms, P95: 7 * ms, P99: 7 * ms}},
		{[]time.Duration{20 * ms, 10 * ms}, Operation{Count: 2, Avg: 15 * ms, Min: 10 * ms, Max: 20 * ms, P50: 10 * ms, P95: 20 * ms, P99: 20 * ms}},
		{[]time.Duration{30 * ms, 10 * ms, 20 * ms}, Operation{Count: 3, Avg: 20 * ms, Min: 10 * ms, Max: 30 * ms, P50: 20 * ms, P95: 30 * ms, P99: 30 * ms}},
		{upTo(20), Operation{Count: 20, Avg: 10500 * time.Microsecond, Min: ms, Max: 20 * ms, P50: 10 * ms, P95: 19 * ms, P99: 20 * ms}},
		{upTo(100), Operation{Count: 100, Avg: 50500 * time.Microsecond, Min: ms, Max: 100 * ms, P50: 50 * ms, P95: 95 * ms, P99: 99 * ms}},
		{append([]time.Duration{time.Hour, 0}, upTo(99)...), Operation{Count: 100, Avg: 49500 * time.Microsecond, Min: 0, Max: 99 * ms, P50: 49 * ms, P95: 94 * ms, P99: 98 * ms}},
		{append(upTo(77), slices.Repeat([]time.Duration{5 * ms}, 100)...), Operation{Count: 100, Avg: 5 * ms, Min: 5 * ms, Max: 5 * ms, P50: 5 * ms, P95: 5 * ms, P99: 5 * ms}},
		{[]time.Duration{-time.Second}, Operation{Count: 1}}, // a clock that went back
	} {
		s := begin()
		for _, d := range test.took {
			s.Observe(ended("a", "b", hub.OutcomeOK, d))
		}
		test.want.Total = int64(len(test.took))
		for _, name := range []string{"tools/call", "tools/call a", "tools/call a/b"} {
			if got := s.Operations()[name]; got != test.want {
				t.Errorf("%s of %v:\ngot  %+v\nwant %+v", name, test.took, got, test.want)
			}
		}
	}
}

func TestOperations(t *testing.T) {
	s := begin()
	for _, r := range []hub.CallRecord{
		ended("a", "x", hub.OutcomeOK, ms),
		ended("a", "x", hub.OutcomeToolError, 2*ms),
		ended("a", "y/z", hub.OutcomeFailed, 3*ms),
		ended("b", "x", hub.OutcomeCancelled, 4*ms),
		ended("b", "x", hub.OutcomeOK, 500*ms),
		ended("b", "x", hub.OutcomeOK, time.Hour),
		ended("", "", hub.OutcomeFailed, 5*ms),
		ended("", "", hub.OutcomeFailed, 6*ms),
		ended("c", "", hub.OutcomeFailed, 7*ms), // it was away
	} {
		s.Observe(r)
	}
	got := map[string]int64{}
	for name, o := range s.Operations() {
		got[name] = o.Total
	}
	if want := map[string]int64{
		"tools/call": 3, "tools/call.error": 6,
		"tools/call a": 1, "tools/call a.error": 2,
		"tools/call b": 2, "tools/call b.error": 1,
		"tools/call c.error": 1,
		"tools/call a/x":     1, "tools/call a/x.error": 1,
		"tools/call a/y/z.error": 1,
		"tools/call b/x":         2, "tools/call b/x.error": 1,
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	tools, servers := s.Calls()
	byTool := map[string]Outcomes{}
	for _, c := range tools {
		byTool[c.Server+" "+c.Tool] = c.Outcomes
	}
	if want := map[string]Outcomes{
		" ": {Failed: 2}, "a x": {OK: 1, ToolError: 1}, "a y/z": {Failed: 1}, "b x": {OK: 2, Cancelled: 1}, "c ": {Failed: 1},
	}; !reflect.DeepEqual(byTool, want) {
		t.Errorf("got  %v\nwant %v", byTool, want)
	}
	for _, l := range servers {
		if l.Server != "b" {
			continue
		}
		if l.Count != 3 || l.Sum != time.Hour+504*ms || l.Buckets[.002] != 0 || l.Buckets[.005] != 1 || l.Buckets[.2] != 1 || l.Buckets[.5] != 2 || l.Buckets[60] != 2 {
			t.Errorf("got %+v", l)
		}
	}
}

// However many call at once, every call is counted.
func TestNothingIsLost(t *testing.T) {
	s := begin()
	const callers, each = 8, 2000
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := range each {
				o := hub.OutcomeOK
				if i%4 == 0 {
					o = hub.OutcomeFailed
				}
				s.Observe(ended("a", fmt.Sprint(c%2), o, ms))
				if i%500 == 0 {
					s.Operations()
					s.Calls()
				}
			}
		})
	}
	all.Wait()
	got := s.Operations()
	for name, want := range map[string]int64{"tools/call": callers * each, "tools/call a": callers * each, "tools/call a/0": callers * each / 2} {
		if good, bad := got[name].Total, got[name+".error"].Total; good != want*3/4 || bad != want/4 {
			t.Errorf("%s: %d and %d, want %d", name, good, bad, want)
		}
	}
}

// The number of operations is bounded, and those that are used stay.
func TestBounded(t *testing.T) {
	s := begin()
	s.most = 10
	for i := range 1000 {
		s.Observe(ended("a", fmt.Sprint(i), hub.OutcomeOK, ms))
		s.Observe(ended("a", "used", hub.OutcomeOK, ms))
	}
	got := s.Operations()
	if len(got) != 11 || len(s.tracks) != 10 || s.recent.Len() != 10 {
		t.Fatalf("%d operations, %d tracks", len(got), len(s.tracks))
	}
	for name, want := range map[string]int64{"tools/call": 2000, "tools/call a": 2000, "tools/call a/used": 1000, "tools/call a/999": 1, "tools/call a/992": 1, "tools/call a/991": 0} {
		if got[name].Total != want {
			t.Errorf("%s: %d, want %d", name, got[name].Total, want)
		}
	}
}

// What was before the start says how long a tool takes; it is no call of now.
func TestHistory(t *testing.T) {
	var history []hub.CallRecord // newest first
	for i := range 150 {
		history = append(history, ended("a", "x", hub.OutcomeOK, time.Duration(150-i)*ms))
	}
	history = append(history, ended("a", "bad", hub.OutcomeToolError, ms))
	s := begin(history...)
	if got, ok := s.Typical("a", "x"); !ok || got != 100*ms { // of 51 to 150
		t.Errorf("typical: %v, %v", got, ok)
	}
	for _, tool := range []string{"bad", "unknown"} {
		if got, ok := s.Typical("a", tool); ok {
			t.Errorf("%s takes %v", tool, got)
		}
	}
	if o := s.Operations()["tools/call a/x"]; o.Count != 100 || o.Total != 0 || o.Min != 51*ms {
		t.Errorf("got %+v", o)
	}
	tools, servers := s.Calls()
	for _, c := range tools {
		if c.Outcomes != (Outcomes{}) {
			t.Errorf("counts %+v", c)
		}
	}
	if len(servers) != 1 || servers[0].Count != 0 {
		t.Errorf("counts %+v", servers)
	}
	for range 100 {
		s.Observe(ended("a", "x", hub.OutcomeOK, time.Second))
	}
	if got, _ := s.Typical("a", "x"); got != time.Second {
		t.Errorf("typical then: %v", got)
	}
}

// run takes the events of servers until the test ends.
func run(t *testing.T, s *Stats) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Run(t.Context()) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, first := &bus.Bus{}, time.Now()
		s := New(Options{Bus: events, Servers: func() []hub.Status {
			return []hub.Status{{Key: "e", State: hub.StateStarting, Since: first}, {Key: "f", State: hub.StateReady, Since: first}}
		}})
		run(t, s)
		become := func(key string, state hub.State, after time.Duration) {
			events.Publish(hub.ServerChanged{Status: hub.Status{Key: key, State: state, Since: first.Add(after)}})
		}
		become("a", hub.StateStarting, 0)
		become("b", hub.StateStarting, 10*ms)
		become("a", hub.StateReady, 300*ms)
		become("a", hub.StateReady, 300*ms)    // said again
		become("a", hub.StateStopping, 1*ms)   // and what follows
		become("a", hub.StateStarting, 500*ms) // for the second time
		events.Publish(hub.ToolsChanged{})
		become("a", hub.StateReady, 600*ms)
		become("b", hub.StateCrashed, 15*ms)
		become("b", hub.StateStarting, 20*ms)
		become("b", hub.StateReconnecting, 40*ms)
		become("b", hub.StateReady, 5000*ms) // without a start that was seen
		become("c", hub.StateStarting, 0)
		become("c", hub.StateStopping, 70*ms)
		become("c", hub.StateStopped, 80*ms)
		become("d", hub.StateReady, 0)
		become("e", hub.StateReady, 30*ms) // which started before anybody listened
		synctest.Wait()
		want := map[string]Operation{
			"server/start a": {
				Count: 2, Total: 2, Avg: 200 * ms, Min: 100 * ms, Max: 300 * ms, P50: 100 * ms, P95: 300 * ms, P99: 300 * ms,
			},
			"server/start e": {Count: 1, Total: 1, Avg: 30 * ms, Min: 30 * ms, Max: 30 * ms, P50: 30 * ms, P95: 30 * ms, P99: 30 * ms},
			"server/start b.error": {
				Count: 2, Total: 2, Avg: 12500 * time.Microsecond, Min: 5 * ms, Max: 20 * ms, P50: 5 * ms, P95: 20 * ms, P99: 20 * ms,
			},
		}
		if got := s.Operations(); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if tools, servers := s.Calls(); len(tools) != 1 || len(servers) != 0 {
			t.Errorf("counts starts as calls: %v, %v", tools, servers)
		}
	})
}

// A start is not put together from a beginning before a gap in the events and
// an end after it.
func TestStartsAcrossAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := &bus.Bus{}
		s := New(Options{Bus: events, Servers: none})
		publish := func(key string, state hub.State, since time.Duration) {
			events.Publish(hub.ServerChanged{Status: hub.Status{Key: key, State: state, Since: time.Unix(0, 0).Add(since)}})
		}
		publish("a", hub.StateStarting, 0)
		for range 2 * queue { // nobody reads yet
			publish("other", hub.StateReady, 0)
		}
		run(t, s)
		synctest.Wait()
		publish("a", hub.StateReady, time.Hour)
		publish("a", hub.StateStarting, 2*time.Hour)
		publish("a", hub.StateReady, 2*time.Hour+ms)
		synctest.Wait()
		if got := s.Operations()["server/start a"]; got.Total != 1 || got.Max != ms {
			t.Errorf("got %+v", got)
		}
	})
}

func BenchmarkObserve(b *testing.B) {
	s := begin()
	for i := range most {
		s.Observe(ended("a", fmt.Sprint(i), hub.OutcomeOK, ms))
	}
	r := ended("a", "9000", hub.OutcomeOK, 3*ms)
	b.ReportAllocs()
	for b.Loop() {
		s.Observe(r)
	}
}
