//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// crowd is many callers with a session and an open event stream each, who call nothing. It is as little work for the
// machine as it can be, lest that be measured: its sockets wake nobody.
type crowd struct {
	desk    *conn // posts for all of them
	members []*member
}

// member is one of a crowd.
type member struct {
	session string       // "" for HTTP with SSE, where the session ends with the stream
	stream  int          // socket of the open stream; 0 if there is none
	heard   atomic.Int64 // notifications that were read
}

// crowdOptions say who the callers are.
type crowdOptions struct {
	size      int
	sse       int    // how many of them come by HTTP with SSE
	silent    bool   // they open no streams
	subscribe string // to which resource the others are subscribed; "" for none
}

// openCrowd opens the sessions and the streams, which nobody reads as yet. end is to be called.
func openCrowd(ctx context.Context, h *hub, o crowdOptions) (c *crowd, err error) {
	c = &crowd{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open the streams of %d callers: %w", o.size, err), c.end())
		}
	}()
	if c.desk, err = dialConn(ctx, h.url, exchangeTimeout); err != nil {
		return c, err
	}
	for i := range o.size {
		m := &member{}
		c.members = append(c.members, m)
		if i < o.sse {
			if err = m.openSSE(ctx, h.url); err != nil {
				return c, err
			}
			continue
		}
		if err = c.desk.open(); err != nil {
			return c, err
		}
		m.session = c.desk.session
		if o.subscribe != "" {
			if err = c.subscribe(m, o.subscribe); err != nil {
				return c, err
			}
		}
		if o.silent {
			continue
		}
		if err = m.listen(ctx, h.url); err != nil {
			return c, err
		}
	}
	return c, nil
}

// subscribe subscribes a caller to a resource.
func (c *crowd) subscribe(m *member, uri string) error {
	c.desk.session = m.session
	reply, _, err := c.desk.exchange(fmt.Appendf(nil, replyHead+`1,"method":"resources/subscribe","params":{"uri":%q}}`, uri))
	if err == nil && !bytes.Contains(reply, []byte(`"result"`)) {
		err = fmt.Errorf("subscribing was answered %.200q", reply)
	}
	return err
}

// listen opens the stream of a session.
func (m *member) listen(ctx context.Context, endpoint string) error {
	stream, _, err := openStream(ctx, endpoint, m.session)
	if err != nil {
		return err
	}
	return m.take(stream)
}

// take takes the socket of a stream out of Go's hands, in which everything that comes would wake somebody.
func (m *member) take(stream *net.TCPConn) error {
	raw, err := stream.SyscallConn()
	if err == nil {
		var duplicated error
		err = raw.Control(func(fd uintptr) { m.stream, duplicated = syscall.Dup(int(fd)) })
		err = errors.Join(err, duplicated)
	}
	return errors.Join(err, stream.Close())
}

// readEvery is how often a crowd reads what has come.
const readEvery = 50 * time.Millisecond

// notified begins every notification.
const notified = `"method":"notifications/`

// read reads what comes to the members until ctx ends, and counts how often it has mark in it.
func (c *crowd) read(ctx context.Context, mark string) {
	buffer := make([]byte, 16<<10)
	for pause(ctx, readEvery) == nil {
		for _, m := range c.members {
			if n, err := syscall.Read(m.stream, buffer); err == nil && n > 0 {
				m.heard.Add(int64(bytes.Count(buffer[:n], []byte(mark))))
			}
		}
	}
}

// openStream sends a GET and returns what follows the response's head. Its buffers are small, as those of a client
// that expects little.
func openStream(ctx context.Context, endpoint, session string) (*net.TCPConn, *bufio.Reader, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, nil, fmt.Errorf("parse the endpoint: %w", err)
	}
	dialer := net.Dialer{Timeout: exchangeTimeout}
	nc, err := dialer.DialContext(ctx, "tcp", target.Host)
	if err != nil {
		return nil, nil, err
	}
	stream, ok := nc.(*net.TCPConn)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("%s is no TCP endpoint", target.Host), nc.Close())
	}
	in, err := awaitStream(stream, target, session)
	if err != nil {
		return nil, nil, errors.Join(err, stream.Close())
	}
	return stream, in, nil
}

