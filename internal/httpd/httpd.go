// Package httpd is the listeners that all HTTP doors share: where they may
// listen, and what every request must be like before a door sees it.
package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/hub"
)

// Limits of every connection.
const (
	headerLimit    = 10 * time.Second // to send a request's header
	idleLimit      = 3 * time.Minute  // between two requests
	maxHeaderBytes = 64 << 10
)

// Refuse answers a request that is refused before any door sees it, in the
// form that the door it asked for would use. Headers may be set already.
type Refuse func(w http.ResponseWriter, r *http.Request, status int, e *hub.Error)

// Options are what a [Server] is made of. All but the last three are needed.
type Options struct {
	Listeners []net.Listener // TCP and Unix sockets, as [Listen] and [ListenSocket] open them
	Doors     http.Handler
	Refuse    Refuse
	Log       *slog.Logger
	Gate      *auth.Gate

	// AllowHosts are the names, besides those of the loopback, under which
	// the hub can be asked: a reverse proxy's, or this machine's. Each is an
	// exact name, in any case, with a port if only that one is meant. Who
	// comes under such a name needs a token.
	AllowHosts []string
	// RequireToken demands a token of everybody but of those who come by the
	// local socket. It is set by itself if a listener is reached by others
	// than this machine.
	RequireToken bool
	// TLS is for the TCP listeners, which are plain HTTP without it.
	TLS *tls.Config
}

// Server serves its listeners with the same doors.
type Server struct {
	http      *http.Server
	listeners []net.Listener
	secure    bool // the TCP listeners have TLS

	mu       sync.Mutex
	silent   map[net.Conn]struct{} // connections that have sent nothing yet
	stopping bool
}

// New returns a server of the doors behind the listeners, which the caller
// still has to close if Run is never called. The error is a [*hub.Error],
// about AllowHosts.
//
// A request is refused before a door sees it, in this order:
//
//   - if it is for another host than this machine or one of AllowHosts: a web
//     page could have its own name resolve to this machine;
//   - if a web page from elsewhere sent it, which could reach the tools through
//     the browser of whoever opens it (2025-11-25, "Streamable HTTP", Security
//     Warning). The doors for MCP take pages of this machine and of AllowHosts,
//     the API and our own pages only those that come from the same address;
//   - if a token stands in its URL;
//   - if it shows credentials that are not known, or none where a token is
//     needed: by RequireToken, under a name of AllowHosts, through a proxy, or at
//     a door for MCP while /mcp is a protected resource of OAuth.
//     To GET /healthz, the status page's files, and what is asked before anybody
//     can have a token needs none. Too many wrong
//     ones from one address within a minute are answered with 429;
//   - if it would change something by the cookie of a login session, and does not
//     say that a page from the same address sent it.
//
// A request has 30 s to send its body, whether a door reads it or not; a read
// of it fails after that. Each has an id, in its context and in the header
// X-Request-Id of its answer.
func New(opt Options) (*Server, error) {
	allowed, err := parseHosts(opt.AllowHosts)
	if err != nil {
		return nil, err
	}
	open := slices.ContainsFunc(opt.Listeners, isOpen)
	if open && opt.TLS == nil {
		opt.Log.Warn("tokens and all that is called travel unprotected: others than this machine reach a listener without TLS; " +
			"use --tls-cert and --tls-key, or a reverse proxy that has TLS")
	}
	s := &Server{listeners: opt.Listeners, secure: opt.TLS != nil, silent: make(map[net.Conn]struct{})}
	s.http = &http.Server{
		Handler: &identify{log: opt.Log, next: &inTime{limit: bodyLimit, next: &guard{
			doors: opt.Doors, refuse: opt.Refuse, gate: opt.Gate, allowed: allowed,
			requireToken: opt.RequireToken || open, log: opt.Log,
		}}},
		TLSConfig:         withProtocols(opt.TLS),
		ReadHeaderTimeout: headerLimit,
		IdleTimeout:       idleLimit,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(opt.Log.Handler(), slog.LevelDebug),
		ConnState:         s.track,
	}
	s.http.RegisterOnShutdown(s.hangUp)
	return s, nil
}

// withProtocols offers HTTP/2. net/http does so by itself, but not if a plain
// listener of the same server happens to be served first.
func withProtocols(config *tls.Config) *tls.Config {
	if config == nil {
		return nil
	}
	config = config.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	return config
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

// URL is where the first of the TCP listeners is reached from this machine,
// without a path; "" if there is none.
func (s *Server) URL() string {
	for _, ln := range s.listeners {
		tcp, ok := ln.Addr().(*net.TCPAddr)
		if !ok {
			continue
		}
		scheme, address := "http", *tcp
		if s.secure {
			scheme = "https"
		}
		if address.IP.IsUnspecified() {
			address.IP = net.IPv4(127, 0, 0, 1)
		}
		return scheme + "://" + address.String()
	}
	return ""
}

// Run serves until Shutdown. If one listener fails all are closed, and the
// error is that of the first.
func (s *Server) Run() error {
	var all errgroup.Group
	for _, ln := range s.listeners {
		all.Go(func() error {
			err := s.serve(ln)
			if errors.Is(err, http.ErrServerClosed) {
				return nil
			}
			for _, other := range s.listeners {
				_ = other.Close() // what has failed is told
			}
			return err
		})
	}
	return all.Wait()
}

func (s *Server) serve(ln net.Listener) error {
	if _, tcp := ln.Addr().(*net.TCPAddr); tcp && s.secure {
		return s.http.ServeTLS(ln, "", "")
	}
	return s.http.Serve(ln)
}

// Shutdown takes no more connections, waits until ctx ends for the requests
// under way, and then cuts what is left. It closes the listeners that Run
// serves, and does not wait for connections that a door has taken over, such
// as WebSockets.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return s.http.Close() // a client that does not end is no failure of ours
	}
	return err
}
