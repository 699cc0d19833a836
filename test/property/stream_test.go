package property_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// socket is the way of a WebSocket.
type socket struct {
	c    *client
	conn *websocket.Conn
}

func (s *socket) open() error {
	conn, _, err := websocket.Dial(s.c.ctx, "http://hub/ws/mcp", &websocket.DialOptions{HTTPClient: s.c.run.house.client})
	if err != nil {
		return err
	}
	conn.SetReadLimit(-1)
	s.conn = conn
	s.c.work.Go(func() {
		for {
			_, raw, err := conn.Read(s.c.ctx)
			if err != nil {
				s.c.cutOff(err)
				return
			}
			s.c.take(raw, nil)
		}
	})
	return nil
}

func (s *socket) send(raw []byte, req *request) {
	if err := s.conn.Write(s.c.ctx, websocket.MessageText, raw); err != nil && req != nil {
		s.c.lose(req)
	}
}

func (s *socket) abort(req *request) {
	s.c.notify("notifications/cancelled", `"requestId":`+req.id)
}

func (s *socket) told() bool { return true }

func (s *socket) close(politely bool) {
	if politely {
		_ = s.conn.Close(websocket.StatusNormalClosure, "")
	}
	_ = s.conn.CloseNow()
}

// sse is the way of HTTP with SSE.
type sse struct {
	c    *client
	post string
	end  func() error
}

func (s *sse) open() error {
	req, err := http.NewRequestWithContext(s.c.ctx, http.MethodGet, "http://hub/sse", http.NoBody)
	if err != nil {
		return err
	}
	res, err := s.c.run.house.client.Do(req)
	if err != nil {
		return err
	}
	s.end = res.Body.Close
	in := newEvents(res)
	first, err := in.next()
	if err != nil {
		return err
	}
	if s.post = string(first.data); first.name != "endpoint" {
		return errors.New("the first event is " + first.name)
	}
	s.c.work.Go(func() {
		for {
			e, err := in.next()
			if err != nil {
				s.c.cutOff(err)
				return
			}
			s.c.take(e.data, nil)
		}
	})
	return nil
}

func (s *sse) send(raw []byte, req *request) {
	if status := s.c.post(s.c.ctx, "http://hub"+s.post, raw); status != http.StatusAccepted && req != nil {
		s.c.lose(req)
	}
}

func (s *sse) abort(req *request) {
	s.c.notify("notifications/cancelled", `"requestId":`+req.id)
}

func (s *sse) told() bool { return true }

func (s *sse) close(bool) { _ = s.end() }

// cutOff says that the stream of the conversation has ended.
func (c *client) cutOff(err error) {
	if !c.isLeaving() {
		c.fail("has lost its conversation: %v", err)
	}
}

// post posts a message, and returns the status; 0 if there was none.
func (c *client) post(ctx context.Context, url string, raw []byte) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.run.house.client.Do(req)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// events reads an event stream.
type events struct{ in *bufio.Reader }

type event struct {
	name, id string
	data     []byte
}

func newEvents(res *http.Response) *events { return &events{bufio.NewReaderSize(res.Body, 1<<10)} }

// next returns the next event, which may have no data.
func (e *events) next() (event, error) {
	var next event
	some := false
	for {
		line, err := e.in.ReadString('\n')
		if err != nil {
			return event{}, err
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "":
			if line == "" && some {
				return next, nil
			}
		case "event":
			next.name, some = value, true
		case "id":
			next.id, some = value, true
		case "data":
			next.data, some = []byte(value), true
		}
	}
}
