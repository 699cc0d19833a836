//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// manySessions is by how much more sessions there are without a connection than with one.
const manySessions = 10

// calmTime is how long a hub that has nothing to do any more takes at most to give back what it does not need.
const calmTime = 22 * time.Second

// crowded is a hub in which there are sessions, and its memory in MiB at the moments that matter, each with nothing to
// do for a while.
type crowded struct {
	*hub

	callers    *crowd
	fresh      float64 // just started
	idle, open float64 // with all sessions, with some of them having a stream as well
	after      float64 // all have ended
}

// sessionMemory measures one hub with one server and one with many, side by side: they mostly wait.
func sessionMemory(ctx context.Context, t *trial) error {
	up, err := t.lab.startUpstream(ctx, toolsEach)
	if err != nil {
		return err
	}
	hubs := make([]*crowded, 0, 2)
	for _, servers := range []int{1, manyServers} {
		h, err := t.lab.startHub(ctx, subject, up.servers(servers), servers*toolsEach)
		if err != nil {
			return err
		}
		h.name = withServers(subject, servers)
		hubs = append(hubs, &crowded{hub: h})
	}
	many := t.sessions * manySessions
	for _, step := range []struct {
		do     func(h *crowded) error
		moment func(h *crowded) *float64
	}{
		{func(*crowded) error { return up.settle(ctx) }, func(h *crowded) *float64 { return &h.fresh }},
		{func(h *crowded) (err error) {
			h.callers, err = openCrowd(ctx, h.hub, crowdOptions{size: many, silent: true})
			return err
		}, func(h *crowded) *float64 { return &h.idle }},
		{func(h *crowded) error {
			for _, m := range h.callers.members[:t.sessions] {
				if err := m.listen(ctx, h.url); err != nil {
					return err
				}
			}
			return nil
		}, func(h *crowded) *float64 { return &h.open }},
		{func(h *crowded) error { return h.callers.end() }, func(h *crowded) *float64 { return &h.after }},
	} {
		if err := calmly(ctx, hubs, step.do, step.moment); err != nil {
			return errors.Join(fmt.Errorf("memory of sessions: %w", err), leaveAll(hubs))
		}
	}
	rows := table{
		title: fmt.Sprintf("RSS in MiB; %d sessions without a connection, then %d of them with an open stream, then all have ended", many, t.sessions),
		head:  []string{"target", "fresh", "sessions", "streams", "ended", "KiB a session", "KiB with a stream", "ended / fresh"},
	}
	for _, h := range hubs {
		idle := (h.idle - h.fresh) * 1024 / float64(many)
		streaming := idle + (h.open-h.idle)*1024/float64(t.sessions)
		back := h.after / h.fresh
		row := []string{h.name}
		for _, mib := range []float64{h.fresh, h.idle, h.open, h.after} {
			row = append(row, fmt.Sprintf("%.1f", mib))
		}
		rows.rows = append(rows.rows, append(row, fmt.Sprintf("%.1f", idle), fmt.Sprintf("%.1f", streaming), fmt.Sprintf("%.2f", back)))
		servers := fmt.Sprintf("%d servers", h.servers)
		t.report.goal("an idle session without a connection, "+servers, 6, "KiB", idle, true)
		t.report.goal("an idle session with an open stream, "+servers, 40, "KiB", streaming, true)
		t.report.goal(fmt.Sprintf("memory after %d sessions have ended, %s", many, servers), 1.2, "x before", back, true)
	}
	t.report.tables = append(t.report.tables, rows)
	return nil
}

// calmly does something to each hub and reads their memory when they have been calm.
func calmly(ctx context.Context, hubs []*crowded, do func(h *crowded) error, moment func(h *crowded) *float64) error {
	for _, h := range hubs {
		if err := do(h); err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
	}
	if err := pause(ctx, calmTime); err != nil {
		return err
	}
	for _, h := range hubs {
		mib, err := h.rssMiB()
		if err != nil {
			return err
		}
		*moment(h) = mib
	}
	return nil
}

// leaveAll ends what is left of the crowds after an error.
func leaveAll(hubs []*crowded) error {
	var failures []error
	for _, h := range hubs {
		if h.callers != nil {
			failures = append(failures, h.callers.end())
		}
	}
	return errors.Join(failures...)
}
