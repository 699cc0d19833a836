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
	"slices"
	"strconv"
	"time"
)

// conn is one MCP session on one TCP connection: a client of streamable HTTP without goroutines and nearly without
// allocations, so that the load generator leaves the machine to what it measures. It is not safe for concurrent use.
type conn struct {
	nc      net.Conn
	in      *bufio.Reader
	timeout time.Duration
	head    []byte // the part of a request's head that never changes, from after the method on
	session string
	out     []byte
	body    []byte
	broken  bool // an exchange failed halfway; the next one would read what is left of it
}

// httpStatusError is an answer with a status that is not a success.
type httpStatusError struct {
	status int
	body   string
}

func (e *httpStatusError) Error() string { return fmt.Sprintf("HTTP status %d: %s", e.status, e.body) }

// maxReply bounds what a broken target can make the load generator hold.
const maxReply = 256 << 20

// dialConn connects to an endpoint like http://127.0.0.1:9100/mcp. Each exchange must end within timeout. The caller
// closes the connection.
func dialConn(ctx context.Context, endpoint string, timeout time.Duration) (*conn, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("parse the endpoint: %w", err)
	}
	dialer := net.Dialer{Timeout: timeout}
	nc, err := dialer.DialContext(ctx, "tcp", target.Host)
	if err != nil {
		return nil, err
	}
	return &conn{
		nc:      nc,
		in:      bufio.NewReaderSize(nc, 32<<10),
		timeout: timeout,
		head: fmt.Appendf(nil, " %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
			"Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: %s\r\n",
			target.RequestURI(), target.Host, protocolRevision),
	}, nil
}

// close drops the connection; the session stays open at the server.
func (c *conn) close() error { return c.nc.Close() }

// end ends the session, if the server lets clients do that, and drops the connection.
func (c *conn) end() error {
	if c.session != "" && !c.broken {
		_, _ = c.roundTrip("DELETE", nil) // What was measured is not made worse by a server that cannot.
	}
	return c.close()
}

// open makes the session: initialize, then the initialized notification.
func (c *conn) open() error {
	c.session = ""
	reply, _, err := c.exchange([]byte(replyHead + `0,"method":"initialize","params":` + initializeParams + `}`))
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if !bytes.Contains(reply, []byte(`"protocolVersion"`)) {
		return fmt.Errorf("initialize: answered %.200q", reply)
	}
	if _, _, err := c.exchange([]byte(initializedNote)); err != nil {
		return fmt.Errorf("initialized notification: %w", err)
	}
	return nil
}

// exchange posts a message and returns the reply's JSON, whether it came plain or as an event, and the moment at
// which all of it had arrived. The bytes are good until the next exchange; there are none for a notification.
func (c *conn) exchange(message []byte) (reply []byte, arrived time.Time, err error) {
	head, err := c.roundTrip("POST", message)
	arrived = time.Now()
	if err != nil {
		c.broken = true
		return nil, arrived, err
	}
	if head.status < 200 || head.status > 299 {
		return nil, arrived, &httpStatusError{status: head.status, body: string(c.body[:min(len(c.body), 300)])}
	}
	if c.session == "" {
		c.session = head.session
	}
	if head.events {
		start, end := lastEvent(c.body)
		return c.body[start:end], arrived, nil
	}
	return c.body, arrived, nil
}

// roundTrip writes a request and reads the whole response, whose body is then in c.body.
func (c *conn) roundTrip(method string, message []byte) (responseHead, error) {
	out := append(append(c.out[:0], method...), c.head...)
	if c.session != "" {
		out = append(append(append(out, "Mcp-Session-Id: "...), c.session...), "\r\n"...)
	}
	out = strconv.AppendInt(append(out, "Content-Length: "...), int64(len(message)), 10)
	c.out = append(append(out, "\r\n\r\n"...), message...)
	if err := c.nc.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return responseHead{}, err
	}
	if _, err := c.nc.Write(c.out); err != nil {
		return responseHead{}, err
	}
	head, err := c.readHead()
	if err != nil {
		return head, fmt.Errorf("read the response's head: %w", err)
	}
	if err := c.readBody(head); err != nil {
		return head, fmt.Errorf("read the response's body: %w", err)
	}
	return head, nil
}

// responseHead is what a client needs to know of a response's head.
type responseHead struct {
	status  int
	length  int // of the body; -1 if the head does not say
	chunked bool
	events  bool // the body is an event stream
	session string
}

func (c *conn) readHead() (responseHead, error) {
	head := responseHead{length: -1}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return head, err
	}
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return head, fmt.Errorf("odd status line %q", line)
	}
	if head.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return head, fmt.Errorf("odd status line %q", line)
	}
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return head, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return head, nil
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if head.length, err = strconv.Atoi(string(value)); err != nil || head.length < 0 || head.length > maxReply {
				return head, fmt.Errorf("content length %q", value)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			head.chunked = bytes.EqualFold(value, []byte("chunked"))
		case bytes.EqualFold(name, []byte("Content-Type")):
			head.events = bytes.HasPrefix(value, []byte("text/event-stream"))
		case bytes.EqualFold(name, []byte("Mcp-Session-Id")) && c.session == "":
			head.session = string(value)
		}
	}
}

// readBody reads the whole body. An event stream that is not ended after its reply runs into the deadline: the
// specification wants it ended.
func (c *conn) readBody(head responseHead) error {
	c.body = c.body[:0]
	switch {
	case head.status == 204:
		return nil
	case head.chunked:
		return c.readChunks()
	case head.length >= 0:
		return c.readBytes(head.length)
	default:
		return errors.New("neither a length nor chunks: the connection could not be used again")
	}
}

func (c *conn) readChunks() error {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		digits, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte{';'})
		size, err := strconv.ParseUint(string(digits), 16, 31)
		if err != nil || len(c.body)+int(size) > maxReply {
			return fmt.Errorf("odd chunk size %q", digits)
		}
		if err := c.readBytes(int(size)); err != nil {
			return err
		}
		// Each chunk ends with a line end; after the last, empty one it is the end of the (empty) trailer.
		if _, err := c.in.Discard(len("\r\n")); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
	}
}

// readBytes appends exactly n bytes to the body.
func (c *conn) readBytes(n int) error {
	had := len(c.body)
	c.body = slices.Grow(c.body, n)[:had+n]
	_, err := io.ReadFull(c.in, c.body[had:])
	return err
}
