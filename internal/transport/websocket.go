package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Subprotocol is the WebSocket subprotocol of MCP. A server may leave it out.
const Subprotocol = "mcp"

// pace is how long a WebSocket waits for what.
type pace struct {
	ping  time.Duration // between pings
	pong  time.Duration // until a ping is answered
	write time.Duration // until a message is taken
	close time.Duration // until the peer has said goodbye too
}

// WebSocket is the client's side of MCP over a WebSocket: a duplex stream with
// one message in each frame. There is no compression, since servers' support of
// it is poor.
//
// Read is for one goroutine, which must keep reading: it is what answers
// pings. Everything else may be called from any.
type WebSocket struct {
	opt    HTTPOptions
	pace   pace
	pool   *http.Transport
	conn   *websocket.Conn
	life   context.Context // ends with the stream; the cause says why
	end    context.CancelCauseFunc
	turn   chan struct{} // is full while a message is being written
	heard  atomic.Int64  // grows with what comes
	junked atomic.Int64
	ended  error       // why Read ended
	bye    atomic.Bool // Close was called
	beat   sync.WaitGroup
	once   sync.Once
}

// DialWebSocket opens a WebSocket, which is to be closed. ctx bounds the
// opening only.
//
// The error is that of the URL or of ctx, a [*StatusError], an [ErrUpgrade], or
// that of the connection. Redirects are not followed.
func DialWebSocket(ctx context.Context, opt HTTPOptions) (*WebSocket, error) {
	return dialWebSocket(ctx, opt, pace{30 * time.Second, 10 * time.Second, time.Minute, time.Second})
}

func dialWebSocket(ctx context.Context, opt HTTPOptions, p pace) (*WebSocket, error) {
	to, header, err := opt.endpoint()
	if err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	pool := opt.pool()
	// A WebSocket begins in HTTP/1.1.
	pool.ForceAttemptHTTP2 = false
	conn, res, err := openWebSocket(ctx, &opt, pool, to.String(), header)
	if err != nil {
		pool.CloseIdleConnections()
		if _, sent := errors.AsType[*unauthorizedError](err); sent {
			return nil, errors.Unwrap(err)
		}
		switch {
		case res == nil:
			return nil, causeOf(ctx, err)
		case res.StatusCode == http.StatusSwitchingProtocols:
			return nil, fmt.Errorf("%w: %w", ErrUpgrade, err)
		}
		return nil, refusal(res)
	}
	conn.SetReadLimit(-1) // Read has a limit that does not end the connection
	w := &WebSocket{opt: opt, pace: p, pool: pool, conn: conn, turn: make(chan struct{}, 1)}
	w.life, w.end = context.WithCancelCause(context.Background())
	w.beat.Go(w.keepAlive)
	return w, nil
}

// keepAlive pings the peer, and gives it up when it says nothing at all.
func (w *WebSocket) keepAlive() {
	tick := time.NewTicker(w.pace.ping)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.life.Done():
			return
		}
		before := w.heard.Load()
		ctx, cancel := context.WithTimeout(w.life, w.pace.pong)
		err := w.conn.Ping(ctx)
		cancel()
		// A pong waits for its turn behind a long message, and so does a ping,
		// and such a message has a time limit of its own.
		if err != nil && w.heard.Load() == before && len(w.turn) == 0 {
			w.end(ErrIdle)
			return
		}
	}
}

// Junked is the number of frames so far that were skipped because they were no
// messages.
func (w *WebSocket) Junked() int64 { return w.junked.Load() }

// Read returns the next message. The bytes are the caller's.
//
// A message of more than MaxMessage bytes is discarded as it comes, and Read
// returns a [*TooLargeError]; the next Read goes on behind it. Every other
// error is final: [io.EOF] when either side ended the stream in good order, a
// [*ClosedError] when the peer gave a reason, [ErrIdle] when it did not answer
// a ping or did not take a message, or that of the connection.
func (w *WebSocket) Read() ([]byte, error) {
	for w.ended == nil {
		data, err := w.next()
		if err != nil && isTooLarge(err) {
			return nil, err
		}
		if err != nil {
			w.ended = w.why(err)
			w.end(w.ended)
			break
		}
		if msg, ok := message(data); ok {
			return msg, nil
		}
		w.junked.Add(1)
		if w.opt.Junk != nil {
			w.opt.Junk(data[:min(len(data), maxJunk)])
		}
	}
	return nil, w.ended
}

// next reads one frame, be it text or binary, or several that make up one
// message.
func (w *WebSocket) next() ([]byte, error) {
	_, frame, err := w.conn.Reader(w.life)
	if err != nil {
		return nil, err
	}
	w.heard.Add(1)
	r := &heard{frame, &w.heard}
	data, err := readUpTo(r, w.opt.MaxMessage)
	if err != nil && isTooLarge(err) {
		if _, lost := io.Copy(io.Discard, r); lost != nil {
			return nil, lost
		}
	}
	return data, err
}

// heard counts the reads that brought something.
type heard struct {
	r io.Reader
	n *atomic.Int64
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if n > 0 {
		h.n.Add(1)
	}
	return n, err
}

// why makes sense of the error that ended the stream.
func (w *WebSocket) why(err error) error {
	if closed, ok := errors.AsType[websocket.CloseError](err); ok {
		switch closed.Code {
		case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
			if closed.Reason == "" {
				return io.EOF
			}
		}
		return &ClosedError{Code: int(closed.Code), Reason: closed.Reason}
	}
	switch cause := context.Cause(w.life); {
	case w.bye.Load():
		return io.EOF
	case cause != nil:
		return cause
	case errors.Is(err, net.ErrClosed):
		// This side closes it without a word when a write takes too long.
		return ErrIdle
	}
	return final(err)
}

// Write sends a message and returns once the system has all of it, or ctx has
// ended. Messages go out whole and one at a time.
//
// If errors.Is(err, [ErrNotSent]), no byte of the message has left and none
// will. Any other error leaves open whether the peer has got it: also when ctx
// ended, a message is finished once it was begun, and msg must stay as it is
// for as long as the stream is open.
func (w *WebSocket) Write(ctx context.Context, msg []byte) error {
	if ctx.Err() != nil {
		return notSent(context.Cause(ctx))
	}
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return notSent(context.Cause(ctx))
	case <-w.life.Done():
		return notSent(errStreamClosed)
	}
	if w.life.Err() != nil {
		<-w.turn
		return notSent(errStreamClosed)
	}
	// Not under ctx: a frame that is cut off ends the connection for everybody.
	done := make(chan error, 1)
	go func() {
		limited, cancel := context.WithTimeout(w.life, w.pace.write)
		defer cancel()
		err := w.conn.Write(limited, websocket.MessageText, msg)
		<-w.turn
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("write a message: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("write a message: %w", context.Cause(ctx))
	}
}

// Close says goodbye, waits for a moment for the peer to do so too, and ends
// the stream: a message that is being written is cut off, and Read ends. It may
// be called again.
func (w *WebSocket) Close() error {
	w.once.Do(func() {
		w.bye.Store(true)
		late := time.AfterFunc(w.pace.close, func() { w.end(errStreamClosed) })
		_ = w.conn.Close(websocket.StatusNormalClosure, "") // the peer may be gone
		late.Stop()
		w.end(errStreamClosed)
		w.turn <- struct{}{} // nobody writes any more, and nobody will
		w.beat.Wait()
		w.pool.CloseIdleConnections()
	})
	return nil
}
