// Package bus carries events between the parts of one process.
//
// Delivery is in the order of publishing, at most once, and never blocks a
// publisher: a subscriber that does not keep up loses the newest events, and
// is told how many when it next receives. Nobody may rest a decision on an
// event; it says that there is something new to read at its owner.
package bus

import (
	"sync"
	"sync/atomic"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Bus is a broker of [hub.Event]. The zero Bus is ready to use.
type Bus struct {
	mu   sync.Mutex
	subs map[*Subscription]struct{}
}

// Subscription is one subscriber's queue.
type Subscription struct {
	bus     *Bus
	queue   chan hub.Event
	dropped atomic.Int64
}

// Subscribe returns a subscription that holds up to size events until they
// are received. The subscriber closes it.
func (b *Bus) Subscribe(size int) *Subscription {
	s := &Subscription{bus: b, queue: make(chan hub.Event, max(size, 1))}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs == nil {
		b.subs = make(map[*Subscription]struct{})
	}
	b.subs[s] = struct{}{}
	return s
}

// Publish gives the event to every subscriber that has room for it.
func (b *Bus) Publish(e hub.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subs {
		select {
		case s.queue <- e:
		default:
			s.dropped.Add(1)
		}
	}
}

// C is where the events come; it is closed by [Subscription.Close].
func (s *Subscription) C() <-chan hub.Event { return s.queue }

// Dropped returns how many events were lost since it was last asked.
func (s *Subscription) Dropped() int64 { return s.dropped.Swap(0) }

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	if _, ok := s.bus.subs[s]; ok {
		delete(s.bus.subs, s)
		close(s.queue)
	}
}
