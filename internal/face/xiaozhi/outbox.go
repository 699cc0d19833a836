package xiaozhi

import (
	"sync"
)

// What a peer that does not read may leave unread.
const (
	maxUnread      = 4096
	maxUnreadBytes = 32 << 20
)

// outbox is what is to be written to a socket, in its order. One goroutine takes
// from it. Safe for concurrent use.
type outbox struct {
	mu    sync.Mutex
	queue [][]byte
	size  int
	busy  bool          // one that was taken is being written
	wake  chan struct{} // holds one if there may be something to take
	empty chan struct{} // closed when all is written; nil if nobody waits for it
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// put adds a message; false if too much is unread already.
func (o *outbox) put(raw []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) >= maxUnread || o.size+len(raw) > maxUnreadBytes {
		return false
	}
	o.queue = append(o.queue, raw)
	o.size += len(raw)
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return true
}

// take takes the next message; false if there is none. The one before is then
// written.
func (o *outbox) take() ([]byte, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = len(o.queue) > 0
	if !o.busy {
		o.queue = nil
		if o.empty != nil {
			close(o.empty)
			o.empty = nil
		}
		return nil, false
	}
	raw := o.queue[0]
	o.queue[0], o.queue = nil, o.queue[1:]
	o.size -= len(raw)
	return raw, true
}

// written is closed when all that is in it is written.
func (o *outbox) written() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.empty == nil {
		o.empty = make(chan struct{})
	}
	done := o.empty
	if len(o.queue) == 0 && !o.busy {
		close(o.empty)
		o.empty = nil
	}
	return done
}
