package oauth

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/toolcrib/toolcrib/internal/message"
)

// challenge is what a server says with 401 or 403 about how it lets in (RFC 6750,
// section 3; RFC 9728, section 5.1).
type challenge struct {
	bearer   bool
	err      string // such as insufficient_scope
	scopes   []string
	metadata string // address of the metadata of the resource
}

// challengeOf reads the challenges of an answer. One that cannot be read is none.
func challengeOf(h http.Header) challenge {
	var c challenge
	for _, line := range h.Values("Www-Authenticate") {
		if len(line) > 8<<10 {
			continue
		}
		all, err := oauthex.ParseWWWAuthenticate([]string{line})
		if err != nil {
			c.bearer = c.bearer || strings.EqualFold(firstWord(line), "bearer")
			continue
		}
		for _, one := range all {
			if at := one.Params["resource_metadata"]; c.metadata == "" {
				c.metadata = at
			}
			if one.Scheme != "bearer" {
				continue
			}
			c.bearer = true
			if c.err == "" {
				c.err = one.Params["error"]
			}
			if c.scopes == nil && one.Params["scope"] != "" {
				c.scopes = words(one.Params["scope"])
			}
		}
	}
	return c
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return word
}

// maxScopes bounds those that a server can have asked for.
const maxScopes = 64

// words are the scopes of a text, each once and sorted.
func words(text string) []string { return union(strings.Fields(text)) }

// union is what is in any of the lists, sorted; nil for nothing.
func union(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		for _, s := range list {
			if scopeToken(s) {
				all = append(all, s)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxScopes)]
}

// scopeToken reports whether a text is one scope (RFC 6749, section 3.3).
func scopeToken(s string) bool {
	return s != "" && len(s) <= 256 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// within reports whether all of the scopes are among the others.
func within(scopes, others []string) bool {
	return !slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(others, s) })
}

// place is where tokens for a server come from.
type place struct {
	resource string // as its metadata have it, or the server's URL
	scopes   []string
	server   oauthex.AuthServerMeta
	found    bool // there are metadata, and no endpoints were guessed
	legacy   bool // there are none of the resource: the way of 2025-03-26
}

// trouble is why no place was found, in words for people.
type trouble struct {
	detail  message.Phrase
	passing bool // it may be another matter later
	nothing bool // there is nothing that speaks of OAuth
}

func (t *trouble) Error() string { return t.detail.String() }

func fault(detail message.Phrase) *trouble { return &trouble{detail: detail} }

// find looks for the place, by what the server said. prefer is the authorization
// server that is configured, "" for the first one.
func (r *reach) find(ctx context.Context, server *url.URL, said challenge, prefer string) (*place, *trouble) {
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	p, t := r.resource(ctx, server, said)
	if t != nil {
		return nil, t
	}
	issuers := []string{prefer}
	if p != nil {
		issuers = p.AuthorizationServers
	}
	at := &place{resource: server.String()}
	switch {
	case p == nil && prefer == "":
		root := *server
		root.Path, root.RawPath, root.RawQuery = "", "", ""
		at.legacy = true
		issuers = []string{root.String()}
	case p == nil:
	default:
		at.resource, at.scopes = p.Resource, union(p.ScopesSupported)
	}
	issuer := ""
	switch {
	case len(issuers) == 0:
		return nil, fault(message.Say("its metadata name no authorization server"))
	case prefer == "":
		issuer = issuers[0]
	default:
		i := slices.IndexFunc(issuers, func(one string) bool { return sameIssuer(one, prefer) })
		if i < 0 {
			return nil, fault(message.Say("its metadata do not name the authorization server %s, which is configured", message.Quote(prefer)))
		}
		issuer = issuers[i]
	}
	meta, t := r.authorizationServer(ctx, issuer)
	switch {
	case t != nil:
		return nil, t
	case meta != nil:
		at.server, at.found = *meta, true
	case !at.legacy:
		return nil, fault(message.Say("the authorization server %s says nothing about itself", message.Quote(issuer)))
	default:
		// 2025-03-26, "Fallbacks for Servers without Metadata Discovery".
		at.server = oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token",
			RegistrationEndpoint: issuer + "/register", CodeChallengeMethodsSupported: []string{methodS256},
		}
	}
	return at, nil
}

// methodS256 is the one way of PKCE that is used (RFC 7636, section 4.2).
const methodS256 = "S256"

