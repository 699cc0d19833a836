package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
	"github.com/toolcrib/toolcrib/test/issuer"
)

const hubURL = "https://hub.example/mcp"

// gateOf is a gate whose resource trusts the issuers.
func gateOf(t testing.TB, book *Book, protected hub.Protected) *Gate {
	t.Helper()
	dir := t.TempDir()
	tokens, err := OpenTokens(dir+"/admin", dir+"/caller")
	must(t, err)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	g := NewGate(GateOptions{Tokens: tokens, Book: book, Client: client})
	g.Set(hub.Auth{Protected: &protected})
	return g
}

func trusting(i *issuer.Issuer) hub.Protected {
	return hub.Protected{URL: hubURL, Issuers: []hub.Issuer{{Issuer: i.URL}}}
}

// shows is a request to /mcp that shows a token.
func shows(token string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, hubURL, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// Only what an issuer has signed for this resource lets somebody in, and as whom
// the issuer says.
func TestAccessTokens(t *testing.T) {
	t.Parallel()
	as, other := issuer.New(t), issuer.New(t)
	ec, told := issuer.ECKey(t, "ec")
	as.AddKey(told)
	edPublic, ed, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	as.AddKey(jose.JSONWebKey{Key: edPublic, KeyID: "ed"})
	weak, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // that is what is refused
	must(t, err)
	as.AddKey(jose.JSONWebKey{Key: &weak.PublicKey, KeyID: "weak"})
	as.AddKey(jose.JSONWebKey{Key: &weak.PublicKey, KeyID: "enc", Use: "enc"})
	g := gateOf(t, nil, trusting(as))
	key, kid := as.Key()
	now := time.Now()
	said := func(changes map[string]any) map[string]any {
		all := map[string]any{"iss": as.URL, "sub": "alice", "aud": hubURL, "exp": now.Add(time.Hour).Unix(), "scope": "toolcrib:call"}
		maps.Copy(all, changes)
		return all
	}
	sign := func(alg jose.SignatureAlgorithm, key any, kid string) string {
		return issuer.Sign(t, jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, "at+jwt", said(nil))
	}
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	must(t, err)
	shared := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki})
	plain := as.Token(hubURL, "toolcrib:call", nil)
	parts := strings.Split(plain, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt"}`)) + "." + parts[1] + "."
	embedded, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: mustEC(t)}, &jose.SignerOptions{EmbedJWK: true})
	must(t, err)
	signed, err := embedded.Sign([]byte(`{"iss":"` + as.URL + `","sub":"alice","aud":"` + hubURL + `","exp":` + "9999999999" + `,"scope":"toolcrib:call"}`))
	must(t, err)
	selfMade, err := signed.CompactSerialize()
	must(t, err)

	type want struct {
		token string
		role  hub.Role
		code  message.Code
	}
	change := func(changes map[string]any) string { return as.Token(hubURL, "toolcrib:call", changes) }
	for name, c := range map[string]want{
		"a plain one":        {plain, hub.RoleCaller, ""},
		"of no type":         {as.JWT("", said(nil)), hub.RoleCaller, ""},
		"of the usual type":  {as.JWT("JWT", said(nil)), hub.RoleCaller, ""},
		"of the long type":   {as.JWT("application/at+jwt", said(nil)), hub.RoleCaller, ""},
		"ES256":              {sign(jose.ES256, ec, "ec"), hub.RoleCaller, ""},
		"EdDSA":              {sign(jose.EdDSA, ed, "ed"), hub.RoleCaller, ""},
		"without a key's id": {sign(jose.RS256, key, ""), hub.RoleCaller, ""},
		"for several":        {change(map[string]any{"aud": []string{"x", hubURL}}), hub.RoleCaller, ""},
		"of several scopes":  {as.Token(hubURL, "openid toolcrib:view toolcrib:operate", nil), hub.RoleOperator, ""},
		"scopes as scp":      {change(map[string]any{"scope": nil, "scp": []string{"toolcrib:view"}}), hub.RoleViewer, ""},
		"hardly too old":     {change(map[string]any{"exp": now.Add(-50 * time.Second).Unix()}), hub.RoleCaller, ""},
		"hardly too early":   {change(map[string]any{"nbf": now.Add(50 * time.Second).Unix()}), hub.RoleCaller, ""},

		"expired":              {change(map[string]any{"exp": now.Add(-70 * time.Second).Unix()}), "", message.TokenExpired},
		"without an end":       {change(map[string]any{"exp": nil}), "", message.TokenExpired},
		"with a strange end":   {change(map[string]any{"exp": "never"}), "", message.TokenExpired},
		"with an endless end":  {change(map[string]any{"exp": 1e300}), "", message.TokenExpired},
		"too early":            {change(map[string]any{"nbf": now.Add(time.Hour).Unix()}), "", message.TokenExpired},
		"for another resource": {as.Token("https://other.example/mcp", "toolcrib:call", nil), "", message.TokenRefused},
		"for a longer address": {as.Token(hubURL+"/office", "toolcrib:call", nil), "", message.TokenRefused},
		"for a prefix":         {as.Token("https://hub.example", "toolcrib:call", nil), "", message.TokenRefused},
		"for nobody":           {change(map[string]any{"aud": nil}), "", message.TokenRefused},
		"of another issuer":    {other.Token(hubURL, "toolcrib:call", nil), "", message.TokenRefused},
		"in another's name":    {other.Token(hubURL, "toolcrib:call", map[string]any{"iss": as.URL}), "", message.TokenRefused},
		"with a slash more":    {change(map[string]any{"iss": as.URL + "/"}), "", message.TokenRefused},
		"of two issuers":       {change(map[string]any{"iss": []string{as.URL}}), "", message.TokenRefused},
		"of no subject":        {change(map[string]any{"sub": nil}), "", message.TokenRefused},
		"of an empty subject":  {change(map[string]any{"sub": ""}), "", message.TokenRefused},
		"of a strange subject": {change(map[string]any{"sub": "a\nb"}), "", message.TokenRefused},
		"an ID token":          {as.JWT("JWT", said(map[string]any{"nonce": "n"})), "", message.TokenRefused},
		"an ID token, at_hash": {as.JWT("JWT", said(map[string]any{"at_hash": "n"})), "", message.TokenRefused},
		"of Keycloak, ID":      {as.JWT("JWT", said(map[string]any{"typ": "ID"})), "", message.TokenRefused},
		"of Cognito, ID":       {as.JWT("JWT", said(map[string]any{"token_use": "id"})), "", message.TokenRefused},
		"of another type":      {as.JWT("logout+jwt", said(nil)), "", message.TokenRefused},
		"bound to a key":       {change(map[string]any{"cnf": map[string]any{"jkt": "x"}}), "", message.TokenRefused},
		"without a scope":      {change(map[string]any{"scope": nil}), "", message.ScopeInsufficient},
		"of no scope of ours":  {as.Token(hubURL, "email TOOLCRIB:CALL toolcrib:admin", nil), "", message.ScopeInsufficient},
		"signed by a secret that is the public key": {sign(jose.HS256, shared, kid), "", message.TokenRefused},
		"not signed":              {none, "", message.TokenRefused},
		"with its own key":        {selfMade, "", message.TokenRefused},
		"of a weak key":           {sign(jose.RS256, weak, "weak"), "", message.TokenRefused},
		"of a key for secrets":    {sign(jose.RS256, weak, "enc"), "", message.TokenRefused},
		"of an algorithm of RSA":  {sign(jose.PS256, key, kid), "", message.TokenRefused},
		"changed":                 {parts[0] + "." + strings.Replace(parts[1], "A", "B", 1) + "." + parts[2], "", message.TokenRefused},
		"without its signature":   {parts[0] + "." + parts[1] + ".", "", message.TokenRefused},
		"with a fourth part":      {plain + ".x", "", message.TokenRefused},
		"as long as a book":       {plain + strings.Repeat("A", maxShown), "", message.TokenRefused},
		"nothing but dots":        {"..", "", message.TokenRefused},
		"an encrypted one":        {strings.Repeat("a.", 4) + "a", "", message.TokenRefused},
		"an API token, with none": {"tct_" + strings.Repeat("A", 43), "", message.TokenRefused},
	} {
		shown, ok, e := g.Look(shows(c.token))
		if c.code != "" {
			if e == nil || e.Code != c.code || ok {
				t.Errorf("%s: %+v, %v, not %s", name, shown, e, c.code)
			}
			continue
		}
		wantWho := hub.Principal{Subject: "alice@" + strings.TrimPrefix(as.URL, "http://"), Role: c.role}
		if e != nil || !ok || shown.Principal != wantWho || shown.How != HowOAuth {
			t.Errorf("%s: %+v, %v, not %s", name, shown, e, c.role)
		}
	}
	if r := shows(plain); r != nil {
		r.URL.Path = "/api/v1/status"
		if _, ok, e := g.Look(r); ok || e == nil || e.Code != message.TokenRefused {
			t.Errorf("an access token for /mcp is good for the API: %v", e)
		}
		r = shows(as.Token(hubURL+"/office", "toolcrib:call", nil))
		r.URL.Path = "/mcp/office"
		if _, ok, e := g.Look(r); !ok {
			t.Errorf("one for a group is no good there: %v", e)
		}
		r = shows(plain)
		r.Header.Add("Authorization", "Bearer "+plain)
		if _, ok, _ := g.Look(r); ok {
			t.Error("two at once are good")
		}
	}
}

