package call

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolcrib/toolcrib/internal/catalog"
	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/wire"
)

// limits is gates with what is configured for them.
type limits struct {
	*gates
	t *testing.T

	mu      sync.Mutex
	servers map[string]hub.Server
	each    hub.Gate
}

// limited makes gates for the servers; each is that of every caller.
func limited(t *testing.T, each hub.Gate, servers ...hub.Server) *limits {
	l := &limits{t: t, servers: make(map[string]hub.Server), each: each}
	for _, s := range servers {
		l.servers[s.Key] = s
	}
	l.gates = newGates(func(key string) (hub.Server, bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		s, ok := l.servers[key]
		return s, ok
	}, func() hub.Gate {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.each
	})
	return l
}

// call is a call of the tool x of a server by a caller.
func (l *limits) call(server, caller string) *run {
	s := l.servers[server]
	e := &catalog.Entry{Server: s, Tool: hub.Tool{Name: "x"}, Exposed: server + "__x"}
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`), wire.Limits{})
	if err != nil {
		l.t.Fatal(err)
	}
	r := &run{Request: Request{Session: caller, Message: &m}, verb: &verb{names: member("name")}, entry: e, server: &e.Server, own: "x", name: "x", record: &hub.CallRecord{}}
	r.plan.candidates = []candidate{{server: &e.Server, entry: e}}
	return r
}

// begin has a call wait for its turn; what comes of it is in the channel.
func (l *limits) begin(ctx context.Context, r *run) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- l.limit(ctx, r) }()
	synctest.Wait()
	return ended
}

// in reports whether a call has had its turn.
func in(t *testing.T, ended <-chan error) bool {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("the call is kept out: %v", err)
		}
		return true
	default:
		return false
	}
}

// gated is a server with a gate.
func gated(key string, g hub.Gate) hub.Server { return hub.Server{Key: key, Enabled: true, Gate: g} }

func TestLimitConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, hub.Gate{}, gated("s", hub.Gate{Concurrency: 2, Queue: 2}))
		var runs []*run
		var ends []<-chan error
		for i := range 4 {
			runs = append(runs, l.call("s", fmt.Sprint("caller ", i)))
			ends = append(ends, l.begin(t.Context(), runs[i]))
		}
		if !in(t, ends[0]) || !in(t, ends[1]) || in(t, ends[2]) || in(t, ends[3]) {
			t.Fatal("not two of four have their turn")
		}
		err := l.limit(t.Context(), l.call("s", "another"))
		if !hub.IsCode(err, message.QueueFull) || hub.AsError(err).Args["retry_after"] != "1" || hub.AsError(err).Args["waiting"] != "2" || hub.AsError(err).Args["server"] != "s" {
			t.Errorf("the fifth gets %v", err)
		}
		if text := hub.AsError(err).In(message.Chinese); !strings.HasPrefix(text, "服务器“s”的调用排队已满（2 个）。") {
			t.Error(text)
		}
		if got := l.counts(); len(got) != 1 || got[0] != (Limited{"s", 2, 2, 1}) {
			t.Errorf("the limits stand at %+v", got)
		}
		time.Sleep(90 * time.Second)
		runs[0].leave()
		if !in(t, ends[2]) || in(t, ends[3]) {
			t.Fatal("it is not the turn of who came first")
		}
		runs[1].leave()
		if !in(t, ends[3]) || runs[3].record.Queued < 90*time.Second || runs[0].record.Queued != 0 {
			t.Errorf("the last has waited %v", runs[3].record.Queued)
		}
	})
}

// Callers take turns, and none can have the whole queue.
func TestLimitFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, hub.Gate{}, gated("s", hub.Gate{Concurrency: 1, Queue: 8}))
		running := l.call("s", "a")
		if !in(t, l.begin(t.Context(), running)) {
			t.Fatal("the first has not its turn")
		}
		type waits struct {
			*run
			ended <-chan error
		}
		var all []waits
		join := func(caller string) {
			r := l.call("s", caller)
			all = append(all, waits{r, l.begin(t.Context(), r)})
		}
		for range 6 {
			join("a")
		}
		if err := l.limit(t.Context(), l.call("s", "a")); !hub.IsCode(err, message.QueueFull) {
			t.Fatalf("one caller has the whole queue: %v", err)
		}
		join("b")
		join("c")
		g := l.all[gateKey{server: "s"}]
		var places []int
		for _, key := range []string{"a", "b", "c"} {
			for _, w := range g.queues["session "+key] {
				places = append(places, g.ahead(w))
			}
		}
		if want := []int{0, 3, 4, 5, 6, 7, 1, 2}; !slices.Equal(places, want) {
			t.Errorf("the places are %v, want %v", places, want)
		}
		if err := l.limit(t.Context(), l.call("s", "d")); !hub.IsCode(err, message.QueueFull) {
			t.Errorf("there is room for more than eight: %v", err)
		}
		var order []string
		for len(order) < len(all) {
			running.leave()
			next := slices.IndexFunc(all, func(w waits) bool { return w.ended != nil && in(t, w.ended) })
			if next < 0 {
				t.Fatalf("it is nobody's turn after %v", order)
			}
			order = append(order, all[next].Session)
			running, all[next].ended = all[next].run, nil
		}
		if got := strings.Join(order, " "); got != "a b c a a a a a" {
			t.Errorf("the turns are %s", got)
		}
		running.leave()
		if g.running != 0 || g.waiting != 0 || len(g.queues) != 0 || len(g.ring) != 0 {
			t.Errorf("%+v is left", g)
		}
	})
}

func TestLimitRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gated("s", hub.Gate{})
		s.Rules.Override = map[string]hub.ToolOverride{"x": {Gate: hub.Gate{Rate: 0.5, Burst: 2}}}
		l := limited(t, hub.Gate{}, s)
		for range 2 {
			r := l.call("s", "a")
			if err := l.limit(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			r.leave()
		}
		refuse := func(after string) {
			t.Helper()
			err := l.limit(t.Context(), l.call("s", "a"))
			if !hub.IsCode(err, message.Limited) || hub.AsError(err).Args["retry_after"] != after {
				t.Errorf("got %v, want to wait %s s", err, after)
			}
		}
		refuse("2")
		if text := hub.AsError(l.limit(t.Context(), l.call("s", "a"))).In(message.English); text != `Calls of the tool "x" come too fast; 30 a minute are allowed. Try again in 2 s.` {
			t.Error(text)
		}
		time.Sleep(1500 * time.Millisecond)
		refuse("1")
		time.Sleep(500 * time.Millisecond)
		if err := l.limit(t.Context(), l.call("s", "a")); err != nil {
			t.Errorf("after what it was told to wait: %v", err)
		}
		time.Sleep(time.Hour)
		for i := range 3 {
			if err := l.limit(t.Context(), l.call("s", "a")); (err != nil) != (i == 2) {
				t.Errorf("call %d after a pause: %v", i, err)
			}
		}
		if got := l.counts(); got[0].Refused != 4 {
			t.Errorf("the limits stand at %+v", got)
		}
	})
}

// Who waits no more leaves nothing behind.
func TestLimitGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, hub.Gate{}, gated("s", hub.Gate{Concurrency: 1, Queue: 9}))
		first := l.call("s", "a")
		if err := l.limit(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone, late := l.call("s", "b"), l.call("s", "c")
		goneEnds, lateEnds := l.begin(ctx, gone), l.begin(t.Context(), late)
		cancel(hub.E(message.Cancelled, errors.New("by the caller")))
		if err := <-goneEnds; !hub.IsCode(err, message.Cancelled) {
			t.Errorf("who gave up gets %v", err)
		}
		if err := <-lateEnds; !hub.IsCode(err, message.QueueExpired) || late.record.Queued != maxWait {
			t.Errorf("who waited %v gets %v", late.record.Queued, err)
		}
		gone.leave()
		late.leave()
		if g := l.all[gateKey{server: "s"}]; g.running != 1 || g.waiting != 0 || len(g.ring) != 0 {
			t.Errorf("%+v is left", g)
		}
		if got := l.counts(); got[0].Refused != 1 { // who gave up was not
			t.Errorf("%d are refused", got[0].Refused)
		}
		first.leave()
		first.leave() // once is enough
		if g := l.all[gateKey{server: "s"}]; g.running != 0 {
			t.Errorf("%d run", g.running)
		}
	})
}

// However many callers there are, what is kept of them is looked through now and
// then only, and goes when nobody needs it.
func TestLimitTidies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, hub.Gate{Rate: 1, Burst: 1}, gated("s", hub.Gate{}))
		come := func(n int, who string) {
			for i := range n {
				r := l.call("s", fmt.Sprint(who, i))
				if err := l.limit(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				r.leave()
			}
		}
		come(maxGates+1, "a")
		if len(l.all) != maxGates+1 || l.most != 2*maxGates {
			t.Errorf("%d are kept, and are looked through with %d", len(l.all), l.most)
		}
		time.Sleep(time.Second)
		come(maxGates, "b")
		if len(l.all) > maxGates || l.most > 2*maxGates {
			t.Errorf("%d are kept, and are looked through with %d", len(l.all), l.most)
		}
	})
}

// panics is an exchange that fails.
type panics struct{ hub.Exchange }

func (panics) Notify([]byte) { panic("the exchange fails") }

func TestLimitPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, hub.Gate{}, gated("s", hub.Gate{Concurrency: 1, Queue: 9}))
		first := l.call("s", "a")
		if err := l.limit(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		r := l.call("s", "b")
		r.rising = &rising{Exchange: panics{}, token: []byte("1")}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("there was no panic")
				}
			}()
			defer r.leave()
			_ = l.limit(t.Context(), r)
		}()
		first.leave()
		if g := l.all[gateKey{server: "s"}]; g.running != 0 || g.waiting != 0 {
			t.Errorf("%+v is left", g)
		}
	})
}

// A change of the configuration counts for who waits.
func TestLimitReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, to := range []hub.Gate{{Concurrency: 3, Queue: 9}, {}} {
			l := limited(t, hub.Gate{}, gated("s", hub.Gate{Concurrency: 1, Queue: 9}))
			var ends []<-chan error
			for i := range 3 {
				ends = append(ends, l.begin(t.Context(), l.call("s", fmt.Sprint(i))))
			}
			if !in(t, ends[0]) || in(t, ends[1]) {
				t.Fatal("not one of them has its turn")
			}
			l.mu.Lock()
			l.servers["s"] = gated("s", to)
			l.mu.Unlock()
			time.Sleep(lookEach)
			if !in(t, ends[1]) || !in(t, ends[2]) {
				t.Errorf("%+v does not count", to)
			}
		}
	})
}

// TestLimitTells: who waits hears how many go before it, in its language.
func TestLimitTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, hub.Gate{}, gated("s", hub.Gate{Concurrency: 1, Queue: 9}))
		var runs []*run
		for i := range 3 {
			runs = append(runs, l.call("s", fmt.Sprint(i)))
		}
		heard := &caller{}
		runs[2].rising = &rising{Exchange: heard, token: []byte(`{"t":1}`)}
		runs[2].Lang = message.Chinese
		l.begin(t.Context(), runs[0])
		l.begin(t.Context(), runs[1])
		l.begin(t.Context(), runs[2])
		runs[0].leave()
		time.Sleep(lookEach)
		synctest.Wait()
		runs[1].leave()
		synctest.Wait()
		var texts []string
		for _, raw := range heard.heard {
			_, text, _ := strings.Cut(raw, `"message":"`)
			texts = append(texts, strings.TrimSuffix(text, `"}}`))
			if !strings.Contains(raw, `"progressToken":{"t":1}`) {
				t.Errorf("told %s", raw)
			}
		}
		if one := hub.E(message.CallWaits, nil, "ahead", "1").In(message.Chinese); one != texts[0] {
			t.Errorf("the text of the code is %s", one)
		}
		if want := []string{"调用正在排队，前面还有 1 个。", "调用正在排队，前面还有 0 个。"}; !slices.Equal(texts, want) {
			t.Errorf("heard %q, want %q", texts, want)
		}
	})
}

