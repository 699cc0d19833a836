package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// growth is what came of connecting one more instance.
type growth struct {
	conn  *upstream.Conn
	level string // that it was told
	err   error
}

// hold keeps a server that is connected: it hands out the connections, makes
// more and fewer of them as they are used, and asks for the lists that have
// changed, until the last connection has ended by itself or the life ends. It
// says how long that one has held, and why it has ended. All of them are being
// closed then.
func (l *life) hold(first *upstream.Conn) (held time.Duration, err error) {
	up, down := context.WithCancel(l.ctx)
	defer down()
	l.up, l.members, l.ended, l.grown = up, nil, make(chan *instance), make(chan growth)
	l.growing, l.wanted, l.soonest = false, false, time.Time{}
	l.listing, l.relisted = false, make(chan struct{})
	defer l.leave()
	take(l.more)
	l.admit(first, l.greet(l.up, first))
	// A server that announces a change with every list would keep both sides
	// busy for ever.
	var quiet <-chan time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		def, tuned := l.settings()
		if l.ctx.Err() == nil {
			timer.Reset(l.chores(&def))
		}
		stale, asks := l.stale, l.asks
		if l.listing { // one list after the other
			stale, asks = nil, nil
		}
		if quiet != nil {
			stale = nil
		}
		select {
		case <-l.ctx.Done():
			return 0, l.ctx.Err()
		case i := <-l.ended:
			if l.lose(i); len(l.members) == 0 {
				return max(time.Since(i.since), 1), i.fault
			}
		case g := <-l.grown:
			l.growing = false
			if g.err != nil {
				l.stunt("one more connection did not come about", 0, hub.AsError(g.err))
			} else {
				l.wanted = false // what calls wanted before it was there
				take(l.more)
				l.admit(g.conn, g.level)
			}
		case <-l.more:
			l.wanted = true
		case <-tuned:
		case <-timer.C:
		case <-quiet:
			quiet = nil
		case <-l.relisted:
			l.listing = false
		case done := <-asks:
			l.relist(hub.ListAll, func(err error) {
				if l.ctx.Err() == nil {
					done <- err
				}
				close(done) // without an answer if the life has ended
			})
		case <-stale:
			// Nothing is left if everything was asked for meanwhile.
			if which := hub.ListSet(l.changes.Load()); which != 0 {
				quiet = time.After(listSpacing)
				l.relist(which, func(err error) {
					if err != nil && l.ctx.Err() == nil {
						l.log.Warn("what has changed could not be listed", "lists", which, "error", err)
					}
				})
			}
		}
	}
}

// relist asks for lists of a server that is connected, and tells then how it
// went. A server may be slow to list while it works, so that nothing waits for
// it. The old lists stand until the new ones are here.
func (l *life) relist(which hub.ListSet, then func(err error)) {
	if l.listing = true; which == hub.ListAll {
		l.listed = time.Now()
	}
	conn, up, relisted := l.members[0].conn, l.up, l.relisted
	l.closing.Go(func() {
		then(l.list(conn, which))
		select {
		case relisted <- struct{}{}:
		case <-up.Done():
		}
	})
}

// leave has nobody get a connection any more, and ends those that are left.
func (l *life) leave() {
	s := l.server
	s.mu.Lock()
	s.close()
	patience := time.Duration(0)
	if l.ctx.Err() != nil {
		if s.state != hub.StateStopping {
			s.become(hub.StateStopping, byShutdown, nil, time.Time{})
		}
		patience = s.patience
	}
	s.mu.Unlock()
	for _, i := range l.members {
		l.retire(i, patience)
	}
	l.members = nil
}

// settings is the definition in force, and a channel that is closed when there
// is something else to go by.
func (s *server) settings() (hub.Server, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.def, s.tuned
}

