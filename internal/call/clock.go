package call

import (
	"context"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// maxStill is how long a clock stands still at most, for all reasons together: a
// server that never stops asking would else keep a call for ever.
const maxStill = time.Hour

// clock ends a call when its time is up, or one attempt of a call. It stands
// still while it is held: while a question of the server's waits for the caller's
// answer, since how long a person thinks is not the server's doing, and while the
// call waits for its turn. As an exchange it sees the questions go by.
type clock struct {
	hub.Exchange
	server string                  // whose time it is, by its key
	limit  time.Duration           // what there is of it
	asked  bool                    // the caller itself has set the limit
	end    context.CancelCauseFunc // ends what is timed

	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration // of the time, when it was last set going
	still   time.Duration // how long it has stood still, when it was last set going
	since   time.Time     // when it was last set going, or stopped
	holds   int           // that are not released
	stopped bool
}

// start sets the clock going for what began then; stop has to be called from then
// on.
func (c *clock) start(began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = time.Now()
	c.left = c.limit - c.since.Sub(began)
	if c.left <= 0 {
		c.over()
		return
	}
	c.timer = time.AfterFunc(c.left, c.ring)
}

// stop ends the clock. What comes later changes nothing.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.timer != nil {
		c.timer.Stop()
	}
}

// of says whose time it is from now on.
func (c *clock) of(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = server
}

// remains is how much is left of the time.
func (c *clock) remains() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds > 0 {
		return c.left
	}
	return c.left - time.Since(c.since)
}

// ring is called by the timer, perhaps just after that was set otherwise.
func (c *clock) ring() {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.left
	if c.holds > 0 {
		limit = maxStill - c.still
	}
	if !c.stopped && time.Since(c.since) >= limit {
		c.over()
	}
}

func (c *clock) over() { c.end(overdue(c.server, c.limit, c.asked)) }

// overdue is the error of a call whose time is up; asked says that the caller itself
// has set the limit, so that nothing of the server's is to be changed.
func overdue(server string, limit time.Duration, asked bool) *hub.Error {
	e := hub.E(message.Timeout, nil, "server", server, "limit", limit.String())
	if asked {
		e.Args[message.ValueLimitedBy] = "caller"
	}
	return e
}

// Ask implements [hub.Exchange].
func (c *clock) Ask(ctx context.Context, q hub.Question) {
	answer := q.Answer
	q.Answer = func(reply []byte, err error) {
		c.release()
		answer(reply, err)
	}
	c.hold()
	c.Exchange.Ask(ctx, q)
}

// hold has the clock stand still until it has been released as often as it was
// held.
func (c *clock) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds++; c.holds == 1 && c.timer != nil && !c.stopped {
		now := time.Now()
		c.left -= now.Sub(c.since)
		c.since = now
		c.timer.Reset(max(maxStill-c.still, 0))
	}
}

// release undoes one hold.
func (c *clock) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds--; c.holds == 0 && c.timer != nil && !c.stopped {
		now := time.Now()
		c.still += now.Sub(c.since)
		c.since = now
		c.timer.Reset(max(c.left, 0))
	}
}
