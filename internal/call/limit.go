package call

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// maxGates is how many gates there are at least before those that nobody needs are
// let go.
const maxGates = 4096

// gates bound how many calls there are at once, and how fast they come: of each
// caller, tool and server. A call passes them in this order, and holds its place at
// one while it waits at the next: since all do so in the same order, none waits for
// what a call behind it holds. Safe for concurrent use.
type gates struct {
	server func(key string) (hub.Server, bool) // as it is configured now
	caller func() hub.Gate                     // of each caller

	mu      sync.Mutex
	all     map[gateKey]*gate
	most    int               // gates, after which it is looked which of them nobody needs
	refused map[string]uint64 // by server; "" for those of callers
}

// gateKey names a gate: of a caller, if there is no server; of a tool, by the
// server's own name for it, if both are there.
type gateKey struct {
	server string
	name   string
}

// pass is what a call holds.
type pass struct {
	caller bool   // it has passed the caller's gate
	server string // whose gates it has passed
	tool   string // and which
	held   []place
}

// place is one that a call holds behind a gate.
type place struct {
	gateKey
	since time.Time
}

// newGates returns gates by what is configured: server returns it for one, and
// caller for each caller.
func newGates(server func(key string) (hub.Server, bool), caller func() hub.Gate) *gates {
	return &gates{server: server, caller: caller, all: make(map[gateKey]*gate), most: maxGates, refused: make(map[string]uint64)}
}

// limit has the call wait for its turn at the gates of its caller and of the first
// of its candidates that takes it. Whose limits refuse a call has not got it, so
// that another may.
func (g *gates) limit(ctx context.Context, r *run) error {
	candidates := r.plan.candidates
	for i := 1; i < len(candidates) && candidates[i].equals(&candidates[0]) && candidates[i].here(); i++ {
		if !g.open(&candidates[0]) && g.open(&candidates[i]) { // it need not wait there
			candidates[0], candidates[i] = candidates[i], candidates[0]
			r.use(&candidates[0])
		}
	}
	err := g.admit(ctx, r)
	if err == nil || !refused(err) || !r.pass.caller {
		return err
	}
	for i := 1; i < len(candidates) && ctx.Err() == nil; i++ {
		if candidates[i].load.Away != nil {
			continue // it would not take the call either
		}
		r.use(&candidates[i])
		if g.admit(ctx, r) == nil {
			candidates[0], candidates[i] = candidates[i], candidates[0]
			return nil
		}
	}
	r.use(&candidates[0]) // whose limits are told of
	return err
}

// admit has the call wait for its turn at the gates of its caller and of the server
// that it goes to now; those of another server that it has passed it leaves first.
// All are left when the call has ended. It may be called again before each
// attempt.
func (g *gates) admit(ctx context.Context, r *run) error {
	var own hub.Gate // the tool's
	tool := ""
	if r.entry != nil {
		tool = r.entry.Tool.Name
		if all := r.server.Rules.Override; len(all) > 0 {
			own = all[tool].Gate
		}
	}
	p := r.pass
	if p == nil {
		if none := (hub.Gate{}); own == none && r.server.Gate == none && g.caller() == none {
			return nil // as almost always
		}
		p = &pass{}
		r.pass = p
		r.later(func() { g.leave(p, 0, true) })
	}
	if !p.caller {
		if err := g.enter(ctx, r, gateKey{name: who(r)}); err != nil {
			return err
		}
		p.caller = true
	}
	if p.server == r.server.Key && p.tool == tool {
		return nil
	}
	callers := 0 // gates, which are no other server's
	if len(p.held) > 0 && p.held[0].server == "" {
		callers = 1
	}
	g.leave(p, callers, true)
	p.server, p.tool = "", ""
	if own != (hub.Gate{}) {
		if err := g.enter(ctx, r, gateKey{r.server.Key, tool}); err != nil {
			return err
		}
	}
	if r.server.Gate != (hub.Gate{}) {
		if err := g.enter(ctx, r, gateKey{server: r.server.Key}); err != nil {
			g.leave(p, callers, false)
			return err
		}
	}
	p.server, p.tool = r.server.Key, tool
	return nil
}

// who is the caller by whom turns are taken: its conversation, if it has one.
func who(r *run) string {
	if r.Session != "" {
		return "session " + r.Session
	}
	return string(r.Principal.Door) + " " + whose(&r.Principal)
}

// now is what is configured for a gate.
func (g *gates) now(key gateKey) hub.Gate {
	if key.server == "" {
		return g.caller()
	}
	s, ok := g.server(key.server)
	switch {
	case !ok:
		return hub.Gate{}
	case key.name != "":
		return s.Rules.Override[key.name].Gate
	}
	return s.Gate
}

// open reports whether a call would pass the gates of a candidate at once.
func (g *gates) open(c *candidate) bool {
	keys := [...]gateKey{{server: c.server.Key}, {}}
	if c.entry != nil {
		keys[1] = gateKey{c.server.Key, c.entry.Tool.Name}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, key := range keys {
		if one := g.all[key]; one != nil {
			one.fill(time.Now())
			if !one.free() || one.Rate > 0 && one.tokens < 1 {
				return false
			}
		}
	}
	return true
}

// enter has the call pass one gate, and puts that down.
func (g *gates) enter(ctx context.Context, r *run, key gateKey) error {
	set := g.now(key)
	if set == (hub.Gate{}) {
		return nil
	}
	w, err := g.try(r, key, set)
	if err != nil {
		return err
	}
	if w != nil {
		if err := g.wait(ctx, r, key, w); err != nil {
			return err
		}
	}
	r.pass.held = append(r.pass.held, place{key, time.Now()})
	return nil
}

// try has the call pass a gate, or returns what it waits as. The error is that it
// may do neither.
func (g *gates) try(r *run, key gateKey, set hub.Gate) (*waiter, error) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.all[key]
	if one == nil {
		g.tidy(now)
		one = newGate(set, now)
		g.all[key] = one
	}
	one.set(set, now)
	wait, ok := one.take(now)
	if !ok {
		g.refused[key.server]++
		return nil, refusal(message.Limited, key, wait).With("rate", rateText(one.Rate))
	}
	if one.free() {
		one.running++
		return nil, nil
	}
	if !one.room(who(r)) {
		one.restore()
		g.refused[key.server]++
		e := refusal(message.QueueFull, key, one.turnIn())
		e.Args["waiting"] = strconv.Itoa(one.waiting)
		return nil, e
	}
	return one.join(who(r)), nil
}

// leave has the call leave the gates that it has passed, but for the first ones.
// One that was not made, because the next gate keeps it out, has used up nothing.
func (g *gates) leave(p *pass, but int, made bool) {
	if len(p.held) <= but {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, held := range slices.Backward(p.held[but:]) {
		one := g.all[held.gateKey]
		if made {
			one.left(time.Since(held.since))
			continue
		}
		one.restore()
		one.running--
		one.next()
	}
	p.held = p.held[:but]
}

// tidy lets go of the gates that nobody needs, if there are many; again only once
// there are twice as many as are left, as it looks at all of them.
func (g *gates) tidy(now time.Time) {
	if len(g.all) < g.most {
		return
	}
	for key, one := range g.all {
		if one.idle(now) {
			delete(g.all, key)
		}
	}
	g.most = max(maxGates, 2*len(g.all))
}
