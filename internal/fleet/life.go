package fleet

import (
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// run is the server's goroutine: one life after the other, until the server is
// removed or ctx ends.
func (s *server) run(ctx context.Context) {
	defer close(s.gone)
	defer s.work.Wait()
	if s.after != nil {
		select {
		case <-s.after:
		case <-ctx.Done():
		}
	}
	for {
		life, ok := s.begin(ctx)
		if !ok {
			return
		}
		s.finish(ctx, s.lead(life))
	}
}

// begin waits until the server is to run, and begins a life. It reports false
// if there is to be none any more.
func (s *server) begin(ctx context.Context) (life context.Context, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if ctx.Err() != nil {
			s.over = true
			s.settle()
		}
		if s.removed || s.over {
			return nil, false
		}
		if s.state == hub.StateStarting {
			break
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	life, s.cut = context.WithCancel(ctx)
	s.alive, s.afresh = true, false
	s.lives++
	s.book.add(hub.LogHub, string(hub.StateStarting))
	return life, true
}

// finish ends a life, of which nothing is left. The reason is why the server
// was given up; nil if it was not.
func (s *server) finish(ctx context.Context, reason *hub.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut()
	s.alive = false
	s.over = s.over || ctx.Err() != nil
	if reason == nil || s.over || s.afresh || s.state == hub.StateStopping {
		s.settle()
		return
	}
	s.log.Error("the server is given up", "reason", reason)
	s.become(hub.StateFailed, reason, time.Time{})
}

// lead is one life: it connects, keeps the connection, and connects again, until
// ctx ends or the server is to be given up for the reason returned.
func (s *server) lead(ctx context.Context) *hub.Error {
	def := s.definition()
	count := counter{budget: s.fleet.opt.Budget, kind: def.Kind}
	var era *protocol.Era
	for {
		conn, err := s.attempt(ctx, era)
		var held time.Duration
		if err == nil {
			e, began := conn.Era(), time.Now()
			era = &e
			err = s.hold(ctx, conn)
			held = time.Since(began)
		} else {
			era = nil // asked anew the next time
		}
		if ctx.Err() != nil {
			return nil
		}
		reason := hub.AsError(err)
		s.mu.Lock()
		if s.afresh {
			s.afresh = false
			count = counter{budget: count.budget, kind: count.kind}
		}
		again := triesAgain(&s.def)
		s.mu.Unlock()
		wait, ok := count.next(time.Now(), held, reason, again)
		if !ok {
			return count.last(s.key, reason)
		}
		s.log.Warn("the server is away", "reason", reason, "retry", wait)
		s.mu.Lock()
		if ctx.Err() == nil {
			s.become(hub.StateReconnecting, reason, time.Now().Add(wait))
		}
		s.mu.Unlock()
		s.pause(ctx, wait)
		if ctx.Err() != nil {
			return nil
		}
	}
}

// pause waits for the next attempt. An operator may bring it forward and, for a
// remote server, whose attempts cost next to nothing, a call.
func (s *server) pause(ctx context.Context, wait time.Duration) {
	t := time.NewTimer(wait)
	defer t.Stop()
	var early chan struct{}
	if def := s.definition(); def.Kind.Remote() {
		early = s.wake
	}
	select {
	case <-t.C:
		return
	case <-s.hurry:
		return
	case <-ctx.Done():
		return
	case <-early:
	}
	s.mu.Lock()
	soonest := s.lastFail.Add(s.fleet.opt.Budget.Spacing)
	s.mu.Unlock()
	t.Reset(min(time.Until(soonest), wait))
	select {
	case <-t.C:
	case <-s.hurry:
	case <-ctx.Done():
	}
}

// attempt connects and learns the tools.
func (s *server) attempt(ctx context.Context, era *protocol.Era) (conn *upstream.Conn, err error) {
	s.mu.Lock()
	s.trying = true
	take(s.hurry) // this is the attempt that was asked for
	take(s.wake)
	def := s.def
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.trying = false
		s.tries++
		if err != nil {
			s.lastFail = time.Now()
		}
	}()
	s.book.mark()
	opt := &s.fleet.opt
	conn, err = opt.Dial(ctx, upstream.Options{
		Server: def, ClientInfo: opt.ClientInfo, Era: era, Handshake: opt.Budget.Handshake,
		Serve: opt.Serve, Network: opt.Network, Resolve: opt.Resolve, Log: opt.Log, Note: s.book.add,
		ToolsChanged: func() { poke(s.stale) },
	})
	if err != nil {
		return nil, err
	}
	if err := s.list(ctx, conn); err != nil {
		conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return conn, nil
}

// list asks for the tools and passes them on.
func (s *server) list(ctx context.Context, conn *upstream.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, s.fleet.opt.Budget.List)
	defer cancel()
	s.mu.Lock()
	def, ended := s.def, ctx.Err() // it may become another one, which ends the life
	s.mu.Unlock()
	if ended != nil {
		return ended
	}
	tools, err := conn.Tools(ctx)
	if err != nil {
		return err
	}
	s.fleet.opt.Listed(def, tools)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = len(tools)
	s.lists++
	return nil
}

// hold keeps a live connection until it ends, and closes it. The error says
// why it ended.
func (s *server) hold(ctx context.Context, conn *upstream.Conn) error {
	defer func() {
		s.mu.Lock()
		s.live.Store(nil)
		if ctx.Err() != nil && s.state != hub.StateStopping {
			s.become(hub.StateStopping, nil, time.Time{})
		}
		s.mu.Unlock()
		conn.Close(context.WithoutCancel(ctx))
	}()
	if !s.open(ctx, conn) {
		return ctx.Err()
	}
	// A server that announces a change with every list would keep both sides
	// busy for ever.
	stale := s.stale
	var quiet <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-conn.Done():
			return conn.Explain(conn.Err())
		case <-quiet:
			stale, quiet = s.stale, nil
		case done := <-s.asks:
			if err := s.list(ctx, conn); ctx.Err() == nil {
				done <- err
			}
			close(done) // without an answer if the life has ended
		case <-stale:
			stale, quiet = nil, time.After(listSpacing)
			// The old list stands until the new one is here.
			if err := s.list(ctx, conn); err != nil && ctx.Err() == nil {
				s.log.Warn("the changed tools could not be listed", "error", err)
			}
		}
	}
}