func mustEC(t testing.TB) any {
	key, _ := issuer.ECKey(t, "")
	return key
}

// A new key is asked for when a token comes that is signed with it, and not more
// often than now and then, whatever comes.
func TestKeysOfAnIssuer(t *testing.T) {
	t.Parallel()
	as := issuer.New(t)
	g := gateOf(t, nil, trusting(as))
	look := func(token string) *hub.Error { _, _, e := g.Look(shows(token)); return e }
	keys := g.settings.Load().resource.issuers[0].keys
	later := func() {
		keys.mu.Lock()
		keys.next = time.Time{}
		keys.mu.Unlock()
	}

	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if e := look(as.Token(hubURL, "toolcrib:call", nil)); e != nil {
				t.Error(e)
			}
		})
	}
	all.Wait()
	if n := as.Fetched(); n != 1 {
		t.Errorf("the keys were asked for %d times by 20 at once", n)
	}
	as.Rotate()
	if e := look(as.Token(hubURL, "toolcrib:call", nil)); e == nil || e.Code != message.TokenRefused || as.Fetched() != 1 {
		t.Errorf("%v after %d times, at once", e, as.Fetched())
	}
	later()
	for range 20 {
		if e := look(as.Token(hubURL, "toolcrib:call", nil)); e != nil {
			t.Errorf("a token of the new key: %v", e)
		}
	}
	stranger, _ := issuer.ECKey(t, "")
	later()
	for range 20 {
		token := issuer.Sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: stranger, KeyID: rand.Text()}}, "", map[string]any{"iss": as.URL})
		if e := look(token); e == nil || e.Code != message.TokenRefused {
			t.Errorf("a key that is not known: %v", e)
		}
	}
	if n := as.Fetched(); n != 3 {
		t.Errorf("the keys were asked for %d times", n)
	}

	as.SetDown(true)
	later()
	keys.mu.Lock()
	keys.fetched = time.Now().Add(-2 * time.Hour)
	keys.mu.Unlock()
	if e := look(as.Token(hubURL, "toolcrib:call", nil)); e != nil {
		t.Errorf("the keys of two hours ago: %v", e)
	}
	later()
	keys.mu.Lock()
	keys.fetched = time.Now().Add(-25 * time.Hour)
	keys.mu.Unlock()
	if e := look(as.Token(hubURL, "toolcrib:call", nil)); e == nil || e.Code != message.IssuerUnreachable {
		t.Errorf("the keys of yesterday: %v", e)
	}
}