// The gates of callers, tools and servers together let everybody through in the
// end, never more than they should, and nobody for ever.
func TestLimitStress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var servers []hub.Server
		for _, key := range []string{"a", "b", "c"} {
			s := gated(key, hub.Gate{Concurrency: 2, Queue: 100})
			s.Rules.Override = map[string]hub.ToolOverride{"x": {Gate: hub.Gate{Concurrency: 1, Queue: 100}}}
			servers = append(servers, s)
		}
		servers[2].Rules.Override = nil
		l := limited(t, hub.Gate{Concurrency: 2, Queue: 100}, servers...)
		var all sync.WaitGroup
		var mu sync.Mutex
		running := make(map[string]int)
		for i := range 60 {
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(i), 0))
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(20)+1)*time.Second)
				defer cancel()
				key := string(rune('a' + random.IntN(3)))
				r := l.call(key, fmt.Sprint(i%7))
				defer r.leave()
				other := l.call(string(rune('a'+random.IntN(3))), "").plan.candidates[0]
				for range 2 {
					if err := l.admit(ctx, r); err != nil {
						return
					}
					mu.Lock()
					running[r.server.Key]++
					most := 1
					if r.server.Key == "c" {
						most = 2
					}
					if n := running[r.server.Key]; n > most {
						t.Errorf("%d run on %s", n, r.server.Key)
					}
					mu.Unlock()
					time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
					mu.Lock()
					running[r.server.Key]--
					mu.Unlock()
					r.server, r.entry = other.server, other.entry // to which it fails over
				}
			})
		}
		all.Wait()
		for key, g := range l.all {
			if g.running != 0 || g.waiting != 0 || len(g.queues) != 0 || len(g.ring) != 0 {
				t.Errorf("%+v is left of %v", g, key)
			}
		}
	})
}

