package oauth

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

func code(err error) message.Code {
	if err == nil {
		return ""
	}
	return hub.AsError(err).Code
}

// Wherever a server and its authorization server say what they are, a login comes
// about, and the token is sent from then on.
func TestLogin(t *testing.T) {
	for name, set := range map[string]func(*site){
		"by the book": func(*site) {},
		"not named":   func(s *site) { s.unnamed = true },
		"elsewhere":   func(s *site) { s.metadata = "/custom/metadata.json" },
		"at the root": func(s *site) {
			s.metadata, s.unnamed, s.resource = "/.well-known/oauth-protected-resource", true, s.url
		},
		"with a slash at the end":    func(s *site) { s.resource = s.url + "/mcp/" },
		"OpenID":                     func(s *site) { s.asMetadata = "/.well-known/openid-configuration" },
		"a path":                     func(s *site) { s.at("/tenant", "/.well-known/oauth-authorization-server/tenant") },
		"a path, OpenID inserted":    func(s *site) { s.at("/tenant", "/.well-known/openid-configuration/tenant") },
		"a path, OpenID at the end":  func(s *site) { s.at("/tenant", "/tenant/.well-known/openid-configuration") },
		"2025-03-26":                 func(s *site) { s.metadata = "" },
		"2025-03-26, no metadata":    func(s *site) { s.metadata, s.asMetadata, s.iss = "", "", "-" },
		"no challenge":               func(s *site) { s.silent = true },
		"post":                       func(s *site) { s.methods = []string{"client_secret_post"} },
		"basic":                      func(s *site) { s.methods = nil },
		"iss is said":                func(s *site) { s.issSaid = true },
		"iss is not said, nor there": func(s *site) { s.iss = "-" },
	} {
		t.Run(name, func(t *testing.T) {
			s, b := newSite(t), newBench(t)
			set(s)
			a := b.Account(s.definition(nil), "")
			status, err := request(t, a, s, "")
			wants := message.UpstreamLoginNeeded
			if strings.Contains(name, "no metadata") {
				wants = "" // it may as well want a key
			}
			if status != 401 || code(err) != wants {
				t.Fatalf("before the login: %d, %v", status, err)
			}
			if _, err := b.login(s, nil, ""); err != nil {
				t.Fatal(err)
			}
			if got := <-b.told; got != "site/" {
				t.Errorf("told of %q", got)
			}
			if status, err := request(t, a, s, ""); status != 200 || err != nil {
				t.Errorf("after the login: %d, %v", status, err)
			}
			want := s.mcp()
			if s.resource != "" {
				want = s.resource
			}
			if got := s.asked.Get("resource"); got != want || s.last.Get("resource") != want {
				t.Errorf("for the resource %q, and then %q", got, s.last.Get("resource"))
			}
			if s.asMetadata != "" && s.asked.Get("tenant") != "1" {
				t.Error("the query of the endpoint is gone")
			}
			st, ok := b.Status(s.definition(nil), "")
			if !ok || st.State != StateGranted || !st.Renews {
				t.Errorf("status: %+v", st)
			}
		})
	}
}

// at has the authorization server be one with a path.
func (s *site) at(path, metadata string) {
	s.issuers, s.asIssuer, s.asMetadata, s.iss = []string{s.url + path}, s.url+path, metadata, s.url+path
}

// A login that somebody else answers, or for something else, does not come about,
// and no code is given to anybody.
func TestMixUp(t *testing.T) {
	for name, test := range map[string]struct {
		set   func(*site)
		begun bool
	}{
		"another issuer answers":               {func(s *site) { s.iss = "https://evil.example" }, true},
		"another issuer answers, iss is said":  {func(s *site) { s.iss, s.issSaid = "https://evil.example", true }, true},
		"iss is said and missing":              {func(s *site) { s.iss, s.issSaid = "-", true }, true},
		"iss with a slash":                     {func(s *site) { s.iss, s.issSaid = s.url+"/", true }, true},
		"the metadata are of another issuer":   {func(s *site) { s.asIssuer = "https://evil.example" }, false},
		"the metadata are of another resource": {func(s *site) { s.resource = "https://evil.example/mcp" }, false},
		"a resource beside":                    {func(s *site) { s.resource = s.url + "/mc" }, false},
		"a resource below":                     {func(s *site) { s.resource = s.url + "/mcp/other" }, false},
		"no PKCE":                              {func(s *site) { s.noPKCE = true }, false},
		"nobody can register":                  {func(s *site) { s.noDCR = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, b := newSite(t), newBench(t)
			test.set(s)
			_, err := b.login(s, nil, "")
			if code(err) != message.UpstreamLoginFailed {
				t.Fatalf("%v", err)
			}
			if s.times("authorization_code") != 0 || s.times("authorize") > 0 != test.begun {
				t.Errorf("it went on: %v", s.count)
			}
			if strings.Contains(err.Error(), "the-code") {
				t.Errorf("the error shows the code: %v", err)
			}
		})
	}
}