// An issuer that does not answer keeps nobody waiting who comes from another.
func TestSilentIssuer(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	silent, as := "http://"+ln.Addr().String(), issuer.New(t)
	g := gateOf(t, nil, hub.Protected{URL: hubURL, Issuers: []hub.Issuer{{Issuer: silent}, {Issuer: as.URL}}})
	token := as.Token(hubURL, "toolcrib:call", map[string]any{"iss": silent})
	done := make(chan *hub.Error)
	go func() { _, _, e := g.Look(shows(token)); done <- e }()
	conn, err := ln.Accept()
	must(t, err)
	if _, ok, e := g.Look(shows(as.Token(hubURL, "toolcrib:call", nil))); !ok {
		t.Errorf("a token of the other issuer: %v", e)
	}
	must(t, conn.Close())
	must(t, ln.Close())
	if e := <-done; e == nil || e.Code != message.IssuerUnreachable {
		t.Errorf("%v", e)
	}
	began := time.Now()
	for range 100 {
		if _, _, e := g.Look(shows(token)); e == nil || e.Code != message.IssuerUnreachable {
			t.Errorf("%v", e)
		}
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("100 more waited %v", took)
	}
}

// A tenant is one of ours, and whoever should name one and does not is not let in.
func TestAccessOfTenants(t *testing.T) {
	t.Parallel()
	as, book := issuer.New(t), openBook(t, storetest.Open(t, storetest.SQLite(t)))
	_, err := book.AddTenant(t.Context(), root, "sales", "")
	must(t, err)
	protected := trusting(as)
	protected.Issuers[0].TenantClaim, protected.Issuers[0].SubjectClaim = "org.name", "email"
	protected.Issuers[0].Scopes = map[string]hub.Role{"everything": hub.RoleAdmin}
	g := gateOf(t, book, protected)
	token := func(org any) string {
		return as.Token(hubURL, "everything", map[string]any{"email": "a@example.com", "org": org})
	}
	shown, ok, e := g.Look(shows(token(map[string]any{"name": "sales"})))
	want := hub.Principal{Subject: "a@example.com@" + strings.TrimPrefix(as.URL, "http://"), Tenant: "sales", Role: hub.RoleAdmin}
	if !ok || shown.Principal != want {
		t.Errorf("%+v, %v", shown.Principal, e)
	}
	for _, org := range []any{nil, "sales", map[string]any{"name": "lab"}, map[string]any{"name": ""}, map[string]any{"name": []string{"sales"}}} {
		if shown, ok, e := g.Look(shows(token(org))); ok || e.Code != message.TokenRefused {
			t.Errorf("%v: %+v, %v", org, shown.Principal, e)
		}
	}
}

