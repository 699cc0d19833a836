package fleet

import (
	"slices"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// chores does what is due for a server that is connected: as many connections as
// there are to be, its end if nobody needs it, a list that has become old. It
// returns how long there is nothing to do if nothing happens.
func (l *life) chores(def *hub.Server) time.Duration {
	return min(l.size(def), l.shrink(def), l.unused(def), l.renew(def))
}

// longest is for ever, to a timer.
const longest = 24 * time.Hour

// size sees to it that there are neither too few connections nor more than there
// may be.
func (l *life) size(def *hub.Server) time.Duration {
	least, most, _ := sizes(def)
	if len(l.members) > most {
		over := slices.Clone(l.members[most:])
		l.dismiss(over, drain(def))
	}
	switch need := len(l.members) < least || l.wanted && len(l.members) < most; {
	case !need:
		l.wanted = false
	case l.growing:
	default:
		if wait := time.Until(l.soonest); wait > 0 {
			return wait
		}
		l.grow()
	}
	return longest
}

// shrink ends connections that are not needed any more.
func (l *life) shrink(def *hub.Server) time.Duration {
	least, _, _ := sizes(def)
	rest, now := def.IdleStop, l.fleet.clock()
	if rest <= 0 {
		rest = surplusLimit
	}
	next := longest
	var over []*instance
	// The first one stays: it has the subscriptions.
	for _, i := range slices.Backward(l.members[1:]) {
		if len(l.members)-len(over) <= least {
			break
		}
		switch left := time.Duration(i.last.Load() + int64(rest) - now); {
		case left > 0:
			next = min(next, left)
		case i.sealIdle():
			over = append(over, i)
		default:
			next = min(next, rest)
		}
	}
	l.dismiss(over, 0)
	return next
}

// dismiss ends connections that there are too many of.
func (l *life) dismiss(over []*instance, patience time.Duration) {
	if len(over) == 0 {
		return
	}
	l.members = slices.DeleteFunc(l.members, func(i *instance) bool { return slices.Contains(over, i) })
	s := l.server
	s.mu.Lock()
	if l.ctx.Err() == nil {
		l.publish()
		s.judge()
		s.tellAll()
	}
	s.mu.Unlock()
	for _, i := range over {
		l.retire(i, patience)
	}
}

// unused ends the life of a server that nobody has needed for long enough.
func (l *life) unused(def *hub.Server) time.Duration {
	if def.AutoStart || def.IdleStop <= 0 {
		return longest
	}
	s := l.server
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.held() || l.ctx.Err() != nil:
		return longest // until that has changed
	case s.waiting > 0:
		return def.IdleStop
	}
	last, all := s.used, append(s.apiece(), l.members...)
	for _, i := range all {
		last = max(last, i.last.Load())
	}
	if left := time.Duration(last + int64(def.IdleStop) - s.fleet.clock()); left > 0 {
		return left
	}
	for n, i := range all {
		if !i.sealIdle() { // a call is under way
			for _, j := range all[:n] {
				j.unseal()
			}
			return def.IdleStop
		}
	}
	s.want = wantIdle
	s.end(onUnused, 0)
	return longest
}

// renew asks for the lists of a server that would not tell that they changed.
func (l *life) renew(def *hub.Server) time.Duration {
	if def.ListTTL <= 0 || l.listing {
		return longest
	}
	which := unannounced(l.members[0].conn)
	if which == 0 {
		return longest
	}
	if left := time.Until(l.listed.Add(def.ListTTL)); left > 0 {
		return left
	}
	l.listed = time.Now()
	l.relist(which, func(err error) {
		if err != nil && l.ctx.Err() == nil {
			l.log.Warn("what the server has could not be listed again", "lists", which, "error", err)
		}
	})
	return longest
}

// unannounced are the lists that a server has and would not tell of when they
// change. One that is not heard, or has no tools to tell of, is asked for all.
func unannounced(conn *upstream.Conn) hub.ListSet {
	if !conn.Announces() {
		return hub.ListAll
	}
	var which hub.ListSet
	has := conn.Hello().Capabilities
	if has.Resources && !has.ResourcesListChanged {
		which |= hub.ListResources | hub.ListTemplates
	}
	if has.Prompts && !has.PromptsListChanged {
		which |= hub.ListPrompts
	}
	return which
}

// drain is how long calls under way have before the connection of a definition
// ends that is not in force any more.
func drain(def *hub.Server) time.Duration { return min(def.Timeout, drainLimit) }

const drainLimit = 10 * time.Second

// surplusLimit is how long more connections than the least are kept without a
// call, where nothing is said of that.
const surplusLimit = time.Minute
