// Package stats measures: how long each kind of operation takes, how it ends,
// and what the hub and the processes of its servers take. It owns the figures
// and nothing else; who shows them reads a copy.
package stats

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/bus"
	"github.com/toolcrib/toolcrib/internal/hub"
)

const (
	// kept is of how many of one kind, the last ones, the figures are.
	kept = 100
	// most is how many operations are known at once. Those that were not used
	// for the longest time make room.
	most = 10_000
	// queue is how many events may wait to be taken.
	queue = 1024
)

// Options are what the figures are of. The functions may be called from any
// goroutine.
type Options struct {
	Bus     *bus.Bus         // of the events of servers
	History []hub.CallRecord // calls of before the start, newest first; they tell how long a tool takes, and are counted nowhere
	Started time.Time

	Servers func() []hub.Status          // every server, in the order of the configuration
	Tools   func() (known, embedded int) // tools in the index, and those of built-in servers

	// Measure tells what process trees take, given the leaders of each, by
	// server.
	Measure func(leaders map[string][]int) map[string]Usage
}

// Stats is the figures. Safe for concurrent use.
type Stats struct {
	opt  Options
	sub  *bus.Subscription
	most int

	mu      sync.Mutex
	all     track // every call
	unknown track // those of tools that nobody knows
	tracks  map[key]*list.Element
	recent  list.List // of *track, the one used last in front

	usage usage
}

// New returns figures that count from now on: server events are kept for Run,
// which is to be called soon.
func New(opt Options) *Stats {
	s := &Stats{opt: opt, sub: opt.Bus.Subscribe(queue), most: most, tracks: map[key]*list.Element{}}
	s.usage.measure = opt.Measure
	for _, r := range slices.Backward(opt.History) {
		s.each(r, func(t *track) { t.times(r.Outcome).add(r.Duration) })
	}
	return s
}

// Observe counts a call that ended. It is called once for each of them, by
// whoever carries calls out: a bus, which may drop events, would make the
// totals wrong. It does not wait for anything but another Observe, or a reader
// who is making a copy.
func (s *Stats) Observe(r hub.CallRecord) {
	s.each(r, func(t *track) {
		t.times(r.Outcome).add(r.Duration)
		t.count(r)
	})
}

// each does something with every operation that a call belongs to. That its
// tool is known keeps callers from making up names.
func (s *Stats) each(r hub.CallRecord, do func(*track)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(&s.all)
	if r.Server == "" {
		do(&s.unknown)
		return
	}
	do(s.track(key{ofServer, r.Server, ""}))
	do(s.track(key{ofTool, r.Server, r.Tool}))
}

// track returns what is known of an operation, which is then the one that was
// used last. The caller holds mu.
func (s *Stats) track(k key) *track {
	if at, ok := s.tracks[k]; ok {
		s.recent.MoveToFront(at)
		return at.Value.(*track)
	}
	if len(s.tracks) >= s.most {
		oldest := s.recent.Back()
		s.recent.Remove(oldest)
		delete(s.tracks, oldest.Value.(*track).key)
	}
	t := &track{key: k}
	if k.kind == ofServer {
		t.latency = &histogram{}
	}
	s.tracks[k] = s.recent.PushFront(t)
	return t
}

// Run measures how long servers take to start, until ctx ends. It returns nil
// and must not run twice.
func (s *Stats) Run(ctx context.Context) error {
	defer s.sub.Close()
	starting := s.starting()
	for {
		select {
		case e := <-s.sub.C():
			if s.sub.Dropped() > 0 {
				// What is missing came after all that waits. A beginning from
				// before the gap has nothing to do with an end after it.
				for len(s.sub.C()) > 0 {
					<-s.sub.C()
				}
				starting = s.starting()
				continue
			}
			if changed, ok := e.(hub.ServerChanged); ok {
				s.started(starting, changed.Status)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// starting is since when those servers are starting that do so now, by key: no
// event has told of those that did from the beginning.
func (s *Stats) starting() map[string]time.Time {
	since := map[string]time.Time{}
	for _, st := range s.opt.Servers() {
		s.started(since, st)
	}
	return since
}

// started takes note of a server's state. A start that somebody ended counts
// neither as a success nor as a failure.
func (s *Stats) started(starting map[string]time.Time, st hub.Status) {
	if st.State == hub.StateStarting {
		starting[st.Key] = st.Since
		return
	}
	began, ok := starting[st.Key]
	delete(starting, st.Key)
	if !ok {
		return
	}
	outcome := hub.OutcomeOK
	switch st.State {
	case hub.StateReady, hub.StateDegraded:
	case hub.StateReconnecting, hub.StateCrashed, hub.StateFailed:
		outcome = hub.OutcomeFailed
	default:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.track(key{ofStart, st.Key, ""})
	t.times(outcome).add(st.Since.Sub(began))
	t.count(hub.CallRecord{Outcome: outcome})
}

// Typical returns how long a tool usually takes: the median of those of its
// last calls that went well. The tool is named as its server does. False means
// that there was none.
func (s *Stats) Typical(server, tool string) (time.Duration, bool) {
	s.mu.Lock()
	var last []time.Duration
	if at, ok := s.tracks[key{ofTool, server, tool}]; ok {
		last = slices.Clone(at.Value.(*track).good.last)
	}
	s.mu.Unlock()
	if len(last) == 0 {
		return 0, false
	}
	slices.Sort(last)
	return percentile(last, 50), true
}

// Operations returns the figures of every operation that there was, by name.
// Those that did not succeed are apart, under the name with ".error".
//
//	tools/call                 every call, also of a tool that nobody knows
//	tools/call {server}        the calls of one server
//	tools/call {server}/{tool} the calls of one tool, by its server's own name
//	server/start {server}      from the beginning of a start until it is ready
//
// A call that its caller cancelled did not succeed, and neither did one whose
// tool says so.
func (s *Stats) Operations() map[string]Operation {
	s.mu.Lock()
	tracks := []track{s.all.clone()}
	for _, at := range s.tracks {
		tracks = append(tracks, at.Value.(*track).clone())
	}
	s.mu.Unlock()
	found := make(map[string]Operation, len(tracks))
	for _, t := range tracks {
		if t.kind == ofTool && t.server != "" && t.tool == "" {
			continue // its server was away, and nobody knows whether it has such a tool
		}
		name := t.operation()
		if len(t.good.last) > 0 {
			found[name] = t.good.figures()
		}
		if len(t.bad.last) > 0 {
			found[name+".error"] = t.bad.figures()
		}
	}
	return found
}

// Calls returns how the calls of every tool ended since the hub started, and
// how long those of every server took, in no order. Calls of tools that nobody
// knows are there under empty names.
func (s *Stats) Calls() ([]ToolCalls, []Latency) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tools := []ToolCalls{{Outcomes: s.unknown.outcomes}}
	var servers []Latency
	for _, at := range s.tracks {
		switch t := at.Value.(*track); t.kind {
		case ofTool:
			tools = append(tools, ToolCalls{t.server, t.tool, t.outcomes})
		case ofServer:
			servers = append(servers, t.distribution())
		}
	}
	return tools, servers
}
