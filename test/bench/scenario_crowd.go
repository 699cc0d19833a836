//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// crowdSlots are the loads that go on beside a crowd.
var crowdSlots = []string{small1, small16}

// beside is something that goes on at a hub while load goes to it. begin begins it and returns what ends it again,
// both outside of the measured time.
type beside struct {
	name  string
	begin func(ctx context.Context, load loadOptions) (end func() error, err error)
}

// besides puts the same load on a hub beside one thing after the other, round by round, in rotating order.
func (t *trial) besides(ctx context.Context, h *hub, s slot, things []beside) (*series, error) {
	load := t.timed(s.load)
	targets := make([]target, 0, len(things))
	for _, thing := range things {
		targets = append(targets, target{name: thing.name})
	}
	measured := newSeries(s.name, targets)
	for round := range t.rounds {
		for i := range things {
			thing := things[(round+i)%len(things)]
			result, err := t.quietestOf(s.name, target{name: thing.name}, func() (loadResult, error) {
				end, err := thing.begin(ctx, load)
				if err != nil {
					return loadResult{}, err
				}
				result, err := t.lab.load(ctx, h.target, load)
				return result, errors.Join(err, end())
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", thing.name, err)
			}
			measured.add(thing.name, result)
		}
	}
	fmt.Fprintf(t.progress, "   %s\n", s.name)
	t.report.addSeries(measured)
	return measured, nil
}

// leaving cuts the connections of a whole crowd in the middle of the measured time. Half of the callers come by HTTP
// with SSE, whose sessions end with that.
func leaving(ctx context.Context, t *trial) error {
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
	const stay, leave = subject + ", they stay", subject + ", they leave"
	gather := func(cut bool) func(context.Context, loadOptions) (func() error, error) {
		return func(ctx context.Context, load loadOptions) (func() error, error) {
			c, err := openCrowd(ctx, h, crowdOptions{size: t.crowd, sse: t.crowd / 2})
			if err != nil {
				return nil, err
			}
			gone := make(chan error, 1)
			go func() {
				if !cut {
					gone <- nil
					return
				}
				gone <- errors.Join(pause(ctx, load.warm+t.slot/2), c.cut())
			}()
			return func() error {
				return errors.Join(<-gone, c.end(), h.awaitConnections(ctx, alone+handful))
			}, nil
		}
	}
	for _, s := range smallSlots(crowdSlots...) {
		measured, err := t.besides(ctx, h, s, []beside{{stay, gather(false)}, {leave, gather(true)}})
		if err != nil {
			return err
		}
		got, ok := measured.ratio(leave, stay, p99)
		t.report.goal(fmt.Sprintf("p99 while %d callers leave, %s", t.crowd, s.name), 1.2, "x as they stay", got, ok)
	}
	return nil
}

// handful is how many files a hub may have open besides, such as idle connections to servers.
const handful = 40

// What callers are told of: so often, and every other time also that the tools have changed.
const newsEvery = 250 * time.Millisecond

// heavy is the size of a message that no socket takes as a whole when nobody reads.
const heavy = 8 << 20

// fanOut has a whole crowd subscribed to one resource, which changes while others call. One more caller has stopped to
// read in the middle of a message.
func fanOut(ctx context.Context, t *trial) error {
	up, h, err := t.single(ctx, "-news")
	if err != nil {
		return err
	}
	if err := up.settle(ctx); err != nil {
		return err
	}
	c, err := openCrowd(ctx, h, crowdOptions{size: t.crowd, subscribe: newsURI})
	if err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	read := make(chan struct{})
	go func() { defer close(read); c.read(reading, notified) }()
	err = t.fanOutTo(ctx, h, up, c)
	stop()
	<-read
	return errors.Join(err, c.end())
}

func (t *trial) fanOutTo(ctx context.Context, h *hub, up *upstream, c *crowd) error {
	for _, s := range smallSlots(crowdSlots...) {
		measured, err := t.besides(ctx, h, s, []beside{
			{quietly, func(context.Context, loadOptions) (func() error, error) { return func() error { return nil }, nil }},
			{told, func(ctx context.Context, _ loadOptions) (func() error, error) { return t.telling(ctx, h, up, c) }},
		})
		if err != nil {
			return err
		}
		got, ok := measured.ratio(told, quietly, p99)
		t.report.goal(fmt.Sprintf("p99 while %d callers are told of changes, one stalled, %s", t.crowd, s.name), 2, "x without", got, ok)
	}
	return nil
}

const quietly, told = subject + ", nothing changes", subject + ", changes"

// telling stalls a caller and has all others told of changes, until the returned function is called, which fails if
// one of them has heard nothing.
func (t *trial) telling(ctx context.Context, h *hub, up *upstream, c *crowd) (end func() error, err error) {
	stalled, err := stall(ctx, h, up)
	if err != nil {
		return nil, err
	}
	before := c.heard()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			err := up.tell(ctx, updated(newsURI, 0))
			if err == nil && n%2 == 0 {
				err = up.tell(ctx, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
			if err == nil {
				err = pause(ctx, newsEvery)
			}
			if err != nil {
				if ctx.Err() != nil {
					err = nil // It was told to end.
				}
				done <- err
				return
			}
		}
	}()
	return func() error {
		failed := c.awaitNews(ctx, before)
		cancel()
		failed = errors.Join(failed, <-done)
		return errors.Join(failed, stalled.end())
	}, nil
}

// stall opens a stream that nobody reads and has the hub begin a message on it that never fits.
func stall(ctx context.Context, h *hub, up *upstream) (c *crowd, err error) {
	c = &crowd{members: []*member{{}}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("stall a caller: %w", err), c.end())
		}
	}()
	if c.desk, err = dialConn(ctx, h.url, exchangeTimeout); err != nil {
		return c, err
	}
	if err = c.desk.open(); err != nil {
		return c, err
	}
	m := c.members[0]
	m.session = c.desk.session
	if err = errors.Join(c.subscribe(m, newsURI), c.subscribe(m, heavyURI)); err != nil {
		return c, err
	}
	if err = m.listen(ctx, h.url); err != nil {
		return c, err
	}
	return c, up.tell(ctx, updated(heavyURI, heavy))
}

// updated is a server's notification that a resource has changed, with so many bytes of padding.
func updated(uri string, padding int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q,"_meta":{"pad":%q}}}`,
		uri, strings.Repeat("x", padding))
}

// tell has the upstream send a notification to whoever holds a stream to it.
func (u *upstream) tell(ctx context.Context, message string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+u.addr+"/news", strings.NewReader(message))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("have the upstream tell of a change: %w", err)
	}
	if response.StatusCode != http.StatusNoContent {
		err = fmt.Errorf("have the upstream tell of a change: %s", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}