// Who the hub is to an authorization server is what the configuration says, else a
// document if the server takes that, else a client that registers itself once.
func TestClients(t *testing.T) {
	t.Run("configured", func(t *testing.T) {
		s, b := newSite(t), newBench(t)
		s.methods = []string{"client_secret_basic", "client_secret_post"}
		if _, err := b.login(s, &hub.OAuth{ClientID: "me:1", ClientSecret: "a+b c-secret", AuthorizationServer: s.url, MetadataURL: "https://me.example/c.json"}, ""); err != nil {
			t.Fatal(err)
		}
		req := &http.Request{Header: http.Header{"Authorization": {s.lastAuth}}}
		if id, secret, _ := req.BasicAuth(); id != "me%3A1" || secret != "a%2Bb+c-secret" || s.last.Has("client_secret") || s.times("register") != 0 {
			t.Errorf("%q %q", id, secret)
		}
	})
	t.Run("document", func(t *testing.T) {
		s, b := newSite(t), newBench(t)
		s.cimd = true
		if _, err := b.login(s, &hub.OAuth{MetadataURL: "https://me.example/c.json"}, ""); err != nil {
			t.Fatal(err)
		}
		if got := s.asked.Get("client_id"); got != "https://me.example/c.json" || s.times("register") != 0 {
			t.Errorf("the client is %q", got)
		}
	})
	t.Run("registered once", func(t *testing.T) {
		s, b := newSite(t), newBench(t)
		for _, owner := range []string{"", "t\x00ada\x00"} {
			if _, err := b.login(s, nil, owner); err != nil {
				t.Fatal(err)
			}
		}
		again := openBench(t, b.dir)
		again.Logout(t.Context(), "site", "")
		if _, err := again.login(s, nil, ""); err != nil || s.times("register") != 1 {
			t.Errorf("registered %d times: %v", s.times("register"), err)
		}
	})
	t.Run("registered with each issuer", func(t *testing.T) {
		s, other, b := newSite(t), newSite(t), newBench(t)
		if _, err := b.login(s, nil, ""); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		s.issuers, s.good, s.refresh = []string{other.url}, map[string][]string{}, map[string]bool{}
		s.mu.Unlock()
		a := b.Account(s.definition(nil), "")
		if _, err := request(t, a, s, ""); code(err) != message.UpstreamLoginNeeded {
			t.Fatal(err)
		}
		l, err := b.Begin(t.Context(), s.definition(nil), "")
		if err != nil || !strings.HasPrefix(l.URL, other.url) || other.times("register") != 1 {
			t.Errorf("%v %v", l.URL, err)
		}
	})
	t.Run("unknown by now", func(t *testing.T) {
		s, b := newSite(t), newBench(t)
		s.deny = "invalid_client"
		if _, err := b.login(s, nil, ""); code(err) != message.UpstreamLoginFailed {
			t.Fatal(err)
		}
		s.deny = ""
		if _, err := b.login(s, nil, ""); err != nil || s.times("register") != 2 {
			t.Errorf("registered %d times: %v", s.times("register"), err)
		}
	})
}

