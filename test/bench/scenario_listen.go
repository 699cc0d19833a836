//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// unhurried is how often each of 16 workers calls where every call is told to everybody: 50 calls a second, which are
// 150 events.
const unhurried = 320 * time.Millisecond

// listeners has a crowd follow what happens, and compares the same load with nobody listening. Of as many calls as
// there can be each listener wants only those of one session, as a display does; of a few calls each hears all.
func listeners(ctx context.Context, t *trial) error {
	up, h, err := t.single(ctx)
	if err != nil {
		return err
	}
	if err := up.settle(ctx); err != nil {
		return err
	}
	alone, err := h.connections()
	if err != nil {
		return err
	}
	for _, s := range []struct {
		name, query string
		every       time.Duration
	}{
		{"all that is possible, each listener waits for one session", "?session=nobody", 0},
		{"50 calls a second, each listener hears all", "", unhurried},
	} {
		const nobody, many = subject + ", nobody listens", subject + ", a crowd listens"
		load := echoSlot("c=16, "+s.name, 16, minEchoText)
		load.load.every = s.every
		measured, err := t.besides(ctx, h, load, []beside{
			{nobody, func(context.Context, loadOptions) (func() error, error) { return func() error { return nil }, nil }},
			{many, func(ctx context.Context, _ loadOptions) (func() error, error) {
				return t.follow(ctx, h, s.query, s.every > 0, alone)
			}},
		})
		if err != nil {
			return err
		}
		got, ok := measured.ratio(many, nobody, p99)
		t.report.goal(fmt.Sprintf("p99 while %d listen, c=16, %s", t.crowd, s.name), 1.2, "x without", got, ok)
	}
	return nil
}

// follow opens the streams of listeners, and reads them until the returned function is called. That fails if one was
// to hear something and has heard nothing.
func (t *trial) follow(ctx context.Context, h *hub, query string, hears bool, alone int) (end func() error, err error) {
	c := &crowd{}
	for range t.crowd {
		m := &member{}
		c.members = append(c.members, m)
		stream, _, err := openStream(ctx, strings.TrimSuffix(h.url, "/mcp")+"/api/v1/events"+query, "")
		if err == nil {
			err = m.take(stream)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the streams of %d listeners: %w", t.crowd, err), c.end())
		}
	}
	reading, stop := context.WithCancel(ctx)
	read := make(chan struct{})
	go func() { defer close(read); c.read(reading, "\nevent: call.") }()
	return func() error {
		var failed error
		if hears {
			failed = c.awaitNews(ctx, make([]int64, len(c.members)))
		}
		stop()
		<-read
		return errors.Join(failed, c.end(), h.awaitConnections(ctx, alone+handful))
	}, nil
}
