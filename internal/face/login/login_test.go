package login_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolcrib/toolcrib/internal/auth"
	"github.com/toolcrib/toolcrib/internal/face/login"
	"github.com/toolcrib/toolcrib/internal/httpd"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/internal/store"
	"github.com/toolcrib/toolcrib/internal/store/storetest"
	"github.com/toolcrib/toolcrib/test/issuer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a hub's entrance with the door for people, and one that says who came.
type house struct {
	t      *testing.T
	url    string
	gate   *auth.Gate
	book   *auth.Book
	issuer *issuer.Issuer
	client *http.Client // a browser, which follows nobody by itself
	acts   acts
	guard  string // a token that lets in as an administrator
}

// acts are what the door had recorded.
type acts struct {
	mu   sync.Mutex
	told []string
}

func (a *acts) add(_ *http.Request, operation string, who auth.Person, e *hub.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	code := "ok"
	if e != nil {
		code = string(e.Code)
	}
	a.told = append(a.told, operation+" "+who.Subject+" "+string(who.Role)+" "+code)
}

// want fails the test unless just these were recorded.
func (a *acts) want(t *testing.T, want ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.told, want) {
		t.Errorf("on record is %q, want %q", a.told, want)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func settings(i *issuer.Issuer) *hub.Login {
	return &hub.Login{
		Issuer: i.URL, ClientID: issuer.ClientID, ClientSecret: "${secret:oidc}",
		Roles: map[string]hub.Role{"ops": hub.RoleOperator, "staff": hub.RoleViewer},
	}
}

func open(t *testing.T, change func(*hub.Login), opt httpd.Options) *house {
	t.Helper()
	h := &house{t: t, issuer: issuer.New(t)}
	h.issuer.Identity = map[string]any{"groups": []string{"staff", "ops"}, "name": "Alice"}
	db, err := store.Open(t.Context(), storetest.SQLite(t))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	h.book, err = auth.OpenBook(t.Context(), auth.BookOptions{DB: db})
	must(t, err)
	dir := t.TempDir()
	tokens, err := auth.OpenTokens(dir+"/admin", dir+"/caller")
	must(t, err)
	h.guard, err = auth.ReadToken(dir + "/admin")
	must(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	h.gate = auth.NewGate(auth.GateOptions{
		Tokens: tokens, Book: h.book, Client: &http.Client{Transport: transport},
		Secret: func(setting string) (string, error) {
			if setting != "${secret:oidc}" {
				return "", errors.New("another setting")
			}
			return issuer.ClientSecret, nil
		},
	})
	s := settings(h.issuer)
	if change != nil {
		change(s)
	}
	h.gate.Set(hub.Auth{Login: s})
	refuse := func(w http.ResponseWriter, _ *http.Request, status int, e *hub.Error) {
		w.WriteHeader(status)
		fmt.Fprint(w, e.Code)
	}
	door := login.New(login.Options{Gate: h.gate, Refuse: refuse, Language: func(r *http.Request) message.Lang {
		return message.FromHeader(r.Header.Get("Accept-Language"))
	}, Record: h.acts.add})
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+auth.LoginPath, door.Login)
	mux.HandleFunc("GET "+auth.CallbackPath, door.Callback)
	mux.HandleFunc("POST "+auth.LogoutPath, door.Logout)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", door.Metadata)
	who := func(w http.ResponseWriter, r *http.Request) {
		s := auth.Of(r.Context())
		must(t, json.NewEncoder(w).Encode(map[string]string{"how": string(s.How), "subject": s.Principal.Subject, "role": string(s.Principal.Role), "name": s.Name}))
	}
	mux.HandleFunc("/api/v1/me", who)
	mux.HandleFunc("/mcp", who)
	ln, err := httpd.Listen(t.Context(), "127.0.0.1:0", false)
	must(t, err)
	opt.Listeners, opt.Doors, opt.Refuse, opt.Log, opt.Gate = []net.Listener{ln}, mux, refuse, slog.New(slog.DiscardHandler), h.gate
	server, err := httpd.New(opt)
	must(t, err)
	h.url = server.URL()
	ran := make(chan error, 1)
	go func() { ran <- server.Run() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		must(t, errors.Join(server.Shutdown(ctx), <-ran))
	})
	h.client = browser(t)
	return h
}

