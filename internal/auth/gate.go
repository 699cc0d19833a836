package auth

import (
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// GateOptions are what a [Gate] is made of. All but Tokens may be left out.
type GateOptions struct {
	Tokens *Tokens
	Book   *Book                                // nil: there are no tokens but the two
	Client *http.Client                         // how issuers are asked; nil for the usual way
	Secret func(setting string) (string, error) // fills in what a setting refers to
	Log    *slog.Logger
}

// Gate finds out who makes a request. Safe for concurrent use.
type Gate struct {
	opt      GateOptions
	settings atomic.Pointer[settings]
}

// settings is what holds now. It is not changed once it is there.
type settings struct {
	said     hub.Auth
	login    *Login
	resource *resource
}

// NewGate returns a gate that lets in who shows one of our tokens; see [Gate.Set].
func NewGate(opt GateOptions) *Gate {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	g := &Gate{opt: opt}
	g.settings.Store(&settings{})
	return g
}

// Set puts in force what a configuration says. What did not change keeps what is
// known of it.
func (g *Gate) Set(said hub.Auth) {
	old := g.settings.Load()
	next := &settings{said: said, login: old.login, resource: old.resource}
	if !reflect.DeepEqual(old.said.Login, said.Login) {
		next.login = nil
		if said.Login != nil {
			next.login = newLogin(*said.Login, g.opt, g.hasTenant)
		}
	}
	if !reflect.DeepEqual(old.said.Protected, said.Protected) {
		next.resource = nil
		if said.Protected != nil && len(said.Protected.Issuers) > 0 {
			next.resource = newResource(*said.Protected, g.opt.Client, g.hasTenant)
		}
	}
	g.settings.Store(next)
}

func (g *Gate) hasTenant(name string) bool {
	return g.opt.Book != nil && g.opt.Book.HasTenant(name)
}

// Login is how people sign in; nil if they cannot.
func (g *Gate) Login() *Login { return g.settings.Load().login }

// Book is the tokens, tenants and sessions; nil if there are none.
func (g *Gate) Book() *Book { return g.opt.Book }

// Metadata is what is told of /mcp as a protected resource, or of the address of a
// group; false if it is none.
func (g *Gate) Metadata(r *http.Request, group string) (Metadata, bool) {
	if resource := g.settings.Load().resource; resource != nil {
		return resource.metadata(r, group)
	}
	return Metadata{}, false
}

// Protects reports whether a request is for a door of MCP while /mcp is a protected
// resource: whoever comes to it shows a token, also on this machine.
func (g *Gate) Protects(r *http.Request) bool {
	return g.settings.Load().resource != nil && IsMCP(r.URL.Path)
}

// IsMCP reports whether a path is one of the doors for MCP, that of a group among
// them. It is the one answer to that: who may come from which page, who needs a
// token there, and how a refusal reads hang on it.
func IsMCP(path string) bool {
	return isResource(path) || path == "/sse" || strings.HasPrefix(path, "/sse/") || path == "/messages" || strings.HasPrefix(path, "/ws/")
}

// isResource reports whether a path is that of the protected resource.
func isResource(path string) bool {
	return path == resourcePath || strings.HasPrefix(path, resourcePath+"/")
}

// Challenge is what WWW-Authenticate says to who shows nothing, or something that
// is no good: fault is then why (RFC 6750, section 3.1).
func (g *Gate) Challenge(r *http.Request, fault string) string {
	if resource := g.settings.Load().resource; resource != nil && isResource(r.URL.Path) {
		if c := resource.challenge(r, fault); c != "" {
			return c
		}
	}
	if fault != "" {
		return `Bearer realm="toolcrib", error="` + fault + `"`
	}
	return `Bearer realm="toolcrib"`
}

// StepUp is the challenge to who shows an access token that allows nothing here.
func (g *Gate) StepUp(r *http.Request) string {
	if resource := g.settings.Load().resource; resource != nil {
		return resource.stepUp(r, resource.issuers[0], hub.MayCall)
	}
	return g.Challenge(r, "insufficient_scope")
}

// Look finds out who makes a request. It is false if nothing was shown that says
// so. Errors are token_refused for what is not known, which is to be counted;
// token_expired for what was good once; and of access tokens scope_insufficient and
// issuer_unreachable.
//
// A cookie counts only for the API and for signing out, and one that is not good
// any more counts for nothing: browsers send it by themselves.
func (g *Gate) Look(r *http.Request) (Shown, bool, *hub.Error) {
	values := r.Header["Authorization"]
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		s, ok := g.cookie(r)
		return s, ok, nil
	}
	if len(values) > 1 { // two of them are not one that we know
		return Shown{}, false, hub.E(message.TokenRefused, nil)
	}
	if len(values[0]) <= maxShown {
		if p, ok := g.opt.Tokens.Principal(values[0]); ok {
			return Shown{Principal: p, How: HowFile}, true, nil
		}
	}
	token, ok := bearer(values[0])
	if !ok {
		return Shown{}, false, hub.E(message.TokenRefused, nil)
	}
	if strings.HasPrefix(token, tokenPrefix) && g.opt.Book != nil {
		s, known, good := g.opt.Book.token(token, time.Now())
		switch {
		case good:
			return s, true, nil
		case known:
			return Shown{}, false, hub.E(message.TokenExpired, nil)
		}
		return Shown{}, false, hub.E(message.TokenRefused, nil)
	}
	if resource := g.settings.Load().resource; resource != nil && isResource(r.URL.Path) {
		s, e := resource.verify(r, token)
		return s, e == nil, e
	}
	return Shown{}, false, hub.E(message.TokenRefused, nil)
}

