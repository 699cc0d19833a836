// Package httpd is the listener that all HTTP doors share: where it may
// listen, and what every request must be like before a door sees it.
package httpd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// Limits of every connection.
const (
	headerLimit    = 10 * time.Second // to send a request's header
	idleLimit      = 3 * time.Minute  // between two requests
	maxHeaderBytes = 64 << 10
)

// Refuse answers a request that is refused before any door sees it.
type Refuse func(w http.ResponseWriter, status int, e *hub.Error)

// Listen opens the address, a host and a port. Only loopback addresses are
// allowed: who reaches the listener may call every tool (design D8). The error
// is a [*hub.Error].
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, hub.E(message.ListenInvalid, err, "address", address, "detail", "host:port is expected")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return nil, hub.E(message.ListenInvalid, err, "address", address, "detail", "the port has to be a number from 0 to 65535")
	}
	if !strings.EqualFold(host, "localhost") && !net.ParseIP(host).IsLoopback() {
		return nil, hub.E(message.ListenRefused, nil, "address", address)
	}
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1" // not whatever a resolver says
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, hub.E(message.ListenTaken, err, "address", address)
	}
	if err != nil {
		return nil, hub.E(message.ListenInvalid, err, "address", address, "detail", err.Error())
	}
	return ln, nil
}

// Server serves one listener.
type Server struct {
	http *http.Server
	ln   net.Listener

	mu       sync.Mutex
	silent   map[net.Conn]struct{} // connections that have sent nothing yet
	stopping bool
}

// New returns a server of the doors behind ln. Requests for another host than
// this machine, and requests of web pages from elsewhere, are refused before a
// door sees them: a page could otherwise reach the tools through the browser
// of whoever opens it (2025-11-25, "Streamable HTTP", Security Warning).
func New(ln net.Listener, doors http.Handler, refuse Refuse, log *slog.Logger) *Server {
	s := &Server{ln: ln, silent: make(map[net.Conn]struct{})}
	s.http = &http.Server{
		Handler:           guard(doors, refuse),
		ReadHeaderTimeout: headerLimit,
		IdleTimeout:       idleLimit,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ConnState:         s.track,
	}
	s.http.RegisterOnShutdown(s.hangUp)
	return s
}

// track keeps account of the connections that have sent nothing yet, as
// clients open them ahead of need: net/http would wait for them for five
// seconds when it shuts down.
func (s *Server) track(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.silent, c)
	case s.stopping:
		_ = c.Close() // nobody is there to be told
	default:
		s.silent[c] = struct{}{}
	}
}

func (s *Server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for c := range s.silent {
		_ = c.Close() // it has carried nothing
	}
}

// Run serves until Shutdown.
func (s *Server) Run() error {
	if err := s.http.Serve(s.ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown takes no more connections, waits until ctx ends for the requests
// under way, and then cuts what is left.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return s.http.Close() // a client that does not end is no failure of ours
	}
	return err
}

func guard(next http.Handler, refuse Refuse) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r.Host) {
			refuse(w, http.StatusForbidden, hub.E(message.HostRefused, nil, "host", message.Quote(r.Host)))
			return
		}
		if origins := r.Header["Origin"]; len(origins) > 0 && !localOrigin(origins) {
			refuse(w, http.StatusForbidden, hub.E(message.OriginRefused, nil, "origin", message.Quote(origins[0])))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocal reports whether a Host header names this machine, at any port: a
// forwarded port has another number outside.
func isLocal(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.EqualFold(name, "localhost") || net.ParseIP(name).IsLoopback()
}

func localOrigin(origins []string) bool {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || !isLocal(u.Host) {
			return false
		}
	}
	return true
}
