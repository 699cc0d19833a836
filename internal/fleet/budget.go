package fleet

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// counter keeps account of how often a server was lost.
type counter struct {
	budget Budget
	local  bool
	ends   []time.Time // of a local server, within the window
	tries  int         // of a remote one, since it was last healthy
}

// next accounts for one end, at now, of a connection that had held for some
// time, or none at all if the attempt failed. It returns how long to wait
// before the next attempt; false if there is to be none.
func (c *counter) next(now time.Time, held time.Duration, reason *hub.Error) (time.Duration, bool) {
	if hopeless(reason) {
		return 0, false
	}
	if held >= c.budget.Healthy {
		c.ends, c.tries = nil, 0
	}
	if reason.Code == message.SessionLost {
		// The server is there; it only has to be greeted again. A server that
		// forgets at once is treated like one that is away.
		if c.tries++; c.tries == 1 {
			return 0, true
		}
		return c.backoff(), true
	}
	if !c.local {
		c.tries++
		return c.backoff(), true
	}
	kept := c.ends[:0]
	for _, t := range c.ends {
		if now.Sub(t) < c.budget.Window {
			kept = append(kept, t)
		}
	}
	c.ends = append(kept, now)
	return c.budget.Pause, len(c.ends) < c.budget.Ends
}

// backoff is 2, 4, 6 s, then doubling to the ceiling, all but the first three
// with jitter.
func (c *counter) backoff() time.Duration {
	if c.tries <= 3 {
		return min(time.Duration(c.tries)*c.budget.Backoff, c.budget.Ceiling)
	}
	d := 3 * c.budget.Backoff
	for range c.tries - 3 {
		if d *= 2; d >= c.budget.Ceiling {
			d = c.budget.Ceiling
			break
		}
	}
	return d - rand.N(d/4+1)
}

// last is the reason to show for a server that is given up: for one that kept
// ending, how often it did.
func (c *counter) last(reason *hub.Error) *hub.Error {
	if reason.Code != message.ServerExited {
		return reason
	}
	return hub.E(message.ServerCrashLoop, reason,
		"count", strconv.Itoa(len(c.ends)), "window", c.budget.Window.String(),
		"exit", reason.Args["exit"], "stderr", reason.Args["stderr"])
}

// hopeless reports whether trying again cannot help before a person has
// changed something.
func hopeless(reason *hub.Error) bool {
	switch reason.Code {
	case message.CommandNotFound, message.CommandUnusable, message.NodeMissing, message.UvMissing, message.ServerProtocol:
		return true
	}
	return false
}