// browser is a client with cookies of its own.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// ask makes a request, with headers as pairs.
func (h *house) ask(client *http.Client, method, to string, headers ...string) (*http.Response, string) {
	h.t.Helper()
	if strings.HasPrefix(to, "/") {
		to = h.url + to
	}
	req, err := http.NewRequestWithContext(h.t.Context(), method, to, nil)
	must(h.t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := client.Do(req)
	must(h.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(h.t, err)
	return resp, strings.TrimSpace(string(text))
}

// answer begins a login and returns the address with which the provider sends the
// browser back.
func (h *house) answer(client *http.Client) string {
	h.t.Helper()
	resp, text := h.ask(client, http.MethodGet, auth.LoginPath)
	if resp.StatusCode != http.StatusSeeOther {
		h.t.Fatalf("%d: %s", resp.StatusCode, text)
	}
	resp, text = h.ask(client, http.MethodGet, resp.Header.Get("Location"))
	if resp.StatusCode != http.StatusFound {
		h.t.Fatalf("the provider: %d: %s", resp.StatusCode, text)
	}
	return resp.Header.Get("Location")
}

func (h *house) signIn(client *http.Client) *http.Response {
	h.t.Helper()
	resp, text := h.ask(client, http.MethodGet, h.answer(client))
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/" {
		h.t.Fatalf("%d: %s", resp.StatusCode, text)
	}
	return resp
}

// Whoever signs in is let use the API as what his groups say, until he signs out;
// a page of ours has to say that a change comes from it.
func TestLogin(t *testing.T) {
	t.Parallel()
	h := open(t, nil, httpd.Options{})
	resp := h.signIn(h.client)
	var session *http.Cookie
	for _, c := range resp.Cookies() {
		if c.Name == "toolcrib_session" {
			session = c
		}
	}
	if session == nil || !session.HttpOnly || session.SameSite != http.SameSiteLaxMode || session.Path != "/" || session.Secure || session.Domain != "" {
		t.Fatalf("%+v", resp.Cookies())
	}
	if q := h.issuer.Asked(); q.Get("code_challenge_method") != "S256" || len(q.Get("nonce")) != 43 || len(q.Get("state")) != 43 ||
		q.Get("scope") != "openid profile" || q.Get("redirect_uri") != h.url+auth.CallbackPath {
		t.Errorf("the provider was asked %v", q)
	}
	subject := "alice@" + strings.TrimPrefix(h.issuer.URL, "http://")
	want := `{"how":"session","name":"Alice","role":"operator","subject":"` + subject + `"}`
	if _, text := h.ask(h.client, http.MethodGet, "/api/v1/me"); text != want {
		t.Errorf("got %s", text)
	}
	if _, text := h.ask(h.client, http.MethodPost, "/mcp"); !strings.Contains(text, `"how":"local"`) {
		t.Errorf("the cookie counts at /mcp: %s", text)
	}
	if _, text := h.ask(h.client, http.MethodGet, "/api/v1/me", "Authorization", "Bearer "+h.guard); !strings.Contains(text, `"how":"file"`) {
		t.Errorf("a token beside a cookie: %s", text)
	}

	for name, c := range map[string]struct {
		headers []string
		code    string // "" if it is let in
	}{
		"nothing said":        {nil, "same_origin_needed"},
		"another page":        {[]string{"Origin", "https://evil.example"}, "origin_refused"},
		"another port":        {[]string{"Origin", "http://127.0.0.1:1"}, "origin_refused"},
		"no origin":           {[]string{"Origin", "null"}, "origin_refused"},
		"another site":        {[]string{"Sec-Fetch-Site", "cross-site"}, "origin_refused"},
		"a sister":            {[]string{"Sec-Fetch-Site", "same-site"}, "origin_refused"},
		"a bookmark":          {[]string{"Sec-Fetch-Site", "none"}, "same_origin_needed"},
		"our page":            {[]string{"Origin", h.url}, ""},
		"our page, otherwise": {[]string{"Sec-Fetch-Site", "same-origin"}, ""},
	} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
			resp, text := h.ask(h.client, method, "/api/v1/me", c.headers...)
			if c.code == "" && (resp.StatusCode != http.StatusOK || text != want) || c.code != "" && (resp.StatusCode != http.StatusForbidden || text != c.code) {
				t.Errorf("%s by %s: %d %s", method, name, resp.StatusCode, text)
			}
		}
	}
	if resp, text := h.ask(h.client, http.MethodPost, auth.LogoutPath); resp.StatusCode != http.StatusForbidden {
		t.Errorf("signed out by a form from elsewhere: %d %s", resp.StatusCode, text)
	}
	before, again := session.Value, h.signIn(h.client)
	if len(again.Cookies()) == 0 {
		t.Fatal("no cookies")
	}
	if _, text := h.ask(browser(t), http.MethodGet, "/api/v1/me", "Cookie", "toolcrib_session="+before); !strings.Contains(text, "local") {
		t.Errorf("the session of before the login: %s", text)
	}
	if resp, text := h.ask(h.client, http.MethodPost, auth.LogoutPath, "Origin", h.url); resp.StatusCode != http.StatusNoContent {
		t.Errorf("signing out: %d %s", resp.StatusCode, text)
	}
	if _, text := h.ask(h.client, http.MethodGet, "/api/v1/me"); !strings.Contains(text, `"how":"local"`) {
		t.Errorf("after signing out: %s", text)
	}
	if resp, _ := h.ask(h.client, http.MethodPost, auth.LogoutPath, "Accept", "text/html"); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("signing out again: %d", resp.StatusCode)
	}
	h.acts.want(t, "login "+subject+" operator ok", "login "+subject+" operator ok", "logout "+subject+" operator ok")
}

