package oauth

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// A secret that somebody has got by hand goes to the authorization server that is
// configured with it, and to none that the MCP server names.
func TestSecretIsForOneIssuer(t *testing.T) {
	for name, grant := range map[string]hub.Grant{"a person": hub.GrantCode, "the hub": hub.GrantClient} {
		t.Run(name, func(t *testing.T) {
			s, evil, b := newSite(t), newSite(t), newBench(t)
			s.methods = []string{"client_secret_basic"}
			enter := func(conf *hub.OAuth) error {
				if grant == hub.GrantCode {
					_, err := b.login(s, conf, "")
					return err
				}
				_, err := request(t, b.Account(s.definition(conf), ""), s, "")
				return err
			}
			conf := &hub.OAuth{Grant: grant, ClientID: "me", ClientSecret: "my-secret"}
			err := enter(conf)
			if code(err) != message.UpstreamLoginFailed || !strings.Contains(err.Error(), s.url) || !strings.Contains(err.Error(), "oauth.authorizationServer") {
				t.Fatalf("%v", err)
			}
			if s.lastAuth != "" || s.times("authorize") != 0 {
				t.Error("the secret was sent")
			}
			conf.AuthorizationServer = s.url
			if err := enter(conf); err != nil || s.lastAuth == "" {
				t.Errorf("with the address: %v", err)
			}
			s.mu.Lock()
			s.issuers, s.good, s.refresh = []string{evil.url}, map[string][]string{}, map[string]bool{}
			s.mu.Unlock()
			if err := enter(conf); code(err) != message.UpstreamLoginFailed || evil.lastAuth != "" {
				t.Errorf("another one: %v, %q", err, evil.lastAuth)
			}
		})
	}
}

// What was got with a secret by an earlier configuration is not renewed with the
// secret of one that does not say for whom it is.
func TestSecretOfBefore(t *testing.T) {
	s, b := newSite(t), newBench(t)
	conf := hub.OAuth{ClientID: "me", ClientSecret: "my-secret", AuthorizationServer: s.url}
	if _, err := b.login(s, &conf, ""); err != nil {
		t.Fatal(err)
	}
	conf.AuthorizationServer = ""
	if header, _ := b.Account(s.definition(&conf), "").Authorization(t.Context()); header != "" {
		t.Error("the login goes on")
	}
}

// Who logs out while a login is being completed stays logged out, and what the
// authorization server gives meanwhile is given back.
func TestLogoutDuringLogin(t *testing.T) {
	s, b := newSite(t), newBench(t)
	def := s.definition(nil)
	a := b.Account(def, "")
	_, _ = request(t, a, s, "")
	l, err := b.Begin(t.Context(), def, "")
	if err != nil {
		t.Fatal(err)
	}
	back := visit(t, l.URL)
	s.during = func() { b.Logout(t.Context(), "site", "") }
	if _, err := b.Complete(t.Context(), back); code(err) != message.UpstreamLoginUnknown {
		t.Errorf("%v", err)
	}
	s.during = nil
	if header, _ := a.Authorization(t.Context()); header != "" {
		t.Error("somebody is logged in")
	}
	if !slices.Equal(s.revoked, []string{"rt-1-secret"}) {
		t.Errorf("revoked: %v", s.revoked)
	}
	if st, _ := openBench(t, b.dir).Status(def, ""); st.State != StateNone {
		t.Errorf("sealed is %+v", st)
	}
	if _, err := b.login(s, nil, ""); err != nil {
		t.Errorf("the next login: %v", err)
	}
	if q, _ := url.Parse(l.URL); q == nil || b.find(q.Query().Get("state"), false) != nil {
		t.Error("the login of before is still there")
	}
}
