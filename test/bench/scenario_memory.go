//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// largeWorkers is how many large results are under way at once.
const largeWorkers = 4

// holding is the memory of one hub at the moments that matter, in MiB.
type holding struct {
	idle       float64 // started, its servers connected
	perSession float64 // KiB for each session that nobody is connected to
	first      float64 // after large results
	second     float64 // after as many again
}

// memory measures a fresh process in every round, up to three.
func memory(ctx context.Context, t *trial) error {
	up, err := t.lab.startUpstream(ctx, toolsEach)
	if err != nil {
		return err
	}
	held := map[string][]holding{}
	for range min(t.rounds, 3) {
		for _, kind := range t.lab.hubs() {
			one, err := t.holds(ctx, kind, up)
			if err != nil {
				return fmt.Errorf("memory of %s: %w", kind, err)
			}
			held[kind] = append(held[kind], one)
		}
	}
	rows := table{
		title: fmt.Sprintf("RSS in MiB; %d sessions without a connection, then twice %d results of 1 MiB by %d workers",
			t.sessions, t.large, largeWorkers),
		head: []string{"target", "idle", "KiB a session", "after large results", "after as many again", "again / first"},
	}
	middle := func(kind string, pick func(holding) float64) string {
		var values []float64
		for _, one := range held[kind] {
			values = append(values, pick(one))
		}
		return show("%.1f")(median(values))
	}
	for _, kind := range t.lab.hubs() {
		rows.rows = append(rows.rows, []string{
			kind,
			middle(kind, func(h holding) float64 { return h.idle }),
			middle(kind, func(h holding) float64 { return h.perSession }),
			middle(kind, func(h holding) float64 { return h.first }),
			middle(kind, func(h holding) float64 { return h.second }),
			middle(kind, func(h holding) float64 { return h.second / h.first }),
		})
	}
	t.report.tables = append(t.report.tables, rows)
	if t.hub == "" {
		return nil
	}
	binary, err := os.Stat(t.hub)
	if err != nil {
		return fmt.Errorf("measure the binary: %w", err)
	}
	t.report.notes = append(t.report.notes, fmt.Sprintf("The binary has %.1f MiB.", float64(binary.Size())/(1<<20)))
	return nil
}

// holds starts a hub, measures it, and stops it.
func (t *trial) holds(ctx context.Context, kind string, up *upstream) (holding, error) {
	var held holding
	h, err := t.lab.startHub(ctx, kind, up.servers(1), toolsEach)
	if err != nil {
		return held, err
	}
	defer h.child.stop()
	if err := up.settle(ctx); err != nil {
		return held, err
	}
	if held.idle, err = h.rssMiB(); err != nil {
		return held, err
	}
	if err := abandonSessions(ctx, h.url, t.sessions); err != nil {
		return held, err
	}
	crowded, err := h.rssMiB()
	if err != nil {
		return held, err
	}
	held.perSession = (crowded - held.idle) * 1024 / float64(t.sessions)
	for _, moment := range []*float64{&held.first, &held.second} {
		load := loadOptions{tool: "blob", kib: 1024, workers: largeWorkers, count: t.large, last: countedPatience, timeout: exchangeTimeout}
		result, err := t.lab.load(ctx, h.target, load)
		if err != nil {
			return held, err
		}
		t.account("1 MiB results", h.target, result)
		if *moment, err = h.rssMiB(); err != nil {
			return held, err
		}
	}
	return held, nil
}

func (h *hub) rssMiB() (float64, error) {
	used, err := treeUsage(h.pid)
	return float64(used.rssKiB) / 1024, err
}

// abandonSessions opens that many sessions, all on one connection, and then drops the connection without ending them.
func abandonSessions(ctx context.Context, endpoint string, sessions int) (err error) {
	c, err := dialConn(ctx, endpoint, exchangeTimeout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for range sessions {
		if err := c.open(); err != nil {
			return err
		}
	}
	return nil
}
