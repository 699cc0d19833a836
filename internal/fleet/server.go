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
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// server is one server and the goroutine that keeps it.
//
//	disabled                                   (for good)
//	idle ──call──> starting
//	starting ──ok──> ready ──lost──> reconnecting ──ok──> ready
//	starting, reconnecting ──failed──> reconnecting ──budget spent, or hopeless──> failed
//	any ──hub stops──> stopping ──> stopped
type server struct {
	fleet *Fleet
	def   hub.Server
	log   *slog.Logger

	live  atomic.Pointer[upstream.Conn] // while ready
	work  sync.WaitGroup                // what is told the server beside its calls
	wake  chan struct{}                 // a call wants the next attempt now
	stale chan struct{}                 // the tools are to be asked for again

	mu       sync.Mutex
	state    hub.State
	since    time.Time
	reason   *hub.Error
	retry    time.Time
	trying   bool          // an attempt to connect is under way
	tries    int           // attempts that have ended, well or badly
	changed  chan struct{} // closed and replaced with every change
	tools    int
	level    string
	lastFail time.Time // of an attempt
	lastSeen upstream.Health
}

func newServer(f *Fleet, def hub.Server) *server {
	s := &server{
		fleet: f, def: def, log: f.opt.Log.With("server", def.Key),
		wake: make(chan struct{}, 1), stale: make(chan struct{}, 1), changed: make(chan struct{}),
		state: hub.StateStarting, since: time.Now(),
	}
	switch {
	case !def.Enabled:
		s.state, s.reason = hub.StateDisabled, hub.E(message.ServerDisabled, nil, "server", def.Key)
	case !def.AutoStart && f.opt.Known != nil && f.opt.Known(def.Key):
		s.state = hub.StateIdle
	}
	return s
}

// run is the server's life.
func (s *server) run(ctx context.Context) {
	if s.is(hub.StateDisabled) {
		return
	}
	defer func() {
		s.become(hub.StateStopped, nil, time.Time{})
		s.work.Wait()
	}()
	if s.is(hub.StateIdle) {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
		s.become(hub.StateStarting, nil, time.Time{})
	}
	count := counter{budget: s.fleet.opt.Budget, local: s.def.Kind != hub.KindHTTP}
	var era *protocol.Era
	for ctx.Err() == nil {
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
			return
		}
		reason := hub.AsError(err)
		wait, ok := count.next(time.Now(), held, reason)
		if !ok {
			s.log.Error("the server is given up", "reason", reason)
			s.become(hub.StateFailed, count.last(reason), time.Time{})
			<-ctx.Done()
			return
		}
		s.log.Warn("the server is away", "reason", reason, "retry", wait)
		s.become(hub.StateReconnecting, reason, time.Now().Add(wait))
		s.pause(ctx, wait)
	}
}

// pause waits for the next attempt; a call may bring it forward for a remote
// server, whose attempts cost next to nothing.
func (s *server) pause(ctx context.Context, wait time.Duration) {
	t := time.NewTimer(wait)
	defer t.Stop()
	early := s.wake
	if s.def.Kind != hub.KindHTTP {
		early = nil
	}
	select {
	case <-t.C:
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
	case <-ctx.Done():
	}
}

// attempt connects and learns the tools.
func (s *server) attempt(ctx context.Context, era *protocol.Era) (conn *upstream.Conn, err error) {
	s.mu.Lock()
	s.trying = true
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
	conn, err = s.fleet.opt.Dial(ctx, upstream.Options{
		Server: s.def, ClientInfo: s.fleet.opt.ClientInfo, Era: era, Handshake: s.fleet.opt.Budget.Handshake,
		Serve: s.fleet.opt.Serve, Log: s.fleet.opt.Log,
		ToolsChanged: func() {
			select {
			case s.stale <- struct{}{}:
			default:
			}
		},
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

func (s *server) list(ctx context.Context, conn *upstream.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, s.fleet.opt.Budget.List)
	defer cancel()
	tools, err := conn.Tools(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.tools = len(tools)
	s.mu.Unlock()
	s.fleet.opt.Listed(s.def.Key, tools)
	return nil
}

// hold keeps a live connection until it ends, and closes it. The error says
// why it ended.
func (s *server) hold(ctx context.Context, conn *upstream.Conn) error {
	s.mu.Lock()
	level := s.level
	s.mu.Unlock()
	if level != "" {
		s.tell(ctx, conn, level)
	}
	s.live.Store(conn)
	s.become(hub.StateReady, nil, time.Time{})
	s.mu.Lock()
	if s.level != level { // it was set meanwhile
		level = s.level
		s.work.Go(func() { s.tell(ctx, conn, level) })
	}
	s.mu.Unlock()
	s.log.Info("ready", "tools", s.status().Tools, "protocol", conn.Hello().Revision)
	defer func() {
		s.live.Store(nil)
		s.mu.Lock()
		s.lastSeen = conn.Health()
		s.lastSeen.PID = 0
		s.mu.Unlock()
		if ctx.Err() != nil {
			s.become(hub.StateStopping, nil, time.Time{})
		}
		conn.Close(context.WithoutCancel(ctx))
	}()
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
		case <-stale:
			stale, quiet = nil, time.After(listSpacing)
			// The old list stands until the new one is here.
			if err := s.list(ctx, conn); err != nil && ctx.Err() == nil {
				s.log.Warn("the changed tools could not be listed", "error", err)
			}
		}
	}
}

// await waits for a connection on behalf of a call; see [Fleet.Conn].
func (s *server) await(ctx context.Context) (*upstream.Conn, error) {
	began := -1
	for {
		s.mu.Lock()
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
		case hub.StateDisabled:
			return nil, reason
		case hub.StateFailed:
			return nil, s.down(reason)
		case hub.StateStopping, hub.StateStopped:
			return nil, hub.E(message.ShuttingDown, nil)
		case hub.StateReconnecting:
			switch {
			case tries > began:
				return nil, s.down(reason)
			case !trying: // else its outcome is waited for
				s.poke()
			}
		case hub.StateIdle:
			s.poke()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, s.tooLate(ctx, reason)
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

func (s *server) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *server) down(reason *hub.Error) *hub.Error {
	text := ""
	if reason != nil {
		text = reason.Text(message.English).String()
	}
	return hub.E(message.ServerDown, reason, "server", s.def.Key, "reason", text)
}

func (s *server) tooLate(ctx context.Context, reason *hub.Error) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return hub.E(message.Cancelled, context.Cause(ctx))
	}
	if reason != nil {
		return s.down(reason)
	}
	return hub.E(message.ServerDown, ctx.Err(), "server", s.def.Key, "reason", "it was not reached in time.")
}

// become moves the server to another state and tells everybody.
func (s *server) become(state hub.State, reason *hub.Error, retry time.Time) {
	s.mu.Lock()
	if s.state == hub.StateDisabled {
		s.mu.Unlock()
		return
	}
	s.state, s.since, s.reason, s.retry = state, time.Now(), reason, retry
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	s.log.Debug("state", "state", state)
	s.fleet.opt.Bus.Publish(hub.ServerChanged{Status: s.status()})
}

func (s *server) is(state hub.State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == state
}

func (s *server) status() hub.Status {
	s.mu.Lock()
	st := hub.Status{
		Key: s.def.Key, State: s.state, Since: s.since, Reason: s.reason, Retry: s.retry, Tools: s.tools,
	}
	h := s.lastSeen
	s.mu.Unlock()
	if c := s.live.Load(); c != nil {
		h = c.Health()
	}
	st.PID, st.Junk, st.Stderr = h.PID, h.Junk, h.Stderr
	return st
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
