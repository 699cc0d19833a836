package main

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// transportFault answers a POST wrongly if a fault of HTTP is chosen and hits
// it, before anything of MCP is looked at. It reports whether it did.
func (s *server) transportFault(w http.ResponseWriter, h *http.Request, m message) bool {
	f := s.opt.faults
	switch {
	case f.hits("hang", m):
		<-h.Context().Done()
	case f.hits("wrongtype", m):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>Sign in</title><p>Please sign in to continue.")
	case f.hits("status500", m), f.hits("status500once", m) && s.isFirstFailure():
		http.Error(w, "internal server error", http.StatusInternalServerError)
	case f.hits("redirect", m):
		http.Redirect(w, h, otherHost(h.Host)+"/redirected", http.StatusTemporaryRedirect)
	case f.hits("truncated", m):
		body := reply{id: m.ID, result: textResult("the rest of this is missing")}.encode()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:len(body)/2])
		// net/http closes the connection when a handler wrote less than it
		// announced.
	case f.hits("slowloris", m):
		s.slowloris(w, h)
	default:
		return false
	}
	return true
}

func (s *server) isFirstFailure() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.failedOnce
	s.failedOnce = true
	return first
}

// otherHost names this server by a host name that differs from the one asked.
func otherHost(host string) string {
	name, port, _ := net.SplitHostPort(host)
	other := "localhost"
	if name == other {
		other = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(other, port)
}

// slowloris sends an event that never ends, until the client goes away.
func (s *server) slowloris(w http.ResponseWriter, h *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	_, _ = io.WriteString(w, "event: message\ndata: ")
	tick := time.NewTicker(s.opt.delay)
	defer tick.Stop()
	for {
		if rc.Flush() != nil {
			return
		}
		select {
		case <-h.Context().Done():
			return
		case <-tick.C:
		}
		if _, err := io.WriteString(w, " "); err != nil {
			return
		}
	}
}
