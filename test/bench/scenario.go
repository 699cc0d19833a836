//go:build linux

package main

import (
	"context"
	"time"
)

// scenario is one thing to measure. Its processes are ended after run returned.
type scenario struct {
	key, title   string
	needsSubject bool // says nothing without toolcrib
	run          func(ctx context.Context, t *trial) error
}

func scenarios() []scenario {
	return []scenario{
		{key: "a", title: "calls, HTTP upstream that answers with JSON", run: callsJSON},
		{key: "b", title: "calls, HTTP upstream that answers with an event stream", run: callsSSE},
		{key: "c", title: "calls, stdio upstream (CPU and memory include the child)", run: callsStdio},
		{key: "d", title: "tools/list of 1,000 tools (50 servers of 20)", run: listing},
		{key: "e", title: "CPU per call with 50 servers against 1", run: growth},
		{key: "f", title: "opening a session with 1 and 50 servers", run: openings},
		{key: "g", title: "first list from the saved index, 50 servers unreachable", needsSubject: true, run: savedIndex},
		{key: "h", title: "cold start of 10 stdio servers", run: coldStart},
		{key: "i", title: "memory", run: memory},
		{key: "j", title: "built-in tool", needsSubject: true, run: builtIn},
		{key: "k", title: "a call of a stdio server that does not run", needsSubject: true, run: coldCall},
		{key: "l", title: "health checks of 500 servers", needsSubject: true, run: healthChecks},
		{key: "m", title: "what sessions hold", needsSubject: true, run: sessionMemory},
		{key: "n", title: "calls while a thousand callers leave", needsSubject: true, run: leaving},
		{key: "o", title: "calls while a thousand callers are told of changes", needsSubject: true, run: fanOut},
		{key: "p", title: "calls by what they may do: any arguments, judged arguments, what may change something", run: callsByDeed},
		{key: "q", title: "calls while a thousand listen to the events", needsSubject: true, run: listeners},
		{key: "r", title: "voice assistants that use no tool", needsSubject: true, run: voices},
	}
}

// The loads of several scenarios, by the names that their goals refer to.
const (
	small1  = "11 B, c=1"
	small16 = "11 B, c=16"
	small64 = "11 B, c=64"
	large1  = "1 MiB result, c=1"
)

// manyServers is how many servers stand for many, toolsEach how many tools each of them has.
const (
	manyServers = 50
	toolsEach   = 20
)

func echoSlot(name string, workers, size int) slot { return toolSlot(name, echoTool, workers, size) }

func toolSlot(name, tool string, workers, size int) slot {
	return slot{name: name, load: loadOptions{tool: tool, workers: workers, size: size}}
}

func smallSlots(names ...string) []slot {
	workers := map[string]int{small1: 1, small16: 16, small64: 64}
	slots := make([]slot, 0, len(names))
	for _, name := range names {
		slots = append(slots, echoSlot(name, workers[name], minEchoText))
	}
	return slots
}

func largeSlot() slot {
	return slot{name: large1, load: loadOptions{tool: "blob", workers: 1, kib: 1024}}
}

func callsJSON(ctx context.Context, t *trial) error {
	slots := append(smallSlots(small1, small16, small64),
		echoSlot("16 KiB there and back, c=1", 1, 16<<10), echoSlot("16 KiB there and back, c=16", 16, 16<<10), largeSlot())
	measured, err := t.callsHTTP(ctx, slots)
	if err != nil {
		return err
	}
	t.goalRatio("CPU per call, 11 B, c=16", 2, measured[small16], cpu)
	t.goalAdded("added p50, 11 B, c=1", 1.2, measured[small1])
	t.goalRatio("p99, 11 B, c=16", 1.5, measured[small16], p99)
	t.goalAdded("added p50, 1 MiB result, c=1", 1.5, measured[large1])
	return nil
}

func callsSSE(ctx context.Context, t *trial) error {
	_, err := t.callsHTTP(ctx, append(smallSlots(small1, small16), largeSlot()), "-sse")
	return err
}

// callsHTTP measures calls to one HTTP upstream with and without a hub, by the slots' names.
func (t *trial) callsHTTP(ctx context.Context, slots []slot, upstreamFlags ...string) (map[string]*series, error) {
	up, err := t.lab.startUpstream(ctx, toolsEach, upstreamFlags...)
	if err != nil {
		return nil, err
	}
	targets := []target{up.target}
	for _, kind := range t.lab.hubs() {
		h, err := t.lab.startHub(ctx, kind, up.servers(1), toolsEach)
		if err != nil {
			return nil, err
		}
		targets = append(targets, h.target)
	}
	if err := up.settle(ctx); err != nil {
		return nil, err
	}
	return t.measure(ctx, slots, targets)
}

// measure runs the slots and puts each into the report.
func (t *trial) measure(ctx context.Context, slots []slot, targets []target) (map[string]*series, error) {
	measured := map[string]*series{}
	for _, s := range slots {
		one, err := t.interleave(ctx, s, targets)
		if err != nil {
			return nil, err
		}
		measured[s.name] = one
		t.report.addSeries(one)
	}
	return measured, nil
}

