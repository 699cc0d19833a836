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

// events is an event stream to a client (HTML standard, "Server-sent events").
// Events go out in the order of the calls; a comment shows from time to time
// that the stream is alive. A client that does not read is given up after the
// write limit; then, and after close, nothing is written any more. Safe for
// concurrent use.
type events struct {
	ctl *http.ResponseController

	mu   sync.Mutex
	w    http.ResponseWriter
	over bool
	beat *time.Timer
}

// newEvents begins the answer. close has to be called before the handler
// returns.
func newEvents(c huma.Context, beat time.Duration) *events {
	_, w := humago.Unwrap(c)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies are to pass on what comes
	w.WriteHeader(http.StatusOK)
	e := &events{w: w, ctl: http.NewResponseController(w)}
	e.mu.Lock() // the timer's function reads it
	defer e.mu.Unlock()
	e.beat = time.AfterFunc(beat, func() {
		if e.write([]byte(": alive\n\n")) {
			e.beat.Reset(beat)
		}
	})
	e.over = e.ctl.Flush() != nil
	return e
}

// send sends an event, and reports whether the client still reads.
func (e *events) send(name string, data any) bool {
	var b bytes.Buffer
	b.WriteString("event: " + name + "\ndata: ")
	if err := encode(&b, data); err != nil {
		panic(err) // shapes of ours, with JSON that was checked; one line
	}
	b.WriteByte('\n')
	return e.write(b.Bytes())
}

func (e *events) write(text []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return false
	}
	_ = e.ctl.SetWriteDeadline(time.Now().Add(writeLimit)) // not every writer can
	_, err := e.w.Write(text)
	if err == nil {
		err = e.ctl.Flush()
	}
	e.over = err != nil
	return !e.over
}

// close ends the stream.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	e.beat.Stop()
}
