package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// What is said of OAuth is read in our words and in those of others, and can be
// written again.
func TestOAuth(t *testing.T) {
	for text, want := range map[string]*hub.OAuth{
		`true`:    {},
		`false`:   {Off: true},
		`"oauth"`: {},
		`{}`:      {},
		`{"type": "oauth", "clientId": "me", "clientSecret": "${env:X}", "authorizationServer": "https://as.example", "scopes": ["a", "b"], "shared": true}`: {
			ClientID: "me", ClientSecret: "${env:X}", AuthorizationServer: "https://as.example", Scopes: []string{"a", "b"}, Shared: true,
		},
		`{"grant": "client_credentials", "clientId": "me", "privateKey": "${file:k.pem}"}`: {Grant: hub.GrantClient, ClientID: "me", PrivateKey: "${file:k.pem}"},
		`{"clientMetadataURL": "https://me.example/c.json", "authorizationServer": "https://as.example", "grant": "authorization_code"}`: {
			MetadataURL: "https://me.example/c.json", AuthorizationServer: "https://as.example",
		},
		`{"CLIENT_ID": "me", "CLIENT_SECRET": "s", "authorizationServer": "https://as.example", "scope": "a b"}`: {
			ClientID: "me", ClientSecret: "s", AuthorizationServer: "https://as.example", Scopes: []string{"a", "b"},
		},
		`{"enabled": false}`: {Off: true},
	} {
		for _, name := range []string{"oauth", "auth"} {
			c, _, err := Parse("f", []byte(`{"mcpServers": {"k": {"url": "https://h/mcp", "`+name+`": `+text+`}}}`), nil)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			s := c.Servers[len(c.Servers)-1]
			if diff := cmp.Diff(want, s.OAuth); diff != "" {
				t.Errorf("%s (-want +got)\n%s", text, diff)
			}
			if diff := cmp.Diff(s, reread(t, s)); diff != "" {
				t.Errorf("%s, rendered %s (-want +got)\n%s", text, Render(s), diff)
			}
		}
	}
	for text, want := range map[string]string{
		`{"url": "https://h", "oauth": 1}`:                                                              "an object, true or false",
		`{"url": "https://h", "oauth": {"type": "basic"}}`:                                              `must be "oauth"`,
		`{"url": "https://h", "oauth": {"grant": "password"}}`:                                          `"client_credentials"`,
		`{"url": "https://h", "oauth": {"grant": "client_credentials"}}`:                                `needs a "clientId"`,
		`{"url": "https://h", "oauth": {"clientSecret": "SECRET"}}`:                                     `needs "oauth.clientId"`,
		`{"url": "https://h", "oauth": {"clientId": "a", "clientSecret": "SECRET", "privateKey": "b"}}`: "has both",
		`{"url": "https://h", "oauth": {"clientMetadataURL": "http://h/c"}}`:                            "https with a path",
		`{"url": "https://h", "oauth": {"clientMetadataURL": "https://h"}}`:                             "https with a path",
		`{"url": "https://h", "oauth": {"authorizationServer": "as"}}`:                                  "must begin with",
		`{"url": "https://h", "oauth": {"scopes": ["a b"]}}`:                                            "no scope can have",
	} {
		_, _, err := Parse("f", []byte(`{"mcpServers": {"k": `+text+`}}`), nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		`{"url": "https://h", "oauth": {"clientId": "a"}, "apiKey": "SECRET"}`:        "has no effect",
		`{"url": "https://h", "auth": "SECRET"}`:                                      "a key goes into",
		`{"command": "x", "oauth": {"clientId": "a"}}`:                                "has no effect",
		`{"url": "https://h", "oauth": {"callbackPort": 3000}}`:                       "is not known",
		`{"url": "https://h", "auth": {"CLIENT_ID": "a", "CLIENT_SECRET": "SECRET"}}`: "sent to nobody",
	} {
		_, warnings, err := Parse("f", []byte(`{"mcpServers": {"k": `+text+`}}`), nil)
		found := slices.ContainsFunc(warnings, func(w Warning) bool {
			return strings.Contains(w.Detail.String(), want) && !strings.Contains(w.Detail.String(), "SECRET")
		})
		if err != nil || !found {
			t.Errorf("%s: %v %v", text, err, warnings)
		}
	}
}

// The secrets in it are sealed, filled in when the server is connected, and hidden
// then.
func TestOAuthSecrets(t *testing.T) {
	sealed := map[string]string{}
	entry, err := Seal([]byte(`{"url":"https://h","oauth":{"clientId":"me","clientSecret":"s3cret-value","privateKey":"${file:k}"}}`), "k",
		func(name, value string) error { sealed[name] = value; return nil })
	if err != nil || strings.Contains(string(entry), "s3cret") || sealed["k.oauth.clientSecret"] != "s3cret-value" || len(sealed) != 1 {
		t.Errorf("%s %v %v", entry, sealed, err)
	}
	masked, err := Masked([]byte(`{"mcpServers":{"k":{"url":"https://h","oauth":{"clientSecret":"s3cret-value"}}}}`))
	if err != nil || strings.Contains(string(masked), "s3cret") {
		t.Errorf("%s %v", masked, err)
	}
	r, _ := resolver(t)
	before := &hub.OAuth{ClientID: "me", ClientSecret: "${env:KEY}"}
	s, secrets, e := Resolve(hub.Server{Key: "k", Kind: hub.KindHTTP, URL: "https://h/mcp", OAuth: before}, r)
	if e != nil || s.OAuth.ClientSecret != "sk-secret" || !slices.Contains(secrets, "sk-secret") || before.ClientSecret == s.OAuth.ClientSecret {
		t.Errorf("%+v %v %v", s.OAuth, secrets, e)
	}
}
