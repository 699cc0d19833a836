package proc

import "sync"

// census finds processes by their marks. It costs a look at every process of
// the machine; trees that end at the same time share one. The zero census is
// ready.
type census struct {
	counting sync.Mutex // held by the one that looks

	mu   sync.Mutex
	next *count // not begun, and open for all who ask
}

// count is one look.
type count struct {
	done  chan struct{}
	found map[string][]entry // read-only once done is closed
}

// bearers returns the processes that have a mark. It has seen all that lived
// throughout the call.
func (c *census) bearers(mark string) []entry {
	c.mu.Lock()
	mine, first := c.next, c.next == nil
	if first {
		mine = &count{done: make(chan struct{})}
		c.next = mine
	}
	c.mu.Unlock()
	if first {
		c.counting.Lock()
		c.mu.Lock()
		c.next = nil // who comes now wants a look that begins now
		c.mu.Unlock()
		mine.found = bearers()
		c.counting.Unlock()
		close(mine.done)
	}
	<-mine.done
	return mine.found[mark]
}
