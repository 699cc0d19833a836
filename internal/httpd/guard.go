package httpd

import (
	"log/slog"
	"math"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// guard looks at every request before a door sees it, in this order: whom it
// is for, which web page sent it, and which token it shows.
type guard struct {
	doors        http.Handler
	refuse       Refuse
	tokens       *auth.Tokens
	allowed      hosts
	requireToken bool
	log          *slog.Logger
	throttle     throttle
}

// ServeHTTP hands the request to the doors, or refuses it. The context of a
// request with a token has its principal (auth.From).
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	stream := isStream(r.URL.Path)
	if !stream {
		harden(w.Header(), r.URL.Path)
	}
	named := g.allowed.have(r.Host)
	if !named && !isLocal(r.Host) && !bySocket(r) {
		g.refuse(w, r, http.StatusForbidden, hub.E(message.HostRefused, nil, "host", message.Quote(r.Host)))
		return
	}
	if origin := g.foreignOrigin(r, stream, named); origin != "" {
		g.refuse(w, r, http.StatusForbidden, hub.E(message.OriginRefused, nil, "origin", message.Quote(origin)))
		return
	}
	shown := r.Header["Authorization"]
	if len(shown) == 0 || len(shown) == 1 && shown[0] == "" {
		if g.needsToken(r, named) {
			w.Header().Set("WWW-Authenticate", challenge)
			g.refuse(w, r, http.StatusUnauthorized, hub.E(message.TokenRequired, nil))
			return
		}
		g.doors.ServeHTTP(w, r)
		return
	}
	// Two of them are not one that we know.
	if p, ok := g.tokens.Principal(shown[0]); ok && len(shown) == 1 {
		g.doors.ServeHTTP(w, r.WithContext(auth.With(r.Context(), p)))
		return
	}
	g.refuseToken(w, r)
}

// isStream reports whether a path is one of the doors for MCP, which pages of
// this machine may use too: the MCP Inspector is one, at a port of its own.
// All other paths are pages of ours and the API behind them.
func isStream(path string) bool {
	return path == "/mcp" || path == "/sse" || path == "/messages" || strings.HasPrefix(path, "/ws/")
}

// harden tells browsers to take an answer for what it says it is, to tell
// nobody where they come from, and to hand it to no page but ours.
func harden(h http.Header, path string) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if strings.HasPrefix(path, "/api/") {
		h.Set("Cache-Control", "no-store")
	}
}

// bySocket reports whether a request came by the local socket, which no web
// page can reach and nobody but its owner: the name of its host says nothing.
func bySocket(r *http.Request) bool {
	_, ok := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr)
	return ok
}

// foreignOrigin returns the web origin that keeps a request from being served,
// "" if there is none. Programs send no origin; browsers send one with all
// that could change something (Fetch standard, "Origin header").
func (g *guard) foreignOrigin(r *http.Request, stream, named bool) string {
	origins := r.Header["Origin"]
	for _, origin := range origins {
		if stream {
			if host, ok := originHost(origin); ok && (isLocal(host) || g.allowed.have(host)) {
				continue
			}
		} else if len(origins) == 1 && isOwn(origin, r, named) {
			continue
		}
		if origin == "" {
			return "(empty)"
		}
		return origin
	}
	if stream || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return ""
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return site
	}
	return ""
}

// isOwn reports whether an origin is that of the pages served at the very
// address which the request is for. Under a name that was allowed TLS may end
// at a proxy in front.
func isOwn(origin string, r *http.Request, named bool) bool {
	scheme, host, ok := strings.Cut(origin, "://")
	if !ok || !strings.EqualFold(host, r.Host) {
		return false
	}
	return scheme == "https" && (r.TLS != nil || named) || scheme == "http" && r.TLS == nil
}

// needsToken reports whether a request without a token is refused: whoever did
// not come straight from this machine has to show one. A proxy that neither
// names the host asked for nor adds a header of its own cannot be told from a
// local caller; behind such a one a token has to be demanded of everybody.
//
// Who comes by the local socket could read the tokens' files just as well.
func (g *guard) needsToken(r *http.Request, named bool) bool {
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && tellsNothing(r.URL.Path) {
		return false
	}
	if named || g.requireToken && !bySocket(r) {
		return true
	}
	for _, header := range [...]string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"} {
		if len(r.Header[header]) > 0 {
			return true
		}
	}
	return false
}

// tellsNothing reports whether what is at the path says nothing about the hub
// but that it is there: the status page's own files, which ask for a token by
// themselves, and the sign of life.
func tellsNothing(at string) bool {
	return at == "/" || at == "/healthz" || strings.HasPrefix(at, "/ui/") && path.Clean(at) == at
}

// challenge says which credentials are wanted (RFC 6750, section 3).
const challenge = `Bearer realm="toolcrib"`

// refuseToken answers a wrong token. A right one is let in also from an
// address that sends too many wrong ones: behind one proxy everybody has the
// same address, and one of them could else lock out the others.
func (g *guard) refuseToken(w http.ResponseWriter, r *http.Request) {
	wait, first := g.throttle.wrong(addressOf(r.RemoteAddr), time.Now())
	if first {
		g.log.WarnContext(r.Context(), "a wrong token was shown; more of them within a minute are not logged", "address", r.RemoteAddr)
	}
	if wait > 0 {
		seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
		w.Header().Set("Retry-After", seconds)
		g.refuse(w, r, http.StatusTooManyRequests, hub.E(message.TokenThrottled, nil, "seconds", seconds))
		return
	}
	w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token"`)
	g.refuse(w, r, http.StatusUnauthorized, hub.E(message.TokenRefused, nil))
}
