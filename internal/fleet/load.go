package fleet

import (
	"cmp"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Load is how a server stands for a call that may go to it or to another one.
type Load struct {
	// Away is why no call can get the server now, nor by waiting for it: it is not
	// there, disabled, stopped, given up, not started again by itself, or its
	// breaker is open. It is nil if one may be had, perhaps after a while.
	Away *hub.Error
	// Lost is why the server is not there, where it is tried again by itself and a
	// call would wait for that; nil if it is otherwise.
	Lost  *hub.Error
	Ready bool // a call gets a connection at once
	Calls int  // under way on the shared connections
}

// Compare is negative if a call is better given to a server with this load than
// to one with the other.
func (l Load) Compare(other Load) int {
	return cmp.Or(cmp.Compare(l.rank(), other.rank()), cmp.Compare(l.Calls, other.Calls))
}

func (l Load) rank() int {
	switch {
	case l.Away != nil:
		return 2
	case !l.Ready:
		return 1
	}
	return 0
}

// Load tells how a server stands at this moment. Of one that is ready it takes no
// lock.
func (f *Fleet) Load(key string) Load {
	s := f.now.Load().byKey[key]
	if s == nil {
		return Load{Away: unknown(key)}
	}
	var l Load
	if p := s.live.Load(); p != nil {
		for _, i := range p.members {
			if n := i.load.Load(); n >= 0 && !i.over() {
				l.Ready = true
				l.Calls += int(n)
			}
		}
	}
	if !l.Ready {
		if l.Away, l.Lost = s.missing(); l.Away != nil {
			return l
		}
	}
	l.Away = s.breaker.bars(time.Now())
	return l
}

// missing is why the server is not to be had by waiting for it, or why there is
// something to wait for.
func (s *server) missing() (away, lost *hub.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.barred(); e != nil {
		return e, nil
	}
	switch s.state {
	case hub.StateFailed:
		return s.down(s.reason), nil
	case hub.StateCrashed:
		if s.retry.IsZero() {
			return s.down(s.reason), nil
		}
		return nil, s.down(s.reason)
	case hub.StateReconnecting:
		return nil, s.down(s.reason)
	}
	return nil, nil
}
