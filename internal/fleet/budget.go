package fleet

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/transport"
)

// Budget says how often a server is tried, and for how long (design D9).
type Budget struct {
	// A local server, a process, is started again Pause after its end; at the
	// Ends-th end within Window it is given up.
	Pause  time.Duration
	Ends   int
	Window time.Duration
	// A remote server is tried after Backoff, then after twice as long each
	// time, to at most Ceiling, with jitter; it is given up only where its
	// definition bounds the attempts that fail in a row.
	Backoff, Ceiling time.Duration
	// One whose answers come as one stream of events is tried Silence after the
	// stream was silent for too long, and Break after any other error; then, as
	// long as it keeps failing, after twice as long each time.
	Silence, Break time.Duration
	// Healthy is how long a connection must have held for the count to start
	// anew.
	Healthy time.Duration
	// Spacing is the least time between a failed attempt and the next one that
	// a call brings about.
	Spacing time.Duration
	// Handshake bounds opening a connection, List asking for the tools. Zero
	// stands for the default of [upstream.Dial] and of [DefaultBudget].
	Handshake, List time.Duration
}

// DefaultBudget returns the budget of design D9: processes 5 s apart, the
// sixth end within 2 minutes is the last; remote servers after 2, 4, 6 s, then
// doubling to 60 s; event streams after 1 s of a read that timed out and 5 s of
// an error.
func DefaultBudget() Budget {
	return Budget{
		Pause: 5 * time.Second, Ends: 6, Window: 2 * time.Minute,
		Backoff: 2 * time.Second, Ceiling: time.Minute,
		Silence: time.Second, Break: 5 * time.Second,
		Healthy: time.Minute, Spacing: time.Second, List: 30 * time.Second,
	}
}

// counter keeps account of how often a server was lost, for one life of it. The
// times that it is given are compared by their monotonic part, so that setting
// the clock of the machine changes nothing.
type counter struct {
	budget Budget
	ends   []time.Time // of a local server, within the window
	tries  int         // of any other one, since it was last healthy
	failed int         // attempts to reach a remote one again that failed, in a row
}

// sequel is what comes after the end of a connection or of an attempt.
type sequel uint8

// The sequels.
const (
	tryAgain sequel = iota // after a while
	notAgain               // by itself: the server's definition says so
	spent                  // it was tried often enough
	inVain                 // a person has to mend something first
)

// next accounts for one end, at now, of a connection that had held for some
// time, or none at all if the attempt failed. It returns what comes then and,
// if that is another attempt, how long to wait before it. The definition may be
// another one each time, but for its kind.
func (c *counter) next(now time.Time, held time.Duration, reason *hub.Error, def *hub.Server) (time.Duration, sequel) {
	if hopeless(reason) {
		return 0, inVain
	}
	if held >= c.budget.Healthy {
		c.ends, c.tries, c.failed = nil, 0, 0
	}
	if !def.Kind.Remote() {
		return c.ended(now, def)
	}
	// What began the row was no attempt to connect again.
	if held == 0 && c.tries > 0 {
		c.failed++
	}
	c.tries++
	first := reason.Code == message.SessionLost && c.tries == 1
	switch {
	case first:
		// The server is there; it only has to be greeted again. A server that
		// forgets at once is treated like one that is away.
		return 0, tryAgain
	case !triesAgain(def):
		return 0, notAgain
	case def.MaxReconnects > 0 && c.failed >= def.MaxReconnects:
		return 0, spent
	case def.Kind == hub.KindSSE && reason.Code != message.SessionLost:
		return c.streamBackoff(reason), tryAgain
	}
	return c.backoff(), tryAgain
}

// ended is next for a server of this machine.
func (c *counter) ended(now time.Time, def *hub.Server) (time.Duration, sequel) {
	if !triesAgain(def) {
		return 0, notAgain
	}
	kept := c.ends[:0]
	for _, t := range c.ends {
		if now.Sub(t) < c.budget.Window {
			kept = append(kept, t)
		}
	}
	c.ends = append(kept, now)
	if len(c.ends) >= c.budget.Ends {
		return 0, spent
	}
	return c.budget.Pause, tryAgain
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
	return jittered(d)
}

// streamBackoff is the wait for an event stream.
func (c *counter) streamBackoff(reason *hub.Error) time.Duration {
	d := c.budget.Break
	if silent(reason) {
		d = c.budget.Silence
	}
	for range c.tries - 1 {
		if d *= 2; d >= c.budget.Ceiling {
			d = c.budget.Ceiling
			break
		}
	}
	if c.tries <= 3 {
		return d
	}
	return jittered(d)
}

// silent reports whether a stream was given up because nothing came any more.
func silent(reason *hub.Error) bool { return errors.Is(reason, transport.ErrIdle) }

// jittered is up to a quarter less than d, so that those that lost the same
// server do not come back all at once.
func jittered(d time.Duration) time.Duration { return d - rand.N(d/4+1) }

// last is the reason to show for a server that is not tried again: what it was
// and, if it was more than that, why it came to this.
func (c *counter) last(key string, reason *hub.Error, then sequel) *hub.Error {
	switch {
	case then == notAgain:
		return hub.E(message.ServerNotRestarted, reason, "server", key)
	case then == spent && c.failed > 0:
		return hub.E(message.ServerReconnects, reason, "server", key, "count", strconv.Itoa(c.failed))
	case then == spent && reason.Code == message.ServerExited:
		return hub.E(message.ServerCrashLoop, reason, "server", key,
			"count", strconv.Itoa(len(c.ends)), "window", c.budget.Window.String(),
			"exit", reason.Args["exit"], "stderr", reason.Args["stderr"])
	}
	return reason
}

// triesAgain reports whether a server that was lost is to be tried again without
// being asked for. A built-in server is no process that could end by itself.
func triesAgain(def *hub.Server) bool {
	switch {
	case def.Kind.Remote():
		return def.AutoReconnect
	case def.Kind == hub.KindStdio:
		return def.AutoRestart
	}
	return true
}

// hopeless reports whether trying again cannot help before a person has
// changed something.
func hopeless(reason *hub.Error) bool {
	switch reason.Code {
	case message.CommandNotFound, message.CommandUnusable, message.NodeMissing, message.UvMissing,
		message.ServerProtocol, message.PlaceholderUnresolved, message.SandboxMissing, message.SandboxUnusable,
		message.DeviceOffline: // it comes by itself
		return true
	}
	return shutOut(reason)
}

// shutOut reports whether the server lets nobody in before somebody has logged in.
func shutOut(reason *hub.Error) bool {
	return reason.Code == message.UpstreamLoginNeeded || reason.Code == message.UpstreamLoginFailed
}
