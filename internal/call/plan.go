package call

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
)

// maxRetries is how often a caller may have a call tried again.
const maxRetries = 10

// plan is who may carry out a call, and how often it may be tried.
type plan struct {
	candidates []candidate
	alone      [1]candidate // of almost all calls
	retry      hub.Retry
	rounds     int // that have begun

	reached bool  // the last attempt got a connection, and used it
	left    bool  // some attempt may have left for a server
	loose   error // of the last attempt by which a tool that changes something may have got the call; nil if there was none
	unsure  bool  // the call has ended, and whether it had an effect is not known
}

// candidate is one server that may carry out the call.
type candidate struct {
	server *hub.Server
	entry  *catalog.Entry // of a tool
	limit  time.Duration  // that a call of it may take
	load   fleet.Load
	place  int  // in the order of the catalog; that of the first of its equals
	resent int  // how often it was sent again at once
	out    bool // it is not tried any more
}

// harmless reports whether a call changes nothing.
func (c *candidate) harmless() bool { return c.entry == nil || c.entry.Tool.ReadOnly }

// repeatable reports whether a call can be made twice without another effect than
// once.
func (c *candidate) repeatable() bool { return c.harmless() || c.entry.Tool.Idempotent }

// equals reports whether it is all the same which of two servers gets the call:
// servers that are in no pool may have anything by one name.
func (c *candidate) equals(other *candidate) bool {
	return c.server.Pool != "" && c.server.Pool == other.server.Pool && c.server.Priority == other.server.Priority
}

// here reports whether the server is there, or comes as soon as it is called.
func (c *candidate) here() bool { return c.load.Away == nil && c.load.Lost == nil }

// devise makes the plan of the call, and sets its clock going. A tool that is
// called by a name which stands for several goes to the first of them, and to the
// next one if it cannot be had there. Of equal ones the least busy goes first.
func (p *Pipeline) devise(_ context.Context, r *run) error {
	d := &r.plan
	d.candidates = d.alone[:0]
	if r.entry == nil {
		d.candidates = append(d.candidates, candidate{server: r.server, limit: r.server.Timeout})
		d.retry = r.asked(r.server.Retry)
	} else {
		if p.providers(r); len(d.candidates) == 0 {
			return toolUnknown(r) // the caller is offered none of them
		}
		p.askers.heed(r)
		if len(d.candidates) == 0 {
			return toolUnknown(r) // who has asked has it no more
		}
		if first := &d.candidates[0]; first.entry != r.entry {
			r.use(first)
		}
		d.retry = r.retries(r.entry)
	}
	if len(d.candidates) > 1 {
		p.rank(r)
		first := &d.candidates[0]
		for i := range d.candidates[1:] {
			if c := &d.candidates[i+1]; c.load.Lost != nil && first.load.Lost == nil && c.place < first.place {
				r.tried(c, c.load.Lost, 0) // it would have been the first
			}
		}
		r.use(first)
	}
	longest := &d.candidates[0]
	for i := range d.candidates {
		c := &d.candidates[i]
		if r.verb.method == protocol.MethodToolsCall && !c.harmless() {
			r.record.Changing = true
		}
		if r.Timeout > 0 {
			c.limit = min(c.limit, r.Timeout)
		}
		if c.limit > longest.limit {
			longest = c
		}
	}
	k := &r.clock
	if k.end != nil {
		return nil // it has been going since the call was devised before
	}
	k.Exchange, k.server, k.limit, k.end = r.Exchange, longest.server.Key, longest.limit, r.end
	k.asked = k.limit == r.Timeout
	k.start(r.record.Time.Add(r.held))
	return nil
}

// retries is how a call of a tool is tried again.
func (r *run) retries(e *catalog.Entry) hub.Retry {
	if own := e.Server.Rules.Override[e.Tool.Name].Retry; own != nil {
		return r.asked(*own)
	}
	return r.asked(e.Server.Retry)
}

