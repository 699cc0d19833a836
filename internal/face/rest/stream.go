package rest

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// writeLimit is how long a client may take to read what was sent to it.
const writeLimit = 10 * time.Second

// stream is an event stream to a client (HTML standard, "Server-sent events").
// Events go out in the order of the calls; a comment shows from time to time
// that the stream is alive. A client that does not read is given up after the
// write limit; then, and after close, nothing is written any more. Safe for
// concurrent use.
type stream struct {
	ctl *http.ResponseController

	mu   sync.Mutex
	w    http.ResponseWriter
	over bool
	beat *time.Timer
}

// newStream begins the answer. close has to be called before the handler
// returns.
func newStream(c huma.Context, beat time.Duration) *stream {
	_, w := humago.Unwrap(c)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies are to pass on what comes
	w.WriteHeader(http.StatusOK)
	s := &stream{w: w, ctl: http.NewResponseController(w)}
	s.mu.Lock() // the timer's function reads it
	defer s.mu.Unlock()
	s.beat = time.AfterFunc(beat, func() {
		if s.write([]byte(": alive\n\n")) {
			s.beat.Reset(beat)
		}
	})
	s.over = s.ctl.Flush() != nil
	return s
}

// send sends an event, and reports whether the client still reads.
func (s *stream) send(name string, data any) bool {
	var b bytes.Buffer
	b.WriteString("event: " + name + "\ndata: ")
	if err := encode(&b, data); err != nil {
		panic(err) // shapes of ours, with JSON that was checked; one line
	}
	b.WriteByte('\n')
	return s.write(b.Bytes())
}

func (s *stream) write(text []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	_ = s.ctl.SetWriteDeadline(time.Now().Add(writeLimit)) // not every writer can
	_, err := s.w.Write(text)
	if err == nil {
		err = s.ctl.Flush()
	}
	s.over = err != nil
	return !s.over
}

// close ends the stream.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.beat.Stop()
}
