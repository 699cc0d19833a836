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
	// Calls are those that have a connection of it, shared or a caller's own, and
	// those that wait for one.
	Calls       int
	Connections int // shared ones that are up; 0 if it is not ready
	// Start is, of one that is not ready, the number of calls as which it counts that
	// it has to be started: as many as have another instance started once they are
	// under way on each.
	Start int
}

// Compare is negative if a call is better given to a server with this load than
// to one with the other: to the one that has less to do on each connection. A
// server that is not running has its start to do as well, and gets the call as
// soon as the others have no less: else it would be idle for as long as another
// one is not.
func (l Load) Compare(other Load) int {
	// Multiplied by the other's connections, what is on one of its own stays whole.
	each := cmp.Compare((l.Calls+l.Start)*max(other.Connections, 1), (other.Calls+other.Start)*max(l.Connections, 1))
	return cmp.Or(cmp.Compare(l.rank(), other.rank()), each, cmp.Compare(other.Start, l.Start))
}

func (l Load) rank() int {
	if l.Away != nil {
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
	l := Load{Calls: int(s.calls.Load())}
	if p := s.live.Load(); p != nil {
		for _, i := range p.members {
			if i.load.Load() >= 0 && !i.over() {
				l.Connections++
			}
		}
	}
	if l.Ready = l.Connections > 0; !l.Ready {
		if l.Away, l.Lost, l.Start = s.missing(); l.Away != nil {
			return l
		}
	}
	l.Away = s.breaker.bars(time.Now())
	return l
}

// missing is why the server is not to be had by waiting for it, or why there is
// something to wait for; and as how many calls its start counts.
func (s *server) missing() (away, lost *hub.Error, start int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.barred(); e != nil {
		return e, nil, 0
	}
	_, _, start = sizes(&s.def)
	switch s.state {
	case hub.StateFailed:
		return s.down(s.reason), nil, 0
	case hub.StateCrashed:
		if s.retry.IsZero() {
			return s.down(s.reason), nil, 0
		}
		return nil, s.down(s.reason), start
	case hub.StateReconnecting:
		return nil, s.down(s.reason), start
	}
	return nil, nil, start
}
