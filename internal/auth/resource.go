package auth

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// The paths of what is told about the resource (RFC 9728, section 3).
const (
	resourcePath = "/mcp"
	metadataPath = "/.well-known/oauth-protected-resource"
)

// resource is /mcp as a protected resource of OAuth.
type resource struct {
	settings hub.Protected
	issuers  []*authServer
	tenants  func(string) bool
}

// authServer is an authorization server whose tokens are good here.
type authServer struct {
	hub.Issuer
	keys *keySet
}

func newResource(settings hub.Protected, client *http.Client, tenants func(string) bool) *resource {
	r := &resource{settings: settings, tenants: tenants}
	for _, one := range settings.Issuers {
		if len(one.Scopes) == 0 {
			one.Scopes = hub.DefaultScopes()
		}
		keys := &keySet{client: bounded(client), where: func(ctx context.Context) (string, error) {
			if one.JWKS != "" {
				return one.JWKS, nil
			}
			m, err := discover(ctx, bounded(client), one.Issuer)
			if err == nil && m.JWKS == "" {
				err = errors.New("the issuer does not say where its keys are")
			}
			return m.JWKS, err
		}}
		r.issuers = append(r.issuers, &authServer{one, keys})
	}
	return r
}

// url is the address of /mcp as the client of a request knows it; "" if that is
// not known. Where the configuration does not name it, it is that of the listener
// itself, which has to be of the loopback: a token for another address must not be
// good here because somebody says that this were the address.
func (r *resource) url(req *http.Request) string {
	if r.settings.URL != "" {
		return r.settings.URL
	}
	local, ok := req.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() {
		return ""
	}
	scheme := "http://"
	if req.TLS != nil {
		scheme = "https://"
	}
	address := local.String()
	if host, port, err := net.SplitHostPort(req.Host); err == nil && hub.IsLoopback(host) {
		if _, own, err := net.SplitHostPort(address); err == nil && own == port {
			address = req.Host
		}
	}
	return scheme + address + resourcePath
}

// at is the address that a request is for: that of /mcp or, below it, of a group.
func (r *resource) at(req *http.Request) string {
	base := r.url(req)
	if base == "" {
		return ""
	}
	if group, ok := strings.CutPrefix(req.URL.EscapedPath(), resourcePath+"/"); ok && group != "" {
		return strings.TrimSuffix(base, "/") + "/" + group
	}
	return base
}

// audiences are those for which a token may be made to be good for a request to
// an issuer's resource.
func (r *resource) audiences(req *http.Request, of *authServer) []string {
	if of.Audience != "" {
		return []string{of.Audience}
	}
	base := r.url(req)
	if base == "" {
		return nil
	}
	return []string{base, r.at(req)}
}

// verify finds out who shows an access token. Errors are token_refused,
// token_expired, scope_insufficient and issuer_unreachable.
func (r *resource) verify(req *http.Request, token string) (Shown, *hub.Error) {
	refused := hub.E(message.TokenRefused, nil)
	head, said, ok := peek(token)
	if !ok {
		return Shown{}, refused
	}
	name, _ := said.text("iss")
	at := slices.IndexFunc(r.issuers, func(i *authServer) bool { return i.Issuer.Issuer == name })
	if at < 0 || !isAccess(head, said) {
		return Shown{}, refused
	}
	of := r.issuers[at]
	payload, err := of.keys.VerifySignature(req.Context(), token)
	switch {
	case errors.Is(err, errUnreachable):
		return Shown{}, hub.E(message.IssuerUnreachable, err, "issuer", of.Issuer.Issuer)
	case err != nil:
		return Shown{}, refused
	}
	if said, ok = readClaims(payload); !ok {
		return Shown{}, refused
	}
	allowed := r.audiences(req, of)
	if !slices.ContainsFunc(said.list("aud"), func(a string) bool { return slices.Contains(allowed, a) }) {
		return Shown{}, refused
	}
	expires, ok := inTime(said, time.Now())
	if !ok {
		return Shown{}, hub.E(message.TokenExpired, nil)
	}
	return r.person(req, of, said, expires)
}