// admit adds a connection to those that calls may use.
func (l *life) admit(conn *upstream.Conn, level string) {
	s := l.server
	ctx, stop := context.WithCancel(l.up)
	i := newInstance(conn, s.fleet.clock())
	i.stop = stop
	l.members = append(l.members, i)
	l.closing.Go(func() { s.watch(ctx, i, l.ended) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.ctx.Err() != nil {
		return // leave ends it
	}
	l.publish()
	if len(l.members) == 1 {
		s.protocol, s.info = conn.Protocol(), conn.Info()
		s.legacy = conn.Era() == protocol.Legacy
		s.reckon()
		l.revive()
		s.become(hub.StateReady, onConnected, nil, time.Time{})
		s.log.Info("ready", "tools", s.tools, "protocol", s.protocol)
	} else {
		s.book.add(fmt.Sprintf("%d connections", len(l.members)))
		s.judge()
		s.tellAll()
	}
	i.level = level
	s.relevel(i)
}

// relevel tells a connection the log level, in the background, unless it was told
// that one: one level after the other, so that the one that counts is the last.
// The caller holds mu.
func (s *server) relevel(i *instance) {
	if i.telling || i.level == s.level {
		return
	}
	i.telling = true
	s.work.Go(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i.level != s.level && !i.over() {
			level := s.level
			s.mu.Unlock()
			s.tell(context.Background(), i.conn, level)
			s.mu.Lock()
			i.level = level
		}
		i.telling = false
	})
}

// publish has calls use the connections that there are. The caller holds mu, and
// the life has not ended.
func (l *life) publish() {
	if len(l.members) == 0 {
		l.close()
		return
	}
	p := &pool{members: slices.Clone(l.members)}
	if _, most, queue := sizes(&l.def); len(p.members) < most {
		p.queue = int64(queue)
	}
	l.live.Store(p)
	l.place(&l.common, p.members[0])
	l.notify()
}

// close has no call use the shared connections any more. The caller holds mu.
func (s *server) close() {
	s.live.Store(nil)
	s.place(&s.common, nil)
}

// sizes are the bounds of a definition: how many connections at least and at
// most, and the calls on each from which there is to be one more. A server of
// this program is there once, and so is a device.
func sizes(def *hub.Server) (least, most, queue int) {
	if def.Kind == hub.KindBuiltin || def.Kind == hub.KindDevice {
		return 1, 1, 1
	}
	least = max(def.Instances.Min, 1)
	return least, max(def.Instances.Max, least), max(def.Instances.Queue, 1)
}

// lose takes a connection that has ended out of those that calls use. The calls
// under way on it end with it, and no other.
func (l *life) lose(i *instance) {
	at := slices.Index(l.members, i)
	if at < 0 {
		return // it was being closed anyway
	}
	l.members = slices.Delete(l.members, at, at+1)
	s := l.server
	s.mu.Lock()
	s.losses++
	if l.ctx.Err() == nil {
		l.publish()
		s.judge()
	}
	s.mu.Unlock()
	l.retire(i, 0)
	if len(l.members) > 0 {
		l.stunt("a connection has ended", max(time.Since(i.since), 1), i.fault)
	}
}

// stunt accounts for a connection that has ended, or did not come about, while
// there are others: the next one has to wait as if it were the only one.
func (l *life) stunt(what string, held time.Duration, reason *hub.Error) {
	s := l.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.ctx.Err() != nil {
		return
	}
	now := time.Now()
	wait, then := l.count.next(now, held, reason, &s.def)
	switch then {
	case tryAgain:
	case notAgain:
		wait = forever
	case spent, inVain: // the others go on, and it may be another matter later
		wait = max(s.fleet.opt.Budget.Window, s.fleet.opt.Budget.Ceiling)
	}
	l.soonest = now.Add(wait)
	s.log.Warn("the server has fewer connections than it is to have", "because", what, "left", len(l.members), "reason", reason, "retry", wait)
	s.book.add(fmt.Sprintf("warning: %s, %d are left: %s", what, len(l.members), reason.Text(message.English)))
	s.tellAll()
}

// retire ends a connection, in the background. The calls under way on it have so
// long to end.
func (l *life) retire(i *instance, patience time.Duration) {
	i.stop()
	i.seal()
	l.closing.Go(func() { l.shut(i, patience) })
}

// shut ends a connection that calls do not get any more. Those under way have so
// long to end.
func (l *life) shut(i *instance, patience time.Duration) {
	i.seal()
	if patience > 0 && !i.drained() {
		t := time.NewTimer(patience)
		defer t.Stop()
		select {
		case <-i.quiet:
		case <-t.C:
		case <-i.conn.Done():
		case <-l.hard.Done():
		}
	}
	i.conn.Close(context.WithoutCancel(l.ctx))
}

// grow connects one more instance.
func (l *life) grow() {
	urgent := l.wanted
	l.growing, l.wanted = true, false
	up, grown := l.up, l.grown
	l.closing.Go(func() {
		var g growth
		leave, err := l.queue(up, urgent)
		if err != nil {
			return
		}
		defer leave()
		if g.conn, g.err = l.dial(up, "", l.together()); g.err == nil {
			g.level = l.greet(up, g.conn)
		}
		select {
		case grown <- g:
		case <-up.Done():
			if g.conn != nil {
				g.conn.Close(context.WithoutCancel(up))
			}
		}
	})
}

// greet tells a new connection the log level, and says which.
func (s *server) greet(ctx context.Context, conn *upstream.Conn) string {
	s.mu.Lock()
	level := s.level
	s.mu.Unlock()
	if level != "" {
		s.tell(ctx, conn, level)
	}
	return level
}

// setLevel has all connections told another log level.
func (s *server) setLevel(level string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.level == level {
		return
	}
	s.level = level
	all := s.apiece()
	if p := s.live.Load(); p != nil {
		all = append(all, p.members...)
	}
	for _, i := range all {
		s.relevel(i)
	}
}

func (s *server) tell(ctx context.Context, c *upstream.Conn, level string) {
	ctx, cancel := context.WithTimeout(ctx, levelLimit)
	defer cancel()
	if err := c.SetLevel(ctx, level); err != nil {
		s.log.Debug("the log level was not set", "error", err)
	}
}

// forever is longer than the hub runs.
const forever = 100 * 365 * 24 * time.Hour

// listSpacing is the least time between two lists of a connected server.
const listSpacing = time.Second

// levelLimit bounds telling a server the log level; it may ignore it as well.
const levelLimit = 5 * time.Second
