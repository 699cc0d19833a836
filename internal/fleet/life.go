package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/transport"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// life is the time that a server runs, with what comes between its connections.
// It belongs to the server's goroutine.
type life struct {
	*server
	ctx  context.Context // ends when the life is to end
	hard context.Context // ends when calls under way are not waited for any more

	count   counter
	era     *protocol.Era  // of the last connection
	closing sync.WaitGroup // connections that are being ended, and what else may outlive them
	hosting sync.WaitGroup // who keep callers' own connections, which outlive the shared ones

	// Of the connections that are up, see hold.
	up      context.Context // ends when the last of them has ended
	members []*instance
	ended   chan *instance
	grown   chan growth
	growing bool      // one more is being connected
	wanted  bool      // the calls want one more
	soonest time.Time // that one more may be connected

	listed   time.Time     // when all lists were asked for last
	listing  bool          // some are being asked for
	relisted chan struct{} // and are not any more
}

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
		l := s.begin(ctx)
		if l == nil {
			return
		}
		l.lead()
		l.disband()
		l.closing.Wait()
		s.finish(ctx)
	}
}

// begin waits until the server is to run, and begins a life; nil if there is to
// be none any more.
func (s *server) begin(ctx context.Context) *life {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if ctx.Err() != nil {
			s.over = true
			s.settle(byShutdown)
		}
		if s.removed || s.over {
			return nil
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
	l := &life{server: s, count: counter{budget: s.fleet.opt.Budget}}
	l.hard, s.kill = context.WithCancel(ctx)
	l.ctx, s.cut = context.WithCancel(l.hard)
	s.alive, s.afresh, s.present = true, false, l
	s.lives++
	s.book.add(string(hub.StateStarting))
	return l
}

// finish ends a life, of which nothing is left. If it was given up, the server
// is in the state that is asked for already.
func (s *server) finish(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
	s.over = s.over || ctx.Err() != nil
	if s.remains {
		s.remains = false
		s.notify()
		return
	}
	if s.state != hub.StateStopping {
		s.become(hub.StateStopping, byShutdown, nil, time.Time{})
	}
	s.alive = false
	s.settle(onEnded)
}

// lead connects, keeps the connections, and connects again, until ctx ends or
// the server is given up.
func (l *life) lead() {
	for {
		conn, err := l.attempt()
		held, event := time.Duration(0), onUnreached
		if err == nil {
			era := conn.Era()
			l.era = &era
			held, err = l.hold(conn)
			event = onLost
		} else {
			l.era = nil // asked anew the next time
		}
		if l.ctx.Err() != nil {
			return
		}
		reason := hub.AsError(err)
		if reason.Code == message.ServerUnhealthy {
			event = onUnhealthy
		}
		wait, again := l.lost(event, reason, held)
		if !again {
			return
		}
		l.closing.Wait() // it never runs twice
		if event = l.pause(wait); l.ctx.Err() != nil {
			return
		}
		l.retry(event)
	}
}

// lost brings the server, which is not connected, into the state in which it
// waits for the next attempt, and says how long; or gives it up.
func (l *life) lost(event string, reason *hub.Error, held time.Duration) (wait time.Duration, again bool) {
	s := l.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.ctx.Err() != nil {
		return 0, false
	}
	if s.afresh {
		s.afresh = false
		l.count = counter{budget: l.count.budget}
	}
	wait, then := l.count.next(time.Now(), held, reason, &s.def)
	away := hub.StateCrashed
	if s.def.Kind.Remote() {
		away = hub.StateReconnecting
	}
	if then == tryAgain {
		s.log.Warn("the server is away", "reason", reason, "retry", wait)
		s.become(away, event, reason, time.Now().Add(wait))
		return wait, true
	}
	if reason.Code == message.DeviceOffline {
		s.log.Info("the device has gone", "reason", reason) // as it does after each conversation
	} else {
		s.log.Error("the server is given up", "reason", reason)
	}
	s.alive, s.remains = false, true
	reason = l.count.last(s.key, reason, then)
	if then == notAgain && away == hub.StateCrashed {
		s.become(away, event, reason, time.Time{})
	} else {
		s.become(hub.StateFailed, onGivenUp, reason, time.Time{})
	}
	return 0, false
}

// pause waits for the next attempt, and says what has brought it about. An
// operator may bring it forward and, for a remote server, whose attempts cost
// next to nothing, a call.
func (l *life) pause(wait time.Duration) (event string) {
	t := time.NewTimer(wait)
	defer t.Stop()
	var early chan struct{}
	if def := l.definition(); def.Kind.Remote() {
		early = l.wake
	}
	select {
	case <-t.C:
		return onRetry
	case <-l.hurry:
		return byStart
	case <-l.ctx.Done():
		return ""
	case <-early:
	}
	l.mu.Lock()
	soonest := l.lastFail.Add(l.fleet.opt.Budget.Spacing)
	l.mu.Unlock()
	t.Reset(min(time.Until(soonest), wait))
	select {
	case <-t.C:
		return onRetry
	case <-l.hurry:
		return byStart
	case <-l.ctx.Done():
		return ""
	}
}

// retry has a server that crashed start again; one that reconnects does so
// already. Why it is not ready is still the reason of the last time, unless a
// person begins afresh.
func (l *life) retry(event string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() == nil && l.state == hub.StateCrashed {
		reason := l.reason
		if event != onRetry {
			reason = nil
		}
		l.become(hub.StateStarting, event, reason, time.Time{})
		l.book.add(string(hub.StateStarting))
	}
}

// attempt connects and learns what the server lists.
func (l *life) attempt() (conn *upstream.Conn, err error) {
	s := l.server
	s.mu.Lock()
	s.trying = true
	take(s.hurry) // this is the attempt that was asked for
	take(s.wake)
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
	leave, err := l.queue(l.ctx, false)
	if err != nil {
		return nil, err
	}
	defer leave()
	s.book.mark()
	conn, err = l.dial(l.ctx, "", l.together())
	if err != nil {
		return nil, err
	}
	l.listed = time.Now()
	if err := l.list(conn, hub.ListAll); err != nil {
		conn.Close(context.WithoutCancel(l.ctx))
		return nil, err
	}
	return conn, nil
}

// queue has a process that nobody waits for start when it is its turn. It is
// started at once when somebody comes who does. leave is to be called when it has
// started, and calls itself when that takes long.
func (l *life) queue(ctx context.Context, urgent bool) (leave func(), err error) {
	s := l.server
	s.mu.Lock()
	if urgent || s.waiting > 0 || s.def.Kind != hub.KindStdio {
		s.mu.Unlock()
		return func() {}, nil
	}
	turn, rush := context.WithCancel(ctx)
	s.rush = rush
	s.mu.Unlock()
	out, err := s.fleet.gate.enter(turn)
	s.mu.Lock()
	s.rush = nil
	s.mu.Unlock()
	rush()
	switch {
	case ctx.Err() != nil:
		if err == nil {
			out()
		}
		return nil, ctx.Err()
	case err != nil: // somebody waits
		return func() {}, nil
	}
	late := time.AfterFunc(turnLimit, out)
	return func() {
		late.Stop()
		out()
	}, nil
}

// Askable is what the shared connections declare to a server that may ask callers:
// all that there is to be asked. What a caller declared is not known before there
// is a caller, and a server asks nobody who did not declare it. So it is seen to
// ask, and its question goes to the caller whose call it belongs to or is refused
// by what that one declared (design D3). That is so as well where each caller that
// can be asked has a connection of its own: many servers list what asks only for
// a client that declared it, and it is the shared connection that lists.
const Askable = `{"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true}}`

// together is what is particular to the shared connections.
func (l *life) together() upstream.Options {
	s := l.server
	return upstream.Options{
		Era: l.era, Capabilities: []byte(Askable),
		Updated: func(uri string, raw []byte) { s.updated(&s.common, uri, raw) },
		Missed:  func() { s.missed(&s.common) },
	}
}

// dial opens one connection with the credentials of an owner, by the options that are given and those that all
// connections of the server have.
func (l *life) dial(ctx context.Context, owner string, opt upstream.Options) (*upstream.Conn, error) {
	s := l.server
	s.mu.Lock()
	s.starts++
	def, version, ended := s.def, s.version, ctx.Err() // it may become another one, which ends the life
	s.mu.Unlock()
	if ended != nil {
		return nil, ended
	}
	all := &s.fleet.opt
	opt.Server, opt.ClientInfo, opt.Handshake = def, all.ClientInfo, all.Budget.Handshake
	opt.Serve, opt.Network, opt.Resolve, opt.Processes = all.Serve, all.Network, all.Resolve, all.Processes
	opt.Log, opt.Note = all.Log, s.book.note
	if authorize := all.Authorize; authorize != nil {
		opt.Authorize = func(server hub.Server) transport.Authorizer { return authorize(server, owner) }
	}
	opt.ListsChanged = func(which hub.ListSet) {
		s.changes.Or(uint32(which))
		poke(s.stale)
	}
	opt.Asked = func(string) { s.asked(version) }
	if tell := all.Elicited; tell != nil {
		opt.Elicited = func(id string, raw []byte) { tell(s.key, id, raw) }
	}
	return all.Dial(ctx, opt)
}

// list asks for lists and passes them on.
func (l *life) list(conn *upstream.Conn, which hub.ListSet) error {
	s := l.server
	ctx, cancel := context.WithTimeout(l.ctx, s.fleet.opt.Budget.List)
	defer cancel()
	s.mu.Lock()
	def, ended := s.def, ctx.Err() // it may become another one, which ends the life
	s.mu.Unlock()
	if ended != nil {
		return ended
	}
	announced := hub.ListSet(s.changes.And(^uint32(which))) & which // what changes from here on is asked for again
	lists, err := conn.Lists(ctx, which)
	if err != nil {
		return err
	}
	lists.Announced = announced
	s.fleet.opt.Listed(def, lists)
	s.mu.Lock()
	defer s.mu.Unlock()
	if lists.Asked.Has(hub.ListTools) {
		s.tools = len(lists.Tools)
	}
	if which == hub.ListAll {
		s.lists++
	}
	return nil
}

// turnLimit is how long a process that starts keeps others waiting for theirs.
const turnLimit = 2 * time.Second
