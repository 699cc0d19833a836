package transport

import (
	"context"
	"io"
	"time"
)

// eventStream is the body of an answer, read as events, with a watch over its
// silence.
type eventStream struct {
	*EventReader
	body  io.Closer
	watch *time.Timer
}

// stream reads a body as events; end is called with ErrIdle when it was silent
// for too long.
func (h *HTTP) stream(end context.CancelCauseFunc, body io.ReadCloser) *eventStream {
	watch := time.AfterFunc(h.opt.StreamIdle, func() { end(ErrIdle) })
	return &eventStream{NewEventReader(&touched{body, watch, h.opt.StreamIdle}, h.opt.MaxMessage), body, watch}
}

func (s *eventStream) close() {
	s.watch.Stop()
	s.Release()
	_ = s.body.Close()
}

// touched puts off the idle watch at every byte that comes.
type touched struct {
	r     io.Reader
	watch *time.Timer
	idle  time.Duration
}

func (t *touched) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if n > 0 {
		t.watch.Reset(t.idle)
	}
	return n, err
}
