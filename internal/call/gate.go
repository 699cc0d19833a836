package call

import (
	"math"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// gate bounds the calls of a server, a tool or a caller. Not safe for concurrent
// use.
type gate struct {
	hub.Gate // as it is set now
	running  int

	// Callers take turns: none waits longer because another one has many calls.
	queues  map[string][]*waiter // by caller, those that came first go first
	ring    []string             // the callers that wait; whose turn is next comes first
	waiting int

	tokens float64       // calls that may begin at once, by the rate
	filled time.Time     // when that was so
	took   time.Duration // by a call, as far as can be told by the last ones
}

// waiter is a call that waits for its turn.
type waiter struct {
	caller string
	in     chan struct{} // closed when it has its turn
	has    bool          // it has
}

func newGate(set hub.Gate, now time.Time) *gate {
	set.Burst = burst(set)
	return &gate{Gate: set, queues: make(map[string][]*waiter), tokens: float64(set.Burst), filled: now}
}

// burst is at least one, so that a rate lets any call in.
func burst(set hub.Gate) int {
	if set.Rate > 0 {
		return max(set.Burst, 1)
	}
	return 0
}

// set sets other bounds, also for those that wait.
func (g *gate) set(to hub.Gate, now time.Time) {
	to.Burst = burst(to)
	if g.Gate == to {
		return
	}
	g.fill(now)
	if g.Rate == 0 {
		g.tokens = float64(to.Burst)
	}
	g.Gate = to
	g.tokens = min(g.tokens, float64(to.Burst))
	g.next()
}

// fill adds what the rate allows since it was last looked at.
func (g *gate) fill(now time.Time) {
	g.tokens = min(float64(g.Burst), g.tokens+g.Rate*now.Sub(g.filled).Seconds())
	g.filled = now
}

// take takes one call from what the rate allows. If there is none it returns how
// long it takes until there is.
func (g *gate) take(now time.Time) (wait time.Duration, ok bool) {
	if g.Rate == 0 {
		return 0, true
	}
	g.fill(now)
	// What is left after many small sums is not quite what it should be.
	const nearly = 1 - 1e-9
	if g.tokens < nearly {
		return time.Duration((1 - g.tokens) / g.Rate * float64(time.Second)), false
	}
	g.tokens = max(g.tokens-1, 0)
	return 0, true
}

// restore gives back what a call has taken that is not made.
func (g *gate) restore() {
	if g.Rate > 0 {
		g.tokens = min(g.tokens+1, float64(g.Burst))
	}
}

// free reports whether a call may begin at once.
func (g *gate) free() bool {
	return g.Concurrency == 0 || g.running < g.Concurrency && g.waiting == 0
}

// room reports whether one more call of a caller may wait. The last places are for
// those who have none yet.
func (g *gate) room(caller string) bool {
	places := g.Queue
	if len(g.queues[caller]) > 0 && places > 1 {
		places -= max(1, places/4)
	}
	return g.waiting < places
}

// join has a call wait.
func (g *gate) join(caller string) *waiter {
	w := &waiter{caller: caller, in: make(chan struct{})}
	if len(g.queues[caller]) == 0 {
		g.ring = append(g.ring, caller)
	}
	g.queues[caller] = append(g.queues[caller], w)
	g.waiting++
	return w
}

// quit takes a call out that waits no more, unless it has had its turn.
func (g *gate) quit(w *waiter) {
	queue := g.queues[w.caller]
	i := slices.Index(queue, w)
	if i < 0 {
		return
	}
	g.waiting--
	if len(queue) > 1 {
		g.queues[w.caller] = slices.Delete(queue, i, i+1)
		return
	}
	delete(g.queues, w.caller)
	g.ring = slices.DeleteFunc(g.ring, func(caller string) bool { return caller == w.caller })
}

// next lets those in whose turn it is.
func (g *gate) next() {
	for g.waiting > 0 && (g.Concurrency == 0 || g.running < g.Concurrency) {
		caller := g.ring[0]
		w := g.queues[caller][0]
		g.quit(w)
		if len(g.queues[caller]) > 0 {
			g.ring = append(g.ring[1:], caller)
		}
		g.running++
		w.has = true
		close(w.in)
	}
}

// ahead is how many calls go before one that waits.
func (g *gate) ahead(w *waiter) int {
	turns := slices.Index(g.queues[w.caller], w) // that others have for each that its caller has
	if turns < 0 {
		return 0
	}
	n, passed := turns, false
	for _, caller := range g.ring {
		switch queue := len(g.queues[caller]); {
		case caller == w.caller:
			passed = true
		case passed:
			n += min(queue, turns)
		default:
			n += min(queue, turns+1)
		}
	}
	return n
}

// left says that a call has ended that took so long.
func (g *gate) left(took time.Duration) {
	g.running--
	if g.took == 0 {
		g.took = took
	}
	g.took += (took - g.took) / 4
	g.next()
}

// idle reports whether nothing would change if the gate were made anew.
func (g *gate) idle(now time.Time) bool {
	g.fill(now)
	return g.running == 0 && g.waiting == 0 && g.tokens >= float64(g.Burst)
}

// The bounds of what a caller is told to wait before it tries again.
const (
	soonest = time.Second
	latest  = time.Minute
)

// turnIn is about when a call that is refused now would have its turn.
func (g *gate) turnIn() time.Duration {
	rounds := math.Ceil(float64(g.waiting+1) / float64(max(g.Concurrency, 1)))
	return min(max(time.Duration(rounds*float64(g.took)), soonest), latest)
}
