package config

import (
	"net/textproto"
	"net/url"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// readOAuth reads "oauth": an object, or whether it is to be at all. What other
// programs have in theirs is read as well, as far as it means the same.
func (e *entry) readOAuth(m member) {
	o := &hub.OAuth{}
	switch m.value.Value.Kind() {
	case 't':
	case 'f':
		o.Off = true
	case '"':
		if e.plain(m.name, m.value) != "oauth" { // else it may be a key, which goes elsewhere
			e.warn(m.at, "%s%s has no effect: %s", e.where, quoted(m.name), message.Term("a key goes into \"apiKey\""))
			return
		}
	case '{':
		e.oauthParts(o, m)
	default:
		e.wrong(m.name, m.value, "an object, true or false")
		return
	}
	e.server.OAuth = o
}

func (e *entry) oauthParts(o *hub.OAuth, m member) {
	text := func(to *string) func(member) { return func(m member) { *to = e.text(m.name, m.value) } }
	scopes := func(m member) { o.Scopes = e.oauthScopes(m) }
	e.parts(m,
		part{"type", func(m member) {
			if e.plain(m.name, m.value) != "oauth" {
				e.problem(m.value.StartOffset, `%s%s must be "oauth"`, e.where, quoted(m.name))
			}
		}},
		part{"enabled", func(m member) {
			if on := e.flag(m); on != nil {
				o.Off = !*on
			}
		}},
		part{"grant", func(m member) { e.readGrant(o, m) }},
		part{"clientId", text(&o.ClientID)},
		part{"CLIENT_ID", text(&o.ClientID)},
		part{"clientSecret", text(&o.ClientSecret)},
		part{"CLIENT_SECRET", text(&o.ClientSecret)},
		part{"privateKey", text(&o.PrivateKey)},
		part{"clientMetadataURL", func(m member) {
			o.MetadataURL = e.text(m.name, m.value)
			if u, err := url.Parse(o.MetadataURL); o.MetadataURL != "" && (err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "") {
				e.problem(m.value.StartOffset, `%s%s must be an address of https with a path`, e.where, quoted(m.name))
			}
		}},
		part{"authorizationServer", func(m member) {
			o.AuthorizationServer = e.text(m.name, m.value)
			if u, err := url.Parse(o.AuthorizationServer); o.AuthorizationServer != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
				e.problem(m.value.StartOffset, `%s%s must begin with https:// or http://`, e.where, quoted(m.name))
			}
		}},
		part{"scopes", scopes},
		part{"scope", scopes},
		part{"shared", func(m member) { e.set(&o.Shared, m) }},
	)
	switch {
	case o.ClientSecret != "" && o.PrivateKey != "":
		e.problem(m.value.StartOffset, `%s%s has both a "clientSecret" and a "privateKey"`, e.where, quoted(m.name))
	case o.ClientID == "" && (o.ClientSecret != "" || o.PrivateKey != "" && o.MetadataURL == ""):
		e.problem(m.value.StartOffset, "%s%s needs %s", e.where, quoted(m.name), quoted(m.name+".clientId"))
	case o.Grant == hub.GrantClient && (o.ClientID == "" || o.ClientSecret == "" && o.PrivateKey == ""):
		e.problem(m.value.StartOffset, `%sthe grant "client_credentials" needs a "clientId", and a "clientSecret" or "privateKey"`, e.where)
	}
}

func (e *entry) readGrant(o *hub.OAuth, m member) {
	switch g := hub.Grant(e.plain(m.name, m.value)); g {
	case hub.GrantClient:
		o.Grant = g
	case hub.GrantCode, "":
	default:
		e.problem(m.value.StartOffset, `%s%s must be "authorization_code" or "client_credentials", not %s`, e.where, quoted(m.name), quoted(string(g)))
	}
}

// oauthScopes reads an array of scopes, or a text of them.
func (e *entry) oauthScopes(m member) []string {
	if m.value.Value.Kind() == '"' {
		return e.checkedScopes(m, strings.Fields(e.plain(m.name, m.value)))
	}
	return e.checkedScopes(m, e.texts(m))
}

