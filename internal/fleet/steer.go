package fleet

import (
	"context"
	"maps"
	"slices"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// What operators ask for. Each waits, within ctx, for the outcome; when ctx
// ends first, what was asked for goes on. An error is a [*hub.Error].

// Start connects a server now and waits until it is ready. A server that was
// given up, or stopped by a person, is started afresh, with its whole budget; for
// one that is between two attempts, the next one is made now. The error says why
// it is not ready.
func (f *Fleet) Start(ctx context.Context, key string) error {
	s, err := f.find(key)
	if err != nil {
		return err
	}
	s.start(byStart)
	return s.ready(ctx, byStart, tried)
}

// Restart ends a server and starts it afresh. Calls under way on it end as they
// do for Stop. The error says why it is not ready.
func (f *Fleet) Restart(ctx context.Context, key string) error {
	s, err := f.find(key)
	if err != nil {
		return err
	}
	s.start(byRestart)
	return s.ready(ctx, byRestart, tried)
}

// Renew is a Restart by something other than a person: a server that a person has
// stopped stays so, which is no error.
func (f *Fleet) Renew(ctx context.Context, key string) error {
	s, err := f.find(key)
	if err != nil {
		return err
	}
	if !s.renew() {
		return nil
	}
	return s.ready(ctx, byRestart, tried)
}

// Stop ends a server until it is started again; no call does that. When Stop
// returns without an error, nothing of its processes is left. Calls under way
// on it get an answer or [message.OutcomeUnknown], and later ones
// [message.ServerStopped].
func (f *Fleet) Stop(ctx context.Context, key string) error {
	s, err := f.find(key)
	if err != nil {
		return err
	}
	return s.stop(ctx)
}

// Refresh asks a server for all its lists again, and has them [Options.Listed]; a
// server that is idle is started for that. The error says why it did not come to
// that; a server that was given up or stopped is not started.
func (f *Fleet) Refresh(ctx context.Context, key string) error {
	s, err := f.find(key)
	if err != nil {
		return err
	}
	return s.refresh(ctx)
}

// Settle waits until a server that is being ended has ended, whatever comes
// after that; for all others it returns at once. After [Fleet.Apply] it tells
// when what was asked for has come about.
func (f *Fleet) Settle(ctx context.Context, key string) error {
	s, err := f.find(key)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.state == hub.StateStopping {
		if err := s.attend(ctx, s.changed, notEnded); err != nil {
			return err
		}
	}
	return nil
}

// What is said of a server that does not do in time as it was asked.
const (
	notEnded  = "it has not ended in time, and is still being stopped."
	notListed = "it has not given its tools in time."
)

// itself is what an operator is told of why a server is not ready.
func itself(reason *hub.Error) *hub.Error { return reason }

// tried is itself for who has just started the server, and need not be told to do
// that.
func tried(reason *hub.Error) *hub.Error {
	if reason != nil && reason.Code == message.ServerNotRestarted {
		return hub.AsError(reason.Err)
	}
	return reason
}

// start has the server run: anew if it runs already and the event is a restart.
// What was counted against it is forgotten.
func (s *server) start(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.up(event)
}

// renew has the server run anew, unless a person has stopped it, and reports whether it
// has.
func (s *server) renew() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.want == wantDown {
		return false
	}
	s.up(byRestart)
	return true
}

// up is start. The caller holds mu.
func (s *server) up(event string) {
	if s.over || s.removed || !s.def.Enabled {
		return
	}
	s.want = wantUp
	s.relieve()
	switch {
	case !s.alive:
		s.quit(event, 0)
	case event == byRestart:
		s.end(event, 0)
	case s.trying:
		s.afresh = true
		if s.rush != nil {
			s.rush()
		}
	case s.state == hub.StateReconnecting, s.state == hub.StateCrashed:
		s.afresh = true
		poke(s.hurry)
	}
}