// A call waits longer than its server may take, and is answered all the same.
func TestLimitStopsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := builtin("s")
		s.Gate = hub.Gate{Concurrency: 1, Queue: 20}
		c := newCrib(t, map[string]func(p *peer){"s": lists(0, `{"name":"x","inputSchema":{"type":"object"}}`, func(p *peer, n note) bool {
			time.Sleep(8 * time.Second) // of the ten that it has
			p.result(n, "done")
			return true
		})}, s)
		if err := c.fleet.Start(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				if _, err := c.ask("tools/call", `"name":"s__x"`, func(r *Request) { r.Session = fmt.Sprint(i) }); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took != 40*time.Second {
			t.Errorf("five calls one after another took %v", took)
		}
	})
}

// Of equal servers one is taken at which a call need not wait; whose limits refuse
// a call leaves it to another.
func TestLimitInAPool(t *testing.T) {
	l := limited(t, hub.Gate{}, gated("a", hub.Gate{Concurrency: 1}), gated("b", hub.Gate{Concurrency: 1}), gated("c", hub.Gate{Concurrency: 1}))
	pooled := func() *run {
		r := l.call("a", "caller")
		second, last := l.call("b", "").plan.candidates[0], l.call("c", "").plan.candidates[0]
		last.server.Priority = -1
		r.plan.candidates = append(r.plan.candidates, second, last)
		for i := range r.plan.candidates {
			r.plan.candidates[i].server.Pool = "pool"
		}
		return r
	}
	for _, want := range []string{"a", "b", "c"} {
		r := pooled()
		if err := l.limit(t.Context(), r); err != nil || r.server.Key != want || r.plan.candidates[0].server.Key != want || r.own != "x" {
			t.Errorf("went to %s and %v, want %s", r.server.Key, err, want)
		}
	}
	r := pooled()
	if err := l.limit(t.Context(), r); !hub.IsCode(err, message.QueueFull) || hub.AsError(err).Args["what"] != `of the server "a"` || r.server.Key != "a" {
		t.Errorf("where all are busy: %s and %v", r.server.Key, err)
	}
}

