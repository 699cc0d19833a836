package mcp

import (
	"context"
	"errors"
	"sync"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// streams are the conversations on streams that are open at a door.
type streams struct {
	mu       sync.Mutex
	open     map[*stream]struct{}
	byID     map[string]*stream // those that have one
	attached int                // those of hub.DoorStdio
	changed  chan struct{}      // closed and replaced when attached has changed
	closed   bool               // no more are opened
	all      sync.WaitGroup
}

func newStreams() streams {
	return streams{open: make(map[*stream]struct{}), byID: make(map[string]*stream), changed: make(chan struct{})}
}

// errStopping ends what is still open when the hub's patience is over.
var errStopping = errors.New("the hub is stopping")

// Attached returns how many clients that started "toolcrib stdio" are
// connected. The channel is closed when that number has changed.
func (d *Door) Attached() (open int, changed <-chan struct{}) {
	d.streams.mu.Lock()
	defer d.streams.mu.Unlock()
	return d.streams.attached, d.streams.changed
}

// Close ends the conversations on streams, and refuses new ones. Each is ended
// when the requests under way in it have been answered, and at the end of ctx
// in any case; none takes a new request meanwhile. Close returns when all have
// ended. Plain HTTP requests are not its concern: the listener waits for them.
func (d *Door) Close(ctx context.Context) error {
	d.streams.mu.Lock()
	d.streams.closed = true
	for s := range d.streams.open {
		s.leave()
	}
	d.streams.mu.Unlock()

	gone := make(chan struct{})
	go func() {
		d.streams.all.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
	}
	d.streams.mu.Lock()
	for s := range d.streams.open {
		s.cancel(errStopping)
	}
	d.streams.mu.Unlock()
	<-gone     // what each stream still does is bounded
	return nil // a client that does not end is no failure of ours
}

// enter adds a stream to those that are open; leave takes it out.
func (d *Door) enter(s *stream) *hub.Error {
	d.streams.mu.Lock()
	defer d.streams.mu.Unlock()
	if d.streams.closed {
		return hub.E(message.ShuttingDown, nil)
	}
	d.streams.open[s] = struct{}{}
	if s.id != "" {
		d.streams.byID[s.id] = s
	}
	d.streams.all.Add(1)
	d.streams.count(s, 1)
	return nil
}

func (d *Door) leave(s *stream) {
	d.streams.mu.Lock()
	defer d.streams.mu.Unlock()
	delete(d.streams.open, s)
	delete(d.streams.byID, s.id)
	d.streams.count(s, -1)
	d.streams.all.Done()
}

// count keeps account of a stream that came or went. mu is held.
func (l *streams) count(s *stream, n int) {
	if s.from.Principal.Door == hub.DoorStdio {
		l.attached += n
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

// named returns the stream of HTTP with SSE that has the id.
func (d *Door) named(id string) (*stream, bool) {
	d.streams.mu.Lock()
	defer d.streams.mu.Unlock()
	s, ok := d.streams.byID[id]
	return s, ok
}
