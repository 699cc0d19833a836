//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// withServers names a hub that was started with that many servers.
func withServers(kind string, servers int) string {
	return kind + withServersMark + strconv.Itoa(servers)
}

const withServersMark = ", N="

// yardstickOf names the yardstick to compare a target with: the one that has as many servers.
func yardstickOf(name string) string {
	if _, servers, ok := strings.Cut(name, withServersMark); ok {
		return minimum + withServersMark + servers
	}
	return minimum
}

// openings measures connecting and opening a session, and what that makes hubs ask of their upstreams.
func openings(ctx context.Context, t *trial) error {
	targets, up, err := t.fewAndMany(ctx)
	if err != nil {
		return err
	}
	targets = append([]target{up.target}, targets...)
	if err := up.settle(ctx); err != nil {
		return err
	}
	measured := newSeries("dial, initialize, initialized", targets)
	posts := map[string][]float64{}
	for round := range t.rounds {
		for i := range targets {
			one := targets[(round+i)%len(targets)]
			before, err := up.stats(ctx)
			if err != nil {
				return err
			}
			result, err := openSessions(ctx, one, t.openings)
			if err != nil {
				return fmt.Errorf("open sessions on %s: %w", one.name, err)
			}
			// What a hub asks because of them may come a little later.
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return err
			}
			after, err := up.stats(ctx)
			if err != nil {
				return err
			}
			measured.add(one.name, result)
			posts[one.name] = append(posts[one.name], float64(after.Posts-before.Posts)/float64(t.openings))
		}
	}
	t.report.addSeries(measured)
	counts := table{title: "posts to the upstream for each session opened", head: []string{"target", "posts"}}
	for _, one := range targets {
		got, _ := median(posts[one.name])
		counts.rows = append(counts.rows, []string{one.name, fmt.Sprintf("%.2f", got)})
	}
	t.report.tables = append(t.report.tables, counts)

	many := withServers(subject, manyServers)
	got, ok := measured.ratio(many, withServers(subject, 1), p50)
	t.report.goal("opening a session, 50 servers / 1 server", 1.25, "x", got, ok)
	got, ok = median(posts[many])
	t.report.goal("upstream posts for each session opened, 50 servers", 0, "posts", got, ok)
	return nil
}

// openSessions opens sessions one after the other, each on a connection of its own, and ends each.
func openSessions(ctx context.Context, on target, sessions int) (loadResult, error) {
	before, err := treeUsage(on.pid)
	if err != nil {
		return loadResult{}, err
	}
	worker := &loadWorker{}
	begin := time.Now()
	for range sessions {
		opening := time.Now()
		c, err := dialConn(ctx, on.url, exchangeTimeout)
		if err != nil {
			return loadResult{}, err
		}
		err = c.open()
		worker.latencies = append(worker.latencies, time.Since(opening))
		if err := errors.Join(err, c.end()); err != nil {
			return loadResult{}, err
		}
	}
	took := time.Since(begin)
	after, err := treeUsage(on.pid)
	if err != nil {
		return loadResult{}, err
	}
	return summarize([]*loadWorker{worker}, took, after.cpu-before.cpu, after.rssKiB), nil
}

// savedIndex starts toolcrib once with its servers, and then again and again without them.
func savedIndex(ctx context.Context, t *trial) error {
	const all = manyServers * toolsEach
	up, err := t.lab.startUpstream(ctx, toolsEach)
	if err != nil {
		return err
	}
	config := up.servers(manyServers)
	first, err := t.lab.startHub(ctx, subject, config, all)
	if err != nil {
		return err
	}
	if err := up.settle(ctx); err != nil {
		return err
	}
	first.child.stop()
	up.child.stop()
	measured := newSeries("from the start of the process until tools/list has 1,000 tools", []target{first.target})
	for range t.rounds {
		result, err := t.timeStart(ctx, subject, config, first.dataDir, all)
		if err != nil {
			return err
		}
		measured.add(subject, result)
	}
	t.report.tables = append(t.report.tables, startTable(measured))
	got, ok := measured.median(subject, p50)
	t.report.goal("first list from the saved index", 100, "ms", got/1000, ok)
	return nil
}

// coldStart starts hubs that know nothing yet.
func coldStart(ctx context.Context, t *trial) error {
	const servers = 10
	kinds := t.lab.hubs()
	config := t.lab.stdioServers(servers, toolsEach)
	measured := &series{name: "from the start of the process until tools/list has 200 tools", targets: kinds, results: map[string][]loadResult{}}
	for round := range t.rounds {
		for i := range kinds {
			kind := kinds[(round+i)%len(kinds)]
			result, err := t.timeStart(ctx, kind, config, t.lab.path("data"), servers*toolsEach)
			if err != nil {
				return err
			}
			measured.add(kind, result)
		}
	}
	t.report.tables = append(t.report.tables, startTable(measured))
	t.goalRatio("cold start, 10 stdio servers", 1.5, measured, p50)
	return nil
}

// timeStart starts a hub, waits for its tools, and stops it again. The time is the result's p50, its only request.
func (t *trial) timeStart(ctx context.Context, kind string, config hubConfig, dataDir string, tools int) (loadResult, error) {
	h, err := t.lab.spawnHub(ctx, kind, config, dataDir)
	if err != nil {
		return loadResult{}, err
	}
	defer h.child.stop()
	took, err := h.awaitTools(ctx, tools)
	if err != nil {
		return loadResult{}, err
	}
	used, err := treeUsage(h.pid)
	if err != nil {
		return loadResult{}, err
	}
	return summarize([]*loadWorker{{latencies: []time.Duration{took}}}, took, used.cpu, used.rssKiB), nil
}

// startTable shows how long starts took.
func startTable(s *series) table {
	rows := table{title: s.name, head: []string{"target", "ms", "RSS MiB", "x yardstick"}}
	for _, name := range s.targets {
		rows.rows = append(rows.rows, []string{
			name,
			show("%.0f")(s.median(name, func(r loadResult) float64 { return r.P50 / 1000 })),
			show("%.1f")(s.median(name, rss)),
			show("%.2f")(s.ratio(name, minimum, p50)),
		})
	}
	return rows
}
