package oauth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

// age makes the account's token as old as if it had been got so long ago.
func (a *Account) age(by time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := *a.record
	r.Tokens.Got = r.Tokens.Got.Add(-by)
	if !r.Tokens.Expires.IsZero() {
		r.Tokens.Expires = r.Tokens.Expires.Add(-by)
	}
	a.take(&r)
}

// However many calls find that the token expires, or that it is refused, it is had
// anew once, and a refresh token that is good once is used once.
func TestOneRefresh(t *testing.T) {
	for name, spoil := range map[string]func(*site, *Account){
		"about to expire": func(_ *site, a *Account) { a.age(3590 * time.Second) },
		"expired":         func(_ *site, a *Account) { a.age(2 * time.Hour) },
		"refused": func(s *site, a *Account) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.good = map[string][]string{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, b := newSite(t), newBench(t)
			s.rotates = true
			a, err := b.login(s, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			spoil(s, a)
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if status, err := request(t, a, s, ""); status != 200 || err != nil {
						t.Errorf("%d, %v", status, err)
					}
				})
			}
			all.Wait()
			if got := s.times("refresh_token"); got != 1 {
				t.Errorf("%d refreshes", got)
			}
			if s.last.Get("resource") != s.mcp() {
				t.Errorf("for the resource %q", s.last.Get("resource"))
			}
			// What is sealed is what is good now.
			again := openBench(t, b.dir)
			next := again.Account(s.definition(nil), "")
			next.age(2 * time.Hour)
			if status, err := request(t, next, s, ""); status != 200 || err != nil {
				t.Errorf("after a restart: %d, %v", status, err)
			}
		})
	}
}

