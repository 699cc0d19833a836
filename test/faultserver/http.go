package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"
)

const (
	path          = "/mcp"
	headerSession = "Mcp-Session-Id"
	headerVersion = "MCP-Protocol-Version"
	maxBody       = 64 << 20
)

// serveHTTP serves until ctx ends. The first line on out is the URL. With the
// nostop fault ctx does not end.
func (s *server) serveHTTP(ctx context.Context, out io.Writer) error {
	addr, err := netip.ParseAddrPort(s.opt.httpAddr)
	if err != nil || !addr.Addr().IsLoopback() {
		return fmt.Errorf("-http %s: want a loopback address and a port, as in 127.0.0.1:0", s.opt.httpAddr)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr.String())
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+path, s.post)
	mux.HandleFunc("GET "+path, s.get)
	mux.HandleFunc("DELETE "+path, s.delete)
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(encode(s.snapshot()))
	})
	mux.HandleFunc("/redirected", func(w http.ResponseWriter, _ *http.Request) {
		s.tally(func(c *stats) { c.Redirected++ })
		http.Error(w, "nobody should come here", http.StatusTeapot)
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(out, "http://%s%s\n", l.Addr(), path)
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

func (s *server) post(w http.ResponseWriter, h *http.Request) {
	s.tally(func(c *stats) { c.Posts++ })
	body, err := io.ReadAll(http.MaxBytesReader(w, h.Body, maxBody))
	if err != nil {
		return
	}
	m, err := parseMessage(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, nil, &rpcError{Code: codeParse, Message: err.Error()})
		return
	}
	s.saw(m)
	if s.transportFault(w, h, m) {
		return
	}
	r := request{message: m, header: h.Header, modern: s.opt.faults.has("modernonly")}
	if !s.admit(w, h, &r) {
		return
	}
	if !m.isRequest() {
		s.handle(h.Context(), r)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.answer(w, h, r)
}

// admit checks what the transport demands of a POST and finds or opens its
// session. It has answered if it returns false.
func (s *server) admit(w http.ResponseWriter, h *http.Request, r *request) bool {
	accept := h.Header.Get("Accept")
	takesEvents := strings.Contains(accept, "text/event-stream") || strings.Contains(accept, "*/*")
	takesJSON := strings.Contains(accept, "application/json") || strings.Contains(accept, "*/*")
	if !takesEvents || !takesJSON && !s.opt.faults.has("sseonly") {
		refuse(w, http.StatusNotAcceptable, r.ID, &rpcError{
			Code:    codeInvalid,
			Message: "the client must accept both application/json and text/event-stream",
		})
		return false
	}
	if r.modern {
		return s.admitModern(w, h, r)
	}
	if r.Method == "initialize" {
		r.session = newSession(rand.Text())
		s.mu.Lock()
		s.sessions[r.session.id] = r.session
		s.count.SessionsOpened++
		s.mu.Unlock()
		w.Header().Set(headerSession, r.session.id)
		return true
	}
	r.session = s.session(w, h, r.ID)
	return r.session != nil
}

func (s *server) admitModern(w http.ResponseWriter, h *http.Request, r *request) bool {
	r.session = newSession("")
	if !r.isRequest() {
		return true
	}
	err := checkModern(r.message)
	if err == nil {
		err = checkHeaders(h.Header, r.message)
	}
	if err != nil {
		refuse(w, modernStatus(err), r.ID, err)
		return false
	}
	return true
}

// modernStatus is the HTTP status that revision 2026-07-28 gives an error.
func modernStatus(err *rpcError) int {
	switch err.Code {
	case codeUnknownMethod:
		return http.StatusNotFound
	case codeBadParams, codeHeaderMismatch, codeBadVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// session finds the session that the request names. It has answered if it
// returns nil.
func (s *server) session(w http.ResponseWriter, h *http.Request, id json.RawMessage) *session {
	name := h.Header.Get(headerSession)
	s.mu.Lock()
	c := s.sessions[name]
	s.mu.Unlock()
	switch {
	case name == "":
		refuse(w, http.StatusBadRequest, id, &rpcError{Code: codeInvalid, Message: "Bad Request: " + headerSession + " header is required"})
		return nil
	case c == nil:
		refuse(w, http.StatusNotFound, id, &rpcError{Code: codeBadSession, Message: "Session not found"})
		return nil
	}
	if v := h.Header.Get(headerVersion); v != "" && !isLegacy(v) {
		refuse(w, http.StatusBadRequest, id, &rpcError{Code: codeInvalid, Message: "Bad Request: unsupported protocol version " + v})
		return nil
	}
	return c
}

// forget ends a session and its GET stream. A second call does nothing.
func (s *server) forget(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[c.id] == c {
		delete(s.sessions, c.id)
		close(c.closed)
	}
}

// answer runs a request and sends its notifications and reply.
//
// Before 2026-07-28 a lost connection does not cancel a call, since then it
// does. A cancelled call is not answered: its event stream ends, or the POST
// is answered 202 if nothing was sent yet.
func (s *server) answer(w http.ResponseWriter, h *http.Request, r request) {
	f := s.opt.faults
	out := &response{w: w, modern: r.modern, noEvents: f.has("jsononly")}
	defer out.end()
	if s.opt.sse || f.has("sseonly") || f.hits("dupreply", r.message) || f.hits("noreply", r.message) {
		out.startEvents()
	}
	ctx := h.Context()
	if r.Method == "tools/call" && !r.modern {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, end := r.session.begin(ctx, r.ID)
	defer end()
	r.notify = out.notify
	r.end = new(string)
	replies := s.handle(ctx, r)
	switch {
	case out.finish(*r.end, r.ID):
		return
	case *r.end == riskForget:
		s.forget(r.session)
	}
	if f.has("status404session") && r.Method == "tools/call" && s.isLast(r.session) {
		// The session is gone before the reply arrives: who has the reply
		// finds it gone.
		s.forget(r.session)
	}
	out.send(replies)
	if len(replies) > 0 {
		s.after(r.message)
	}
	if *r.end == riskLeave {
		os.Exit(exitCrash)
	}
}

// isLast counts a call of the session and reports whether it was its last.
func (s *server) isLast(c *session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	return c.calls >= s.opt.sessionFor
}

// get is the stream of what belongs to no call.
func (s *server) get(w http.ResponseWriter, h *http.Request) {
	s.tally(func(c *stats) { c.Gets++ })
	if s.opt.faults.has("jsononly") || s.opt.faults.has("modernonly") {
		http.Error(w, "no stream here", http.StatusMethodNotAllowed)
		return
	}
	c := s.session(w, h, nil)
	if c == nil {
		return
	}
	notes := make(chan []byte, 64)
	stop := s.listen(&listener{send: func(note []byte) {
		select {
		case notes <- note:
		default: // the client does not read; a later note says the same
		}
	}})
	defer stop()
	out := &response{w: w}
	defer out.end()
	out.startEvents()
	for {
		select {
		case note := <-notes:
			out.notify(note)
		case <-c.closed:
			return
		case <-h.Context().Done():
			return
		}
	}
}

func (s *server) delete(w http.ResponseWriter, h *http.Request) {
	s.tally(func(c *stats) { c.Deletes++ })
	if c := s.session(w, h, nil); c != nil {
		s.forget(c)
		w.WriteHeader(http.StatusNoContent)
	}
}
