package oauth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/secret"
)

// site is a server that wants a login, and the authorization server for it, in one.
// Its fields are set before it is used.
type site struct {
	t   *testing.T
	url string

	metadata   string // path of the metadata of the resource; "" for none
	resource   string // that these name; "" for the server
	issuers    []string
	supported  []string // scopes of the resource
	silent     bool     // 401 without a challenge
	unnamed    bool     // the challenge does not say where the metadata are
	scope      string   // that the challenge asks for
	asMetadata string   // path of the metadata of the authorization server; "" for none
	asIssuer   string   // that these name; "" for that of the site
	asScopes   []string
	methods    []string
	noPKCE     bool
	noDCR      bool
	cimd       bool
	issSaid    bool
	iss        string // that the browser comes back with; "-" for none, "" for the right one
	rotates    bool   // a refresh token is good once
	during     func() // done while a token is being asked for
	lasting    int    // seconds that a token is good
	narrow     string // scopes that are given, whatever was asked for; "" for those

	mu       sync.Mutex
	secret   string // of a client that has registered itself
	asked    url.Values
	good     map[string][]string // access tokens with their scopes
	refresh  map[string]bool
	count    map[string]int // requests, by what for
	last     url.Values     // of the last request for a token
	lastAuth string         // its Authorization
	deny     string         // error for requests for tokens
	revoked  []string
	n        int
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{
		t: t, metadata: "/.well-known/oauth-protected-resource/mcp", asMetadata: "/.well-known/oauth-authorization-server",
		methods: []string{"none"}, lasting: 3600, good: map[string][]string{}, refresh: map[string]bool{}, count: map[string]int{},
	}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *site) mcp() string { return s.url + "/mcp" }

func (s *site) times(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[what]
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch path := r.URL.Path; {
	case path == s.metadata && path != "":
		s.count["metadata"]++
		resource := s.resource
		if resource == "" {
			resource = s.mcp()
		}
		issuers := s.issuers
		if issuers == nil {
			issuers = []string{s.url}
		}
		write(w, 200, map[string]any{"resource": resource, "authorization_servers": issuers, "scopes_supported": s.supported})
	case path == s.asMetadata && path != "":
		s.count["as metadata"]++
		issuer := s.asIssuer
		if issuer == "" {
			issuer = s.url
		}
		m := map[string]any{
			"issuer": issuer, "authorization_endpoint": s.url + "/authorize?tenant=1", "token_endpoint": s.url + "/token", "revocation_endpoint": s.url + "/revoke",
			"scopes_supported": s.asScopes, "token_endpoint_auth_methods_supported": s.methods, "client_id_metadata_document_supported": s.cimd,
			"authorization_response_iss_parameter_supported": s.issSaid,
		}
		if !s.noPKCE {
			m["code_challenge_methods_supported"] = []string{"S256"}
		}
		if !s.noDCR {
			m["registration_endpoint"] = s.url + "/register"
		}
		write(w, 200, m)
	case path == "/register" && !s.noDCR:
		s.count["register"]++
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked)
		got := map[string]any{"client_id": fmt.Sprintf("client-%d", s.count["register"]), "jwks": map[string]any{}}
		if asked["token_endpoint_auth_method"] != "none" {
			s.secret = "dcr-secret-value"
			got["client_secret"], got["token_endpoint_auth_method"] = s.secret, asked["token_endpoint_auth_method"]
		}
		write(w, 201, got)
	case path == "/authorize":
		s.count["authorize"]++
		s.asked = r.URL.Query()
		back, _ := url.Parse(s.asked.Get("redirect_uri"))
		q := url.Values{"code": {"the-code"}, "state": {s.asked.Get("state")}}
		switch s.iss {
		case "":
			q.Set("iss", s.url)
		case "-":
		default:
			q.Set("iss", s.iss)
		}
		back.RawQuery = q.Encode()
		http.Redirect(w, r, back.String(), http.StatusFound)
	case path == "/token":
		if s.during != nil {
			s.mu.Unlock()
			s.during()
			s.mu.Lock()
		}
		s.token(w, r)
	case path == "/revoke":
		_ = r.ParseForm()
		s.revoked = append(s.revoked, r.PostForm.Get("token"))
		w.WriteHeader(200)
	case path == "/mcp" || path == "/mcp/below":
		s.server(w, r)
	case strings.HasPrefix(path, "/page"):
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>"))
	default:
		http.NotFound(w, r)
	}
}