func (e *entry) checkedScopes(m member, scopes []string) []string {
	for _, s := range scopes {
		if s == "" || !isScope(s) {
			e.problem(m.value.StartOffset, "%s%s has a character that no scope can have", e.where, quoted(m.name))
			return nil
		}
	}
	return scopes
}

// settleOAuth warns of a login that there never is, since the server gets other
// credentials, or it is not said for whom the secret is.
func (e *entry) settleOAuth() {
	if e.server.OAuth == nil || e.server.OAuth.Off {
		return
	}
	for name := range e.server.Headers {
		if textproto.CanonicalMIMEHeaderKey(name) == "Authorization" {
			e.warn(e.has["oauth"].at, `%s%s has no effect, since the server gets an Authorization from "headers" or "apiKey"`, e.where, quoted(e.has["oauth"].name))
			return
		}
	}
	if o := e.server.OAuth; o.ClientSecret != "" && o.AuthorizationServer == "" {
		e.warn(e.has["oauth"].at, `%s%s has a "clientSecret" and no "authorizationServer", without which it is sent to nobody`, e.where, quoted(e.has["oauth"].name))
	}
}

// oauth fills in what is said of OAuth.
func (f *filling) oauth(s *hub.Server) {
	if s.OAuth == nil {
		return
	}
	o := *s.OAuth
	for _, text := range []*string{&o.ClientID, &o.MetadataURL, &o.AuthorizationServer} {
		*text = f.text(*text)
	}
	for _, text := range []*string{&o.ClientSecret, &o.PrivateKey} {
		*text = f.text(*text)
		f.hide(*text)
	}
	s.OAuth = &o
}

// oauth renders what is said of OAuth.
func (r *rendering) oauth(s *hub.OAuth) {
	switch {
	case s == nil:
		return
	case s.Off:
		r.add("oauth", hujson.Bool(false))
		return
	}
	var o rendering
	o.text("grant", string(s.Grant))
	o.text("clientId", s.ClientID)
	o.text("clientSecret", s.ClientSecret)
	o.text("privateKey", s.PrivateKey)
	o.text("clientMetadataURL", s.MetadataURL)
	o.text("authorizationServer", s.AuthorizationServer)
	o.list("scopes", s.Scopes)
	o.flag("shared", s.Shared, false)
	r.add("oauth", object(o...).Value)
}

// sealOAuth seals the secrets in "oauth".
func sealOAuth(v *hujson.Value, key, name string, put func(name, value string) error) error {
	values := childrenOf(v)
	if values.object == nil {
		return nil
	}
	for i := range values.len() {
		switch one := values.name(i); one {
		case "clientSecret", "CLIENT_SECRET", "privateKey":
			if err := sealValue(values.value(i), inSecret, one, sealedName(key, name, one), put); err != nil {
				return err
			}
		}
	}
	return nil
}

// oauthSchema is "oauth".
func oauthSchema() *jsonschema.Schema {
	grant := withDefault(&jsonschema.Schema{Type: "string", Enum: []any{string(hub.GrantCode), string(hub.GrantClient)}}, `"authorization_code"`)
	return objectSchema([]string{"boolean", "string"},
		field{"type", "`oauth`, for files that say so.", &jsonschema.Schema{Type: "string", Enum: []any{"oauth"}}},
		field{"enabled", "false: as `oauth: false`.", onSchema()},
		field{"grant", "`authorization_code`: a person logs in, once. `client_credentials`: Toolcrib itself is let in by its `clientId` and a secret or key.", grant},
		field{"clientId", "Of a client that was registered by hand with the authorization server.", textSchema()},
		field{"clientSecret", "Of that client.", textSchema()},
		field{"privateKey", "Of that client, in PEM, such as `${file:key.pem}`, in place of a secret (private_key_jwt).", textSchema()},
		field{"clientMetadataURL", "Where a document describes Toolcrib as a client, for authorization servers that take such an address as a client's id.", textSchema()},
		field{"authorizationServer", "Which of those that the server names, by its issuer. By default the first one; with a `clientSecret` it has to be here, as that is sent to no other one.", textSchema()},
		field{"scopes", "What to ask for, besides what the server asks for later. By default what the server asks for, else all that it knows.", wordsSchema()},
		field{"shared", "true: all callers are let in by the one login. By default those with names of their own log in for themselves.", offSchema()},
	)
}