// asked is how the call is tried again, with what its caller has asked for.
func (r *run) asked(retry hub.Retry) hub.Retry {
	if r.MaxRetries != nil {
		retry.Max = min(max(*r.MaxRetries, 0), maxRetries)
	}
	return retry
}

// providers enters the tools that the call may go to; none if its caller is offered
// none of them.
func (p *Pipeline) providers(r *run) {
	d := &r.plan
	defer func() {
		if r.Offered != nil {
			d.candidates = slices.DeleteFunc(d.candidates, func(c candidate) bool { return !r.Offered(c.entry) })
		}
	}()
	if r.entry.Server.Pool == "" && r.name == r.entry.Exposed {
		d.candidates = append(d.candidates, provider(r.entry))
		return
	}
	for _, e := range r.view.Providers(r.name) {
		d.candidates = append(d.candidates, provider(e))
	}
	if len(d.candidates) == 0 { // another view since
		d.candidates = append(d.candidates, provider(r.entry))
	}
}

func provider(e *catalog.Entry) candidate {
	limit := e.Server.Timeout
	if own := e.Server.Rules.Override[e.Tool.Name].Timeout; own > 0 {
		limit = own
	}
	return candidate{server: &e.Server, entry: e, limit: limit}
}

// turns has equal candidates take turns, and counts for each server the calls
// that are planned for it and have not asked for it yet: of many that come at once
// each has to see those before it.
type turns struct {
	mu     sync.Mutex
	n      int
	coming map[string]int
}

// leave ends that the call is counted for a server; it does so once.
func (t *turns) leave(r *run) {
	if r.planned == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.coming[r.planned]--; t.coming[r.planned] == 0 {
		delete(t.coming, r.planned)
	}
	r.planned = ""
}

// rank puts candidates, which come in the order of the catalog, in that in which
// they are tried: of equal ones those first that can be had now, and the least busy
// of them. Equal ones that are equally busy take turns. A server that is away, and
// may be back in a while, comes after all others: it is waited for only if there is
// nobody else.
func (p *Pipeline) rank(r *run) {
	all, t := r.plan.candidates, p.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range all {
		c := &all[i]
		c.load = p.fleet.Load(c.server.Key)
		c.load.Calls += t.coming[c.server.Key]
		c.place = slices.IndexFunc(all, func(other candidate) bool { return other.server == c.server || other.equals(c) })
	}
	t.n++
	compare := func(a, b candidate) int {
		return cmp.Or(compareBool(a.load.Lost != nil, b.load.Lost != nil), cmp.Compare(a.place, b.place), a.load.Compare(b.load))
	}
	slices.SortStableFunc(all, compare)
	n := 1
	for n < len(all) && compare(all[n], all[0]) == 0 {
		n++
	}
	rotate(all[:n], t.n%n)
	r.planned = all[0].server.Key
	t.coming[r.planned]++
	r.later(func() { t.leave(r) })
}

// compareBool has false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// rotate moves the first n to the end.
func rotate(all []candidate, n int) {
	slices.Reverse(all[:n])
	slices.Reverse(all[n:])
	slices.Reverse(all)
}

// use has the call go to a candidate.
func (r *run) use(c *candidate) {
	r.server, r.entry = c.server, c.entry
	if c.entry == nil {
		return
	}
	r.own = c.entry.Tool.Name
	r.prefixed = c.server.PrefixURIs
	r.address(r.own)
	r.up.Headers = c.entry.Tool.Headers
}

// pause is how long there is to wait before a retry, of which it is the nth: twice
// as long as before the last one.
func pause(retry hub.Retry, n int) time.Duration {
	d := retry.Delay
	for i := 1; i < n && (retry.MaxDelay <= 0 || d < retry.MaxDelay) && d < time.Hour; i++ {
		d *= 2
	}
	if retry.MaxDelay > 0 {
		d = min(d, retry.MaxDelay)
	}
	if retry.Jitter > 0 {
		d -= time.Duration(min(retry.Jitter, 1) * rand.Float64() * float64(d)) //nolint:gosec // nobody gains by guessing it
	}
	return d
}