func awaitStream(stream *net.TCPConn, target *url.URL, session string) (*bufio.Reader, error) {
	head := "GET " + target.RequestURI() + " HTTP/1.1\r\nHost: " + target.Host + "\r\nAccept: text/event-stream\r\n"
	if session != "" {
		head += "Mcp-Protocol-Version: " + protocolRevision + "\r\nMcp-Session-Id: " + session + "\r\n"
	}
	if err := errors.Join(stream.SetReadBuffer(4<<10), stream.SetDeadline(time.Now().Add(exchangeTimeout))); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(stream, head+"\r\n"); err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(stream, 512)
	status, err := in.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("read the response's head: %w", err)
	}
	if !strings.HasPrefix(status, "HTTP/1.1 200") {
		return nil, fmt.Errorf("a stream was answered %q", status)
	}
	for line := status; line != "\r\n"; {
		if line, err = in.ReadString('\n'); err != nil {
			return nil, fmt.Errorf("read the response's head: %w", err)
		}
	}
	return in, stream.SetDeadline(time.Time{})
}

// openSSE opens a conversation over HTTP with SSE.
func (m *member) openSSE(ctx context.Context, endpoint string) error {
	base := strings.TrimSuffix(endpoint, "/mcp")
	stream, in, err := openStream(ctx, base+"/sse", "")
	if err != nil {
		return err
	}
	path := ""
	for err == nil && path == "" {
		var line string
		line, err = in.ReadString('\n')
		if where, ok := strings.CutPrefix(line, "data: "); ok {
			path = strings.TrimSpace(where)
		}
	}
	if err := errors.Join(err, m.take(stream)); err != nil {
		return fmt.Errorf("read where to post to: %w", err)
	}
	to, err := dialConn(ctx, base+path, exchangeTimeout)
	if err != nil {
		return err
	}
	return errors.Join(to.openSSE(), to.close())
}

// openSSE is open where the answers come on another stream.
func (c *conn) openSSE() error {
	for _, message := range []string{replyHead + `0,"method":"initialize","params":` + initializeParams + `}`, initializedNote} {
		if _, _, err := c.exchange([]byte(message)); err != nil {
			return fmt.Errorf("open a session over HTTP with SSE: %w", err)
		}
	}
	return nil
}

// cut cuts all connections at once, without a word. Nobody may be reading.
func (c *crowd) cut() error {
	var failures []error
	for _, m := range c.members {
		if m.stream != 0 {
			failures = append(failures,
				syscall.SetsockoptLinger(m.stream, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1}),
				syscall.Close(m.stream))
			m.stream = 0
		}
	}
	return errors.Join(failures...)
}

// end cuts the connections and ends the sessions.
func (c *crowd) end() error {
	failures := []error{c.cut()}
	if c.desk == nil {
		return errors.Join(failures...)
	}
	for _, m := range c.members {
		if m.session == "" {
			continue
		}
		c.desk.session = m.session
		head, err := c.desk.roundTrip("DELETE", nil)
		if err == nil && head.status != 204 {
			err = fmt.Errorf("ending a session was answered %d", head.status)
		}
		if err != nil {
			failures = append(failures, err)
			break
		}
	}
	return errors.Join(append(failures, c.desk.close())...)
}

// heard is how many notifications each member has got.
func (c *crowd) heard() []int64 {
	all := make([]int64, 0, len(c.members))
	for _, m := range c.members {
		all = append(all, m.heard.Load())
	}
	return all
}

// awaitNews waits until each member has got a notification more than before.
func (c *crowd) awaitNews(ctx context.Context, before []int64) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	for i, m := range c.members {
		for m.heard.Load() == before[i] {
			if err := pause(ctx, time.Millisecond); err != nil {
				return fmt.Errorf("caller %d of %d was told nothing: %w", i+1, len(c.members), err)
			}
		}
	}
	return nil
}

// connections is how many files the hub has open, of which each connection is one.
func (h *hub) connections() (int, error) {
	open, err := os.ReadDir("/proc/" + strconv.Itoa(h.pid) + "/fd")
	return len(open), err
}

// awaitConnections waits until the hub has no more files open than that.
func (h *hub) awaitConnections(ctx context.Context, most int) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	for {
		open, err := h.connections()
		if err != nil {
			return err
		}
		if open <= most {
			return nil
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("the hub keeps %d files open, of which at most %d are not callers' who have gone: %w", open, most, err)
		}
	}
}