// Only a server that is there takes a call off one that is busy, and only one that
// is its equal.
func TestLimitKeepsThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, hub.Gate{}, gated("a", hub.Gate{Concurrency: 1, Queue: 1}), gated("b", hub.Gate{}))
		first := l.call("a", "caller")
		if err := l.limit(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		why := hub.E(message.ServerDown, nil)
		for name, other := range map[string]struct {
			pool string
			load fleet.Load
		}{
			"away":           {"pool", fleet.Load{Away: why}},
			"lost":           {"pool", fleet.Load{Lost: why}},
			"another's pool": {"other", fleet.Load{}},
			"in no pool":     {"", fleet.Load{}},
		} {
			r, b := l.call("a", "caller"), l.call("b", "").plan.candidates[0]
			r.plan.candidates[0].server.Pool, b.server.Pool, b.load = "pool", other.pool, other.load
			r.plan.candidates = append(r.plan.candidates, b)
			ctx, cancel := context.WithCancel(t.Context())
			ended := l.begin(ctx, r)
			if in(t, ended) || r.server.Key != "a" {
				t.Errorf("%s: the call goes to %s", name, r.server.Key)
			}
			cancel()
			if err := <-ended; !hub.IsCode(err, message.Cancelled) {
				t.Errorf("%s: got %v", name, err)
			}
		}

		// A refusal is told as one if those that are left cannot be had.
		l.servers["a"] = gated("a", hub.Gate{Concurrency: 1})
		r, b := l.call("a", "caller"), l.call("b", "").plan.candidates[0]
		b.load.Away = why
		r.plan.candidates = append(r.plan.candidates, b)
		if err := l.limit(t.Context(), r); !hub.IsCode(err, message.QueueFull) || r.server.Key != "a" {
			t.Errorf("refused by %s: %v", r.server.Key, err)
		}
		first.leave()
	})
}

func BenchmarkLimit(b *testing.B) {
	l := limited(nil, hub.Gate{}, gated("s", hub.Gate{Concurrency: 4, Queue: 4, Rate: 1e9, Burst: 1e6}), gated("free", hub.Gate{}))
	for _, key := range []string{"free", "s"} {
		b.Run(key, func(b *testing.B) {
			b.ReportAllocs()
			r := l.call(key, "caller")
			for b.Loop() {
				r.pass, r.last = nil, nil
				if err := l.limit(b.Context(), r); err != nil {
					b.Fatal(err)
				}
				r.leave()
			}
		})
	}
}
