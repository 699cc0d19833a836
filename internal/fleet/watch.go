package fleet

import (
	"context"
	"strconv"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// watch tells of the end of a connection, and probes it. It returns when it has
// told, or when ctx ends.
func (s *server) watch(ctx context.Context, i *instance, ended chan<- *instance) {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	last := time.Now() // when it was looked at
	for {
		def, tuned := s.settings()
		every := longest
		if def.Health.Interval > 0 {
			every = def.Health.Interval
		}
		timer.Reset(time.Until(last.Add(every)))
		select {
		case <-ctx.Done():
			return
		case <-tuned:
			continue
		case <-i.conn.Done():
			if ctx.Err() != nil {
				return // the hub has ended it
			}
			i.fault = i.conn.Explain(i.conn.Err())
		case <-timer.C:
			if def.Health.Interval > 0 {
				i.fault = s.probe(ctx, i, &def.Health, last)
			}
			last = time.Now()
			if i.fault == nil {
				continue
			}
		}
		select {
		case ended <- i:
		case <-ctx.Done():
		}
		return
	}
}

// probe asks a connection whether it is still there, unless it has shown that
// since the last time or is busy. The error says that it has not answered for so
// long that it is of no use.
func (s *server) probe(ctx context.Context, i *instance, health *hub.Health, last time.Time) *hub.Error {
	if i.conn.Heard().After(last) {
		return s.diagnose(i, health, 0)
	}
	if i.load.Load() != 0 {
		return nil // it may be slow to answer while it works
	}
	began := time.Now()
	limit := health.Timeout
	if limit <= 0 {
		limit = probeLimit
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	err := i.conn.Probe(limited, health.Path)
	cancel()
	switch {
	case ctx.Err() != nil || i.over():
		return nil
	case err == nil || i.conn.Heard().After(began):
		return s.diagnose(i, health, 0)
	case i.load.Load() != 0 || i.last.Load() > s.fleet.clock()-int64(time.Since(began)):
		return nil // a call came in between
	}
	return s.diagnose(i, health, i.misses.Load()+1)
}

// diagnose notes how many probes in a row were missed, and says whether they are
// too many. Then no call gets the connection any more.
func (s *server) diagnose(i *instance, health *hub.Health, misses int32) *hub.Error {
	if misses == 0 && i.misses.Load() == 0 {
		return nil
	}
	most := int32(min(max(health.Misses, 0), 1000))
	if most == 0 {
		most = probeMisses
	}
	i.misses.Store(misses)
	i.sick.Store(misses >= most)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.judge()
	if misses < 2*most || !i.sealIdle() { // else a call has just begun
		return nil
	}
	return unhealthy(misses)
}

func unhealthy(misses int32) *hub.Error {
	return hub.E(message.ServerUnhealthy, nil, "count", strconv.Itoa(int(misses)))
}

// judge brings a server that is connected into the state that its connections
// are in: it is degraded when none of them answers probes. The caller holds mu.
func (s *server) judge() {
	p := s.live.Load()
	if p == nil {
		return
	}
	least := p.members[0].misses.Load()
	for _, i := range p.members {
		if !i.sick.Load() {
			if s.state == hub.StateDegraded {
				s.become(hub.StateReady, onAnswer, nil, time.Time{})
			}
			return
		}
		least = min(least, i.misses.Load())
	}
	if s.state == hub.StateReady {
		s.become(hub.StateDegraded, onMisses, unhealthy(least), time.Time{})
	}
}

// What is meant where a definition does not say.
const (
	probeLimit  = 10 * time.Second
	probeMisses = 3
)