// An answer that is not for this browser's login, or an identity that the provider
// has not signed for it, lets nobody in.
func TestForgedLogins(t *testing.T) {
	t.Parallel()
	h := open(t, nil, httpd.Options{})
	fails := func(name string, client *http.Client, to, want string, status int) {
		t.Helper()
		resp, text := h.ask(client, http.MethodGet, to)
		if resp.StatusCode != status || text != want {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
		}
		for _, c := range resp.Cookies() {
			if c.Name == "toolcrib_session" {
				t.Errorf("%s: there is a session", name)
			}
		}
	}
	failed := func(name string, client *http.Client, to string) {
		t.Helper()
		fails(name, client, to, "login_failed", http.StatusBadRequest)
	}
	changed := func(to string, change func(url.Values)) string {
		u, err := url.Parse(to)
		must(t, err)
		q := u.Query()
		change(q)
		u.RawQuery = q.Encode()
		return u.String()
	}

	failed("another browser", browser(t), h.answer(h.client))
	mine, theirs := browser(t), browser(t)
	_, stolen := h.answer(mine), h.answer(theirs)
	failed("another's answer", mine, stolen)
	for name, cookie := range map[string]string{
		"a cookie that is made up":  strings.Repeat("A", 43) + "." + strconv.FormatInt(time.Now().Unix(), 10),
		"with a signature as well":  strings.Repeat("A", 43) + "." + strconv.FormatInt(time.Now().Unix(), 10) + "." + strings.Repeat("A", 43),
		"without what it is for":    "..",
		"of 43 characters, no more": strings.Repeat("A", 43),
	} {
		sum := sha256.Sum256([]byte("toolcrib login state\x00" + cookie))
		maker := browser(t)
		at, err := url.Parse(h.url)
		must(t, err)
		maker.Jar.SetCookies(at, []*http.Cookie{{Name: "toolcrib_login", Value: cookie, Path: "/"}})
		failed(name, maker, changed(h.answer(browser(t)), func(q url.Values) { q.Set("state", base64.RawURLEncoding.EncodeToString(sum[:])) }))
	}
	if h.issuer.Codes() != 0 {
		t.Error("the provider was shown codes that came with made-up cookies")
	}
	failed("another state", h.client, changed(h.answer(h.client), func(q url.Values) { q.Set("state", strings.Repeat("A", 43)) }))
	failed("no state", h.client, changed(h.answer(h.client), func(q url.Values) { q.Del("state") }))
	failed("two states", h.client, changed(h.answer(h.client), func(q url.Values) { q.Add("state", q.Get("state")) }))
	failed("another issuer", h.client, changed(h.answer(h.client), func(q url.Values) { q.Set("iss", "https://evil.example") }))
	failed("no issuer", h.client, changed(h.answer(h.client), func(q url.Values) { q.Del("iss") }))
	failed("no code", h.client, changed(h.answer(h.client), func(q url.Values) { q.Del("code") }))
	failed("a refusal", h.client, changed(h.answer(h.client), func(q url.Values) { q.Set("error", "access_denied") }))

	// The code of somebody else's login, with this browser's state: PKCE and nonce
	// tell them apart.
	other := h.answer(theirs)
	code, err := url.Parse(other)
	must(t, err)
	failed("another's code", h.client, changed(h.answer(h.client), func(q url.Values) { q.Set("code", code.Query().Get("code")) }))
	used := h.answer(h.client)
	if resp, text := h.ask(h.client, http.MethodGet, used); resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	failed("the same answer again", h.client, used)

	evil := issuer.New(t)
	for name, identity := range map[string]map[string]any{
		"another nonce":    {"nonce": "x"},
		"no nonce":         {"nonce": nil},
		"another client":   {"aud": "other"},
		"several clients":  {"aud": []string{issuer.ClientID, "other"}},
		"another party":    {"azp": "other"},
		"another provider": {"iss": evil.URL},
		"expired":          {"exp": time.Now().Add(-time.Hour).Unix()},
		"no subject":       {"sub": nil},
		"a strange one":    {"sub": "a\x00b"},
		"another token":    {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
	} {
		h.issuer.Identity = identity
		failed(name, h.client, h.answer(h.client))
	}
	h.issuer.Identity = nil
	h.issuer.Signer = func(_ *issuer.Issuer, typ string, claims map[string]any) string { return evil.JWT(typ, claims) }
	failed("signed by another", h.client, h.answer(h.client))
	h.issuer.Signer = nil

	for range 3 { // of whom it is on record once a minute
		fails("no group", h.client, h.answer(h.client), "login_forbidden", http.StatusForbidden)
	}
	alice := "login alice@" + strings.TrimPrefix(h.issuer.URL, "http://")
	h.acts.want(t, alice+" operator ok", alice+"  login_forbidden") // what anybody can make up is not on record
	if resp, text := h.ask(h.client, http.MethodGet, auth.CallbackPath+"?state=<script>", "Accept", "text/html", "Accept-Language", "zh"); resp.StatusCode != http.StatusBadRequest ||
		!strings.Contains(text, "登录未能完成") || strings.Contains(text, "<script>") || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the page: %d %v %s", resp.StatusCode, resp.Header, text)
	}
	h.gate.Set(hub.Auth{})
	fails("no provider", h.client, auth.LoginPath, "login_off", http.StatusNotFound)
	fails("no provider", h.client, auth.CallbackPath, "login_off", http.StatusNotFound)
	fails("no resource", h.client, "/.well-known/oauth-protected-resource/mcp", "path_unknown", http.StatusNotFound)
}