// A client is told where it gets a token, and which scope it lacks.
func TestChallenges(t *testing.T) {
	t.Parallel()
	as := issuer.New(t)
	g := gateOf(t, nil, trusting(as))
	at := func(path string) *http.Request {
		return httptest.NewRequest(http.MethodPost, "https://hub.example"+path, nil)
	}
	const told = "https://hub.example/.well-known/oauth-protected-resource"
	for path, want := range map[string]string{
		"/mcp":           `Bearer resource_metadata="` + told + `/mcp", scope="toolcrib:call"`,
		"/mcp/office":    `Bearer resource_metadata="` + told + `/mcp/office", scope="toolcrib:call"`,
		`/mcp/a%22b`:     `Bearer resource_metadata="` + told + `/mcp/a%22b", scope="toolcrib:call"`,
		"/api/v1/status": `Bearer realm="toolcrib"`,
		"/mcpx":          `Bearer realm="toolcrib"`,
	} {
		if got := g.Challenge(at(path), ""); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := g.Challenge(at("/mcp"), "invalid_token"); !strings.HasSuffix(got, `, error="invalid_token"`) {
		t.Error(got)
	}
	r := shows(as.Token(hubURL, "toolcrib:view", nil))
	shown, _, e := g.Look(r)
	if e != nil {
		t.Fatal(e)
	}
	ctx := WithShown(t.Context(), shown)
	if got := StepUp(ctx, hub.MayCall); got != `Bearer error="insufficient_scope", scope="toolcrib:call", resource_metadata="`+told+`/mcp"` {
		t.Error(got)
	}
	if got := StepUp(ctx, hub.MayManage); strings.Contains(got, "scope=\"toolcrib") { // nobody gets that by a scope
		t.Error(got)
	}
	if got := StepUp(ctx, hub.MayLook); got != "" {
		t.Error(got)
	}
	m, ok := g.Metadata(at("/x"), "office")
	if !ok || m.Resource != hubURL+"/office" || len(m.Issuers) != 1 || m.Issuers[0] != as.URL || len(m.Scopes) != 4 {
		t.Errorf("%+v", m)
	}
}

// Without an address in the configuration it is that of the listener, if only this
// machine reaches it, whatever a request says.
func TestResourceOfTheListener(t *testing.T) {
	t.Parallel()
	as := issuer.New(t)
	protected := trusting(as)
	protected.URL = ""
	g := gateOf(t, nil, protected)
	from := func(local, host string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "http://"+host+"/mcp", nil)
		address, err := net.ResolveTCPAddr("tcp", local)
		must(t, err)
		return r.WithContext(contextWithLocal(r, address))
	}
	for _, c := range [][3]string{
		{"127.0.0.1:8080", "127.0.0.1:8080", "http://127.0.0.1:8080/mcp"},
		{"127.0.0.1:8080", "localhost:8080", "http://localhost:8080/mcp"},
		{"127.0.0.1:8080", "localhost:9090", "http://127.0.0.1:8080/mcp"}, // somebody else's port
		{"127.0.0.1:8080", "hub.example", "http://127.0.0.1:8080/mcp"},
		{"192.0.2.1:8080", "127.0.0.1:8080", ""},
	} {
		if m, _ := g.Metadata(from(c[0], c[1]), ""); m.Resource != c[2] {
			t.Errorf("at %s, asked as %s: %s", c[0], c[1], m.Resource)
		}
	}
	r := from("127.0.0.1:8080", "localhost:9090")
	r.Header.Set("Authorization", "Bearer "+as.Token("http://localhost:9090/mcp", "toolcrib:call", nil))
	if _, ok, _ := g.Look(r); ok {
		t.Error("a token for what listens elsewhere is good")
	}
}

