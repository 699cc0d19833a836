//go:build linux

package main

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// newsStreams are the event streams on which clients hold out for what belongs to none of their requests.
type newsStreams struct {
	mu   sync.Mutex
	open map[chan []byte]struct{}
}

// newsBacklog is how many messages wait for a client that is slow to take them; whoever tells waits beyond that.
const newsBacklog = 16

// hold is the event stream that a client opens with GET.
func (n *newsStreams) hold(w http.ResponseWriter, r *http.Request) {
	events := make(chan []byte, newsBacklog)
	n.mu.Lock()
	if n.open == nil {
		n.open = map[chan []byte]struct{}{}
	}
	n.open[events] = struct{}{}
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		delete(n.open, events)
		n.mu.Unlock()
	}()
	holdStream(w, r, events)
}

// holdStream sends these events until the client goes; nil if nothing ever comes.
func holdStream(w http.ResponseWriter, r *http.Request, events <-chan []byte) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	for control.Flush() == nil {
		select {
		case event := <-events:
			if _, err := w.Write(event); err != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// tell sends the message in the request's body to whoever holds a stream; it fails if nobody does.
func (n *newsStreams) tell(w http.ResponseWriter, r *http.Request) {
	message, err := io.ReadAll(r.Body)
	if err != nil {
		return // The connection is gone.
	}
	event := bytes.Join([][]byte{[]byte("event: message\ndata: "), message, []byte("\n\n")}, nil)
	n.mu.Lock()
	all := make([]chan []byte, 0, len(n.open))
	for events := range n.open {
		all = append(all, events)
	}
	n.mu.Unlock()
	if len(all) == 0 {
		http.Error(w, "nobody listens", http.StatusConflict)
		return
	}
	for _, events := range all {
		select {
		case events <- event:
		case <-r.Context().Done():
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}