// A tenant of the provider's is one of ours; a role can be everybody's.
func TestLoginOfTenants(t *testing.T) {
	t.Parallel()
	h := open(t, func(l *hub.Login) { l.TenantClaim, l.Roles, l.DefaultRole = "org", nil, hub.RoleCaller }, httpd.Options{})
	for _, org := range []any{nil, "", "sales", []string{"sales"}} {
		h.issuer.Identity = map[string]any{"org": org}
		if resp, text := h.ask(h.client, http.MethodGet, h.answer(h.client)); text != "login_forbidden" {
			t.Errorf("%v: %d %s", org, resp.StatusCode, text)
		}
	}
	_, err := h.book.AddTenant(t.Context(), hub.Principal{Role: hub.RoleAdmin}, "sales", "")
	must(t, err)
	h.issuer.Identity = map[string]any{"org": "sales"}
	h.signIn(h.client)
	if _, text := h.ask(h.client, http.MethodGet, "/api/v1/me"); !strings.Contains(text, `"role":"caller"`) {
		t.Errorf("got %s", text)
	}
}

// Over TLS, which may end at a proxy, the cookies are such as no other host can
// set; where a token is needed the way to sign in needs none.
func TestLoginBehindAProxy(t *testing.T) {
	t.Parallel()
	h := open(t, func(l *hub.Login) { l.RedirectURL = "https://hub.example" + auth.CallbackPath }, httpd.Options{AllowHosts: []string{"hub.example"}, RequireToken: true})
	resp, text := h.ask(h.client, http.MethodGet, auth.LoginPath, "Host", "hub.example")
	if resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	flow := resp.Cookies()[0]
	if flow.Name != "__Host-toolcrib_login" || !flow.Secure || flow.Path != "/" || flow.Domain != "" {
		t.Errorf("%+v", flow)
	}
	resp, _ = h.ask(h.client, http.MethodGet, resp.Header.Get("Location"))
	back, err := url.Parse(resp.Header.Get("Location"))
	must(t, err)
	resp, text = h.ask(h.client, http.MethodGet, auth.CallbackPath+"?"+back.RawQuery, "Host", "hub.example", "Cookie", flow.Name+"="+flow.Value)
	if resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	var session *http.Cookie
	for _, c := range resp.Cookies() {
		if c.Name == "__Host-toolcrib_session" && c.Secure {
			session = c
		}
	}
	if session == nil {
		t.Fatalf("%v", resp.Cookies())
	}
	for cookie, ok := range map[string]bool{
		session.Name + "=" + session.Value:                         true,
		"toolcrib_session=" + session.Value:                        false, // which anybody on a sister host could set
		session.Name + "=x; " + session.Name + "=" + session.Value: false,
	} {
		resp, text := h.ask(h.client, http.MethodGet, "/api/v1/me", "Host", "hub.example", "Cookie", cookie)
		if ok != (resp.StatusCode == http.StatusOK) {
			t.Errorf("%s: %d %s", cookie, resp.StatusCode, text)
		}
	}
	if resp, _ := h.ask(h.client, http.MethodPost, "/api/v1/me", "Host", "hub.example", "Cookie", session.Name+"="+session.Value, "Origin", "https://hub.example"); resp.StatusCode != http.StatusOK {
		t.Errorf("a change from our page: %d", resp.StatusCode)
	}
	if resp, text := h.ask(h.client, http.MethodGet, "/mcp"); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

// Without an answer of the provider nobody signs in, and nobody waits for long.
func TestProviderDown(t *testing.T) {
	t.Parallel()
	h := open(t, nil, httpd.Options{})
	h.issuer.SetDown(true)
	for range 3 {
		if resp, text := h.ask(h.client, http.MethodGet, auth.LoginPath); resp.StatusCode != http.StatusServiceUnavailable || text != "login_unavailable" {
			t.Errorf("%d %s", resp.StatusCode, text)
		}
	}
}

// Cookies are such as no other host can set wherever browsers come over TLS; without
// it, browsers that are not on this machine get none.
func TestCookiesOverPlainHTTP(t *testing.T) {
	t.Parallel()
	h := open(t, nil, httpd.Options{AllowHosts: []string{"hub.example"}})
	resp, text := h.ask(h.client, http.MethodGet, auth.LoginPath, "Host", "hub.example")
	if resp.StatusCode != http.StatusServiceUnavailable || text != "login_unavailable" || len(resp.Cookies()) != 0 {
		t.Errorf("%d %s %v", resp.StatusCode, text, resp.Cookies())
	}
	over := &http.Request{TLS: &tls.ConnectionState{}}
	for _, c := range []*http.Cookie{h.gate.SetSession(over, "x", time.Now().Add(time.Hour)), h.gate.SetFlow(over, "x"), h.gate.SetFlow(over, "")} {
		if !strings.HasPrefix(c.Name, "__Host-") || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" {
			t.Errorf("over TLS: %+v", c)
		}
	}
}
