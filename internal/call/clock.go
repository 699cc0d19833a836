package call

import (
	"context"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// maxStill is how long all questions of a call together may hold it up: a server
// that never stops asking would else keep it for ever.
const maxStill = time.Hour

// clock ends a call when its server has had its time. It stands still while a
// question of the server's waits for the caller's answer: how long a person
// thinks is not the server's doing. As the call's exchange it sees the questions
// go by.
type clock struct {
	hub.Exchange
	server *hub.Server
	end    context.CancelCauseFunc // ends the call

	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration // of the server's time, when it was last set going
	still   time.Duration // how long it has stood still, when it was last stopped
	since   time.Time     // when it was last set going, or stopped
	open    int           // questions that are not answered
	stopped bool
}

// start sets the clock going; from then on stop has to be called.
func (c *clock) start(left time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.since = left, time.Now()
	if left <= 0 {
		c.over()
		return
	}
	c.timer = time.AfterFunc(left, c.ring)
}

// stop ends the clock. Answers that come later change nothing.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.timer != nil {
		c.timer.Stop()
	}
}

// ring is called by the timer, perhaps just after that was set otherwise.
func (c *clock) ring() {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.left
	if c.open > 0 {
		limit = maxStill - c.still
	}
	if !c.stopped && time.Since(c.since) >= limit {
		c.over()
	}
}

func (c *clock) over() {
	c.end(hub.E(message.Timeout, nil, "server", c.server.Key, "limit", c.server.Timeout.String()))
}

// Ask implements [hub.Exchange].
func (c *clock) Ask(ctx context.Context, q hub.Question) {
	answer := q.Answer
	q.Answer = func(reply []byte, err error) {
		c.answered()
		answer(reply, err)
	}
	c.asked()
	c.Exchange.Ask(ctx, q)
}

func (c *clock) asked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open++; c.open == 1 && c.timer != nil && !c.stopped {
		now := time.Now()
		c.left -= now.Sub(c.since)
		c.since = now
		c.timer.Reset(max(maxStill-c.still, 0))
	}
}

func (c *clock) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open--; c.open == 0 && c.timer != nil && !c.stopped {
		now := time.Now()
		c.still += now.Sub(c.since)
		c.since = now
		c.timer.Reset(max(c.left, 0))
	}
}
