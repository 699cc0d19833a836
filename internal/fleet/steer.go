package fleet

import (
	"context"

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
	s.start(false)
	_, err = s.await(ctx, itself)
	return err
}

// Restart ends a server and starts it afresh. Calls under way on it end as they
// do for Stop. The error says why it is not ready.
func (f *Fleet) Restart(ctx context.Context, key string) error {
	s, err := f.find(key)
	if err != nil {
		return err
	}
	s.start(true)
	_, err = s.await(ctx, itself)
	return err
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

// Refresh asks a server for its tools again, and has them [Options.Listed]; a
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
	for s.state == hub.StateStopping {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return s.tooLate(ctx, nil, "it has not ended in time, and is still being stopped.")
		}
		s.mu.Lock()
	}
	s.mu.Unlock()
	return nil
}

// itself is what an operator is told of why a server is not ready.
func itself(reason *hub.Error) *hub.Error { return reason }

// start has the server run: anew if it runs already and again is set.
func (s *server) start(again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.removed || !s.def.Enabled {
		return
	}
	s.want = wantUp
	switch {
	case !s.alive:
		s.settle()
	case again:
		s.end()
	case s.trying:
		s.afresh = true
	case s.state == hub.StateReconnecting:
		s.afresh = true
		poke(s.hurry)
	}
}

// stop has the server rest, and waits until the life that it had is over.
func (s *server) stop(ctx context.Context) error {
	s.mu.Lock()
	if e := s.unfit(); e != nil {
		s.mu.Unlock()
		return e
	}
	s.want = wantDown
	s.quit()
	for life := s.lives; s.alive && s.lives == life; {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return s.tooLate(ctx, nil, "it has not ended in time, and is still being stopped.")
		}
		s.mu.Lock()
	}
	s.mu.Unlock()
	return nil
}

// refresh has the goroutine of the server list its tools once more.
func (s *server) refresh(ctx context.Context) error {
	s.mu.Lock()
	before := s.lists
	s.mu.Unlock()
	for {
		conn, err := s.await(ctx, itself)
		if err != nil {
			return err
		}
		s.mu.Lock()
		listed := s.lists > before
		s.mu.Unlock()
		if listed { // since it was connected for this
			return nil
		}
		done := make(chan error, 1)
		select {
		case s.asks <- done:
		case <-conn.Done():
			continue
		case <-ctx.Done():
			return s.tooLate(ctx, nil, "it has not given its tools in time.")
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
			return s.tooLate(ctx, nil, "it has not given its tools in time.")
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
	if sameWay(&old, &def) {
		if s.state == hub.StateIdle {
			s.want = s.byDefault() // it may be one to start with the hub now
			s.settle()
		}
		return
	}
	switch {
	case old.Enabled && s.want == wantDown: // and stays so
	case old.Enabled && s.alive && !s.fleet.opt.OnDemand:
		s.want = wantUp
	default:
		s.want = s.byDefault()
	}
	s.quit()
}

// remove ends the server for good.
func (s *server) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed = true
	s.quit()
	s.notify()
	s.book.add(hub.LogHub, "removed") // so that nobody waits for more of it
}

// shut ends the server with the hub.
func (s *server) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.quit()
	s.notify()
}

// quit ends the server's life, if it has one, so that it comes into the state
// that is asked for now. The caller holds mu.
func (s *server) quit() {
	if s.alive {
		s.end()
	} else {
		s.settle()
	}
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
