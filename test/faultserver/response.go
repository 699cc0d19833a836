package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// response is the way back of one HTTP request: one JSON body or, from the
// first notification on, an event stream. After end nothing is written.
type response struct {
	w        http.ResponseWriter
	modern   bool
	noEvents bool

	mu     sync.Mutex
	events bool
	ended  bool
}

func (r *response) startEvents() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.openEvents()
}

// openEvents sends the headers of an event stream. The caller holds r.mu.
func (r *response) openEvents() {
	if r.events || r.noEvents || r.ended {
		return
	}
	r.events = true
	r.w.Header().Set("Content-Type", "text/event-stream")
	r.w.Header().Set("Cache-Control", "no-store")
	r.w.WriteHeader(http.StatusOK)
	r.flush()
}

func (r *response) flush() { _ = http.NewResponseController(r.w).Flush() }

// event writes one event. The caller holds r.mu.
func (r *response) event(msg []byte) {
	fmt.Fprintf(r.w, "event: message\ndata: %s\n\n", msg)
	r.flush()
}

// notify sends a notification, which turns the answer into an event stream. It
// is lost where there are no event streams.
func (r *response) notify(note []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.openEvents()
	if r.events && !r.ended {
		r.event(note)
	}
}

// send sends the replies. A JSON body holds the first only; without any it is
// an empty 202.
func (r *response) send(replies []reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.events:
		for _, one := range replies {
			r.event(one.encode())
		}
	case len(replies) == 0:
		r.w.WriteHeader(http.StatusAccepted)
	default:
		status := http.StatusOK
		if r.modern && replies[0].err != nil {
			status = modernStatus(replies[0].err)
		}
		body := replies[0].encode()
		r.w.Header().Set("Content-Type", "application/json")
		// With its length the body is whole even if the process ends now.
		r.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		r.w.WriteHeader(status)
		_, _ = r.w.Write(body)
		r.flush()
	}
}

func (r *response) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// refuse answers with an HTTP status and a JSON-RPC error.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, err *rpcError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(reply{id: id, err: err}.encode())
}
