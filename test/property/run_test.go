package property_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// run is one program being carried out.
type run struct {
	t       *testing.T
	program *program
	house   *house
	servers []*server
	clients []*client // by place; nil for one that is away
	met     []*client // all that there were
	counter atomic.Int64
	crashes atomic.Int64

	mu     sync.Mutex
	began  time.Time
	trace  []entry
	faults []string
}

// entry is one line of what happened.
type entry struct {
	at   time.Duration
	who  string
	what string
	raw  []byte
}

// note writes down what happened, for the case that the run fails.
func (r *run) note(who, what string, raw []byte) {
	raw = slices.Clone(raw)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, entry{time.Since(r.began), who, what, raw})
}

func (r *run) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.note("FAULT", text, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, text)
}

// newRun is a run whose hub has not been opened.
func newRun(t *testing.T, p *program) *run {
	r := &run{t: t, program: p, began: time.Now()}
	for i, s := range p.servers {
		kind := hub.KindStdio
		if s.remote {
			kind = hub.KindWebSocket
		}
		r.servers = append(r.servers, &server{
			run: r, modern: s.modern, called: make(map[string]bool),
			def: hub.Server{
				Key: fmt.Sprintf("s%d", i), Kind: kind, Enabled: true, AutoStart: s.auto, AutoRestart: true, AutoReconnect: true,
				IdleStop: s.idle, Timeout: callLimit, Connection: s.connection, MaxCallers: s.callers,
			},
		})
	}
	r.clients = make([]*client, len(p.callers))
	return r
}

// carryOut carries out the program, and checks what is left behind it.
func (r *run) carryOut() {
	var err error
	if r.house, err = open(r.servers); err != nil {
		r.fail("the hub cannot be opened: %v", err)
		return
	}
	for i := range r.clients {
		r.join(i)
	}
	for _, s := range r.program.steps {
		r.note("STEP", s.String(), nil)
		r.step(&s)
	}
	r.end()
}

// join has a caller come.
func (r *run) join(i int) {
	p := r.program.callers[i]
	c := newClient(r, fmt.Sprintf("c%d.%d", i, len(r.met)))
	c.modern, c.rev, c.able = p.modern, p.rev, p.able
	switch p.door {
	case "http":
		c.way = &exchange{c: c}
	case "ws":
		c.way = &socket{c: c}
	case "sse":
		c.way = &sse{c: c}
	}
	if err := c.open(); err != nil {
		r.fail("%s cannot open a conversation: %v", c.name, err)
	}
	r.clients[i] = c
	r.met = append(r.met, c)
	if x, ok := c.way.(*exchange); ok && p.stands && !c.modern {
		x.stand(false)
	}
}

// end lets everything come to its end: the calls, the conversations, the hub.
func (r *run) end() {
	for _, s := range r.servers {
		s.releaseAll()
	}
	if r.program.abrupt {
		r.leave()
	}
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	for _, c := range r.clients {
		if c != nil {
			c.drained()
		}
	}
	for _, s := range r.servers {
		s.drained()
	}
	r.leave()
	time.Sleep(2 * idle)
	synctest.Wait()
	r.nothingLeft()
	r.house.close()
	synctest.Wait()
	r.nothingRemembered()
}

func (r *run) leave() {
	for i, c := range r.clients {
		if c != nil {
			c.leave(r.program.polite)
			r.clients[i] = nil
		}
	}
}

// drained checks a client whose calls have had all the time that they may take.
func (c *client) drained() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, overHTTP := c.way.(*exchange)
	for _, req := range c.order {
		silent := req.cancelled && !overHTTP || req.method == "subscriptions/listen"
		if !req.ended && !req.lost && !silent {
			c.fail("got no answer to %s %v", req.method, req)
		}
	}
}

// drained checks a server whose callers have had all the time that they may
// take.
func (s *server) drained() {
	for _, p := range s.connected() {
		p.mu.Lock()
		for id, q := range p.questions {
			if q.answers == 0 && !q.withdrawn && p.ctx.Err() == nil {
				s.run.fail("%s got no answer to its question %s: %+v", p.name, id, q.mark)
			}
		}
		p.mu.Unlock()
	}
}

// nothingLeft checks that the hub, which still runs, has nothing of its callers,
// who have all left, some of them without a word.
func (r *run) nothingLeft() {
	h := r.house
	if n := h.gateway.Sessions(); n != 0 {
		r.fail("%d sessions are left", n)
	}
	for i, st := range h.fleet.Status() {
		if st.Calls != 0 || st.Callers != 0 || st.Subscriptions != 0 {
			r.fail("of %s are left %d calls, %d connections of callers' own, %d subscriptions", st.Key, st.Calls, st.Callers, st.Subscriptions)
		}
		s := r.servers[i]
		for _, uri := range s.uris() {
			for _, p := range s.hears(uri) {
				r.fail("%s still tells of %s", p.name, uri)
			}
		}
		for _, p := range s.connected() {
			p.mu.Lock()
			if p.owner != "" || len(p.jobs) > 0 {
				r.fail("%s, which is %q's, is left with %d calls", p.name, p.owner, len(p.jobs))
			}
			p.mu.Unlock()
		}
	}
	if left := leftovers(h.gateway, h.pipeline, h.fleet); len(left) > 0 {
		r.fail("the hub still has, of callers who have left: %s", strings.Join(left, ", "))
	}
}

// nothingRemembered checks the hub after its end.
func (r *run) nothingRemembered() {
	for _, s := range r.servers {
		if n := len(s.connected()); n > 0 {
			r.fail("%d connections to %s are left", n, s.def.Key)
		}
	}
}

// report tells what failed, with all that happened.
func (r *run) report() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d (go test ./test/property -run Programs -seed %d)\n%s", r.program.seed, r.program.seed, r.program)
	for _, f := range r.faults {
		fmt.Fprintf(&b, "FAULT %s\n", f)
	}
	b.WriteString("what happened:\n")
	for _, e := range r.trace {
		fmt.Fprintf(&b, "%12s %-8s %s %s\n", e.at, e.who, e.what, e.raw)
	}
	return b.String()
}

// choose returns one of several.
func choose[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }
