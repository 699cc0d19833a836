//go:build linux

package soak

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// cord is one side of a connection that can be left half-open: nothing is read or
// written any more, and the other side is not told.
type cord struct {
	net.Conn

	frozen, gone chan struct{}
	freezing     sync.Once
	closing      sync.Once
}

func newCord(conn net.Conn) *cord {
	return &cord{Conn: conn, frozen: make(chan struct{}), gone: make(chan struct{})}
}

// freeze leaves the connection as it is, until it is closed.
func (c *cord) freeze() { c.freezing.Do(func() { close(c.frozen) }) }

func (c *cord) isFrozen() bool {
	select {
	case <-c.frozen:
		return true
	default:
		return false
	}
}

// Read implements [net.Conn].
func (c *cord) Read(b []byte) (int, error) {
	n, err := 0, error(nil)
	if !c.isFrozen() {
		n, err = c.Conn.Read(b)
	}
	if c.isFrozen() {
		<-c.gone
		return 0, net.ErrClosed
	}
	return n, err
}

// Write implements [net.Conn].
func (c *cord) Write(b []byte) (int, error) {
	if c.isFrozen() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// Close implements [net.Conn].
func (c *cord) Close() error {
	c.closing.Do(func() { close(c.gone) })
	return c.Conn.Close()
}

// cordListener takes connections as cords.
type cordListener struct{ net.Listener }

func (l cordListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newCord(conn), nil
}

// cordKey has the cord of a request in its context.
type cordKey struct{}

func withCord(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, cordKey{}, conn)
}

func cordOf(r *http.Request) *cord {
	c, _ := r.Context().Value(cordKey{}).(*cord)
	return c
}

// cordDialler dials connections as cords, and knows the last.
type cordDialler struct {
	mu   sync.Mutex
	last *cord
	pool *http.Transport
}

func newCordDialler() *cordDialler {
	d := &cordDialler{}
	d.pool = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := newCord(conn)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.last = c
		return c, nil
	}}
	return d
}

func (d *cordDialler) cord() *cord {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}
