package fleet_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolcrib/toolcrib/internal/fleet"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
	"github.com/toolcrib/toolcrib/internal/wire"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// honest reports whether a call, or what an operator asked for, ended well or for a
// reason that an operator may have brought about.
func honest(err error) bool {
	if err == nil {
		return true
	}
	for _, code := range []message.Code{
		message.OutcomeUnknown, message.ServerStopped, message.ServerDisabled, message.ServerUnknown, message.ServerDown,
	} {
		if hub.IsCode(err, code) {
			return true
		}
	}
	return false
}

// ear is a caller that is told once that it has heard something.
type ear chan struct{}

func (e ear) Notify([]byte) {
	select {
	case e <- struct{}{}:
	default:
	}
}

func (ear) Ask(_ context.Context, q hub.Question) {
	q.Answer(nil, hub.E(message.NotAskable, nil))
}

// An operator ends a process with a call under way: the call is told that its
// outcome is not known, and nothing is left of the process when Stop returns.
func TestStopDuringCall(t *testing.T) {
	for name, args := range map[string][]string{"polite": nil, "stubborn": {"-fault", "nostop"}} {
		t.Run(name, func(t *testing.T) {
			f := run(t, fleet.Options{Servers: []hub.Server{process(t, args...)}, Dial: upstream.Dial, Budget: quick()})
			st := await(t, f, hub.StateReady)
			conn, err := connect(t.Context(), f, "s")
			if err != nil {
				t.Fatal(err)
			}
			m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","arguments":{"n":1000000,"ms":10},"_meta":{"progressToken":"p"}}}`), wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			called, begun := make(chan error, 1), make(ear, 1)
			go func() {
				_, err := conn.Do(t.Context(), &upstream.Request{Message: &m, Name: "progress"}, begun)
				called <- err
			}()
			<-begun
			if err := f.Stop(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			if left := rig.Tree(t, os.Getpid()); len(left) > 0 {
				t.Errorf("left of process %d: %v", st.PID, left)
			}
			if err := <-called; !hub.IsCode(err, message.OutcomeUnknown) {
				t.Errorf("the call got %v", err)
			}
			if err := call(t, f, "echo", `{"text":""}`); !hub.IsCode(err, message.ServerStopped) {
				t.Errorf("a later call got %v", err)
			}
		})
	}
}

// operator is one of several who steer servers of their own at random, and
// knows what should have come of it.
type operator struct {
	f      *fleet.Fleet
	random *rand.Rand
	model  *model
	keys   []string
}

// model is what all operators have asked for.
type model struct {
	mu      sync.Mutex
	defs    map[string]hub.Server // in force
	all     []string
	stopped map[string]bool
}

// apply changes one definition, or takes it away, and puts all in force.
func (m *model) apply(f *fleet.Fleet, key string, def *hub.Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if def == nil {
		delete(m.defs, key)
	} else {
		m.defs[key] = *def
	}
	if def == nil || !def.Enabled {
		m.stopped[key] = false
	}
	var servers []hub.Server
	for _, key := range m.all {
		if s, ok := m.defs[key]; ok {
			servers = append(servers, s)
		}
	}
	f.Apply(servers, nil)
}

func (m *model) def(key string) (hub.Server, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.defs[key]
	return s, ok
}

func (m *model) stop(key string, yes bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.defs[key]; ok && s.Enabled {
		m.stopped[key] = yes
	}
}

// step does one thing, and sometimes does not wait for its outcome.
func (o *operator) step(t *testing.T, original map[string]hub.Server) {
	key := o.keys[o.random.IntN(len(o.keys))]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	if o.random.IntN(4) == 0 {
		ctx, cancel = context.WithTimeout(t.Context(), time.Duration(o.random.IntN(20))*time.Millisecond)
	}
	defer cancel()
	def, defined := o.model.def(key)
	if !defined {
		def = original[key]
		if o.random.IntN(3) > 0 {
			o.model.apply(o.f, key, &def)
			return
		}
	}
	var err error
	switch o.random.IntN(10) {
	case 0, 1:
		o.model.stop(key, false)
		err = o.f.Start(ctx, key)
	case 2, 3:
		o.model.stop(key, true)
		err = o.f.Stop(ctx, key)
	case 4, 5:
		o.model.stop(key, false)
		err = o.f.Restart(ctx, key)
	case 6:
		err = o.f.Refresh(ctx, key)
	case 7:
		def.Env = map[string]string{"GORACE": "atexit_sleep_ms=0", "N": fmt.Sprint(o.random.IntN(1000))}
		def.Enabled = true
		o.model.apply(o.f, key, &def)
	case 8:
		def.Enabled, def.Priority = !def.Enabled, o.random.IntN(9)
		o.model.apply(o.f, key, &def)
	case 9:
		o.model.apply(o.f, key, nil)
	}
	if ctx.Err() == nil && !honest(err) {
		t.Errorf("%s: %v", key, err)
	}
}

// Whatever operators do, all at once and while calls are made: in the end every
// server is as it was asked to be, and no process is left.
func TestSteeringStress(t *testing.T) {
	const operators, operations = 4, 200
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	budget := quick()
	budget.Ends = 1 << 20 // a process whose start was cut short is no crash loop
	m := &model{defs: map[string]hub.Server{}, stopped: map[string]bool{}}
	original := map[string]hub.Server{}
	_, url := rig.StartFaultServer(t, "127.0.0.1:0")
	others := rig.Tree(t, os.Getpid())
	for n := range 2 * operators {
		s := process(t)
		switch n % 4 {
		case 1:
			s = hub.Server{Kind: hub.KindHTTP, URL: url, Enabled: true, AutoStart: true, AutoReconnect: true}
		case 2:
			s = local()
		}
		s.Key = fmt.Sprint("s", n)
		original[s.Key], m.defs[s.Key] = s, s
		m.all = append(m.all, s.Key)
	}
	servers := make([]hub.Server, 0, len(m.all))
	for _, key := range m.all {
		servers = append(servers, m.defs[key])
	}
	var connected, answered atomic.Int32
	f := run(t, fleet.Options{
		Servers: servers, Serve: serve(answer), Budget: budget, Listed: func(hub.Server, hub.Lists) { connected.Add(1) }, Dial: upstream.Dial,
	})

	var callers, all sync.WaitGroup
	ctx, done := context.WithCancel(t.Context())
	for n := range 3 {
		random := rand.New(rand.NewPCG(seed, uint64(100+n)))
		callers.Go(func() {
			for ctx.Err() == nil {
				err := callOnce(ctx, f, m.all[random.IntN(len(m.all))])
				if ctx.Err() == nil && !honest(err) {
					t.Errorf("a call got %v", err)
				}
				if err == nil {
					answered.Add(1)
				}
			}
		})
	}
	for n := range operators {
		o := &operator{f: f, model: m, random: rand.New(rand.NewPCG(seed, uint64(n))), keys: m.all[2*n : 2*n+2]}
		all.Go(func() {
			for range operations / operators {
				o.step(t, original)
			}
		})
	}
	all.Wait()
	done()
	callers.Wait()
	t.Logf("%d lists, %d calls answered", connected.Load(), answered.Load())

	want := map[string]hub.State{}
	running := 0
	for key, def := range m.defs {
		switch {
		case !def.Enabled:
			want[key] = hub.StateDisabled
		case m.stopped[key]:
			want[key] = hub.StateStopped
		default:
			want[key] = hub.StateReady
			if def.Kind == hub.KindStdio {
				running++
			}
		}
	}
	rig.Await(t, "all is as it was asked for", func() bool {
		got := f.Status()
		return len(got) == len(want) && !slices.ContainsFunc(got, func(st hub.Status) bool { return st.State != want[st.Key] })
	})
	rig.Await(t, "there are no other processes", func() bool { return len(rig.Tree(t, os.Getpid())) == running+len(others) })
	f.Apply(nil, nil)
	rig.Await(t, "all processes are gone", func() bool { return len(rig.Tree(t, os.Getpid())) == len(others) })
}

// answer answers every request.
func answer(p *peer) {
	for {
		n, ok := p.next()
		if !ok {
			return
		}
		if n.ID != nil {
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, n.ID)
		}
	}
}

func callOnce(ctx context.Context, f *fleet.Fleet, key string) error {
	use, err := f.Acquire(ctx, key, nil)
	if err != nil {
		return err
	}
	defer func() { use.Done(err) }()
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`), wire.Limits{})
	if err != nil {
		return err
	}
	_, err = use.Conn().Do(ctx, &upstream.Request{Message: &m, Name: "echo"}, nil)
	return err
}