// callsStdio has no direct target: a pipe is no endpoint that load could go to.
func callsStdio(ctx context.Context, t *trial) error {
	var targets []target
	for _, kind := range t.lab.hubs() {
		h, err := t.lab.startHub(ctx, kind, t.lab.stdioServers(1, toolsEach), toolsEach)
		if err != nil {
			return err
		}
		targets = append(targets, h.target)
	}
	measured, err := t.measure(ctx, smallSlots(small1, small16, small64), targets)
	if err != nil {
		return err
	}
	t.goalRatio("CPU per call, stdio, 11 B, c=16", 1.5, measured[small16], cpu)
	return nil
}

// listing compares with an upstream that has all the tools itself.
func listing(ctx context.Context, t *trial) error {
	const all = manyServers * toolsEach
	whole, err := t.lab.startUpstream(ctx, all)
	if err != nil {
		return err
	}
	up, err := t.lab.startUpstream(ctx, toolsEach)
	if err != nil {
		return err
	}
	targets := []target{whole.target}
	for _, kind := range t.lab.hubs() {
		h, err := t.lab.startHub(ctx, kind, up.servers(manyServers), all)
		if err != nil {
			return err
		}
		targets = append(targets, h.target)
	}
	if err := up.settle(ctx); err != nil {
		return err
	}
	const name = "tools/list, c=1"
	measured, err := t.measure(ctx, []slot{{name: name, load: loadOptions{workers: 1, list: all}}}, targets)
	if err != nil {
		return err
	}
	t.goalRatio("p50 of tools/list, 1,000 tools", 2, measured[name], p50)
	t.goalRatio("CPU of tools/list, 1,000 tools", 2, measured[name], cpu)
	return nil
}

// growth spreads its calls over all servers that there are.
func growth(ctx context.Context, t *trial) error {
	targets, up, err := t.fewAndMany(ctx)
	if err != nil {
		return err
	}
	if err := up.settle(ctx); err != nil {
		return err
	}
	measured, err := t.measure(ctx, smallSlots(small16), targets)
	if err != nil {
		return err
	}
	got, ok := measured[small16].ratio(withServers(subject, manyServers), withServers(subject, 1), cpu)
	t.report.goal("CPU per call, 50 servers / 1 server", 1.2, "x", got, ok)
	return nil
}

// fewAndMany starts every hub with one server and with many, all of them the same upstream.
func (t *trial) fewAndMany(ctx context.Context) ([]target, *upstream, error) {
	up, err := t.lab.startUpstream(ctx, toolsEach)
	if err != nil {
		return nil, nil, err
	}
	var targets []target
	for _, kind := range t.lab.hubs() {
		for _, servers := range []int{1, manyServers} {
			h, err := t.lab.startHub(ctx, kind, up.servers(servers), servers*toolsEach)
			if err != nil {
				return nil, nil, err
			}
			h.name = withServers(kind, servers)
			targets = append(targets, h.target)
		}
	}
	return targets, up, nil
}

// single starts an upstream, and the hub with it as its one server.
func (t *trial) single(ctx context.Context, flags ...string) (*upstream, *hub, error) {
	up, err := t.lab.startUpstream(ctx, toolsEach, flags...)
	if err != nil {
		return nil, nil, err
	}
	h, err := t.lab.startHub(ctx, subject, up.servers(1), toolsEach)
	return up, h, err
}

func builtIn(ctx context.Context, t *trial) error {
	_, h, err := t.single(ctx)
	if err != nil {
		return err
	}
	on := h.target
	on.prefix = "calculator" + exposedSeparator
	load := loadOptions{tool: "calculator", args: `{"expression":"1+2"}`, expect: "3"}
	alone, crowded := load, load
	alone.workers, crowded.workers = 1, 16
	const name = "1+2, c=1"
	measured, err := t.measure(ctx, []slot{{name: name, load: alone}, {name: "1+2, c=16", load: crowded}}, []target{on})
	if err != nil {
		return err
	}
	got, ok := measured[name].median(subject, p99)
	t.report.goal("p99 of a built-in call, c=1, whole round trip", 1, "ms", got/float64(time.Millisecond/time.Microsecond), ok)
	return nil
}

// goalRatio is a goal for toolcrib's figure by the yardstick's.
func (t *trial) goalRatio(what string, limit float64, s *series, f figure) {
	got, ok := s.ratio(subject, minimum, f)
	t.report.goal(what, limit, "x yardstick", got, ok)
}

// goalAdded is a goal for what toolcrib adds to the direct p50, by what the yardstick adds.
func (t *trial) goalAdded(what string, limit float64, s *series) {
	got, ok := s.ratioAbove(subject, minimum, direct, p50)
	t.report.goal(what, limit, "x yardstick", got, ok)
}