// Whatever is shown, the answer is that it is refused.
func FuzzShown(f *testing.F) {
	as := issuer.New(f)
	plain := as.Token(hubURL, "toolcrib:call", nil)
	parts := strings.Split(plain, ".")
	for _, seed := range []string{
		"", "Bearer", "Bearer x", "bearer  a.b.c", "Basic YTpi", plain, "Bearer " + parts[0] + "." + parts[1] + ".AA",
		"Bearer eyJhbGciOiJub25lIn0.e30.", "Bearer eyJhbGciOiJSUzI1NiIsImNyaXQiOlsieCJdfQ.e30.AA", "Bearer tct_" + strings.Repeat("A", 43),
	} {
		f.Add(seed)
	}
	g := gateOf(f, openBook(f, storetest.Open(f, storetest.SQLite(f))), trusting(as))
	f.Fuzz(func(t *testing.T, value string) {
		r := httptest.NewRequest(http.MethodPost, hubURL, nil)
		r.Header["Authorization"] = []string{value}
		shown, ok, e := g.Look(r)
		if token, _ := bearer(value); ok && token != plain {
			t.Errorf("%q lets in %+v", value, shown)
		}
		if !ok && e == nil && value != "" {
			t.Errorf("%q counts for nothing", value)
		}
		if head, _, ok := peek(value); ok && (head.Alg == "" || head.Alg == "none" || strings.HasPrefix(head.Alg, "HS")) {
			t.Errorf("%q is of %q", value, head.Alg)
		}
	})
}

func contextWithLocal(r *http.Request, address net.Addr) context.Context {
	return context.WithValue(r.Context(), http.LocalAddrContextKey, address)
}
