package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// server is one server. Its goroutine leads it through lives: a life begins
// when the server is to run, connects, keeps the connection, and connects
// again as long as the budget allows. Between two lives it rests.
//
//	at rest:  disabled, idle, stopped, failed; starting, until its goroutine takes that up
//	a life:   starting ──connected, tools listed──> ready ──lost──> reconnecting ──connected──> ready
//	          starting, reconnecting ──not reached──> reconnecting
//	          starting, reconnecting ──budget spent, hopeless, or not to be tried again──> failed
//	          any ──it is ended: stop, restart, another definition, the hub stops──> stopping
//	          stopping ──nothing of it is left──> what is asked for then (see resting)
//	idle ──call, start, restart, refresh──> starting
//	failed, stopped ──start, restart──> starting
//
// The states are under mu, whoever changes them; only the goroutine dials,
// lists and closes.
type server struct {
	fleet *Fleet
	key   string
	log   *slog.Logger
	book  book
	after <-chan struct{} // run does nothing before; nil for at once
	gone  chan struct{}   // closed when run has returned

	live  atomic.Pointer[upstream.Conn] // while ready
	work  sync.WaitGroup                // what is told the server beside its calls
	wake  chan struct{}                 // a call wants the next attempt now
	hurry chan struct{}                 // an operator does
	stale chan struct{}                 // the tools are to be asked for again
	asks  chan chan error               // and who asked for that is told how it went

	mu       sync.Mutex
	def      hub.Server
	want     want
	removed  bool // it is not in the configuration any more
	over     bool // the hub stops
	withheld bool // what Options.Withhold was told last

	alive  bool // a life is under way
	lives  int  // that have begun
	cut    context.CancelFunc
	afresh bool // the budget is to start anew

	state    hub.State
	since    time.Time
	reason   *hub.Error
	retry    time.Time
	changed  chan struct{} // closed and replaced with every change
	trying   bool          // an attempt to connect is under way
	tries    int           // attempts that have ended, well or badly
	lists    int           // of tools that were received
	tools    int
	level    string
	protocol string // of the last connection, as is info
	info     string
	lastFail time.Time // of an attempt
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
		wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), stale: make(chan struct{}, 1), asks: make(chan chan error),
		changed: make(chan struct{}), since: time.Now(),
	}
	s.want = s.byDefault()
	s.state, s.reason = s.resting()
	return s
}

// byDefault is what the configuration asks of the server. The caller holds mu,
// or is alone with it.
func (s *server) byDefault() want {
	opt := &s.fleet.opt
	if opt.OnDemand || !s.def.AutoStart && opt.Known != nil && opt.Known(s.def) {
		return wantIdle
	}
	return wantUp
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
		return hub.StateStopped, hub.E(message.ServerStopped, nil, "server", s.key)
	case s.over:
		return hub.StateStopped, nil
	case s.want == wantIdle:
		return hub.StateIdle, nil
	}
	return hub.StateStarting, nil
}

// settle brings a server that has no life into the state that is asked for. The
// caller holds mu.
func (s *server) settle() {
	if state, reason := s.resting(); state != s.state {
		s.become(state, reason, time.Time{})
	}
}

// end ends the life of the server. From now on nobody gets its connection. The
// caller holds mu.
func (s *server) end() {
	s.live.Store(nil)
	if s.state != hub.StateStopping {
		s.become(hub.StateStopping, nil, time.Time{})
	}
	s.cut()
}

// become moves the server to another state and tells everybody. The caller
// holds mu, so that all hear of the states in their order.
func (s *server) become(state hub.State, reason *hub.Error, retry time.Time) {
	s.state, s.since, s.reason, s.retry = state, time.Now(), reason, retry
	s.notify()
	withhold := state == hub.StateStopped && reason != nil
	if tell := s.fleet.opt.Withhold; tell != nil && withhold != s.withheld {
		tell(s.key, withhold)
	}
	s.withheld = withhold
	if state != hub.StateStarting { // which is noted when it is so
		s.book.add(hub.LogHub, s.says())
	}
	s.fleet.opt.Bus.Publish(hub.ServerChanged{Status: s.statusNow()})
}

// notify wakes whoever waits for a change. The caller holds mu.
func (s *server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// says is the line about the present state in the server's log. The caller
// holds mu.
func (s *server) says() string {
	because := ""
	if s.reason != nil {
		because = ": " + s.reason.Text(message.English).String()
	}
	switch s.state {
	case hub.StateReady:
		return fmt.Sprintf("ready, %d tools", s.tools)
	case hub.StateReconnecting:
		return fmt.Sprintf("away%s Tried again in %v.", because, s.retry.Sub(s.since).Round(time.Millisecond))
	case hub.StateFailed:
		return "given up" + because
	}
	return string(s.state) + because
}

// announce tells everybody of a server that was added.
func (s *server) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fleet.opt.Bus.Publish(hub.ServerChanged{Status: s.statusNow()})
}

// await waits for a connection; see [Fleet.Conn]. Why the server is not ready is
// said by say.
func (s *server) await(ctx context.Context, say func(*hub.Error) *hub.Error) (*upstream.Conn, error) {
	began := -1
	for {
		s.mu.Lock()
		e := s.unfit()
		if e == nil && s.want == wantDown {
			e = hub.E(message.ServerStopped, nil, "server", s.key)
		}
		if e != nil {
			s.mu.Unlock()
			return nil, e
		}
		if s.want == wantIdle {
			s.want = wantUp
			if !s.alive {
				s.settle()
			}
		}
		state, reason, changed, tries, trying := s.state, s.reason, s.changed, s.tries, s.trying
		s.mu.Unlock()
		if began < 0 {
			began = tries
		}
		switch state {
		case hub.StateReady:
			if c := s.conn(); c != nil {
				return c, nil
			}
		case hub.StateFailed:
			return nil, say(reason)
		case hub.StateReconnecting:
			switch {
			case tries > began:
				return nil, say(reason)
			case !trying: // else its outcome is waited for
				poke(s.wake)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, s.tooLate(ctx, reason, "it was not reached in time.")
		}
	}
}

// conn returns the connection if there is one that has not ended.
func (s *server) conn() *upstream.Conn {
	c := s.live.Load()
	if c == nil {
		return nil
	}
	select {
	case <-c.Done():
		return nil
	default:
		return c
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

// down is what a caller is told of why a server is not ready.
func (s *server) down(reason *hub.Error) *hub.Error {
	text := ""
	if reason != nil {
		text = reason.Text(message.English).String()
	}
	return hub.E(message.ServerDown, reason, "server", s.key, "reason", text)
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
		Key: s.key, State: s.state, Since: s.since, Reason: s.reason, Retry: s.retry, Tools: s.tools,
	}
	if c := s.live.Load(); c != nil {
		st.PID, st.Protocol, st.Info = c.Health().PID, s.protocol, s.info
	}
	st.Stderr, st.Junk = s.book.said()
	return st
}

// sameWay reports whether two definitions of a server reach it in the same
// way, so that a connection made by one serves the other.
func sameWay(a, b *hub.Server) bool {
	return a.Kind == b.Kind && a.Enabled == b.Enabled && a.Simulated == b.Simulated &&
		a.Command == b.Command && slices.Equal(a.Args, b.Args) && maps.Equal(a.Env, b.Env) && a.Dir == b.Dir && a.EnvFile == b.EnvFile &&
		a.URL == b.URL && maps.Equal(a.Headers, b.Headers)
}