// The paths of signing in and out.
const (
	LoginPath    = "/auth/login"
	CallbackPath = "/auth/callback"
	LogoutPath   = "/auth/logout"
)

// The names of our cookies. Those with the prefix a browser takes only over TLS,
// from this very host and for all of it (RFC 6265bis, section 4.1.3.2).
const (
	sessionCookie = "toolcrib_session"
	flowCookie    = "toolcrib_login"
	securePrefix  = "__Host-"
)

// cookie finds who is signed in.
func (g *Gate) cookie(r *http.Request) (Shown, bool) {
	if g.opt.Book == nil || !strings.HasPrefix(r.URL.Path, "/api/") && r.URL.Path != LogoutPath {
		return Shown{}, false
	}
	value := g.SessionCookie(r)
	if value == "" {
		return Shown{}, false
	}
	s, ok := g.opt.Book.session(r.Context(), value, time.Now())
	return s, ok
}

// SessionCookie is what the cookie of the login session holds; "" if there is none,
// or more than one.
func (g *Gate) SessionCookie(r *http.Request) string { return g.one(r, sessionCookie) }

// FlowCookie is what the cookie of a login under way holds.
func (g *Gate) FlowCookie(r *http.Request) string { return g.one(r, flowCookie) }

func (g *Gate) one(r *http.Request, name string) string {
	found := r.CookiesNamed(g.cookieName(r, name))
	if len(found) != 1 {
		return ""
	}
	return found[0].Value
}

// SetSession is the cookie of a login session; with no value it takes it away.
func (g *Gate) SetSession(r *http.Request, value string, end time.Time) *http.Cookie {
	return g.baked(r, sessionCookie, value, end)
}

// SetFlow is the cookie of a login under way; with no value it takes it away.
func (g *Gate) SetFlow(r *http.Request, value string) *http.Cookie {
	return g.baked(r, flowCookie, value, time.Now().Add(flowLife))
}

func (g *Gate) baked(r *http.Request, name, value string, end time.Time) *http.Cookie {
	c := &http.Cookie{
		Name: g.cookieName(r, name), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: g.secure(r), Expires: end.UTC(),
	}
	if value == "" {
		c.MaxAge, c.Expires = -1, time.Unix(1, 0)
	}
	return c
}

func (g *Gate) cookieName(r *http.Request, name string) string {
	if g.secure(r) {
		return securePrefix + name
	}
	return name
}

// secure reports whether browsers come over TLS, which may end at a proxy.
func (g *Gate) secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	login := g.Login()
	return login != nil && strings.HasPrefix(login.settings.RedirectURL, "https://")
}

// Origin is where a browser asks, "https://hub.example:8443", as far as that can be
// told: a proxy before us may speak TLS, so that of other names than the loopback's
// it is not known. "" then.
func Origin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	if hub.IsLoopback(strings.Trim(name, "[]")) {
		return "http://" + r.Host
	}
	return ""
}