// person is whom a token of an issuer speaks of.
func (r *resource) person(req *http.Request, of *authServer, said claims, expires time.Time) (Shown, *hub.Error) {
	subject, ok := said.name(cmp.Or(of.SubjectClaim, "sub"))
	if !ok {
		return Shown{}, hub.E(message.TokenRefused, nil)
	}
	tenant := ""
	if of.TenantClaim != "" {
		if tenant, ok = said.name(of.TenantClaim); !ok || !r.tenants(tenant) {
			return Shown{}, hub.E(message.TokenRefused, nil)
		}
	}
	role := of.role(said)
	if role == "" {
		return Shown{}, hub.E(message.ScopeInsufficient, nil, "scopes", strings.Join(r.scopes(of, hub.MayCall), ", "))
	}
	s := Shown{
		Principal: hub.Principal{Subject: qualified(of.Issuer.Issuer, subject), Role: role, Tenant: tenant},
		How:       HowOAuth, Expires: expires, grace: leeway,
	}
	s.Name, _ = said.name("client_id")
	s.stepUp = func(right hub.Right) string { return r.stepUp(req, of, right) }
	return s, nil
}

// role is what the scopes of a token allow.
func (i *authServer) role(said claims) hub.Role {
	var roles []hub.Role
	for _, claim := range []string{"scope", "scp"} {
		for _, text := range said.list(claim) {
			for scope := range strings.FieldsSeq(text) {
				if role, ok := i.Scopes[scope]; ok {
					roles = append(roles, role)
				}
			}
		}
	}
	return hub.RoleOf(roles...)
}

// scopes are those that an issuer can give for a right: those of the least role
// that has it.
func (r *resource) scopes(of *authServer, right hub.Right) []string {
	for _, role := range hub.Roles {
		if !role.May(right) {
			continue
		}
		var all []string
		for _, scope := range slices.Sorted(maps.Keys(of.Scopes)) {
			if of.Scopes[scope] == role {
				all = append(all, scope)
			}
		}
		if len(all) > 0 {
			return all[:1]
		}
	}
	return nil
}

// challenge is what a client is told that shows no token, or one that is no good:
// where it learns who gives some (MCP 2026-07-28, "Authorization").
func (r *resource) challenge(req *http.Request, fault string) string {
	address := r.metadataURL(req)
	if address == "" {
		return ""
	}
	parts := []string{`Bearer resource_metadata="` + address + `"`}
	if scopes := r.scopes(r.issuers[0], hub.MayCall); len(scopes) > 0 {
		parts = append(parts, `scope="`+strings.Join(scopes, " ")+`"`)
	}
	if fault != "" {
		parts = append(parts, `error="`+fault+`"`)
	}
	return strings.Join(parts, ", ")
}

// stepUp is the challenge for who has a token without a right.
func (r *resource) stepUp(req *http.Request, of *authServer, right hub.Right) string {
	c := `Bearer error="insufficient_scope"`
	if scopes := r.scopes(of, right); len(scopes) > 0 {
		c += `, scope="` + strings.Join(scopes, " ") + `"`
	}
	if address := r.metadataURL(req); address != "" {
		c += `, resource_metadata="` + address + `"`
	}
	return c
}

// metadataURL is where the metadata of what a request is for stand.
func (r *resource) metadataURL(req *http.Request) string {
	u, err := url.Parse(r.at(req))
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host + metadataPath + u.EscapedPath()
}

// Metadata is what a resource tells of itself (RFC 9728, section 2).
type Metadata struct {
	Resource string   `json:"resource"`
	Issuers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
	Methods  []string `json:"bearer_methods_supported"`
	Name     string   `json:"resource_name"`
}

// metadata is about /mcp or, with a group, about that group's address.
func (r *resource) metadata(req *http.Request, group string) (Metadata, bool) {
	base := r.url(req)
	if base == "" {
		return Metadata{}, false
	}
	m := Metadata{Resource: base, Methods: []string{"header"}, Name: "Toolcrib"}
	if group != "" {
		m.Resource = strings.TrimSuffix(base, "/") + "/" + url.PathEscape(group)
	}
	for _, i := range r.issuers {
		m.Issuers = append(m.Issuers, i.Issuer.Issuer)
		for _, scope := range slices.Sorted(maps.Keys(i.Scopes)) {
			if !slices.Contains(m.Scopes, scope) {
				m.Scopes = append(m.Scopes, scope)
			}
		}
	}
	return m, true
}
