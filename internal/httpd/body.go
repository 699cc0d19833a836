package httpd

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Limits of a request's body.
const (
	bodyLimit = 30 * time.Second // to send it
	leftLimit = time.Second      // to send what its door did not want to have
)

// InTime bounds how long a request may take to send its body as a [Server] does, for a
// listener that has doors of its own.
func InTime(next http.Handler) http.Handler { return &inTime{next: next, limit: bodyLimit} }

// inTime bounds how long a request may take to send its body, whatever is done
// with it. Also of a request that was refused net/http reads the rest before it
// answers, and without a limit a client that sends nothing more would be waited
// for as long as it likes, token or not.
type inTime struct {
	next  http.Handler
	limit time.Duration
}

// ServeHTTP implements [http.Handler]. A read of a body that is late fails.
func (h *inTime) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		h.next.ServeHTTP(w, r)
		return
	}
	ctl := http.NewResponseController(w)
	_ = ctl.SetReadDeadline(time.Now().Add(h.limit)) // as long as there is a connection
	body := &watched{ReadCloser: r.Body, ctl: ctl}
	r = r.WithContext(r.Context()) // net/http goes by the body that it has made
	r.Body = body
	h.next.ServeHTTP(w, r)
	if !body.ended {
		_ = ctl.SetReadDeadline(time.Now().Add(min(leftLimit, h.limit)))
	}
}

// watched is a body within its time limit, which ends with it: what comes on
// the connection after the body says whether the client is still there.
type watched struct {
	io.ReadCloser
	ctl   *http.ResponseController
	ended bool
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !b.ended {
		b.ended = true
		_ = b.ctl.SetReadDeadline(time.Time{})
	}
	return n, err
}
