package gateway

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// Limits of what waits for one reader.
const (
	queueLength = 256
	queueBytes  = 256 << 10
)

// queue holds messages for a reader who takes them at a pace of its own. Who
// puts one in never waits, and a reader who takes none costs a bounded amount of
// memory. The zero value is an empty queue. Safe for concurrent use.
type queue struct {
	mu      sync.Mutex
	waiting []queued
	bytes   int
	dropped uint64
	news    chan struct{} // closed when there is something; nil if nobody waits
}

// queued is a message in a queue. Of two with the same key, unless that is "",
// the newer one says all that the older one did.
type queued struct {
	raw []byte
	key string
}

// put adds a message, or puts it in the place of one that has the same key. The
// bytes are kept, and nobody may change them. Beyond the limits the oldest
// message with a key is dropped, and if there is none the oldest; the new one
// itself never is.
func (q *queue) put(raw []byte, key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := -1
	if key != "" {
		at = slices.IndexFunc(q.waiting, func(m queued) bool { return m.key == key })
	}
	q.bytes += len(raw)
	if at >= 0 {
		q.bytes -= len(q.waiting[at].raw)
		q.waiting[at].raw = raw
	} else {
		q.waiting = append(q.waiting, queued{raw, key})
		at = len(q.waiting) - 1
	}
	for len(q.waiting) > 1 && (len(q.waiting) > queueLength || q.bytes > queueBytes) {
		at = q.drop(at)
	}
	if q.news != nil {
		close(q.news)
		q.news = nil
	}
}

// drop drops one message, but not the one at spare, and returns where that is
// then. mu is held, and there are two at least.
func (q *queue) drop(spare int) int {
	oldest := 0
	if spare == 0 {
		oldest = 1
	}
	for i, m := range q.waiting {
		if m.key != "" && i != spare {
			oldest = i
			break
		}
	}
	q.bytes -= len(q.waiting[oldest].raw)
	q.waiting = slices.Delete(q.waiting, oldest, oldest+1)
	q.dropped++
	if oldest < spare {
		spare--
	}
	return spare
}

// forget takes the messages out whose keys are such.
func (q *queue) forget(such func(key string) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(m queued) bool {
		gone := m.key != "" && such(m.key)
		if gone {
			q.bytes -= len(m.raw)
		}
		return gone
	})
}

// take returns the oldest message. If there is none, it returns a channel that
// is closed when there is one.
func (q *queue) take() (raw []byte, more <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		if q.news == nil {
			q.news = make(chan struct{})
		}
		return nil, q.news
	}
	raw = q.waiting[0].raw
	q.bytes -= len(raw)
	if q.waiting = slices.Delete(q.waiting, 0, 1); len(q.waiting) == 0 {
		q.waiting = nil // most callers are told something rarely
	}
	return raw, nil
}

// next waits for a message and takes it. It reports false once ctx has ended or
// closed is closed.
func (q *queue) next(ctx context.Context, closed <-chan struct{}) ([]byte, bool) {
	for {
		raw, more := q.take()
		if more == nil {
			return raw, true
		}
		select {
		case <-ctx.Done():
			return nil, false
		case <-closed:
			return nil, false
		case <-more:
		}
	}
}

// lost is how many messages were dropped so far.
func (q *queue) lost() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// together is how many callers are told something before others have their turn.
const together = 8

// yield is called before the i-th of many callers is told something. Each wakes
// the goroutine that writes to it: all of them at once would be in the way of
// every call for as long as they take.
func yield(i int) {
	if i%together == together-1 {
		runtime.Gosched()
	}
}
