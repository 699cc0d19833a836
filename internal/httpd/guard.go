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
	gate         *auth.Gate
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
	if tokenInURL(r) {
		g.refuse(w, r, http.StatusBadRequest, hub.E(message.TokenInURL, nil))
		return
	}
	shown, ok, e := g.gate.Look(r)
	switch {
	case e != nil:
		g.refuseToken(w, r, e)
	case ok && shown.How == auth.HowSession && changes(r) && !sameOrigin(r, named):
		g.refuse(w, r, http.StatusForbidden, hub.E(message.SameOriginNeeded, nil))
	case ok:
		ctx := auth.WithShown(r.Context(), shown)
		if r.Method == http.MethodGet { // which may be a stream that goes on for ever
			held, release := auth.Hold(ctx)
			defer release()
			ctx = held
		}
		g.doors.ServeHTTP(w, r.WithContext(ctx))
	case g.needsToken(r, named):
		w.Header().Set("WWW-Authenticate", g.gate.Challenge(r, ""))
		g.refuse(w, r, http.StatusUnauthorized, hub.E(message.TokenRequired, nil))
	default:
		g.doors.ServeHTTP(w, r)
	}
}

// tokenInURL reports whether a request has a token where logs, histories and
// Referer headers keep it (RFC 6750, section 5.3).
func tokenInURL(r *http.Request) bool {
	if r.URL.RawQuery == "" {
		return false
	}
	for name := range r.URL.Query() { // without what cannot be read, which no door reads
		if strings.EqualFold(name, "access_token") || strings.EqualFold(name, "token") {
			return true
		}
	}
	return false
}

// changes reports whether a request may change something.
func changes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// sameOrigin reports whether a request says that a page of ours has sent it. A
// foreign one was refused before; this is for what says nothing, as a form does in
// an old browser.
func sameOrigin(r *http.Request, named bool) bool {
	if origins := r.Header["Origin"]; len(origins) > 0 {
		return len(origins) == 1 && isOwn(origins[0], r, named)
	}
	return r.Header.Get("Sec-Fetch-Site") == "same-origin"
}

// isStream reports whether a path is one of the doors for MCP, or tells of them,
// which pages of this machine may use too: the MCP Inspector is one, at a port of
// its own. All other paths are pages of ours and the API behind them.
func isStream(path string) bool { return auth.IsMCP(path) || isMetadata(path) }

// isMetadata reports whether at a path stands who gives tokens for /mcp. Whoever
// reads that has none yet.
func isMetadata(path string) bool {
	const at = "/.well-known/oauth-protected-resource"
	return path == at || strings.HasPrefix(path, at+"/")
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
	if !changes(r) && tellsNothing(r.URL.Path) || r.URL.Path == auth.LogoutPath { // which does nothing without a cookie
		return false
	}
	if named || (g.requireToken || g.gate.Protects(r)) && !bySocket(r) {
		return true
	}
	for _, header := range [...]string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"} {
		if len(r.Header[header]) > 0 {
			return true
		}
	}
	return false
}

// upstreamCallback is where browsers come back to that have logged in at a server;
// they know the login by its state.
const upstreamCallback = "/oauth/callback"

// tellsNothing reports whether what is at the path says nothing about the hub
// but that it is there: the status page's own files, which ask for a token by
// themselves, the sign of life, and how one signs in or gets a token.
func tellsNothing(at string) bool {
	return at == "/" || at == "/healthz" || at == auth.LoginPath || at == auth.CallbackPath || at == upstreamCallback ||
		(strings.HasPrefix(at, "/ui/") || isMetadata(at)) && path.Clean(at) == at
}

// refuseToken answers a token that lets nobody in. One that is not known counts
// as a guess; one that has expired does not, or its client would learn too late
// that it needs another. A right one is let in also from an address that sends too
// many wrong ones: behind one proxy everybody has the same address, and one of
// them could else lock out the others.
func (g *guard) refuseToken(w http.ResponseWriter, r *http.Request, e *hub.Error) {
	switch e.Code {
	case message.TokenExpired:
		w.Header().Set("WWW-Authenticate", g.gate.Challenge(r, "invalid_token"))
		g.refuse(w, r, http.StatusUnauthorized, e)
		return
	case message.ScopeInsufficient:
		w.Header().Set("WWW-Authenticate", g.gate.StepUp(r))
		g.refuse(w, r, http.StatusForbidden, e)
		return
	case message.IssuerUnreachable:
		g.log.WarnContext(r.Context(), "an access token cannot be checked", "error", e)
		w.Header().Set("Retry-After", "10")
		g.refuse(w, r, http.StatusServiceUnavailable, e)
		return
	}
	wait, first := g.throttle.wrong(auth.AddressOf(r.RemoteAddr), time.Now())
	if first {
		g.log.WarnContext(r.Context(), "a wrong token was shown; more of them within a minute are not logged", "address", r.RemoteAddr)
	}
	if wait > 0 {
		seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
		w.Header().Set("Retry-After", seconds)
		g.refuse(w, r, http.StatusTooManyRequests, hub.E(message.TokenThrottled, nil, "seconds", seconds))
		return
	}
	w.Header().Set("WWW-Authenticate", g.gate.Challenge(r, "invalid_token"))
	g.refuse(w, r, http.StatusUnauthorized, e)
}
