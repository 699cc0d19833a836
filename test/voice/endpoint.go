package voice

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/coder/websocket"
)

// Endpoint is a fake of an address at which hubs dial in as MCP servers. Serve it
// over HTTP, and take what dials in from Next.
type Endpoint struct {
	// Status is that with which a request is answered in place of an upgrade; nil, and
	// 0, upgrade.
	Status func(r *http.Request) int
	// Deaf has it never read from its sockets.
	Deaf bool

	once    sync.Once
	sockets chan *Socket
}

func (e *Endpoint) open() { e.once.Do(func() { e.sockets = make(chan *Socket, 1000) }) }

// ServeHTTP implements [http.Handler].
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.open()
	if e.Status != nil {
		if status := e.Status(r); status != 0 {
			w.WriteHeader(status)
			return
		}
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	conn.SetReadLimit(-1)
	s := &Socket{Query: r.URL.RawQuery, Path: r.URL.Path, Header: r.Header, conn: conn, over: make(chan struct{}), more: make(chan struct{})}
	if e.Deaf {
		e.sockets <- s
		return // the connection stays as it is: it belongs to nobody any more
	}
	go s.read()
	e.sockets <- s
	<-s.over
}

// Next returns the next socket that was opened.
func (e *Endpoint) Next(ctx context.Context) (*Socket, error) {
	e.open()
	select {
	case s := <-e.sockets:
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Socket is one connection of a hub's.
type Socket struct {
	Query, Path string      // of its address, as they came
	Header      http.Header // of its request

	conn *websocket.Conn
	over chan struct{} // closed when it has ended

	mu    sync.Mutex
	heard []string
	notes []string
	more  chan struct{} // closed when more is heard
	err   error
}

func (s *Socket) read() {
	defer close(s.over)
	for {
		_, raw, err := s.conn.Read(context.Background())
		s.mu.Lock()
		if err != nil {
			s.err = err
		} else {
			s.heard = append(s.heard, string(raw))
		}
		close(s.more)
		s.more = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			_ = s.conn.CloseNow()
			return
		}
	}
}

// Send sends a text frame.
func (s *Socket) Send(text string) error {
	return s.conn.Write(context.Background(), websocket.MessageText, []byte(text))
}

// SendBinary sends a binary frame.
func (s *Socket) SendBinary(data []byte) error {
	return s.conn.Write(context.Background(), websocket.MessageBinary, data)
}

// Hear takes the first message that was heard and has the part, and waits for it.
// What came before it stays.
func (s *Socket) Hear(ctx context.Context, part string) (string, error) {
	for {
		s.mu.Lock()
		for i, text := range s.heard {
			if strings.Contains(text, part) {
				s.heard = append(s.heard[:i:i], s.heard[i+1:]...)
				s.mu.Unlock()
				return text, nil
			}
		}
		more, err := s.more, s.err
		s.mu.Unlock()
		if err != nil {
			return "", fmt.Errorf("the hub has gone: %w", err)
		}
		select {
		case <-more:
		case <-ctx.Done():
			return "", fmt.Errorf("nothing with %s: %w", part, ctx.Err())
		}
	}
}

// Ask sends a request with the raw id, and returns its response.
func (s *Socket) Ask(ctx context.Context, id, method, params string) (string, error) {
	if params != "" {
		params = `,"params":` + params
	}
	if err := s.Send(fmt.Sprintf(`{"id":%s,"jsonrpc":"2.0","method":"%s"%s}`, id, method, params)); err != nil {
		return "", err
	}
	return s.Hear(ctx, `"id":`+id+`,`)
}

// Heard is what was heard and not taken yet.
func (s *Socket) Heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.heard...)
}

// Over is closed when the connection has ended, and Err then says how.
func (s *Socket) Over() <-chan struct{} { return s.over }

// Err is how the connection has ended.
func (s *Socket) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close says goodbye with a code and a reason.
func (s *Socket) Close(code int, reason string) { _ = s.conn.Close(websocket.StatusCode(code), reason) }

// Drop ends the connection without a word.
func (s *Socket) Drop() { _ = s.conn.CloseNow() }
