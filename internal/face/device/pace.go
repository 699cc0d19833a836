package device

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// gulp is how often sound is read that goes nowhere. It comes in twenty frames a
// second from each device, and to wake up for each of them costs more than everything
// that is done with it. All devices are read at the same moments.
const gulp = 100 * time.Millisecond

// paced is a device's connection. While what comes is sound that goes nowhere, and
// nobody waits for anything else, it is read at intervals, all that has come until
// then.
type paced struct {
	net.Conn

	calm atomic.Bool   // what came last was such sound
	busy func() bool   // somebody waits for what the device says; set before anything is calm
	stir chan struct{} // holds one if it is to be read at once
	gone chan struct{} // closed with the connection
	shut sync.Once

	full  bool        // of the reader: the last read may have left something
	timer *time.Timer // of the reader
}

// wake has what has come so far read at once.
func (p *paced) wake() {
	select {
	case p.stir <- struct{}{}:
	default:
	}
}

// Read implements [net.Conn].
func (p *paced) Read(b []byte) (int, error) {
	if p.calm.Load() && !p.full && !p.busy() {
		now := time.Now()
		p.timer.Reset(now.Truncate(gulp).Add(gulp).Sub(now))
		select {
		case <-p.timer.C:
		case <-p.stir:
		case <-p.gone:
		}
	}
	n, err := p.Conn.Read(b)
	p.full = n == len(b)
	return n, err
}

// Close implements [net.Conn].
func (p *paced) Close() error {
	p.shut.Do(func() { close(p.gone) })
	return p.Conn.Close()
}

// pacer has a request's connection taken over as a paced one.
type pacer struct {
	http.ResponseWriter

	conn *paced // nil until then
}

// Hijack implements [http.Hijacker].
func (p *pacer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, both, err := http.NewResponseController(p.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	timer := time.NewTimer(gulp)
	timer.Stop()
	p.conn = &paced{Conn: conn, stir: make(chan struct{}, 1), gone: make(chan struct{}), timer: timer}
	return p.conn, both, nil
}
