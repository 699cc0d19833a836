package config

import (
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tailscale/hujson"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// maxIssuers is how many authorization servers there may be.
const maxIssuers = 20

// readAuth reads "auth".
func (e *entry) readAuth(to *hub.Auth, m member) {
	e.parts(m,
		part{"oidc", func(m member) { e.readLogin(to, m) }},
		part{"resource", func(m member) { e.readProtected(to, m) }},
	)
}

// readLogin reads "oidc".
func (e *entry) readLogin(to *hub.Auth, m member) {
	if m.value.Value.Kind() != '{' {
		e.wrong(m.name, m.value, "an object")
		return
	}
	l := &hub.Login{}
	to.Login = l
	e.parts(m,
		part{"issuer", func(m member) { l.Issuer = e.endpoint(m) }},
		part{"clientId", func(m member) { l.ClientID = e.filled(m) }},
		part{"clientSecret", func(m member) { l.ClientSecret = e.text(m.name, m.value) }},
		part{"redirectURL", func(m member) { l.RedirectURL = e.endpoint(m) }},
		part{"scopes", func(m member) { l.Scopes = e.words(m) }},
		part{"roleClaim", func(m member) { l.RoleClaim = e.filled(m) }},
		part{"roles", func(m member) { l.Roles = e.roles(m) }},
		part{"defaultRole", func(m member) { l.DefaultRole = e.role(m) }},
		part{"tenantClaim", func(m member) { l.TenantClaim = e.filled(m) }},
	)
	e.needed(m, find(m.value, "issuer") == nil, "issuer")
	e.needed(m, find(m.value, "clientId") == nil, "clientId")
	if find(m.value, "roles") == nil && find(m.value, "defaultRole") == nil {
		e.warn(m.at, `%s%s lets nobody in, since it has neither "roles" nor "defaultRole"`, e.where, quoted(m.name))
	}
}

// readProtected reads "resource".
func (e *entry) readProtected(to *hub.Auth, m member) {
	if m.value.Value.Kind() != '{' {
		e.wrong(m.name, m.value, "an object")
		return
	}
	p := &hub.Protected{}
	to.Protected = p
	e.parts(m,
		part{"url", func(m member) { p.URL = e.endpoint(m) }},
		part{"issuers", func(m member) {
			for _, one := range e.elements(m, "an array of objects") {
				p.Issuers = append(p.Issuers, e.readIssuer(p.Issuers, one))
			}
			if len(p.Issuers) > maxIssuers {
				e.problem(m.value.StartOffset, "%s%s has more than %d elements", e.where, quoted(m.name), maxIssuers)
			}
		}},
	)
	e.needed(m, len(p.Issuers) == 0, "issuers")
}

// readIssuer reads one of "issuers"; before are those that stand before it.
func (e *entry) readIssuer(before []hub.Issuer, m member) hub.Issuer {
	var i hub.Issuer
	if m.value.Value.Kind() != '{' {
		e.wrong(m.name, m.value, "an object")
		return i
	}
	e.parts(m,
		part{"issuer", func(m member) {
			i.Issuer = e.endpoint(m)
			if i.Issuer != "" && slices.ContainsFunc(before, func(b hub.Issuer) bool { return b.Issuer == i.Issuer }) {
				e.problem(m.value.StartOffset, "%s%s is there twice", e.where, quoted(i.Issuer))
			}
		}},
		part{"audience", func(m member) { i.Audience = e.filled(m) }},
		part{"jwksURL", func(m member) { i.JWKS = e.endpoint(m) }},
		part{"scopes", func(m member) { i.Scopes = e.roles(m) }},
		part{"subjectClaim", func(m member) { i.SubjectClaim = e.filled(m) }},
		part{"tenantClaim", func(m member) { i.TenantClaim = e.filled(m) }},
	)
	e.needed(m, find(m.value, "issuer") == nil, "issuer")
	return i
}

// needed reports a member that is missing.
func (e *entry) needed(m member, missing bool, name string) {
	if missing {
		e.problem(m.value.StartOffset, "%s%s needs %s", e.where, quoted(m.name), quoted(name))
	}
}

// endpoint reads the address of who vouches for others, or of our own as others
// know it. It has no placeholders: it is compared to the letter.
func (e *entry) endpoint(m member) string {
	text := e.plain(m.name, m.value)
	if !isString(m.value) {
		return ""
	}
	if fault := hub.EndpointFault(text); fault != "" {
		e.problem(m.value.StartOffset, "%s%s %s", e.where, quoted(m.name), message.Term(fault))
		return ""
	}
	return text
}

// filled reads a text that is not empty.
func (e *entry) filled(m member) string {
	text := e.plain(m.name, m.value)
	if isString(m.value) && text == "" {
		e.problem(m.value.StartOffset, "%s%s is empty", e.where, quoted(m.name))
	}
	return text
}

// words reads an array of texts without spaces.
func (e *entry) words(m member) []string {
	var words []string
	for _, one := range e.elements(m, "an array of strings") {
		word := e.filled(one)
		if hasControl(word) || !isScope(word) {
			e.problem(one.at, "%s%s is no scope of OAuth", e.where, quoted(one.name))
			continue
		}
		words = append(words, word)
	}
	return words
}

// isScope reports whether a text is a scope of OAuth (RFC 6749, section 3.3).
func isScope(text string) bool {
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return text != ""
}

// roles reads an object that has roles by name.
func (e *entry) roles(m member) map[string]hub.Role {
	members, ok := e.object(m.value, message.Say("%s%s", e.where, quoted(m.name)))
	if !ok {
		return nil
	}
	all := make(map[string]hub.Role, len(members))
	for _, one := range members {
		if isNull(one.value) {
			continue
		}
		name := one.name
		one.name = m.name + "." + one.name
		all[name] = e.role(one)
	}
	return all
}

func (e *entry) role(m member) hub.Role {
	role, _ := e.choice(m, roleNames()...)
	return hub.Role(role)
}

// sameAuth reports whether two configurations say the same about who may come in.
func sameAuth(a, b *Config) bool { return reflect.DeepEqual(a.Auth, b.Auth) }

// ResolveAuthSecret fills in what the secret of the login's client refers to. The
// error is a [message.SettingUnresolved] and holds no secret.
func ResolveAuthSecret(setting string, r *secret.Resolver) (string, error) {
	f := filling{resolver: r}
	text := f.text(setting)
	if e := f.unresolved("auth.oidc.clientSecret"); e != nil {
		return "", e
	}
	return text, nil
}

// isIdentity reports whether a member is "auth" as it is read here.
func isIdentity(name string, v *hujson.Value) bool {
	object := func(name string) bool {
		inner := find(*v, name)
		return inner != nil && inner.Value.Kind() == '{'
	}
	return name == "auth" && (object("oidc") || object("resource"))
}

// authSchema is "auth".
func authSchema() *jsonschema.Schema {
	address := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Pattern: "^https?://"} }
	roles := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: choiceSchema(roleNames()...)}
	}
	login := objectSchema(nil,
		field{"issuer", "The provider, to the letter as it calls itself: `https://`, or `http://` on this machine.", address()},
		field{"clientId", "As which client Toolcrib is known to it.", textSchema()},
		field{"clientSecret", "Of that client, such as `${secret:oidc}`; none for a public client.", textSchema()},
		field{"redirectURL", "The address of `/auth/callback` as browsers know it. By default the one by which they came, if that is over TLS or on this machine.", address()},
		field{"scopes", "What is asked for besides `openid`. By default `profile`.", listSchema()},
		field{"roleClaim", "Which claim of the ID token has the groups; with dots, the way to it. By default `roles` and `groups`.", textSchema()},
		field{"roles", "The role of each group. Of several the last one of viewer, approver, caller, operator and admin counts.", roles()},
		field{"defaultRole", "Of who is in none of these groups. By default nobody else is let in.", choiceSchema(roleNames()...)},
		field{"tenantClaim", "Which claim names the tenant; who has none is then not let in. By default all belong to Toolcrib itself.", textSchema()},
	)
	login.Required = []string{"issuer", "clientId"}
	issuer := objectSchema(nil,
		field{"issuer", "To the letter as it calls itself: `https://`, or `http://` on this machine.", address()},
		field{"audience", "For whom its tokens are made. By default the `url` of the resource, and that of a group below it.", textSchema()},
		field{"jwksURL", "Where its keys are. By default where its metadata says.", address()},
		field{"scopes", "The role of each scope. By default those of `toolcrib:view`, `toolcrib:call`, `toolcrib:approve` and `toolcrib:operate`; nobody is an administrator unless it is said here.", roles()},
		field{"subjectClaim", "Which claim names the caller. By default `sub`.", textSchema()},
		field{"tenantClaim", "Which claim names the tenant; a token without it is then refused. By default all belong to Toolcrib itself.", textSchema()},
	)
	issuer.Required = []string{"issuer"}
	protected := objectSchema(nil,
		field{"url", "The address of `/mcp` as clients know it. By default that of the listener, if that is of the loopback.", address()},
		field{"issuers", "Authorization servers whose access tokens are good for it.", &jsonschema.Schema{Type: "array", Items: issuer, MinItems: new(1), MaxItems: new(maxIssuers)}},
	)
	protected.Required = []string{"issuers"}
	login.Description = "People sign in through an OpenID provider."
	protected.Description = "`/mcp` is a protected resource of OAuth: whoever comes to it shows a token, also on this machine."
	return about(objectSchema(nil, field{"oidc", login.Description, login}, field{"resource", protected.Description, protected}),
		"Who may come in, besides who has a token of this Toolcrib.")
}
