// Package bus carries events between the parts of one process.
//
// Delivery is in the order of publishing, at most once, and never blocks a
// publisher: a subscriber that does not keep up loses the newest events, and
// is told how many when it next receives. Nobody may rest a decision on an
// event; it says that there is something new to read at its owner.
package bus

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// Bus is a broker of [hub.Event]. The zero Bus is ready to use.
type Bus struct {
	each atomic.Int32 // subscriptions that want each event

	mu   sync.Mutex
	subs []*Subscription
}

// Subscription is one subscriber's queue.
type Subscription struct {
	bus     *Bus
	queue   chan hub.Event
	dropped atomic.Int64

	// Of the bus's mu.
	conflated bool // it does not want each event
	closed    bool
}

// Subscribe returns a subscription that holds up to size events until they
// are received. It wants each event, see [Subscription.Conflate]. The subscriber
// closes it.
func (b *Bus) Subscribe(size int) *Subscription {
	s := &Subscription{bus: b, queue: make(chan hub.Event, max(size, 1))}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs = append(b.subs, s)
	b.each.Add(1)
	return s
}

// Conflates reports whether no subscriber wants each event. Who publishes how
// something stands may then leave out what holds for a moment only, as long as
// what holds in the end is published soon.
func (b *Bus) Conflates() bool { return b.each.Load() == 0 }

// Publish gives the event to every subscriber that has room for it.
func (b *Bus) Publish(e hub.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.subs {
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

// Conflate says whether the subscriber is content from now on if publishers leave
// out what [Bus.Conflates] lets them.
func (s *Subscription) Conflate(content bool) {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.conflate(content)
}

// conflate is Conflate for whoever holds the bus's mu.
func (s *Subscription) conflate(content bool) {
	switch {
	case s.closed || s.conflated == content:
	case content:
		s.bus.each.Add(-1)
	default:
		s.bus.each.Add(1)
	}
	s.conflated = content
}

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	if s.closed {
		return
	}
	s.conflate(true)
	s.closed = true
	at := slices.Index(s.bus.subs, s)
	s.bus.subs = slices.Delete(s.bus.subs, at, at+1)
	close(s.queue)
}