func (s *site) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	grant := r.PostForm.Get("grant_type")
	s.count[grant]++
	s.last, s.lastAuth = r.PostForm, r.Header.Get("Authorization")
	if s.deny != "" {
		write(w, 400, map[string]any{"error": s.deny, "error_description": "the-code at-1 are wrong"})
		return
	}
	scopes := strings.Fields(r.PostForm.Get("scope"))
	switch grant {
	case "authorization_code":
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if base64.RawURLEncoding.EncodeToString(sum[:]) != s.asked.Get("code_challenge") || r.PostForm.Get("code") != "the-code" ||
			r.PostForm.Get("redirect_uri") != s.asked.Get("redirect_uri") || s.asked.Get("code_challenge_method") != "S256" {
			write(w, 400, map[string]any{"error": "invalid_grant"})
			return
		}
		scopes = strings.Fields(s.asked.Get("scope"))
	case "refresh_token":
		old := r.PostForm.Get("refresh_token")
		if !s.refresh[old] {
			write(w, 400, map[string]any{"error": "invalid_grant"})
			return
		}
		if s.rotates {
			delete(s.refresh, old)
		}
		for _, had := range s.good {
			scopes = had
		}
	}
	if s.narrow != "" {
		scopes = strings.Fields(s.narrow)
	}
	s.n++
	access, refresh := fmt.Sprintf("at-%d-secret", s.n), fmt.Sprintf("rt-%d-secret", s.n)
	s.good = map[string][]string{access: scopes}
	got := map[string]any{"access_token": access, "token_type": "Bearer", "scope": strings.Join(scopes, " ")}
	if s.lasting > 0 {
		got["expires_in"] = s.lasting
	}
	if grant != "client_credentials" && s.lasting != 0 {
		s.refresh[refresh] = true
		got["refresh_token"] = refresh
	}
	write(w, 200, got)
}

func (s *site) server(w http.ResponseWriter, r *http.Request) {
	s.count["request"]++
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	scopes, ok := s.good[token]
	where := ""
	if !s.unnamed && s.metadata != "" {
		where = `, resource_metadata="` + s.url + s.metadata + `"`
	}
	need := r.Header.Get("X-Need")
	switch {
	case !ok:
		if !s.silent {
			said := `Bearer realm="x"` + where
			if s.scope != "" {
				said += `, scope="` + s.scope + `"`
			}
			w.Header().Set("WWW-Authenticate", said)
		}
		w.WriteHeader(401)
	case need != "" && !slices.Contains(scopes, need):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+need+`"`+where)
		w.WriteHeader(403)
	default:
		w.WriteHeader(200)
	}
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// bench is a keeper with what it has logged.
type bench struct {
	*Keeper
	t    *testing.T
	dir  string
	log  *lockedBuffer
	told chan string
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const redirect = "http://127.0.0.1:7777/oauth/callback"

func newBench(t *testing.T) *bench {
	t.Helper()
	return openBench(t, t.TempDir())
}

func openBench(t *testing.T, dir string, change ...func(*Options)) *bench {
	t.Helper()
	vault, err := secret.OpenStore(filepath.Join(dir, "key"), filepath.Join(dir, "logins.json"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, log: &lockedBuffer{}, told: make(chan string, 16)}
	opt := Options{
		Vault: vault, Log: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Redirect: func() string { return redirect },
		Changed: func(_ context.Context, server, owner string) { b.told <- server + "/" + owner },
		Proxy:   func(*http.Request) (*url.URL, error) { return nil, nil },
	}
	for _, f := range change {
		f(&opt)
	}
	b.Keeper, err = Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = b.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		b.Close()
		for _, bad := range []string{"-secret", "the-code", "dcr-secret-value"} {
			if strings.Contains(b.log.String(), bad) {
				t.Errorf("the log shows %q:\n%s", bad, b.log)
			}
		}
	})
	return b
}

// server is the definition of the site.
func (s *site) definition(conf *hub.OAuth) hub.Server {
	return hub.Server{Key: "site", Kind: hub.KindHTTP, URL: s.mcp(), OAuth: conf}
}

// request sends one request with the account's credentials, as transport does.
func request(t *testing.T, a *Account, s *site, need string) (int, error) {
	t.Helper()
	for try := 0; ; try++ {
		used, err := a.Authorization(t.Context())
		if err != nil {
			return 0, err
		}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, a.url.String(), http.NoBody)
		if used != "" {
			req.Header.Set("Authorization", used)
		}
		req.Header.Set("X-Need", need)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		res.Body.Close()
		if res.StatusCode != 401 && res.StatusCode != 403 || try == 2 {
			return res.StatusCode, nil
		}
		again, err := a.Refused(t.Context(), used, res.StatusCode, res.Header)
		if err != nil || !again {
			return res.StatusCode, err
		}
	}
}

// visit opens an address as a browser does, and returns what it comes back with.
func visit(t *testing.T, address string) url.Values {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	back, err := res.Location()
	if err != nil {
		t.Fatalf("%s answered %d: %v", address, res.StatusCode, err)
	}
	if !strings.HasPrefix(back.String(), redirect+"?") {
		t.Fatalf("the browser was sent to %s", back)
	}
	return back.Query()
}

// login logs in, and returns the account.
func (b *bench) login(s *site, conf *hub.OAuth, owner string) (*Account, error) {
	b.t.Helper()
	def := s.definition(conf)
	a := b.Account(def, owner)
	if _, err := request(b.t, a, s, ""); err == nil && s.times("request") > 0 && a.bearer.Load() != nil {
		return a, nil
	}
	l, err := b.Begin(b.t.Context(), def, owner)
	if err != nil {
		return a, err
	}
	_, err = b.Complete(b.t.Context(), visit(b.t, l.URL))
	return a, err
}
