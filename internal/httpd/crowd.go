package httpd

import (
	"net"
	"sync"
)

// Crowd returns a listener that holds so many connections at most: one more is closed
// at once, so that those who may come in, and try again, do not wait behind those who
// only hold a connection.
func Crowd(ln net.Listener, most int) net.Listener {
	return &crowd{Listener: ln, room: make(chan struct{}, most)}
}

type crowd struct {
	net.Listener
	room chan struct{} // holds one for each connection
}

// Accept implements [net.Listener].
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case c.room <- struct{}{}:
			return &counted{Conn: conn, leave: sync.OnceFunc(func() { <-c.room })}, nil
		default:
			_ = conn.Close() // nobody is there to be told
		}
	}
}

// counted is a connection that takes a place until it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