// open hands the connection out, unless the life has ended.
func (s *server) open(ctx context.Context, conn *upstream.Conn) bool {
	s.mu.Lock()
	level := s.level
	s.mu.Unlock()
	if level != "" {
		s.tell(ctx, conn, level)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	s.live.Store(conn)
	s.protocol, s.info = conn.Protocol(), conn.Info()
	s.become(hub.StateReady, nil, time.Time{})
	if s.level != level { // it was set meanwhile
		level = s.level
		s.work.Go(func() { s.tell(ctx, conn, level) })
	}
	s.log.Info("ready", "tools", s.tools, "protocol", s.protocol)
	return true
}

func (s *server) setLevel(level string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.level == level {
		return
	}
	s.level = level
	if c := s.conn(); c != nil && s.state == hub.StateReady {
		s.work.Go(func() { s.tell(context.Background(), c, level) })
	}
}

func (s *server) tell(ctx context.Context, c *upstream.Conn, level string) {
	ctx, cancel := context.WithTimeout(ctx, levelLimit)
	defer cancel()
	if err := c.SetLevel(ctx, level); err != nil {
		s.log.Debug("the log level was not set", "error", err)
	}
}

// listSpacing is the least time between two lists of a connected server.
const listSpacing = time.Second

// levelLimit bounds telling a server the log level; it may ignore it as well.
const levelLimit = 5 * time.Second
