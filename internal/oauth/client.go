package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// clientFor returns who the hub is to an authorization server: the client that the
// configuration names; else, if the server takes that, the one that the document at
// an address describes; else one that registers itself, once for each issuer
// (2025-11-25, "Client Registration Approaches").
func (k *Keeper) clientFor(ctx context.Context, r *reach, at *place, conf *hub.OAuth, redirect string) (*client, *trouble) {
	methods := at.server.TokenEndpointAuthMethodsSupported
	switch {
	case conf.ClientID != "":
		return configured(conf, methods), nil
	case conf.MetadataURL != "" && at.server.ClientIDMetadataDocumentSupported:
		c := &client{ID: conf.MetadataURL, Auth: authNone}
		if conf.PrivateKey != "" && slices.Contains(methods, authKey) {
			c.Auth, c.key = authKey, conf.PrivateKey
		}
		return c, nil
	case at.server.RegistrationEndpoint == "":
		return nil, fault(message.Say("the authorization server %s knows clients only that were registered by hand; set \"oauth.clientId\"",
			message.Quote(origin(at.server.Issuer))))
	}
	if known := k.registered(at.server.Issuer, redirect); known != nil {
		return known, nil
	}
	c, t := r.register(ctx, at, redirect)
	if t != nil {
		return nil, t
	}
	k.keepClient(at.server.Issuer, redirect, c)
	return c, nil
}

// unsaid reports whether a secret is configured, and not for which authorization
// server: it goes to none then, as it would go to any that the MCP server names.
func unsaid(conf *hub.OAuth) bool { return conf.ClientSecret != "" && conf.AuthorizationServer == "" }

// issuerUnsaid is what is wrong then, with an authorization server that is named.
func issuerUnsaid(issuer string) *trouble {
	return fault(message.Say("it names the authorization server %s; if \"oauth.clientSecret\" is of a client there, set \"oauth.authorizationServer\" to that address, as it is sent nowhere else",
		message.Quote(short(issuer, 200))))
}

// configured is the client that the configuration names.
func configured(conf *hub.OAuth, methods []string) *client {
	c := &client{ID: conf.ClientID, Secret: conf.ClientSecret, key: conf.PrivateKey}
	switch {
	case conf.PrivateKey != "":
		c.Auth = authKey
	case conf.ClientSecret == "":
		c.Auth = authNone
	case !slices.Contains(methods, authBasic) && slices.Contains(methods, authPost):
		c.Auth = authPost
	default: // RFC 8414: what it is if the server does not say
		c.Auth = authBasic
	}
	return c
}

// register has the hub register itself as a client (RFC 7591).
func (r *reach) register(ctx context.Context, at *place, redirect string) (*client, *trouble) {
	refused := func(detail message.Phrase) *trouble {
		return fault(message.Say("the authorization server %s does not let Toolcrib register itself: %s", message.Quote(origin(at.server.Issuer)), detail))
	}
	asked := wayOf(at.server.TokenEndpointAuthMethodsSupported)
	meta := &oauthex.ClientRegistrationMetadata{
		ClientName: "Toolcrib", RedirectURIs: []string{redirect},
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: asked, ApplicationType: applicationType(redirect),
	}
	body, err := json.Marshal(meta)
	if err != nil {
		return nil, refused(message.Say("what it is told cannot be written"))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.server.RegistrationEndpoint, bytes.NewReader(body))
	if err != nil {
		return nil, refused(why(errScheme))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	said, err := r.do(req)
	switch {
	case err != nil:
		return nil, refused(why(err))
	case said.status != http.StatusCreated && said.status != http.StatusOK:
		t := refused(refusal(said.status, said.body).detail)
		t.nothing = !at.found // there is no authorization server where one was guessed
		return nil, t
	}
	// Of the SDK's shape of it, members that do not matter make an answer unusable.
	var got struct {
		ID      string `json:"client_id"`
		Secret  string `json:"client_secret"`
		Auth    string `json:"token_endpoint_auth_method"`
		Expires int64  `json:"client_secret_expires_at"`
	}
	if json.Unmarshal(said.body, &got) != nil || got.ID == "" || len(got.ID) > maxToken || len(got.Secret) > maxToken {
		return nil, refused(message.Say("its answer cannot be read"))
	}
	c := &client{ID: got.ID, Secret: got.Secret, Auth: got.Auth, Dynamic: true}
	if got.Expires > 0 {
		c.Expires = time.Unix(got.Expires, 0)
	}
	switch {
	case c.Secret == "":
		c.Auth = authNone
	case c.Auth == "":
		c.Auth = asked
	case c.Auth != authNone && c.Auth != authBasic && c.Auth != authPost:
		return nil, refused(message.Say("it wants clients to authenticate by %s", message.Quote(short(c.Auth, 64))))
	}
	return c, nil
}

// wayOf is how the hub asks to show who it is. A program on somebody's machine has
// no secret that were one; so it is without, where the server lets it.
func wayOf(methods []string) string {
	for _, way := range [...]string{authNone, authBasic, authPost} {
		if slices.Contains(methods, way) {
			return way
		}
	}
	return authBasic // RFC 8414, section 2
}

// applicationType says whether the browser comes back to this machine or to a site
// (OpenID Connect Dynamic Client Registration, section 2).
func applicationType(redirect string) string {
	if u, err := url.Parse(redirect); err == nil && !isLoopbackName(u.Hostname()) {
		return "web"
	}
	return "native"
}

// good reports whether a client can still be used.
func (c *client) good(now time.Time) bool { return c.Expires.IsZero() || now.Before(c.Expires) }
