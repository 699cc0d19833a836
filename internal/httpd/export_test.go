package httpd

import (
	"net/http"
	"time"
)

// Handler is what a server of no listener does with a request.
func Handler(opt Options) (http.Handler, error) {
	s, err := New(opt)
	if err != nil {
		return nil, err
	}
	return s.http.Handler, nil
}

// InLimit is how a server bounds the time of bodies.
func InLimit(next http.Handler, limit time.Duration) http.Handler { return &inTime{next, limit} }

// RequestID is the id that a request gets.
func RequestID(r *http.Request) string { return requestID(r) }
