package property_test

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pipe returns the two ends of a connection within the process. Unlike those of
// [net.Pipe] they hold what was written and not read yet, as those of a network
// do: both sides of a WebSocket may write at once before either reads.
func pipe() (near, far net.Conn) {
	a, b := &half{news: make(chan struct{})}, &half{news: make(chan struct{})}
	return newEnd(a, b), newEnd(b, a)
}

// half is one direction of a pipe.
type half struct {
	mu      sync.Mutex
	waiting []byte
	over    bool          // nothing more is written, or nobody reads
	news    chan struct{} // closed and replaced with every change
}

// held is how much is written that nobody has read.
const held = 64 << 10

func (h *half) tell() {
	close(h.news)
	h.news = make(chan struct{})
}

// read returns n < 0 if there is nothing to read yet; then the channel is closed
// when that may have changed.
func (h *half) read(p []byte) (n int, more <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(h.waiting) > 0:
		n = copy(p, h.waiting)
		h.waiting = h.waiting[n:]
		h.tell()
		return n, nil, nil
	case h.over:
		return 0, nil, io.EOF
	}
	return -1, h.news, nil
}

// write returns how much of p found room; what read says of the channel holds if
// that is not all.
func (h *half) write(p []byte) (n int, more <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return 0, nil, io.ErrClosedPipe
	}
	if n = min(len(p), held-len(h.waiting)); n > 0 {
		h.waiting = append(h.waiting, p[:n]...)
		h.tell()
	}
	return n, h.news, nil
}

func (h *half) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	h.tell()
}

// end is one end of a pipe.
type end struct {
	in, out       *half
	reads, writes deadline
	once          sync.Once
	closed        chan struct{}
}

func newEnd(in, out *half) *end {
	return &end{
		in: in, out: out, reads: deadline{over: make(chan struct{})}, writes: deadline{over: make(chan struct{})},
		closed: make(chan struct{}),
	}
}

// usable is an error once the deadline has passed, or this end was closed.
func (e *end) usable(limit *deadline) error {
	select {
	case <-e.closed:
		return net.ErrClosed
	case <-limit.passed():
		return os.ErrDeadlineExceeded
	default:
		return nil
	}
}

// wait waits for a change, or until the end is not usable.
func (e *end) wait(change <-chan struct{}, limit *deadline) {
	select {
	case <-change:
	case <-limit.passed():
	case <-e.closed:
	}
}

// Read implements [net.Conn].
func (e *end) Read(p []byte) (int, error) {
	for {
		if err := e.usable(&e.reads); err != nil {
			return 0, err
		}
		n, more, err := e.in.read(p)
		if n >= 0 {
			return n, err
		}
		e.wait(more, &e.reads)
	}
}

// Write implements [net.Conn].
func (e *end) Write(p []byte) (written int, err error) {
	for {
		if err := e.usable(&e.writes); err != nil {
			return written, err
		}
		n, more, err := e.out.write(p[written:])
		if written += n; err != nil || written == len(p) {
			return written, err
		}
		e.wait(more, &e.writes)
	}
}

// Close ends both directions. What was written can still be read.
func (e *end) Close() error {
	e.once.Do(func() {
		close(e.closed)
		e.in.end()
		e.out.end()
	})
	return nil
}

// LocalAddr implements [net.Conn].
func (e *end) LocalAddr() net.Addr { return within{} }

// RemoteAddr implements [net.Conn].
func (e *end) RemoteAddr() net.Addr { return within{} }

// SetDeadline implements [net.Conn].
func (e *end) SetDeadline(t time.Time) error {
	e.reads.set(t)
	e.writes.set(t)
	return nil
}

// SetReadDeadline implements [net.Conn].
func (e *end) SetReadDeadline(t time.Time) error {
	e.reads.set(t)
	return nil
}

// SetWriteDeadline implements [net.Conn].
func (e *end) SetWriteDeadline(t time.Time) error {
	e.writes.set(t)
	return nil
}

// within is the address of an end.
type within struct{}

func (within) Network() string { return "pipe" }
func (within) String() string  { return "pipe" }

// deadline is one that can be moved.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	over  chan struct{} // closed when it has passed
}

func (d *deadline) passed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.over
}

// set moves the deadline. Who waits already waits for the one before, unless
// that has not passed.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.over // its function is about to close it
	}
	d.timer = nil
	select {
	case <-d.over:
		d.over = make(chan struct{})
	default:
	}
	switch left := time.Until(t); {
	case t.IsZero():
	case left <= 0:
		close(d.over)
	default:
		over := d.over
		d.timer = time.AfterFunc(left, func() { close(over) })
	}
}
