package upstream

import (
	"slices"
	"sync"
	"time"

	"github.com/toolcrib/toolcrib/internal/wire"
)

// inbox holds what came for one request until its goroutine takes it, in
// order. Notifications beyond the limits push out the oldest ones, so that a
// caller who does not read costs a bounded amount of memory; questions are kept
// up to a number, and a response always.
type inbox struct {
	own   bool          // of a request of the hub's own
	news  bool          // which listens
	ready chan struct{} // has a token when there may be something new

	mu        sync.Mutex
	items     []wire.Message
	size      int // bytes of the items
	questions int // among them
	err       error
	left      time.Time // when its goroutine went away without a response
}

// What may wait in an inbox.
const (
	inboxItems = 10_000
	inboxBytes = 4 << 20
)

func newInbox() *inbox { return &inbox{ready: make(chan struct{}, 1)} }

// put adds a message, or an error that comes instead of one. It reports false,
// and has not taken it, if nobody is going to or too many questions wait.
func (b *inbox) put(m wire.Message, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.left.IsZero() || m.Kind == wire.Request && b.questions >= maxQuestions {
		return false
	}
	if err != nil {
		b.err = err
	} else {
		b.items = append(b.items, m)
		b.size += len(m.Raw)
		if m.Kind == wire.Request {
			b.questions++
		}
		b.trim()
	}
	select {
	case b.ready <- struct{}{}:
	default:
	}
	return true
}

// trim drops the oldest notifications beyond the limits, but not what was put
// last. The caller holds mu.
func (b *inbox) trim() {
	for len(b.items) > inboxItems || b.size > inboxBytes {
		i := slices.IndexFunc(b.items[:len(b.items)-1], func(m wire.Message) bool { return m.Kind == wire.Notification })
		if i < 0 {
			return
		}
		// What stands before it are questions, which are few.
		b.size -= len(b.items[i].Raw)
		copy(b.items[1:i+1], b.items[:i])
		b.items[0] = wire.Message{}
		b.items = b.items[1:]
	}
}

// take takes the oldest message out. The caller holds mu.
func (b *inbox) take() wire.Message {
	m := b.items[0]
	b.items[0] = wire.Message{}
	b.items = b.items[1:]
	b.size -= len(m.Raw)
	if m.Kind == wire.Request {
		b.questions--
	}
	return m
}

// get returns the oldest message, an error that came instead of one, or false.
func (b *inbox) get() (m wire.Message, err error, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.items) == 0 {
		return wire.Message{}, b.err, false
	}
	return b.take(), nil, true
}

// leave is called by the goroutine of the request when it waits no longer. It
// returns the questions that nobody has taken, and put takes nothing any more.
func (b *inbox) leave() []wire.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked := slices.DeleteFunc(b.items, func(m wire.Message) bool { return m.Kind != wire.Request })
	b.items, b.size, b.questions, b.left = nil, 0, 0, time.Now()
	return asked
}

func (b *inbox) leftAt() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}