// relieve has calls pass the breaker again, since a person has seen to the
// server. The caller holds mu.
func (s *server) relieve() {
	before := s.breaker.state()
	s.breaker.set(hub.Breaker{})
	s.breaker.set(s.def.Breaker)
	if before != hub.BreakerClosed {
		s.book.add("its calls are let through again")
		s.tellAll()
	}
}

// stop has the server rest, and waits until the life that it had is over.
func (s *server) stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.unfit(); e != nil {
		return e
	}
	s.want = wantDown
	s.quit(byStop, 0)
	for life := s.lives; s.lives == life && (s.alive || s.remains); {
		if err := s.attend(ctx, s.changed, notEnded); err != nil {
			return err
		}
	}
	return nil
}

// refresh has the goroutine of the server ask for all its lists once more.
func (s *server) refresh(ctx context.Context) error {
	s.mu.Lock()
	before := s.lists
	s.mu.Unlock()
	for {
		if err := s.ready(ctx, byRefresh, itself); err != nil {
			return err
		}
		s.mu.Lock()
		listed, changed := s.lists > before, s.changed
		s.mu.Unlock()
		if listed { // since it was connected for this
			return nil
		}
		done := make(chan error, 1)
		select {
		case s.asks <- done:
		case <-changed:
			continue
		case <-ctx.Done():
			return s.tooLate(ctx, nil, notListed)
		}
		select {
		case err, told := <-done:
			switch {
			case !told:
				continue // with what has come of the server
			case err != nil:
				return hub.AsError(err)
			}
			return nil
		case <-ctx.Done():
			return s.tooLate(ctx, nil, notListed)
		}
	}
}

// redefine puts another definition of the server in force.
func (s *server) redefine(def hub.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.def
	s.def = def
	if s.over {
		return
	}
	if !def.Enabled {
		s.forget()
	}
	s.breaker.set(def.Breaker)
	s.retune()
	if sameWay(&old, &def) {
		s.reckon()
		if s.want == wantIdle { // also while it is being ended for want of use
			s.want = s.byDefault() // it may be one to run with the hub now
			if !s.alive {
				s.settle(byConfig)
			}
		}
		return
	}
	s.version++
	s.asking = false
	switch {
	case old.Enabled && s.want == wantDown: // and stays so
	case old.Enabled && s.want == wantUp && s.alive && !s.fleet.opt.OnDemand: // it runs again
	default:
		s.want = s.byDefault()
	}
	event := byConfig
	switch {
	case !def.Enabled:
		event = byDisable
	case !old.Enabled:
		event = byEnabling
	}
	s.quit(event, drain(&old))
	s.reckon()
}

// remove ends the server for good.
func (s *server) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed = true
	s.forget()
	s.quit(byRemoval, drain(&s.def))
	s.notify()
	s.book.add("removed") // so that nobody waits for more of it
}

// shut ends the server with the hub.
func (s *server) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.quit(byShutdown, 0)
	s.notify()
}

// sameWay reports whether two definitions of a server reach it in the same
// way, so that a connection made by one serves the other.
func sameWay(a, b *hub.Server) bool {
	return a.Kind == b.Kind && a.Enabled == b.Enabled && a.Simulated == b.Simulated &&
		a.Command == b.Command && slices.Equal(a.Args, b.Args) && maps.Equal(a.Env, b.Env) && a.Dir == b.Dir && a.EnvFile == b.EnvFile &&
		a.Limits == b.Limits && sameSandbox(a.Sandbox, b.Sandbox) && a.DirectNode == b.DirectNode &&
		a.URL == b.URL && maps.Equal(a.Headers, b.Headers) && a.OAuth.Equal(b.OAuth)
}

func sameSandbox(a, b *hub.Sandbox) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.Read, b.Read) && slices.Equal(a.Write, b.Write) &&
		slices.Equal(a.Connect, b.Connect) && slices.Equal(a.Bind, b.Bind)
}