// sameIssuer compares issuers as far as their writers make them differ by
// accident. What a login comes back with is compared to the letter.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// resource returns the metadata of a server as a protected resource (RFC 9728);
// nil if it has none.
func (r *reach) resource(ctx context.Context, server *url.URL, said challenge) (*oauthex.ProtectedResourceMetadata, *trouble) {
	var places []string
	if said.metadata != "" {
		places = append(places, said.metadata)
	}
	root := url.URL{Scheme: server.Scheme, Host: server.Host, Path: "/.well-known/oauth-protected-resource"}
	if path := strings.TrimRight(server.Path, "/"); path != "" {
		below := root
		below.Path += path
		places = append(places, below.String())
	}
	places = append(places, root.String())
	var passing *trouble
	for i, at := range places {
		var m oauthex.ProtectedResourceMetadata
		there, t := r.fetch(ctx, at, &m)
		if t != nil {
			t.detail = message.Say("its metadata: %s", t.detail)
			if i == 0 && said.metadata != "" {
				return nil, t // where the server itself says that they are
			}
			passing = t
			continue
		}
		if !there {
			continue
		}
		if !covers(m.Resource, server) {
			return nil, fault(message.Say("its metadata are those of %s, which is another one", message.Quote(origin(m.Resource))))
		}
		return &m, nil
	}
	if passing != nil && passing.passing {
		return nil, passing
	}
	return nil, nil
}

// origin is what may be shown of an address.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "?"
	}
	return u.Scheme + "://" + u.Host
}

// covers reports whether a token for the resource is for the server: both are the
// same, or the server is below it on the same host. Another resource, or another
// host, would get a token that is good elsewhere.
func covers(resource string, server *url.URL) bool {
	u, err := url.Parse(resource)
	if err != nil || u.Fragment != "" || u.User != nil || !strings.EqualFold(u.Scheme, server.Scheme) || !strings.EqualFold(u.Host, server.Host) {
		return false
	}
	above, here := strings.TrimRight(u.Path, "/"), strings.TrimRight(server.Path, "/")
	return (u.RawQuery == "" || u.RawQuery == server.RawQuery) && (above == here || strings.HasPrefix(here, above+"/"))
}

// authorizationServer returns the metadata of an authorization server by its
// issuer (RFC 8414; OpenID Connect Discovery); nil if it has none.
func (r *reach) authorizationServer(ctx context.Context, issuer string) (*oauthex.AuthServerMeta, *trouble) {
	base, err := url.Parse(issuer)
	if err != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fault(message.Say("its metadata name an authorization server without a usable address"))
	}
	at := func(path string) string {
		u := url.URL{Scheme: base.Scheme, Host: base.Host, Path: path, User: base.User}
		return u.String()
	}
	const rfc, oidc = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	places := []string{at(rfc), at(oidc)}
	if path := strings.TrimRight(base.Path, "/"); path != "" {
		places = []string{at(rfc + path), at(oidc + path), at(path + oidc)}
	}
	var passing *trouble
	for _, one := range places {
		var m oauthex.AuthServerMeta
		there, t := r.fetch(ctx, one, &m)
		switch {
		case t != nil:
			t.detail = message.Say("the authorization server %s: %s", message.Quote(origin(issuer)), t.detail)
			passing = t
			continue
		case !there:
			continue
		case !sameIssuer(m.Issuer, issuer):
			return nil, fault(message.Say("the authorization server %s calls itself %s", message.Quote(issuer), message.Quote(m.Issuer)))
		}
		return &m, r.endpoints(&m)
	}
	return nil, passing
}

// endpoints checks the addresses that an authorization server names.
func (r *reach) endpoints(m *oauthex.AuthServerMeta) *trouble {
	for _, e := range []struct{ name, address string }{
		{"authorization_endpoint", m.AuthorizationEndpoint},
		{"token_endpoint", m.TokenEndpoint},
		{"registration_endpoint", m.RegistrationEndpoint},
		{"revocation_endpoint", m.RevocationEndpoint},
	} {
		if e.address == "" {
			continue
		}
		u, err := url.Parse(e.address)
		if err == nil {
			err = r.may(u)
		}
		if err != nil || u.Fragment != "" {
			return fault(message.Say("the authorization server %s names a %s that is not gone to: %s", message.Quote(origin(m.Issuer)), message.Verbatim(e.name), why(err)))
		}
	}
	if m.TokenEndpoint == "" {
		return fault(message.Say("the authorization server %s names no %s", message.Quote(origin(m.Issuer)), message.Verbatim("token_endpoint")))
	}
	return nil
}

// fetch gets a document of metadata, and reports whether there is one. A page that
// is no JSON is none: many servers answer every path with one.
func (r *reach) fetch(ctx context.Context, at string, into any) (bool, *trouble) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return false, fault(message.Say("its address cannot be read"))
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	got, err := r.do(req)
	switch {
	case err != nil:
		refused := isRefusal(err)
		return false, &trouble{detail: why(err), passing: !refused}
	case got.status >= http.StatusInternalServerError || got.status == http.StatusTooManyRequests:
		return false, &trouble{detail: status(got.status), passing: true}
	case got.status != http.StatusOK || !got.json:
		return false, nil
	}
	if json.Unmarshal(got.body, into) != nil {
		return false, fault(message.Say("what is there cannot be read"))
	}
	return true, nil
}
