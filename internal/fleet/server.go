package fleet

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// server is one server. Its goroutine leads it through lives: a life begins when
// the server is to run, connects, keeps the connections, and connects again as
// long as the budget allows. Between two lives it rests. What leads from one
// state to another is in the table ([Transitions]).
//
// The states are under mu, whoever changes them; only the goroutine, and those
// that belong to a life, dial, list and close.
type server struct {
	fleet   *Fleet
	key     string
	log     *slog.Logger
	book    book
	breaker *breaker
	after   <-chan struct{} // run does nothing before; nil for at once
	gone    chan struct{}   // closed when run has returned

	live    atomic.Pointer[pool] // while ready or degraded
	apart   atomic.Bool          // callers that can be asked have connections of their own
	calls   atomic.Int64         // that have a connection, or wait for one
	work    sync.WaitGroup       // what is told the server beside its calls
	wake    chan struct{}        // a call wants the next attempt now
	hurry   chan struct{}        // an operator does
	more    chan struct{}        // the calls want one more instance
	stale   chan struct{}        // some lists are to be asked for again:
	asks    chan chan error      // all are, and who asked for that is told how it went
	changes atomic.Uint32        // these, a hub.ListSet

	mu       sync.Mutex
	def      hub.Server
	want     want
	removed  bool // it is not in the configuration any more
	over     bool // the hub stops
	withheld bool // what Options.Withhold was told last

	alive    bool // a life is under way
	lives    int  // that have begun
	remains  bool // of a life that was given up, something is still being ended
	cut      context.CancelFunc
	kill     context.CancelFunc // as cut, and what cut leaves time to end gets none
	patience time.Duration      // of a life that is ended: that calls under way have
	afresh   bool               // the budget is to start anew

	state   hub.State
	event   string
	since   time.Time
	reason  *hub.Error
	retry   time.Time
	changed chan struct{} // closed and replaced with every change of what is here
	tuned   chan struct{} // closed and replaced when the definition changed or leases went

	waiting  int    // who wait for it to be ready
	rush     func() // the attempt under way need not queue any more; nil if it does not
	leases   map[lease]int
	used     int64 // when the last lease or subscription ended, by the fleet's clock
	trying   bool  // an attempt to connect is under way
	tries    int   // attempts that have ended, well or badly
	starts   int   // attempts that have begun, those for further instances too
	losses   int   // connections that ended by themselves
	lists    int   // answers to a request for lists that were received
	tools    int
	level    string
	protocol string // of the last connection, as is info
	info     string
	lastFail time.Time // of an attempt

	// Callers' own connections and subscriptions; see guest and board.
	version       int               // of the definition, as far as it says how the server is reached
	asking        bool              // the server has put a question since that definition is in force
	legacy        bool              // it was of that era when it was connected last
	present       *life             // whose guests there may be; nil if there is no life, or it is over
	guests        map[string]*guest // by the caller's id
	common        board             // of the shared connections
	subscriptions int               // on all boards
}

// want is what is asked of a server.
type want uint8

const (
	wantUp   want = iota // to run
	wantIdle             // to run once somebody needs it
	wantDown             // not to run: a person has stopped it
)

func newServer(f *Fleet, def hub.Server) *server {
	s := &server{
		fleet: f, key: def.Key, def: def, log: f.opt.Log.With("server", def.Key), gone: make(chan struct{}),
		breaker: newBreaker(def.Key, def.Breaker),
		wake:    make(chan struct{}, 1), hurry: make(chan struct{}, 1), more: make(chan struct{}, 1),
		stale: make(chan struct{}, 1), asks: make(chan chan error),
		changed: make(chan struct{}), tuned: make(chan struct{}), since: time.Now(), leases: make(map[lease]int),
		guests: make(map[string]*guest),
	}
	s.want = s.byDefault()
	s.state, s.reason = s.resting()
	return s
}

// held reports whether somebody holds the server, so that it is not ended for
// want of use: by a lease or a subscription. The caller holds mu.
func (s *server) held() bool { return len(s.leases) > 0 || s.subscriptions > 0 }

// byDefault is what the configuration, and those who hold the server, ask of
// it. The caller holds mu, or is alone with it.
func (s *server) byDefault() want {
	opt := &s.fleet.opt
	switch {
	case s.held():
		return wantUp
	case opt.OnDemand:
		return wantIdle
	case s.def.AutoStart, s.def.Preload, opt.Known == nil, !opt.Known(s.def):
		return wantUp
	}
	return wantIdle
}

// resting is the state of a server that has no life, and why it is not ready,
// if that needs an explanation. The caller holds mu, or is alone with it.
func (s *server) resting() (hub.State, *hub.Error) {
	switch {
	case s.removed:
		return hub.StateStopped, nil
	case !s.def.Enabled:
		return hub.StateDisabled, disabled(s.key)
	case s.want == wantDown:
		return hub.StateStopped, stopped(s.key)
	case s.over:
		return hub.StateStopped, nil
	case s.want == wantIdle:
		return hub.StateIdle, nil
	}
	return hub.StateStarting, nil
}

// settle brings a server that has no life into the state that is asked for. The
// caller holds mu.
func (s *server) settle(event string) {
	if state, reason := s.resting(); state != s.state {
		s.become(state, event, reason, time.Time{})
	}
}

// need has a server run that waits for somebody to need it. It reports whether
// it was one. The caller holds mu.
func (s *server) need(event string) bool {
	if s.want != wantIdle {
		return false
	}
	s.want = wantUp
	if !s.alive {
		s.settle(event)
	}
	return true
}

