package stats

import (
	"math"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Operation is how long the last ones of one kind took, a hundred at most. They
// may be from before the hub started.
type Operation struct {
	Count         int   // of those that the figures are of
	Total         int64 // since the hub started
	Avg, Min, Max time.Duration

	// Nearest rank: the smallest of the durations that so many percent of them
	// do not exceed. It is always one that was measured.
	P50, P95, P99 time.Duration
}

// ToolCalls is how the calls of a tool ended since the hub started, or since
// the tool was so long unused that others took its place.
type ToolCalls struct {
	Server, Tool string // the server's own name of the tool
	Outcomes
}

// Outcomes is how many calls ended in which way.
type Outcomes struct {
	OK, ToolError, Failed, Cancelled, Unknown int64
}

// Latency is how long the calls of a server took since the hub started,
// however they ended.
type Latency struct {
	Server  string
	Count   uint64
	Sum     time.Duration
	Buckets map[float64]uint64 // by an upper bound in seconds: calls that took no longer
}

// kind is what an operation is about.
type kind uint8

const (
	ofTool kind = iota
	ofServer
	ofStart
)

// key names an operation.
type key struct {
	kind         kind
	server, tool string
}

// operation is its name for people and programs. The key of a server has no
// slash.
func (k key) operation() string {
	switch {
	case k.kind == ofStart:
		return "server/start " + k.server
	case k.kind == ofServer:
		return "tools/call " + k.server
	case k.server == "":
		return "tools/call"
	}
	return "tools/call " + k.server + "/" + k.tool
}

// track is what is known of one operation.
type track struct {
	key
	good, bad series
	outcomes  Outcomes
	latency   *histogram // of a server's calls, else nil
}

// times are the durations of those that ended so.
func (t *track) times(o hub.Outcome) *series {
	if o == hub.OutcomeOK {
		return &t.good
	}
	return &t.bad
}

// count counts a call.
func (t *track) count(r hub.CallRecord) {
	t.times(r.Outcome).total++
	switch r.Outcome {
	case hub.OutcomeOK:
		t.outcomes.OK++
	case hub.OutcomeToolError:
		t.outcomes.ToolError++
	case hub.OutcomeFailed:
		t.outcomes.Failed++
	case hub.OutcomeCancelled:
		t.outcomes.Cancelled++
	case hub.OutcomeUnknown:
		t.outcomes.Unknown++
	}
	if t.latency != nil {
		t.latency.add(r.Duration)
	}
}

// clone is a copy with durations of its own, and without the distribution.
func (t *track) clone() track {
	c := track{key: t.key, good: t.good, bad: t.bad}
	c.good.last, c.bad.last = slices.Clone(t.good.last), slices.Clone(t.bad.last)
	return c
}

// series is the durations of the last ones, in no order, and how many there
// were.
type series struct {
	last  []time.Duration // at most kept
	next  int             // place of the one that is replaced next, once there are as many
	total int64
}

func (s *series) add(d time.Duration) {
	d = max(d, 0)
	if len(s.last) < kept {
		s.last = append(s.last, d)
		return
	}
	s.last[s.next] = d
	s.next = (s.next + 1) % kept
}

// figures are those of the series, of which there is at least one duration. It
// sorts them.
func (s *series) figures() Operation {
	slices.Sort(s.last)
	var sum time.Duration
	for _, d := range s.last {
		sum += d
	}
	n := len(s.last)
	return Operation{
		Count: n, Total: s.total, Avg: sum / time.Duration(n), Min: s.last[0], Max: s.last[n-1],
		P50: percentile(s.last, 50), P95: percentile(s.last, 95), P99: percentile(s.last, 99),
	}
}

// percentile is the nearest-rank percentile of durations in ascending order, of
// which there is at least one.
func percentile(sorted []time.Duration, percent int) time.Duration {
	rank := (percent*len(sorted) + 99) / 100 // rounded up; from 1
	return sorted[rank-1]
}

// steps is the number of upper bounds of a histogram.
const steps = 15

// bounds are the upper bounds, in seconds. Those of low and medium cost are
// among them.
func bounds() [steps]float64 {
	return [...]float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60}
}

// histogram is how many took how long.
type histogram struct {
	in  [steps + 1]uint64 // by the first bound that is not below; the last is beyond all
	sum time.Duration
}

func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	all := bounds()
	at, _ := slices.BinarySearch(all[:], d.Seconds())
	h.in[at]++
	h.sum += min(d, math.MaxInt64-h.sum)
}

// distribution is the histogram as others read it.
func (t *track) distribution() Latency {
	l := Latency{Server: t.server, Sum: t.latency.sum, Buckets: make(map[float64]uint64, steps)}
	for i, bound := range bounds() {
		l.Count += t.latency.in[i]
		l.Buckets[bound] = l.Count
	}
	l.Count += t.latency.in[steps]
	return l
}