// A hub that was killed has its logins again, and what is on the disk shows none.
func TestRestart(t *testing.T) {
	s, b := newSite(t), newBench(t)
	if _, err := b.login(s, nil, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.login(s, nil, "acme\x00ada\x00t-1"); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(b.dir, "logins.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"secret", "ada", "127.0.0.1"} {
		if strings.Contains(string(raw), bad) {
			t.Errorf("the file shows %q", bad)
		}
	}
	again := openBench(t, b.dir)
	one, other := again.Account(s.definition(nil), ""), again.Account(s.definition(nil), "acme\x00ada\x00t-1")
	first, _ := one.Authorization(t.Context())
	second, _ := other.Authorization(t.Context())
	if first == "" || second == "" || first == second {
		t.Errorf("%q and %q", first, second)
	}
	// What was issued for one address, issuer or client goes to no other.
	for name, change := range map[string]func(*hub.Server){
		"address": func(d *hub.Server) { d.URL = s.url + "/mcp/below" },
		"host":    func(d *hub.Server) { d.URL = "http://127.0.0.2:1/mcp" },
		"issuer":  func(d *hub.Server) { d.OAuth = &hub.OAuth{AuthorizationServer: "https://other.example"} },
		"client":  func(d *hub.Server) { d.OAuth = &hub.OAuth{ClientID: "other"} },
		"grant":   func(d *hub.Server) { d.OAuth = &hub.OAuth{Grant: hub.GrantClient, ClientID: "other"} },
	} {
		t.Run(name, func(t *testing.T) {
			def := s.definition(nil)
			change(&def)
			a := openBench(t, b.dir).Account(def, "")
			if header, err := a.Authorization(t.Context()); header != "" || err != nil {
				t.Errorf("%q %v", header, err)
			}
		})
	}
}

// A token that is not given anew ends in the need of a login, and not in a loop;
// nor does one that the server refuses at once.
func TestRefreshRefused(t *testing.T) {
	s, b := newSite(t), newBench(t)
	a, err := b.login(s, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.deny, s.good = "invalid_grant", map[string][]string{}
	s.mu.Unlock()
	for range 3 {
		if _, err := request(t, a, s, ""); code(err) != message.UpstreamLoginNeeded {
			t.Fatalf("%v", err)
		}
	}
	if got := s.times("refresh_token"); got != 1 {
		t.Errorf("%d refreshes", got)
	}
	if st, _ := b.Status(s.definition(nil), ""); st.State != StateNeeded || st.Issuer != s.url {
		t.Errorf("%+v", st)
	}
	if _, err := openBench(t, b.dir).Authorization(s); err != nil {
		t.Error(err)
	}
}

// Authorization is what a new keeper would send: nothing.
func (b *bench) Authorization(s *site) (string, error) {
	b.t.Helper()
	header, err := b.Account(s.definition(nil), "").Authorization(b.t.Context())
	if header != "" {
		b.t.Errorf("a token that is used up is still sent")
	}
	return header, err
}

func TestRefusedAtOnce(t *testing.T) {
	s, b := newSite(t), newBench(t)
	a, err := b.login(s, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	refused := func() (bool, error) {
		used, _ := a.Authorization(t.Context())
		return a.Refused(t.Context(), used, 401, http.Header{"Www-Authenticate": {"Bearer"}})
	}
	if again, err := refused(); !again || err != nil {
		t.Fatalf("%v %v", again, err)
	}
	if again, err := refused(); again || code(err) != message.UpstreamLoginNeeded {
		t.Fatalf("%v %v", again, err)
	}
	if got := s.times("refresh_token"); got != 1 {
		t.Errorf("%d refreshes", got)
	}
}

// An authorization server that is away for a moment takes nobody's login away: a
// token that is good is sent on, and one that is not is an error that passes.
func TestAway(t *testing.T) {
	s, b := newSite(t), newBench(t)
	a, err := b.login(s, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := func(to string) {
		a.mu.Lock()
		defer a.mu.Unlock()
		r := *a.record
		r.Endpoint = to
		a.take(&r)
	}
	endpoint("http://127.0.0.1:1/token")
	a.age(3590 * time.Second)
	for range 2 {
		if status, err := request(t, a, s, ""); status != 200 || err != nil {
			t.Fatalf("%d, %v", status, err)
		}
	}
	a.age(time.Hour)
	if _, err := request(t, a, s, ""); code(err) != message.ServerUnreachable {
		t.Fatalf("%v", err)
	}
	endpoint(s.url + "/token")
	if status, err := request(t, a, s, ""); status != 200 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
}

// The hub itself is let in by a secret or by a signature, without anybody, and gets
// more rights when the server asks for them.
func TestClientCredentials(t *testing.T) {
	keys := map[string]any{}
	keys["ES256"], _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	keys["ES384"], _ = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	keys["RS256"], _ = rsa.GenerateKey(rand.Reader, 2048)
	_, keys["EdDSA"], _ = ed25519.GenerateKey(rand.Reader)
	for alg, key := range keys {
		t.Run(alg, func(t *testing.T) {
			s, b := newSite(t), newBench(t)
			der, err := x509.MarshalPKCS8PrivateKey(key)
			if err != nil {
				t.Fatal(err)
			}
			conf := &hub.OAuth{Grant: hub.GrantClient, ClientID: "me", PrivateKey: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}
			a := b.Account(s.definition(conf), "")
			if status, err := request(t, a, s, ""); status != 200 || err != nil {
				t.Fatalf("%d, %v", status, err)
			}
			claims := jwt.RegisteredClaims{}
			token, _, err := jwt.NewParser().ParseUnverified(s.last.Get("client_assertion"), &claims)
			if err != nil || token.Method.Alg() != alg || claims.Issuer != "me" || claims.Subject != "me" || claims.Audience[0] != s.url ||
				claims.ID == "" || time.Until(claims.ExpiresAt.Time) > 2*time.Minute {
				t.Errorf("%v %+v", err, claims)
			}
		})
	}
	t.Run("secret", func(t *testing.T) {
		s, b := newSite(t), newBench(t)
		s.scope = "read"
		conf := &hub.OAuth{Grant: hub.GrantClient, ClientID: "me", ClientSecret: "my-secret", AuthorizationServer: s.url}
		a := b.Account(s.definition(conf), "")
		if status, err := request(t, a, s, "write"); status != 200 || err != nil {
			t.Fatalf("%d, %v", status, err)
		}
		if got := s.last.Get("scope"); got != "read write" || s.times("client_credentials") != 2 {
			t.Errorf("%q after %d", got, s.times("client_credentials"))
		}
		a.age(2 * time.Hour)
		if status, err := request(t, a, s, "write"); status != 200 || err != nil || s.times("client_credentials") != 3 {
			t.Errorf("%d, %v", status, err)
		}
		if raw, _ := os.ReadFile(filepath.Join(b.dir, "logins.json")); strings.Contains(string(raw), "my-secret") {
			t.Error("the secret is on the disk")
		}
	})
	t.Run("wrong", func(t *testing.T) {
		s, b := newSite(t), newBench(t)
		s.deny = "invalid_client"
		a := b.Account(s.definition(&hub.OAuth{Grant: hub.GrantClient, ClientID: "me", ClientSecret: "my-secret", AuthorizationServer: s.url}), "")
		if _, err := request(t, a, s, ""); code(err) != message.UpstreamLoginFailed || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
		b.Account(s.definition(&hub.OAuth{Grant: hub.GrantClient, ClientID: "me", PrivateKey: "no key"}), "")
		if _, err := request(t, a, s, ""); code(err) != message.UpstreamLoginFailed {
			t.Errorf("%v", err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		s, b := newSite(t), newBench(t)
		s.narrow = "none"
		a := b.Account(s.definition(&hub.OAuth{Grant: hub.GrantClient, ClientID: "me", ClientSecret: "my-secret", AuthorizationServer: s.url}), "")
		if status, err := request(t, a, s, "write"); status != 403 || err != nil || s.times("client_credentials") > 2 {
			t.Errorf("%d, %v, %d", status, err, s.times("client_credentials"))
		}
	})
}

// Whose credentials are used follows from who asks, and from what is configured.
func TestOwner(t *testing.T) {
	s, b := newSite(t), newBench(t)
	ada := hub.Principal{Subject: "ada", Tenant: "acme", Role: hub.RoleCaller}
	if got := b.Owner("site", ada); got != "" {
		t.Errorf("before there is a login: %q", got)
	}
	if _, err := b.login(s, nil, ""); err != nil {
		t.Fatal(err)
	}
	for _, p := range []hub.Principal{hub.Local(hub.DoorMCP), {Subject: "admin", Role: hub.RoleAdmin}, {Subject: "caller"}} {
		if got := b.Owner("site", p); got != "" {
			t.Errorf("%s: %q", p.Subject, got)
		}
	}
	others := []hub.Principal{ada, {Subject: "ada"}, {Subject: "ada", Tenant: "other"}, {Subject: "admin", Token: "t1"}, {Subject: "local", Tenant: "acme"}}
	seen := map[string]bool{}
	for _, p := range others {
		got := b.Owner("site", p)
		if got == "" || seen[got] {
			t.Errorf("%+v: %q", p, got)
		}
		seen[got] = true
	}
	a := b.Account(s.definition(nil), b.Owner("site", ada))
	if header, _ := a.Authorization(t.Context()); header != "" {
		t.Error("somebody is let in by another's login")
	}
	b.Account(s.definition(&hub.OAuth{Shared: true}), "")
	if got := b.Owner("site", ada); got != "" {
		t.Errorf("shared: %q", got)
	}
	b.Forget("site")
	if got := b.Owner("site", ada); got != "" {
		t.Errorf("removed: %q", got)
	}
}

// Who still has connections to the address of before gets nothing that was issued
// for another one, and a server that is tried out changes nothing.
func TestAnotherAddress(t *testing.T) {
	s, other, b := newSite(t), newSite(t), newBench(t)
	a, err := b.login(s, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	def := s.definition(nil)
	if b.Trial(def) != a {
		t.Error("the very server has other credentials when it is tried out")
	}
	for _, change := range []func(*hub.Server){
		func(d *hub.Server) { d.URL = other.mcp() },
		func(d *hub.Server) { d.OAuth = &hub.OAuth{ClientID: "x"} },
	} {
		tried := def
		change(&tried)
		trial := b.Trial(tried)
		if header, _ := trial.Authorization(t.Context()); trial == a || header != "" {
			t.Error("what is tried out gets the token")
		}
		if _, err := request(t, trial, s, ""); code(err) != message.UpstreamLoginNeeded {
			t.Errorf("%v", err)
		}
	}
	conf := &hub.OAuth{Grant: hub.GrantClient, ClientID: "me", ClientSecret: "my-secret", AuthorizationServer: other.url}
	tried := other.definition(conf)
	if status, err := request(t, b.Trial(tried), other, ""); status != 200 || err != nil {
		t.Errorf("%d %v", status, err)
	}
	if status, err := request(t, a, s, ""); status != 200 || err != nil {
		t.Errorf("after the trials: %d %v", status, err)
	}
	begun, err := b.Begin(t.Context(), def, "")
	if err != nil {
		t.Fatal(err)
	}
	q := visit(t, begun.URL)

	def.URL = other.mcp()
	next := b.Account(def, "")
	l, err := b.Begin(t.Context(), def, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Complete(t.Context(), visit(t, l.URL)); err != nil {
		t.Fatal(err)
	}
	if header, _ := next.Authorization(t.Context()); header == "" {
		t.Error("there is no token for the new address")
	}
	if header, _ := a.Authorization(t.Context()); header != "" {
		t.Error("the old address gets a token")
	}
	if _, err := b.Complete(t.Context(), q); code(err) != message.UpstreamLoginUnknown {
		t.Errorf("a login of before: %v", err)
	}
	if b.Trial(hub.Server{Kind: hub.KindStdio}) != nil || b.Trial(hub.Server{Kind: hub.KindHTTP, URL: "%"}) != nil {
		t.Error("credentials for what takes none")
	}
}