// end ends the life of the server. From now on nobody gets its connections; the
// calls under way on them have so long to end. The caller holds mu.
func (s *server) end(event string, patience time.Duration) {
	s.close()
	for _, g := range s.guests {
		s.withdraw(g)
	}
	if s.state != hub.StateStopping {
		s.patience = patience
		s.become(hub.StateStopping, event, nil, time.Time{})
	}
	if patience > 0 {
		s.cut()
	} else {
		s.kill()
	}
}

// quit ends the server's life, if it has one, so that it comes into the state
// that is asked for now. The caller holds mu.
func (s *server) quit(event string, patience time.Duration) {
	if s.alive {
		s.end(event, patience)
		return
	}
	if s.remains && patience <= 0 {
		s.kill()
	}
	s.settle(event)
}

// retune has the goroutines of the server look at its definition and leases
// again. The caller holds mu.
func (s *server) retune() {
	close(s.tuned)
	s.tuned = make(chan struct{})
}

// announce tells everybody of a server that was added.
func (s *server) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tellAll()
}

// await waits for a connection and takes a place on it, after having started a
// server that is idle; see [Fleet.Acquire]. Why the server is not ready is said
// by say.
func (s *server) await(ctx context.Context, event string, say func(*hub.Error) *hub.Error) (*instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting++ // it is not ended for want of use from here on
	defer func() { s.waiting-- }()
	began := s.tries
	for {
		if e := s.barred(); e != nil {
			return nil, e
		}
		s.need(event)
		if s.rush != nil {
			s.rush()
		}
		switch s.state {
		case hub.StateReady, hub.StateDegraded:
			if i := s.claim(); i != nil {
				return i, nil
			}
		case hub.StateFailed:
			return nil, say(s.reason)
		case hub.StateCrashed:
			if s.retry.IsZero() || s.tries > began {
				return nil, say(s.reason)
			}
		case hub.StateReconnecting:
			switch {
			case s.tries > began:
				return nil, say(s.reason)
			case !s.trying: // else its outcome is waited for
				poke(s.wake)
			}
		}
		if err := s.attend(ctx, s.changed, notReached); err != nil {
			return nil, err
		}
	}
}

// attend waits for the channel without mu, which the caller holds before and
// after. The error says that ctx ended first, by the reason why the server is not
// ready or, if there is none, the text.
func (s *server) attend(ctx context.Context, c <-chan struct{}, otherwise string) error {
	reason := s.reason
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return s.tooLate(ctx, reason, otherwise)
	}
}

// poke leaves a token in a channel that has room for one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take takes the token out again, if there is one.
func take(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// barred is why nobody gets the server before a person has done something, its
// state aside; nil if nothing is. The caller holds mu.
func (s *server) barred() *hub.Error {
	if e := s.unfit(); e != nil || s.want != wantDown {
		return e
	}
	return stopped(s.key)
}

// unfit is why the server cannot be had for anybody, whatever its state; nil if
// it can. The caller holds mu.
func (s *server) unfit() *hub.Error {
	switch {
	case s.removed:
		return unknown(s.key)
	case s.over:
		return hub.E(message.ShuttingDown, nil)
	case !s.def.Enabled:
		return disabled(s.key)
	}
	return nil
}

func disabled(key string) *hub.Error { return hub.E(message.ServerDisabled, nil, "server", key) }

func stopped(key string) *hub.Error { return hub.E(message.ServerStopped, nil, "server", key) }

// down is what a caller is told of why a server is not ready.
func (s *server) down(reason *hub.Error) *hub.Error {
	if reason == nil {
		return hub.E(message.ServerDown, nil, "server", s.key, "reason", "")
	}
	if reason.Code == message.DeviceOffline {
		return reason // there is nothing to add
	}
	return hub.E(message.ServerDown, reason, "server", s.key)
}

// tooLate is for who has waited until ctx ended: the reason why the server is
// not ready or, if there is none yet, the text otherwise.
func (s *server) tooLate(ctx context.Context, reason *hub.Error, otherwise string) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		if e, ok := errors.AsType[*hub.Error](context.Cause(ctx)); ok {
			return e
		}
		return hub.E(message.Cancelled, context.Cause(ctx))
	}
	if reason != nil {
		return s.down(reason)
	}
	return hub.E(message.ServerDown, ctx.Err(), "server", s.key, "reason", otherwise)
}

func (s *server) definition() hub.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.def
}

func (s *server) status() hub.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.statusNow()
}

// statusNow is status for who holds mu.
func (s *server) statusNow() hub.Status {
	st := hub.Status{
		Key: s.key, State: s.state, Event: s.event, Since: s.since, Reason: s.reason, Retry: s.retry, Tools: s.tools,
		Leases: s.leased(), Subscriptions: s.subscriptions, Starts: s.starts, Losses: s.losses, Breaker: s.breaker.state(),
	}
	if p := s.live.Load(); p != nil {
		st.Protocol, st.Info, st.Instances = s.protocol, s.info, len(p.members)
		for _, i := range p.members {
			if pid := i.conn.Health().PID; pid != 0 {
				st.PIDs = append(st.PIDs, pid)
			}
			st.Calls += i.calls()
			st.Misses = max(st.Misses, int(i.misses.Load()))
		}
	}
	for _, i := range s.apiece() {
		if pid := i.conn.Health().PID; pid != 0 {
			st.PIDs = append(st.PIDs, pid)
		}
		st.Calls += i.calls()
		st.Callers++
	}
	if len(st.PIDs) > 0 {
		st.PID = st.PIDs[0]
	}
	st.Stderr, st.Junk = s.book.said()
	return st
}
