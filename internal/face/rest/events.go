package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// writeLimit is how long a client may take to read what was sent to it.
const writeLimit = 10 * time.Second

// events is an event stream to a client. It is for one goroutine.
type events struct {
	w    http.ResponseWriter
	ctl  *http.ResponseController
	dead bool
}

// newEvents begins the answer.
func newEvents(c huma.Context) *events {
	_, w := humago.Unwrap(c)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	e := &events{w: w, ctl: http.NewResponseController(w)}
	e.flush()
	return e
}

func (e *events) send(name string, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err) // shapes of ours
	}
	e.write("event: %s\ndata: %s\n\n", name, raw)
}

func (e *events) comment() { e.write(": alive\n\n") }

func (e *events) write(format string, args ...any) {
	if e.dead {
		return
	}
	_ = e.ctl.SetWriteDeadline(time.Now().Add(writeLimit)) // not every writer can
	_, err := fmt.Fprintf(e.w, format, args...)
	e.dead = err != nil
}

// flush sends what was written, and reports whether the client still reads.
func (e *events) flush() bool {
	if !e.dead {
		e.dead = e.ctl.Flush() != nil
	}
	return !e.dead
}

// writeJSON writes a whole answer.
func writeJSON(c huma.Context, status int, body any) {
	kind := "application/json"
	if status >= http.StatusBadRequest {
		kind = "application/problem+json"
	}
	c.SetHeader("Content-Type", kind)
	c.SetStatus(status)
	enc := json.NewEncoder(c.BodyWriter())
	enc.SetEscapeHTML(false)
	_ = enc.Encode(body) // the client may be gone
}

// schemaOf enters a shape that only a hand-made answer has.
func schemaOf[T any](d *Door) *huma.Schema {
	return d.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}
