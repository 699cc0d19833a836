package upstream

import (
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// inbox holds what came for one request until its goroutine takes it, in
// order. Notifications beyond the limits push out the oldest ones, so that a
// caller who does not read costs a bounded amount of memory; a response is
// always kept.
type inbox struct {
	own   bool          // of a request of the hub's own
	ready chan struct{} // has a token when there may be something new

	mu    sync.Mutex
	items []wire.Message
	size  int // bytes of the items
	err   error
	left  time.Time // when its goroutine went away without a response
}

// What may wait in an inbox.
const (
	inboxItems = 10_000
	inboxBytes = 4 << 20
)

func newInbox(own bool) *inbox { return &inbox{own: own, ready: make(chan struct{}, 1)} }

func (b *inbox) put(m wire.Message, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.left.IsZero() {
		return
	}
	if err != nil {
		b.err = err
	} else {
		b.items = append(b.items, m)
		b.size += len(m.Raw)
		for len(b.items) > 1 && (len(b.items) > inboxItems || b.size > inboxBytes) {
			b.drop()
		}
	}
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// drop takes the oldest message out. The caller holds mu.
func (b *inbox) drop() wire.Message {
	m := b.items[0]
	b.items[0] = wire.Message{}
	b.items = b.items[1:]
	b.size -= len(m.Raw)
	return m
}

// get returns the oldest message, an error that came instead of one, or false.
func (b *inbox) get() (m wire.Message, err error, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.items) == 0 {
		return wire.Message{}, b.err, false
	}
	return b.drop(), nil, true
}

// leave is called by the goroutine of the request when it waits no longer.
func (b *inbox) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items, b.size, b.left = nil, 0, time.Now()
}

func (b *inbox) leftAt() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}
