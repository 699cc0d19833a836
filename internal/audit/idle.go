package audit

import "sync"

// idle are the records that nobody waits for. They wake Run once for many: to be
// woken costs more than to write one. Safe for concurrent use.
type idle struct {
	bell chan struct{} // with room for one; rung when there is a first record, and when they are a batch

	mu  sync.Mutex
	ops []*op
}

// add reports whether there was room.
func (i *idle) add(o *op) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.ops) >= queueSize {
		return false
	}
	i.ops = append(i.ops, o)
	if n := len(i.ops); n == 1 || n == batchSize {
		select {
		case i.bell <- struct{}{}:
		default: // it has been rung already
		}
	}
	return true
}

// len is how many there are.
func (i *idle) len() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.ops)
}

// each takes all out, in their order.
func (i *idle) each(take func(*op)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, o := range i.ops {
		take(o)
	}
	clear(i.ops)
	i.ops = i.ops[:0]
}