// The scopes are those of the challenge, else those that the resource knows, else
// none; a step up adds to what there is, and is offered once.
func TestScopes(t *testing.T) {
	for name, test := range map[string]struct {
		set  func(*site)
		conf *hub.OAuth
		want string
	}{
		"challenge":  {func(s *site) { s.scope, s.supported = "b a", []string{"c"} }, nil, "a b"},
		"supported":  {func(s *site) { s.supported = []string{"c", "a"} }, nil, "a c"},
		"none":       {func(*site) {}, nil, ""},
		"offline":    {func(s *site) { s.scope, s.asScopes = "a", []string{"a", "offline_access"} }, nil, "a offline_access"},
		"configured": {func(s *site) { s.supported = []string{"c"} }, &hub.OAuth{Scopes: []string{"x"}}, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			s, b := newSite(t), newBench(t)
			test.set(s)
			if _, err := b.login(s, test.conf, ""); err != nil {
				t.Fatal(err)
			}
			if got := s.asked.Get("scope"); got != test.want || s.asked.Has("scope") != (test.want != "") {
				t.Errorf("asked for %q", got)
			}
		})
	}
	t.Run("step up", func(t *testing.T) {
		s, b := newSite(t), newBench(t)
		s.scope = "read"
		a, err := b.login(s, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = request(t, a, s, "write")
		if code(err) != message.UpstreamScopeNeeded || hub.AsError(err).Args["scopes"] != "write" {
			t.Fatal(err)
		}
		if st, _ := b.Status(s.definition(nil), ""); st.State != StateLimited {
			t.Errorf("%+v", st)
		}
		if status, err := request(t, a, s, ""); status != 200 || err != nil {
			t.Errorf("what the token is good for: %d, %v", status, err)
		}
		s.narrow = "read" // which is all that this person may
		l, err := b.Begin(t.Context(), s.definition(nil), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Complete(t.Context(), visit(t, l.URL)); err != nil {
			t.Fatal(err)
		}
		if got := s.asked.Get("scope"); got != "read write" {
			t.Errorf("asked for %q", got)
		}
		if status, err := request(t, a, s, "write"); status != 403 || err != nil {
			t.Errorf("offered once more: %d, %v", status, err)
		}
	})
}

// One login is under way at a time, and its answer is good once.
func TestOneLogin(t *testing.T) {
	s, b := newSite(t), newBench(t)
	def := s.definition(nil)
	_, _ = request(t, b.Account(def, ""), s, "")
	first, err := b.Begin(t.Context(), def, "")
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Begin(t.Context(), def, "")
	if err != nil || second.URL != first.URL {
		t.Errorf("a second one: %v", err)
	}
	other, err := b.Begin(t.Context(), def, "t\x00ada\x00")
	if err != nil || other.URL == first.URL {
		t.Errorf("another's is the same: %v", err)
	}
	if st, _ := b.Status(def, ""); st.State != StatePending || st.Pending.IsZero() {
		t.Errorf("%+v", st)
	}
	q := visit(t, first.URL)
	if _, err := b.Complete(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Complete(t.Context(), q); code(err) != message.UpstreamLoginUnknown {
		t.Errorf("the answer was good twice: %v", err)
	}
	if _, err := b.Complete(t.Context(), url.Values{"code": {"the-code"}, "state": {""}}); code(err) != message.UpstreamLoginUnknown {
		t.Errorf("no state: %v", err)
	}
	l, _ := b.Begin(t.Context(), def, "t\x00ada\x00")
	u, _ := url.Parse(l.URL)
	_, err = b.Complete(t.Context(), url.Values{"error": {"access_denied"}, "state": {u.Query().Get("state")}, "iss": {s.url}})
	if code(err) != message.UpstreamLoginFailed || !strings.Contains(err.Error(), "access_denied") {
		t.Errorf("%v", err)
	}
	if st, _ := b.Status(def, "t\x00ada\x00"); st.Fault == nil {
		t.Errorf("%+v", st)
	}
}

// What takes no login is told so, and where browsers cannot come back to.
func TestNoLogin(t *testing.T) {
	s, b := newSite(t), newBench(t)
	with := func(change func(*hub.Server)) hub.Server {
		def := s.definition(nil)
		change(&def)
		return def
	}
	for name, test := range map[string]struct {
		def  hub.Server
		want message.Code
	}{
		"a process":    {with(func(d *hub.Server) { d.Kind = hub.KindStdio }), message.UpstreamLoginUnused},
		"off":          {with(func(d *hub.Server) { d.OAuth = &hub.OAuth{Off: true} }), message.UpstreamLoginUnused},
		"a header":     {with(func(d *hub.Server) { d.Headers = map[string]string{"authorization": "x"} }), message.UpstreamLoginUnused},
		"a user":       {with(func(d *hub.Server) { d.URL = "http://u:p@127.0.0.1/mcp" }), message.UpstreamLoginUnused},
		"the hub":      {with(func(d *hub.Server) { d.OAuth = &hub.OAuth{Grant: hub.GrantClient} }), message.UpstreamLoginUnused},
		"guessed":      {with(func(d *hub.Server) { d.URL = s.url + "/page" }), ""},
		"no server":    {with(func(d *hub.Server) { d.URL = "http://127.0.0.1:1/mcp" }), message.UpstreamLoginFailed},
		"not the site": {with(func(d *hub.Server) { d.OAuth = &hub.OAuth{AuthorizationServer: "https://other.example"} }), message.UpstreamLoginFailed},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := b.Begin(t.Context(), test.def, ""); code(err) != test.want {
				t.Errorf("%v", err)
			}
		})
	}
	b.opt.Redirect = func() string { return "" }
	if _, err := b.Begin(t.Context(), s.definition(nil), ""); code(err) != message.UpstreamLoginNowhere {
		t.Errorf("%v", err)
	}
	b.opt.Redirect = func() string { return redirect }
	for i := range maxLogins {
		def := s.definition(nil)
		def.Key = strings.Repeat("x", i+1)
		if _, err := b.Begin(t.Context(), def, ""); err != nil && code(err) != message.UpstreamLoginBusy {
			t.Fatal(err)
		}
	}
	def := s.definition(nil)
	def.Key = "one more"
	if _, err := b.Begin(t.Context(), def, ""); code(err) != message.UpstreamLoginBusy {
		t.Errorf("%v", err)
	}
}

