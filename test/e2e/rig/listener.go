package rig

import (
	"context"
	"net"
	"sync"
)

// Listener is a listener within the process, for tests in which time is not
// real. It implements [net.Listener].
type Listener struct {
	pipe  func() (near, far net.Conn)
	conns chan net.Conn
	over  chan struct{}
	once  sync.Once
}

// NewListener returns a listener whose connections have the two ends that pipe
// makes, such as [net.Pipe].
func NewListener(pipe func() (near, far net.Conn)) *Listener {
	return &Listener{pipe: pipe, conns: make(chan net.Conn), over: make(chan struct{})}
}

// Dial connects to the listener, whatever the address; it has the form that
// [net/http.Transport] wants. It waits until the connection is accepted.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := l.pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.over:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.over) })
	return nil
}

// Addr implements [net.Listener]. Nothing listens there.
func (l *Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
