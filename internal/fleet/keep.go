package fleet

import (
	"context"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/protocol"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// keep connects a guest, once the channel is closed if there is one, and keeps
// its own connection until nobody needs that or ctx, which ends with the life,
// ends. What ended by itself is connected again for calls that wait, and for
// subscriptions within the budget. Nothing of the connection is left when keep
// returns.
func (l *life) keep(ctx context.Context, g *guest, after <-chan struct{}) {
	s := l.server
	if after != nil {
		select {
		case <-after:
		case <-ctx.Done():
		}
	}
	count := counter{budget: s.fleet.opt.Budget}
	for ctx.Err() == nil {
		held, reason := l.entertain(ctx, g)
		if reason == nil || ctx.Err() != nil || !l.mend(ctx, g, &count, held, reason) {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g.leave()
	g.running, g.ending = false, false
	close(g.gone)
	g.tell()
	s.sweep(g)
	s.retune() // the server may not be needed any more
}

// entertain connects a guest and keeps the connection. It returns how long that
// has held and why it has ended, without a reason if the hub has ended it.
func (l *life) entertain(ctx context.Context, g *guest) (held time.Duration, reason *hub.Error) {
	i, reason := l.receive(ctx, g)
	if reason != nil {
		return 0, reason
	}
	timer := time.NewTimer(longest)
	defer timer.Stop()
	for {
		rest, tuned := l.spare(g, i)
		if rest <= 0 { // nobody needs it
			l.shut(i, 0)
			return 0, nil
		}
		timer.Reset(rest)
		select {
		case <-ctx.Done():
			l.shut(i, l.farewell(g))
			return 0, nil
		case <-i.conn.Done():
			if ctx.Err() != nil {
				continue
			}
			reason := i.conn.Explain(i.conn.Err())
			l.miss(g, reason)
			l.shut(i, 0)
			return max(time.Since(i.since), 1), reason
		case note := <-g.notes:
			i.conn.Tell(ctx, note.method, note.raw)
		case <-tuned:
		case <-timer.C:
		}
	}
}

// settleLimit is how long a server may ask a caller whom it has just got to know
// before the first call goes on, of whose own time that is a quarter at most: a
// person who is asked may take longer.
const settleLimit = 5 * time.Second

// receive makes the guest's connection, has calls use it unless ctx has ended,
// and tells those who wait what came of it.
func (l *life) receive(ctx context.Context, g *guest) (*instance, *hub.Error) {
	s := l.server
	s.mu.Lock()
	owner := g.owner
	take(g.wake)           // this is the attempt that was asked for
	for len(g.notes) > 0 { // what was told before needs no telling to a server that has asked nothing yet
		<-g.notes
	}
	s.mu.Unlock()
	opt := upstream.Options{
		Capabilities: g.caller.Capabilities, Caller: g.caller.Exchange,
		Updated: func(uri string, raw []byte) { s.updated(&g.board, uri, raw) },
		Missed:  func() { s.missed(&g.board) },
	}
	if owner == "" {
		legacy := protocol.Legacy
		opt.Era = &legacy
	} else if !g.caller.Own() {
		opt.Capabilities = []byte(Askable)
	}
	conn, err := l.dial(ctx, owner, opt)
	level := ""
	if err == nil {
		level = s.greet(ctx, conn)
		def, _ := s.settings()
		limit := settleLimit
		if def.Timeout > 0 {
			limit = min(limit, def.Timeout/4)
		}
		settled, cancel := context.WithTimeout(ctx, limit)
		conn.Settle(settled)
		cancel()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := hub.AsError(err); e != nil {
		if ctx.Err() != nil {
			return nil, e // of no call's concern: whoever waits now needs another attempt
		}
		g.tries++
		g.reason = e
		s.book.add("warning: a connection of a caller's own did not come about: " + e.Text(message.English).String())
		g.tell()
		return nil, e
	}
	g.tries++
	g.reason = nil
	i := newInstance(conn, s.fleet.clock())
	if ctx.Err() == nil {
		s.place(&g.board, i)
		g.tell()
		s.tellAll()
		i.level = level
		s.relevel(i)
	}
	return i, nil
}

// spare is how long the guest's connection is kept if it is not used, and a
// channel that is closed when that has to be looked at again. If it is not to be
// kept, no call gets it any more.
func (l *life) spare(g *guest, i *instance) (time.Duration, <-chan struct{}) {
	s := l.server
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.def.IdleStop
	if rest <= 0 || len(g.topics) > 0 || g.ending {
		return longest, s.tuned // until that has changed
	}
	left := time.Duration(i.last.Load() + int64(rest) - s.fleet.clock())
	switch {
	case left > 0:
		return left, s.tuned
	case g.waiting > 0, !i.sealIdle(): // a call is coming or under way
		return rest, s.tuned
	}
	g.ending = true
	s.withdraw(g)
	s.tellAll()
	return 0, nil
}

// farewell says how long the calls under way on a guest's connection have,
// which is to end, and gives no call the connection any more.
func (l *life) farewell(g *guest) (patience time.Duration) {
	s := l.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.withdraw(g)
	s.tellAll()
	switch {
	case l.ctx.Err() != nil:
		return s.patience
	case g.grace:
		return drain(&s.def)
	}
	return 0
}

// miss takes a guest's connection that has ended out of what calls use.
func (l *life) miss(g *guest, reason *hub.Error) {
	s := l.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.losses++
	g.reason = reason
	s.withdraw(g)
	g.tell()
	s.tellAll()
}

// mend waits until a guest is to be connected again, and reports whether it
// is: for its subscriptions as the budget has it, for a call that waits at once,
// but for the spacing of attempts.
func (l *life) mend(ctx context.Context, g *guest, count *counter, held time.Duration, reason *hub.Error) bool {
	s := l.server
	now := time.Now()
	s.mu.Lock()
	wait, then := count.next(now, held, reason, &s.def)
	if len(g.topics) == 0 || then != tryAgain {
		wait = s.fleet.opt.Budget.Spacing
	}
	if held > 0 {
		s.book.add("warning: a connection of a caller's own has ended: " + reason.Text(message.English).String())
	}
	if g.waiting == 0 {
		take(g.wake)
	}
	s.mu.Unlock()
	s.log.Warn("a caller's own connection is away", "reason", reason)
	t := time.NewTimer(wait)
	defer t.Stop()
	early := now.Add(min(wait, s.fleet.opt.Budget.Spacing))
	for {
		select {
		case <-ctx.Done():
			return false
		case <-g.wake:
			t.Reset(time.Until(early))
		case <-t.C:
			s.mu.Lock()
			defer s.mu.Unlock()
			return g.waiting > 0 || len(g.topics) > 0 && then == tryAgain
		}
	}
}

// disband ends the guests' connections with the life, which has none of its own
// any more, and waits until they have ended.
func (l *life) disband() {
	s := l.server
	s.mu.Lock()
	if l.ctx.Err() == nil { // it was given up
		s.patience = drain(&s.def)
		s.cut()
	}
	s.present = nil
	s.mu.Unlock()
	l.hosting.Wait()
}
