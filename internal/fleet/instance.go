package fleet

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/upstream"
)

// instance is one connection of a server, and of a stdio server one process.
//
// Its load says how many calls are under way on it. A call claims a place before
// it gets the connection and releases it when it has ended; who wants to end the
// connection seals the load, from when on every claim fails. So a connection is
// never ended for want of use under a call that has just got it.
type instance struct {
	conn  *upstream.Conn
	since time.Time
	stop  func() // ends who watches it

	load   atomic.Int64  // calls under way; sealed and more once no call may begin
	last   atomic.Int64  // when a call ended on it, by the fleet's clock
	quiet  chan struct{} // closed when the last call under way has ended after seal
	misses atomic.Int32  // probes in a row that were not answered
	sick   atomic.Bool   // they are so many that another instance is to be preferred

	fault *hub.Error // why it has ended; set before it is reported

	level   string // that its server was told last; under the server's mu, as is telling
	telling bool   // it is being told another one
}

// newInstance is a connection that was made just now, at that time of the
// fleet's clock.
func newInstance(conn *upstream.Conn, now int64) *instance {
	i := &instance{conn: conn, since: time.Now(), stop: func() {}, quiet: make(chan struct{})}
	i.last.Store(now)
	return i
}

// sealed is the load of a connection on which no call may begin and none is
// under way.
const sealed = math.MinInt64

// claim takes a place for a call; false if no call may begin any more.
func (i *instance) claim() bool {
	for {
		n := i.load.Load()
		if n < 0 {
			return false
		}
		if i.load.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release gives a place back.
func (i *instance) release(now int64) {
	i.last.Store(now)
	if i.load.Add(-1) == sealed {
		close(i.quiet)
	}
}

// seal lets no further call begin.
func (i *instance) seal() {
	for {
		n := i.load.Load()
		if n < 0 || i.load.CompareAndSwap(n, sealed+n) {
			return
		}
	}
}

// sealIdle seals if no call is under way, and reports whether it has.
func (i *instance) sealIdle() bool { return i.load.CompareAndSwap(0, sealed) }

// unseal undoes sealIdle.
func (i *instance) unseal() { i.load.Store(0) }

// drained reports whether no call is under way after seal.
func (i *instance) drained() bool { return i.load.Load() == sealed }

// calls is how many calls are under way.
func (i *instance) calls() int {
	n := i.load.Load()
	if n < 0 {
		n -= sealed
	}
	return int(n)
}

// over reports whether the connection has ended.
func (i *instance) over() bool {
	select {
	case <-i.conn.Done():
		return true
	default:
		return false
	}
}

// pool is the connections of a server that calls may use. It is not changed once
// made.
type pool struct {
	members []*instance // at least one
	queue   int64       // calls under way on each from which one more is wanted; 0 for none
}

// claim takes a place on the connection with the fewest calls under way, those
// that do not answer probes last; nil if there is none to be had now.
func (s *server) claim() *instance {
	p := s.live.Load()
	if p == nil {
		return nil
	}
	for {
		var best *instance
		var least int64
		sick := false
		for _, i := range p.members {
			n := i.load.Load()
			if n < 0 || i.over() {
				continue
			}
			ill := i.sick.Load()
			if best == nil || sick && !ill || sick == ill && n < least {
				best, least, sick = i, n, ill
			}
		}
		if best == nil {
			return nil
		}
		if best.claim() {
			if p.queue > 0 && least >= p.queue {
				poke(s.more)
			}
			return best
		}
	}
}
