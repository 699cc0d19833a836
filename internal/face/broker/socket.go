package broker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

const (
	maxFrame   = 4 << 20 // bytes of a message
	maxUnheard = 512     // of one that nobody listens to
	maxUnread  = 1024    // messages that a peer may leave unread
	maxBytes   = 16 << 20
	pingEvery  = 20 * time.Second
	pongLimit  = 20 * time.Second
	writeLimit = 10 * time.Second
	closeLimit = 3 * time.Second
)

// socket is one connection. Its messages are read by one goroutine; everything else may
// be called from any.
type socket struct {
	ctx   context.Context // ends with the connection
	end   context.CancelFunc
	out   outbox
	heard atomic.Int64
	work  sync.WaitGroup

	refused bool        // it has no good token; set before it is counted, as is good
	good    func() bool // whether the token counts still that it came by

	mu   sync.Mutex
	conn *websocket.Conn // nil until it is open
	shut bool            // it is closed, or to be
}

func newSocket(life context.Context) *socket {
	s := &socket{out: outbox{wake: make(chan struct{}, 1)}}
	s.ctx, s.end = context.WithCancel(life)
	return s
}

// open begins with the connection.
func (s *socket) open(conn *websocket.Conn) {
	conn.SetReadLimit(maxFrame)
	s.mu.Lock()
	s.conn = conn
	shut := s.shut
	s.mu.Unlock()
	if shut {
		_ = conn.CloseNow()
	}
	s.work.Go(s.write)
	s.work.Go(s.ping)
}

// close says goodbye, and does not wait for that. It has an effect once.
func (s *socket) close(code websocket.StatusCode, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return
	}
	s.shut = true
	s.end()
	if conn := s.conn; conn != nil {
		s.work.Go(func() {
			late := time.AfterFunc(closeLimit, func() { _ = conn.CloseNow() })
			defer late.Stop()
			_ = conn.Close(code, reason) // the peer may be gone
		})
	}
}

// drop ends the connection if nobody has, and waits until nothing is left of it.
func (s *socket) drop() {
	s.mu.Lock()
	conn, closing := s.conn, s.shut
	s.shut = true
	s.mu.Unlock()
	s.end()
	if conn != nil && !closing {
		_ = conn.CloseNow()
	}
	s.work.Wait()
}

// read hands each message over until there are no more. The bytes are the taker's.
func (s *socket) read(take func([]byte)) error {
	for {
		kind, raw, err := s.conn.Read(context.Background()) // to close the connection ends this as well
		if err != nil {
			return err
		}
		s.heard.Add(1)
		if kind == websocket.MessageText && s.ctx.Err() == nil {
			take(raw)
		}
	}
}

// send has a message written behind those before it; false if too much is unread.
func (s *socket) send(raw []byte) bool { return s.out.put(raw) }

func (s *socket) write() {
	for raw := range s.out.all(s.ctx) {
		ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
		err := s.conn.Write(ctx, websocket.MessageText, raw)
		cancel()
		if err != nil {
			_ = s.conn.CloseNow()
			return
		}
	}
}

// ping gives a peer up that does not answer, and says nothing else either.
func (s *socket) ping() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
		before := s.heard.Load()
		ctx, cancel := context.WithTimeout(s.ctx, pongLimit)
		err := s.conn.Ping(ctx)
		cancel()
		if err != nil && s.heard.Load() == before && s.ctx.Err() == nil {
			_ = s.conn.CloseNow()
			return
		}
	}
}

// outbox is what is to be written, in its order. Safe for concurrent use; one goroutine
// takes.
type outbox struct {
	wake chan struct{} // holds one if there may be something to take

	mu    sync.Mutex
	queue [][]byte
	size  int
}

// put adds a message; false if there is too much already.
func (o *outbox) put(raw []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) >= maxUnread || o.size+len(raw) > maxBytes {
		return false
	}
	o.queue = append(o.queue, raw)
	o.size += len(raw)
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return true
}

// all yields the messages as they come, until ctx ends.
func (o *outbox) all(ctx context.Context) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for {
			select {
			case <-o.wake:
			case <-ctx.Done():
				return
			}
			for raw := o.take(); raw != nil; raw = o.take() {
				if ctx.Err() != nil || !yield(raw) {
					return
				}
			}
		}
	}
}

// take takes the next message; nil if there is none.
func (o *outbox) take() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		o.queue = nil
		return nil
	}
	raw := o.queue[0]
	o.queue[0], o.queue = nil, o.queue[1:]
	o.size -= len(raw)
	return raw
}
