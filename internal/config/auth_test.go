package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

func TestAuth(t *testing.T) {
	t.Parallel()
	c, warnings, err := Parse("toolcrib.json", []byte(`{"auth": {
		"oidc": {
			"issuer": "https://id.example.com/realms/a", "clientId": "toolcrib", "clientSecret": "${secret:oidc}",
			"redirectURL": "https://hub.example/auth/callback", "scopes": ["profile", "groups"],
			"roleClaim": "realm_access.roles", "roles": {"ops": "operator", "it": "admin"}, "defaultRole": "viewer", "tenantClaim": "org"
		},
		"resource": {"url": "https://hub.example/mcp", "issuers": [
			{"issuer": "http://127.0.0.1:9000", "audience": "mcp", "jwksURL": "http://127.0.0.1:9000/keys", "scopes": {"a b": "caller"}, "subjectClaim": "email", "tenantClaim": "org"},
			{"issuer": "https://other.example.com/"}
		]}
	}}`), nil)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	want := hub.Auth{
		Login: &hub.Login{
			Issuer: "https://id.example.com/realms/a", ClientID: "toolcrib", ClientSecret: "${secret:oidc}",
			RedirectURL: "https://hub.example/auth/callback", Scopes: []string{"profile", "groups"}, RoleClaim: "realm_access.roles",
			Roles: map[string]hub.Role{"ops": hub.RoleOperator, "it": hub.RoleAdmin}, DefaultRole: hub.RoleViewer, TenantClaim: "org",
		},
		Protected: &hub.Protected{URL: "https://hub.example/mcp", Issuers: []hub.Issuer{
			{Issuer: "http://127.0.0.1:9000", Audience: "mcp", JWKS: "http://127.0.0.1:9000/keys", Scopes: map[string]hub.Role{"a b": hub.RoleCaller}, SubjectClaim: "email", TenantClaim: "org"},
			{Issuer: "https://other.example.com/"},
		}},
	}
	if diff := cmp.Diff(want, c.Auth); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	other, _, err := Parse("toolcrib.json", []byte(`{"auth": {"resource": {"issuers": [{"issuer": "https://other.example.com/"}]}}}`), nil)
	if err != nil || sameSettings(c, other) || !sameSettings(c, c) {
		t.Errorf("%v; the two say the same: %t", err, sameSettings(c, other))
	}
	masked, err := Masked([]byte(`{"auth": {"oidc": {"issuer": "https://id.example.com", "clientId": "toolcrib", "clientSecret": "hunter2"}}}`))
	if err != nil || strings.Contains(string(masked), "hunter2") || !strings.Contains(string(masked), "https://id.example.com") {
		t.Errorf("%s, %v", masked, err)
	}
}

func TestAuthRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"oidc": {"clientId": "a"}}`:                                                             `"auth.oidc" needs "issuer"`,
		`{"oidc": {"issuer": "https://id.example.com"}}`:                                          `"auth.oidc" needs "clientId"`,
		`{"oidc": {"issuer": "http://id.example.com", "clientId": "a"}}`:                          `"auth.oidc.issuer" must begin with https://`,
		`{"oidc": {"issuer": "https://a:b@id.example.com", "clientId": "a"}}`:                     `must not hold a user name or password`,
		`{"oidc": {"issuer": "https://id.example.com", "clientId": ""}}`:                          `"auth.oidc.clientId" is empty`,
		`{"oidc": {"issuer": "https://id.example.com", "clientId": "a", "roles": {"x": "root"}}}`: `"auth.oidc.roles.x" must be`,
		`{"oidc": {"issuer": "https://id.example.com", "clientId": "a", "scopes": ["a b"]}}`:      `is no scope of OAuth`,
		`{"oidc": true}`:                           `"auth.oidc" must be an object`,
		`{"resource": {}}`:                         `"auth.resource" needs "issuers"`,
		`{"resource": {"issuers": [{}]}}`:          `"auth.resource.issuers[0]" needs "issuer"`,
		`{"resource": {"issuers": ["https://a"]}}`: `must be an object`,
		`{"resource": {"issuers": [{"issuer": "https://a.example"}, {"issuer": "https://a.example"}]}}`: `is there twice`,
	} {
		_, _, err := Parse("toolcrib.json", []byte(`{"auth": `+text+`}`), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, warnings, err := Parse("toolcrib.json", []byte(`{"auth": {"oidc": {"issuer": "https://id.example.com", "clientId": "a"}, "ldap": {}}}`), nil)
	if err != nil || len(warnings) != 2 {
		t.Errorf("%v, %v", warnings, err)
	}
}

func TestResolveAuthSecret(t *testing.T) {
	t.Parallel()
	r := variables(map[string]string{"KEY": "SECRET"})
	if got, err := ResolveAuthSecret("${env:KEY}", r); got != "SECRET" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ResolveAuthSecret("x${env:NONE}", r); got != "" || !hub.IsCode(err, message.SettingUnresolved) {
		t.Errorf("%q, %v", got, err)
	}
}