// What a browser is shown tells nothing, and somebody with a name has to confirm
// that it is he who has begun.
func TestPage(t *testing.T) {
	s, b := newSite(t), newBench(t)
	get := func(q url.Values) (*httptest.ResponseRecorder, string) {
		w := httptest.NewRecorder()
		b.ServeHTTP(w, httptest.NewRequest(http.MethodGet, CallbackPath+"?"+q.Encode(), http.NoBody))
		return w, w.Body.String()
	}
	def := s.definition(nil)
	def.Name = `<b>"Site"`
	if w, body := get(url.Values{"state": {"<x>"}, "code": {"the-code"}}); w.Code != 400 || strings.Contains(body, "the-code") || strings.Contains(body, "<x>") {
		t.Errorf("%d %s", w.Code, body)
	}
	l, err := b.Begin(t.Context(), def, "acme\x00<i>ada\x00t-1")
	if err != nil {
		t.Fatal(err)
	}
	q := visit(t, l.URL)
	w, body := get(q)
	if w.Code != 200 || s.times("authorization_code") != 0 || !strings.Contains(body, "&lt;i&gt;ada (acme)") || strings.Contains(body, "<b>") {
		t.Errorf("not asked: %d %s", w.Code, body)
	}
	for _, want := range []string{"no-store", "no-referrer", "default-src 'none'"} {
		if !strings.Contains(strings.Join(slices.Concat(w.Header()["Cache-Control"], w.Header()["Referrer-Policy"], w.Header()["Content-Security-Policy"]), " "), want) {
			t.Errorf("the header has no %s", want)
		}
	}
	q.Set(confirmed, "yes")
	if w, body := get(q); w.Code != 200 || s.times("authorization_code") != 1 || strings.Contains(body, "the-code") {
		t.Errorf("%d %s", w.Code, body)
	}
}

// A logout forgets what there is, and tells the authorization server.
func TestLogout(t *testing.T) {
	s, b := newSite(t), newBench(t)
	a, err := b.login(s, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if !b.Logout(t.Context(), "site", "") || b.Logout(t.Context(), "site", "") || b.Logout(t.Context(), "none", "") {
		t.Error("not logged out once")
	}
	if !slices.Equal(s.revoked, []string{"rt-1-secret"}) {
		t.Errorf("revoked: %v", s.revoked)
	}
	if header, _ := a.Authorization(t.Context()); header != "" {
		t.Error("the token is still sent")
	}
	again := openBench(t, b.dir)
	if st, _ := again.Status(s.definition(nil), ""); st.State != StateNone {
		t.Errorf("%+v", st)
	}
}
