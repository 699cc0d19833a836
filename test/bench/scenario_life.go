//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// coldCalls is how many cold calls make a round.
const coldCalls = 10

// coldCall calls a tool of a server that does not run: what that takes beyond starting the very same process and
// calling it by hand.
func coldCall(ctx context.Context, t *trial) error {
	config := t.lab.stdioServers(1, toolsEach)
	entry := config.Servers[serverLetter+"1"]
	lazy := entry
	lazy.AutoStart, lazy.IdleStop = false, "50ms"
	config.Servers[serverLetter+"1"] = lazy
	h, err := t.lab.startHub(ctx, subject, config, toolsEach)
	if err != nil {
		return err
	}
	caller, err := dialConn(ctx, h.url, exchangeTimeout)
	if err != nil {
		return err
	}
	defer func() { _ = caller.end() }() // Nothing is left to be lost.
	if err := caller.open(); err != nil {
		return err
	}
	byHand := target{name: direct, pid: h.pid}
	measured := newSeries("from the call until its answer, the server's start included", []target{byHand, h.target})
	for range t.rounds {
		through, alone := &loadWorker{}, &loadWorker{}
		for range coldCalls {
			if err := h.awaitAlone(ctx); err != nil {
				return err
			}
			took, err := callOnce(caller, serverLetter+"1"+exposedSeparator+"echo")
			if err != nil {
				return err
			}
			through.latencies = append(through.latencies, took)
			if took, err = startAndCall(ctx, entry); err != nil {
				return err
			}
			alone.latencies = append(alone.latencies, took)
		}
		measured.add(subject, summarize([]*loadWorker{through}, time.Second, 0, 0))
		measured.add(direct, summarize([]*loadWorker{alone}, time.Second, 0, 0))
	}
	rows := table{title: measured.name, head: []string{"target", "p50 ms", "p99 ms"}}
	for _, name := range measured.targets {
		rows.rows = append(rows.rows, []string{
			name,
			show("%.1f")(measured.median(name, func(r loadResult) float64 { return r.P50 / 1000 })),
			show("%.1f")(measured.median(name, func(r loadResult) float64 { return r.P99 / 1000 })),
		})
	}
	t.report.tables = append(t.report.tables, rows)
	got, ok := measured.added(subject, direct, p50)
	t.report.goal("a cold call, beyond the server's own start", 20, "ms", got/1000, ok)
	return nil
}

// awaitAlone waits until the hub has no process besides itself.
func (h *hub) awaitAlone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	for {
		used, err := treeUsage(h.pid)
		if err != nil {
			return err
		}
		if used.processes == 1 {
			return nil
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("wait for the server to be ended: %w", err)
		}
	}
}

// echoCall is a call of a tool by a name.
func echoCall(tool string) []byte {
	return fmt.Appendf(nil, replyHead+`1,"method":"tools/call","params":{"name":%q,"arguments":{"text":"hello world"}}}`, tool)
}

// callOnce returns how long a call took.
func callOnce(c *conn, tool string) (time.Duration, error) {
	begin := time.Now()
	reply, arrived, err := c.exchange(echoCall(tool))
	if err == nil && !bytes.Contains(reply, []byte("hello world")) {
		err = fmt.Errorf("a cold call was answered %.200q", reply)
	}
	return arrived.Sub(begin), err
}

// startAndCall starts a server, opens a session, calls it once and ends it.
func startAndCall(ctx context.Context, entry hubServer) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	begin := time.Now()
	link, err := startStdioLink(ctx, entry)
	if err != nil {
		return 0, err
	}
	var reply bytes.Buffer
	err = link.roundTrip(ctx, 1, echoCall("echo"), &reply)
	took = time.Since(begin)
	err = errors.Join(err, link.input.Close())
	<-link.dead
	return took, err
}

// What the health checks are measured by: so often, for so long.
const (
	checkedServers = 500
	checkedTools   = 2 // the fewest that the upstream has
	checkInterval  = 2 * time.Second
	usualInterval  = 30 * time.Second
	checkedFor     = 10 * time.Second
)

// healthChecks measures what watching many servers takes: more often than usual, so that it can be seen.
func healthChecks(ctx context.Context, t *trial) error {
	up, err := t.lab.startUpstream(ctx, checkedTools)
	if err != nil {
		return err
	}
	used := map[string]float64{}
	for _, interval := range []string{"off", checkInterval.String()} {
		config := up.servers(checkedServers)
		for name, entry := range config.Servers {
			entry.HealthCheck = interval
			config.Servers[name] = entry
		}
		h, err := t.lab.startHub(ctx, subject, config, checkedServers*checkedTools)
		if err != nil {
			return err
		}
		if interval == "off" {
			err = up.settle(ctx)
		} else {
			err = pause(ctx, checkInterval)
		}
		if err != nil {
			return err
		}
		before, err := treeUsage(h.pid)
		if err != nil {
			return err
		}
		posts, err := up.stats(ctx)
		if err != nil {
			return err
		}
		if err := pause(ctx, checkedFor); err != nil {
			return err
		}
		after, err := treeUsage(h.pid)
		if err != nil {
			return err
		}
		later, err := up.stats(ctx)
		if err != nil {
			return err
		}
		used[interval] = (after.cpu - before.cpu).Seconds() / checkedFor.Seconds() * 100
		used[interval+" probes"] = float64(later.Posts-posts.Posts) / checkedFor.Seconds()
		h.child.stop()
	}
	often := used[checkInterval.String()]
	usual := (often - used["off"]) * checkInterval.Seconds() / usualInterval.Seconds()
	rows := table{title: fmt.Sprintf("%d servers, for %v", checkedServers, checkedFor), head: []string{"health checks", "probes/s", "% of a core"}}
	for _, interval := range []string{"off", checkInterval.String()} {
		rows.rows = append(rows.rows, []string{
			interval, fmt.Sprintf("%.0f", used[interval+" probes"]), fmt.Sprintf("%.2f", used[interval]),
		})
	}
	t.report.tables = append(t.report.tables, rows)
	t.report.goal("health checks of 500 servers every 30 s", 1, "% of a core", usual, used[checkInterval.String()+" probes"] > 0)
	return nil
}
